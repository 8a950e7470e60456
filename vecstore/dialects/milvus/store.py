"""Documents in Milvus: servers, milvus-lite files, or an existing client."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Unpack

from vecstore.dialects.milvus.client import Calls
from vecstore.dialects.milvus.dialect import Milvus
from vecstore.dialects.milvus.expression import keys_filter
from vecstore.dialects.milvus.layout import (
    ID,
    MAX_INTEGER,
    MAX_METADATA_BYTES,
    MAX_VARCHAR_BYTES,
    METADATA,
    MIN_INTEGER,
    TEXT,
    VECTOR,
    FieldLayout,
    tags_of,
)
from vecstore.dialects.milvus.rows import Rows, as_text, is_findable, row_filter
from vecstore.dialects.milvus.schema import (
    CollectionPlan,
    Found,
    check_index,
    load_collection,
    look_at_collection,
    make_collection,
)
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import ConfigurationError, DocumentError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Place, Selection, changed
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import BATCH, NearestStore
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32, RecordLimits
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, top_with_ties
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    from pymilvus import MilvusClient

    from vecstore.vectors import Vector

Layout = Literal["exact", "plain"]
Consistency = Literal["Strong", "Session", "Bounded", "Eventually"]

MAX_TOP_K: Final = 16_384
MAX_DIMENSION: Final = 32_768

_EXACT_INDEX = "FLAT"
_CONSISTENCY = ("Strong", "Session", "Bounded", "Eventually")


_LITE_MAX_COST = 250
"""milvus-lite tries each comparison in Python, some microseconds for a document."""
_READ_RATHER: Final = 500
"""So many more documents a file answers sooner than it tries every row for being left out; those
with some ids it looks up, which is sooner in any case."""


class MilvusStore(NearestStore):
    """A collection of rows: id, text, metadata as JSON with its tags, and the vector.

    Args:
        collection: Name of the collection.
        uri: The address of a server (``http://localhost:19530``), or the path of a milvus-lite
            file, which ends with ``.db``; or
        client: an open ``MilvusClient``, which stays open when the store closes.
        token: For a server that wants one: an API key, or ``user:password``.
        database: Name of the database.
        timeout: Seconds for one call; by default 60 with a server and 300 with milvus-lite.
        create: Make the collection when it is missing, with the first documents or, where
            ``dimension`` is given, at once. Searches never do. By default only in a file.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        layout: ``"exact"``, or ``"plain"`` for a collection that another program made; see
            :class:`~vecstore.dialects.milvus.Milvus` for the filters it can answer.
        id_field: Name of the primary key.
        text_field: Name of the field with the text.
        metadata_field: Name of the JSON field with the metadata.
        vector_field: Name of the field with the vectors.
        consistency: What a search sees of other clients' writes: ``"Strong"``, ``"Bounded"``,
            ``"Session"`` or ``"Eventually"``. What decides about a write is always read strongly.
        index: Type of the vector index as Milvus spells it; by default ``AUTOINDEX`` on a server
            and the exact ``FLAT`` in a file.
        index_options: Its parameters, such as ``{"M": 16, "efConstruction": 200}``.
        search_options: Parameters of searches, such as ``{"ef": 100}``.
        shards: Into how many parts writes are spread, for a collection that is made.
        replicas: In how many copies a collection is loaded.
        **common: As for every store, such as ``observers`` and ``async_threads``.

    Raises:
        BackendNotInstalledError: If pymilvus, or for a file milvus-lite, is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the collection does not fit, or is missing and not to be made.
        BackendError: If the server cannot be reached.
    """

    name: ClassVar[str] = "milvus"
    engine: ClassVar[str] = "Milvus"
    capabilities: StoreCapabilities = StoreCapabilities(
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        max_text_bytes=MAX_VARCHAR_BYTES,
        max_extra_bytes=MAX_VARCHAR_BYTES,
        max_id_bytes=MAX_VARCHAR_BYTES,
        max_metadata_bytes=MAX_METADATA_BYTES,
        min_integer=MIN_INTEGER,
        max_integer=MAX_INTEGER,
        max_dimension=MAX_DIMENSION,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_top_k=MAX_TOP_K,
        max_batch=BATCH,
    )

    _call: Calls
    _records: Rows

    def __init__(
        self,
        collection: str,
        *,
        uri: str | None = None,
        client: MilvusClient | None = None,
        token: str | None = None,
        database: str = "",
        timeout: float | None = None,
        create: bool | None = None,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        layout: Layout = "exact",
        id_field: str = ID,
        text_field: str = TEXT,
        metadata_field: str = METADATA,
        vector_field: str = VECTOR,
        consistency: Consistency = "Strong",
        index: str | None = None,
        index_options: Mapping[str, Any] | None = None,
        search_options: Mapping[str, Any] | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        if not isinstance(collection, str) or not collection:
            raise ConfigurationError(f"a collection has a name, not {collection!r}")
        if layout not in ("exact", "plain"):
            raise ConfigurationError(f'layout is "exact" or "plain", not {layout!r}')
        if consistency not in _CONSISTENCY:
            raise ConfigurationError(
                f"consistency is one of {', '.join(_CONSISTENCY)}, not {consistency!r}"
            )
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._layout = FieldLayout(
            id_field, text_field, metadata_field, vector_field, exact=layout == "exact"
        )
        self._plan = CollectionPlan(
            name=collection,
            layout=self._layout,
            metric=metric,
            index=index,
            index_options=dict(index_options or {}),
            consistency=consistency,
            shards=shards,
            replicas=replicas,
        )
        self._search_options = dict(search_options or {})
        self._facts: Found | None = None
        self._read_fields: list[list[str]] = []
        self._collection = collection
        self._database = database or None
        self._call = Calls(client, uri, token, database, timeout)
        self._records = Rows(
            call=self._call, collection=collection, layout=self._layout, consistency=consistency
        )
        self._dialect = Milvus(
            field=metadata_field,
            tags=self._layout.tags,
            schema=self.schema,
            target="lite" if self._call.lite else "server",
        )
        self._create = self._call.lite if create is None else create
        planned = index or (_EXACT_INDEX if self._call.lite else None)
        self.capabilities = replace(
            self.capabilities,
            exact_topk=planned == _EXACT_INDEX,
            keeps_extra=self._layout.extra is not None,
        )
        if self._call.lite:
            self.capabilities = replace(
                self.capabilities, max_cost=_LITE_MAX_COST, native_ids=False
            )
        if layout == "plain":
            self._create = False
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> MilvusStore:
        """Open ``milvus://host:19530/docs``, ``milvus+https://…`` or a milvus-lite file.

        A file is ``milvus:///folder/file.db?collection=docs``.
        """
        read = url.options(_URL_OPTIONS, options)
        named = read.pop("collection", None)
        if url.host:
            if url.user is not None:
                read.setdefault("token", f"{url.user}:{url.password or ''}")
            read["uri"] = url.server(19530)
        else:
            read["uri"] = url.file()
            if not str(read["uri"] or "").endswith(".db"):
                raise ConfigurationError(
                    f"{url}: a milvus-lite file ends with .db: milvus:///folder/file.db?"
                    "collection=docs"
                )
        collection = url.collection(named, 19530)
        return cls(collection, embedder=embedder, **read)

    # --- the collection ----------------------------------------------------------------------

    def _look(self, operation: str) -> bool:
        check_index(self._plan.index, lite=self._call.lite)
        name, timeout = self._collection, self._call.timeout
        if not self._call(operation, lambda client: client.has_collection(name, timeout)):
            return False
        self._facts = found = look_at_collection(self._call, self._plan, self._dimension, operation)
        load_collection(self._call, self._plan, operation)
        self._dimension = found.dimension
        self._layout = self._records.layout = found.layout
        if found.nullable and not self._call.lite:
            # To some servers it is unknown whether a key exists in metadata that is null.
            dialect = self._dialect
            self._dialect = Milvus(field=dialect.field, tags=dialect.tags, target=dialect.target)
        self._read_fields = [self._records.fields(False), self._records.fields(True)]
        self.capabilities = replace(
            self.capabilities,
            id_charset="integer" if found.layout.number else "any",
            max_id_bytes=found.max_id_bytes,
            max_text_bytes=found.max_text_bytes,
            max_extra_bytes=found.max_extra_bytes,
            keeps_extra=found.layout.extra is not None,
            exact_topk=found.index == _EXACT_INDEX,
        )
        return True

    def _make_collection(self, dimension: int) -> None:
        make_collection(self._call, self._plan, dimension)

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return row_filter(filter, self._dialect.compile_to_read, presence=self._layout.exact)

    def _extra_remedy(self) -> str:
        if self._layout.exact:
            return (
                f"{self._title} was made before there was a field for it; move its documents to a "
                "new one, which has it: new.add(store.scan(include_embedding=True))"
            )
        return (
            f"{self._title} has the fields that another program gave it; collections that this "
            'store makes with layout="exact" keep it'
        )

    def _check_documents(self, documents: Sequence[Any]) -> None:
        if self._facts is not None:
            self._refuse(self._facts.unwritable)
        for document in documents:
            if self._layout.exact:
                _check_tags(document.metadata, document.id)
            elif not self._layout.number and not is_findable(document.id):
                raise DocumentError(
                    f"the id {document.id!r} holds a Han character past U+FFFF, which Milvus would "
                    "not find again; use another id",
                    document_id=document.id,
                )

    def _add(self, batch: Batch) -> Iterable[str]:
        with self._call.exclusive:
            self._make_ready(batch)
            taken: set[str] = set()
            if batch.on_conflict != "replace":
                taken.update(self._records.stored("add", batch.ids))
            rows = batch.free_rows(taken)
            made = (
                {
                    **self._layout.write(
                        batch.ids[row],
                        batch.texts[row],
                        batch.metadata[row],
                        batch.extras[row] if batch.extras else None,
                    ),
                    self._layout.vector: batch.vectors[row].tolist(),
                }
                for row in rows
            )
            self._upsert("add", made)
            return [batch.ids[row] for row in rows]

    def _chooses(self, selection: Selection) -> bool:
        few = selection.ids is not None or len(selection.excluded) <= _READ_RATHER
        return not (self._call.lite and few) and self._records.can_exclude(selection.excluded)

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        if not (self._present or self._exists("search")):
            return []
        with self._call.exclusive:
            condition = self._records.chosen("search", selection)
            if condition is None:
                return []
            foreign = ForeignRecords(self._title)

            def ask(size: int) -> list[tuple[dict[str, Any], float]]:
                return self._found(vector, size, condition, include_embedding)

            def read(rows: Sequence[tuple[dict[str, Any], float]]) -> list[Document]:
                distances = {id(row): distance for row, distance in rows}
                held = self._records.holding([row for row, _ in rows], foreign)
                return [
                    self._records.document(row, self._score(distances[id(row)])) for row in held
                ]

            def nearest(count: int) -> list[Document]:
                return filled(ask, read, count, MAX_TOP_K)

            if not self.capabilities.exact_topk:
                return nearest(top_k)
            return top_with_ties(nearest, top_k, metric=self._metric, most=MAX_TOP_K)

    def _found(
        self, vector: Vector, size: int, condition: str, include_embedding: bool
    ) -> list[tuple[dict[str, Any], float]]:
        """The nearest rows, with what the engine calls their distance."""
        fields = self._read_fields[include_embedding]
        try:
            hits = list(self._hits(vector, size, condition, fields))  # which reads the JSON
            return [(self._records.of_hit(hit), hit["distance"]) for hit in hits]
        except ValueError:
            hits = list(self._hits(vector, size, condition, [self._layout.id]))
            keys = [self._records.of_hit(hit)[self._layout.id] for hit in hits]
            rows = {
                row[self._layout.id]: row for row in self._records.readable("search", keys, fields)
            }
            return [
                (rows[key], hit["distance"])
                for key, hit in zip(keys, hits, strict=True)
                if key in rows
            ]

    def _hits(self, vector: Vector, size: int, condition: str, fields: list[str]) -> Any:
        options = dict(self._search_options)
        if self._facts is not None and self._facts.index == "HNSW":
            options["ef"] = max(size, int(options.get("ef", 0)))  # a server takes no less
        [hits] = self._call(
            "search",
            lambda client: client.search(
                self._plan.name,
                data=[vector.tolist()],
                anns_field=self._layout.vector,
                filter=condition,
                limit=size,
                output_fields=fields,
                search_params={"params": options},
                consistency_level=self._plan.consistency,
                timeout=self._call.timeout,
            ),
        )
        return hits

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        with self._call.exclusive:
            # The engine counts the ids it was given, not those it found.
            stored = self._records.stored("delete", selection.ids, selection.filter)
            # Nobody else writes to a file in between, and by keys alone it is quicker.
            again = None if self._call.lite else selection.filter
            condition = self._records.condition(stored, again)
            if condition is not None:
                self._records.remove("delete", condition)
        return len(stored)

    def _delete_filtered(self, filter: Any) -> int:
        if not self._exists("delete"):
            return 0
        if self._call.lite:
            with self._call.exclusive:
                keys = self._records.matching_keys("delete", filter)
                if keys:
                    self._records.remove("delete", keys_filter(keys, self._layout.id))
            return len(keys)
        count = self._records.count("delete", filter)
        if count:
            self._records.remove("delete", as_text(filter))
        return count

    def _count(self, filter: Any) -> int:
        return self._records.count("count", filter) if self._exists("count") else 0

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """Whole rows are read and written again; changing single fields is new with Milvus 2.6."""
        if not self._exists("update_metadata"):
            return 0
        assert self._facts is not None
        self._refuse(self._facts.unchangeable)
        # What others keep beside our fields has to be written again, too.
        fields = ["*"] if self._facts.others else True
        if selection.ids is not None:
            with self._call.exclusive:
                rows = self._records.selected(
                    "update_metadata", selection.ids, selection.filter, fields
                )
                return self._rewrite(rows, set, unset)
        pages = self._records.pages("update_metadata", selection.filter, fields, BATCH)
        count = 0
        while True:
            # A page is read and written without a deletion or another change in between.
            with self._call.exclusive:
                page = next(pages, None)
                if page is None:
                    return count
                count += self._rewrite(page, set, unset)

    def _rewrite(
        self, page: list[dict[str, Any]], set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        documents = self._records.holding(page, ForeignRecords(self._title))
        rows = [self._changed(row, set, unset) for row in documents]
        self._upsert("update_metadata", rows)
        return len(rows)

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            vector = [self._layout.vector] if include_embedding else []
            fields = [*self._layout.textless_fields, *vector]
            for page in self._records.pages("scan", filter, fields, batch_size):
                yield from self._records.documents(page, foreign)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if self._exists("scan"):
            layout, foreign = self._layout, ForeignRecords(self._title)
            for page in self._records.pages("scan", filter, layout.textless_fields, batch_size):
                for row in self._records.holding(page, foreign):
                    document_id, _, metadata, _ = layout.read(row)
                    yield document_id, metadata

    def _clear(self) -> None:
        if self._exists("clear"):
            self._records.remove("clear", self._records.everything)

    def _place(self) -> Place:
        return replace(super()._place(), namespace=self._database)

    # --- rows --------------------------------------------------------------------------------

    def _upsert(self, operation: str, rows: Iterable[dict[str, Any]]) -> None:
        assert self._dimension is not None
        self._records.upsert(operation, rows, self._dimension)

    def _changed(
        self, row: Mapping[str, Any], set: dict[str, Any], unset: tuple[str, ...]
    ) -> dict[str, Any]:
        document_id, _, metadata, _ = self._layout.read(row)
        metadata = changed(metadata, set, unset)
        RecordLimits(self.name, self.capabilities).check_size(metadata, document_id)
        changes: dict[str, Any] = {self._layout.metadata: metadata}
        if self._layout.tags is not None:
            changes[self._layout.tags] = _check_tags(metadata, document_id)
        return {**row, **changes}

    def _refuse(self, reason: str | None) -> None:
        if reason is not None:
            raise ConfigurationError(
                f"the collection {self._plan.name!r} can be searched and read, and not written: "
                f"{reason}"
            )

    def _score(self, distance: float) -> float:
        # The engine gives the square of the distance, which rounding may put below 0.
        return -math.sqrt(max(0.0, distance)) if self._metric == "euclidean" else float(distance)


def _check_tags(metadata: Mapping[str, Any], document_id: str) -> list[str]:
    try:
        return tags_of(metadata)
    except DocumentError as error:
        raise DocumentError(f"document {document_id!r}: {error}", document_id=document_id) from None


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("collection", "database", "metric", "layout", "consistency", "index"), str),
    **dict.fromkeys(("id_field", "text_field", "metadata_field", "vector_field"), str),
    **dict.fromkeys(("dimension", "shards", "replicas"), int),
    "timeout": float,
    "create": flag,
    **dict.fromkeys(("token", "batching", "index_options", "search_options", "schema"), None),
}
