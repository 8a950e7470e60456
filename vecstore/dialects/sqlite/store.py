"""Documents in a table of SQLite: a file, or memory; the vectors are compared by numpy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, Unpack

from vecstore.dialects.sql import quoted
from vecstore.dialects.sqlite.connections import Connections, SQLiteSession
from vecstore.dialects.sqlite.dialect import SQLite
from vecstore.embedding import BatchingStrategy, EmbedderInput, check_dimension
from vecstore.errors import ConfigurationError, SchemaMismatchError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.store.backend import Place, Selection, id_parts
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.drivers import misfit
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.tables import BATCH, Columns, Row, TableNames, TableStore, extra_column_of
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    import sqlite3

    from vecstore.vectors import Vector

Result = TypeVar("Result")

_SETTINGS: Final = "vecstore_tables"
_LAYOUT: Final = 1
_VECTORS_AT_ONCE: Final = 4_096
"""Vectors that a search compares in one step."""


class SQLiteStore(TableStore):
    """A table with vectors as blobs of floats, and metadata as JSON text beside them.

    It needs nothing but Python's own ``sqlite3``. Every search reads the vector of every row that
    matches, so that it is exact, and whole under any filter. Any number of threads and processes
    share a file.

    Args:
        path: The database file; None for a database in memory.
        table: Name of the table.
        create: Make file and table when they are missing.
        read_only: Open the file for reading only.
        patience: Seconds that a call waits for another process that writes.
        embedder: See :class:`~vecstore.VectorStore`, as for ``dimension`` and ``batching``.
        metric: How vectors are compared; None for what the table says, or else ``"cosine"``.
        id_column: Names of the columns, for a table that exists already.
        text_column: See ``id_column``.
        metadata_column: See ``id_column``.
        embedding_column: See ``id_column``.
        extra_column: The column for ``Document.extra``, in a table that others made; tables of this
            library have one, ``"extra"``.
        **common: As for every store, such as ``async_threads``.

    Raises:
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the table does not fit, or is missing and ``create`` is False.
        BackendError: If the file cannot be opened.

    Example:
        >>> from vecstore import Document
        >>> with SQLiteStore() as store:
        ...     _ = store.add([Document("one", {"n": 1}, "a", embedding=[1, 0])])
        ...     [document.id for document in store.search(vector=[2, 1], filter="n == 1")]
        ['a']
    """

    name: ClassVar[str] = "sqlite"
    capabilities: StoreCapabilities = StoreCapabilities(
        exact_topk=True,
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        tells_replaced=True,
        filtered_count=True,
        native_ids=True,
        vectorless=True,
        keeps_extra=True,
        # The engine's JSON reads larger integers as floats.
        min_integer=-(2**63),
        max_integer=2**63 - 1,
        # A row may have 1,000,000,000 bytes.
        max_text_bytes=500_000_000,
        max_metadata_bytes=200_000_000,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=BATCH,
        # It reads a document's JSON for each key: 50 of them among 10,000 documents take a second.
        max_cost=50,
    )
    _extra_type: ClassVar[str] = "TEXT"
    _among: ClassVar[str] = "(SELECT value FROM json_each(?))"
    _documents_only: ClassVar[str] = (
        "(typeof({id}) = 'text' AND {id} <> '' AND CASE WHEN {metadata} IS NULL THEN 1 "
        "WHEN typeof({metadata}) = 'text' AND json_valid({metadata}) "
        "THEN json_type({metadata}) IN ('object', 'null') ELSE 0 END)"
    )

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        table: str = "documents",
        create: bool = True,
        read_only: bool = False,
        patience: float = 30.0,
        embedder: EmbedderInput | None = None,
        metric: Metric | None = None,
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        id_column: str = "id",
        text_column: str = "text",
        metadata_column: str = "metadata",
        embedding_column: str = "embedding",
        extra_column: str | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        if read_only and path is None:
            raise ConfigurationError("read_only is for a file: SQLiteStore(path, read_only=True)")
        self._names = TableNames(
            table=table,
            id=id_column,
            text=text_column,
            metadata=metadata_column,
            embedding=embedding_column,
            extra=extra_column_of(
                extra_column, id_column, text_column, metadata_column, embedding_column
            ),
        )
        self._extra_given = extra_column is not None
        if self._names.extra is None:
            self.capabilities = replace(self.capabilities, keeps_extra=False)
        if table.lower() in (_SETTINGS, "json_each") or table.lower().startswith("sqlite_"):
            raise ConfigurationError(f"a table of documents cannot be called {table!r}")
        if isinstance(patience, bool) or not isinstance(patience, int | float) or patience < 0:
            raise ConfigurationError(f"patience is a number of seconds, not {patience!r}")
        super().__init__(
            embedder, metric=metric or "cosine", dimension=dimension, batching=batching, **common
        )
        self._metric_given = metric
        self._dialect = SQLite(column=(table, metadata_column), schema=self.schema)
        self._create = create and not read_only
        self._read_only = read_only
        self._there = False
        self._seen = -1
        file = None if path is None else os.fspath(path)
        if file is not None and (not isinstance(file, str) or not file or "\0" in file):
            raise ConfigurationError(f"a database file has a path, not {file!r}")
        self._connections = Connections(
            file, create=create, read_only=read_only, patience=float(patience)
        )
        try:
            self._in_transaction("open", self._open_table, writing=self._create)
        except BaseException:
            self._connections.close()
            raise

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> SQLiteStore:
        """Open ``sqlite:///folder/file.db?table=docs``, or ``sqlite:`` in memory."""
        texts = ("table", "metric", "id_column", "text_column", "metadata_column")
        known = {
            **dict.fromkeys([*texts, "embedding_column", "extra_column"], str),
            "create": flag,
            "read_only": flag,
            "patience": float,
            "dimension": int,
            "batching": None,
        }
        return cls(url.file(), embedder=embedder, **url.options(known, options))

    # --- the table ---------------------------------------------------------------------------

    def _open_table(self, session: SQLiteSession) -> None:
        ((encoding,),) = session.rows("PRAGMA encoding")
        if encoding != "UTF-8":
            raise misfit(
                "the database",
                [f"its encoding is {encoding}, in which texts have another order than in UTF-8"],
                "; copy the documents into a new file",
            )
        if self._is_there(session):
            return
        if not self._create:
            raise SchemaMismatchError(
                f"there is no table {self._names.quoted}; open the store with create=True to have "
                "it made"
            )
        if self.dimension is not None:
            self._make_table(session, self.dimension)

    def _is_there(self, session: SQLiteSession) -> bool:
        ((version,),) = session.rows("PRAGMA schema_version")
        if not self._there or version != self._seen:  # others may have made it anew
            found = self._read_table(session)
            if self._there and not found:
                raise self._gone()
            self._there, self._seen = found, version
        elif self.dimension is None:  # others may have written the first vector meanwhile
            self._settle(dimension=self._found_dimension(session))
        return self._there

    def _make_table(self, session: SQLiteSession, dimension: int) -> None:
        column = self._names.column
        more = f", {column('extra')} TEXT" if self._names.extra is not None else ""
        session.cursor.execute(
            f"CREATE TABLE {self._names.quoted} ({column('id')} TEXT PRIMARY KEY NOT NULL, "
            f"{column('text')} TEXT NOT NULL, {column('metadata')} TEXT NOT NULL, "
            f"{column('embedding')} BLOB{more})"
        )
        session.cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {_SETTINGS} (name TEXT PRIMARY KEY COLLATE NOCASE, "
            "layout INTEGER NOT NULL, metric TEXT NOT NULL, dimension INTEGER NOT NULL)"
        )
        session.cursor.execute(
            f"INSERT OR REPLACE INTO {_SETTINGS} VALUES (?, ?, ?, ?)",
            [self._names.table, _LAYOUT, self.metric, dimension],
        )

    def _read_table(self, session: SQLiteSession) -> bool:
        """Look at the table: whether it is there, and fits.

        Raises:
            SchemaMismatchError: Naming every difference.
        """
        names, table = self._names, self._names.quoted
        if not session.rows(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE",
            [names.table],
        ):
            return False
        columns = {
            name.lower(): (type.upper(), bool(required), default is not None or bool(key))
            for name, type, required, default, key in session.rows(
                'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)',
                [names.table],
            )
        }
        wanted = {
            names.id: ("TEXT", _is_text),
            names.text: ("TEXT", _is_text),
            names.metadata: ("TEXT", _is_json),
            names.embedding: ("BLOB", _is_blob),
        }
        faults = []
        for name, (type, fits) in wanted.items():
            held = columns.get(name.lower())
            if held is None:
                faults.append(f"it has no column {name!r}")
            elif not fits(held[0]):
                faults.append(f"its column {name!r} is {held[0] or 'of no type'}, not {type}")
        if names.id.lower() in columns and not self._keeps_ids_unique(session):
            index = quoted(f"{names.table}_ids")
            remedy = f"CREATE UNIQUE INDEX {index} ON {table} ({names.column('id')})"
            faults.append(f"nothing keeps its ids unique, byte by byte ({remedy})")
        extra = columns.get(names.extra.lower()) if names.extra is not None else None
        keeps_extra = self._finds_extra(
            extra,
            fits=extra is not None and _is_text(extra[0]) and not extra[1],
            made_by_us=bool(self._told(session)),
        )
        ours = {name.lower() for name in wanted}
        for name, (_, required, filled) in columns.items():
            if name not in ours and required and not filled:
                faults.append(f"nobody would fill its required column {name!r}")
        if faults:
            raise misfit(self._title, faults, "; copy the documents into another table")
        self._take(session)
        nullable = not columns[names.embedding.lower()][1]
        self.capabilities = replace(self.capabilities, vectorless=nullable, keeps_extra=keeps_extra)
        return True

    def _keeps_ids_unique(self, session: SQLiteSession) -> bool:
        indexes = session.rows(
            'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial',
            [self._names.table],
        )
        for (index,) in indexes:
            keys = session.rows(
                "SELECT lower(name), coll FROM pragma_index_xinfo(?) WHERE key", [index]
            )
            if keys == [(self._names.id.lower(), "BINARY")]:
                return True
        return False

    def _told(self, session: SQLiteSession) -> list[Row]:
        """What this library wrote down of a table that it made."""
        if not session.rows("SELECT 1 FROM sqlite_master WHERE name = ?", [_SETTINGS]):
            return []
        return session.rows(
            f"SELECT layout, metric, dimension FROM {_SETTINGS} WHERE name = ?",
            [self._names.table],
        )

    def _take(self, session: SQLiteSession) -> None:
        """Settle the dimension and the metric by those of the table."""
        told = self._told(session)
        if told and told[0][0] != _LAYOUT:
            raise misfit(
                self._title,
                [f"it has layout {told[0][0]}, and this version of vecstore knows {_LAYOUT}"],
                "; open it with the version that made it, and copy the documents",
            )
        dimension = told[0][2] if told else self._found_dimension(session)
        if None not in (self.dimension, dimension) and self.dimension != dimension:
            raise misfit(
                self._title, [f"its vectors have {dimension} dimensions, not {self.dimension}"]
            )
        metric: Any = told[0][1] if told else self._metric
        if self._metric_given is not None and metric != self._metric_given:
            raise misfit(self._title, [f"its metric is {metric}, not {self._metric_given}"])
        self._settle(metric=metric, dimension=dimension)

    def _found_dimension(self, session: SQLiteSession) -> int | None:
        """By the first vector of a table that others made; None where there is none yet."""
        embedding = self._names.column("embedding")
        found = session.rows(
            f"SELECT length({embedding}) FROM {self._names.quoted} "
            f"WHERE typeof({embedding}) = 'blob' AND length({embedding}) >= 4 LIMIT 1"
        )
        return found[0][0] // 4 if found else None

    # --- the hooks ---------------------------------------------------------------------------

    def _in_transaction(
        self, operation: str, work: Callable[[Any], Result], *, writing: bool = False
    ) -> Result:
        return self._connections.run(operation, work, writing=writing)

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _vectorless_remedy(self) -> str:
        return (
            f"its column {self._names.embedding!r} is NOT NULL, which SQLite cannot change; copy "
            "the documents into another table"
        )

    def _ids_bound(self, ids: Sequence[str]) -> str:
        return json.dumps(list(ids))

    def _insert(self, session: SQLiteSession, rows: Columns, *, replacing: bool) -> None:
        column = self._names.column
        roles = self._roles()
        target = ", ".join([column(role) for role in roles])
        conflict = ""
        if replacing:
            changed = [column(role) for role in roles[1:]]
            sets = ", ".join([f"{name} = excluded.{name}" for name in changed])
            conflict = f" ON CONFLICT ({column('id')}) DO UPDATE SET {sets}"
        vectors: list[bytes | None] = [None] * len(rows.ids)
        if rows.vectors.size:
            vectors = [vector.tobytes() for vector in rows.vectors.astype("<f4", copy=False)]
        extras = [rows.extras or [None] * len(rows.ids)] if "extra" in roles else []
        session.cursor.executemany(
            f"INSERT INTO {self._names.quoted} ({target}) "
            f"VALUES ({', '.join('?' * len(roles))}){conflict}",
            zip(rows.ids, rows.texts, rows.metadata, *extras, vectors, strict=True),
        )

    def _rewrite(self, session: SQLiteSession, ids: list[str], metadata: list[str]) -> None:
        column = self._names.column
        session.cursor.executemany(
            f"UPDATE {self._names.quoted} SET {column('metadata')} = ? WHERE {column('id')} = ?",
            zip(metadata, ids, strict=True),
        )

    def _nearest_rows(
        self,
        session: SQLiteSession,
        vector: Vector,
        where: str,
        params: list[Any],
        count: int,
        wide: bool,
    ) -> list[Row]:
        if self.dimension is None:
            return []
        check_dimension(len(vector), self.dimension, "the query")
        best = self._best(session, vector, where, params, count)
        held: dict[Any, Row] = {}
        for part in id_parts(tuple([id for _, id in best if isinstance(id, str)]), BATCH):
            chosen, bound = self._where(Selection(ids=part))
            columns = self._columns(embedding=wide)
            held |= {row[0]: row for row in session.rows(self._select(columns, chosen), bound)}
        nothing = (None, "", None, None, None)[: 4 + self.capabilities.keeps_extra]
        return [(*held.get(id, nothing), -minus) for minus, id in best]

    def _best(
        self, session: SQLiteSession, vector: Vector, where: str, params: list[Any], count: int
    ) -> list[tuple[float, Any]]:
        """Minus the score, and the id, of the nearest rows; equal ones by id."""
        import numpy as np

        size = 4 * len(vector)
        columns = f"{self._id}, {self._names.column('embedding')}"
        cursor = session.cursor.execute(self._select(columns, where), params)
        best: list[tuple[float, Any]] = []
        while rows := cursor.fetchmany(_VECTORS_AT_ONCE):
            # Those without a vector are near nothing.
            rows = [row for row in rows if isinstance(row[1], bytes) and len(row[1]) == size]
            matrix = np.frombuffer(b"".join([row[1] for row in rows]), "<f4")
            scores = self._scores(matrix.reshape(-1, len(vector)), vector)
            worst = best[-1][0] if len(best) == count else np.inf
            # Neither are those without a direction, whose cosine is no number.
            near = np.flatnonzero(-scores <= worst)
            best += [(-float(scores[row]), rows[row][0]) for row in near]
            best.sort(key=_by_score)
            del best[count:]
        return best

    def _scores(self, matrix: Any, vector: Vector) -> Any:
        import numpy as np

        wide, probe = matrix.astype(np.float64), vector.astype(np.float64)
        if self.metric == "euclidean":
            difference = wide - probe
            return -np.sqrt(np.einsum("ij,ij->i", difference, difference))
        products = np.einsum("ij,j->i", wide, probe)
        if self.metric == "dot":
            return products
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide)) * np.sqrt(probe @ probe)
        with np.errstate(invalid="ignore", divide="ignore"):
            return products / lengths

    def _as_vector(self, value: Any) -> Vector | None:
        import numpy as np

        if self.dimension is None or not isinstance(value, bytes):
            return None
        if len(value) != 4 * self.dimension:
            return None
        return np.frombuffer(value, "<f4").astype(np.float32, copy=False)

    def _place(self) -> Place:
        return Place(system="sqlite", collection=self._names.table)

    def _close(self) -> None:
        self._connections.close()

    def _bound_to_process(self) -> str | None:
        return "the database is in its memory" if self._connections.path is None else None

    def _after_fork(self) -> None:
        if self._connections.path is None:
            super()._after_fork()  # the database was in the parent's memory
        self._connections = self._connections.again()

    def _native(self) -> sqlite3.Connection:
        """A connection to the database: in memory the only one, else one that no call uses."""
        return self._connections.native


def _is_text(type: str) -> bool:
    """Whether a column of that type keeps texts as they are."""
    return "INT" not in type and any(word in type for word in ("CHAR", "CLOB", "TEXT"))


def _is_json(type: str) -> bool:
    return _is_text(type) or "JSON" in type


def _is_blob(type: str) -> bool:
    return not type or "BLOB" in type


def _by_score(one: tuple[float, Any]) -> tuple[float, str]:
    return one[0], one[1] if isinstance(one[1], str) else ""
