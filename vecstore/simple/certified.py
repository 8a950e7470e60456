"""A first look at vectors in int8: which rows may be among the best, and which cannot.

The product of a query with the int8 of a row is off by no more than what both left out allows
(Cauchy-Schwarz), so each row has a lowest and a highest score. At least ``top_k`` rows reach the
``top_k``-th of the lowest scores; a row whose highest score is below it is none of the best. All
others are scored again in float32, as they are without int8: the results are the same, ties
included, and a wide bound costs time only.

What float32 arithmetic does to the scores themselves, here and in the search that follows, is part
of the bound: a product of length n is off by n * eps * |x| * |y| at most, however it is added up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vecstore.simple.codes import EPSILON, LARGEST, MOST_DIMENSIONS, Codes, Numbers, dots_of_int8
from vecstore.simple.scoring import SAFE_LENGTH, lower_bound
from vecstore.simple.table import Rows, Snapshot
from vecstore.vectors import Vector

_FEW_NUMBERS = 256 * 1024
"""So many numbers are scored at once sooner than looked at first."""

_MANY = 0.25
"""Of the rows: to gather more of them takes longer than to look at them all."""

_PIECE_BYTES = 512 * 1024


def narrowed(snapshot: Snapshot, query: Vector, rows: Rows | None, top_k: int) -> Rows | None:
    """The rows among which the ``top_k`` best are; ``rows`` where nothing can be left out.

    Args:
        snapshot: The state that is searched.
        query: What to search for.
        rows: The rows that match the filter, ascending; None for every row.
        top_k: How many are wanted, from 1 on.
    """
    codes = snapshot.codes
    count = snapshot.size if rows is None else len(rows)
    dimension = len(query)
    if (
        codes is None
        or snapshot.extreme
        or count * dimension < _FEW_NUMBERS
        or count < 4 * top_k
        or dimension > MOST_DIMENSIONS
    ):
        return rows
    wide = query.astype(np.float64)
    length = float(np.sqrt(np.vecdot(wide, wide)))
    if not 1 / SAFE_LENGTH <= length <= SAFE_LENGTH:
        return rows
    if codes.relative:
        wide /= length
        length = 1.0
    step = float(np.abs(wide).max()) / LARGEST
    numbers = np.rint(wide / step)
    wide -= step * numbers
    rest = float(np.sqrt(np.vecdot(wide, wide)))

    highest = _products(codes, snapshot.size, numbers.astype(np.int8), rows)
    steps, rests = codes.steps[: snapshot.size], codes.rests[: snapshot.size]
    lengths = snapshot.lengths[: snapshot.size]
    if rows is not None:
        steps, rests = steps[rows], rests[rows]
    highest *= steps
    rounding = 4 * (dimension + 16) * EPSILON
    if codes.relative:
        highest *= np.float32(step)
        width = rests * np.float32(length + rest)
        width += np.float32(rest + rounding)
    else:
        if rows is not None:
            lengths = lengths[rows]
        width = rests * np.float32(length + rest)
        width += lengths * np.float32(rest + rounding * length)
        highest *= np.float32(step)
        if snapshot.metric == "euclidean":
            # In place of the distance, -|x - y|^2 less what all rows have of it: 2xy - x^2.
            squares = lengths * lengths
            highest *= 2
            highest -= squares
            width *= 2
            squares *= np.float32(rounding)
            width += squares
            width += np.float32(rounding * length * length)
    highest -= width
    bound = lower_bound(highest, top_k)
    width *= 2
    highest += width
    if codes.relative:
        bound = min(bound, 1.0)  # scores end there, and rows beyond are tied
        if bound <= -1.0:
            return rows
    found = np.flatnonzero(highest >= bound)
    return found if rows is None else rows[found]


def _products(codes: Codes, size: int, query: Numbers, rows: Rows | None) -> NDArray[np.float32]:
    """A query's products with all rows, or with some."""
    dots = dots_of_int8()
    numbers = codes.numbers[:size]
    if rows is None:
        return dots(query, numbers)
    if len(rows) > _MANY * size:
        return dots(query, numbers)[rows]
    step = max(1, _PIECE_BYTES // len(query))
    buffer = np.empty((min(step, len(rows)), len(query)), np.int8)
    result = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), step):
        part = buffer[: min(step, len(rows) - start)]
        # "clip" is what writes to the buffer at once; no row is out of range.
        np.take(numbers, rows[start : start + step], axis=0, out=part, mode="clip")
        result[start : start + step] = dots(query, part)
    return result
