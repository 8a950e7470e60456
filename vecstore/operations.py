"""The one path from a checked call to the hooks: what every store does alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from vecstore import process
from vecstore.awaited import check_stop
from vecstore.calls import (
    AddCall,
    Call,
    ClearCall,
    CountCall,
    DeleteCall,
    GetCall,
    ScanCall,
    SearchCall,
    Selection,
    UpdateMetadataCall,
)
from vecstore.capabilities import Metric
from vecstore.document import Document, same_document
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
)
from vecstore.filter.ast import Expression
from vecstore.filter.convert import Compiled
from vecstore.filter.cost import AS_DECLARED, MaxCost, check_cost, read_max_cost
from vecstore.filter.normalize import simplify
from vecstore.guard import GuardedHooks
from vecstore.hooks import changed, id_parts
from vecstore.lengths import LengthLimits, of_length_one
from vecstore.observation import (
    Observer,
    is_observed,
    observed,
    observed_embedding,
    read_observers,
)
from vecstore.ranking import ranked
from vecstore.scope import Scope, leaves_scope
from vecstore.spellings import NoOptions, StoreType, unknown_keyword

if TYPE_CHECKING:
    from vecstore.pickling import Origin
    from vecstore.vectors import Matrix, Vector

Result = TypeVar("Result")


ASYNC_THREADS = 8


class CommonOptions(TypedDict, total=False):
    """Options of every store that concern no backend; a store hands them on to this class."""

    async_threads: int
    observers: Iterable[Observer]
    observe_content: bool
    max_cost: int | None


class StoreOperations(GuardedHooks, metaclass=StoreType):
    """Embeds, splits, folds filters and ranks; callers see :class:`~vecstore.VectorStore`."""

    _origin: Origin | None = None
    """What the store was opened by, if it was by ``open_store``."""

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
        **unknown: Unpack[NoOptions],
    ) -> None:
        if unknown:
            raise unknown_keyword("store", unknown, type(self).__name__)
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
        self._make_guard()
        self._pid = process.pid
        self.batching: BatchingStrategy = CountBatching() if batching is None else batching
        self._set_up(async_threads, observers, observe_content, max_cost)
        self._check_dimension_limit(dimension)

    def _set_up(
        self,
        async_threads: int = ASYNC_THREADS,
        observers: Iterable[Observer] = (),
        observe_content: bool = False,
        max_cost: int | None | MaxCost = AS_DECLARED,
    ) -> None:
        """Take the options that concern no backend."""
        self.async_threads = read_threads(async_threads)
        self._listeners = read_observers(observers, observe_content)
        self._observe_content = observe_content
        self._max_cost = read_max_cost(max_cost)

    @property
    def metric(self) -> Metric:
        """How vectors are compared."""
        return self._metric

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while it is not known yet."""
        return self._dimension

    @property
    def max_cost(self) -> int | None:
        """What a filter that comes as text or dict may cost at most; None for no limit."""
        declared = isinstance(self._max_cost, MaxCost)
        return self.capabilities.max_cost if declared else self._max_cost  # type: ignore[return-value]

    @property
    def embedder(self) -> EmbedderInput | None:
        """What turns texts into vectors, as it was given."""
        return None if self._bound_embedder is None else self._bound_embedder.embedder

    def _execute(self, call: Call[Result]) -> Result:
        """Run one operation. Every public method ends here, and nothing else calls a hook."""
        if is_observed(self._root._listeners):
            return observed(self, call, partial(self._run, call))
        return self._run(call)

    def _run(self, call: Call[Result]) -> Result:
        self._check_open()
        return call.perform(self)

    @property
    def _root(self) -> StoreOperations:
        """The store that has the engine: this one, unless it is a view."""
        return self

    def _entered(self) -> StoreOperations:
        """This store with whatever depends on the caller's context settled."""
        return self

    def _perform_add(self, call: AddCall) -> list[str]:
        from vecstore.ingest import Ingest

        return Ingest(self, call).run()

    def _perform_search(self, call: SearchCall) -> list[Document]:
        request = call.request
        limit = self.capabilities.max_top_k
        # What is passed over has to be found as well.
        wanted = request.offset + request.top_k
        if limit is not None and wanted > limit:
            asked = f"{wanted:,}" + (" (offset + top_k)" if request.offset else "")
            raise ValueError(
                f"{self.name} returns at most {limit:,} documents of a search (max_top_k), not "
                f"{asked}; to read many documents, see scan()"
            )
        if request.query is not None and self._bound_embedder is None:
            raise ConfigurationError(
                "this store has no embedder to turn the query text into a vector; make the store "
                "with embedder=..., or search with vector=[...]"
            )
        if request.vector is not None:
            self._check_query(request.vector, ValueError)
        matches, filter = self._compiled(call.operation, call.filter, call.within)
        if not matches or not request.top_k:
            return []
        vector: Any = request.vector
        if vector is None:
            assert request.query is not None
            vector = self._embed_query(request.query)
            self._check_query(vector, EmbeddingError)
            check_stop()
        if self.metric == "cosine" and any(self._lengths.faults(vector[None, :])):
            vector = of_length_one(vector)  # only its direction counts
        found = self._ask_all(
            "search",
            self._search,
            vector,
            top_k=wanted,
            filter=filter,
            include_embedding=request.include_embedding,
        )
        return ranked(found, self.metric, request.threshold)[request.offset : wanted]

    def _perform_get(self, call: GetCall) -> list[Document]:
        matches, filter = self._compiled(call.operation, call.filter, call.within)
        if not matches or call.limit == 0 or (call.ids is not None and not call.ids):
            return []
        if call.ids is None:
            return self._ask_all(
                "get",
                self._get,
                Selection(filter=filter),
                at_most=call.limit,
                limit=call.limit,
                include_embedding=call.include_embedding,
            )
        by_id: dict[str, Document] = {}
        for ids in self._parts(call.ids):
            for document in self._ask_all(
                "get",
                self._get,
                Selection(ids=ids, filter=filter),
                limit=None,
                include_embedding=call.include_embedding,
            ):
                by_id[document.id] = document
        wanted = [id for id in call.ids if id in by_id][: call.limit]
        return list(_apart([by_id[id] for id in wanted]))

    def _perform_update_metadata(self, call: UpdateMetadataCall) -> int:
        from vecstore.ingest import RecordLimits

        limits = RecordLimits(self.name, self.capabilities)
        limits.check_integers(call.set, None)
        kept = limits.kept(call.set)
        limits.check_size(kept, None)
        # A null that the engine does not keep is the same as the key's absence.
        unset = (*call.unset, *[name for name in call.set if name not in kept])
        matches, filter = self._compiled(call.operation, self._scoped_update(call), call.within)
        if not matches:
            return 0
        if call.ids is None:
            return self._ask(
                "update_metadata",
                self._update_metadata,
                Selection(filter=filter),
                set=kept,
                unset=unset,
            )
        return sum(
            self._ask(
                "update_metadata",
                self._update_metadata,
                Selection(ids=ids, filter=filter),
                set=kept,
                unset=unset,
            )
            for ids in self._parts(call.ids)
        )

    def _perform_delete(self, call: DeleteCall) -> int:
        matches, filter = self._compiled(call.operation, call.filter, call.within)
        if not matches:
            return 0
        if call.ids is None:
            if filter is None or (
                call.within is not None and self._matches_all(call.filter, call.operation)
            ):
                raise ValueError(
                    f"on {self.name} this filter matches every document; to delete every document "
                    "write clear()"
                )
            return self._ask("delete", self._delete_filtered, filter)
        return sum(
            self._ask("delete", self._delete, Selection(ids=ids, filter=filter))
            for ids in self._parts(call.ids)
        )

    def _perform_count(self, call: CountCall) -> int:
        matches, filter = self._compiled(call.operation, call.filter, call.within)
        return self._ask("count", self._count, filter) if matches else 0

    def _perform_scan(self, call: ScanCall) -> Iterator[Document]:
        matches, filter = self._compiled(call.operation, call.filter, call.within)
        if not matches:
            return nothing()
        return self._ask_scan(
            filter, batch_size=call.batch_size, include_embedding=call.include_embedding
        )

    def _perform_clear(self, call: ClearCall) -> None:
        if call.within is None:
            self._ask("clear", self._clear)
            return
        matches, filter = self._compiled("clear", call.within)
        if matches:
            self._ask("clear", self._delete_filtered, filter)

    # --- shared steps ------------------------------------------------------------------------

    def _compiled(
        self, operation: str, filter: Expression | None, within: Expression | None = None
    ) -> tuple[bool, Any]:
        """Whether the filter can match at all, and what it becomes (None: no filter).

        A scope is joined to the filter as a tree, so that no way of writing one leads outside.
        """
        if filter is None and within is None:
            return True, None
        if filter is not None:
            simple = simplify(filter)
            # The scope is the program's own; what a stranger adds to it is counted alone.
            check_cost(simple, self.max_cost, self.name)
        if within is not None:
            filter = within if filter is None else within & filter
            simple = simplify(filter)
        if isinstance(simple, bool):
            return simple, None
        compiled = self._ask(operation, self._compile_filter, filter)
        if isinstance(compiled, Compiled):
            if compiled.matches_nothing:
                return False, None
            if compiled.matches_all:
                return True, None
        return True, compiled

    def _matches_all(self, filter: Expression | None, operation: str = "scoped") -> bool:
        """Whether every document matches, as far as the backend can tell without looking."""
        return self._compiled(operation, filter) == (True, None)

    def _scoped_update(self, call: UpdateMetadataCall) -> Expression | None:
        """The filter of an update inside a scope: only what stays in the scope is changed.

        Raises:
            ScopeError: If the change would move a document out of it.
        """
        if call.within is None:
            return call.filter
        scope = Scope(call.within)
        condition = scope.condition_to_stay(call.set, call.unset)
        if condition is True:
            return call.filter
        if condition is False:
            raise leaves_scope()
        for document in self._selected(call):
            if not scope.keeps(changed(document.metadata, call.set, call.unset)):
                raise leaves_scope()
        # Also where another writer changes a document in between, it cannot leave.
        return condition if call.filter is None else condition & call.filter

    def _selected(self, call: UpdateMetadataCall) -> Iterable[Document]:
        if call.ids is None:
            return self._perform_scan(ScanCall(filter=call.filter, within=call.within))
        ids = tuple(dict.fromkeys(call.ids))
        return self._perform_get(GetCall(ids=ids, filter=call.filter, within=call.within))

    def _embed_documents(self, documents: Sequence[TextToEmbed], dimension: int | None) -> Matrix:
        """The vectors of a batch; the only way to the embedder besides :meth:`_embed_query`."""
        assert self._bound_embedder is not None
        work = partial(self._bound_embedder.documents, documents, dimension)
        if is_observed(self._listeners):
            return observed_embedding(self, len(documents), work)
        return work()

    def _embed_query(self, query: str) -> Vector:
        assert self._bound_embedder is not None
        work = partial(self._bound_embedder.query, query)
        if is_observed(self._listeners):
            return observed_embedding(self, 1, work)
        return work()

    def _check_query(self, vector: Any, error: type[Exception]) -> None:
        check_dimension(len(vector), self.dimension, "the query")
        if self.metric == "cosine" and not vector.any():
            raise error(
                "the query vector is all zeros: cosine similarity compares directions, and it has "
                "none"
            )
        if self.metric != "cosine":
            for _, fault in self._lengths.faults(vector[None, :]):
                raise error(f"the query vector {fault}")

    @property
    def _lengths(self) -> LengthLimits:
        return LengthLimits(self.name, self.capabilities)

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


def _apart(documents: Sequence[Document]) -> Iterator[Document]:
    """Documents none of which changes with another: an object that came before is copied."""
    seen: set[int] = set()
    for document in documents:
        yield same_document(document) if id(document) in seen else document
        seen.add(id(document))


def read_threads(value: int) -> int:
    """The option ``async_threads``.

    Raises:
        ConfigurationError: If it is no whole number from 1 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"async_threads is a whole number from 1 on, not {value!r}")
    return value


def nothing() -> Iterator[Document]:
    """The documents of a scan that reaches none."""
    yield from ()
