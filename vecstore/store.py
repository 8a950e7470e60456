"""The public interface of every store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack, overload

from vecstore.calls import (
    AddCall,
    ClearCall,
    CountCall,
    DeleteCall,
    GetCall,
    Progress,
    ScanCall,
    SearchCall,
    UpdateMetadataCall,
)
from vecstore.capabilities import OnConflict, OnError
from vecstore.document import Document
from vecstore.embedding import EmbedderInput
from vecstore.errors import ConfigurationError
from vecstore.filter.ast import FilterInput
from vecstore.operations import StoreOperations
from vecstore.request import SearchRequest, read_filter
from vecstore.spellings import NoOptions, unknown_keyword, unknown_method

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.aio import AsyncVectorStore
    from vecstore.opening import StoreURL
    from vecstore.scope import ScopeInput


class VectorStore(StoreOperations):
    """Documents with vectors, searched by similarity and filtered by metadata.

    Every store has these methods, and they mean the same on each. A backend subclasses this and
    writes the hooks of :mod:`vecstore.hooks`.

    Args:
        embedder: Anything with ``embed_documents(texts)`` and ``embed_query(text)``, or a function
            from a list of texts to vectors. Without one, documents bring their embeddings and
            searches their vectors.
        metric: ``"cosine"`` (the default), ``"dot"`` or ``"euclidean"``. Higher scores are better
            with each: cosine similarity, inner product, and minus the distance.
        dimension: Length of the vectors, or None to take it from the first one.
        batching: How texts are cut into calls of the embedder.
        async_threads: How many awaited calls of :attr:`aio` run at the same time.
        observers: Who is told of each operation; see :class:`Observer`.
        observe_content: Whether query texts, filters and document texts are told, too.
        max_cost: What a filter that comes as text or dict may cost at most: about the number of
            its comparisons, once those of one key are merged. None lifts the limit; when left out
            it is ``capabilities.max_cost``. Filters built in Python are not counted.

    Raises:
        ConfigurationError: If one of these cannot work.
    """

    @property
    def native(self) -> Any:
        """The backend's own object, for what this interface does not cover."""
        self._check_open()
        return self._ask("native", self._native)

    @property
    def aio(self) -> AsyncVectorStore:
        """The same methods, to be awaited: ``await store.aio.search("query")``."""
        from vecstore.aio import AsyncVectorStore

        return AsyncVectorStore(self)

    def add(
        self,
        documents: Iterable[Document],
        *,
        on_conflict: OnConflict = "replace",
        on_error: OnError = "raise",
        progress: Progress | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[str]:
        """Store documents; those without an embedding are embedded.

        Ids, texts, metadata and given vectors of the whole call are checked before the first
        write. Embedding and writing go on batch by batch. An iterator is taken in windows of 1,024,
        each checked as a whole.

        Args:
            documents: The documents.
            on_conflict: What to do about an id that is stored already, or that comes twice in this
                call: ``"replace"`` the whole document, so that the last one stays; ``"skip"`` it
                without embedding it, so that the first one stays; or raise an ``"error"`` before
                anything is embedded or written.
            on_error: What to do about documents that cannot be stored, by their metadata, text,
                vector, or what the embedder makes of them: ``"raise"``, or ``"skip"`` them, which a
                :class:`~vecstore.SkippedDocumentsWarning` at the end tells. A failure of the
                embedder or the backend, and a document outside of a scope, always raise.
            progress: Called after each batch with the documents done so far and their number
                (None for an iterator).

        Returns:
            The id of each document given, in order; of those that were left out, none.

        Raises:
            DocumentError: If documents cannot be stored as they are; nothing was written. Its
                ``faulty_ids`` are those of all of them.
            DimensionMismatchError: If a vector is not as long as the store's.
            EmbeddingError: If the embedder fails or returns unusable vectors.
            DuplicateDocumentError: With ``on_conflict="error"``. Only of an iterator, or where
                another writer came in between, may earlier batches have been written.
            BackendError: If the backend fails.

            Each of them carries ``stored_ids`` and ``failed_ids``: of an iterator, the failed are
            those of the window at work.
        """
        if unknown:
            raise unknown_keyword("add", unknown)
        return self._execute(AddCall.read(documents, on_conflict, on_error, progress))

    @overload
    def search(self, query: SearchRequest, /) -> list[Document]: ...

    @overload
    def search(
        self,
        query: str | None = None,
        *,
        vector: ArrayLike | None = None,
        top_k: int = 4,
        offset: int = 0,
        threshold: float | None = None,
        filter: FilterInput = None,
        include_embedding: bool = False,
    ) -> list[Document]: ...

    def search(
        self,
        query: str | SearchRequest | None = None,
        *,
        vector: ArrayLike | None = None,
        top_k: int = 4,
        offset: int = 0,
        threshold: float | None = None,
        filter: FilterInput = None,
        include_embedding: bool = False,
        **unknown: Unpack[NoOptions],
    ) -> list[Document]:
        """The documents most similar to a text or a vector, best first, equal scores by id.

        Args:
            query: The text to look for; or a :class:`SearchRequest`, and nothing else.
            vector: The vector to look for, instead of a text.
            top_k: How many documents to return at most.
            offset: How many of the best documents to pass over: with ``top_k=10``, page after page
                is ``offset=0``, 10, 20. On stores that declare ``exact_topk`` pages neither overlap
                nor leave a document out while nobody writes.
            threshold: Leave out documents that score less, but for a millionth: of 1 under cosine,
                of the threshold under the other metrics. Engines round sums differently.
            filter: Which documents to look among: an expression or its text.
            include_embedding: Whether results carry their vectors.

        Returns:
            Documents with their ``score``: higher is better.

        Raises:
            ConfigurationError: For a text query on a store without embedder.
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
            DimensionMismatchError: If the vector is not as long as the store's.
        """
        if unknown:
            raise unknown_keyword("search", unknown)
        return self._execute(
            SearchCall.read(query, vector, top_k, threshold, filter, include_embedding, offset)
        )

    def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        limit: int | None = None,
        include_embedding: bool = False,
        **unknown: Unpack[NoOptions],
    ) -> list[Document]:
        """Read documents without searching; never embeds.

        Args:
            ids: Which ones, in the order wanted; unknown ids are left out, repeated ones repeated.
            filter: Which ones, by metadata. With ``ids`` as well, those of them that match. With
                neither, all documents; for many, see :meth:`scan`.
            limit: How many at most.
            include_embedding: Whether the documents carry their vectors.
        """
        if unknown:
            raise unknown_keyword("get", unknown)
        return self._execute(GetCall.read(ids, filter, limit, include_embedding))

    def update_metadata(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        set: Mapping[str, Any] = {},
        unset: Iterable[str] = (),
        **unknown: Unpack[NoOptions],
    ) -> int:
        """Change keys at the top of metadata; texts and vectors stay. Never embeds.

        Args:
            ids: Which documents; unknown ids are passed over.
            filter: Which documents, by metadata; with ``ids`` as well, those of them that match.
            set: New values by key. A key is a name at the top, dots included; an object replaces
                the whole object that was there.
            unset: Keys to remove.

        Returns:
            How many documents were selected.
        """
        if unknown:
            raise unknown_keyword("update_metadata", unknown)
        return self._execute(UpdateMetadataCall.read(ids, filter, set, unset))

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        **unknown: Unpack[NoOptions],
    ) -> int:
        """Delete documents.

        Args:
            ids: Which ones; unknown ids are passed over, an empty list deletes nothing.
            filter: Which ones, by metadata; with ``ids`` as well, those of them that match.

        Returns:
            How many documents were deleted.

        Raises:
            ValueError: Without ids and filter, and for a filter that matches everything: that is
                what :meth:`clear` is for.
        """
        if unknown:
            raise unknown_keyword("delete", unknown)
        return self._execute(DeleteCall.read(ids, filter))

    def count(self, filter: FilterInput = None, **unknown: Unpack[NoOptions]) -> int:
        """How many documents there are, or match a filter."""
        if unknown:
            raise unknown_keyword("count", unknown)
        return self._execute(CountCall(filter=read_filter(filter)))

    def scan(
        self,
        filter: FilterInput = None,
        *,
        batch_size: int = 256,
        include_embedding: bool = False,
        **unknown: Unpack[NoOptions],
    ) -> Iterator[Document]:
        """All documents, or those that match a filter, one by one and in no particular order.

        Args:
            filter: Which ones.
            batch_size: How many are read from the backend at a time.
            include_embedding: Whether the documents carry their vectors.
        """
        if unknown:
            raise unknown_keyword("scan", unknown)
        return self._execute(ScanCall.read(filter, batch_size, include_embedding))

    def clear(self) -> None:
        """Delete every document."""
        self._execute(ClearCall())

    def scoped(self, scope: ScopeInput) -> VectorStore:
        """A view of this store that reaches only the documents that match a filter.

        It has the methods of a store, and no call through it reads, counts, changes or deletes
        anything else, whatever filter or ids it is given. What is added through it has to match;
        keys that the scope compares with ``==`` are filled in where they are absent. Scopes nest.
        Closing a view leaves this store open.

        Args:
            scope: A filter; or a function without arguments that returns one, asked at each call,
                in the context of the caller.

        Raises:
            ScopeError: If the filter matches everything, or the backend cannot answer it.

        Example:
            >>> from vecstore import Document, F, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> ours = store.scoped(F.tenant == "ours")
            >>> ours.add([Document("one", id="1", embedding=[1, 0])])
            ['1']
            >>> store.get()
            [Document('one', {'tenant': 'ours'}, id='1')]
            >>> store.scoped(F.tenant == "theirs").count("tenant == 'ours' OR n IS NULL")
            0
        """
        from vecstore.scoped import ScopedStore

        self._check_open()
        return ScopedStore(self, scope)

    if not TYPE_CHECKING:  # a type checker would believe that there is every attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Only what Python has not found: perhaps another library's name for something here."""
            raise unknown_method(self, name)

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        from vecstore.pickling import reduced

        return reduced(self)

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<{type(self).__name__} metric={self.metric} dimension={self.dimension}{state}>"

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> VectorStore:
        """Open a store for :func:`vecstore.open_store`.

        Args:
            url: The address, taken apart.
            embedder: For the store.
            **options: What the caller passed to ``open_store``; they go before the URL's own.
        """
        raise ConfigurationError(f"{cls.__name__} cannot be opened by a URL")
