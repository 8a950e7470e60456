"""The base of every store: the public methods, and the hooks that a backend fills in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

from vecstore.calls import (
    AddCall,
    Batch,
    Call,
    ClearCall,
    CountCall,
    DeleteCall,
    GetCall,
    Progress,
    ScanCall,
    SearchCall,
    Selection,
    UpdateMetadataCall,
)
from vecstore.capabilities import Metric, OnConflict, StoreCapabilities
from vecstore.document import Document
from vecstore.embedding import (
    BatchingStrategy,
    BoundEmbedder,
    CountBatching,
    EmbedderInput,
    TextToEmbed,
    check_dimension,
)
from vecstore.errors import (
    ConfigurationError,
    DimensionMismatchError,
    EmbeddingError,
    StoreClosedError,
)
from vecstore.filter.ast import Expression
from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplify
from vecstore.request import FilterInput, SearchRequest, read_filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.opening import StoreURL
    from vecstore.vectors import Matrix, Vector

Result = TypeVar("Result")

DELETE_BATCH = 1_000
"""Ids in one call when documents that match a filter are deleted by their ids."""


class VectorStore(ABC):
    """Documents with vectors, searched by similarity and filtered by metadata.

    Every store has these methods, and they mean the same on each. Subclasses write the hooks, whose
    names start with an underscore; see :meth:`_add` and its neighbours.

    Args:
        embedder: Anything with ``embed_documents(texts)`` and ``embed_query(text)``, or a function
            from a list of texts to vectors. Without one, documents bring their embeddings and
            searches their vectors.
        metric: ``"cosine"`` (the default), ``"dot"`` or ``"euclidean"``. Higher scores are better
            with each: cosine similarity, inner product, and minus the distance.
        dimension: Length of the vectors, or None to take it from the first one.
        batching: How texts are cut into calls of the embedder.

    Raises:
        ConfigurationError: If one of these cannot work.
    """

    name: ClassVar[str]
    """What the backend is called in errors and in traces."""

    capabilities: StoreCapabilities
    """What this store promises and where its limits lie; set on the class or on the instance."""

    def __init__(
        self,
        embedder: EmbedderInput | None = None,
        *,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
    ) -> None:
        metrics = self.capabilities.metrics
        if metric not in metrics:
            known = ", ".join(f'"{name}"' for name in sorted(metrics))
            raise ConfigurationError(f"{self.name} has the metrics {known}, not {metric!r}")
        if dimension is not None and (
            isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1
        ):
            raise ConfigurationError(f"dimension is a whole number from 1 on, not {dimension!r}")
        if batching is not None and not isinstance(batching, BatchingStrategy):
            raise ConfigurationError(
                "batching is a BatchingStrategy, such as CountBatching(100) or TokenBatching(), "
                f"not a {type(batching).__name__}"
            )
        self._bound_embedder = None if embedder is None else BoundEmbedder(embedder)
        self._metric: Metric = metric
        self._dimension = dimension
        self._closed = False
        self.batching: BatchingStrategy = CountBatching() if batching is None else batching
        self._check_dimension_limit(dimension)

    # --- what callers use --------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """How vectors are compared."""
        return self._metric

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while it is not known yet."""
        return self._dimension

    @property
    def embedder(self) -> EmbedderInput | None:
        """What turns texts into vectors, as it was given."""
        return None if self._bound_embedder is None else self._bound_embedder.embedder

    @property
    def native(self) -> Any:
        """The backend's own object, for what this interface does not cover."""
        self._check_open()
        return self._native()

    def add(
        self,
        documents: Iterable[Document],
        *,
        on_conflict: OnConflict = "replace",
        progress: Progress | None = None,
    ) -> list[str]:
        """Store documents; those without an embedding are embedded.

        Ids, texts, metadata and given vectors of the whole call are checked before the first
        write; of documents with one id the last is stored. Embedding and writing go on batch by
        batch. An iterator is taken in windows of 1,024, each checked as a whole.

        Args:
            documents: The documents.
            on_conflict: What to do about an id that is stored already: ``"replace"`` the whole
                document, ``"skip"`` it, or raise an ``"error"``.
            progress: Called after each batch with the documents done so far and their number
                (None for an iterator).

        Returns:
            The id of each document given, in order.

        Raises:
            DocumentError: If a document cannot be stored as it is; nothing was written.
            DimensionMismatchError: If a vector is not as long as the store's.
            EmbeddingError: If the embedder fails or returns unusable vectors.
            DuplicateDocumentError: With ``on_conflict="error"``.
            BackendError: If the backend fails.

            Each of them carries ``stored_ids`` and ``failed_ids``: of an iterator, the failed are
            those of the window at work.
        """
        return self._execute(AddCall.read(documents, on_conflict, progress))

    @overload
    def search(self, query: SearchRequest, /) -> list[Document]: ...

    @overload
    def search(
        self,
        query: str | None = None,
        *,
        vector: ArrayLike | None = None,
        top_k: int = 4,
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
        threshold: float | None = None,
        filter: FilterInput = None,
        include_embedding: bool = False,
    ) -> list[Document]:
        """The documents most similar to a text or a vector, best first, equal scores by id.

        Args:
            query: The text to look for; or a :class:`SearchRequest`, and nothing else.
            vector: The vector to look for, instead of a text.
            top_k: How many documents to return at most.
            threshold: Leave out documents that score less.
            filter: Which documents to look among: an expression or its text.
            include_embedding: Whether results carry their vectors.

        Returns:
            Documents with their ``score``: higher is better.

        Raises:
            ConfigurationError: For a text query on a store without embedder.
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
            DimensionMismatchError: If the vector is not as long as the store's.
        """
        if isinstance(query, SearchRequest):
            rest = (vector, top_k, threshold, filter, include_embedding)
            if rest != (None, 4, None, None, False):
                raise TypeError("a SearchRequest carries everything; put the rest into it as well")
            return self._execute(SearchCall(request=query))
        return self._execute(
            SearchCall(
                request=SearchRequest(query, vector, top_k, threshold, filter, include_embedding)
            )
        )

    def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        limit: int | None = None,
        include_embedding: bool = False,
    ) -> list[Document]:
        """Read documents without searching; never embeds.

        Args:
            ids: Which ones, in the order wanted; unknown ids are left out, repeated ones repeated.
            filter: Which ones, by metadata. With ``ids`` as well, those of them that match. With
                neither, all documents; for many, see :meth:`scan`.
            limit: How many at most.
            include_embedding: Whether the documents carry their vectors.
        """
        return self._execute(GetCall.read(ids, filter, limit, include_embedding))

    def update_metadata(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        set: Mapping[str, Any] = {},
        unset: Iterable[str] = (),
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
        return self._execute(UpdateMetadataCall.read(ids, filter, set, unset))

    def delete(self, ids: Iterable[str] | None = None, *, filter: FilterInput = None) -> int:
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
        return self._execute(DeleteCall.read(ids, filter))

    def count(self, filter: FilterInput = None) -> int:
        """How many documents there are, or match a filter."""
        return self._execute(CountCall(filter=read_filter(filter)))

    def scan(
        self,
        filter: FilterInput = None,
        *,
        batch_size: int = 256,
        include_embedding: bool = False,
    ) -> Iterator[Document]:
        """All documents, or those that match a filter, one by one and in no particular order.

        Args:
            filter: Which ones.
            batch_size: How many are read from the backend at a time.
            include_embedding: Whether the documents carry their vectors.
        """
        return self._execute(ScanCall.read(filter, batch_size, include_embedding))

    def clear(self) -> None:
        """Delete every document."""
        self._execute(ClearCall())

    def close(self) -> None:
        """Give back what the store holds; every later call raises :class:`StoreClosedError`.

        Closing twice does nothing. When closing fails, the store stays open.
        """
        if not self._closed:
            self._close()
            self._closed = True

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<{type(self).__name__} metric={self._metric} dimension={self.dimension}{state}>"

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

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Any:
        """Turn a filter into what the other hooks want; called once a call, before anything else.

        A store with a dialect returns its :class:`~vecstore.Compiled` here, so that a filter that
        cannot be answered is refused before the embedder or the engine is asked. By default the
        other hooks get the expression itself.
        """
        return filter

    def _check_documents(self, documents: Sequence[Any]) -> None:
        """Refuse documents for reasons of the backend's own, before the first write.

        Limits in :attr:`capabilities` have been checked. Each item has ``id``, ``text`` and
        ``metadata``, whose dict may be replaced but not changed.

        Raises:
            DocumentError: Naming document and key.
        """
        return

    @abstractmethod
    def _add(self, batch: Batch) -> Iterable[str]:
        """Write a batch, in one step where the engine can.

        Ids are distinct, metadata normalised, vectors a float32 matrix of finite numbers, of the
        store's dimension where that is known, and without a row of zeros under cosine. There are
        at most ``capabilities.max_batch`` rows and at least one.

        Returns:
            The ids that were written: all of them, or with ``"skip"`` those that were free.

        Raises:
            DuplicateDocumentError: With ``"error"``, when an id is stored already; nothing of the
                batch is written then.
            BackendError: When the engine fails. ``stored_ids`` names what got through, if some did.
        """

    @abstractmethod
    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        """The ``top_k`` documents nearest to ``vector`` among those that match ``filter``.

        Their order does not matter. Make them with
        :func:`~vecstore.document.stored_document`, ``score`` set: cosine similarity, inner
        product, or minus the euclidean distance. ``filter`` is what :meth:`_compile_filter`
        returned, or None.
        """

    @abstractmethod
    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        """Documents of a selection, in any order, at most ``limit``.

        With ``selection.ids`` given there are at most ``capabilities.max_batch`` of them, and
        ``limit`` is None.
        """

    @abstractmethod
    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterable[Document]:
        """All documents that match, read ``batch_size`` at a time; no document twice."""

    @abstractmethod
    def _delete(self, selection: Selection) -> int:
        """Delete a selection, whose ``ids`` are always given; return how many there were."""

    @abstractmethod
    def _clear(self) -> None:
        """Delete every document."""

    def _delete_filtered(self, filter: Any) -> int:
        """Delete what matches a filter; by default by scanning, then deleting by ids."""
        size = self.capabilities.max_batch or DELETE_BATCH
        ids = [
            document.id for document in self._scan(filter, batch_size=size, include_embedding=False)
        ]
        return sum(self._delete(Selection(ids=part)) for part in _id_parts(tuple(ids), size))

    def _count(self, filter: Any) -> int:
        """How many documents match; by default by scanning."""
        return sum(1 for _ in self._scan(filter, batch_size=1_000, include_embedding=False))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """Change metadata of a selection and return its size.

        ``set`` and ``unset`` hold keys at the top of metadata, normalised and distinct. By default
        the documents are read and written again, which is right only for a store that gives
        vectors back as they were, and not safe against a writer in between.
        """
        import numpy as np

        size = self.capabilities.max_batch or DELETE_BATCH
        if selection.ids is None:
            found = list(self._scan(selection.filter, batch_size=size, include_embedding=True))
        else:
            found = list(self._get(selection, limit=None, include_embedding=True))
        for start in range(0, len(found), size):
            part = found[start : start + size]
            self._add(
                Batch(
                    ids=[document.id for document in part],
                    texts=[document.text for document in part],
                    metadata=[changed(document.metadata, set, unset) for document in part],
                    vectors=np.array([document.embedding for document in part], dtype=np.float32),
                )
            )
        return len(found)

    def _close(self) -> None:
        """Give back connections and files; called once."""
        return

    def _native(self) -> Any:
        """What :attr:`native` returns."""
        raise ConfigurationError(f"{type(self).__name__} stands on no object of another library")

    # --- the one path ------------------------------------------------------------------------

    def _execute(self, call: Call[Result]) -> Result:
        """Run one operation. Every public method ends here, and nothing else calls a hook."""
        self._check_open()
        return call.perform(self)

    def _perform_add(self, call: AddCall) -> list[str]:
        from vecstore.ingest import Ingest

        return Ingest(self, call).run()

    def _perform_search(self, call: SearchCall) -> list[Document]:
        request = call.request
        limit = self.capabilities.max_top_k
        if limit is not None and request.top_k > limit:
            raise ValueError(
                f"{self.name} returns at most {limit:,} documents of a search (max_top_k), not "
                f"{request.top_k:,}; to read many documents, see scan()"
            )
        if request.query is not None and self._bound_embedder is None:
            raise ConfigurationError(
                "this store has no embedder to turn the query text into a vector; make the store "
                "with embedder=..., or search with vector=[...]"
            )
        if request.vector is not None:
            self._check_query(request.vector, ValueError)
        matches, filter = self._compiled(call.filter)
        if not matches or not request.top_k:
            return []
        vector = request.vector
        if vector is None:
            assert request.query is not None
            vector = self._embed_query(request.query)
            self._check_query(vector, EmbeddingError)
        found = self._search(
            vector,  # type: ignore[arg-type]
            top_k=request.top_k,
            filter=filter,
            include_embedding=request.include_embedding,
        )
        return ranked(found, request.threshold)[: request.top_k]

    def _perform_get(self, call: GetCall) -> list[Document]:
        matches, filter = self._compiled(call.filter)
        if not matches or call.limit == 0 or (call.ids is not None and not call.ids):
            return []
        if call.ids is None:
            found = self._get(
                Selection(filter=filter),
                limit=call.limit,
                include_embedding=call.include_embedding,
            )
            return list(islice(found, call.limit))
        by_id: dict[str, Document] = {}
        for ids in self._parts(call.ids):
            for document in self._get(
                Selection(ids=ids, filter=filter),
                limit=None,
                include_embedding=call.include_embedding,
            ):
                by_id[document.id] = document
        return [by_id[id] for id in call.ids if id in by_id][: call.limit]

    def _perform_update_metadata(self, call: UpdateMetadataCall) -> int:
        from vecstore.ingest import RecordLimits

        limits = RecordLimits(self.name, self.capabilities)
        limits.check_integers(call.set, None)
        kept = limits.kept(call.set)
        # A null that the engine does not keep is the same as the key's absence.
        unset = (*call.unset, *[name for name in call.set if name not in kept])
        matches, filter = self._compiled(call.filter)
        if not matches:
            return 0
        if call.ids is None:
            return self._update_metadata(Selection(filter=filter), set=kept, unset=unset)
        return sum(
            self._update_metadata(Selection(ids=ids, filter=filter), set=kept, unset=unset)
            for ids in self._parts(call.ids)
        )

    def _perform_delete(self, call: DeleteCall) -> int:
        matches, filter = self._compiled(call.filter)
        if not matches:
            return 0
        if call.ids is None:
            if filter is None:
                raise ValueError(
                    f"on {self.name} this filter matches every document; to delete every document "
                    "write clear()"
                )
            return self._delete_filtered(filter)
        return sum(self._delete(Selection(ids=ids, filter=filter)) for ids in self._parts(call.ids))

    def _perform_count(self, call: CountCall) -> int:
        matches, filter = self._compiled(call.filter)
        return self._count(filter) if matches else 0

    def _perform_scan(self, call: ScanCall) -> Iterator[Document]:
        matches, filter = self._compiled(call.filter)
        if not matches:
            return iter(())
        return self._scanned(
            self._scan(filter, batch_size=call.batch_size, include_embedding=call.include_embedding)
        )

    def _scanned(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self._check_open()
            yield document

    def _perform_clear(self, call: ClearCall) -> None:
        self._clear()

    # --- shared steps ------------------------------------------------------------------------

    def _compiled(self, filter: Expression | None) -> tuple[bool, Any]:
        """Whether the filter can match at all, and what it becomes (None: no filter)."""
        if filter is None:
            return True, None
        constant = simplify(filter)
        if isinstance(constant, bool):
            return constant, None
        compiled = self._compile_filter(filter)
        if isinstance(compiled, Compiled):
            if compiled.matches_nothing:
                return False, None
            if compiled.matches_all:
                return True, None
        return True, compiled

    def _embed_documents(self, documents: Sequence[TextToEmbed], dimension: int | None) -> Matrix:
        """The vectors of a batch; the only way to the embedder besides :meth:`_embed_query`."""
        assert self._bound_embedder is not None
        return self._bound_embedder.documents(documents, dimension)

    def _embed_query(self, query: str) -> Vector:
        assert self._bound_embedder is not None
        return self._bound_embedder.query(query)

    def _check_query(self, vector: Any, error: type[Exception]) -> None:
        check_dimension(len(vector), self.dimension, "the query")
        if self.metric == "cosine" and not vector.any():
            raise error(
                "the query vector is all zeros: cosine similarity compares directions, and it has "
                "none"
            )

    def _check_dimension_limit(self, dimension: int | None) -> None:
        limit = self.capabilities.max_dimension
        if dimension is not None and limit is not None and dimension > limit:
            raise DimensionMismatchError(
                f"{self.name} holds vectors of at most {limit:,} dimensions (max_dimension), not "
                f"{dimension:,}",
                expected=limit,
                actual=dimension,
            )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError(
                f"this {type(self).__name__} is closed; open it again, or keep it open longer: "
                "with open_store(...) as store: ..."
            )

    def _parts(self, ids: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Distinct ids, in parts that one call to the engine carries."""
        return _id_parts(tuple(dict.fromkeys(ids)), self.capabilities.max_batch)


def ranked(documents: Iterable[Document], threshold: float | None) -> list[Document]:
    """Best first, equal scores by id, without those below the threshold."""
    kept = [
        document
        for document in documents
        if threshold is None or (document.score is not None and document.score >= threshold)
    ]
    kept.sort(key=lambda document: (-(document.score or 0.0), document.id))
    return kept


def changed(
    metadata: Mapping[str, Any], set: Mapping[str, Any], unset: Iterable[str]
) -> dict[str, Any]:
    """Metadata after ``update_metadata``: a new dict, the old one untouched."""
    result = {**metadata, **set}
    for name in unset:
        result.pop(name, None)
    return result


def _id_parts(ids: tuple[str, ...], size: int | None) -> Iterator[tuple[str, ...]]:
    step = size or max(1, len(ids))
    for start in range(0, len(ids), step):
        yield ids[start : start + step]
