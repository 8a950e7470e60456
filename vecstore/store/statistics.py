"""What there is under the keys of metadata: which keys, which values, and between which bounds.

Everything is told in terms of the filter language. A key's documents are those that match
``key IS NOT NULL``, a value's those that match ``key == value``, and the bounds are those of its
orderings. So an absent key, a null and an empty list are nothing here; a list counts by its
elements; and 1 and 1.0 are one value.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vecstore.cancelling import check_stop
from vecstore.errors import FilterLimitError
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression, FilterInput, Key, Op
from vecstore.filter.values import Scalar, literal_key
from vecstore.store.arguments import (
    KeyInput,
    Residual,
    read_count,
    read_evaluation,
    read_filter,
    read_key_path,
)
from vecstore.store.backend import value_at
from vecstore.store.operations import Call
from vecstore.store.residual import Evaluating

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore

MAX_FIELDS: Final = 10_000
"""So many keys :meth:`~vecstore.VectorStore.fields` tells of where a call does not say."""

MAX_VALUES: Final = 100_000
"""So many values :meth:`~vecstore.VectorStore.distinct` counts where a call does not say."""

_READ_AT_ONCE: Final = 1_000
_STOPPED_AFTER: Final = 256
_NAMES: Final[dict[type, str]] = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldInfo:
    """One key of metadata, as :meth:`~vecstore.VectorStore.fields` tells of it.

    Attributes:
        key: As a filter writes it: ``author.name`` is a path, ``"author.name"`` one name.
        path: Its names, outermost first.
        kinds: How many documents hold what under it, by ``"bool"``, ``"int"``, ``"float"``,
            ``"str"``, ``"list[bool]"``, ``"list[int]"``, ``"list[float]"`` (with a float in it),
            ``"list[str]"``, ``"list"`` (of what only others than vecstore write) and ``"object"``.
            A date or time is a text, as documents hold it. Kinds that do not occur are left out.

    Example:
        >>> FieldInfo(key="year", path=("year",), kinds={"int": 3, "str": 1}).documents
        4
    """

    key: str
    path: tuple[str, ...]
    kinds: Mapping[str, int] = field(hash=False)

    @property
    def documents(self) -> int:
        """How many documents have the key: as many as match ``key IS NOT NULL``."""
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class ValueCount:
    """One value under a key, as :meth:`~vecstore.VectorStore.distinct` tells of it.

    Attributes:
        value: The value. A number that documents hold both as an int and as a float is the int.
        count: How many documents match ``key == value``: those with the value, or with a list that
            it is in.
        forms: The value as documents hold it: ``(1, 1.0)`` where some hold one and some the other.
    """

    value: Scalar
    count: int
    forms: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        if not self.forms:
            object.__setattr__(self, "forms", (self.value,))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctValues:
    """The values under one key; iterating gives each :class:`ValueCount`.

    Attributes:
        key: The key, as a filter writes it.
        values: The values, those of most documents first. Of equally many: false, true, numbers,
            texts by code point.
        total: How many there are, also where a ``limit`` cuts ``values`` short.
    """

    key: str
    values: tuple[ValueCount, ...]
    total: int

    def __iter__(self) -> Iterator[ValueCount]:
        return iter(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinMax:
    """The bounds of the values under one key, as the orderings of filters see them.

    Between a number and a text there is no order, so each kind has bounds of its own. What cannot
    be ordered has no part in them: bools, lists and objects.

    Attributes:
        key: The key, as a filter writes it.
        numbers: The smallest and the largest number; None where there is none.
        strings: The first and the last text by code point, dates and times among them; None where
            there is none.

    Example:
        >>> bounds = MinMax(key="year", numbers=(1999, 2024), strings=None)
        >>> bounds.min, bounds.max
        (1999, 2024)
    """

    key: str
    numbers: tuple[int | float, int | float] | None
    strings: tuple[str, str] | None

    @property
    def min(self) -> int | float | str | None:
        """The smallest value; None where there is none.

        Raises:
            ValueError: If there are numbers and texts.
        """
        only = self._only()
        return None if only is None else only[0]

    @property
    def max(self) -> int | float | str | None:
        """The largest value; None where there is none.

        Raises:
            ValueError: If there are numbers and texts.
        """
        only = self._only()
        return None if only is None else only[1]

    def _only(self) -> tuple[int | float | str, int | float | str] | None:
        if self.numbers is not None and self.strings is not None:
            raise ValueError(
                f"under {self.key} there are numbers and texts, between which there is no order; "
                "read .numbers or .strings"
            )
        return self.numbers or self.strings


# --- calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsCall(Call[dict[str, FieldInfo]]):
    """``fields``."""

    operation: ClassVar[str] = "fields"
    filter: Expression | None = None
    most: int | None = MAX_FIELDS

    @classmethod
    def read(
        cls,
        filter: FilterInput,
        max_fields: int | None,
        residual: Residual | None,
        residual_limit: int | None,
    ) -> FieldsCall:
        """Check the arguments."""
        return cls(
            filter=read_filter(filter),
            most=_read_most("max_fields", max_fields),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> dict[str, FieldInfo]:
        """Read the metadata."""
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        counted = _Kinds(self.most)
        if matches:
            for metadata in _metadata(store, self.operation, filter):
                counted.take(metadata)
        return counted.told()


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCall(Call[DistinctValues]):
    """``distinct``."""

    operation: ClassVar[str] = "distinct"
    path: tuple[str, ...]
    filter: Expression | None = None
    limit: int | None = None
    most: int | None = MAX_VALUES

    @classmethod
    def read(
        cls,
        key: KeyInput,
        filter: FilterInput,
        limit: int | None,
        max_values: int | None,
        residual: Residual | None,
        residual_limit: int | None,
    ) -> DistinctCall:
        """Check the arguments."""
        return cls(
            path=read_key_path(key, "distinct"),
            filter=read_filter(filter),
            limit=None if limit is None else read_count("limit", limit),
            most=_read_most("max_values", max_values),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> DistinctValues:
        """Count."""
        check_declared(store, self.path)
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        counted = _Values(self.path, self.most)
        if matches:
            for value, count in _values(store, self.operation, self.path, filter):
                counted.take(value, count)
        return counted.told(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinMaxCall(Call[MinMax]):
    """``minmax``."""

    operation: ClassVar[str] = "minmax"
    path: tuple[str, ...]
    filter: Expression | None = None

    @classmethod
    def read(
        cls,
        key: KeyInput,
        filter: FilterInput,
        residual: Residual | None,
        residual_limit: int | None,
    ) -> MinMaxCall:
        """Check the arguments."""
        return cls(
            path=read_key_path(key, "minmax"),
            filter=read_filter(filter),
            evaluation=read_evaluation(residual, residual_limit),
        )

    def run(self, store: VectorStore) -> MinMax:
        """Look for them."""
        check_declared(store, self.path)
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        bounds = _Bounds(self.path)
        if not matches:
            return bounds.told()
        if type(filter) is Evaluating:
            for value, _ in _values(store, self.operation, self.path, filter):
                bounds.take(value)
        else:
            found = _pieces(store, self.operation, store._extremes, self.path, filter)
            for value in found:
                bounds.take(value)
        return bounds.told()


def check_declared(store: VectorStore, path: tuple[str, ...]) -> None:
    """Refuse a key that the schema of a store does not know, as it is refused in a filter."""
    if store.schema is not None:
        store.schema.check(Expression(Op.ISNOTNULL, Key(*path)))


def _read_most(name: str, value: int | None) -> int | None:
    most = None if value is None else read_count(name, value)
    if most == 0:
        raise ValueError(f"{name} is 1 or more, or None for no limit, not 0")
    return most


# --- reading --------------------------------------------------------------------------------------


def _metadata(store: VectorStore, operation: str, filter: Any) -> Iterator[Mapping[str, Any]]:
    """The metadata of all documents that match; no text and no vector is read for it."""
    for _, metadata in matching_metadata(store, operation, filter):
        yield metadata


def matching_metadata(
    store: VectorStore, operation: str, filter: Any
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Ids and metadata of all documents that match, a few of them in memory at a time."""
    if type(filter) is Evaluating:
        yield from filter.matching()
    else:
        yield from _pieces(store, operation, store._scan_metadata, filter, batch_size=_READ_AT_ONCE)


def _values(
    store: VectorStore, operation: str, path: tuple[str, ...], filter: Any
) -> Iterator[tuple[Any, int]]:
    """Values under a key, whole, each with how many documents hold it; some more than once."""
    if type(filter) is not Evaluating:
        yield from _pieces(store, operation, store._held_values, path, filter)
        return
    for _, metadata in filter.matching():
        yield value_at(metadata, path), 1


def _pieces(
    store: VectorStore, operation: str, hook: Callable[..., Any], *arguments: Any, **options: Any
) -> Iterator[Any]:
    found: Generator[Any] = store._ask_pieces(
        operation, _STOPPED_AFTER, hook, *arguments, **options
    )
    with closing(found):
        for number, one in enumerate(found):
            if not number % _STOPPED_AFTER:
                check_stop()
            yield one


# --- counting -------------------------------------------------------------------------------------


class _Kinds:
    """What stands under every key of the documents that were taken."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._found: dict[tuple[str, ...], dict[str, int]] = {}

    def take(self, metadata: Mapping[str, Any]) -> None:
        pending: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), metadata)]
        while pending:
            above, held = pending.pop()
            for name, value in held.items():
                if value is None or value == []:
                    continue
                path = (*above, name)
                kind = _kind(value)
                kinds = self._found.get(path)
                if kinds is None:
                    kinds = self._found[path] = {}
                    if self._most is not None and len(self._found) > self._most:
                        raise _too_many("keys", "max_fields", self._most, "hold keys as data", path)
                kinds[kind] = kinds.get(kind, 0) + 1
                if kind == "object":
                    pending.append((path, value))

    def told(self) -> dict[str, FieldInfo]:
        return {
            key: FieldInfo(key=key, path=path, kinds=dict(sorted(kinds.items())))
            for path, kinds in sorted(self._found.items())
            for key in (key_text(path),)
        }


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list):
        kinds = {_NAMES.get(type(item), "") for item in value}
        if kinds == {"int", "float"}:
            return "list[float]"
        return f"list[{kinds.pop()}]" if len(kinds) == 1 and "" not in kinds else "list"
    return _NAMES.get(type(value), "object")


class _Values:
    """How many documents hold each value under a key."""

    def __init__(self, path: tuple[str, ...], most: int | None) -> None:
        self._path = path
        self._most = most
        self._counts: dict[str, int] = {}
        self._forms: dict[str, dict[type, Scalar]] = {}

    def take(self, value: Any, count: int) -> None:
        if isinstance(value, list):
            # A document counts once for an element, however often that is in its list.
            for key in {self._noted(item) for item in value} - {None}:
                self._count(key, count)  # type: ignore[arg-type]
        else:
            key = self._noted(value)
            if key is not None:
                self._count(key, count)

    def _noted(self, value: Any) -> str | None:
        """The key of a value, whose form is kept; None for what has no value of its own."""
        if not is_scalar(value):
            return None
        key = literal_key(value)
        forms = self._forms.get(key)
        if forms is None:
            self._forms[key] = {type(value): plain(value)}
        elif type(value) not in forms:
            forms[type(value)] = plain(value)
        return key

    def _count(self, key: str, count: int) -> None:
        self._counts[key] = self._counts.get(key, 0) + count
        if self._most is not None and len(self._counts) > self._most:
            what = f"values under {key_text(self._path)}"
            raise _too_many(what, "max_values", self._most, "are nearly all different")

    def told(self, limit: int | None) -> DistinctValues:
        def found() -> Iterator[ValueCount]:
            for key, count in self._counts.items():
                forms = tuple([one for _, one in sorted(self._forms[key].items(), key=_ints_first)])
                yield ValueCount(forms[0], count, forms)

        def rank(one: ValueCount) -> tuple[Any, ...]:
            return -one.count, *value_rank(one.value)

        if limit is None:
            values = sorted(found(), key=rank)
        else:
            values = heapq.nsmallest(limit, found(), key=rank)
        return DistinctValues(
            key=key_text(self._path), values=tuple(values), total=len(self._counts)
        )


def _ints_first(form: tuple[type, Scalar]) -> bool:
    return form[0] is float


class _Bounds:
    """The smallest and the largest of the values under a key, for each kind that has an order."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._numbers: tuple[int | float, int | float] | None = None
        self._strings: tuple[str, str] | None = None

    def take(self, value: Any) -> None:
        if type(value) is str:
            if self._strings is None:
                self._strings = value, value
            elif value < self._strings[0]:
                self._strings = value, self._strings[1]
            elif value > self._strings[1]:
                self._strings = self._strings[0], value
        elif type(value) is int or type(value) is float:
            if is_scalar(value):
                self._take_number(plain(value))  # type: ignore[arg-type]

    def _take_number(self, value: int | float) -> None:
        if self._numbers is None:
            self._numbers = value, value
            return
        low, high = self._numbers
        # Of equal numbers the int, as in distinct: which one came first says nothing.
        if value < low or (value == low and type(value) is int):
            low = value
        if value > high or (value == high and type(value) is int):
            high = value
        self._numbers = low, high

    def told(self) -> MinMax:
        return MinMax(key=key_text(self._path), numbers=self._numbers, strings=self._strings)


def is_scalar(value: Any) -> bool:
    """Whether a value can be compared: what others wrote may hold anything.

    Example:
        >>> [is_scalar(value) for value in (1, "a", True, None, {}, float("nan"))]
        [True, True, True, False, False, False]
    """
    return type(value) in _NAMES and (type(value) is not float or math.isfinite(value))


def plain(value: Scalar) -> Scalar:
    """The value without a sign of zero, which not every engine keeps.

    Example:
        >>> plain(-0.0)
        0.0
    """
    return 0.0 if type(value) is float and value == 0 else value


def value_rank(value: Scalar) -> tuple[int, Scalar]:
    """Where a value stands among values of every kind: false, true, numbers, texts.

    Example:
        >>> sorted(["a", 2, True, 1.5, "B", False], key=value_rank)
        [False, True, 1.5, 2, 'B', 'a']
    """
    if type(value) is bool:
        return 0, value
    return (2 if type(value) is str else 1), value


def _too_many(
    what: str, limit: str, most: int, because: str, path: tuple[str, ...] | None = None
) -> FilterLimitError:
    where = "" if path is None else f", such as {key_text(path)[:60]}"
    return FilterLimitError(
        f"there are more than {most:,} {what}{where}: documents that {because} fill memory with "
        f"what is counted (limit {limit})",
        limit=limit,
        hint=f"look at fewer documents with filter=..., or allow more: {limit}={10 * most}",
    )
