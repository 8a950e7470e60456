"""Documents in Qdrant: servers, the client's local mode, or an existing client."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from vecstore.dialects.qdrant.changes import payload_operations
from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.collection import (
    UNNAMED,
    IndexType,
    check_collection,
    datetime_paths,
    make_collection,
    payload_path,
    read_indexes,
)
from vecstore.dialects.qdrant.dialect import Qdrant, is_addressable
from vecstore.dialects.qdrant.floats import check_floats, rounded_floats
from vecstore.dialects.qdrant.layout import (
    MAX_INTEGER,
    MIN_INTEGER,
    OWN,
    PayloadLayout,
    check_datetimes,
)
from vecstore.dialects.qdrant.local import LocalQdrant
from vecstore.dialects.qdrant.points import Points, as_model
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput, check_dimension
from vecstore.errors import (
    BackendError,
    ConfigurationError,
    SchemaMismatchError,
)
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import LOGICAL, Expression
from vecstore.store.backend import Batch, Place, Selection, duplicates_error, id_outside
from vecstore.store.base import CommonOptions, VectorStore
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.ranking import top_with_ties
from vecstore.store.url import StoreURL

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from vecstore.vectors import Matrix, Vector

BATCH = 256
"""Points in one request: a server takes 32 MiB at once by default."""


_LOCAL_MAX_COST = 100
"""The local mode tries each comparison in Python, some 10 microseconds for a document."""


class QdrantStore(VectorStore):
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
        create: Make the collection when it is missing, with the first documents. Searches never do.
            By default only in local mode.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        vector_name: Name of the vector in a collection that has several.
        layout: Where id, text and metadata stand in payloads that others wrote; see
            :class:`~vecstore.dialects.qdrant.layout.PayloadLayout`.
        datetimes: Keys that hold datetimes or nothing: a contract that ``add`` enforces, in return
            for which they can be ordered.
        indexes: Payload indexes to make, as ``{"country": "keyword", "year": "float"}``. Numbers
            are indexed as float: an integer index would not find 1.5.
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
    capabilities: StoreCapabilities = StoreCapabilities(
        filtered_count=True,
        min_integer=MIN_INTEGER,
        max_integer=MAX_INTEGER,
        max_dimension=65_536,
        max_batch=BATCH,
    )

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
        datetimes: Collection[str | tuple[str, ...]] = (),
        indexes: Mapping[str | tuple[str, ...], IndexType] | None = None,
        exact: bool = False,
        round_floats: bool = False,
        **common: Unpack[CommonOptions],
    ) -> None:
        if not isinstance(collection, str) or not collection:
            raise ConfigurationError(f"a collection has a name, not {collection!r}")
        flags = {"exact": exact, "round_floats": round_floats, "create": create or False}
        flags["prefer_grpc"] = prefer_grpc or False
        for option, flag in flags.items():
            if not isinstance(flag, bool):
                raise ConfigurationError(f"{option} is True or False, not {flag!r}")
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
        )
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._dialect = Qdrant(prefix=layout.metadata, datetimes=datetimes)
        self._datetimes = datetime_paths(self._dialect)
        self._collection = collection
        self._layout = layout
        self._vector_name = vector_name = vector_name or None
        self._exact = exact
        self._round_floats = round_floats
        self._indexes = read_indexes(indexes or {}, self._dialect)
        self._present = False
        given: dict[str, Any] = {
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
        options = {name: value for name, value in given.items() if value is not None}
        if path is not None and create is False and not os.path.isdir(path):
            raise SchemaMismatchError(
                f"there is no folder {path}, and create=False is not to make it"
            )
        self._call = Calls(client, options)
        self._points = Points(
            call=self._call, collection=collection, layout=layout, vector_name=vector_name
        )
        self._create = self._call.local if create is None else create
        if self._call.local:
            self._dialect = LocalQdrant(prefix=layout.metadata, datetimes=datetimes)
            # One process has the engine, and one lock orders its threads.
            self.capabilities = replace(
                self.capabilities,
                conflict_atomic=True,
                scoped_add_atomic=True,
                exact_topk=True,
                max_cost=_LOCAL_MAX_COST,
            )
        try:
            self._open_collection()
        except BaseException:
            self._call.close()
            raise

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> QdrantStore:
        """Open ``qdrant://host:6333/docs``, ``qdrant+https://host/docs`` or a local folder.

        A local folder is ``qdrant:///folder?collection=docs``, and ``qdrant::memory:`` is gone
        with the process: ``qdrant:?collection=docs``.
        """
        read = url.options(_URL_OPTIONS, options)
        if url.host:
            collection = read.pop("collection", None) or url.path.strip("/")
            if url.user is not None or url.password is not None:
                raise ConfigurationError(f"{url}: Qdrant has no users; pass api_key=... by keyword")
            scheme = "https" if url.scheme == "qdrant+https" else "http"
            host = f"[{url.host}]" if ":" in url.host else url.host
            port = url.port or (443 if scheme == "https" else 6333)
            read["url"] = f"{scheme}://{host}:{port}"
            read.setdefault("port", port)
        else:
            collection = read.pop("collection", None)
            folder = url.file()
            read.update({"location": ":memory:"} if folder is None else {"path": folder})
        if not collection:
            raise ConfigurationError(
                f"{url}: name the collection: qdrant://host:6333/docs, or ?collection=docs"
            )
        return cls(collection, embedder=embedder, **read)

    # --- the collection ----------------------------------------------------------------------

    def _open_collection(self) -> None:
        if self._exists("open"):
            return
        if not self._create:
            raise SchemaMismatchError(
                f"there is no collection {self._collection!r} in Qdrant; open the store with "
                "create=True to make it, or name one that exists"
            )
        if self._dimension is not None:
            self._make(self._dimension)

    def _exists(self, operation: str) -> bool:
        """Whether the collection is there; looked at once, when it is."""
        if not self._present:
            name = self._collection
            if not self._call(operation, lambda client: client.collection_exists(name)):
                return False
            info = self._call(operation, lambda client: client.get_collection(name))
            self._dimension = check_collection(
                info,
                name,
                metric=self.metric,
                dimension=self._dimension,
                vector_name=self._vector_name,
                layout=self._layout,
                datetimes=[payload_path(self._dialect, path) for path in self._datetimes],
            )
            if self._vector_name is None and isinstance(info.config.params.vectors, dict):
                self._points = replace(self._points, vector_name=UNNAMED)
            self._present = True
        return True

    def _make(self, dimension: int) -> None:
        make_collection(
            self._call,
            self._collection,
            metric=self.metric,
            dimension=dimension,
            vector_name=self._vector_name,
            layout=self._layout,
            indexes=self._indexes,
        )
        self._exists("add")

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        reserved = self._layout.reserved
        for atom in filter.walk() if reserved else ():
            if atom.op not in LOGICAL and atom.key.path[0] in reserved:
                raise self._dialect.refuse(
                    atom,
                    f"this collection keeps the {reserved[atom.key.path[0]]} of documents there, "
                    "which is no metadata",
                    "filter by another key",
                )
        return self._dialect.compile(filter, limits=None)

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            self._layout.check_reserved(document.metadata, document.id)
            document.metadata = self._storable(document.metadata, document.id)

    def _storable(self, metadata: dict[str, Any], document_id: str | None) -> dict[str, Any]:
        """The metadata as it will be stored; what the engine would change is refused."""
        check_datetimes(metadata, self._datetimes, document_id)
        if self._call.local:
            return metadata
        if self._round_floats:
            metadata = rounded_floats(metadata)
        check_floats(metadata, document_id)
        return metadata

    def _add(self, batch: Batch) -> Iterable[str]:
        from qdrant_client import models

        if not self._exists("add"):
            self._make(batch.vectors.shape[1])
        check_dimension(batch.vectors.shape[1], self.dimension, f"document {batch.ids[0]!r}")
        with self._call.exclusive():
            rows, vectors = self._free(batch), self._as_kept(batch.vectors)
            places = self._points.places("add", [batch.ids[row] for row in rows])
            points = [
                models.PointStruct(
                    id=places[batch.ids[row]],
                    vector=self._points.named(vectors[row].tolist()),
                    payload=self._layout.write(
                        batch.ids[row], batch.texts[row], batch.metadata[row]
                    ),
                )
                for row in rows
            ]
            if points:
                self._upsert(points, [batch.ids[row] for row in rows])
        return [batch.ids[row] for row in rows]

    def _as_kept(self, vectors: Matrix) -> Matrix:
        """Vectors of length 1 under cosine: the engine's own float32 overflows at 1e19."""
        if self.metric != "cosine":
            return vectors
        import numpy as np

        exact = vectors.astype(np.float64)
        lengths: Matrix = np.linalg.norm(exact, axis=1, keepdims=True)
        return (exact / np.where(lengths, lengths, 1)).astype(np.float32)

    def _free(self, batch: Batch) -> Sequence[int]:
        """The rows of a batch that may be written."""
        rows = range(len(batch))
        if batch.on_conflict == "replace" and batch.within is None:
            return rows
        taken = Counter(self._points.stored("add", batch.ids))
        if batch.within is not None and taken:
            # Others may have written two points with one id, of which one is in the scope.
            ours = Counter(self._points.stored("add", batch.ids, batch.within))
            outside = taken - ours
            if outside:
                raise id_outside([id for id in batch.ids if id in outside])
        if batch.on_conflict == "replace":
            return rows
        if taken and batch.on_conflict == "error":
            raise duplicates_error([id for id in batch.ids if id in taken])
        return [row for row in rows if batch.ids[row] not in taken]

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        return {*self._points.stored("add", ids)} if self._exists("add") else set()

    def _upsert(self, points: list[Any], ids: list[str]) -> None:
        name = self._collection
        try:
            self._call("add", lambda client: client.upsert(name, points, wait=True))
        except BackendError as error:
            # Local mode writes point by point, and a server may have done what it did not answer.
            with suppress(BackendError):
                error.stored_ids = self._points.written("add", points, ids)
            raise

    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        from qdrant_client import models

        if not self._exists("search"):
            return []
        options: dict[str, Any] = {
            "query": self._as_kept(vector[None])[0].tolist(),
            "using": self._vector_name,
            "query_filter": as_model(filter),
            "search_params": models.SearchParams(exact=True) if self._exact else None,
            "with_payload": True,
            "with_vectors": self._points.vectors(include_embedding),
        }
        sign = -1.0 if self.metric == "euclidean" else 1.0
        foreign = self._foreign()

        def fetch(count: int) -> list[Document]:
            limit = count
            while True:
                points = self._call("search", _querying(self._collection, limit, options)).points
                found = list(self._points.documents(points, foreign, sign))
                if len(found) >= count or len(points) < limit:
                    return found[:count]
                # Points that hold no document took the place of some that do.
                limit = count + 2 * (len(points) - len(found))

        if self.capabilities.exact_topk:
            return top_with_ties(fetch, top_k, metric=self.metric)
        return fetch(top_k)

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        if not self._exists("get"):
            return []
        if selection.ids is not None:
            found = self._points.selected("get", selection.ids, selection.filter, include_embedding)
            return self._points.documents(found, self._foreign())
        size = min(limit or BATCH, BATCH)
        pages = self._points.pages("get", selection.filter, include_embedding, size)
        points = (point for page in pages for point in page)
        return islice(self._points.documents(points, self._foreign()), limit)

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = self._foreign()
            for page in self._points.pages("scan", filter, include_embedding, batch_size):
                yield from self._points.documents(page, foreign)

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        with self._call.exclusive():
            stored = self._points.selected("delete", selection.ids, selection.filter, False)
            if stored:
                points = [point.id for point in stored]
                name = self._collection
                self._call("delete", lambda client: client.delete(name, points, wait=True))
        return len(stored)

    def _delete_filtered(self, filter: Any) -> int:
        with self._call.exclusive():
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
        foreign = self._foreign()
        count = 0
        with self._call.exclusive():
            # Pages follow the points' ids, which an update leaves alone: no point is met twice.
            for page in self._selected_pages("update_metadata", selection):
                points = list(self._points.holding(page, foreign))
                if points:
                    operations = payload_operations(
                        self._layout, points, set, unset, by_filter=not self._call.local
                    )
                    self._call("update_metadata", _batch_update(self._collection, operations))
                    count += len(points)
        return count

    def _selected_pages(self, operation: str, selection: Selection) -> Iterator[list[Any]]:
        if selection.ids is None:
            yield from self._points.pages(operation, selection.filter, False, BATCH)
        else:
            yield self._points.selected(operation, selection.ids, selection.filter, False)

    def _clear(self) -> None:
        from qdrant_client import models

        if self._exists("clear"):
            name = self._collection
            everything = models.FilterSelector(filter=models.Filter())
            self._call("clear", lambda client: client.delete(name, everything, wait=True))

    def _foreign(self) -> ForeignRecords:
        return ForeignRecords(f"the collection {self._collection!r}")

    def _place(self) -> Place:
        return Place(system="qdrant", collection=self._collection)

    def _close(self) -> None:
        self._call.close()

    def _bound_to_process(self) -> str | None:
        return "its documents are in the memory of this one" if self._call.in_memory else None

    def _after_fork(self) -> None:
        self._call.after_fork()

    def _native(self) -> QdrantClient:
        """The Qdrant client; in local mode, take care that one thread uses it at a time."""
        client: QdrantClient = self._call.client
        return client


def _querying(collection: str, limit: int, options: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda client: client.query_points(collection, limit=limit, **options)


def _batch_update(collection: str, operations: list[Any]) -> Callable[[Any], Any]:
    return lambda client: client.batch_update_points(collection, operations, wait=True)


def _flag(text: str) -> bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise ValueError(text)


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("collection", "metric", "vector_name"), str),
    **dict.fromkeys(("dimension", "timeout", "grpc_port"), int),
    **dict.fromkeys(("create", "exact", "prefer_grpc", "round_floats"), _flag),
    **dict.fromkeys(("api_key", "batching", "layout", "datetimes", "indexes"), None),
}
