"""The values of one metadata key, in one array for each kind of value.

==========  ===================================================================================
absent      a missing key, a null, an empty list; nothing but its kind
bool        in the kind itself
number      float64; integers that float64 would round are kept apart, as int64
text        the number of the text in a dictionary of the column's texts
list        the elements, one after the other, in such arrays of their own, with the row of each
object      nothing but its kind: no comparison with it is true
odd         what has no place here: integers past 64 bits, and what no document of a store holds
==========  ===================================================================================
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from operator import ge, gt, le, lt
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecstore.filter.tree import Op

Mask = NDArray[np.bool_]
"""One truth value a row."""

Row = dict[str, Any]
Path = tuple[str, ...]

BLOCK = 65_536
"""Rows read or decided at once, so that what is made on the way stays small."""

ABSENT, OBJECT, FALSE, TRUE, FLOAT, INTEGER, TEXT, LIST, ODD = range(9)
"""Kinds; ``INTEGER`` is one that float64 would round."""

EXACT = 2**53
"""Float64 holds every integer up to here."""

SMALLEST, LARGEST = -(2**63), 2**63 - 1
"""Of int64."""

_BYTES_A_COLUMN = 1_024
_BYTES_A_TEXT = 108
"""About what Python takes for a column, and for a text in its dictionary and in order; the texts
themselves are the documents'."""

_FEW_TEXTS = 96
"""So many texts that came since the last sorting are compared one by one."""


class _KindOfType(dict[type, int]):
    def __missing__(self, key: type) -> int:
        return ODD


_KINDS = _KindOfType(
    {
        NoneType: ABSENT,
        dict: OBJECT,
        bool: TRUE,
        float: FLOAT,
        int: INTEGER,
        str: TEXT,
        list: LIST,
    }
)

_GROUPS = np.zeros(9, np.uint8)
_GROUPS[[FALSE, TRUE]] = 1
_GROUPS[[FLOAT, INTEGER]] = 2
_GROUPS[TEXT] = 3
"""Of the kinds that a list may hold, which ones it may hold together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Values one after the other, each in the array of its kind.

    Attributes:
        size: How many.
        kinds: The kind of each; None where all are absent.
        floats: Numbers, NaN in other places; None where there is none.
        integers: Integers that float64 would round, 0 in other places; None where there is none.
        codes: Texts, as their numbers in the dictionary, -1 in other places; None likewise.
        bound: Larger than any of ``codes``.
        owners: For each element of a list its list's place, ascending; None without lists.
        elements: The elements of the lists.
        odd: The places of values that have to be looked at one by one, ascending.
    """

    size: int
    kinds: NDArray[np.uint8] | None = None
    floats: NDArray[np.float64] | None = None
    integers: NDArray[np.int64] | None = None
    codes: NDArray[np.int32] | None = None
    bound: int = 0
    owners: NDArray[np.intp] | None = None
    elements: Values | None = None
    odd: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.kinds, self.floats, self.integers, self.codes, self.owners, self.odd)
        own = sum(array.nbytes for array in arrays if array is not None)
        return own + (0 if self.elements is None else self.elements.nbytes)


class Texts:
    """The texts of a column, numbered.

    Numbers are drawn one by one and never taken back: threads that read the same rows at the same
    time may leave a number without a text, but never give one number to two texts.
    """

    __slots__ = ("_draw", "_ordered", "codes")

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self._draw = count().__next__
        self._ordered: tuple[list[str], NDArray[np.int32]] = ([], np.empty(0, np.int32))

    def numbered(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The number of each text."""
        codes = self.codes
        for text in dict.fromkeys(texts):
            if text not in codes:
                codes.setdefault(text, self._draw())
        return np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))

    def compared(self, op: Op, literal: str) -> NDArray[np.int32]:
        """The numbers of the texts that compare so with the literal."""
        ordered, ranked = self._ordered
        if len(self.codes) - len(ordered) > max(_FEW_TEXTS, len(ordered) // 4):
            ordered = sorted(self.codes)
            ranked = np.fromiter(map(self.codes.__getitem__, ordered), np.int32, len(ordered))
            self._ordered = ordered, ranked
        place = (bisect_right if op in (Op.GT, Op.LTE) else bisect_left)(ordered, literal)
        found = ranked[place:] if op in (Op.GT, Op.GTE) else ranked[:place]
        if len(self.codes) == len(ordered):
            return found
        compare = _COMPARE_TEXTS[op]
        # Those that have come since: a dict keeps them in the order in which they came.
        later = islice(list(self.codes.items()), len(ordered), None)
        more = [number for text, number in later if compare(text, literal)]
        return np.concatenate([found, np.array(more, np.int32)])


class Column:
    """The values of one key in the first ``size`` rows; never changed but for ``used``."""

    __slots__ = ("nbytes", "path", "size", "texts", "used", "values")

    def __init__(
        self, path: Path, values: Values | None = None, texts: Texts | None = None
    ) -> None:
        self.path = path
        self.values = Values(size=0) if values is None else values
        self.texts = Texts() if texts is None else texts
        self.size = self.values.size
        self.used = 0
        of_texts = _BYTES_A_TEXT * len(self.texts.codes)
        self.nbytes = _BYTES_A_COLUMN + sum(map(len, path)) + self.values.nbytes + of_texts
        """About how many bytes it takes."""

    def extended(self, rows: Sequence[Row], size: int) -> Column:
        """The column of the first ``size`` rows."""
        parts = [self.values]
        for start in range(self.size, size, BLOCK):
            values = values_at(self.path, rows[start : min(start + BLOCK, size)])
            parts.append(_read(values, self.texts))
        return Column(self.path, _joined(parts), self.texts)


def values_at(path: Path, rows: Sequence[Row]) -> list[Any]:
    """The value of each row at a path; None where there is none."""
    first, *rest = path
    values: list[Any] = [row.get(first) for row in rows]
    if not rest:
        return values
    places: Sequence[int] = range(len(rows))
    for name in rest:
        # Only where there is an object the walk goes on: few rows may have one.
        places = [
            place
            for place in places
            if (kind := values[place].__class__) is dict
            or (kind not in _KINDS and isinstance(values[place], Mapping))
        ]
        for place in places:
            values[place] = values[place].get(name)
    result: list[Any] = [None] * len(rows)
    for place in places:
        result[place] = values[place]
    return result


def grouped(values: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Scalars and lists with how often each occurs, numbers apart by type.

    Lists of texts come together, others each by itself.

    Example:
        >>> list(grouped(["a", 1, None, "a", 1.0, ["b"]]))
        [('a', 2), (1, 1), (1.0, 1), (['b'], 1)]
    """
    by_type: dict[type, list[Any]] = {}
    for kind in dict.fromkeys(map(type, values)):
        by_type[kind] = [value for value in values if type(value) is kind]
    for kind, held in by_type.items():
        if kind is str or kind is bool:
            yield from Counter(held).items()
        elif kind is int or kind is float:
            # By text: numbers can be chosen so that the hashes of all of them are the same.
            write, read = (hex, _from_hex) if kind is int else (float.hex, float.fromhex)
            for text, count in Counter(map(write, held)).items():
                yield read(text), count
        elif kind is list:
            texts = [tuple(value) for value in held if set(map(type, value)) == {str}]
            yield from ((list(value), count) for value, count in Counter(texts).items())
            yield from ((value, 1) for value in held if set(map(type, value)) != {str})


def _from_hex(text: str) -> int:
    return int(text, 16)


def _read(values: list[Any], texts: Texts, *, elements: bool = False) -> Values:
    """Sort values into arrays.

    Args:
        values: Of one key, or the elements of its lists.
        texts: The column's dictionary.
        elements: Whether they are elements, among which nothing but scalars has a place.
    """
    size = len(values)
    types = set(map(type, values))
    if types <= {NoneType} and not elements:
        return Values(size=size)
    if len(types) == 1:
        kinds = np.full(size, _KINDS[types.pop()], np.uint8)
    else:
        kinds = np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, size)
    if elements:
        kinds[(kinds == ABSENT) | (kinds == OBJECT) | (kinds == LIST)] = ODD
    floats: NDArray[np.float64] | None = None
    integers: NDArray[np.int64] | None = None
    codes: NDArray[np.int32] | None = None
    owners, parts = None, None
    for kind in np.unique(kinds).tolist():
        if kind in (ABSENT, OBJECT, ODD):
            continue
        here = np.flatnonzero(kinds == kind)
        chosen = values if len(here) == size else [values[place] for place in here.tolist()]
        if kind == TRUE:
            kinds[here] = np.where(np.array(chosen, np.bool_), TRUE, FALSE)
        elif kind == TEXT:
            codes = np.full(size, -1, np.int32)
            codes[here] = texts.numbered(chosen)
        elif kind == FLOAT:
            floats = np.full(size, np.nan) if floats is None else floats
            floats[here] = chosen
            kinds[here[~np.isfinite(floats[here])]] = ODD
        elif kind == INTEGER:
            whole, fitting = _integers(chosen)
            kinds[here[~fitting]] = ODD
            rounded = fitting & ((whole > EXACT) | (whole < -EXACT))
            exact = fitting & ~rounded
            if exact.any():
                floats = np.full(size, np.nan) if floats is None else floats
                floats[here[exact]] = whole[exact]
                kinds[here[exact]] = FLOAT
            if rounded.any():
                integers = np.zeros(size, np.int64)
                integers[here[rounded]] = whole[rounded]
        else:
            owners, parts = _read_lists(chosen, here, kinds, texts)
    return Values(
        size=size,
        kinds=kinds,
        floats=floats,
        integers=integers,
        codes=codes,
        bound=0 if codes is None else int(codes.max()) + 1,
        owners=owners,
        elements=parts,
        odd=np.flatnonzero(kinds == ODD),
    )


def _integers(values: list[int]) -> tuple[NDArray[np.int64], Mask]:
    """Integers as an array, and which of them fit into it; the others are 0 there."""
    try:
        return np.array(values, np.int64), np.ones(len(values), np.bool_)
    except OverflowError:
        fitting = [SMALLEST <= value <= LARGEST for value in values]
        held = [value if fits else 0 for value, fits in zip(values, fitting, strict=True)]
        return np.array(held, np.int64), np.array(fitting, np.bool_)


def _read_lists(
    lists: list[list[Any]], places: NDArray[np.intp], kinds: NDArray[np.uint8], texts: Texts
) -> tuple[NDArray[np.intp] | None, Values | None]:
    """The elements of lists and whose they are; corrects the kinds of the lists themselves."""
    lengths = np.fromiter(map(len, lists), np.intp, len(lists))
    filled = lengths > 0
    kinds[places[~filled]] = ABSENT
    if not filled.any():
        return None, None
    places, lengths = places[filled], lengths[filled]
    elements = _read(list(chain.from_iterable(lists)), texts, elements=True)
    assert elements.kinds is not None
    # Elements of more than one type have no place in a document, nor have odd ones here.
    groups = _GROUPS[elements.kinds]
    starts = np.cumsum(lengths) - lengths
    lowest, highest = np.minimum.reduceat(groups, starts), np.maximum.reduceat(groups, starts)
    kinds[places[(lowest != highest) | (lowest == 0)]] = ODD
    return np.repeat(places, lengths), elements


def _joined(parts: Sequence[Values]) -> Values:
    """Values one after the other, as one."""
    parts = [part for part in parts if part.size]
    if len(parts) == 1:
        return parts[0]
    size = sum(part.size for part in parts)
    if all(part.kinds is None for part in parts):
        return Values(size=size)
    starts = np.cumsum([0, *[part.size for part in parts]]).tolist()
    with_lists = [part.elements for part in parts if part.elements is not None]
    owners = [
        part.owners + start
        for part, start in zip(parts, starts, strict=False)
        if part.owners is not None
    ]
    return Values(
        size=size,
        kinds=_one_array([part.kinds for part in parts], starts, ABSENT),
        floats=_one_array([part.floats for part in parts], starts, np.nan),
        integers=_one_array([part.integers for part in parts], starts, 0),
        codes=_one_array([part.codes for part in parts], starts, -1),
        bound=max(part.bound for part in parts),
        owners=np.concatenate(owners) if owners else None,
        elements=_joined(with_lists) if with_lists else None,
        odd=np.concatenate([part.odd + start for part, start in zip(parts, starts, strict=False)]),
    )


def _one_array(parts: Sequence[NDArray[Any] | None], starts: list[int], empty: float) -> Any:
    """Arrays one after the other; None where all are missing, ``empty`` where some are."""
    given = next((part for part in parts if part is not None), None)
    if given is None:
        return None
    whole = np.full(starts[-1], empty, given.dtype)
    for part, start, stop in zip(parts, starts, starts[1:], strict=False):
        if part is not None:
            whole[start:stop] = part
    return whole


_COMPARE_TEXTS: dict[Op, Callable[[str, str], bool]] = {
    Op.GT: gt,
    Op.GTE: ge,
    Op.LT: lt,
    Op.LTE: le,
}
