"""Every store: its public methods, the one path from them to the hooks, and views of a store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from vecstore import process
from vecstore.cancelling import check_stop
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
    FilterError,
    ScopeError,
    UnsupportedFilterError,
)
from vecstore.filter.builder import Field
from vecstore.filter.convert import Compiled, check_own_names
from vecstore.filter.cost import AS_DECLARED, MaxCost, check_cost, read_max_cost
from vecstore.filter.normalize import simplified
from vecstore.filter.residual import PartialCompiled
from vecstore.filter.serial import without_origin
from vecstore.filter.tautology import matches_everything
from vecstore.filter.tree import Expression, FilterInput
from vecstore.filter.values import shown
from vecstore.spellings import NoOptions, StoreType, unknown_keyword, unknown_method
from vecstore.store.added import Added
from vecstore.store.arguments import (
    Evaluation,
    KeyInput,
    Residual,
    SearchOptions,
    SearchRequest,
    read_filter,
)
from vecstore.store.backend import StoreHooks, id_parts
from vecstore.store.capabilities import Metric, OnConflict, OnError, StoreCapabilities
from vecstore.store.embedded import EmbedAs, read_embed_as
from vecstore.store.guard import GuardedHooks
from vecstore.store.observing import (
    Observer,
    observed,
    observed_embedding,
    read_observers,
)
from vecstore.store.operations import (
    AddCall,
    Call,
    ClearCall,
    CountCall,
    DeleteCall,
    ExplainCall,
    GetCall,
    Progress,
    ScanCall,
    UpdateMetadataCall,
)
from vecstore.store.options import (
    ASYNC_THREADS,
    RESIDUAL_LIMIT,
    read_residual,
    read_residual_limit,
    read_schema,
    read_threads,
)
from vecstore.store.ordering import Page, PageCall
from vecstore.store.ranking import relevance
from vecstore.store.residual import Explanation, answered_in_part, evaluated_again
from vecstore.store.scope import Recent, Scope, ScopeInput, asked, constant, failed
from vecstore.store.searching import EmbedQueryCall, SearchCall, SearchManyCall
from vecstore.store.statistics import (
    MAX_FIELDS,
    MAX_VALUES,
    DistinctCall,
    DistinctValues,
    FieldInfo,
    FieldsCall,
    MinMax,
    MinMaxCall,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.schema import Schema
    from vecstore.store.aio import AsyncVectorStore
    from vecstore.store.url import StoreURL
    from vecstore.vectors import LengthLimits, Matrix, Vector

Result = TypeVar("Result")


class Origin(Protocol):
    """What opened a store, and can tell another process how to."""

    def reduced(self, store: VectorStore, /) -> tuple[Any, ...]:
        """What ``__reduce__`` of the store returns."""


class VectorStore(GuardedHooks, metaclass=StoreType):
    """Documents with vectors, searched by similarity and filtered by metadata.

    Every store has these methods, and they mean the same on each. A backend subclasses this and
    writes the hooks of :mod:`vecstore.store.backend`.

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
        schema: What the keys of metadata hold, a :class:`~vecstore.Schema`: filters are checked
            against it before the backend is asked, and documents when they are added or changed.
        residual: What becomes of a filter that the engine answers in part: ``"refuse"`` it, or
            ``"evaluate"`` the rest of it on what the engine finds. Each call may say otherwise.
        residual_limit: How many documents a call looks at for that at most; past it, it raises an
            error that says what it cost so far. None lifts the limit.
        embed_as: What is embedded of a document in place of its text, which is stored as it is: a
            function from the document to a text, such as ``ContentFormatter().for_embedding``. It
            gets the document as it will be stored, and is not asked about documents that bring
            their embeddings, nor about queries.

    Raises:
        ConfigurationError: If one of these cannot work.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {*vars(VectorStore), *vars(GuardedHooks)}
        check_own_names(cls, sorted(own - vars(StoreHooks).keys()))

    _origin: Origin | None = None
    """What opened the store, if it was ``open_store``: as that, it gets into other processes."""

    def __init__(
        self,
        embedder: EmbedderInput | None = None,
        *,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        async_threads: int = ASYNC_THREADS,
        observers: Iterable[Observer] = (),
        observe_content: bool = False,
        max_cost: int | None | MaxCost = AS_DECLARED,
        schema: Schema | None = None,
        residual: Residual = "refuse",
        residual_limit: int | None = RESIDUAL_LIMIT,
        embed_as: EmbedAs | None = None,
        **unknown: Unpack[NoOptions],
    ) -> None:
        if unknown:
            raise unknown_keyword("store", unknown, type(self).__name__)
        metrics = self.capabilities.metrics
        if not isinstance(metric, str) or metric not in metrics:
            known = ", ".join(f'"{name}"' for name in sorted(metrics))
            raise ConfigurationError(f"{self.name} has the metrics {known}, not {shown(metric)}")
        if dimension is not None and (
            isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1
        ):
            raise ConfigurationError(
                f"dimension is a whole number from 1 on, not {shown(dimension)}"
            )
        if batching is not None and not isinstance(batching, BatchingStrategy):
            raise ConfigurationError(
                "batching is a BatchingStrategy, such as CountBatching(100) or TokenBatching(), "
                f"not a {type(batching).__name__}"
            )
        self._bound_embedder = None if embedder is None else BoundEmbedder(embedder)
        self._metric: Metric = metric
        self._dimension = dimension
        self._make_guard()
        self._pid = process.pid
        self.batching: BatchingStrategy = CountBatching() if batching is None else batching
        self._set_up(
            async_threads,
            observers,
            observe_content,
            max_cost,
            schema,
            residual,
            residual_limit,
            embed_as,
        )
        self._check_dimension_limit(dimension)

    def _set_up(
        self,
        async_threads: int = ASYNC_THREADS,
        observers: Iterable[Observer] = (),
        observe_content: bool = False,
        max_cost: int | None | MaxCost = AS_DECLARED,
        schema: Schema | None = None,
        residual: Residual = "refuse",
        residual_limit: int | None = RESIDUAL_LIMIT,
        embed_as: EmbedAs | None = None,
    ) -> None:
        """Take the options that concern no backend."""
        self.async_threads = read_threads(async_threads)
        self._listeners = read_observers(observers, observe_content)
        self._observe_content = observe_content
        self._max_cost = read_max_cost(max_cost)
        self._schema = read_schema(schema)
        self._residual = read_residual(residual)
        self._residual_limit = read_residual_limit(residual_limit)
        self._embed_as = read_embed_as(embed_as)
        self._told_shapes: set[int] = set()
        self._parted: Recent[Expression, PartialCompiled] | None = None

    @property
    def metric(self) -> Metric:
        """How vectors are compared."""
        return self._metric

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while it is not known yet."""
        return self._dimension

    def _settle(self, *, metric: Metric | None = None, dimension: int | None = None) -> None:
        """Note what the table or collection of this store is made with.

        For a store's own ``__init__`` and hooks: when they find a place that exists, and when the
        first batch settles the dimension.

        Args:
            metric: How vectors are compared there; None leaves it as it is.
            dimension: Length of the vectors there; None leaves it as it is.
        """
        if metric is not None:
            self._metric = metric
        if dimension is not None:
            self._dimension = dimension

    @property
    def max_cost(self) -> int | None:
        """What a filter that comes as text or dict may cost at most; None for no limit."""
        declared = isinstance(self._max_cost, MaxCost)
        return self.capabilities.max_cost if declared else self._max_cost  # type: ignore[return-value]

    @property
    def schema(self) -> Schema | None:
        """What the keys of metadata hold; None where that is not declared."""
        return self._schema

    @property
    def residual(self) -> Residual:
        """What becomes of a filter that the engine answers in part, where a call says nothing."""
        return self._residual

    @property
    def residual_limit(self) -> int | None:
        """How many documents a call looks at, for what the engine cannot answer; None for any."""
        return self._residual_limit

    @property
    def embedder(self) -> EmbedderInput | None:
        """What turns texts into vectors, as it was given."""
        return None if self._bound_embedder is None else self._bound_embedder.embedder

    @property
    def embed_as(self) -> EmbedAs | None:
        """What makes the text that is embedded of a document; None where that is its own."""
        return self._embed_as

    @property
    def native(self) -> Any:
        """The backend's own object, for what this interface does not cover."""
        self._check_open()
        return self._ask("native", self._native)

    @property
    def aio(self) -> AsyncVectorStore:
        """The same methods, to be awaited: ``await store.aio.search("query")``."""
        from vecstore.store.aio import AsyncVectorStore

        return AsyncVectorStore(self)

    def add(
        self,
        documents: Iterable[Document],
        *,
        on_conflict: OnConflict = "replace",
        on_error: OnError = "raise",
        embed: bool = True,
        progress: Progress | None = None,
        **unknown: Unpack[NoOptions],
    ) -> Added:
        """Store documents; those without an embedding are embedded, or kept without a vector.

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
            embed: Whether documents without an embedding are embedded. With False they are stored
                without a vector, on stores that declare ``vectorless``: ``get``, ``scan``,
                ``count``, ``delete``, ``update_metadata`` and statistics find them, and no search
                does. What such a document replaces loses its vector; adding the document once more,
                with an embedding or embedded, makes it searchable. The embedder is not asked.
            progress: Called after each batch with the documents done so far and their number
                (None for an iterator).

        Returns:
            The id of each document given, in order; of those that were left out, none. It is a list
            that also says which were ``written``, ``skipped`` and ``replaced``: see
            :class:`~vecstore.Added`.

        Raises:
            DocumentError: If documents cannot be stored as they are; nothing was written. Its
                ``faulty_ids`` are those of all of them.
            DimensionMismatchError: If a vector is not as long as the store's.
            EmbeddingError: If the embedder fails or returns unusable vectors.
            DuplicateDocumentError: With ``on_conflict="error"``. Only of an iterator, or where
                another writer came in between, may earlier batches have been written.
            BackendError: If the backend fails. Each of these errors carries ``stored_ids`` and
                ``failed_ids``: of an iterator, the failed are those of the window at work.
        """
        if unknown:
            raise unknown_keyword("add", unknown)
        return self._execute(AddCall.read(documents, on_conflict, on_error, embed, progress))

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
        ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        diversity: float | None = None,
        fetch_k: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
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
        ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        diversity: float | None = None,
        fetch_k: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
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
            ids: Among which documents to look; ids that no document has are passed over, and an
                empty list finds nothing.
            exclude_ids: Documents that are left out, also of ``ids``; as many others are found in
                their place.
            diversity: From 0, by the score alone, which is the default, to 1, as unlike each other
                as can be: maximal marginal relevance. The best document comes first; each next one
                has the highest ``(1 - diversity) * score - diversity * closest``, where ``closest``
                is its score against the nearest of those before it. Equal values go by id.
            fetch_k: Of how many of the best documents diverse ones are chosen, ``offset`` and
                ``threshold`` included; by default five times ``top_k``, and 20 at least.
            include_embedding: Whether results carry their vectors.
            residual: ``"evaluate"`` what the engine cannot answer of the filter, on what it finds,
                or ``"refuse"`` the filter. By default as the store was made.
            residual_limit: How many documents to look at for that at most; by default as the store
                was made.

        Returns:
            Documents with their ``score``: higher is better.

        Raises:
            ConfigurationError: For a text query on a store without embedder.
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
            FilterLimitError: If evaluating the filter looks at more than ``residual_limit``
                documents.
            DimensionMismatchError: If the vector is not as long as the store's.
        """
        if unknown:
            raise unknown_keyword("search", unknown)
        options = SearchOptions(
            top_k,
            threshold,
            filter,
            include_embedding,
            offset,
            residual,
            residual_limit,
            diversity,
            fetch_k,
            ids,
            exclude_ids,
        )
        return self._execute(SearchCall.read(query, vector, options))

    def search_many(
        self,
        queries: Iterable[str | SearchRequest] | None = None,
        *,
        vectors: Iterable[ArrayLike] | None = None,
        top_k: int = 4,
        offset: int = 0,
        threshold: float | None = None,
        filter: FilterInput = None,
        ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        diversity: float | None = None,
        fetch_k: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[list[Document]]:
        """Several searches in one call: what :meth:`search` returns for each, in order.

        Stores whose engine takes several queries at once answer them faster; an embedder that is
        a function is called once for up to 256 texts.

        Args:
            queries: Texts to look for, or a :class:`SearchRequest` for each, which carries
                everything.
            vectors: Vectors to look for, instead of texts: a matrix, one a row, or a list.
            top_k: How many documents to return at most, for each; see :meth:`search`, as for the
                other arguments.
            offset: How many of the best documents to pass over.
            threshold: Leave out documents that score less.
            filter: Which documents to look among.
            ids: See :meth:`search`.
            exclude_ids: See :meth:`search`.
            diversity: See :meth:`search`.
            fetch_k: See :meth:`search`.
            include_embedding: Whether results carry their vectors.
            residual: See :meth:`search`.
            residual_limit: How many documents to look at, for each query.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> ids = store.add(
            ...     [
            ...         Document("x", id="x", embedding=[1, 0]),
            ...         Document("y", id="y", embedding=[0, 1]),
            ...     ]
            ... )
            >>> [
            ...     [one.id for one in found]
            ...     for found in store.search_many(vectors=[[1, 0.1], [0.1, 1]], top_k=1)
            ... ]
            [['x'], ['y']]
        """
        if unknown:
            raise unknown_keyword("search_many", unknown)
        options = SearchOptions(
            top_k,
            threshold,
            filter,
            include_embedding,
            offset,
            residual,
            residual_limit,
            diversity,
            fetch_k,
            ids,
            exclude_ids,
        )
        return self._execute(SearchManyCall.read(queries, vectors, options))

    def embed_query(self, text: str) -> Vector:
        """The vector of a query text, as :meth:`search` gets it of the store's embedder.

        For those who search several times with one text, or elsewhere: ``search(vector=...)`` with
        it finds what ``search(text)`` finds.

        Args:
            text: The text.

        Returns:
            A read-only float32 array of the store's dimension.

        Raises:
            TypeError: If it is no text.
            ValueError: If it is blank.
            ConfigurationError: On a store without embedder.
            EmbeddingError: If the embedder fails, or gives a vector that cannot be searched with.
            DimensionMismatchError: If the vector is not as long as the store's.

        Example:
            >>> from vecstore import SimpleVectorStore
            >>> SimpleVectorStore(lambda texts: [[len(text), 1] for text in texts]).embed_query(
            ...     "abc"
            ... )
            array([3., 1.], dtype=float32)
        """
        return self._execute(EmbedQueryCall.read(text))

    def relevance(self, score: float) -> float:
        """A score of this store as a number from 0 to 1; see :func:`vecstore.relevance`.

        Example:
            >>> from vecstore import SimpleVectorStore
            >>> SimpleVectorStore().relevance(0.5), SimpleVectorStore(metric="dot").relevance(1.0)
            (0.75, 0.75)
        """
        return relevance(score, self.metric)

    @overload
    def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        order_by: None = None,
        after: None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> list[Document]: ...

    @overload
    def get(
        self,
        ids: None = None,
        *,
        filter: FilterInput = None,
        order_by: str,
        after: str | None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> Page: ...

    def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        order_by: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[Document]:
        """Read documents without searching; never embeds.

        Args:
            ids: Which ones, in the order wanted; unknown ids are left out, repeated ones repeated.
            filter: Which ones, by metadata. With ``ids`` as well, those of them that match. With
                neither, all documents; for many, see :meth:`scan`.
            order_by: A key as a filter writes it, for documents in the order of what they hold
                there; ``"id"`` for the order of ids (a key of that name is ``'"id"'``); with a
                ``-`` before it, the last first. Values stand in the order false, true, numbers,
                texts by code point, equal ones by id. Documents without a value that has an order
                (absent, a list, an object) come last, in both directions. Not with ``ids``.
            after: With ``order_by``: ``.next`` of the page before. What is written meanwhile moves
                no other document to another page.
            limit: How many at most.
            include_embedding: Whether the documents carry their vectors.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Returns:
            The documents; with ``order_by`` as a :class:`~vecstore.Page`, a list that knows in
            ``next`` where the next page begins.

        Raises:
            ValueError: For an ``after`` that is none, or one of another order.
        """
        if unknown:
            raise unknown_keyword("get", unknown)
        if order_by is not None or after is not None:
            return self._execute(
                PageCall.read(
                    ids,
                    filter,
                    order_by,
                    after,
                    limit,
                    include_embedding,
                    residual,
                    residual_limit,
                )
            )
        return self._execute(
            GetCall.read(ids, filter, limit, include_embedding, residual, residual_limit)
        )

    def update_metadata(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        set: Mapping[str, Any] = {},
        unset: Iterable[str] = (),
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int:
        """Change keys at the top of metadata; texts and vectors stay. Never embeds.

        A filter that the engine answers in part, with ``residual="evaluate"``, is never sent in a
        wider form: documents are read and judged, and changed by their ids, part by part. Each is
        judged once more in the step that changes it, on PostgreSQL (whose rows are locked), in
        memory, and on engines inside this process. On servers without transactions, such as Qdrant
        and Milvus, another writer may change a document in between.

        Args:
            ids: Which documents; unknown ids are passed over.
            filter: Which documents, by metadata; with ``ids`` as well, those of them that match.
            set: New values by key. A key is a name at the top, dots included; an object replaces
                the whole object that was there.
            unset: Keys to remove.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Returns:
            How many documents were selected.
        """
        if unknown:
            raise unknown_keyword("update_metadata", unknown)
        return self._execute(
            UpdateMetadataCall.read(ids, filter, set, unset, residual, residual_limit)
        )

    @overload
    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: Literal[False] = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int: ...

    @overload
    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: Literal[True],
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[str]: ...

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int | list[str]:
        """Delete documents.

        A filter that the engine answers in part is never sent in a wider form; see
        :meth:`update_metadata`. What stops half-way names in ``failed_ids`` what is left.

        Args:
            ids: Which ones; unknown ids are passed over, an empty list deletes nothing.
            filter: Which ones, by metadata; with ``ids`` as well, those of them that match.
            return_ids: Whether to say which documents were deleted, and not only how many.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Returns:
            How many documents were deleted; or the ids of these, in the order of ``ids`` where
            those are given.

        Raises:
            ValueError: Without ids and filter, and for a filter that matches everything: that is
                what :meth:`clear` is for.
        """
        if unknown:
            raise unknown_keyword("delete", unknown)
        return self._execute(DeleteCall.read(ids, filter, return_ids, residual, residual_limit))

    def count(
        self,
        filter: FilterInput = None,
        *,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int:
        """How many documents there are, or match a filter.

        Args:
            filter: Which ones.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.
        """
        if unknown:
            raise unknown_keyword("count", unknown)
        return self._execute(CountCall.read(filter, residual, residual_limit))

    def fields(
        self,
        filter: FilterInput = None,
        *,
        max_fields: int | None = MAX_FIELDS,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> dict[str, FieldInfo]:
        """Which keys documents have, and how many hold what under each.

        The metadata of every document that matches is read for it, no text and no vector.

        Args:
            filter: Which documents to look at.
            max_fields: How many keys there may be; None lifts the limit.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Returns:
            What there is to say of each key, by the key as a filter writes it. Keys inside objects
            are paths, and their objects are keys, too. A key under which there is null or an
            empty list alone is none.

        Raises:
            FilterLimitError: If there are more keys than ``max_fields``.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> ids = store.add(
            ...     [
            ...         Document("a", {"year": 2020, "by": {"name": "Ada"}}, embedding=[1]),
            ...         Document("b", {"year": "2021", "tags": ["x"]}, embedding=[2]),
            ...     ]
            ... )
            >>> for key, info in store.fields().items():
            ...     print(key, info.kinds)
            by {'object': 1}
            by.name {'str': 1}
            tags {'list[str]': 1}
            year {'int': 1, 'str': 1}
        """
        if unknown:
            raise unknown_keyword("fields", unknown)
        return self._execute(FieldsCall.read(filter, max_fields, residual, residual_limit))

    def distinct(
        self,
        key: KeyInput,
        filter: FilterInput = None,
        *,
        limit: int | None = None,
        max_values: int | None = MAX_VALUES,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> DistinctValues:
        """The values under a key, and how many documents hold each: those of most first.

        A value's count is that of ``key == value``: a list counts for each of its elements, 1 and
        1.0 are one value, and True is another. Objects have no values; the keys inside them do.

        Args:
            key: The key, as a filter writes it (``"author.name"`` is a path), as a list of names,
                or as ``F.author.name``.
            filter: Which documents to look at.
            limit: How many values to return at most, of equal counts those that come first.
            max_values: How many there may be; None lifts the limit. All are held in memory.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Raises:
            FilterLimitError: If there are more values than ``max_values``.
            ValueError: If no metadata can have the key.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> tags = [["x"], ["x", "y"], "y", "x", None]
            >>> ids = store.add([Document("a", {"tag": tag}, embedding=[1]) for tag in tags])
            >>> [(one.value, one.count) for one in store.distinct("tag")]
            [('x', 3), ('y', 2)]
        """
        if unknown:
            raise unknown_keyword("distinct", unknown)
        return self._execute(
            DistinctCall.read(key, filter, limit, max_values, residual, residual_limit)
        )

    def minmax(
        self,
        key: KeyInput,
        filter: FilterInput = None,
        *,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> MinMax:
        """The smallest and the largest value under a key.

        They are those of the orderings of filters: of numbers, and of texts by code point, each
        for themselves. Lists, bools and objects cannot be ordered, and have no part in it.

        Args:
            key: The key; see :meth:`distinct`.
            filter: Which documents to look at.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Raises:
            ValueError: If no metadata can have the key.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> years = [2020, 1999.5, 2024]
            >>> ids = store.add([Document("a", {"year": year}, embedding=[1]) for year in years])
            >>> bounds = store.minmax("year")
            >>> bounds.min, bounds.max
            (1999.5, 2024)
        """
        if unknown:
            raise unknown_keyword("minmax", unknown)
        return self._execute(MinMaxCall.read(key, filter, residual, residual_limit))

    def explain(self, filter: FilterInput = None, **unknown: Unpack[NoOptions]) -> Explanation:
        """Who would answer what of a filter, and how many documents vecstore would look at.

        It says so of a filter that the engine answers in part, whether or not the store evaluates
        the rest. Documents are counted where the engine counts them, and none is read.

        Args:
            filter: The filter.

        Example:
            >>> from vecstore import SimpleVectorStore
            >>> str(SimpleVectorStore().explain("title > 'M'"))
            'memory answers the whole filter'
        """
        if unknown:
            raise unknown_keyword("explain", unknown)
        return self._execute(ExplainCall.read(filter))

    def scan(
        self,
        filter: FilterInput = None,
        *,
        batch_size: int = 256,
        text: bool = True,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> Iterator[Document]:
        """All documents, or those that match a filter, one by one and in no particular order.

        Args:
            filter: Which ones.
            batch_size: How many are read from the backend at a time.
            text: Whether the documents carry their texts. Without, ``text`` is ``""``, and the
                engine sends none where it can leave them out. Such documents are for reading:
                adding one to a store puts the empty text in the place of its own.
            include_embedding: Whether the documents carry their vectors.
            residual: See :meth:`search`.
            residual_limit: See :meth:`search`.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> _ = store.add([Document("Long", {"year": 2020}, id="a", embedding=[1.0, 0.0])])
            >>> list(store.scan(text=False))
            [Document('', {'year': 2020}, id='a')]
        """
        if unknown:
            raise unknown_keyword("scan", unknown)
        return self._execute(
            ScanCall.read(filter, batch_size, text, include_embedding, residual, residual_limit)
        )

    def clear(self) -> int:
        """Delete every document.

        Returns:
            How many there were; where the engine does not say (all but PostgreSQL and the store in
            memory), as many as there were just before.
        """
        return self._execute(ClearCall())

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
        if self._origin is None:
            raise TypeError(
                f"this {type(self).__name__} was not made by open_store, so that nothing says how "
                "to open it again; a store goes to another process as its address: open it by its "
                "address, or make it in the worker, with open_store(url, embedder=...) at the "
                "worker's start"
            )
        return self._origin.reduced(self)

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

    # --- from a checked call to the hooks -----------------------------------------------------

    def _execute(self, call: Call[Result]) -> Result:
        """Run one operation. Every public method ends here, and nothing else calls a hook."""
        if self._root._is_observed():
            return observed(self, call, partial(self._run, call))
        return self._run(call)

    def _run(self, call: Call[Result]) -> Result:
        self._check_open()
        return call.run(self)

    def _is_observed(self) -> bool:
        """Whether somebody may be listening; without, a call pays for nothing else."""
        modules = sys.modules
        return (
            bool(self._listeners)
            or "opentelemetry.trace" in modules
            or "opentelemetry.metrics" in modules
        )

    @property
    def _root(self) -> VectorStore:
        """The store that has the engine: this one, unless it is a view."""
        return self

    def _entered(self) -> VectorStore:
        """This store with whatever depends on the caller's context settled."""
        return self

    def _compiled(
        self,
        operation: str,
        filter: Expression | None,
        within: Scope | None = None,
        evaluation: Evaluation | None = None,
    ) -> tuple[bool, Any]:
        """Whether the filter can match at all, and what it becomes (None: no filter).

        A scope is joined to the filter as a tree, so that no way of writing one leads outside.
        With ``evaluation`` one that is answered in part may become an ``Evaluating`` instead.
        """
        given = filter
        if filter is None and within is None:
            return True, None
        if filter is not None:
            if self.schema is not None:
                self.schema.check(filter)
            # The scope is the program's own; what a stranger adds to it is counted alone.
            most, cost = self.max_cost, filter.kept.cost
            if most is not None and (cost is None or cost > most):
                check_cost(filter, most, self.name)
        if within is not None:
            filter = within.filter if filter is None else within.joined(filter)
        assert filter is not None
        simple = filter.kept.simple  # a search for a tree that is known goes no further for it
        if simple is None:
            simple = simplified(filter)
        if isinstance(simple, bool):
            return simple, None
        if self._parted is not None and evaluation is not None:
            again = evaluated_again(self, operation, filter, evaluation)
            if again is not None:
                return True, again
        try:
            compiled = self._ask(operation, self._compile_filter, filter)
        except UnsupportedFilterError as error:
            if evaluation is None or given is None:
                raise
            around = None if within is None else within.filter
            compiled = answered_in_part(self, operation, filter, evaluation, given, around, error)
        if isinstance(compiled, Compiled):
            if compiled.matches_nothing:
                return False, None
            if compiled.matches_all:
                return True, None
        return True, compiled

    def _matches_all(self, filter: Expression | None, operation: str = "scoped") -> bool:
        """Whether every document matches, as far as the backend can tell without looking."""
        return self._compiled(operation, filter) == (True, None)

    def _is_quick(self, call: Call[Any]) -> bool:
        """Whether a call takes less time than handing it to a thread, and waits for nobody.

        Awaited calls of that kind run where they are awaited. By default none is: a backend that
        is asked over a network, a file or a lock makes the event loop wait.
        """
        return False

    def _embed_documents(self, documents: Sequence[TextToEmbed], dimension: int | None) -> Matrix:
        """The vectors of a batch; the only way to the embedder besides :meth:`_embed_queries`."""
        assert self._bound_embedder is not None
        work = partial(self._bound_embedder.documents, documents, dimension)
        if self._is_observed():
            return observed_embedding(self, len(documents), work)
        return work()

    def _embed_queries(self, queries: list[str]) -> list[Vector]:
        assert self._bound_embedder is not None
        work = partial(self._bound_embedder.queries, queries)
        observing = self._is_observed()
        vectors = observed_embedding(self, len(queries), work) if observing else work()
        for vector in vectors:
            self._check_query(vector, EmbeddingError)
        return vectors

    def _probe(self, vector: Vector) -> Vector:
        """A query's vector as the engine gets it: under cosine only its direction counts."""
        if self.metric == "cosine" and any(self._lengths.faults(vector[None, :])):
            from vecstore.vectors import of_length_one

            return of_length_one(vector)
        return vector

    def _check_query(self, vector: Any, error: type[Exception]) -> None:
        if len(vector) != self.dimension:
            check_dimension(len(vector), self.dimension, "the query")
        if self.metric != "cosine":
            for _, fault in self._lengths.faults(vector[None, :]):
                raise error(f"the query vector {fault}")
        elif not vector.any():
            raise error(
                "the query vector is all zeros: cosine similarity compares directions, and it has "
                "none"
            )

    @property
    def _lengths(self) -> LengthLimits:
        from vecstore.vectors import LengthLimits

        limits = self.capabilities
        return LengthLimits(self.name, limits.min_vector_length, limits.max_vector_length)

    def _check_dimension_limit(self, dimension: int | None) -> None:
        limit = self.capabilities.max_dimension
        if dimension is not None and limit is not None and dimension > limit:
            raise DimensionMismatchError(
                f"{self.name} holds vectors of at most {limit:,} dimensions (max_dimension), not "
                f"{dimension:,}",
                expected=limit,
                actual=dimension,
            )

    def _parts(self, ids: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Distinct ids, in parts that one call to the engine carries."""
        for part in id_parts(tuple(dict.fromkeys(ids)), self.capabilities.max_batch):
            check_stop()
            yield part


def _no_hook(self: ScopedStore, *arguments: object, **options: object) -> NoReturn:
    raise ScopeError("a scoped store has no way to the engine besides its public methods")


class ScopedStore(VectorStore):
    """What :meth:`VectorStore.scoped` returns.

    Each public method makes a call, as on every store; this class adds the scope to the call and
    hands it to the store behind.
    """

    # The hooks would pass by the scope.
    _add = _search = _search_many = _get = _scan = _delete = _clear = cast(Any, _no_hook)
    _search_selected = cast(Any, _no_hook)
    _stored_ids = _delete_filtered = _count = _update_metadata = cast(Any, _no_hook)
    _begin_add = _finish_add = _vectorless_remedy = _extra_remedy = cast(Any, _no_hook)
    _scan_metadata = _scan_textless = _delete_judged = _update_judged = cast(Any, _no_hook)
    _delete_ids = _clear_counted = cast(Any, _no_hook)
    _held_values = _extremes = _get_ordered = cast(Any, _no_hook)

    def __init__(self, parent: VectorStore, scope: ScopeInput) -> None:
        self._parent = parent
        self._given = scope
        self._closed = False
        self._entered_from: ScopedStore | None = None
        self._scope: Callable[[], Scope]
        # A field is callable as well, only to say that it is none.
        if callable(scope) and not isinstance(scope, Field):
            self._scope = self._checked(asked(scope), telling=False)
        else:
            filter = read_filter(cast(FilterInput, scope))
            if filter is None:
                raise TypeError("a scope is a filter: scoped(F.tenant == 'a')")
            # It says the same at every call, so that once is enough.
            self._scope = constant(self._checked(constant(filter), telling=True)())

    # --- what the store behind says ----------------------------------------------------------

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the backend is called."""
        return self._parent.name

    @property
    def capabilities(self) -> StoreCapabilities:  # type: ignore[override]
        """Those of the store behind."""
        return self._parent.capabilities

    @property
    def metric(self) -> Metric:
        """How vectors are compared."""
        return self._parent.metric

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while it is not known yet."""
        return self._parent.dimension

    @property
    def max_cost(self) -> int | None:
        """That of the store behind."""
        return self._parent.max_cost

    @property
    def schema(self) -> Schema | None:
        """That of the store behind."""
        return self._parent.schema

    @property
    def residual(self) -> Residual:
        """That of the store behind."""
        return self._parent.residual

    @property
    def residual_limit(self) -> int | None:
        """That of the store behind."""
        return self._parent.residual_limit

    @property
    def embedder(self) -> EmbedderInput | None:
        """What turns texts into vectors."""
        return self._parent.embedder

    @property
    def batching(self) -> BatchingStrategy:  # type: ignore[override]
        """How texts are cut into calls of the embedder."""
        return self._parent.batching

    @property
    def async_threads(self) -> int:  # type: ignore[override]
        """How many awaited calls run at the same time, of the store and all its views."""
        return self._parent.async_threads

    @property
    def embed_as(self) -> EmbedAs | None:
        """That of the store behind."""
        return self._parent.embed_as

    @property
    def native(self) -> NoReturn:
        """Refused: the backend's own object knows no scope."""
        self._check_open()
        raise ScopeError(
            "a scoped store does not hand out the backend's own object, which reaches everything; "
            "use .native of the store it was made from"
        )

    # --- calls -------------------------------------------------------------------------------

    def _run(self, call: Call[Result]) -> Result:
        self._check_open()
        result = self._parent._run(call.narrowed(self._scope()))
        if isinstance(call, ScanCall):
            return cast(Result, self._while_open(cast("Generator[Any]", result)))
        return result

    def _while_open(self, documents: Generator[Any]) -> Iterator[Any]:
        with closing(documents):
            for document in documents:
                self._check_open()
                yield document

    def _checked(self, scope: Callable[[], Expression], *, telling: bool) -> Callable[[], Scope]:
        """A scope that raises ScopeError when it is none, or none that keeps anything out.

        With ``telling`` the error says why the engine cannot answer it, to the program that wrote
        it; not to whoever makes a call inside of one that a function returns.
        """
        known: Recent[Expression, Scope] = Recent()

        def checked() -> Scope:
            given = scope()
            found = known.get(given)
            if found is not None:
                return found
            # Rebuilt, it carries no text that an error could quote, and costs its callers nothing.
            filter = without_origin(given)
            try:
                everything = matches_everything(simplified(filter)) or self._root._matches_all(
                    filter
                )
            except FilterError as error:
                why = "count(filter) on the store itself tells why"
                if telling and isinstance(error, UnsupportedFilterError):
                    why = (
                        f"{error.message}; nothing of a scope is left to be evaluated on what the "
                        "engine finds, whatever residual says"
                    )
                raise ScopeError(
                    f"{self.name} cannot answer the filter of this scope "
                    f"({type(error).__name__}): {why}"
                ) from None
            if everything:
                raise ScopeError(
                    "the filter of this scope matches every document and keeps nothing apart; use "
                    "the store itself to work on all of it"
                )
            return known.put(given, Scope(filter))

        return checked

    @property
    def _root(self) -> VectorStore:
        return self._parent._root

    def _entered(self) -> ScopedStore:
        """This view with the filters of all scopes as they are now."""
        view = ScopedStore.__new__(ScopedStore)
        view._parent = self._parent._entered()
        view._given = self._given
        view._closed = False
        view._entered_from = self
        try:
            view._scope = constant(self._scope())
        except ScopeError as error:
            view._scope = failed(error)
        return view

    # --- life --------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._entered_from is not None:
            self._entered_from._check_open()
        if self._closed:
            self._refuse_closed()
        self._parent._check_open()

    def close(self) -> None:
        """Close this view; the store behind stays open."""
        self._closed = True

    def __reduce__(self) -> tuple[Any, ...]:
        scope = self._given
        if not callable(scope) or isinstance(scope, Field):
            scope = self._scope().filter
        return ScopedStore, (self._parent, scope)

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<ScopedStore of {self._parent!r}{state}>"
