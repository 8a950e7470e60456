"""Documents in Weaviate: servers, Weaviate's cloud, or an existing client."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack, get_args

from vecstore.dialects.weaviate.client import TIMEOUT, Calls, ServerAddress
from vecstore.dialects.weaviate.collection import (
    INDEXES,
    CollectionPlan,
    Found,
    Index,
    check_tenant,
    collection_name,
)
from vecstore.dialects.weaviate.dialect import Layout, Weaviate
from vecstore.dialects.weaviate.filters import (
    IS_THERE,
    all_of,
    among,
    client_filter,
    matching,
)
from vecstore.dialects.weaviate.layout import EXTRA
from vecstore.dialects.weaviate.plain import PlainNames, PlainObjects
from vecstore.dialects.weaviate.records import (
    MOST,
    WHOLE,
    ExactObjects,
    Record,
    Records,
    Wanted,
    object_id,
    object_properties,
)
from vecstore.dialects.weaviate.writing import Row, Writer
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import ConfigurationError, DocumentError, SchemaMismatchError
from vecstore.filter.convert import SAFE_DOUBLE, Compiled
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Place, Selection, changed
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import BATCH, CollectionStore
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, top_with_ties
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    from weaviate import WeaviateClient

    from vecstore.vectors import Matrix, Vector

MAX_DIMENSION: Final = 65_535


class WeaviateStore(CollectionStore):
    """A collection of objects: id, text, metadata as JSON with its tokens, and the vector.

    Args:
        collection: Name of the collection. The server begins it with a capital.
        client: A ``weaviate.WeaviateClient`` that is connected, which stays so when the store
            closes; or
        url: the address of the server's REST interface, ``http://localhost:8080``.
        grpc_host: Host of its gRPC interface, where that is another; in Weaviate's cloud it is
            known.
        grpc_port: Its port; by default 50051, and 443 in the cloud.
        api_key: For a server that wants one.
        timeout: Seconds for one request.
        create: Make the collection (and the tenant) when it is missing, with the first documents
            or, where ``dimension`` is given, at once. Searches never do.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        tenant: Whose documents these are, in a collection that is divided among tenants; one that
            is made is then divided.
        vector_name: Name of the vector in a collection that has several.
        index: How vectors are found in a collection that is made: ``"hnsw"``, or ``"flat"``, which
            compares with every one of them.
        layout: ``"exact"``, or ``"plain"`` for a collection that another program made: the
            properties are metadata, and filters may ask of those that ``schema`` declares.
        text_property: With ``"plain"``, which property holds the text; by default ``text``.
        id_property: With ``"plain"``, which one holds the id; by default it is the object's own.
        **common: As for every store, such as ``schema``, which says what can be ordered.

    Raises:
        BackendNotInstalledError: If weaviate-client is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the collection does not fit, or is missing and not to be made.
        BackendError: If the server cannot be reached, or refuses the key.
    """

    name: ClassVar[str] = "weaviate"
    engine: ClassVar[str] = "Weaviate"
    capabilities: StoreCapabilities = StoreCapabilities(
        vectorless=True,
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        max_dimension=MAX_DIMENSION,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_top_k=MOST,
        max_batch=BATCH,
    )

    _call: Calls
    _records: Records

    def __init__(
        self,
        collection: str,
        *,
        client: WeaviateClient | None = None,
        url: str | None = None,
        grpc_host: str | None = None,
        grpc_port: int | None = None,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        create: bool = False,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        tenant: str | None = None,
        vector_name: str | None = None,
        index: Index = "hnsw",
        layout: Layout = "exact",
        text_property: str | None = None,
        id_property: str | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        name = collection_name(collection)
        texts = {
            "url": url,
            "grpc_host": grpc_host,
            "api_key": api_key,
            "vector_name": vector_name,
            "text_property": text_property,
            "id_property": id_property,
        }
        for option, given in texts.items():
            if given is not None and (not isinstance(given, str) or not given):
                raise ConfigurationError(f"{option} is a text, and not an empty one")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise ConfigurationError("api_key has printable characters of ASCII alone")
        if not isinstance(create, bool):
            raise ConfigurationError(f"create is True or False, not {create!r}")
        if index not in INDEXES:
            raise ConfigurationError(f"index is one of {', '.join(INDEXES)}, not {index!r}")
        if layout not in get_args(Layout):
            raise ConfigurationError(f'layout is "exact" or "plain", not {layout!r}')
        plain = None
        if layout == "plain":
            plain = PlainNames(text_property or "text", id_property)
            if plain.text == plain.id:
                raise ConfigurationError(
                    f"{plain.id!r} holds either the text of documents or their id: name another "
                    "property, text_property=... or id_property=..."
                )
            if create:
                raise ConfigurationError(
                    'layout="plain" is for collections that another program made; leave '
                    'create=True out, or have one made with layout="exact"'
                )
        elif text_property is not None or id_property is not None:
            raise ConfigurationError(
                'text_property and id_property go with layout="plain"; the exact layout has names '
                "of its own"
            )
        if type(timeout) not in (int, float) or not 0 < timeout < math.inf:
            raise ConfigurationError(f"timeout is a number of seconds, not {timeout!r}")
        if grpc_port is not None and (type(grpc_port) is not int or not 0 < grpc_port < 65_536):
            raise ConfigurationError(f"grpc_port is the number of a port, not {grpc_port!r}")
        if client is not None and (grpc_host or grpc_port or api_key):
            raise ConfigurationError("give the Weaviate store either a client or an address")
        if tenant is not None:
            check_tenant(tenant)
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._dialect = Weaviate(layout=layout, schema=self.schema)
        self._collection = name
        self._create = create
        self._tenant = tenant
        self._found: Found | None = None
        self._plan = CollectionPlan(
            name=name,
            metric=metric,
            vector_name=vector_name,
            index=index,
            tenant=tenant,
            schema=self.schema,
            plain=plain,
        )
        address = None
        if url is not None:
            address = ServerAddress(
                url=url, grpc_host=grpc_host, grpc_port=grpc_port, api_key=api_key
            )
        self._call = Calls(client, address, timeout)
        self._records = Records(call=self._call, plan=self._plan)
        self._writer = Writer(call=self._call, plan=self._plan, records=self._records)
        self.capabilities = replace(self.capabilities, exact_topk=index == "flat")
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> WeaviateStore:
        """Open ``weaviate://host:8080/Docs`` or ``weaviate+https://…``; the key goes by keyword."""
        if url.user is not None or url.password is not None:
            raise ConfigurationError(
                f"{url.scheme}: there is no user or password in the address of a Weaviate "
                "collection; pass api_key=... by keyword"
            )
        read = url.options(_URL_OPTIONS, options)
        if not url.host:
            raise ConfigurationError(
                f"{url}: name the server and the collection: weaviate://localhost:8080/Docs"
            )
        collection = url.collection(read.pop("collection", None), 8080)
        return cls(collection, url=url.server(8080), embedder=embedder, **read)

    # --- the collection ----------------------------------------------------------------------

    def _look(self, operation: str) -> bool:
        found = self._plan.find(self._call, operation, self._dimension)
        if found is None:
            return False
        self._found = found
        self._records.vector_name = found.vector_name
        self.capabilities = replace(self.capabilities, exact_topk=found.exact)
        if found.plain is not None:
            self._records.objects = found.plain
            self._dialect = found.plain.dialect(self.schema)
            self.capabilities = replace(
                self.capabilities,
                keeps_null=False,
                keeps_empty_list=False,
                # Integers travel as doubles.
                min_integer=-SAFE_DOUBLE,
                max_integer=SAFE_DOUBLE,
                id_charset="uuid" if found.plain.names.id is None else "any",
                keeps_extra=False,
            )
        else:
            self._note_extras(found.extras)
        if found.dimension is not None:
            self._settle(dimension=found.dimension)
        return True

    def _note_extras(self, extras: bool) -> None:
        """Take note of whether the collection has a place for what stands beside metadata."""
        self._records.objects = ExactObjects(extras)
        if extras != self.capabilities.keeps_extra:
            self.capabilities = replace(self.capabilities, keeps_extra=extras)

    def _make_collection(self, dimension: int) -> None:
        self._plan.make(self._call, dimension)

    def _make_ready(self, batch: Batch) -> None:
        self._check_there("add")
        super()._make_ready(batch)
        if self._dimension is None and not batch.vectorless:  # others made it, and it is empty
            self._settle(dimension=batch.vectors.shape[1])

    def _check_there(self, operation: str) -> None:
        """See that nobody has deleted the collection since.

        The server makes one of every object that has none, of a layout that is not ours.
        """
        if not self._present or self._plan.exists(self._call, operation):
            return
        self._present = False
        if not self._create:
            raise SchemaMismatchError(
                f"{self._title} was deleted since this store was opened; open the store with "
                "create=True to make it again"
            )

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _extra_remedy(self) -> str:
        if self._plain is not None:
            return (
                f"{self._title} has the properties that another program gave it; collections that "
                'this store makes with layout="exact" keep it'
            )
        return (
            f"{self._title} was made before there was a property for it; run "
            "from weaviate.classes.config import DataType, Property, Tokenization; "
            f"store.native.collections.use({self._collection!r}).config.add_property("
            f'Property(name="{EXTRA}", data_type=DataType.TEXT, tokenization=Tokenization.FIELD, '
            "index_filterable=False, index_searchable=False)) and open the store again"
        )

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            if self._plain is not None:
                self._plain.check(document.id, document.metadata)
            # Tokens are up to 128 characters for each value, however short, and for each object
            # in it.
            properties = self._properties(
                document.id, document.text, document.metadata, document.extra
            )
            self._writer.check_size(document.id, properties, self._dimension)

    def _properties(
        self, document_id: str, text: str, metadata: Mapping[str, Any], extra: str | None
    ) -> dict[str, Any]:
        if self._plain is not None:
            return self._plain.properties(document_id, text, metadata)
        ordered = self._plan.ordered if self._found is None else self._found.ordered
        return object_properties(document_id, text, metadata, *ordered, extra)

    def _add(self, batch: Batch) -> Iterable[str]:
        self._make_ready(batch)
        taken: dict[str, str] = {}
        if batch.on_conflict != "replace" or self._has_ids_of_others:
            taken = self._records.keys("add", batch.ids)
        rows = batch.free_rows({*taken} if batch.on_conflict != "replace" else set())
        self._writer.insert(
            "add",
            (
                self._row(
                    batch.ids[row],
                    batch.texts[row],
                    batch.metadata[row],
                    batch.extras[row] if batch.extras else None,
                    None if batch.vectorless else batch.vectors[row],
                    taken.get(batch.ids[row]),
                )
                for row in rows
            ),
        )
        return [batch.ids[row] for row in rows]

    def _row(
        self,
        id: str,
        text: str,
        metadata: Mapping[str, Any],
        extra: str | None,
        vector: Vector | None,
        key: str | None,
    ) -> Row:
        """A document to be written, into the object with that id, if there is one."""
        if key is None:
            own = self._plain is not None and self._plain.names.id is None
            key = id if own else object_id(id)
        properties = self._properties(id, text, metadata, extra)
        return Row(id, key, text, metadata, extra, properties, vector)

    @property
    def _plain(self) -> PlainObjects | None:
        """What the objects of another program are."""
        objects = self._records.objects
        return objects if isinstance(objects, PlainObjects) else None

    @property
    def _has_ids_of_others(self) -> bool:
        """Whether ids stand in a property, so that they do not tell which object has them."""
        return self._plain is not None and self._plain.names.id is not None

    def _search(
        self, vector: Vector, *, top_k: int, filter: Compiled | None, include_embedding: bool
    ) -> Iterable[Document]:
        where = None if filter is None else matching(filter, self._records.objects.sign)
        return self._nearest(vector, where, top_k, include_embedding)

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        if selection.ids is None:
            return super()._search_selected(
                vectors, selection, top_k=top_k, include_embedding=include_embedding
            )
        where = self._chosen(selection)
        if where is None:
            return [[] for _ in vectors]
        return [self._nearest(one, where, top_k, include_embedding) for one in vectors]

    def _nearest(
        self, vector: Vector, where: Any, top_k: int, include_embedding: bool
    ) -> list[Document]:
        if not (self._present or self._exists("search")):
            return []
        foreign = ForeignRecords(self._title)

        def ask(count: int) -> list[Record]:
            return self._records.nearest(vector, count, where, include_embedding)

        def read(records: Sequence[Record]) -> list[Document]:
            held = self._records.holding(records, foreign)
            return [record.document(self._score(record.distance)) for record in held]

        def fetch(count: int) -> list[Document]:
            return filled(ask, read, count, MOST)

        if self.capabilities.exact_topk:
            return top_with_ties(fetch, top_k, metric=self._metric, most=MOST)
        return fetch(top_k)

    def _score(self, distance: float) -> float:
        if self._metric == "cosine":
            return 1.0 - distance
        # Of the distance the server gives the square.
        return -distance if self._metric == "dot" else -math.sqrt(max(0.0, distance))

    def _chosen(self, selection: Selection) -> Any:
        """Documents with one of the ids that match; None where there can be none."""
        assert selection.ids is not None
        objects = self._records.objects
        chosen = objects.among(selection.ids)
        return chosen and all_of([chosen, matching(selection.filter, objects.sign)])

    def _delete(self, selection: Selection) -> int:
        if not self._exists("delete"):
            return 0
        if self._has_ids_of_others:
            assert selection.ids is not None
            found = self._records.selected("delete", selection.ids, selection.filter, False)
            return self._delete_records(found, selection.filter)
        where = self._chosen(selection)
        return 0 if where is None else self._writer.delete("delete", where)

    def _delete_records(self, records: Iterable[Record], filter: Compiled | None) -> int:
        """Delete those of the objects that still match."""
        keys = [record.key for record in records]
        sign = self._records.objects.sign
        if not keys:
            return 0
        return self._writer.delete("delete", all_of([among(keys), matching(filter, sign)]))

    def _delete_filtered(self, filter: Compiled | None) -> int:
        if not self._exists("delete"):
            return 0
        if self._has_ids_of_others:  # one without an id is no document, and stays
            foreign = ForeignRecords(self._title)
            wanted = Wanted(text=False, metadata=False)
            pages = [*self._records.pages_of("delete", filter, wanted, BATCH)]
            return sum(
                self._delete_records(self._records.holding(page, foreign), filter) for page in pages
            )
        return self._writer.delete("delete", matching(filter, self._records.objects.sign))

    def _count(self, filter: Compiled | None) -> int:
        if not self._exists("count"):
            return 0
        where = None if filter is None else matching(filter, self._records.objects.sign)
        return self._records.count("count", where)

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """Objects are read and written again, whole; those of others are changed where they are."""
        if not self._exists("update_metadata"):
            return 0
        self._check_there("update_metadata")
        foreign = ForeignRecords(self._title)
        count = 0
        if self._plain is not None:
            fault = self._plain.fault_in_changes(set, unset)
            if fault is not None:
                raise DocumentError(f"update_metadata cannot change {self._title}: {fault}")
            changes = {name: self._plain.stored(name, value) for name, value in set.items()}
            gone = {name: None for name in unset if name in self._plain.known}
            wanted = Wanted(text=False, metadata=False)
            # What is changed may match no longer, so that all is found before.
            for page in [*self._selected_pages(selection, wanted)]:
                held = self._records.holding(page, foreign)
                count += self._writer.change("update_metadata", held, {**changes, **gone})
            return count
        if not self.capabilities.keeps_extra:  # somebody may have made a place for it since
            self._note_extras(self._plan.has_extras(self._call, "update_metadata"))
        for page in self._selected_pages(selection):
            rows: list[Row] = []
            for record in self._records.holding(page, foreign):
                id, metadata = record.document_id, changed(record.metadata, set, unset)
                row = self._row(id, record.text, metadata, record.extra, record.vector, record.key)
                self._writer.check_size(id, row.properties, self._dimension)
                rows.append(row)
            self._writer.insert("update_metadata", rows)
            count += len(rows)
        return count

    def _selected_pages(
        self, selection: Selection, wanted: Wanted = WHOLE
    ) -> Iterator[list[Record]]:
        operation = "update_metadata"
        if selection.ids is None:
            yield from self._records.pages_of(operation, selection.filter, wanted, BATCH)
        else:
            yield self._records.selected(operation, selection.ids, selection.filter, wanted.vector)

    def _scan_textless(
        self, filter: Compiled | None, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            wanted, foreign = Wanted(include_embedding, text=False), ForeignRecords(self._title)
            for page in self._records.pages_of("scan", filter, wanted, batch_size):
                yield from self._records.documents(page, foreign)

    def _scan_metadata(
        self, filter: Compiled | None, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if self._exists("scan"):
            wanted, foreign = Wanted(text=False), ForeignRecords(self._title)
            for page in self._records.pages_of("scan", filter, wanted, batch_size):
                for record in self._records.holding(page, foreign):
                    yield record.document_id, record.metadata

    def _clear(self) -> None:
        if self._exists("clear"):
            self._writer.delete("clear", client_filter(IS_THERE))

    def _place(self) -> Place:
        return replace(super()._place(), namespace=self._tenant)


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("collection", "grpc_host", "metric", "tenant", "vector_name", "index"), str),
    **dict.fromkeys(("layout", "text_property", "id_property"), str),
    **dict.fromkeys(("dimension", "grpc_port"), int),
    "timeout": float,
    "create": flag,
    **dict.fromkeys(("api_key", "batching", "schema"), None),
}
