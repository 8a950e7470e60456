"""LlamaIndex's vector store over any store of this library.

Needs llama-index-core, the extra `llama-index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from vecstore.adapters.arguments import FilterCache, diversity_of
from vecstore.adapters.llama_index_nodes import nodes_of, stored_of
from vecstore.document import Document
from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.filter.builder import F
from vecstore.filter.tree import Expression, FilterInput, Group
from vecstore.installing import install_line
from vecstore.interop import from_llama_index
from vecstore.schema import Schema
from vecstore.store.arguments import read_chosen, read_filter
from vecstore.store.base import VectorStore as Store

try:
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs llama-index-core: {install_line('llama-index')}"
    ) from None

_OF_QUERY = {
    "vector": "VectorStoreQuery(query_embedding=...)",
    "top_k": "VectorStoreQuery(similarity_top_k=...)",
    "filter": "VectorStoreQuery(filters=...)",
    "include_embedding": 'VectorStoreQuery(output_fields=["embedding"])',
}
_OF_MMR = {"diversity": "mmr_threshold=...", "fetch_k": "mmr_prefetch_k=..."}
"""What a search is not told twice: options of the store, and what says them in LlamaIndex."""
_OBJECTS = {
    MetadataFilters: ("condition", "filters"),
    MetadataFilter: ("key", "operator", "value"),
    FilterCondition: ("value",),
    FilterOperator: ("value",),
}
_MODES = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR)


class VecstoreVectorStore(BasePydanticVectorStore):
    """A store of this library as LlamaIndex's vector store, synchronous and awaited.

    Nodes are kept whole, their text, metadata, relationships and embedding; LlamaIndex embeds them.
    ``filters`` of each method are LlamaIndex's ``MetadataFilters``, nested ones too, and select
    what they do there; or a filter of this library, an expression or its text.

    Args:
        store: Any store, scoped ones too.

    Raises:
        ConfigurationError: If it is no store.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> from llama_index.core.vector_stores import VectorStoreQuery
        >>> from vecstore import SimpleVectorStore
        >>> nodes = VecstoreVectorStore(SimpleVectorStore())
        >>> nodes.add(
        ...     [
        ...         TextNode(id_="a", text="foo", metadata={"n": 1}, embedding=[1.0, 0.0]),
        ...         TextNode(id_="b", text="bar", metadata={"n": 2}, embedding=[0.0, 1.0]),
        ...     ]
        ... )
        ['a', 'b']
        >>> query = VectorStoreQuery([1.0, 0.0], similarity_top_k=2, filters="n > 1")
        >>> [node.text for node in nodes.query(query).nodes]
        ['bar']
    """

    stores_text: bool = True
    store: Any = Field(exclude=True, repr=False)
    _read: Any = PrivateAttr()

    def __init__(self, store: Store) -> None:
        if not isinstance(store, Store):
            raise ConfigurationError(
                f"VecstoreVectorStore takes a store, not a {type(store).__name__}; write "
                "VecstoreVectorStore(open_store(url))"
            )
        super().__init__(store=store)
        self._read = FilterCache(partial(_read, store.schema), _OBJECTS)

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex writes for this class."""
        return "VecstoreVectorStore"

    @property
    def client(self) -> Any:
        """The engine's own object, ``store.native``; a scoped store shows none."""
        return self.store.native

    # --- writing and reading ------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Store nodes with their embeddings; one with the same id is replaced.

        Args:
            nodes: The nodes.
            **options: What the store's ``add`` takes, such as ``on_conflict``.

        Raises:
            DocumentError: For a node without an embedding, and for what the store cannot keep.
        """
        return list(self.store.add(stored_of(nodes), **options))

    async def async_add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """See :meth:`add`."""
        return list(await self.store.aio.add(stored_of(nodes), **options))

    def delete(self, ref_doc_id: str, **options: Any) -> None:
        """Delete the nodes of a document.

        Args:
            ref_doc_id: The id of the document.
            **options: What the store's ``delete`` takes.
        """
        self.store.delete(filter=F.ref_doc_id == ref_doc_id, **options)

    async def adelete(self, ref_doc_id: str, **options: Any) -> None:
        """See :meth:`delete`."""
        await self.store.aio.delete(filter=F.ref_doc_id == ref_doc_id, **options)

    def delete_nodes(
        self, node_ids: Sequence[str] | None = None, filters: Any = None, **options: Any
    ) -> None:
        """Delete nodes by their ids, by filters, or those of the ids that match the filters.

        Args:
            node_ids: Their ids; unknown ones are passed over, an empty list deletes nothing.
            filters: Which nodes.
            **options: What the store's ``delete`` takes.

        Raises:
            ValueError: Without both; :meth:`clear` deletes everything.
        """
        self.store.delete(node_ids, filter=self._filter(filters), **options)

    async def adelete_nodes(
        self, node_ids: Sequence[str] | None = None, filters: Any = None, **options: Any
    ) -> None:
        """See :meth:`delete_nodes`."""
        await self.store.aio.delete(node_ids, filter=self._filter(filters), **options)

    def get_nodes(
        self, node_ids: Sequence[str] | None = None, filters: Any = None
    ) -> list[BaseNode]:
        """Nodes by their ids, in that order, or by filters, with their embeddings.

        Args:
            node_ids: Their ids; unknown ones are left out.
            filters: Which nodes; with ``node_ids`` as well, those of them that match. With
                neither, all nodes.
        """
        filter = self._filter(filters)
        return nodes_of(self.store.get(node_ids, filter=filter, include_embedding=True))

    async def aget_nodes(
        self, node_ids: Sequence[str] | None = None, filters: Any = None
    ) -> list[BaseNode]:
        """See :meth:`get_nodes`."""
        filter = self._filter(filters)
        return nodes_of(await self.store.aio.get(node_ids, filter=filter, include_embedding=True))

    def clear(self) -> None:
        """Delete every node that the store reaches."""
        self.store.clear()

    async def aclear(self) -> None:
        """See :meth:`clear`."""
        await self.store.aio.clear()

    # --- searching ----------------------------------------------------------------------------

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """The nodes most similar to an embedding, best first, with the scores of the store.

        Args:
            query: The mode is ``default`` or ``mmr``. ``node_ids`` and ``doc_ids`` narrow it where
                they are not empty. Nodes carry their embeddings where ``output_fields`` names
                ``"embedding"``.
            **options: What the store's ``search`` takes, such as ``threshold``; with ``mmr`` also
                ``mmr_threshold``, from 0 for the greatest variety to 1 for similarity alone, and
                how many nodes to choose from: ``mmr_prefetch_k``, or ``mmr_prefetch_factor`` times
                ``similarity_top_k``.

        Raises:
            TypeError: For an option that the query says itself, such as ``top_k``.
            ValueError: For another mode, and for a query without an embedding.
        """
        asked = _Asked(query, options)
        filter = self._filter(query.filters, query.doc_ids)
        return asked.result(self.store.search(filter=filter, **asked.options))

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """See :meth:`query`."""
        asked = _Asked(query, options)
        filter = self._filter(query.filters, query.doc_ids)
        return asked.result(await self.store.aio.search(filter=filter, **asked.options))

    def _filter(self, filters: Any, documents: Sequence[str] | None = None) -> FilterInput:
        """What to select."""
        if filters is None:
            filter = None
        elif isinstance(filters, str | Expression | Group | bool):
            filter = read_filter(cast(FilterInput, filters))
        else:
            filter = self._read(filters)
        if not documents:
            return filter
        of_documents = F.ref_doc_id.in_(list(documents))
        return of_documents if filter is None else filter & of_documents


def _check_options(options: dict[str, Any], diverse: bool) -> None:
    for name, theirs in (_OF_QUERY | _OF_MMR if diverse else _OF_QUERY).items():
        if name in options:
            raise TypeError(f"{name} of the search is said by the query: write {theirs}")
    for name in () if diverse else ("mmr_threshold", "mmr_prefetch_factor", "mmr_prefetch_k"):
        if name in options:
            raise TypeError(f'{name} is of diverse queries: VectorStoreQuery(..., mode="mmr")')


def _read(schema: Schema | None, filters: Any) -> Expression:
    """LlamaIndex's filters with two truth values, as they are meant there."""
    return from_llama_index(filters).two_valued(schema)


class _Asked:
    """What a query asks of a store."""

    def __init__(self, query: VectorStoreQuery, options: dict[str, Any]) -> None:
        mode = VectorStoreQueryMode(query.mode)
        if mode not in _MODES:
            raise ValueError(
                f"stores of vecstore compare embeddings, and cannot answer the query mode "
                f'"{mode.value}"; write mode="default" or mode="mmr"'
            )
        if query.query_embedding is None:
            raise ValueError(
                "the query has no query_embedding; an index and its retrievers set it, and "
                "get_nodes(filters=...) reads nodes without searching"
            )
        diverse = mode is VectorStoreQueryMode.MMR
        if options:
            _check_options(options, diverse)
        self.shown = "embedding" in (query.output_fields or ())
        self.options: dict[str, Any] = {
            **options,
            "vector": query.query_embedding,
            "top_k": query.similarity_top_k,
            "include_embedding": self.shown,
        }
        if query.node_ids:
            self.options["ids"] = query.node_ids
            if options.get("ids") is not None:  # each narrows what the other leaves
                also = frozenset(read_chosen("ids", options["ids"]))
                self.options["ids"] = [one for one in query.node_ids if one in also]
        if diverse:
            likeness = self.options.pop("mmr_threshold", query.mmr_threshold)
            factor = self.options.pop("mmr_prefetch_factor", None)
            size = self.options.pop("mmr_prefetch_k", None)
            self.options["diversity"] = (
                0.5 if likeness is None else diversity_of("mmr_threshold", likeness)
            )
            if size is None and factor is not None:
                size = int(query.similarity_top_k * factor)
            if size is not None:
                self.options["fetch_k"] = max(size, query.similarity_top_k)

    def result(self, found: Sequence[Document]) -> VectorStoreQueryResult:
        """The answer, of the documents that were found."""
        return VectorStoreQueryResult(
            nodes=nodes_of(found, embeddings=self.shown),
            similarities=[float(one.score or 0.0) for one in found],
            ids=[one.id for one in found],
        )
