"""Documents in LanceDB: a table in a folder, in memory, or of an existing connection."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, Unpack

from vecstore.dialects.lancedb.client import Calls
from vecstore.dialects.lancedb.dialect import LanceDB
from vecstore.dialects.lancedb.layout import EXTRA, ID, METADATA, TOKENS, VECTOR
from vecstore.dialects.lancedb.rows import (
    EVERY_ROW,
    IDS_AT_ONCE,
    Row,
    Rows,
    changed_columns,
    rows_of,
    written,
)
from vecstore.dialects.lancedb.schema import check_table, has_extra, table_schema
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import BackendError, ConfigurationError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.store.backend import (
    Batch,
    Judge,
    Place,
    Selection,
    changed,
    id_outside,
    refuse_unwritable,
)
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import NearestStore
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, top_with_ties
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.db import DBConnection

    from vecstore.vectors import Vector

Result = TypeVar("Result")

_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_DISTANCES: Final = {"cosine": "cosine", "dot": "dot", "euclidean": "l2"}
_WRITES_BETWEEN: Final = 64
"""So many versions of a table are left before its small files are joined."""
_ROWS_A_TIME: Final = 32_000
"""For so many rows that is done one time less often."""
_INDEXED_FROM: Final = 5_000
"""Rows from which on indexes of ids and tokens are sooner than looking at every row."""
_KEPT: Final = timedelta(seconds=20)
"""For so long an older version stays for whoever still reads it."""
_REFINED: Final = 20
"""Of an index that compresses vectors, so many times ``top_k`` are compared once more."""


class LanceDBStore(NearestStore):
    """A table with a row for each document.

    Every search compares all rows that match, unless ``exact=False``: a vector index finds too few
    of them where a filter leaves few. Whoever writes waits for others who do, in this process or
    another; a batch is one version of the table, which is seen whole or not at all. Every now and
    then a write joins the small files that writes leave, and deletes versions that are older than
    20 seconds.

    Args:
        table: Name of the table: letters, digits, ``_``, ``-`` and ``.``.
        path: A folder on this machine; without one, and without ``client``, the table is in memory
            and goes with the store.
        client: What ``lancedb.connect(...)`` returned; it stays as it is when the store closes.
        create: Make the table when it is missing, with the first documents or, where ``dimension``
            is given, at once.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        exact: Compare with every row that matches. Otherwise a search without a filter goes by the
            table's vector index, where somebody made one; one with a filter never does.
        timeout: Seconds to wait for others who write.
        **common: As for every store, such as ``observers`` and ``async_threads``.

    Raises:
        BackendNotInstalledError: If lancedb is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the table does not fit, or is missing and not to be made.
        StoreFileError: If the folder cannot be made.
        StoreClosedError: In a process that was forked when LanceDB was loaded.

    Example:
        >>> with LanceDBStore("docs", dimension=2) as store:
        ...     store.add([Document("Hello", {"n": 1}, id="a", embedding=[1, 0])])
        ...     [found.id for found in store.search(vector=[1, 0], filter="n == 1")]
        ['a']
        ['a']
    """

    name: ClassVar[str] = "lancedb"
    engine: ClassVar[str] = "LanceDB"
    capabilities: StoreCapabilities = StoreCapabilities(
        exact_topk=True,
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        tells_replaced=True,
        filtered_count=True,
        native_ids=True,
        keeps_extra=True,
        max_text_bytes=2**30,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=IDS_AT_ONCE,
        # 100 orderings among 10,000 documents of 60 keys each take a second of one core.
        max_cost=150,
    )

    _call: Calls
    _records: Rows

    def __init__(
        self,
        table: str,
        *,
        path: str | PathLike[str] | None = None,
        client: DBConnection | None = None,
        create: bool = True,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        exact: bool = True,
        timeout: float = 60,
        **common: Unpack[CommonOptions],
    ) -> None:
        if not isinstance(table, str) or not _TABLE_NAME.fullmatch(table):
            raise ConfigurationError(
                f"a table of LanceDB has a name of letters, digits, _, - and ., not {table!r}"
            )
        for option, given in {"create": create, "exact": exact}.items():
            if not isinstance(given, bool):
                raise ConfigurationError(f"{option} is True or False, not {given!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise ConfigurationError(f"timeout is a number of seconds above 0, not {timeout!r}")
        if path is not None and client is not None:
            raise ConfigurationError("a table is found by path or by client, not by both")
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._dialect = LanceDB(layout="exact", schema=self.schema)
        self._collection = table
        self._exact = exact
        self._create = create
        folder = None if path is None else fspath(path)
        self._call = Calls(client, folder, table, create, timeout)
        self._records = Rows(self._call)
        self._fresh = 0
        self.capabilities = replace(
            self.capabilities,
            exact_topk=exact,
            conflict_atomic=self._call.local,
            scoped_add_atomic=self._call.local,
        )
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> LanceDBStore:
        """Open ``lancedb:///folder?table=docs``, or ``lancedb:?table=docs`` in memory."""
        read = url.options(_URL_OPTIONS, options)
        table = read.pop("table", None)
        if not table:
            raise ConfigurationError(f"{url}: name the table: lancedb:///folder?table=docs")
        return cls(table, path=url.file(), embedder=embedder, **read)

    # --- the table ---------------------------------------------------------------------------

    def _look(self, operation: str) -> bool:
        table = self._call.find(operation)
        if table is None:
            return False
        found = self._call(operation, lambda table: table.schema)
        self._settle(dimension=check_table(found, self._collection, self._metric, self._dimension))
        self._note_extra(found)
        return True

    def _note_extra(self, found: pa.Schema) -> None:
        """Take note of whether the table has a column for what stands beside metadata."""
        extras = has_extra(found)
        if extras != self._records.extras:
            self._records.extras = extras
            self.capabilities = replace(self.capabilities, keeps_extra=extras)

    def _make_collection(self, dimension: int) -> None:
        schema = table_schema(dimension, self._metric, extra=True)

        def make() -> None:
            if self._call.find("add") is None:
                table = self._call.client.create_table(self._collection, schema=schema)
                # Two merges of one id at the same moment would both insert it.
                table.set_unenforced_primary_key(ID)

        self._call.exclusively("add", make)

    def _open_collection(self) -> None:
        super()._open_collection()
        self._title = f"the table {self._collection!r}"

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _extra_remedy(self) -> str:
        return (
            f"{self._title} has no column for it; run "
            f"store.native.open_table({self._collection!r}).add_columns("
            f'{{"{EXTRA}": "cast(NULL as string)"}}) and open the store again'
        )

    def _add(self, batch: Batch) -> Iterable[str]:
        self._make_ready(batch)
        return self._changing("add", lambda: self._write(batch), [])

    def _write(self, batch: Batch) -> list[str]:
        stored = set(self._records.stored("add", batch.ids))
        if batch.within is not None and stored:
            inside = self._records.stored("add", batch.ids, batch.within)
            outside = stored.difference(inside)
            if outside:
                raise id_outside([id for id in batch.ids if id in outside])
        rows = list(batch.free_rows(stored))
        if not rows:
            return []
        whole = len(rows) == len(batch)
        table = self._call.table
        # Somebody may have added the column meanwhile: what it holds of a document that is
        # replaced would stay. Or the table is one that was made since without it.
        self._note_extra(table.schema)
        if not self._records.extras:
            batch.check_extras(self._extra_remedy())
        columns = written(
            table_schema(batch.vectors.shape[1], self._metric, extra=self._records.extras),
            [batch.ids[row] for row in rows],
            [batch.texts[row] for row in rows],
            [batch.metadata[row] for row in rows],
            [batch.extras[row] for row in rows] if batch.extras else (),
            batch.vectors if whole else batch.vectors[rows],
        )
        replaced = [batch.ids[row] for row in rows if batch.ids[row] in stored]
        if replaced:
            merge = table.merge_insert(ID).when_matched_update_all().when_not_matched_insert_all()
            merge.execute(columns)
        else:
            table.add(columns)
        self._fresh += len(rows)
        batch.replaced.extend(replaced)
        return [batch.ids[row] for row in rows]

    def _finish_add(self, *, interrupted: bool) -> None:
        def tidy_grown() -> None:
            if self._call.table.count_rows() <= 4 * self._fresh:
                self._tidy()

        if not interrupted and self._fresh >= _INDEXED_FROM:
            with suppress(BackendError):  # the documents are written
                self._call.exclusively("add", tidy_grown)

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        if not self._exists("search"):
            return []
        condition = self._records.condition(selection)
        columns = [*self._records.columns(include_embedding), "_distance"]
        scale = _scale_of(vector) if self._metric == "dot" else 1.0
        probe = vector * vector.dtype.type(scale)
        foreign = ForeignRecords(self._title)

        def ask(size: int) -> list[Row]:
            def search(table: Any) -> Any:
                query = table.search(probe, vector_column_name=VECTOR, query_type="vector")
                query = query.distance_type(_DISTANCES[self._metric]).select(columns).limit(size)
                if condition is not None:
                    query = query.where(condition, prefilter=True)
                if self._exact or condition is not None:
                    query = query.bypass_vector_index()
                else:
                    query = query.refine_factor(_REFINED)
                return query.to_arrow()

            return rows_of(self._call("search", search))

        def read(rows: Sequence[Row]) -> list[Document]:
            scores = {row[ID]: self._score(row["_distance"]) / scale for row in rows}
            return list(self._records.documents(rows, foreign, scores))

        def nearest(count: int) -> list[Document]:
            return filled(ask, read, count, EVERY_ROW)

        if not self._exact:
            return nearest(top_k)
        return top_with_ties(nearest, top_k, metric=self._metric)

    def _score(self, distance: float) -> float:
        if self._metric == "euclidean":
            return -math.sqrt(max(0.0, distance))  # the engine gives its square
        return 1.0 - distance

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        if selection.ids is not None or not self._exists("get"):
            return super()._get(selection, limit=limit, include_embedding=include_embedding)
        condition = self._records.condition(selection)
        columns = self._records.columns(include_embedding)
        foreign = ForeignRecords(self._title)

        def ask(size: int) -> list[Row]:
            return self._records.read("get", condition, columns, size)

        def read(rows: Sequence[Row]) -> list[Document]:
            return list(self._records.documents(rows, foreign))

        return filled(ask, read, EVERY_ROW if limit is None else limit, EVERY_ROW)

    def _count(self, filter: Any) -> int:
        if not self._exists("count"):
            return 0
        condition = None if filter is None else filter.query
        return int(self._call("count", lambda table: table.count_rows(condition)))

    def _delete(self, selection: Selection) -> int:
        return self._removed("delete", selection)

    def _delete_filtered(self, filter: Any) -> int:
        return self._removed("delete", Selection(filter=filter))

    def _clear(self) -> None:
        self._clear_counted()

    def _clear_counted(self) -> int:
        return self._changing("clear", lambda: self._deleted("true"), 0)

    def _removed(self, operation: str, selection: Selection) -> int:
        """Delete the rows of a selection that hold a document."""

        def work() -> int:
            condition = self._records.condition(selection)
            found = self._records.read(operation, condition, [ID, METADATA])
            ids = [row[ID] for row in self._records.holding(found, ForeignRecords(self._title))]
            if len(ids) < len(found):
                condition = self._records.condition(Selection(ids=tuple(ids)))
            return self._deleted(condition or "true") if ids else 0

        return self._changing(operation, work, 0)

    def _deleted(self, condition: str) -> int:
        return int(self._call.table.delete(condition).num_deleted_rows)

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        delete = partial(super()._delete_ids, selection, judge)
        return self._changing("delete", delete, [])

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        return self._changing("delete", partial(super()._delete_judged, selection, judge), 0)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        update = partial(super()._update_judged, selection, judge, set=set, unset=unset)
        return self._changing("update_metadata", update, 0)

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        return self._changing("update_metadata", partial(self._change, selection, set, unset), 0)

    def _change(self, selection: Selection, set: dict[str, Any], unset: tuple[str, ...]) -> int:
        """Write the columns of metadata anew, in one step; vectors and texts are not read."""
        import pyarrow as pa

        condition = self._records.condition(selection)
        found = self._records.read("update_metadata", condition, [ID, METADATA])
        rows = list(self._records.holding(found, ForeignRecords(self._title)))
        if not rows:
            return 0
        new = {row[ID]: changed(row[METADATA], set, unset) for row in rows}
        try:
            columns = changed_columns(list(new.values()))
        except ValueError as error:
            refuse_unwritable(new.items(), error)
        columns = {ID: pa.array([row[ID] for row in rows], pa.string()), **columns}
        schema = table_schema(1, self._metric, extra=False)
        fields = pa.schema([schema.field(name) for name in columns])
        table = pa.table(list(columns.values()), schema=fields)
        self._call.table.merge_insert(ID).when_matched_update_all().execute(table)
        return len(rows)

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            columns = [ID, METADATA, *([VECTOR] if include_embedding else [])]
            pages = self._records.pages("scan", filter, False, batch_size, columns=columns)
            for page in pages:
                yield from self._records.documents(page, foreign)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            columns = [ID, METADATA]
            for page in self._records.pages("scan", filter, False, batch_size, columns=columns):
                for row in self._records.holding(page, foreign):
                    yield row[ID], row[METADATA]

    def _place(self) -> Place:
        return replace(super()._place(), namespace=self._call.folder)

    def _bound_to_process(self) -> str | None:
        return "the table is in its memory" if self._call.folder is None else None

    # --- writing -----------------------------------------------------------------------------

    def _changing(self, operation: str, work: Callable[[], Result], absent: Result) -> Result:
        """Write, alone and to the end; then tidy up where enough was written.

        Returns:
            What ``work`` does, or ``absent`` where there is no table.
        """
        if not self._exists(operation):
            return absent

        def whole() -> Result:
            before = self._call.table.version
            result = work()
            # What was written is written: a failure here is met again at the next time.
            with suppress(Exception):
                self._tidy_after(before)
            return result

        return self._call.exclusively(operation, whole)

    def _tidy_after(self, before: int) -> None:
        """Tidy up at some writes; in a large table at few, as all rows are written anew."""
        table, times = self._call.table, before // _WRITES_BETWEEN
        if (
            table.version // _WRITES_BETWEEN != times
            and times % (1 + table.count_rows() // _ROWS_A_TIME) == 0
        ):
            self._tidy()

    def _tidy(self) -> None:
        """Join small files, delete old versions, whoever wrote them, and index what has grown."""
        table = self._call.table
        if table.count_rows() >= _INDEXED_FROM:
            self._index(table)
        table.optimize(cleanup_older_than=_KEPT)
        self._fresh = 0

    def _index(self, table: Any) -> None:
        from lancedb.index import BTree, LabelList

        known = {column for index in table.list_indices() for column in index.columns}
        for column, kind in {ID: BTree, TOKENS: LabelList}.items():
            if column not in known:
                table.create_index(column, config=kind())


def _scale_of(vector: Vector) -> float:
    """By how much a query is made longer under dot: a power of two, which rounds nothing.

    The engine gives 1 - product in float32, which leaves nothing of small products.
    """
    largest = float(abs(vector).max())
    _, exponent = math.frexp(largest * math.sqrt(len(vector)))
    return math.ldexp(1.0, _LONGEST_QUERY - exponent)


_LONGEST_QUERY: Final = 59
"""Its power of two: the longest vectors then have products of 5e35, the shortest of 500."""

_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("table", "metric"), str),
    "dimension": int,
    "timeout": float,
    "create": flag,
    "exact": flag,
    **dict.fromkeys(("client", "batching", "schema"), None),
}
