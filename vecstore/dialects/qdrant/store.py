"""Documents in Qdrant: servers, the client's local mode, or an existing client."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack
from urllib.parse import urlsplit

from vecstore.dialects.declared import declared_keys
from vecstore.dialects.floats import check_floats, rounded_floats
from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.collection import (
    MOMENTS,
    UNNAMED,
    CollectionPlan,
    IndexType,
    payload_path,
    read_indexes,
)
from vecstore.dialects.qdrant.conditions import is_addressable
from vecstore.dialects.qdrant.dialect import Qdrant
from vecstore.dialects.qdrant.layout import (
    MAX_INTEGER,
    MIN_INTEGER,
    OWN,
    PayloadLayout,
)
from vecstore.dialects.qdrant.local import LocalQdrant
from vecstore.dialects.qdrant.points import Points, as_model
from vecstore.document import Document, stored_document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import BackendError, ConfigurationError, SchemaMismatchError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import LOGICAL, Expression
from vecstore.store.backend import Batch, Judge, Selection, id_outside
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import BATCH, NearestStore
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, top_with_ties
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from vecstore.vectors import Matrix, Vector

_MOST = 2**31
"""More points than a search can be asked for."""
_MAX_COST = 75
"""Without an index the engine reads a document's payload anew for each comparison, some 13
microseconds for a small one; the local mode tries them in Python, in about the same time."""


class QdrantStore(NearestStore):
    """A collection of points, each with its document's id, text and metadata as payload.

    Args:
        collection: Name of the collection.
        client: An open ``QdrantClient``, which stays open when the store closes; or one of
        url: the address of a server,
        host: its name (with ``port``),
        path: a folder for the client's local mode, or
        location: ``":memory:"``.
        port: Port of the server's REST interface.
        grpc_port: Port of its gRPC interface.
        prefer_grpc: Talk gRPC where there is a choice.
        api_key: For a server that wants one.
        timeout: Seconds to wait for an answer.
        create: Make the collection when it is missing, with the first documents or, where
            ``dimension`` is given, at once. Searches never do. By default only in local mode.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        vector_name: Name of the vector in a collection that has several.
        layout: Where id, text and metadata stand in payloads that others wrote; see
            :class:`~vecstore.dialects.qdrant.layout.PayloadLayout`.
        indexes: Payload indexes to make, as ``{"country": "keyword", "year": "float"}``, or the
            keys alone where ``schema`` says what they hold. Numbers are indexed as float: an
            integer index would not find 1.5.
        exact: Compare with every point instead of asking the vector index.
        round_floats: Round floats that a server would not give back exactly to 15 significant
            digits, instead of refusing them. Local mode keeps every float.
        **common: As for every store, such as ``observers`` and ``async_threads``.

    Raises:
        BackendNotInstalledError: If qdrant-client is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the collection does not fit, or is missing and not to be made.
        BackendError: If the server cannot be reached.

    Example:
        >>> with QdrantStore("docs", location=":memory:", dimension=2) as store:
        ...     store.add([Document("Hello", {"n": 1}, id="a", embedding=[1, 0])])
        ...     [found.id for found in store.search(vector=[1, 0], filter="n == 1")]
        ['a']
        ['a']
    """

    name: ClassVar[str] = "qdrant"
    engine: ClassVar[str] = "Qdrant"
    capabilities: StoreCapabilities = StoreCapabilities(
        vectorless=True,
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        min_integer=MIN_INTEGER,
        max_integer=MAX_INTEGER,
        max_dimension=65_536,
        max_batch=BATCH,
        max_cost=_MAX_COST,
    )

    _call: Calls
    _records: Points

    def __init__(
        self,
        collection: str,
        *,
        client: QdrantClient | None = None,
        url: str | None = None,
        host: str | None = None,
        path: str | None = None,
        location: str | None = None,
        port: int | None = None,
        grpc_port: int | None = None,
        prefer_grpc: bool | None = None,
        api_key: str | None = None,
        timeout: int | None = None,
        create: bool | None = None,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        vector_name: str | None = None,
        layout: PayloadLayout = OWN,
        indexes: Mapping[str | tuple[str, ...], IndexType]
        | Collection[str | tuple[str, ...]]
        | None = None,
        exact: bool = False,
        round_floats: bool = False,
        **common: Unpack[CommonOptions],
    ) -> None:
        if "datetimes" in common:
            raise ConfigurationError(
                f"there is no option datetimes any more: {Qdrant.former_options['datetimes']}"
            )
        if not isinstance(collection, str) or not collection:
            raise ConfigurationError(f"a collection has a name, not {collection!r}")
        flags = {"exact": exact, "round_floats": round_floats, "create": create or False}
        flags["prefer_grpc"] = prefer_grpc or False
        for option, given in flags.items():
            if not isinstance(given, bool):
                raise ConfigurationError(f"{option} is True or False, not {given!r}")
        if vector_name is not None and not isinstance(vector_name, str):
            raise ConfigurationError(f"vector_name is a text, not {vector_name!r}")
        if timeout is not None and (type(timeout) is not int or timeout < 1):
            raise ConfigurationError(f"timeout is a whole number of seconds, not {timeout!r}")
        if not isinstance(layout, PayloadLayout):
            raise ConfigurationError(f"layout is a PayloadLayout, not a {type(layout).__name__}")
        if layout.id is not None and not is_addressable(layout.id):
            raise ConfigurationError(f"qdrant cannot name the key {layout.id!r} in a filter")
        # The engine keeps directions under cosine, not lengths; these are cut to 1 before.
        self.capabilities = replace(
            self.capabilities,
            keeps_norm=metric != "cosine",
            min_vector_length=None if metric == "cosine" else SHORTEST_IN_FLOAT32,
            max_vector_length=None if metric == "cosine" else LONGEST_IN_FLOAT32,
            exact_topk=exact,
            id_charset="any" if layout.id else "uuid_or_number",
            keeps_extra=layout.extra_key is not None,
        )
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._dialect = Qdrant(prefix=layout.metadata, schema=self.schema)
        self._collection = collection
        self._layout = layout
        self._reserved = layout.reserved
        self._vector_name = vector_name = vector_name or None
        self._exact = exact
        self._round_floats = round_floats
        self._plan = CollectionPlan(
            name=collection,
            metric=metric,
            vector_name=vector_name,
            layout=layout,
            indexes=read_indexes(indexes or {}, self._dialect),
            moments=[
                payload_path(self._dialect, path)
                for path, declared in declared_keys(self.schema).items()
                if declared.kind in MOMENTS
            ],
        )
        address: dict[str, Any] = {
            "url": url,
            "host": host,
            "path": path,
            "location": location,
            "port": port,
            "grpc_port": grpc_port,
            "prefer_grpc": prefer_grpc,
            "api_key": api_key,
            "timeout": timeout,
        }
        options = {name: value for name, value in address.items() if value is not None}
        if path == ":memory:":
            raise ConfigurationError(
                'path names a folder; a collection in memory is location=":memory:", or '
                '"qdrant:?collection=docs"'
            )
        if path is not None and create is False and not os.path.isdir(path):
            raise SchemaMismatchError(
                f"there is no folder {path}, and create=False is not to make it"
            )
        self._call = Calls(client, options)
        self._records = Points(
            call=self._call, collection=collection, layout=layout, vector_name=vector_name
        )
        self._create = self._call.local if create is None else create
        if self._call.local:
            self._dialect = LocalQdrant(prefix=layout.metadata, schema=self.schema)
            # One process has the engine, and one lock orders its threads.
            self.capabilities = replace(
                self.capabilities,
                conflict_atomic=True,
                scoped_add_atomic=True,
                exact_topk=True,
                native_ids=False,
            )
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> QdrantStore:
        """Open ``qdrant://host:6333/docs``, ``qdrant+https://host/docs`` or a local folder.

        A local folder is ``qdrant:///folder?collection=docs``, and ``qdrant::memory:`` is gone
        with the process: ``qdrant:?collection=docs``.
        """
        read = url.options(_URL_OPTIONS, options)
        collection = url.collection(read.pop("collection", None), 6333)
        if url.host:
            if url.user is not None or url.password is not None:
                raise ConfigurationError(f"{url}: Qdrant has no users; pass api_key=... by keyword")
            read["url"] = url.server(6333)
            read.setdefault("port", urlsplit(read["url"]).port)
        else:
            folder = url.file()
            read.update({"location": ":memory:"} if folder is None else {"path": folder})
        return cls(collection, embedder=embedder, **read)

    # --- the collection ----------------------------------------------------------------------

    def _look(self, operation: str) -> bool:
        name = self._collection
        if not self._call(operation, lambda client: client.collection_exists(name)):
            return False
        info = self._call(operation, lambda client: client.get_collection(name))
        self._dimension = self._plan.check(info, self._dimension)
        if self._vector_name is None and isinstance(info.config.params.vectors, dict):
            self._records = replace(self._records, vector_name=UNNAMED)
        return True

    def _make_collection(self, dimension: int) -> None:
        self._plan.make(self._call, dimension)

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        reserved = self._reserved
        for atom in filter.walk() if reserved else ():
            if atom.op not in LOGICAL and atom.key.path[0] in reserved:
                error = self._dialect.refuse(
                    atom,
                    f"this collection keeps the {reserved[atom.key.path[0]]} of documents there, "
                    "which is no metadata",
                    "filter by another key",
                )
                error.evaluable = False
                raise error
        return self._dialect.compile_to_read(filter)

    def _extra_remedy(self) -> str:
        parts = ("id", "text", "metadata")
        shown = ", ".join(f"{part}={getattr(self._layout, part)!r}" for part in parts)
        return (
            f"the layout of {self._title} names no key of payloads for it; open the store with "
            f'layout=PayloadLayout({shown}, extra="extra"), or with any other key that is free'
        )

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            self._layout.check_reserved(document.metadata, document.id)
            document.metadata = self._storable(document.metadata, document.id)

    def _storable(self, metadata: dict[str, Any], document_id: str | None) -> dict[str, Any]:
        """The metadata as it will be stored; what the engine would change is refused."""
        if self._call.local:
            return metadata
        if self._round_floats:
            metadata = rounded_floats(metadata)
        check_floats(metadata, document_id)
        return metadata

    def _add(self, batch: Batch) -> Iterable[str]:
        from qdrant_client import models

        self._make_ready(batch)
        with self._call.exclusive:
            rows, vectors = self._free(batch), self._as_kept(batch.vectors)
            places = self._records.places("add", [batch.ids[row] for row in rows])
            points = [
                models.PointStruct(
                    id=places[batch.ids[row]],
                    vector={} if batch.vectorless else self._records.named(vectors[row].tolist()),
                    payload=self._layout.write(
                        batch.ids[row],
                        batch.texts[row],
                        batch.metadata[row],
                        batch.extras[row] if batch.extras else None,
                    ),
                )
                for row in rows
            ]
            if points:
                self._upsert(points, [batch.ids[row] for row in rows])
        return [batch.ids[row] for row in rows]

    def _as_kept(self, vectors: Matrix) -> Matrix:
        """Vectors of length 1 under cosine: the engine's own float32 overflows at 1e19."""
        if self._metric != "cosine":
            return vectors
        import numpy as np

        exact = vectors.astype(np.float64)
        lengths: Matrix = np.linalg.norm(exact, axis=1, keepdims=True)
        return (exact / np.where(lengths, lengths, 1)).astype(np.float32)

    def _free(self, batch: Batch) -> Sequence[int]:
        """The rows of a batch that may be written."""
        if batch.on_conflict == "replace" and batch.within is None:
            return range(len(batch))
        taken = Counter(self._records.stored("add", batch.ids))
        if batch.within is not None and taken:
            # Others may have written two points with one id, of which one is in the scope.
            ours = Counter(self._records.stored("add", batch.ids, batch.within))
            outside = taken - ours
            if outside:
                raise id_outside([id for id in batch.ids if id in outside])
        return batch.free_rows(taken)

    def _upsert(self, points: list[Any], ids: list[str]) -> None:
        name = self._collection
        try:
            self._call("add", lambda client: client.upsert(name, points, wait=True))
        except BackendError as error:
            # Local mode writes point by point, and a server may have done what it did not answer.
            with suppress(BackendError):
                error.stored_ids = self._records.written("add", points, ids)
            raise

    def _chooses(self, selection: Selection) -> bool:
        # Local mode would hold every point against the ids, one after the other.
        return not self._call.local

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        from qdrant_client import models

        if not (self._present or self._exists("search")):
            return []
        options: dict[str, Any] = {
            "query": self._as_kept(vector[None])[0].tolist(),
            "using": self._vector_name,
            "search_params": models.SearchParams(exact=True) if self._exact else None,
            "query_filter": self._records.chosen(selection),
            "with_vectors": self._records.vectors(include_embedding),
            "with_payload": True,
        }
        sign = -1.0 if self._metric == "euclidean" else 1.0
        foreign = ForeignRecords(self._title)

        def ask(limit: int) -> list[Any]:
            found = self._call(
                "search",
                lambda client: client.query_points(self._collection, limit=limit, **options),
            )
            return list(found.points)

        def read(points: Sequence[Any]) -> list[Document]:
            return list(self._records.documents(points, foreign, sign))

        def fetch(count: int) -> list[Document]:
            return filled(ask, read, count, _MOST)

        if self.capabilities.exact_topk:
            return top_with_ties(fetch, top_k, metric=self._metric)
        return fetch(top_k)

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        with self._call.exclusive:
            stored = self._records.selected("delete", selection.ids, selection.filter, False)
            if stored:
                points = [point.id for point in stored]
                name = self._collection
                self._call("delete", lambda client: client.delete(name, points, wait=True))
        return len(stored)

    def _delete_filtered(self, filter: Any) -> int:
        with self._call.exclusive:
            return super()._delete_filtered(filter)

    def _count(self, filter: Any) -> int:
        if not self._exists("count"):
            return 0
        answer = self._call(
            "count",
            lambda client: client.count(
                self._collection, count_filter=as_model(filter), exact=True
            ),
        )
        return int(answer.count)

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        self._layout.check_reserved((*set, *unset))
        set = self._storable(set, None)
        if not self._exists("update_metadata"):
            return 0
        foreign = ForeignRecords(self._title)
        count = 0
        with self._call.exclusive:
            # Pages follow the points' ids, which an update leaves alone: no point is met twice.
            for page in self._selected_pages("update_metadata", selection):
                points = list(self._records.holding(page, foreign))
                if points:
                    self._records.change("update_metadata", points, set, unset)
                    count += len(points)
        return count

    def _selected_pages(self, operation: str, selection: Selection) -> Iterator[list[Any]]:
        if selection.ids is None:
            yield from self._records.pages(operation, selection.filter, False, BATCH)
        else:
            yield self._records.selected(operation, selection.ids, selection.filter, False)

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            pages = self._records.pages(
                "scan", filter, include_embedding, batch_size, textless=True
            )
            for page in pages:
                for one in self._records.documents(page, foreign):
                    # Some versions send the text all the same.
                    yield stored_document(one.id, "", one.metadata, one.embedding)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            pages = self._records.pages("scan", filter, False, batch_size, textless=True)
            for page in pages:
                for point in self._records.holding(page, foreign):
                    id, _, metadata, _ = self._layout.read(str(point.id), point.payload or {})
                    yield id, metadata

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        """On a server a point may be changed by others between the look at it and its deletion."""
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        with self._call.exclusive:
            points = [point.id for point in self._judged("delete", selection, judge)]
            if points:
                name = self._collection
                self._call("delete", lambda client: client.delete(name, points, wait=True))
        return len(points)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """On a server a point may be changed by others between the look at it and its change."""
        self._layout.check_reserved((*set, *unset))
        set = self._storable(set, None)
        if not self._exists("update_metadata"):
            return 0
        with self._call.exclusive:
            points = self._judged("update_metadata", selection, judge)
            if points:
                self._records.change("update_metadata", points, set, unset)
        return len(points)

    def _judged(self, operation: str, selection: Selection, judge: Judge) -> list[Any]:
        """The points of a selection by ids that a judge says yes of; two may have one id."""
        assert selection.ids is not None
        found = self._records.selected(operation, selection.ids, selection.filter, False)
        return [
            point
            for point in self._records.holding(found, ForeignRecords(self._title))
            if judge(self._layout.read(str(point.id), point.payload or {})[2])
        ]

    def _clear(self) -> None:
        from qdrant_client import models

        if self._exists("clear"):
            name = self._collection
            everything = models.FilterSelector(filter=models.Filter())
            self._call("clear", lambda client: client.delete(name, everything, wait=True))

    def _bound_to_process(self) -> str | None:
        return "its documents are in the memory of this one" if self._call.in_memory else None


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("collection", "metric", "vector_name"), str),
    **dict.fromkeys(("dimension", "timeout", "grpc_port"), int),
    **dict.fromkeys(("create", "exact", "prefer_grpc", "round_floats"), flag),
    **dict.fromkeys(("api_key", "batching", "layout", "datetimes", "indexes", "schema"), None),
}
