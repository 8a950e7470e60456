"""LangChain's vector store over any store of this library.

Needs langchain-core, the extra `langchain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, cast

from vecstore.adapters.langchain_documents import (
    asked,
    documents_of,
    read_filter,
    scored_of,
    stored_of,
    varied_search,
)
from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.filter.tree import Expression
from vecstore.installing import install_line
from vecstore.interop import from_langchain
from vecstore.store.base import VectorStore as Store
from vecstore.store.url import open_store

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.structured_query import (
        Comparator,
        Comparison,
        Operation,
        Operator,
        StructuredQuery,
        Visitor,
    )
    from langchain_core.vectorstores import VectorStore
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs langchain-core: {install_line('langchain')}"
    ) from None


class VecstoreVectorStore(VectorStore):
    """A store of this library as LangChain's ``VectorStore``, synchronous and awaited.

    ``filter`` of each method is a filter of this library, an expression or its text; a structured
    query of LangChain, or a part of one; or a dict as MongoDB writes it, ``{"year": {"$gte":
    2020}}``. Scores are those of the store: higher is better.

    Args:
        store: Any store, scoped ones too. Its embedder is what texts are embedded with;
            LangChain's ``Embeddings`` serve as one.

    Raises:
        ConfigurationError: If it is no store.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from vecstore import SimpleVectorStore
        >>> store = VecstoreVectorStore(SimpleVectorStore(DeterministicFakeEmbedding(size=6)))
        >>> ids = store.add_texts(["foo", "bar"], [{"n": 1}, {"n": 2}], ids=["a", "b"])
        >>> store.similarity_search("foo", k=1)
        [Document(id='a', metadata={'n': 1}, page_content='foo')]
        >>> store.as_retriever(search_kwargs={"filter": "n > 1"}).invoke("foo")[0].id
        'b'
    """

    def __init__(self, store: Store) -> None:
        if not isinstance(store, Store):
            raise ConfigurationError(
                f"VecstoreVectorStore takes a store, not a {type(store).__name__}; write "
                "VecstoreVectorStore(open_store(url, embedder=embeddings))"
            )
        self.store = store

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        url: str = "memory:",
        **options: Any,
    ) -> Self:
        """Open a store by its address, and add texts.

        Args:
            texts: The texts.
            embedding: The embedder of the store.
            metadatas: The metadata of each text.
            ids: The id of each text.
            url: What :func:`vecstore.open_store` takes.
            **options: Options of the store.
        """
        made = cls(open_store(url, embedder=cast(Any, embedding), **options))
        made.add_texts(texts, metadatas, ids=ids)
        return made

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedder of the store, where it is one of LangChain's."""
        embedder = self.store.embedder
        return embedder if isinstance(embedder, Embeddings) else None

    # --- writing and reading ------------------------------------------------------------------

    def add_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Embed and store documents; one with the same id is replaced.

        Args:
            documents: The documents.
            ids: Their ids, in the place of their own; where there is none, one is drawn.
            batch_size: What LangChain's ``index`` hands on. Without an effect: the store knows how
                many it takes at a time.
        """
        return self.store.add(stored_of(documents, ids))

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """See :meth:`add_documents`."""
        return await self.store.aio.add(stored_of(documents, ids))

    def delete(self, ids: Sequence[str] | None = None, *, filter: Any = None) -> bool:
        """Delete documents by their ids or by a filter; unknown ids are passed over.

        Raises:
            ValueError: Without both; ``.store.clear()`` deletes everything.
        """
        self.store.delete(ids, filter=read_filter(filter))
        return True

    async def adelete(self, ids: Sequence[str] | None = None, *, filter: Any = None) -> bool:
        """See :meth:`delete`."""
        await self.store.aio.delete(ids, filter=read_filter(filter))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Documents by their ids, in that order; unknown ids are left out."""
        return documents_of(self.store.get(ids))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """See :meth:`get_by_ids`."""
        return documents_of(await self.store.aio.get(ids))

    # --- searching ----------------------------------------------------------------------------

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[Document]:
        """The documents most similar to a text, best first.

        Args:
            query: The text.
            k: How many documents to return at most.
            filter: Which documents to look among.
            **search: Further arguments of ``store.search``, such as ``ids`` or ``threshold``; they
                do as well where retrievers take ``search_kwargs``.
        """
        return documents_of(self.store.search(query, **asked(k, filter, search)))

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[Document]:
        """See :meth:`similarity_search`."""
        return documents_of(await self.store.aio.search(query, **asked(k, filter, search)))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[tuple[Document, float]]:
        """The documents most similar to a text, each with its score: higher is better."""
        return scored_of(self.store.search(query, **asked(k, filter, search)))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[tuple[Document, float]]:
        """See :meth:`similarity_search_with_score`."""
        return scored_of(await self.store.aio.search(query, **asked(k, filter, search)))

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[Document]:
        """The documents most similar to a vector, best first."""
        return documents_of(self.store.search(vector=embedding, **asked(k, filter, search)))

    async def asimilarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, *, filter: Any = None, **search: Any
    ) -> list[Document]:
        """See :meth:`similarity_search_by_vector`."""
        found = await self.store.aio.search(vector=embedding, **asked(k, filter, search))
        return documents_of(found)

    def _select_relevance_score_fn(self) -> Any:
        """From a score to a relevance between 0 and 1, in the same order."""
        return self.store.relevance

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **search: Any,
    ) -> list[Document]:
        """Documents that are similar to a text and not to each other, chosen by the store.

        Args:
            query: The text.
            k: How many documents to return at most.
            fetch_k: How many of the most similar they are chosen from.
            lambda_mult: From 0 for the greatest variety to 1 for similarity alone.
            **search: ``filter``, and the further arguments of :meth:`similarity_search`.
        """
        return documents_of(
            self.store.search(query, **varied_search(k, fetch_k, lambda_mult, search))
        )

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **search: Any,
    ) -> list[Document]:
        """See :meth:`max_marginal_relevance_search`."""
        varied = varied_search(k, fetch_k, lambda_mult, search)
        return documents_of(await self.store.aio.search(query, **varied))

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Any,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **search: Any,
    ) -> list[Document]:
        """See :meth:`max_marginal_relevance_search`."""
        varied = varied_search(k, fetch_k, lambda_mult, search)
        return documents_of(self.store.search(vector=embedding, **varied))

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: Any,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **search: Any,
    ) -> list[Document]:
        """See :meth:`max_marginal_relevance_search`."""
        varied = varied_search(k, fetch_k, lambda_mult, search)
        return documents_of(await self.store.aio.search(vector=embedding, **varied))


class VecstoreTranslator(Visitor):
    """What LangChain's self-query retrievers translate with, for whichever store is behind.

    Example:
        >>> from langchain_core.structured_query import Comparator, Comparison, StructuredQuery
        >>> year = Comparison(comparator=Comparator.GTE, attribute="year", value=2020)
        >>> query = StructuredQuery(query="dogs", filter=year, limit=None)
        >>> text, arguments = VecstoreTranslator().visit_structured_query(query)
        >>> text, arguments["filter"].to_text()
        ('dogs', 'year >= 2020')
    """

    allowed_operators = tuple(Operator)
    allowed_comparators = tuple(
        Comparator(name) for name in ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
    )

    def visit_operation(self, operation: Operation) -> Expression:
        """The filter of an operation."""
        return from_langchain(operation)

    def visit_comparison(self, comparison: Comparison) -> Expression:
        """The filter of a comparison."""
        return from_langchain(comparison)

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, Any]:
        """The text of a query, and the arguments of the search."""
        if structured_query.filter is None:
            return structured_query.query, {}
        return structured_query.query, {"filter": from_langchain(structured_query)}
