"""Metadata by columns: a filter decided for all documents at once.

Asking a filter of each document in Python takes a tenth of a second for a few hundred thousand of
them. A :class:`MetadataTable` reads the values of a key once, into the arrays of a column
(:mod:`vecstore.simple.columns`), and decides a comparison for all rows in a few instructions of
numpy. Rows with a value that has no place there are asked one by one.

The third truth value needs no array. A filter from which NOT has been pushed down to the
comparisons is built of AND and OR, which are monotone, over comparisons that are TRUE or not: the
mask of a comparison holds the rows where it is TRUE, and AND and OR of masks then hold those where
the whole is. Where a filter is FALSE, its negation is TRUE; where neither is, it is UNKNOWN.

Rows are only ever appended, and a row never changes: so does a column. One that has become longer
is another column, put in the place of the old one by one assignment. Readers share columns without
a lock: whoever misses one reads it, and at worst two of them read the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecstore.filter.evaluate import Test, stored_matcher
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, Op
from vecstore.simple.columns import (
    ABSENT,
    BLOCK,
    FALSE,
    INTEGER,
    LARGEST,
    SMALLEST,
    TRUE,
    Column,
    Mask,
    Path,
    Row,
    Texts,
    Values,
)

MaskOf = Callable[[int, int], Mask]
"""First row, row after the last -> a new mask of the rows between."""

FEW_ROWS = 96
"""So many rows are asked one by one before a column is read or made longer for them."""

_DEEPEST = 64
"""Levels of AND and OR that are decided by masks."""

_MOST_COLUMNS = 1_024
_LEAST_BYTES = 32 * 1024 * 1024
_BYTES_A_ROW = 192
"""What the columns of one table may take: strangers choose which keys are asked for."""

_FEW_LITERALS = 8
"""So many literals are compared one by one."""


class MetadataTable:
    """Metadata of many documents, one a row, and the columns that filters have asked for.

    Args:
        rows: Metadata of each document. It may become longer; a row that a mask was asked for must
            not change any more.
        matcher: Makes the test that decides a single row. When left out, it takes values as a
            store holds them; ``Expression.matcher`` reads them as a document would hold them.

    Example:
        >>> from vecstore import F
        >>> table = MetadataTable([{"year": 2019}, {"year": 2021}, {"year": "2021"}, {}])
        >>> table.select(F.year > 2020).tolist()
        [False, True, False, False]
        >>> table.select(~(F.year == 2021)).tolist()
        [True, False, True, True]
    """

    def __init__(
        self,
        rows: Sequence[Row],
        matcher: Callable[[Expression], Test] = stored_matcher,
    ) -> None:
        self.rows = rows
        self._matcher = matcher
        self._columns: dict[Path, Column] = {}
        self._clock = count()

    @property
    def nbytes(self) -> int:
        """About how many bytes the columns take, beside the metadata itself."""
        return sum(column.nbytes for column in list(self._columns.values()))

    def select(self, filter: Expression, size: int | None = None) -> Mask:
        """The rows on which a filter is TRUE, as a mask.

        Args:
            filter: Any expression.
            size: How many rows to look at, from the first on; all of them when left out.

        Raises:
            DocumentError: From a ``matcher`` that refuses a value which the filter looks at.
        """
        size = len(self.rows) if size is None else size
        simple = filter.kept.simple
        if simple is None:
            simple = simplified(filter)
        elif simple is ...:
            simple = filter
        if isinstance(simple, bool):
            return np.full(size, simple)
        if size <= FEW_ROWS:
            return self._asked(simple, range(size))
        selection = _Selection(self, simple, size)
        mask_of = selection.compiled(simple)
        if mask_of is None:
            return self._asked(simple, range(size))
        covered = selection.covered
        mask = np.empty(size, np.bool_)
        for start in range(0, covered, BLOCK):
            stop = min(start + BLOCK, covered)
            mask[start:stop] = mask_of(start, stop)
        if covered < size:
            mask[covered:] = self._asked(simple, range(covered, size))
        odd = selection.odd_rows()
        if odd:
            mask[odd] = self._asked(simple, odd)
        return mask

    def _asked(self, simple: Expression, rows: Sequence[int]) -> Mask:
        """The rows asked one by one."""
        matches, held = self._matcher(simple), self.rows
        return np.fromiter(map(matches, map(held.__getitem__, rows)), np.bool_, len(rows))

    def _column(self, path: Path, covered: int, size: int) -> Column:
        """The column of a key, with at least ``covered`` rows; read up to ``size`` if at all."""
        column = self._columns.get(path)
        if column is None or column.size < covered:
            column = (column or Column(path)).extended(self.rows, size)
            column.used = next(self._clock)
            self._columns[path] = column
            self._forget()
        else:
            column.used = next(self._clock)
        return column

    def _forget(self) -> None:
        """Drop the columns that were not asked for longest, where there are too many."""
        columns = list(self._columns.items())
        most = max(_LEAST_BYTES, _BYTES_A_ROW * len(self.rows))
        total = sum(column.nbytes for _, column in columns)
        if total <= most and len(columns) <= _MOST_COLUMNS:
            return
        columns.sort(key=lambda item: item[1].used)
        left = len(columns)
        for path, column in columns[:-1]:  # the newest one is needed, whatever it takes
            if total <= most and left <= _MOST_COLUMNS:
                break
            self._columns.pop(path, None)
            total -= column.nbytes
            left -= 1


class _Selection:
    """One filter on its way over a table: which columns it needed, and how far they reach."""

    def __init__(self, table: MetadataTable, simple: Expression, size: int) -> None:
        self._table = table
        self._size = size
        self._used: dict[Path, Column] = {}
        # A few rows more than a column has are cheaper asked than read.
        enough = size - max(FEW_ROWS, size // 1_024)
        self.covered = size
        for node in simple.walk():
            if node.op not in LOGICAL:
                column = table._columns.get(node.key.path)
                if column is not None and enough <= column.size < self.covered:
                    self.covered = column.size

    def odd_rows(self) -> list[int]:
        """The rows that have to be asked one by one."""
        parts = [column.values.odd for column in self._used.values() if len(column.values.odd)]
        if not parts:
            return []
        rows = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        listed: list[int] = rows[: np.searchsorted(rows, self.covered)].tolist()
        return listed

    def compiled(self, node: Expression, depth: int = 0) -> MaskOf | None:
        """A function from a stretch of rows to their mask; None where a tree is too deep."""
        if node.op not in LOGICAL:
            return self._later(node)
        if depth == _DEEPEST:
            return None
        parts: list[MaskOf] = []
        for child in node.operands:
            part = self.compiled(child, depth + 1)
            if part is None:
                return None
            parts.append(part)
        return _all_of(parts) if node.op is Op.AND else _any_of(parts)

    def _later(self, atom: Expression) -> MaskOf:
        """An atom whose column is looked for when the rest has not decided all rows."""
        compiled: MaskOf | None = None

        def mask(start: int, stop: int) -> Mask:
            nonlocal compiled
            if compiled is None:
                compiled = _atom(atom, self._column(atom.key.path))
            return compiled(start, stop)

        return mask

    def _column(self, path: Path) -> Column:
        column = self._used.get(path)
        if column is None:
            column = self._used[path] = self._table._column(path, self.covered, self._size)
        return column


def _all_of(parts: list[MaskOf]) -> MaskOf:
    def mask(start: int, stop: int) -> Mask:
        first, *rest = parts
        result = first(start, stop)
        for part in rest:
            if not result.any():
                break
            result &= part(start, stop)
        return result

    return mask


def _any_of(parts: list[MaskOf]) -> MaskOf:
    def mask(start: int, stop: int) -> Mask:
        first, *rest = parts
        result = first(start, stop)
        for part in rest:
            if result.all():
                break
            result |= part(start, stop)
        return result

    return mask


def _atom(atom: Expression, column: Column) -> MaskOf:
    """Where a comparison is TRUE; it is not asked about rows that are odd."""
    op, values = atom.op, column.values
    if op in (Op.ISNULL, Op.ISNOTNULL):
        return _kind_is(values, ABSENT) if op is Op.ISNULL else _not(_kind_is(values, ABSENT))
    if op in ORDERINGS:
        literal = atom.value.items[0]
        if isinstance(literal, str):
            if values.codes is None:
                return _nowhere
            return _coded(values.codes, column.texts.compared(op, literal), values.bound)
        return _ordered_numbers(values, op, literal)
    equal = _equal(values, column.texts, _Literals(atom.value.items))
    return equal if op in (Op.EQ, Op.IN) else _not(equal)


def _nowhere(start: int, stop: int) -> Mask:
    return np.zeros(stop - start, np.bool_)


def _everywhere(start: int, stop: int) -> Mask:
    return np.ones(stop - start, np.bool_)


def _not(part: MaskOf) -> MaskOf:
    def mask(start: int, stop: int) -> Mask:
        result = part(start, stop)
        return np.logical_not(result, out=result)

    return mask


def _kind_is(values: Values, kind: int) -> MaskOf:
    kinds = values.kinds
    if kinds is None:
        return _everywhere if kind == ABSENT else _nowhere
    return lambda start, stop: np.equal(kinds[start:stop], kind)


class _Literals:
    """The literals of a comparison, kept apart by kind: True and 1 are equal to Python."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.texts: list[str] = []
        self.truths: set[bool] = set()
        self.floats: list[float] = []
        self.integers: list[int] = []
        for item in items:
            if isinstance(item, str):
                self.texts.append(item)
            elif isinstance(item, bool):
                self.truths.add(item)
            elif isinstance(item, float):
                self.floats.append(item)
                if item.is_integer() and SMALLEST <= item <= LARGEST:
                    self.integers.append(int(item))
            else:
                nearest = _nearest_float(item)
                if nearest == item:
                    self.floats.append(nearest)
                if SMALLEST <= item <= LARGEST:
                    self.integers.append(item)


def _equal(values: Values, texts: Texts, literals: _Literals) -> MaskOf:
    """Where a value, or an element of a list, is one of the literals."""
    parts = [_kind_is(values, TRUE if truth else FALSE) for truth in literals.truths]
    if values.codes is not None:
        codes = texts.codes
        found = [code for text in literals.texts if (code := codes.get(text)) is not None]
        if found:
            parts.append(_coded(values.codes, found, values.bound))
    if values.floats is not None and literals.floats:
        parts.append(_among(values.floats, literals.floats))
    if values.integers is not None and literals.integers:
        among = _among(values.integers, literals.integers)
        parts.append(_all_of([_kind_is(values, INTEGER), among]))
    if values.elements is not None and values.owners is not None:
        of_elements = _equal(values.elements, texts, literals)
        if of_elements is not _nowhere:
            parts.append(_of_owners(values.owners, of_elements))
    parts = [part for part in parts if part is not _nowhere]
    if not parts:
        return _nowhere
    return parts[0] if len(parts) == 1 else _any_of(parts)


def _of_owners(owners: NDArray[np.intp], of_elements: MaskOf) -> MaskOf:
    """Lists of which an element is chosen."""

    def mask(start: int, stop: int) -> Mask:
        first, last = np.searchsorted(owners, (start, stop)).tolist()
        result = np.zeros(stop - start, np.bool_)
        result[owners[first:last][of_elements(first, last)] - start] = True
        return result

    return mask


def _coded(codes: NDArray[np.int32], numbers: list[int] | NDArray[np.int32], bound: int) -> MaskOf:
    """Where a text's number is one of these."""
    if not len(numbers):
        return _nowhere
    if len(numbers) <= 2:
        return _among(codes, [int(number) for number in numbers])
    chosen = np.asarray(numbers, np.int32)
    # One place more than there are numbers, so that -1 leads to no text.
    table = np.zeros(max(bound, int(chosen.max()) + 1) + 1, np.bool_)
    table[chosen] = True
    return lambda start, stop: table[codes[start:stop]]


def _among(array: NDArray[Any], literals: Sequence[float]) -> MaskOf:
    """Where a number is one of the literals."""
    if len(literals) == 1:
        (one,) = literals
        return lambda start, stop: np.equal(array[start:stop], one)
    if len(literals) <= _FEW_LITERALS:

        def mask(start: int, stop: int) -> Mask:
            part = array[start:stop]
            result: Mask = part == literals[0]
            for literal in literals[1:]:
                result |= part == literal
            return result

        return mask
    # By order and not by hash: a stranger could choose numbers that all have the same hash.
    ordered = np.unique(np.array(literals, array.dtype))
    last = len(ordered) - 1

    def looked_up(start: int, stop: int) -> Mask:
        part = array[start:stop]
        found: Mask = ordered[np.minimum(np.searchsorted(ordered, part), last)] == part
        return found

    return looked_up


def _ordered_numbers(values: Values, op: Op, literal: float) -> MaskOf:
    parts: list[MaskOf] = []
    if values.floats is not None:
        compare, floats = _COMPARE_ARRAYS[op], values.floats
        bound = literal
        if not isinstance(literal, float):
            bound = _nearest_float(literal)
            # The nearest float lies on one side: what is between the two is no float.
            if bound > literal:
                compare = np.greater_equal if op in _UPWARDS else np.less
            elif bound < literal:
                compare = np.greater if op in _UPWARDS else np.less_equal
        parts.append(lambda start, stop: compare(floats[start:stop], bound))
    if values.integers is not None:
        integers = values.integers
        whole = int(literal)  # a float with a fraction lies before all of these integers
        if SMALLEST <= whole <= LARGEST:
            compare_whole = _COMPARE_ARRAYS[op]
            ordered: MaskOf = lambda start, stop: compare_whole(integers[start:stop], whole)  # noqa: E731
            parts.append(_all_of([_kind_is(values, INTEGER), ordered]))
        elif (whole < 0) is (op in _UPWARDS):
            parts.append(_kind_is(values, INTEGER))
    if not parts:
        return _nowhere
    return parts[0] if len(parts) == 1 else _any_of(parts)


def _nearest_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_UPWARDS = frozenset({Op.GT, Op.GTE})
_COMPARE_ARRAYS: dict[Op, Callable[[Any, Any], Mask]] = {
    Op.GT: np.greater,
    Op.GTE: np.greater_equal,
    Op.LT: np.less,
    Op.LTE: np.less_equal,
}
