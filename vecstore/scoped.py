"""A view of a store that reaches only the documents that match a filter."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from vecstore.calls import Call, ScanCall
from vecstore.capabilities import Metric, StoreCapabilities
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import FilterError, ScopeError
from vecstore.filter.ast import Expression, FilterInput
from vecstore.filter.builder import Field
from vecstore.filter.normalize import simplify
from vecstore.filter.serial import without_origin
from vecstore.request import read_filter
from vecstore.scope import ScopeInput
from vecstore.store import VectorStore

if TYPE_CHECKING:
    from vecstore.operations import StoreOperations

Result = TypeVar("Result")


def _no_hook(self: ScopedStore, *arguments: object, **options: object) -> NoReturn:
    raise ScopeError("a scoped store has no way to the engine besides its public methods")


class ScopedStore(VectorStore):
    """What :meth:`VectorStore.scoped` returns.

    Each public method makes a call, as on every store; this class adds the scope to the call and
    hands it to the store behind.
    """

    # The hooks would pass by the scope.
    _add = _search = _get = _scan = _delete = _clear = cast(Any, _no_hook)
    _stored_ids = _delete_filtered = _count = _update_metadata = cast(Any, _no_hook)

    def __init__(self, parent: StoreOperations, scope: ScopeInput) -> None:
        self._parent = parent
        self._given = scope
        self._closed = False
        self._entered_from: ScopedStore | None = None
        self._scope: Callable[[], Expression]
        # A field is callable as well, only to say that it is none.
        if callable(scope) and not isinstance(scope, Field):
            self._scope = self._checked(_asked(scope))
        else:
            filter = read_filter(cast(FilterInput, scope))
            if filter is None:
                raise TypeError("a scope is a filter: scoped(F.tenant == 'a')")
            # It says the same at every call, so that once is enough.
            self._scope = _constant(self._checked(_constant(filter))())

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

    def _checked(self, scope: Callable[[], Expression]) -> Callable[[], Expression]:
        """A scope that raises ScopeError when it is none, or none that keeps anything out."""

        def checked() -> Expression:
            # Rebuilt, it carries no text that an error could quote, and costs its callers nothing.
            filter = without_origin(scope())
            try:
                everything = simplify(filter) is True or self._root._matches_all(filter)
            except FilterError as error:
                raise ScopeError(
                    f"{self.name} cannot answer the filter of this scope "
                    f"({type(error).__name__}); count(filter) on the store itself tells why"
                ) from None
            if everything:
                raise ScopeError(
                    "the filter of this scope matches every document and keeps nothing apart; use "
                    "the store itself to work on all of it"
                )
            return filter

        return checked

    @property
    def _root(self) -> StoreOperations:
        return self._parent._root

    def _entered(self) -> ScopedStore:
        """This view with the filters of all scopes as they are now."""
        view = ScopedStore.__new__(ScopedStore)
        view._parent = self._parent._entered()
        view._given = self._given
        view._closed = False
        view._entered_from = self
        try:
            view._scope = _constant(self._scope())
        except ScopeError as error:
            view._scope = _failed(error)
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
            scope = self._scope()
        return ScopedStore, (self._parent, scope)

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<ScopedStore of {self._parent!r}{state}>"


def _constant(filter: Expression) -> Callable[[], Expression]:
    return lambda: filter


def _failed(error: ScopeError) -> Callable[[], Expression]:
    def scope() -> NoReturn:
        raise error

    return scope


def _asked(function: Callable[[], Any]) -> Callable[[], Expression]:
    """What a function of the caller's says at this moment, as a filter or as an error."""

    def scope() -> Expression:
        try:
            answer = function()
        except Exception as error:
            raise ScopeError(
                f"the function of this scope failed with {type(error).__name__}; its own error is "
                "the cause of this one; nothing was read or written"
            ) from error
        if isinstance(answer, Coroutine):
            answer.close()
            raise ScopeError(
                "the function of this scope is asynchronous; let it return the filter itself, "
                "from a context variable for example"
            )
        try:
            filter = read_filter(answer)
        except (TypeError, FilterError):
            filter = None
        if filter is None:
            raise ScopeError(
                f"the function of this scope returned {_kind(answer)}; it has to return a filter; "
                "nothing was read or written"
            )
        return filter

    return scope


def _kind(answer: object) -> str:
    if isinstance(answer, str):
        return "a text that is no filter"
    return "None" if answer is None else f"a {type(answer).__name__}"
