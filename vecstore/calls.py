"""The operations of a store as values: read and checked once, then handed down one path.

Every public method of :class:`~vecstore.VectorStore` makes one of these and passes it to
``_execute``. Whatever stands around a store (a scope that narrows calls, an observer
that times them, a pool that runs them) sees calls and need not know the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from vecstore.capabilities import OnConflict, OnError
from vecstore.document import Document, checked_metadata, checked_metadata_name
from vecstore.errors import DocumentError
from vecstore.filter.ast import Expression, FilterInput
from vecstore.filter.normalize import simplify
from vecstore.request import (
    SearchRequest,
    read_count,
    read_filter,
    read_flag,
    read_ids,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.operations import StoreOperations
    from vecstore.vectors import Matrix

Result = TypeVar("Result")

Progress = Callable[[int, int | None], object]
"""Called after each batch of ``add`` with the documents done and their number, if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Documents to be written in one step: equally long columns, no id twice.

    Attributes:
        ids: Their ids.
        texts: Their texts.
        metadata: Their metadata, normalised; for the store to keep, and not to change.
        vectors: Their vectors, a float32 matrix of finite numbers, one a row.
        on_conflict: What to do about an id that is stored already: ``"replace"`` the whole
            document, ``"skip"`` it, or write nothing of this batch and raise ``"error"``.
        within: What ``_compile_filter`` made of the scope that ``add`` was called in, None outside
            of every scope. A store that declares ``scoped_add_atomic`` writes nothing of the batch
            and raises :func:`~vecstore.scope.id_outside` when an id is stored already by a
            document that does not match it; other stores can leave it aside.
    """

    ids: list[str]
    texts: list[str]
    metadata: list[dict[str, Any]]
    vectors: Matrix
    on_conflict: OnConflict = "replace"
    within: Any = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which stored documents a hook works on: those with one of the ids that match the filter.

    Attributes:
        ids: Ids without repetition; None for no restriction.
        filter: What ``_compile_filter`` returned; None for no restriction.
    """

    ids: tuple[str, ...] | None = None
    filter: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Result]):
    """One operation; subclasses carry its arguments.

    Attributes:
        within: What a scope adds to the call: it reaches only documents that match. None outside
            of every scope.
    """

    operation: ClassVar[str]
    within: Expression | None = None

    def narrowed(self, scope: Expression) -> Self:
        """The same call inside a scope, around the scopes it is in already."""
        return replace(self, within=scope if self.within is None else scope & self.within)

    def perform(self, store: StoreOperations) -> Result:
        """Run on a store that is open."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCall(Call[list[str]]):
    """``add``."""

    operation: ClassVar[str] = "add"
    documents: Iterable[Document]
    on_conflict: OnConflict = "replace"
    on_error: OnError = "raise"
    progress: Progress | None = None

    @classmethod
    def read(
        cls,
        documents: Iterable[Document],
        on_conflict: OnConflict,
        on_error: OnError,
        progress: Progress | None,
    ) -> AddCall:
        """Check the arguments; the documents themselves are looked at one by one."""
        if isinstance(documents, Document):
            raise TypeError("add takes a list of documents: add([document])")
        if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
            raise TypeError(
                f"add takes documents, not {type(documents).__name__}; write "
                "add([Document(text, metadata)])"
            )
        if on_conflict not in ("replace", "skip", "error"):
            raise ValueError(f'on_conflict is "replace", "skip" or "error", not {on_conflict!r}')
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error is "raise" or "skip", not {on_error!r}')
        if progress is not None and not callable(progress):
            raise TypeError("progress is a function of (documents done, documents in all or None)")
        return cls(
            documents=documents, on_conflict=on_conflict, on_error=on_error, progress=progress
        )

    def perform(self, store: StoreOperations) -> list[str]:
        """Run on a store that is open."""
        return store._perform_add(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall(Call[list[Document]]):
    """``search``."""

    operation: ClassVar[str] = "search"
    request: SearchRequest

    @classmethod
    def read(
        cls,
        query: str | SearchRequest | None,
        vector: ArrayLike | None,
        top_k: int,
        threshold: float | None,
        filter: FilterInput,
        include_embedding: bool,
        offset: int,
    ) -> SearchCall:
        """Check the arguments."""
        rest = (vector, top_k, threshold, filter, include_embedding, offset)
        if not isinstance(query, SearchRequest):
            return cls(request=SearchRequest(query, *rest))
        if rest != (None, 4, None, None, False, 0):
            raise TypeError("a SearchRequest carries everything; put the rest into it as well")
        return cls(request=query)

    @property
    def filter(self) -> Expression | None:
        """Which documents to look among."""
        return _read_already(self.request.filter)

    def perform(self, store: StoreOperations) -> list[Document]:
        """Run on a store that is open."""
        return store._perform_search(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetCall(Call[list[Document]]):
    """``get``."""

    operation: ClassVar[str] = "get"
    ids: tuple[str, ...] | None = None
    filter: Expression | None = None
    limit: int | None = None
    include_embedding: bool = False

    @classmethod
    def read(
        cls,
        ids: Iterable[str] | None,
        filter: FilterInput,
        limit: int | None,
        include_embedding: bool,
    ) -> GetCall:
        """Check the arguments."""
        return cls(
            ids=read_ids(ids, "get"),
            filter=read_filter(filter),
            limit=None if limit is None else read_count("limit", limit),
            include_embedding=read_flag("include_embedding", include_embedding),
        )

    def perform(self, store: StoreOperations) -> list[Document]:
        """Run on a store that is open."""
        return store._perform_get(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataCall(Call[int]):
    """``update_metadata``."""

    operation: ClassVar[str] = "update_metadata"
    ids: tuple[str, ...] | None = None
    filter: Expression | None = None
    set: dict[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        ids: Iterable[str] | None,
        filter: FilterInput,
        set: Mapping[str, Any],
        unset: Iterable[str],
    ) -> UpdateMetadataCall:
        """Check the arguments."""
        if ids is None and filter is None:
            raise ValueError(
                "update_metadata needs ids or a filter; to change every document, pass a filter "
                "that matches all: filter=F.any_key.not_in([])"
            )
        if not isinstance(set, Mapping):
            raise TypeError("set takes a dict of new values: set={'key': value}")
        if isinstance(unset, str | bytes | Mapping) or not isinstance(unset, Iterable):
            raise TypeError("unset takes a list of keys: unset=['key']")
        removed = tuple(dict.fromkeys(checked_metadata_name(name) for name in unset))
        values = checked_metadata(set, None)
        if not values and not removed:
            raise ValueError("nothing to change: pass set={'key': value} or unset=['key']")
        both = [name for name in removed if name in values]
        if both:
            raise DocumentError(f"{both[0]!r} stands in both set and unset", key=both[0])
        return cls(
            ids=read_ids(ids, "update_metadata"),
            filter=read_filter(filter),
            set=values,
            unset=removed,
        )

    def perform(self, store: StoreOperations) -> int:
        """Run on a store that is open."""
        return store._perform_update_metadata(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCall(Call[int]):
    """``delete``."""

    operation: ClassVar[str] = "delete"
    ids: tuple[str, ...] | None = None
    filter: Expression | None = None

    @classmethod
    def read(cls, ids: Iterable[str] | None, filter: FilterInput) -> DeleteCall:
        """Check the arguments.

        Raises:
            ValueError: If they select everything; ``clear()`` is for that.
        """
        if isinstance(filter, str) and not filter.strip():
            raise ValueError(f"the filter is empty; {_CLEAR}")
        if ids is None and filter is None:
            raise ValueError(f"delete needs ids or a filter; {_CLEAR}")
        expression = read_filter(filter)
        if ids is None and expression is not None and simplify(expression) is True:
            raise ValueError(f"this filter matches every document; {_CLEAR}")
        return cls(ids=read_ids(ids, "delete"), filter=expression)

    def perform(self, store: StoreOperations) -> int:
        """Run on a store that is open."""
        return store._perform_delete(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCall(Call[int]):
    """``count``."""

    operation: ClassVar[str] = "count"
    filter: Expression | None = None

    def perform(self, store: StoreOperations) -> int:
        """Run on a store that is open."""
        return store._perform_count(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCall(Call[Iterator[Document]]):
    """``scan``."""

    operation: ClassVar[str] = "scan"
    filter: Expression | None = None
    batch_size: int = 256
    include_embedding: bool = False

    @classmethod
    def read(cls, filter: FilterInput, batch_size: int, include_embedding: bool) -> ScanCall:
        """Check the arguments."""
        size = read_count("batch_size", batch_size)
        if not size:
            raise ValueError("batch_size is 1 or more, not 0")
        return cls(
            filter=read_filter(filter),
            batch_size=size,
            include_embedding=read_flag("include_embedding", include_embedding),
        )

    def perform(self, store: StoreOperations) -> Iterator[Document]:
        """Run on a store that is open."""
        return store._perform_scan(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearCall(Call[None]):
    """``clear``."""

    operation: ClassVar[str] = "clear"

    def perform(self, store: StoreOperations) -> None:
        """Run on a store that is open."""
        store._perform_clear(self)


_CLEAR = "to delete every document write clear()"


def _read_already(filter: Any) -> Expression | None:
    return read_filter(filter)
