"""The operations of a store: what each reads of its arguments, and how it runs.

Every public method of :class:`~vecstore.VectorStore` makes one of these and passes it to
``_execute``. Whatever stands around a store (a scope that narrows calls, an observer
that times them, a pool that runs them) sees calls and need not know the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from vecstore.document import Document, checked_metadata, checked_metadata_name, same_document
from vecstore.errors import DocumentError
from vecstore.filter.normalize import simplified
from vecstore.filter.residual import parts_of
from vecstore.filter.tautology import matches_everything
from vecstore.filter.tree import Expression, FilterInput
from vecstore.filter.values import shown
from vecstore.store.added import Added
from vecstore.store.adding import Adding
from vecstore.store.arguments import (
    AS_THE_STORE,
    Evaluation,
    Residual,
    read_count,
    read_evaluation,
    read_filter,
    read_flag,
    read_ids,
)
from vecstore.store.backend import Judge, Selection, changed
from vecstore.store.capabilities import OnConflict, OnError
from vecstore.store.limits import RecordLimits
from vecstore.store.residual import Evaluating, Explanation
from vecstore.store.scope import Scope, leaves_scope

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore

Result = TypeVar("Result")

Progress = Callable[[int, int | None], object]
"""Called after each batch of ``add`` with the documents done and their number, if known."""

_CLEAR = "to delete every document write clear()"

CONTENT_LENGTH = 1_000
"""Characters of a text that observers are told at most."""
_CONTENT_ITEMS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Result]):
    """One operation; subclasses carry its arguments.

    Attributes:
        within: The scope that the call is in: it reaches only documents that match. None outside
            of every scope.
        evaluation: What becomes of a filter that the engine answers in part.
    """

    operation: ClassVar[str]
    within: Scope | None = None
    evaluation: Evaluation = AS_THE_STORE

    def narrowed(self, scope: Scope) -> Self:
        """The same call inside a scope, around the scopes it is in already."""
        return replace(self, within=scope if self.within is None else scope.around(self.within))

    def run(self, store: VectorStore) -> Result:
        """Do the work, on a store that is open."""
        raise NotImplementedError

    def attributes(self) -> dict[str, Any]:
        """What observers are told of the arguments besides the operation's name."""
        return {}

    def content(self) -> dict[str, Any]:
        """What users wrote: told only where that was switched on."""
        filter = getattr(self, "filter", None)
        if filter is None:
            return {}
        return {"db.vector.query.filter": str(filter)[:CONTENT_LENGTH]}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCall(Call[Added]):
    """``add``."""

    operation: ClassVar[str] = "add"
    documents: Iterable[Document]
    on_conflict: OnConflict = "replace"
    on_error: OnError = "raise"
    embed: bool = True
    progress: Progress | None = None

    @classmethod
    def read(
        cls,
        documents: Iterable[Document],
        on_conflict: OnConflict,
        on_error: OnError,
        embed: bool,
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
            raise ValueError(
                f'on_conflict is "replace", "skip" or "error", not {shown(on_conflict)}'
            )
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error is "raise" or "skip", not {shown(on_error)}')
        if progress is not None and not callable(progress):
            raise TypeError("progress is a function of (documents done, documents in all or None)")
        return cls(
            documents=documents,
            on_conflict=on_conflict,
            on_error=on_error,
            embed=read_flag("embed", embed),
            progress=progress,
        )

    def run(self, store: VectorStore) -> Added:
        return Adding(store, self).run()

    def content(self) -> dict[str, Any]:
        """The first texts, unless the documents can be taken only once."""
        if not isinstance(self.documents, Collection):
            return {}
        return {
            "vecstore.documents": [
                one.text[:CONTENT_LENGTH]
                for one in list(self.documents)[:_CONTENT_ITEMS]
                if isinstance(one, Document)
            ]
        }


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
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> GetCall:
        """Check the arguments."""
        return cls(
            ids=read_ids(ids, "get"),
            filter=read_filter(filter),
            limit=None if limit is None else read_count("limit", limit),
            include_embedding=read_flag("include_embedding", include_embedding),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> list[Document]:
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if not matches or self.limit == 0 or (self.ids is not None and not self.ids):
            return []
        if self.ids is None:
            if type(filter) is Evaluating:
                return filter.get(self.limit, self.include_embedding)
            return store._ask_all(
                "get",
                store._get,
                Selection(filter=filter),
                at_most=self.limit,
                limit=self.limit,
                include_embedding=self.include_embedding,
            )
        by_id: dict[str, Document] = {}
        if type(filter) is Evaluating:
            for document in filter.get_by_ids(store._parts(self.ids), self.include_embedding):
                by_id[document.id] = document
        else:
            for ids in store._parts(self.ids):
                for document in store._ask_all(
                    "get",
                    store._get,
                    Selection(ids=ids, filter=filter),
                    limit=None,
                    include_embedding=self.include_embedding,
                ):
                    by_id[document.id] = document
        wanted = [id for id in self.ids if id in by_id][: self.limit]
        return list(_apart([by_id[id] for id in wanted]))


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
        residual: Residual | None = None,
        residual_limit: int | None = None,
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
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> int:
        values = self.set if store.schema is None else store.schema._fitted(self.set, None)
        limits = RecordLimits(store.name, store.capabilities)
        limits.check_integers(values, None)
        kept = limits.kept(values)
        limits.check_size(kept, None)
        # A null that the engine does not keep is the same as the key's absence.
        unset = (*self.unset, *[name for name in self.set if name not in kept])
        matches, filter = store._compiled(
            self.operation, self._staying(store), self.within, self.evaluation
        )
        if not matches:
            return 0
        if type(filter) is Evaluating:
            return filter.change(self.ids, store._update_judged, set=kept, unset=unset)
        if self.ids is None:
            return store._ask(
                "update_metadata",
                store._update_metadata,
                Selection(filter=filter),
                set=kept,
                unset=unset,
            )
        return sum(
            store._ask(
                "update_metadata",
                store._update_metadata,
                Selection(ids=ids, filter=filter),
                set=kept,
                unset=unset,
            )
            for ids in store._parts(self.ids)
        )

    def _staying(self, store: VectorStore) -> Expression | None:
        """The filter inside a scope: only what stays in the scope is changed.

        Raises:
            ScopeError: If the change would move a document out of it.
        """
        scope = self.within
        if scope is None:
            return self.filter
        condition = scope.condition_to_stay(self.set, self.unset)
        if condition is True:
            return self.filter
        if condition is False:
            raise leaves_scope()
        for document in self._selected(store):
            if not scope.keeps(changed(document.metadata, self.set, self.unset)):
                raise leaves_scope()
        # Also where another writer changes a document in between, it cannot leave.
        return condition if self.filter is None else condition & self.filter

    def _selected(self, store: VectorStore) -> Iterable[Document]:
        if self.ids is None:
            return ScanCall(filter=self.filter, within=self.within, evaluation=self.evaluation).run(
                store
            )
        ids = tuple(dict.fromkeys(self.ids))
        return GetCall(
            ids=ids, filter=self.filter, within=self.within, evaluation=self.evaluation
        ).run(store)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCall(Call[int | list[str]]):
    """``delete``."""

    operation: ClassVar[str] = "delete"
    ids: tuple[str, ...] | None = None
    filter: Expression | None = None
    return_ids: bool = False

    @classmethod
    def read(
        cls,
        ids: Iterable[str] | None,
        filter: FilterInput,
        return_ids: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> DeleteCall:
        """Check the arguments.

        Raises:
            ValueError: If they select everything; ``clear()`` is for that.
        """
        if isinstance(filter, str) and not filter.strip():
            raise ValueError(f"the filter is empty; {_CLEAR}")
        if ids is None and filter is None:
            raise ValueError(f"delete needs ids or a filter; {_CLEAR}")
        expression = read_filter(filter)
        if ids is None and expression is not None and matches_everything(simplified(expression)):
            raise ValueError(f"this filter matches every document; {_CLEAR}")
        return cls(
            ids=read_ids(ids, "delete"),
            filter=expression,
            return_ids=read_flag("return_ids", return_ids),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> int | list[str]:
        if not self.return_ids:
            return self._deleted(store, None)
        deleted: list[str] = []
        self._deleted(store, deleted)
        if self.ids is None:
            return deleted
        gone = frozenset(deleted)
        return [id for id in dict.fromkeys(self.ids) if id in gone]

    def _deleted(self, store: VectorStore, told: list[str] | None) -> int:
        """How many were deleted; their ids go into ``told``, where there is such a list."""

        def delete(selection: Selection, judge: Judge | None = None) -> int:
            if told is not None:
                ids = store._delete_ids(selection, judge)
                told.extend(ids)
                return len(ids)
            if judge is not None:
                return store._delete_judged(selection, judge)
            if selection.ids is None:
                return store._delete_filtered(selection.filter)
            return store._delete(selection)

        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if not matches:
            return 0
        if type(filter) is Evaluating:
            return filter.change(self.ids, delete)
        if self.ids is None:
            if filter is None or (
                self.within is not None and store._matches_all(self.filter, self.operation)
            ):
                raise ValueError(
                    f"on {store.name} this filter matches every document; to delete every document "
                    "write clear()"
                )
            return store._ask("delete", delete, Selection(filter=filter))
        return sum(
            store._ask("delete", delete, Selection(ids=ids, filter=filter))
            for ids in store._parts(self.ids)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCall(Call[int]):
    """``count``."""

    operation: ClassVar[str] = "count"
    filter: Expression | None = None

    @classmethod
    def read(
        cls, filter: FilterInput, residual: Residual | None, residual_limit: int | None
    ) -> CountCall:
        """Check the arguments."""
        return cls(filter=read_filter(filter), evaluation=read_evaluation(residual, residual_limit))

    def run(self, store: VectorStore) -> int:
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if not matches:
            return 0
        if type(filter) is Evaluating:
            return filter.count()
        return store._ask("count", store._count, filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainCall(Call[Explanation]):
    """``explain``."""

    operation: ClassVar[str] = "explain"
    filter: Expression | None = None

    @classmethod
    def read(cls, filter: FilterInput) -> ExplainCall:
        """Check the arguments."""
        return cls(filter=read_filter(filter), evaluation=Evaluation("evaluate"))

    def run(self, store: VectorStore) -> Explanation:
        _, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if type(filter) is not Evaluating:
            parts = () if self.filter is None else parts_of(self.filter.normalize())
            return Explanation(
                store=store.name, answered=parts, evaluated=(), reasons=(), looked_at=0
            )
        partial = filter.partial
        documents = None
        if store.capabilities.filtered_count:
            documents = CountCall(within=self.within).run(store)
        return Explanation(
            store=store.name,
            answered=partial.answered,
            evaluated=partial.evaluated,
            reasons=tuple([reason.message for reason in partial.refusals]),
            documents=documents,
            looked_at=filter.expected(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCall(Call[Iterator[Document]]):
    """``scan``."""

    operation: ClassVar[str] = "scan"
    filter: Expression | None = None
    batch_size: int = 256
    text: bool = True
    include_embedding: bool = False

    @classmethod
    def read(
        cls,
        filter: FilterInput,
        batch_size: int,
        text: bool,
        include_embedding: bool,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> ScanCall:
        """Check the arguments."""
        size = read_count("batch_size", batch_size)
        if not size:
            raise ValueError("batch_size is 1 or more, not 0")
        return cls(
            filter=read_filter(filter),
            batch_size=size,
            text=read_flag("text", text),
            include_embedding=read_flag("include_embedding", include_embedding),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> Iterator[Document]:
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if not matches:
            return _none()
        if type(filter) is Evaluating:
            return filter.scan(self.batch_size, self.include_embedding, text=self.text)
        return store._ask_scan(
            filter,
            batch_size=self.batch_size,
            include_embedding=self.include_embedding,
            text=self.text,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearCall(Call[int]):
    """``clear``."""

    operation: ClassVar[str] = "clear"

    def run(self, store: VectorStore) -> int:
        if self.within is None:
            return store._ask("clear", store._clear_counted)
        matches, filter = store._compiled("clear", self.within.filter)
        return store._ask("clear", store._delete_filtered, filter) if matches else 0


def _apart(documents: Sequence[Document]) -> Iterator[Document]:
    """Documents none of which changes with another: an object that came before is copied."""
    seen: set[int] = set()
    for document in documents:
        yield same_document(document) if id(document) in seen else document
        seen.add(id(document))


def _none() -> Iterator[Document]:
    yield from ()
