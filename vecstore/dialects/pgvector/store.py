"""Documents in PostgreSQL, searched with pgvector."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack
from uuid import UUID

from vecstore.dialects.pgvector.columns import read_columns
from vecstore.dialects.pgvector.connection import (
    LIBPQ_OPTIONS,
    URL_OPTIONS,
    Connections,
    Row,
    connection_string,
)
from vecstore.dialects.pgvector.dialect import Pgvector
from vecstore.dialects.pgvector.filling import (
    FILLED_FROM,
    Filling,
    UnbuiltIndexWarning,
    build,
    put_off,
    take_away,
)
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.rows import WireVector, documents_of
from vecstore.dialects.pgvector.schema import (
    MAX_HALF_INDEXED,
    IndexKind,
    TableFacts,
    TableSpec,
    create_table,
    create_vector_index,
    line_to_allow_vectorless,
    line_to_keep_extra,
    read_table,
)
from vecstore.dialects.pgvector.shared import read_where
from vecstore.dialects.pgvector.statements import MOST_ROWS, Statements
from vecstore.dialects.pgvector.writing import Writing
from vecstore.document import Document, shown_id
from vecstore.embedding import BatchingStrategy, EmbedderInput, check_dimension
from vecstore.errors import (
    BackendError,
    ConfigurationError,
    DocumentError,
    SchemaMismatchError,
    StoreClosedError,
)
from vecstore.filter.convert import Compiled
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Judge, Order, Place, Selection
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import (
    LONGEST_IN_FLOAT16,
    LONGEST_IN_FLOAT32,
    SHORTEST_IN_FLOAT16,
    SHORTEST_IN_FLOAT32,
)
from vecstore.store.options import CommonOptions, read_schema
from vecstore.store.ranking import filled
from vecstore.store.url import StoreURL, is_secret

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg_pool import ConnectionPool

    from vecstore.vectors import Matrix, Vector

Result = TypeVar("Result")

VALUES_AT_ONCE = 10_000
"""Values of a key that are fetched together."""

_PROBES: dict[IndexKind, str] = {"hnsw": "strict_order", "ivfflat": "relaxed_order"}


class PgvectorStore(VectorStore):
    """A table with a vector column, and metadata in a JSONB column beside it.

    Without an index, searches look at every row. With one, they are approximate, but never short
    because of a filter: a filtered search whose matches are few is answered exactly, and one that
    comes back with fewer than ``top_k`` rows is repeated exactly.

    Args:
        dsn: A libpq connection string or ``postgresql://`` URL; or
        pool: an open ``psycopg_pool.ConnectionPool``, which stays open when the store closes.
        table: Name of the table.
        namespace: The PostgreSQL schema that it is in; None follows the search path.
        create: Make extension, table and indexes when the table is missing. Searches never do.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        index: ``"hnsw"``, ``"ivfflat"`` or None. HNSW is made with the table, and built at the
            end of an ``add`` that fills it; see :meth:`bulk_load`. IVFFlat is built by
            :meth:`build_index` once there are rows to learn from. Beyond 2,000 dimensions the index
            holds half-precision copies and results are ranked on the full vectors.
        index_options: Build options: ``m`` and ``ef_construction``, or ``lists``.
        search_effort: Candidates that an index search looks at (``hnsw.ef_search``), or lists
            (``ivfflat.probes``); None chooses by ``top_k``.
        exact_below: Up to this many matching rows a search is exact; 0 always asks the index
            first.
        columns: Keys promoted to typed columns, such as ``["year"]`` or, with the names of the
            columns, ``{"year": "published"}``, served by ordinary indexes; the ``schema`` says of
            which type. A contract that ``add`` enforces.
        id_column: Names of the columns, for a table that exists already. Its ids may be text,
            ``uuid`` or ``bigint``.
        text_column: See ``id_column``.
        metadata_column: See ``id_column``.
        embedding_column: See ``id_column``.
        extra_column: The column for ``Document.extra``, a nullable ``text``, in a table that others
            made; tables of this library have one, ``"extra"``.
        where: Columns of an existing table that several collections share, each with the value
            that this store's rows have there: ``{"collection_id": collection_id}``. The condition
            is joined to everything that reads, changes or deletes, and the values are put into
            every row that is added. Ids stay unique in the whole table.
        pool_size: Connections that a pool of the store's own opens at most.
        timeout: Seconds to wait for a free connection, and for the server to answer a new one.
        statement_timeout: Seconds one statement may take; None leaves the server's setting.
        prepare_threshold: After how many runs a statement is prepared on the server; None for
            never, which poolers in transaction mode need.
        **common: As for every store, such as ``async_threads``.

    Raises:
        BackendNotInstalledError: If psycopg is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the table does not fit, or is missing and ``create`` is False.
        BackendError: If the server cannot be reached.
    """

    name: ClassVar[str] = "pgvector"
    capabilities: StoreCapabilities = StoreCapabilities(
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        tells_replaced=True,
        vectorless=True,
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        native_statistics=True,
        native_order=True,
        # An entry of the index on ids takes at most a third of a page.
        max_id_bytes=2_600,
        max_text_bytes=256 * 1024 * 1024,
        max_metadata_bytes=200 * 1024 * 1024,
        max_dimension=16_000,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=5_000,
        max_cost=250,
    )

    _folder: str | None = None
    """Where an embedded server lies, which starts once the options have been looked at."""

    def __init__(
        self,
        dsn: str | None = None,
        *,
        pool: ConnectionPool | None = None,
        table: str = "documents",
        namespace: str | None = None,
        create: bool = False,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        index: IndexKind | None = "hnsw",
        index_options: Mapping[str, int] | None = None,
        search_effort: int | None = None,
        exact_below: int = 5_000,
        columns: Mapping[str, str] | Collection[str] | None = None,
        id_column: str = "id",
        text_column: str = "text",
        metadata_column: str = "metadata",
        embedding_column: str = "embedding",
        extra_column: str | None = None,
        where: Mapping[str, str | int | bool | UUID] | None = None,
        pool_size: int = 10,
        timeout: float = 30.0,
        statement_timeout: float | None = None,
        prepare_threshold: int | None = 5,
        **common: Unpack[CommonOptions],
    ) -> None:
        self._spec = TableSpec(
            table=table,
            schema=namespace,
            id_column=id_column,
            text_column=text_column,
            metadata_column=metadata_column,
            embedding_column=embedding_column,
            extra_column=extra_column,
            columns=read_columns(columns or (), read_schema(common.get("schema"))),
            metric=metric,
            index=index,
            index_options=dict(index_options or {}),
            where=read_where(where),
        )
        self._title = f"the table {self._spec.shown}"
        if isinstance(dimension, int):
            self._spec.check_dimension(dimension)
        if search_effort is not None and type(search_effort) is not int:
            raise ConfigurationError(f"search_effort is a whole number, not {search_effort!r}")
        if index is not None:
            self.capabilities = replace(self.capabilities, max_dimension=MAX_HALF_INDEXED)
            if isinstance(dimension, int):
                self._declare_lengths(dimension)
        if self._spec.extra is None:
            self.capabilities = replace(self.capabilities, keeps_extra=False)
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._declared = dict(self._spec.columns)
        self._dialect = Pgvector(
            column=metadata_column, columns=self._spec.columns, schema=self.schema
        )
        self._create = create
        self._exact_below = exact_below
        self._search_effort = search_effort
        self._facts: TableFacts | None = None
        self._filling = Filling()
        self._large = False  # once a table has many rows, it is not counted again
        self._server: Any = None
        self._sql: Statements | None = None
        self._writing = Writing()
        with ExitStack() as undone:
            if self._folder is not None:
                from vecstore.dialects.pgvector.embedded import EmbeddedServer

                self._server = EmbeddedServer(self._folder)
                undone.callback(self._server.close)
                dsn = self._server.dsn
            self._connections = Connections(
                dsn,
                pool,
                pool_size=pool_size,
                timeout=timeout,
                statement_timeout=statement_timeout,
                prepare_threshold=prepare_threshold,
            )
            undone.callback(self._connections.close)
            self._connections.run("open", self._open_table)
            undone.pop_all()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> PgvectorStore:
        """Open ``postgresql://user@host/db?table=docs`` or ``pgvector+embedded:///folder?table=docs``.

        An embedded server runs in the folder while any store or process uses it, and its table is
        made when missing.
        """
        read = url.options(URL_OPTIONS, options)
        libpq: dict[str, Any] = {name: read.pop(name) for name in LIBPQ_OPTIONS if name in read}
        if url.scheme == "pgvector+embedded":
            return cls._embedded(url, embedder, read)
        return cls(connection_string(url, libpq), embedder=embedder, **read)

    @classmethod
    def _embedded(
        cls, url: StoreURL, embedder: EmbedderInput | None, options: dict[str, Any]
    ) -> PgvectorStore:
        folder = url.file()
        if folder is None:
            raise ConfigurationError(
                "an embedded PostgreSQL lies in a folder: pgvector+embedded:///data/pg?table=docs"
            )
        store = cls.__new__(cls)
        store._folder = folder
        store.__init__(None, embedder=embedder, **{"create": True, **options})  # type: ignore[misc]
        return store

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while neither an option nor the table says it."""
        if self._facts is not None and self._facts.dimension is not None:
            return self._facts.dimension
        return self._dimension

    def build_index(self) -> None:
        """Build the index on the vectors now, if it is missing.

        IVFFlat learns its lists from the rows that are there; HNSW is built faster over rows that
        are there than row by row.

        Raises:
            ConfigurationError: If the store was opened with ``index=None``.
        """
        self._check_open()
        if self._spec.index is None:
            raise ConfigurationError('open the store with index="hnsw" or "ivfflat" to build one')

        def work(cursor: Cursor[Any]) -> TableFacts:
            if not self._ready(cursor) or self.dimension is None:
                raise SchemaMismatchError(
                    f"the table {self._spec.shown} has no rows to build an index over"
                )
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('vecstore schema'))")
            facts = read_table(cursor, self._spec)
            assert facts is not None
            if facts.put_off:
                build(cursor, self._spec, self.dimension, facts.extension_schema)
            elif facts.indexed != self._spec.index:
                create_vector_index(cursor, self._spec, self.dimension, facts.extension_schema)
            else:
                return facts
            facts = read_table(cursor, self._spec)
            assert facts is not None
            return facts

        self._take(self._connections.run("build_index", work))
        with suppress(BackendError):  # a stub that stays does no harm
            self._connections.run("build_index", self._take_away_stub)

    @contextmanager
    def bulk_load(self) -> Iterator[None]:
        """Build the index on the vectors after what is added inside, and not row by row.

        One ``add`` of many documents to an empty table does so by itself. This is for many calls,
        and for tables with rows; meanwhile searches look at every row. Where the block is left by
        Ctrl-C, or the process ends in it, the next ``add`` or :meth:`build_index` builds the index.

        Raises:
            ConfigurationError: If there is no index to put off, or it is not this store's.

        Example:
            >>> with store.bulk_load():  # doctest: +SKIP
            ...     for page in pages:
            ...         store.add(page)
        """
        self._check_open()
        if self._spec.index != "hnsw":
            raise ConfigurationError('bulk_load() puts off an index: open the store with "hnsw"')
        self._filling.begin(large=True)
        interrupted = True
        try:
            if not self._put_off("bulk_load", empty=False):
                raise ConfigurationError(
                    f"the index of the table {self._spec.shown} cannot be put off: the table was "
                    "not made by vecstore, belongs to another role, has no index yet, or is in "
                    "use at the moment"
                )
            yield
            interrupted = False
        except Exception:
            interrupted = False
            raise
        finally:
            self._finish_add(interrupted=interrupted)

    # --- the table ---------------------------------------------------------------------------

    def _open_table(self, cursor: Cursor[Any]) -> None:
        facts = read_table(cursor, self._spec)
        if facts is None and self._spec.where:
            raise SchemaMismatchError(
                f"there is no table {self._spec.shown}, and where= is of a table that exists: make "
                "it with its columns first, or leave where= out"
            )
        if facts is None and not self._create:
            raise SchemaMismatchError(
                f"there is no table {self._spec.shown}; open the store with create=True (and "
                "dimension=...) to make it, or name an existing one with table=..."
            )
        if facts is None and self._dimension is not None:
            create_table(cursor, self._spec, self._dimension)
            facts = read_table(cursor, self._spec)
        if facts is not None:
            self._take(facts)
            if facts.put_off and self._spec.index == "hnsw":
                reason = "an add that fills the table is at work, or was interrupted"
                warnings.warn(UnbuiltIndexWarning(self._spec.shown, reason), stacklevel=2)

    def _take(self, facts: TableFacts) -> None:
        """Note what the table is like, once it is known to fit."""
        if None not in (self._dimension, facts.dimension) and self._dimension != facts.dimension:
            raise SchemaMismatchError(
                f"the table {self._spec.shown} holds vectors of {facts.dimension} dimensions, not "
                f"{self._dimension}; use the embedder it was filled with, or another table"
            )
        self._sql = Statements(self._spec, facts)
        self._facts = facts
        self._filling.put_off = facts.put_off
        self.capabilities = replace(
            self.capabilities,
            exact_topk=facts.indexed is None,
            id_charset=facts.id_charset,
            vectorless=facts.nullable,
            keeps_extra=facts.extra is not None,
            tells_replaced=facts.tells_replaced,
        )
        self._dialect = replace(self._dialect, indexed=facts.metadata_indexed)

        if facts.dimension is not None and facts.indexed is not None:
            self._declare_lengths(facts.dimension)

    def _declare_lengths(self, dimension: int) -> None:
        """Bound the vectors where an index holds them in 16 bits."""
        if self._spec.half(dimension):
            self.capabilities = replace(
                self.capabilities,
                min_vector_length=SHORTEST_IN_FLOAT16,
                max_vector_length=LONGEST_IN_FLOAT16,
            )

    def _ready(self, cursor: Cursor[Any]) -> bool:
        """Whether there is a table to read; another process may have made it meanwhile."""
        if self._facts is None:
            facts = read_table(cursor, self._spec)
            if facts is None:
                return False
            self._take(facts)
        return True

    def _on_table(
        self,
        operation: str,
        otherwise: Result,
        work: Callable[[Cursor[Any], Statements], Result],
        *,
        settings: str = "",
        reads_once: bool = False,
    ) -> Result:
        """Do some work in a transaction; without a table there is only another answer."""

        def begun(cursor: Cursor[Any]) -> Result:
            if not self._ready(cursor):
                return otherwise
            assert self._sql is not None
            return work(cursor, self._sql)

        return self._connections.run(
            operation,
            begun,
            settings=settings,
            reads_once=reads_once and self._facts is not None,
        )

    @property
    def _reads_at_once(self) -> bool:
        """Whether any one statement that reads may be sent without a transaction around it."""
        return self._facts is not None and not self._facts.compiles

    def _ready_for(self, cursor: Cursor[Any], batch: Batch) -> TableFacts:
        if batch.vectorless:
            return self._ready_without_vectors(cursor)
        dimension = batch.vectors.shape[1]
        if not self._ready(cursor):
            create_table(cursor, self._spec, dimension, put_off=self._filling.large)
            facts = read_table(cursor, self._spec)
            assert facts is not None
            check_dimension(dimension, facts.dimension, "a document")
            return facts
        assert self._facts is not None
        if self.dimension is None:
            self._facts = replace(self._facts, dimension=dimension)
        check_dimension(dimension, self.dimension, "a document")
        return self._facts

    def _ready_without_vectors(self, cursor: Cursor[Any]) -> TableFacts:
        if not self._ready(cursor):
            if self._dimension is None:
                raise ConfigurationError(
                    f"{self._title} is still to be made, and documents without a vector do not say "
                    "how long vectors are: open the store with dimension=..."
                )
            create_table(cursor, self._spec, self._dimension, put_off=self._filling.large)
            facts = read_table(cursor, self._spec)
        else:
            facts = self._facts
        assert facts is not None
        if not facts.nullable:  # others made the table meanwhile
            raise DocumentError(f"{self._title} takes no row without a vector: {self._remedy()}")
        return facts

    def _with_extra(self, cursor: Cursor[Any], batch: Batch, facts: TableFacts) -> TableFacts:
        """The table as it is now, where it had no column for extras when it was looked at."""
        if facts.extra is None and self._facts is facts:
            # Somebody may have added the column meanwhile: what it holds of a document that is
            # replaced would stay.
            found = read_table(cursor, self._spec)
            if found is not None and found.extra is not None:
                self._take(found)
                facts = found
        if facts.extra is None:
            batch.check_extras(self._extra_remedy())
        return facts

    def _remedy(self) -> str:
        return (
            f"the column {self._spec.embedding_column!r} is NOT NULL; run "
            f"{line_to_allow_vectorless(self._spec)}; and open the store again"
        )

    # --- the hooks ---------------------------------------------------------------------------

    def _vectorless_remedy(self) -> str:
        return self._remedy()

    def _extra_remedy(self) -> str:
        ours = self._spec.extra if self._facts is None or self._facts.made_by_us else None
        line = line_to_keep_extra(self._spec, ours or "vecstore_extra")
        named = "" if ours else ' with extra_column="vecstore_extra"'
        return f"{self._title} has no column for it; run {line}; and open the store again{named}"

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile_to_read(filter)

    def _check_documents(self, documents: Sequence[Any]) -> None:
        if self._declared:
            for document in documents:
                self._check_columns(document.metadata, document.id)

    def _check_columns(self, metadata: Mapping[str, Any], document_id: str | None) -> None:
        for key, column in self._declared.items():
            fault = column.fault(metadata.get(key))
            if fault is not None:
                owner = "the metadata" if document_id is None else f"document {document_id!r}"
                raise DocumentError(
                    f"{owner} cannot be stored with the key {key_text((key,))}: {fault}",
                    document_id=document_id,
                    key=key_text((key,)),
                )

    def _begin_add(self, count: int) -> None:
        large = self._spec.index == "hnsw" and count >= FILLED_FROM
        self._filling.begin(large)
        if large and not self._filling.has_rows:
            self._put_off("add", empty=True)

    def _put_off(self, operation: str, *, empty: bool) -> bool:
        """Put the index off; of a table that is still to be made, when it is made."""

        def work(cursor: Cursor[Any]) -> tuple[bool, bool]:
            if not self._ready(cursor):
                return True, False
            facts = self._facts
            assert facts is not None
            if self.dimension is None:
                return False, False
            return put_off(cursor, self._spec, self.dimension, facts.extension_schema, empty=empty)

        done, self._filling.has_rows = self._connections.run(operation, work)
        if self._facts is not None:
            self._filling.put_off = done or self._filling.put_off
        return done

    def _finish_add(self, *, interrupted: bool) -> None:
        last = self._filling.end()
        if interrupted or not last or not self._filling.put_off:
            return

        def work(cursor: Cursor[Any]) -> None:
            assert self._facts is not None
            assert self.dimension is not None
            build(cursor, self._spec, self.dimension, self._facts.extension_schema)

        try:
            self._connections.run("add", work)
            self._filling.put_off = False
            self._connections.run("add", self._take_away_stub)
        except (BackendError, StoreClosedError) as error:
            if self._filling.put_off:
                warning = UnbuiltIndexWarning(self._spec.shown, f"building it failed ({error})")
                warnings.warn(warning, stacklevel=2)

    def _take_away_stub(self, cursor: Cursor[Any]) -> None:
        take_away(cursor, self._spec)

    def _add(self, batch: Batch) -> Iterable[str]:
        if self._facts is None and not batch.vectorless:
            # What the dimension decides is known by the first vectors only.
            if self._spec.index is not None:
                self._declare_lengths(batch.vectors.shape[1])
            for row, fault in self._lengths.faults(batch.vectors):
                id = batch.ids[row]
                told = f"the vector of document {shown_id(id)} {fault}"
                raise DocumentError(told, document_id=id)

        def work(cursor: Cursor[Any]) -> tuple[Iterable[str], TableFacts]:
            facts = self._with_extra(cursor, batch, self._ready_for(cursor, batch))
            return self._writing.write(cursor, batch, Statements(self._spec, facts)), facts

        written, facts = self._connections.run("add", work)
        if self._facts is None:
            # The table was made by this call, which is known to have worked only now.
            self._take(facts)
        return written

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        def work(cursor: Cursor[Any], sql: Statements) -> set[str]:
            where, params = sql.where(Selection(ids=ids))
            return {row[0] for row in _fetched(cursor, f"{sql.ids}{where}", params)}

        return self._on_table("add", set(), work, reads_once=True)

    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        return self._nearest(vector, Selection(filter=filter), top_k, include_embedding)

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        for vector in vectors:
            yield self._nearest(vector, selection, top_k, include_embedding)

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        foreign = ForeignRecords(self._title)
        facts = self._facts
        at_once = self._reads_at_once and facts is not None and facts.indexed is None

        def nearest(count: int) -> list[Row]:
            def work(cursor: Cursor[Any], sql: Statements) -> list[Row]:
                where, params = sql.where(selection)
                params.update(query=WireVector(vector), top_k=count)
                kind = sql.facts.indexed
                if kind is not None and not self._few_match(cursor, sql, selection):
                    assert self.dimension is not None
                    half = self.dimension if self._spec.half(self.dimension) else None
                    statement = sql.approximate(where, include_embedding, half)
                    found = _fetched(cursor, statement, params)
                    if len(found) == count:
                        return found
                return _fetched(cursor, sql.exact(where, include_embedding), params)

            return self._on_table(
                "search",
                [],
                work,
                settings=self._tuning(count),
                reads_once=at_once,
            )

        def read(rows: Sequence[Row]) -> list[Document]:
            return list(documents_of(rows, foreign, cosine=self._metric == "cosine"))

        return filled(nearest, read, min(top_k, MOST_ROWS), MOST_ROWS)

    def _few_match(self, cursor: Cursor[Any], sql: Statements, selection: Selection) -> bool:
        """Whether so few rows match that looking at each of them is better than the index.

        Among few rows the index also misses some: entries of deleted rows take up its candidates.
        """
        if selection.ids is not None:
            return True
        everything = selection.filter is None and not selection.excluded
        if not self._exact_below or (everything and self._large):
            return False
        where, params = sql.where(selection)
        rows = _fetched(cursor, sql.probe(where), {**params, "probe": self._exact_below + 1})
        few = int(rows[0][0]) <= self._exact_below
        if everything:
            self._large = not few
        return few

    def _tuning(self, top_k: int) -> str:
        """Settings of a transaction that searches: go on until enough rows pass the filter."""
        kind = None if self._facts is None else self._facts.indexed
        if kind is None:
            return ""
        if kind == "hnsw":
            effort = self._search_effort or min(1_000, max(100, 2 * top_k))
            name = "hnsw.ef_search"
        else:
            effort = self._search_effort or 10
            name = "ivfflat.probes"
        return f"; SET LOCAL {kind}.iterative_scan = {_PROBES[kind]}; SET LOCAL {name} = {effort:d}"

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        foreign = ForeignRecords(self._title)

        def ask(count: int | None) -> list[Row]:
            # By ids alone there is one good plan, and nothing that the server would compile.
            alone = selection.filter is None and selection.ids is not None

            def work(cursor: Cursor[Any], sql: Statements) -> list[Row]:
                where, params = sql.where(selection)
                statement = sql.select(where, include_embedding, count)
                return _fetched(cursor, statement, params, prepare=None if alone else False)

            return self._on_table("get", [], work, reads_once=alone or self._reads_at_once)

        def read(rows: Sequence[Row]) -> list[Document]:
            return list(documents_of(rows, foreign))

        return read(ask(None)) if limit is None else filled(ask, read, limit, MOST_ROWS)

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        return self._streamed(
            filter, batch_size, lambda sql, where: sql.select(where, include_embedding, None)
        )

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        return self._streamed(
            filter, batch_size, lambda sql, where: sql.textless(where, include_embedding)
        )

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for document in self._streamed(filter, batch_size, Statements.metadata):
            yield document.id, document.metadata

    def _get_ordered(
        self, order: Order, filter: Any, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        foreign = ForeignRecords(self._title)

        def ask(count: int | None) -> list[Row]:
            def work(cursor: Cursor[Any], sql: Statements) -> list[Row]:
                where, params = sql.where(Selection(filter=filter))
                query, more = sql.ordered(where, order, include_embedding, count)
                return _fetched(cursor, query, {**params, **more})

            return self._on_table("get", [], work, reads_once=self._reads_at_once)

        def read(rows: Sequence[Row]) -> list[Document]:
            return list(documents_of(rows, foreign))

        return read(ask(None)) if limit is None else filled(ask, read, limit, MOST_ROWS)

    def _held_values(self, path: tuple[str, ...], filter: Any) -> Iterator[tuple[Any, int]]:
        if not self._connections.run("distinct", self._ready):
            return
        assert self._sql is not None
        where, params = self._sql.where(Selection(filter=filter))
        query, steps = self._sql.values(where, path)
        for written, count in self._connections.stream(
            "distinct", query, {**params, **steps}, VALUES_AT_ONCE
        ):
            yield json.loads(written), count

    def _extremes(self, path: tuple[str, ...], filter: Any) -> Iterable[Any]:
        def work(cursor: Cursor[Any], sql: Statements) -> list[Row]:
            where, params = sql.where(Selection(filter=filter))
            query, steps = sql.extremes(where, path)
            return _fetched(cursor, query, {**params, **steps})

        none: list[Row] = []
        for low, high, *texts in self._on_table("minmax", none, work):
            yield from [json.loads(number) for number in (low, high) if number is not None]
            yield from [text for text in texts if text is not None]

    def _streamed(
        self, filter: Any, batch_size: int, statement: Callable[[Statements, str], str]
    ) -> Iterator[Document]:
        if not self._connections.run("scan", self._ready):
            return
        assert self._sql is not None
        where, params = self._sql.where(Selection(filter=filter))
        query = statement(self._sql, where)
        rows = self._connections.stream("scan", query, params, min(batch_size, 2**31 - 1))
        yield from documents_of(rows, ForeignRecords(self._title))

    def _delete(self, selection: Selection) -> int:
        return self._change("delete", Statements.delete, {}, selection)

    def _delete_filtered(self, filter: Any) -> int:
        return self._change("delete", Statements.delete, {}, Selection(filter=filter))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        self._check_columns(set, None)
        params = {"set": encode_json(set), "unset": list(unset)}
        return self._change("update_metadata", Statements.update, params, selection)

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        deleted = self._changed("delete", [], Statements.delete_telling, {}, selection, judge)
        return [str(id) for id in deleted]

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        return self._change("delete", Statements.delete, {}, selection, judge)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        self._check_columns(set, None)
        params = {"set": encode_json(set), "unset": list(unset)}
        return self._change("update_metadata", Statements.update, params, selection, judge)

    def _change(
        self,
        operation: str,
        statement: Callable[[Statements, str], str],
        params: dict[str, Any],
        selection: Selection,
        judge: Judge | None = None,
    ) -> int:
        return int(self._changed(operation, 0, statement, params, selection, judge))

    def _changed(
        self,
        operation: str,
        nothing: Any,
        statement: Callable[[Statements, str], str],
        params: dict[str, Any],
        selection: Selection,
        judge: Judge | None,
    ) -> Any:
        def work(cursor: Cursor[Any], sql: Statements) -> Row:
            chosen = selection
            if judge is not None:
                # In the transaction that changes them, in which their rows are locked.
                where, bound = sql.where(selection)
                rows = _fetched(cursor, sql.metadata(where, lock=True), bound)
                held = documents_of(rows, ForeignRecords(self._title))
                ids = tuple([one.id for one in held if judge(one.metadata)])
                chosen = Selection(ids=ids)
            where, bound = sql.where(chosen)
            return _fetched(cursor, statement(sql, where), {**params, **bound})[0]

        changed, stranger = self._on_table(operation, (nothing, None), work)
        if stranger is not None:
            ForeignRecords(self._title).leave_out(stranger, "its metadata is no object")
        return changed

    def _count(self, filter: Any) -> int:
        def work(cursor: Cursor[Any], sql: Statements) -> int:
            where, params = sql.where(Selection(filter=filter))
            return int(_fetched(cursor, f"{sql.count}{where}", params)[0][0])

        return self._on_table("count", 0, work, reads_once=self._reads_at_once)

    def _clear(self) -> None:
        self._clear_counted()

    def _clear_counted(self) -> int:
        def work(cursor: Cursor[Any], sql: Statements) -> int:
            where, params = sql.where(Selection())
            return cursor.execute(sql.clear(where), params).rowcount

        count = self._on_table("clear", 0, work)
        self._large = self._filling.has_rows = False
        return count

    def _place(self) -> Place:
        database = self._connections.database
        schema = self._spec.schema
        namespace = "|".join([part for part in (database, schema) if part]) or None
        return Place(system="postgresql", collection=self._spec.table, namespace=namespace)

    def _close(self) -> None:
        self._connections.close()
        if self._server is not None:
            self._server.close()

    def _bound_to_process(self) -> str | None:
        for name, _ in self._spec.where:
            if is_secret(name):
                # Opened without it, the store would reach the rows of other collections.
                return f"the column {name!r} of where= is called like a secret, which stays here"
        return None

    def _after_fork(self) -> None:
        put_off, self._filling = self._filling.put_off, Filling()
        self._filling.put_off = put_off
        self._connections.renew()
        if self._server is not None:
            self._server.renew()

    def _native(self) -> Any:
        """The caller's pool, or the store's own: both have ``connection()``."""
        return self._connections.pool


def _fetched(
    cursor: Cursor[Any], statement: str, params: dict[str, Any], *, prepare: bool | None = False
) -> list[Row]:
    # Not prepared: a plan made for any filter and any LIMIT may leave the index aside, and does not
    # put the literals of IN into a hash table.
    cursor.execute(statement, params, prepare=prepare)
    rows: list[Row] = cursor.fetchall()
    return rows
