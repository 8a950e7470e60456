"""LangChain's document index over any store of this library: its retriever that is also written to.

Needs langchain-core, the extra `langchain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vecstore.adapters.langchain_documents import documents_of, read_filter, stored_of
from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.installing import install_line
from vecstore.store.base import VectorStore as Store

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.indexing.base import DeleteResponse, DocumentIndex, UpsertResponse
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs langchain-core: {install_line('langchain')}"
    ) from None


class VecstoreDocumentIndex(DocumentIndex):
    """A store of this library as LangChain's ``DocumentIndex``, synchronous and awaited.

    ``invoke(text)`` searches. What cannot be stored is an error of this library, whose
    ``stored_ids`` and ``failed_ids`` say how far it came; ``failed`` of a response is empty.

    Args:
        store: Any store, scoped ones too. Its embedder is what texts are embedded with.
        k: How many documents ``invoke`` returns at most; each call may say otherwise.
        filter: Which documents it looks among, as for
            :class:`~vecstore.adapters.langchain.VecstoreVectorStore`; that of a call comes in
            its place.
        search_kwargs: Further arguments of ``store.search``, such as ``diversity`` or
            ``threshold``.
        **retriever: What every retriever of LangChain takes, such as ``tags``.

    Raises:
        ConfigurationError: If it is no store.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from vecstore import SimpleVectorStore
        >>> store = SimpleVectorStore(DeterministicFakeEmbedding(size=6))
        >>> index = VecstoreDocumentIndex(store, k=1)
        >>> index.upsert([Document("foo", id="a"), Document("bar", id="b")])
        {'succeeded': ['a', 'b'], 'failed': []}
        >>> index.invoke("foo")
        [Document(id='a', metadata={}, page_content='foo')]
        >>> index.delete(["b", "c"])["num_deleted"]
        1
    """

    store: Any
    k: int = 4
    filter: Any = None
    search_kwargs: dict[str, Any]

    def __init__(
        self,
        store: Store,
        *,
        k: int = 4,
        filter: Any = None,
        search_kwargs: dict[str, Any] | None = None,
        **retriever: Any,
    ) -> None:
        if not isinstance(store, Store):
            raise ConfigurationError(
                f"VecstoreDocumentIndex takes a store, not a {type(store).__name__}; write "
                "VecstoreDocumentIndex(open_store(url, embedder=embeddings))"
            )
        super().__init__(
            store=store, k=k, filter=filter, search_kwargs=search_kwargs or {}, **retriever
        )

    def upsert(self, items: Sequence[Document], /) -> UpsertResponse:
        """Embed and store documents; one with the same id is replaced, one without gets an id."""
        return UpsertResponse(succeeded=self.store.add(stored_of(items)), failed=[])

    async def aupsert(self, items: Sequence[Document], /) -> UpsertResponse:
        """See :meth:`upsert`."""
        return UpsertResponse(succeeded=await self.store.aio.add(stored_of(items)), failed=[])

    def delete(self, ids: Sequence[str] | None = None, *, filter: Any = None) -> DeleteResponse:
        """Delete documents by their ids or by a filter; unknown ids are passed over.

        Raises:
            ValueError: Without both; ``.store.clear()`` deletes everything.
        """
        return _deleted(self.store.delete(ids, filter=read_filter(filter)))

    async def adelete(
        self, ids: Sequence[str] | None = None, *, filter: Any = None
    ) -> DeleteResponse:
        """See :meth:`delete`."""
        return _deleted(await self.store.aio.delete(ids, filter=read_filter(filter)))

    def get(self, ids: Sequence[str], /) -> list[Document]:
        """Documents by their ids, in that order; unknown ids are left out."""
        return documents_of(self.store.get(ids))

    async def aget(self, ids: Sequence[str], /) -> list[Document]:
        """See :meth:`get`."""
        return documents_of(await self.store.aio.get(ids))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **search: Any
    ) -> list[Document]:
        return documents_of(self.store.search(query, **self._arguments(search)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **search: Any
    ) -> list[Document]:
        return documents_of(await self.store.aio.search(query, **self._arguments(search)))

    def _arguments(self, search: dict[str, Any]) -> dict[str, Any]:
        """Those of a search: what the call says goes before what the index says."""
        said = {"k": self.k, "filter": self.filter, **self.search_kwargs, **search}
        top_k = said.pop("k")
        said.setdefault("top_k", top_k)
        return {**said, "filter": read_filter(said["filter"])}


def _deleted(count: int) -> DeleteResponse:
    # Which of the ids there were is not asked: that would be a second call to the engine.
    return DeleteResponse(num_deleted=count, failed=[], num_failed=0)
