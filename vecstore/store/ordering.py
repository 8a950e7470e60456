"""Documents in the order of a key, page by page: where a page begins, and how it is found.

A cursor is a place in an order and no number of documents: what others write before it moves
nothing. It says of which order it is. What a stranger makes of it leads to another place in the
same order, and to no document that filter and scope keep out.
"""

from __future__ import annotations

import base64
import heapq
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vecstore.cancelling import check_stop
from vecstore.document import Document, checked_id
from vecstore.errors import DocumentError
from vecstore.filter.keys import read_key
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression, FilterInput
from vecstore.filter.values import Scalar, UnusableValue, shown, to_scalar
from vecstore.store.arguments import (
    Residual,
    read_count,
    read_evaluation,
    read_filter,
    read_flag,
    read_key_path,
    within_depth,
)
from vecstore.store.backend import Order, Position, Selection, value_at
from vecstore.store.operations import Call
from vecstore.store.residual import Evaluating
from vecstore.store.statistics import (
    check_declared,
    is_scalar,
    matching_metadata,
    plain,
    value_rank,
)

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore

_ID: Final = "id"
_LAST: Final = 3
"""Where documents without a value that has an order stand: behind those of every kind."""


class Page(list[Document]):
    """Documents in order: what ``get(order_by=...)`` returns.

    Attributes:
        next: What the next page begins with, as ``after=``; None where this page is the last one.

    Example:
        >>> from vecstore import Document, SimpleVectorStore
        >>> store = SimpleVectorStore()
        >>> years = {"a": 2021, "b": 1999, "c": 2010}
        >>> ids = store.add(
        ...     [Document("text", {"year": year}, id, [1, 0]) for id, year in years.items()]
        ... )
        >>> page = store.get(order_by="-year", limit=2)
        >>> [document.id for document in page]
        ['a', 'c']
        >>> [document.id for document in store.get(order_by="-year", limit=2, after=page.next)]
        ['b']
    """

    next: str | None

    def __init__(self, documents: Iterable[Document] = (), next: str | None = None) -> None:
        super().__init__(documents)
        self.next = next


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCall(Call[Page]):
    """``get`` with ``order_by``."""

    operation: ClassVar[str] = "get"
    order: Order
    filter: Expression | None = None
    limit: int | None = None
    include_embedding: bool = False

    @classmethod
    def read(
        cls,
        ids: Iterable[str] | None,
        filter: FilterInput,
        order_by: str | None,
        after: str | None,
        limit: int | None,
        include_embedding: bool,
        residual: Residual | None,
        residual_limit: int | None,
    ) -> Self:
        """Check the arguments."""
        if order_by is None:
            raise ValueError(
                "after is a place in an order: say in which, get(order_by='year', after=page.next)"
            )
        if ids is not None:
            raise ValueError(
                "documents asked for by their ids come in the order of the ids: leave out order_by "
                "or the ids"
            )
        order = read_order(order_by)
        if after is not None:
            order = Order(order.path, order.descending, read_cursor(after, order))
        return cls(
            order=order,
            filter=read_filter(filter),
            limit=None if limit is None else read_count("limit", limit),
            include_embedding=read_flag("include_embedding", include_embedding),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> Page:
        """Find the page, and whether another one follows."""
        if self.order.path is not None:
            check_declared(store, self.order.path)
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        if not matches or self.limit == 0:
            return Page()
        if type(filter) is Evaluating or not store.capabilities.native_order:
            return self._by_reading(store, filter)
        more = None if self.limit is None else self.limit + 1
        found = store._ask_all(
            self.operation,
            store._get_ordered,
            self.order,
            filter,
            at_most=more,
            limit=more,
            include_embedding=self.include_embedding,
        )
        if self.limit is None or len(found) <= self.limit:
            return Page(found)
        last = found[self.limit - 1]
        return Page(found[: self.limit], self._cursor(position_of(last, self.order)))

    def _by_reading(self, store: VectorStore, filter: Any) -> Page:
        """The same where the engine knows no such order: by the metadata of all that match.

        Of these no more than a page is held. Its documents are read after that, and those left out
        of which the place has changed meanwhile: they have one before or behind this page.
        """
        order = self.order
        known = filter.matching() if type(filter) is Evaluating else None
        while True:
            found = known or matching_metadata(store, self.operation, filter)
            places = (_place(id, value_of(metadata, order), order) for id, metadata in found)
            begin = None if order.after is None else _place_of(order.after, order)
            later: Iterator[_Place] = (
                place for place in places if begin is None or begin.rank < place.rank
            )
            if self.limit is None:
                chosen = sorted(later, key=_rank)
            else:
                chosen = heapq.nsmallest(self.limit + 1, later, key=_rank)
            page = chosen if self.limit is None else chosen[: self.limit]
            check_stop()
            documents = self._read(store, filter, page)
            if len(page) == len(chosen):
                return Page(documents)
            after = Position(page[-1].value, page[-1].id)
            if documents:
                return Page(documents, self._cursor(after))
            # An empty page would look like the end of all of them.
            order = Order(order.path, order.descending, after)
            known = filter.matching() if type(filter) is Evaluating else None

    def _read(self, store: VectorStore, filter: Any, page: Sequence[_Place]) -> list[Document]:
        parts = store._parts(tuple([place.id for place in page]))
        found: dict[str, Document] = {}
        if type(filter) is Evaluating:
            found = {one.id: one for one in filter.get_by_ids(parts, self.include_embedding)}
        else:
            for ids in parts:
                for one in store._ask_all(
                    self.operation,
                    store._get,
                    Selection(ids=ids, filter=filter),
                    limit=None,
                    include_embedding=self.include_embedding,
                ):
                    found[one.id] = one
        return [
            found[place.id]
            for place in page
            if place.id in found
            and _place_of(position_of(found[place.id], self.order), self.order).rank == place.rank
        ]

    def _cursor(self, position: Position) -> str:
        return write_cursor(position, self.order)


# --- orders ---------------------------------------------------------------------------------------


def read_order(order_by: Any) -> Order:
    """An order as a caller writes it.

    Example:
        >>> read_order("-author.name").path, read_order("id").path, read_order('"id"').path
        (('author', 'name'), None, ('id',))

    Raises:
        TypeError: If it is no text.
        ValueError: If it is no key.
    """
    if not isinstance(order_by, str):
        raise TypeError(
            "order_by is a text: a key as a filter writes it, such as 'author.name', '-year' for "
            f"the largest first, or 'id'; not a {type(order_by).__name__}"
        )
    descending = order_by.startswith("-")
    key = order_by[1:] if descending else order_by
    _check_direction(order_by, key)
    if key == _ID:
        return Order(None, descending)
    try:
        path = read_key(key)
    except UnusableValue:
        # Its error names the form as a list as well, which order_by does not take.
        path = None
    if path is None:
        [name] = read_key_path([key], "order_by")
        quoted = key_text((name,)) if not descending else f"-{key_text((name,))}"
        raise ValueError(
            f"order_by: {shown(key)} is no key as a filter writes it: names are joined by dots, "
            "and beside a dot one that is reserved or no identifier is quoted; for this as one "
            f"name write order_by={shown(quoted)}"
        )
    return Order(within_depth(path, "order_by"), descending)


def _check_direction(order_by: str, key: str) -> None:
    """Refuse a direction as SQL and others write it, which would be a key that nothing has."""
    name, _, direction = key.strip().rpartition(" ")
    name = name.strip()
    if name and direction.lower() in ("asc", "desc") and not name.startswith(('"', "'")):
        meant = f"-{name}" if direction.lower() == "desc" else name
    elif key[:1] in ("+", "-") and key[1:].strip():
        meant = key[1:]
    else:
        return
    raise ValueError(
        f"order_by is a key, with a - before it for the largest first: order_by={shown(meant)}, "
        f"not {shown(order_by)}; a key that is called so is quoted: {shown(key_text((key,)))}"
    )


def order_text(order: Order) -> str:
    """The order as :func:`read_order` reads it.

    Example:
        >>> order_text(read_order('-"id"')), order_text(read_order("id"))
        ('-"id"', 'id')
    """
    key = _ID if order.path is None else key_text(order.path)
    if key == _ID and order.path is not None:
        key = '"id"'
    return f"-{key}" if order.descending else key


def value_of(metadata: Any, order: Order) -> Scalar | None:
    """What a document is ordered by; None where it has nothing that can be."""
    if order.path is None:
        return None
    value = value_at(metadata, order.path)
    return plain(value) if is_scalar(value) else None


def position_of(document: Document, order: Order) -> Position:
    """Where a document stands."""
    return Position(value_of(document.metadata, order), document.id)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a document stands, with what can be compared."""

    rank: tuple[Any, ...]
    id: str
    value: Scalar | None


def _place(id: str, value: Scalar | None, order: Order) -> _Place:
    return _Place(rank_of(Position(value, id), order), id, value)


def _place_of(position: Position, order: Order) -> _Place:
    return _place(position.id, position.value, order)


def _rank(place: _Place) -> tuple[Any, ...]:
    return place.rank


def rank_of(position: Position, order: Order) -> tuple[Any, ...]:
    """What positions in an order are compared by.

    False, true, numbers, texts by code point; or these from the last to the first. Behind them what
    has no value that can be ordered, and of equal values the smaller id first.

    Example:
        >>> values = ["b", None, 2, True, "a", 1.5]
        >>> positions = [Position(value, "id") for value in values]
        >>> [one.value for one in sorted(positions, key=lambda one: rank_of(one, Order(("k",))))]
        [True, 1.5, 2, 'a', 'b', None]
        >>> falling = Order(("k",), descending=True)
        >>> [one.value for one in sorted(positions, key=lambda one: rank_of(one, falling))]
        ['b', 'a', 2, 1.5, True, None]
    """
    if order.path is None:
        return (_Falling(position.id) if order.descending else position.id,)
    if position.value is None:
        return _LAST, 0, position.id
    kind, value = value_rank(position.value)
    if order.descending:
        return _LAST - 1 - kind, _Falling(value), position.id
    return kind, value, position.id


class _Falling:
    """A value that stands before smaller ones."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Falling) -> bool:
        return bool(self.value > other.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Falling) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


_KINDS: Final[dict[type, int]] = {bool: 0, int: 1, float: 1, str: 2}


def first_in_order(
    values: Sequence[Any], ids: Sequence[str], order: Order, limit: int | None
) -> list[int]:
    """The places of the first in an order, behind its beginning: what ranks say, for many at once.

    Args:
        values: What each holds at the key; nothing is read of it in the order of ids.
        ids: The id of each.
        order: The order, with the place behind which to begin.
        limit: How many at most.

    Example:
        >>> values, ids = ["b", None, 2, True, 2], ["v", "w", "x", "y", "a"]
        >>> first_in_order(values, ids, Order(("k",)), None)
        [3, 4, 2, 0, 1]
        >>> first_in_order(values, ids, Order(("k",), True, Position("b", "v")), 2)
        [4, 2]
    """
    after, falling = order.after, order.descending
    outermost = heapq.nlargest if falling else heapq.nsmallest
    if order.path is None:
        chosen = [
            place
            for place, id in enumerate(ids)
            if after is None or (id < after.id if falling else id > after.id)
        ]
        if limit is None:
            return sorted(chosen, key=ids.__getitem__, reverse=falling)
        return outermost(limit, chosen, key=ids.__getitem__)
    groups: list[list[int]] = [[], [], [], []]
    for place, value in enumerate(values):
        groups[_KINDS.get(type(value), _LAST)].append(place)
    kinds: tuple[int, ...] = (2, 1, 0, _LAST) if falling else (0, 1, 2, _LAST)
    if after is not None:
        begun = _LAST if after.value is None else _KINDS[type(after.value)]
        kinds = kinds[kinds.index(begun) :]
        groups[begun] = [
            place
            for place in groups[begun]
            if _is_behind(values[place], ids[place], after, falling)
        ]
    result: list[int] = []
    for kind in kinds:
        group = groups[kind]
        need = len(group) if limit is None else limit - len(result)
        if kind != _LAST and need < len(group):
            # Of most of them it is enough to see that others come before.
            [*_, last] = outermost(need, [values[place] for place in group]) or [None]
            group = [
                place
                for place in group
                if (values[place] >= last if falling else values[place] <= last)
            ]
        group.sort(key=ids.__getitem__)
        if kind != _LAST:
            group.sort(
                key=values.__getitem__, reverse=falling
            )  # which leaves equal ones as they are
        result += group[:need]
        if len(result) == limit:
            break
    return result


def _is_behind(value: Any, id: str, after: Position, falling: bool) -> bool:
    """Whether a document is behind a place, of whose kind its value is."""
    if after.value is None or value == after.value:
        return id > after.id
    return bool(value < after.value if falling else value > after.value)


# --- cursors --------------------------------------------------------------------------------------


def write_cursor(position: Position, order: Order) -> str:
    """A position as a text that a URL can hold; it is not secret and not signed."""
    content = [order_text(order), position.value, position.id]
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    check = zlib.crc32(data).to_bytes(4, "big")
    return base64.urlsafe_b64encode(check + data).decode("ascii").rstrip("=")


def read_cursor(cursor: Any, order: Order) -> Position:
    """The position in a cursor.

    Raises:
        TypeError: If it is no text.
        ValueError: If it is none, has been changed or cut, or is one of another order.
    """
    if not isinstance(cursor, str):
        raise TypeError(
            f"after is the text under .next of the page before, not a {type(cursor).__name__}"
        )
    content = _decoded(cursor)
    if content is None:
        raise ValueError(
            f"after is no place in an order, or only a part of one: {shown(cursor)}; pass .next of "
            "the page before, unchanged"
        )
    written, value, id = content
    if written != order_text(order):
        raise ValueError(
            f"after is a place in the order {shown(written)}, and this call asks for "
            f"{shown(order_text(order))}; go on with the order that the page before had, or leave "
            "out after to begin anew"
        )
    try:
        checked_id(id)
        if value is not None:
            value = plain(to_scalar(value))
    except (DocumentError, UnusableValue):
        raise ValueError("after is no place that a document can have; pass .next") from None
    return Position(value, id)


def _decoded(cursor: str) -> tuple[str, Any, str] | None:
    try:
        data = base64.b64decode(
            cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        )
        check, data = data[:4], data[4:]
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if zlib.crc32(data).to_bytes(4, "big") != check:
        return None
    if not isinstance(content, list) or len(content) != 3:
        return None
    written, value, id = content
    if not isinstance(written, str) or not isinstance(id, str):
        return None
    return (written, value, id) if value is None or type(value) in _SCALARS else None


_SCALARS: Final = frozenset({bool, int, float, str})
