"""Documents in Chroma: a folder, memory, servers, Chroma Cloud, or an existing client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from vecstore.dialects.chroma.client import Calls
from vecstore.dialects.chroma.collection import CollectionPlan
from vecstore.dialects.chroma.dialect import Chroma, Layout
from vecstore.dialects.chroma.layout import EXTRA, ExactLayout, PlainLayout, Target
from vecstore.dialects.chroma.records import (
    AT_ONCE_IN_THE_CLOUD,
    IDS_AT_ONCE,
    Record,
    Records,
)
from vecstore.dialects.declared import Path, ordered_keys
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import BackendError, ConfigurationError, SchemaMismatchError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.filter.values import Kind
from vecstore.store.backend import Batch, Judge, Place, Selection, changed, id_outside
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import NearestStore
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, rank, scored
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

    from vecstore.vectors import Vector

_MOST: Final = 2**31
"""More records than a search can be asked for."""

_SHORTEST_UNDER_DOT: Final = 1e-3
"""The engine ranks by 1 - dot in float32, where nothing is left of a product of 1e-8."""


class ChromaStore(NearestStore):
    """A collection of records: id, text, vector, and the metadata as JSON with its tokens.

    Args:
        collection: Name of the collection.
        path: A folder, which one process at a time has; or
        host: the name of a server,
        memory: True for the memory of this process, or
        client: an open client of chromadb, which stays open when the store closes.
        port: Of the server; by default 8000, and 443 with ``ssl``.
        ssl: Ask the server by HTTPS.
        headers: What to send with each request.
        api_key: For Chroma Cloud, and for servers that want a token.
        tenant: Name of the tenant.
        database: Name of the database.
        create: Make the collection when it is missing, with the first documents or, where
            ``dimension`` is given, at once. Searches never do. By default only in a folder and in
            memory.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        layout: ``"exact"``, or ``"plain"`` for a collection that another program made; see
            :class:`~vecstore.dialects.chroma.Chroma` for the filters it can answer.
        target: ``"cloud"`` for distributed servers, which keep numbers in 32 bits and give a few
            records at a time; by default for Chroma Cloud alone.
        candidates: So many records at least the index looks for before the best are taken: more
            take longer, and less is missed.
        index_options: Of the index of a collection that is made, as Chroma spells them:
            ``{"ef_construction": 200, "max_neighbors": 32}``.
        **common: As for every store, such as ``schema``, whose keys with texts can be ordered if it
            was given when the collection was made.

    Raises:
        BackendNotInstalledError: If chromadb is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the collection does not fit, or is missing and not to be made.
        BackendError: If the server cannot be reached, or another process has the folder.

    Example:
        >>> with ChromaStore("docs", memory=True, dimension=2) as store:
        ...     store.add([Document("Hello", {"n": 1}, id="a", embedding=[1, 0])])
        ...     [found.id for found in store.search(vector=[1, 0], filter="n == 1")]
        ['a']
        ['a']
    """

    name: ClassVar[str] = "chroma"
    engine: ClassVar[str] = "Chroma"
    capabilities: StoreCapabilities = StoreCapabilities(
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=IDS_AT_ONCE,
    )

    _call: Calls
    _records: Records

    def __init__(
        self,
        collection: str,
        *,
        path: str | os.PathLike[str] | None = None,
        host: str | None = None,
        memory: bool = False,
        client: ClientAPI | None = None,
        port: int | None = None,
        ssl: bool = False,
        headers: Mapping[str, str] | None = None,
        api_key: str | None = None,
        tenant: str | None = None,
        database: str | None = None,
        create: bool | None = None,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        layout: Layout = "exact",
        target: Target | None = None,
        candidates: int = 200,
        index_options: Mapping[str, Any] | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        if layout not in ("exact", "plain"):
            raise ConfigurationError(f'layout is "exact" or "plain", not {layout!r}')
        if target not in ("local", "cloud", None):
            raise ConfigurationError(f'target is "local" or "cloud", not {target!r}')
        if type(candidates) is not int or candidates < 1:
            raise ConfigurationError(f"candidates is a whole number from 1 on, not {candidates!r}")
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._collection = collection
        self._candidates = candidates
        folder = None if path is None else os.fspath(path)
        if folder is not None and create is False and not os.path.isdir(folder):
            raise SchemaMismatchError(
                f"there is no folder {folder}, and create=False is not to make it"
            )
        self._call = Calls(
            client,
            path=folder,
            host=host,
            memory=memory,
            port=port,
            ssl=ssl,
            headers=dict(headers or {}),
            api_key=api_key,
            tenant=tenant,
            database=database,
        )
        try:
            self._plan = self._planned(layout, target, index_options)
            self._layout: ExactLayout | PlainLayout = (
                ExactLayout(self._plan.texts, self._plan.numbers, self._plan.target)
                if self._plan.exact
                else PlainLayout()
            )
            page = AT_ONCE_IN_THE_CLOUD if self._plan.target == "cloud" else None
            self._records = Records(
                call=self._call, layout=self._layout, extras=self._plan.exact, page=page
            )
            self._create = self._call.local if create is None else create
            self._set_capabilities()
        except BaseException:
            self._call.close()
            raise
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> ChromaStore:
        """Open ``chroma://host:8000/docs``, ``chroma+https://host/docs`` or a local folder.

        A local folder is ``chroma:///folder?collection=docs``, and ``chroma:?collection=docs`` is
        gone with the process.
        """
        read = url.options(_URL_OPTIONS, options)
        collection = url.collection(read.pop("collection", None), 8000)
        if url.host:
            if url.user is not None or url.password is not None:
                raise ConfigurationError(f"{url}: Chroma has no users; pass api_key=... by keyword")
            read.update(host=url.host, ssl=url.scheme == "chroma+https")
            if url.port is not None:
                read["port"] = url.port
        else:
            folder = url.file()
            read.update({"memory": True} if folder is None else {"path": folder})
        return cls(collection, embedder=embedder, **read)

    # --- the collection ----------------------------------------------------------------------

    def _planned(
        self, layout: Layout, target: Target | None, index_options: Mapping[str, Any] | None
    ) -> CollectionPlan:
        exact = layout == "exact"
        if target is None:
            target = "cloud" if self._call.cloud else "local"
        if target == "cloud" and not exact:
            raise ConfigurationError(
                "Chroma Cloud keeps numbers in 32 bits, so that filters of metadata as it is are "
                'not exact there; open the store with layout="exact"'
            )
        cloud = target == "cloud"
        return CollectionPlan(
            name=self._collection,
            metric=self._metric,
            exact=exact,
            index_options=dict(index_options or {}),
            texts=ordered_keys(self.schema, Kind.STRING) if exact else frozenset(),
            numbers=ordered_keys(self.schema, Kind.NUMBER) if cloud else frozenset(),
            target=target,
        )

    def _set_capabilities(self) -> None:
        """What depends on where the engine is, and on the layout."""
        most = int(self._call("open", lambda client: client.get_max_batch_size()))
        self.capabilities = replace(
            self.capabilities,
            keeps_extra=self._plan.exact,
            max_batch=max(1, min(most, self._records.page or IDS_AT_ONCE)),
        )
        if self._metric == "dot":
            self.capabilities = replace(self.capabilities, min_vector_length=_SHORTEST_UNDER_DOT)
        if self._call.local:
            # One process has the engine, and one lock orders its threads.
            self.capabilities = replace(
                self.capabilities, conflict_atomic=True, scoped_add_atomic=True
            )
        if not self._plan.exact:
            self.capabilities = replace(
                self.capabilities,
                keeps_null=False,
                keeps_empty_list=False,
                min_integer=-(2**63),
                max_integer=2**63 - 1,
            )
        self._dialect = self._made_dialect(self._plan.texts, self._plan.numbers)

    def _made_dialect(self, texts: frozenset[Path], numbers: frozenset[Path]) -> Chroma:
        return Chroma(
            layout="exact" if self._plan.exact else "plain",
            schema=self.schema,
            target=self._plan.target,
            texts=texts,
            numbers=numbers,
        )

    def _look(self, operation: str) -> bool:
        name = self._collection

        def find(client: Any) -> Any:
            from chromadb.errors import NotFoundError

            try:
                return client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None

        collection = self._call(operation, find)
        if collection is None:
            return False
        found = self._plan.check(collection, self._dimension)
        self._dimension = found.dimension
        self._records.collection = collection
        if found.layout is not None:
            # Of the collection's making, and not what the schema of today says.
            self._plan = replace(self._plan, target=found.layout.target)
            self._records.layout = self._layout = found.layout
            self._records.page = AT_ONCE_IN_THE_CLOUD if found.layout.target == "cloud" else None
            self._dialect = self._made_dialect(found.layout.texts, found.layout.numbers)
        return True

    def _make_collection(self, dimension: int) -> None:
        self._call("add", lambda client: self._plan.make(client, dimension))

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _extra_remedy(self) -> str:
        return (
            f"{self._title} has metadata as other programs write it, in which it would be a key "
            'of metadata; collections that this store makes with layout="exact" keep it'
        )

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            self._layout.check(document.metadata, document.id)

    def _add(self, batch: Batch) -> Iterable[str]:
        with self._call.exclusive:
            self._make_ready(batch)
            self._dimension = batch.vectors.shape[1]
            rows = self._free(batch)
            ids = [batch.ids[row] for row in rows]
            if ids:
                fields = [self._layout.write(batch.metadata[row]) for row in rows]
                if self._plan.exact:
                    # None takes out that of the document that was there.
                    for row, one in zip(rows, fields, strict=True):
                        one[EXTRA] = batch.extras[row] if batch.extras else None
                else:
                    self._take_out("add", ids, fields)
                texts = [batch.texts[row] for row in rows]
                self._records.upsert("add", ids, texts, fields, batch.vectors[list(rows)])
        return ids

    def _free(self, batch: Batch) -> Sequence[int]:
        """The rows of a batch that may be written."""
        if batch.on_conflict == "replace" and batch.within is None:
            return range(len(batch))
        taken = set(self._records.stored("add", batch.ids))
        if batch.within is not None and taken:
            outside = taken.difference(self._records.stored("add", batch.ids, batch.within))
            if outside:
                raise id_outside([id for id in batch.ids if id in outside])
        return batch.free_rows(taken)

    def _take_out(self, operation: str, ids: list[str], fields: list[dict[str, Any]]) -> None:
        """Name the keys that are to go: the engine adds to the metadata that it has."""
        stored = {one.id: one.fields for one in self._records.selected(operation, ids, None, False)}
        for id, new in zip(ids, fields, strict=True):
            new.update({name: None for name in stored.get(id) or () if name not in new})

    def _chooses(self, selection: Selection) -> bool:
        return selection.ids is not None  # the engine knows which to look among, not which to pass

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        if not (self._present or self._exists("search")):
            return []
        foreign = ForeignRecords(self._title)
        filter, ids = selection.filter, selection.ids
        # Whatever changes on a server between two calls: what is returned matches.
        again = None if self._call.local else filter

        def ask(size: int) -> list[str]:
            wanted = max(size, self._candidates)
            if ids is not None:
                return self._nearest_among(vector, ids, size, wanted, filter)
            found = self._records.nearest(vector, wanted, filter)
            if len(found) < wanted:
                every = self._records.ids("search", filter)
                if len(every) > len(found):  # the index lost its way among those that do not match
                    return every
            return found[:size]

        def read(ids: Sequence[str]) -> list[Document]:
            best: list[Document] = []
            for start in range(0, len(ids), IDS_AT_ONCE):
                part = ids[start : start + IDS_AT_ONCE]
                records = self._records.selected("search", part, again, True)
                documents = list(self._records.documents(records, foreign))
                # The engine's own distances are of float32, and those of products of little worth.
                [found] = scored(documents, [vector], self._metric, include_embedding)
                best = nsmallest(max(top_k, IDS_AT_ONCE), [*best, *found], key=rank)
            return best

        with self._call.exclusive:
            return filled(ask, read, top_k, _MOST)

    def _nearest_among(
        self, vector: Vector, ids: Sequence[str], size: int, wanted: int, filter: Any
    ) -> list[str]:
        """The ids of the nearest with one of the ids, or of all of them that match."""
        every = self._records.ids("search", filter, ids)  # a query fails at one that is not stored
        wanted = min(wanted, len(every))
        if len(every) <= size:
            return every
        try:
            found = self._records.nearest(vector, wanted, None, every)
        except BackendError:
            if self._call.local:
                raise
            return every  # one of them is gone since, or the server fails at reading them as well
        if len(found) < wanted or not set(every).issuperset(found):
            # The index lost its way; or the server is from before a query had ids.
            return every
        return found[:size]

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        with self._call.exclusive:
            # The engine counts the ids it was given, not those it found.
            stored = self._records.stored("delete", selection.ids, selection.filter)
            again = None if self._call.local else selection.filter
            self._records.delete("delete", stored, again)
        return len(stored)

    def _delete_filtered(self, filter: Any) -> int:
        if not self._exists("delete"):
            return 0
        with self._call.exclusive:
            stored = self._records.ids("delete", filter)
            self._records.delete("delete", stored, None if self._call.local else filter)
        return len(stored)

    def _count(self, filter: Any) -> int:
        return self._records.count(filter) if self._exists("count") else 0

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        self._layout.check(set, None)
        if not self._exists("update_metadata"):
            return 0
        operation, count = "update_metadata", 0
        foreign = ForeignRecords(self._title)
        with self._call.exclusive:
            if selection.ids is None:
                pages = self._records.pages(operation, selection.filter, False, IDS_AT_ONCE)
            else:
                pages = iter(
                    [self._records.selected(operation, selection.ids, selection.filter, False)]
                )
            for page in pages:
                count += self._change(self._records.holding(page, foreign), set, unset)
        return count

    def _change(
        self, records: Iterable[Record], set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        ids, fields = [], []
        for one in records:
            metadata = changed(one.metadata or {}, set, unset)
            self._layout.check(metadata, one.id)
            ids.append(one.id)
            fields.append(self._layout.write(metadata))
            if not self._plan.exact:
                gone = {name: None for name in one.fields or () if name not in fields[-1]}
                fields[-1].update(gone)
        written = [row for row, one in enumerate(fields) if one]
        if written:
            self._records.change(
                "update_metadata", [ids[row] for row in written], [fields[row] for row in written]
            )
        return len(ids)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """On a server a record may be changed by others between the look at it and its change."""
        self._layout.check(set, None)
        assert selection.ids is not None
        if not self._exists("update_metadata"):
            return 0
        with self._call.exclusive:
            found = self._records.selected(
                "update_metadata", selection.ids, selection.filter, False
            )
            held = self._records.holding(found, ForeignRecords(self._title))
            return self._change([one for one in held if judge(one.metadata or {})], set, unset)

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            for page in self._records.pages(
                "scan", filter, include_embedding, batch_size, texts=False
            ):
                yield from self._records.documents(page, foreign)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for one in self._scan_textless(filter, batch_size=batch_size, include_embedding=False):
            yield one.id, one.metadata

    def _clear(self) -> None:
        self._clear_counted()

    def _clear_counted(self) -> int:
        """The documents go, and the collection stays: what is dropped leaves values behind."""
        if not self._exists("clear"):
            return 0
        with self._call.exclusive:
            stored = self._records.ids("clear", None)
            self._records.delete("clear", stored)
        return len(stored)

    def _place(self) -> Place:
        return replace(super()._place(), namespace=str(self._call.client.database))

    def _bound_to_process(self) -> str | None:
        return "its documents are in the memory of this one" if self._call.in_memory else None


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("collection", "metric", "layout", "target", "tenant", "database"), str),
    **dict.fromkeys(("dimension", "candidates"), int),
    "create": flag,
    **dict.fromkeys(("api_key", "headers", "batching", "index_options", "schema"), None),
}
