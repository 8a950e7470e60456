"""DuckDB: documents in a JSON column, in memory."""

from __future__ import annotations

import json
from typing import Any

from tests.engines.rows import Documents, Rows


class DuckDBRows(Rows):
    """A table ``(id VARCHAR, metadata JSON)``; queries are conditions over ``metadata``.

    Args:
        ascii: Whether texts are written with escapes for all but ASCII, as Python does by default.
    """

    name = "DuckDB"

    def __init__(self, *, ascii: bool = False) -> None:
        import duckdb

        super().__init__()
        self._ascii = ascii
        # Tests run side by side.
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("CREATE TABLE documents (id VARCHAR, metadata JSON)")

    def _refused_by(self) -> tuple[type[Exception], ...]:
        import duckdb

        return (duckdb.Error, UnicodeEncodeError)

    def _load(self, rows: Documents) -> None:
        written = [json.dumps(metadata, ensure_ascii=self._ascii) for metadata in rows.values()]
        self._connection.execute("DELETE FROM documents")
        self._connection.execute(
            "INSERT INTO documents SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            [list(rows), written],
        )

    def _select(self, query: Any, params: Any) -> set[str]:
        statement = "SELECT id FROM documents" + ("" if query is None else f" WHERE {query}")
        found = self._connection.execute(statement, list(params or ())).fetchall()
        return {row[0] for row in found}

    def close(self) -> None:
        self._connection.close()
