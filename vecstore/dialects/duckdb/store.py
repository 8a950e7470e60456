"""Documents in a table of DuckDB: a file, memory, or an existing connection."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, Unpack

from vecstore.dialects.duckdb.connections import Connections, DuckDBSession
from vecstore.dialects.duckdb.dialect import DuckDB
from vecstore.dialects.sql import quoted
from vecstore.embedding import BatchingStrategy, EmbedderInput, check_dimension
from vecstore.errors import BackendError, ConfigurationError, SchemaMismatchError
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
    from duckdb import DuckDBPyConnection

    from vecstore.vectors import Vector

Result = TypeVar("Result")

_SCORES: Final[dict[Metric, str]] = {
    "cosine": "array_cosine_similarity",
    "dot": "array_inner_product",
    "euclidean": "-array_distance",
}
_IDS_AT_ONCE: Final = 100_000
"""Ids that a scan finds at a time, in one pass over the table."""
_COLUMNWISE_FROM: Final = 48
"""Documents in a batch from which on handing over arrays beats lists of numbers."""
_LAYOUT: Final = "1"
_COMMENT: Final = re.compile(r"vecstore layout (\S+), metric (\w+)")


class DuckDBStore(TableStore):
    """A table with an array of floats, and metadata in a JSON column beside it.

    Every search looks at every row that matches, so that it is exact, and whole under any filter.
    One process at a time can open a file; any number of threads share it.

    Args:
        path: The database file; None for a database in memory.
        connection: A connection of yours instead, which stays open when the store closes; the store
            works on cursors of it.
        table: Name of the table.
        namespace: The schema that it is in; None for the current one.
        create: Make file and table when they are missing.
        read_only: Open the file for reading only, which any number of processes may do at a time.
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
        BackendNotInstalledError: If duckdb is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the table does not fit, or is missing and ``create`` is False.
        BackendError: If the file cannot be opened, because another process has it, say.

    Example:
        >>> from vecstore import Document
        >>> with DuckDBStore() as store:
        ...     _ = store.add([Document("one", {"n": 1}, "a", embedding=[1, 0])])
        ...     [document.id for document in store.search(vector=[2, 1], filter="n == 1")]
        ['a']
    """

    name: ClassVar[str] = "duckdb"
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
        max_text_bytes=256 * 1024 * 1024,
        max_metadata_bytes=200 * 1024 * 1024,
        max_dimension=16_000,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=BATCH,
        # 150 of the worst comparisons among 10,000 documents take a second or two of one core.
        max_cost=150,
    )
    _extra_type: ClassVar[str] = "VARCHAR"
    _among: ClassVar[str] = "(SELECT unnest(CAST(? AS VARCHAR[])))"
    _documents_only: ClassVar[str] = (
        "({id} IS NOT NULL AND {id} <> '' "
        "AND coalesce(json_type({metadata}), 'NULL') IN ('OBJECT', 'NULL'))"
    )

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        connection: DuckDBPyConnection | None = None,
        table: str = "documents",
        namespace: str | None = None,
        create: bool = True,
        read_only: bool = False,
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
        if path is not None and connection is not None:
            raise ConfigurationError("give a path or a connection, not both")
        if read_only and path is None:
            raise ConfigurationError("read_only is for a file: DuckDBStore(path, read_only=True)")
        self._names = TableNames(
            table=table,
            namespace=namespace,
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
        super().__init__(
            embedder, metric=metric or "cosine", dimension=dimension, batching=batching, **common
        )
        self._metric_given = metric
        self._dialect = DuckDB(column=metadata_column, schema=self.schema)
        self._create = create and not read_only
        self._read_only = read_only
        self._there = False
        file = None if path is None else os.fspath(path)
        if file is not None and (not isinstance(file, str) or not file or "\0" in file):
            raise ConfigurationError(f"a database file has a path, not {file!r}")
        self._connections = Connections(file, connection, create=create, read_only=read_only)
        try:
            self._in_transaction("open", self._open_table, writing=self._create)
        except BaseException:
            self._connections.close()
            raise

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> DuckDBStore:
        """Open ``duckdb:///folder/file.db?table=docs``, or ``duckdb:`` in memory."""
        texts = ("table", "namespace", "metric", "id_column", "text_column", "metadata_column")
        known = {
            **dict.fromkeys([*texts, "embedding_column", "extra_column"], str),
            "create": flag,
            "read_only": flag,
            "dimension": int,
            "batching": None,
            "connection": None,
        }
        return cls(url.file(), embedder=embedder, **url.options(known, options))

    # --- the table ---------------------------------------------------------------------------

    def _open_table(self, session: DuckDBSession) -> None:
        if self._is_there(session):
            return
        if not self._create:
            raise SchemaMismatchError(
                f"there is no table {self._names.quoted}; open the store with create=True to have "
                "it made"
            )
        if self.dimension is not None:
            self._make_table(session, self.dimension)

    def _is_there(self, session: DuckDBSession) -> bool:
        if not self._there:
            self._there = self._read_table(session)
        return self._there

    def _make_table(self, session: DuckDBSession, dimension: int) -> None:
        column, table = self._names.column, self._names.quoted
        more = f", {column('extra')} VARCHAR" if self._names.extra is not None else ""
        session.cursor.execute(
            f"CREATE TABLE {table} ({column('id')} VARCHAR PRIMARY KEY, {column('text')} VARCHAR "
            f"NOT NULL, {column('metadata')} JSON NOT NULL, "
            f"{column('embedding')} FLOAT[{dimension:d}]{more})"
        )
        session.cursor.execute(
            f"COMMENT ON TABLE {table} IS 'vecstore layout {_LAYOUT}, metric {self.metric}'"
        )

    def _read_table(self, session: DuckDBSession) -> bool:
        """Look at the table: whether it is there, and fits.

        Raises:
            SchemaMismatchError: Naming every difference.
        """
        where = (
            "database_name = current_database() AND lower(schema_name) = "
            "lower(coalesce(?, current_schema())) AND lower(table_name) = lower(?)"
        )
        at = [self._names.namespace, self._names.table]
        found = session.rows(f"SELECT comment FROM duckdb_tables() WHERE {where}", at)
        if not found:
            return False
        columns = {
            name.lower(): (type, nullable, default is not None)
            for name, type, nullable, default in session.rows(
                "SELECT column_name, data_type, is_nullable, column_default "
                f"FROM duckdb_columns() WHERE {where}",
                at,
            )
        }
        unique = {
            tuple([name.lower() for name in names])
            for (names,) in session.rows(
                "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type "
                f"IN ('PRIMARY KEY', 'UNIQUE') AND {where}",
                at,
            )
        }
        names, table = self._names, self._names.quoted
        wanted = {
            names.id: ("VARCHAR", "VARCHAR"),
            names.text: ("VARCHAR", "VARCHAR"),
            names.metadata: ("JSON", "JSON"),
            names.embedding: (r"FLOAT\[\d+\]", "FLOAT[n]"),
        }
        faults = []
        for name, (pattern, type) in wanted.items():
            held = columns.get(name.lower(), ("",))[0]
            if not held:
                faults.append(f"it has no column {name!r}")
            elif not re.fullmatch(pattern, held):
                remedy = f"ALTER TABLE {table} ALTER {quoted(name)} TYPE {type}"
                faults.append(f"its column {name!r} is {held}, not {type} ({remedy})")
        if (names.id.lower(),) not in unique:
            named = quoted(f"{names.table}_ids")
            index = f"CREATE UNIQUE INDEX {named} ON {table} ({names.column('id')})"
            indexed = session.rows(
                f"SELECT expressions FROM duckdb_indexes() WHERE is_unique AND {where}", at
            )
            only = {f"[{names.id.lower()}]", f"['\"{names.id.lower()}\"']"}
            if not any(str(row[0]).lower() in only for row in indexed):
                faults.append(f"nothing keeps its ids unique ({index})")
        extra = columns.get(names.extra.lower()) if names.extra is not None else None
        keeps_extra = self._finds_extra(
            extra,
            fits=extra is not None and extra[:2] == ("VARCHAR", True),
            made_by_us=_COMMENT.fullmatch(found[0][0] or "") is not None,
        )
        ours = {name.lower() for name in wanted}
        for name, (_, nullable, filled) in columns.items():
            if name not in ours and not nullable and not filled:
                faults.append(f"nobody would fill its required column {name!r}")
        if faults:
            raise misfit(self._title, faults)
        type, nullable, _ = columns[names.embedding.lower()]
        self._take(found[0][0], type)
        self.capabilities = replace(self.capabilities, vectorless=nullable, keeps_extra=keeps_extra)
        return True

    def _take(self, comment: str | None, type: str) -> None:
        """Settle the dimension and the metric by those of the table."""
        dimension = int(type[len("FLOAT[") : -1])
        if self.dimension is not None and self.dimension != dimension:
            raise misfit(
                self._title, [f"its vectors have {dimension} dimensions, not {self.dimension}"]
            )
        told = _COMMENT.fullmatch(comment or "")
        if told is not None and told[1] != _LAYOUT:
            raise misfit(
                self._title,
                [f"it has layout {told[1]}, and this version of vecstore knows {_LAYOUT}"],
                "; open it with the version that made it, and copy the documents",
            )
        metric: Any = self._metric if told is None else told[2]
        if self._metric_given is not None and metric != self._metric_given:
            raise misfit(self._title, [f"its metric is {metric}, not {self._metric_given}"])
        self._settle(metric=metric, dimension=dimension)

    # --- the hooks ---------------------------------------------------------------------------

    def _in_transaction(
        self, operation: str, work: Callable[[Any], Result], *, writing: bool = False
    ) -> Result:
        try:
            return self._connections.run(operation, work, writing=writing)
        except BackendError as error:
            if not self._there or not self._connections.names_what_is_not_there(error):
                raise

        def again(session: DuckDBSession) -> Result:
            # Others have made the table anew since it was looked at, or taken it away.
            if not self._read_table(session):
                raise self._gone()
            return work(session)

        return self._connections.run(operation, again, writing=writing)

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _vectorless_remedy(self) -> str:
        column, table = self._names.column("embedding"), self._names.quoted
        return (
            f"its column {self._names.embedding!r} is NOT NULL; run "
            f"ALTER TABLE {table} ALTER {column} DROP NOT NULL; and open the store again"
        )

    def _insert(self, session: DuckDBSession, rows: Columns, *, replacing: bool) -> None:
        dimension = rows.vectors.shape[1]
        column = self._names.column
        roles = self._roles()
        target = ", ".join([column(role) for role in roles])
        conflict = ""
        if replacing:
            changed = [column(role) for role in roles[1:]]
            sets = ", ".join([f"{name} = excluded.{name}" for name in changed])
            conflict = f" ON CONFLICT ({column('id')}) DO UPDATE SET {sets}"
        into = f"INSERT INTO {self._names.quoted} ({target}) "
        texts = ", ".join(["unnest(CAST(? AS VARCHAR[]))"] * (len(roles) - 1))
        params: list[Any] = [rows.ids, rows.texts, rows.metadata]
        if "extra" in roles:
            params.append(list(rows.extras or [None] * len(rows.ids)))
        if not dimension:
            session.cursor.execute(f"{into}SELECT {texts}, NULL{conflict}", params)
            return
        if len(rows.ids) < _COLUMNWISE_FROM:
            vectors = f"unnest(CAST(? AS FLOAT[{dimension:d}][]))"
            session.cursor.execute(
                f"{into}SELECT {texts}, {vectors}{conflict}", [*params, rows.vectors.tolist()]
            )
            return
        import numpy as np

        # A matrix goes in as its columns, without a number being made a Python object.
        # Named after the table, which it hides from this cursor's other statements: never that one.
        batch = f"{self._names.table} batch"
        numbers = {f"c{n}": one for n, one in enumerate(np.ascontiguousarray(rows.vectors.T))}
        session.cursor.register(batch, numbers)
        try:
            session.cursor.execute(
                f"{into}SELECT given.*, array_value({', '.join(numbers)}) FROM "
                f"(SELECT {texts}) AS given POSITIONAL JOIN {quoted(batch)}{conflict}",
                params,
            )
        finally:
            session.cursor.unregister(batch)

    def _rewrite(self, session: DuckDBSession, ids: list[str], metadata: list[str]) -> None:
        column = self._names.column
        session.cursor.execute(
            f"UPDATE {self._names.quoted} SET {column('metadata')} = new.metadata FROM (SELECT "
            "unnest(CAST(? AS VARCHAR[])) AS id, unnest(CAST(? AS VARCHAR[])) AS metadata) AS new "
            f"WHERE {self._names.quoted}.{column('id')} = new.id",
            [ids, metadata],
        )

    def _nearest_rows(
        self,
        session: DuckDBSession,
        vector: Vector,
        where: str,
        params: list[Any],
        count: int,
        wide: bool,
    ) -> list[Row]:
        check_dimension(len(vector), self.dimension, "the query")
        score = (
            f"{_SCORES[self.metric]}({self._names.column('embedding')}, "
            f"CAST(? AS FLOAT[{len(vector):d}]))"
        )
        # Of a vector without a direction the cosine is NaN, which would come first.
        statement = self._select(
            f"{self._columns(embedding=wide)}, nullif({score}, 'nan'::FLOAT) AS vecstore_score",
            where,
            f" ORDER BY vecstore_score DESC NULLS LAST, {self._id} LIMIT ?",
        )
        return session.rows(statement, [vector.tolist(), *params, count])

    def _pages(
        self, columns: Callable[[], str], filter: Any, batch_size: int, operation: str
    ) -> Iterator[list[Row]]:
        # The engine has no way to read on by id but to go through the table: many at a time.
        after = ""
        while True:
            where, params = self._where(Selection(filter=filter), ("{id} > ?", after))
            order = f" ORDER BY {self._id}"
            bound = [*params, _IDS_AT_ONCE]
            found = self._rows(operation, lambda: self._id, where, bound, f"{order} LIMIT ?")
            for part in id_parts(tuple([row[0] for row in found]), batch_size):
                where, params = self._where(Selection(ids=part, filter=filter))
                yield self._rows(operation, columns, where, params, order)
            if len(found) < _IDS_AT_ONCE:
                return
            after = found[-1][0]

    def _as_vector(self, value: Sequence[float]) -> Vector | None:
        import numpy as np

        vector = np.array(value, dtype=np.float32)
        vector.flags.writeable = False
        return vector

    def _place(self) -> Place:
        return Place(system="duckdb", collection=self._names.table, namespace=self._names.namespace)

    def _close(self) -> None:
        self._connections.close()

    def _bound_to_process(self) -> str | None:
        if self._connections.path is None:
            return "the database is in its memory, or on a connection of yours"
        return None if self._read_only else "DuckDB lets one process at a time open a file"

    def _native(self) -> DuckDBPyConnection:
        """A connection to the database: the caller's, or the store's own."""
        return self._connections.native
