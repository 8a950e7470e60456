"""A first look at many vectors, which decides nothing: which rows may be among the best.

It is quicker than scoring and rounds otherwise, so what comes within its error of the best
``top_k`` is scored again, as every search scores it. The results are the same, ties included, and
a wide bound costs time only.

**In int8.** The product of a query with the int8 of a row is off by no more than what both left out
allows (Cauchy-Schwarz), so each row has a lowest and a highest score. At least ``top_k`` rows reach
the ``top_k``-th of the lowest scores; a row whose highest score is below it is none of the best.

**For several searches at once.** A product of matrices reads the vectors once for many queries.
Equal vectors may score differently in it by where they stand; whatever comes within twice its
rounding error of the best is looked at again.

What float32 arithmetic does to the scores themselves, here and in the search that follows, is part
of the bound: a product of length n is off by n * eps * |x| * |y| at most, however it is added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vecstore.simple.codes import EPSILON, LARGEST, MOST_DIMENSIONS, Codes, Numbers, dots_of_int8
from vecstore.simple.table import BLOCK, MANY, SAFE_LENGTH, Rows, Snapshot, lower_bound
from vecstore.vectors import Matrix, Vector

_FEW_NUMBERS = 256 * 1024
"""So many numbers are scored at once sooner than looked at first."""

_MANY_CODES = 0.25
"""Of the rows: to gather more of them takes longer than to look at them all."""

_PIECE_BYTES = 512 * 1024

_SCORES_AT_ONCE = 16 * 1024 * 1024
"""Scores of a product that are held at a time, in float32."""

_FEW = 64
"""Queries for which most rows are not gathered before they are multiplied."""

_LARGEST = 1e37
"""No product that float32 holds with certainty is longer."""


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
    if len(rows) > _MANY_CODES * size:
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


# --- several searches at once --------------------------------------------------------------------


def candidates(
    snapshot: Snapshot, queries: Matrix, rows: Rows | None, top_k: int
) -> Iterator[Rows | None]:
    """For each query the rows among which its ``top_k`` best are; None where all may be.

    Args:
        snapshot: The state that is searched.
        queries: One a row, float32.
        rows: The rows that match the filter, ascending; None for every row.
        top_k: How many are wanted, from 1 on.
    """
    count = snapshot.size if rows is None else len(rows)
    if snapshot.metric == "euclidean" or snapshot.extreme or top_k * 4 >= count or count < 1_000:
        yield from [rows] * len(queries)
        return
    matrix = snapshot.matrix[: snapshot.size]
    lengths = snapshot.lengths[: snapshot.size]
    chosen: Rows | slice = slice(None)
    if rows is not None:
        if len(queries) <= _FEW and len(rows) > MANY * len(matrix):
            chosen = rows  # of the products: fewer numbers are copied than of the vectors
        else:
            matrix, lengths = matrix[rows], lengths[rows]
    wide = queries.astype(np.float64)
    of_queries = np.sqrt(np.vecdot(wide, wide))
    # Of a dot product of length n: |error| <= n * eps * |x| * |y|, for each way of adding up.
    error = 2.0 * queries.shape[1] * EPSILON
    longest = float(lengths.max(initial=0.0))
    lengths = lengths[chosen]
    margins = error * of_queries * (1.0 if snapshot.metric == "cosine" else longest)
    step = max(1, _SCORES_AT_ONCE // len(matrix))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        if not float(of_queries[part].max()) * longest < _LARGEST:
            yield from [rows] * len(queries[part])  # some product may be infinite
            continue
        products = (queries[part] @ matrix.T)[:, chosen]
        if snapshot.metric == "cosine":
            products /= lengths
        bounds = (_lower_bounds(products, top_k) - 2.0 * margins[part]).astype(np.float32)
        bounds = np.nextafter(bounds, np.float32(-np.inf))  # whichever way that was rounded
        which, places = np.divmod(np.flatnonzero(products >= bounds[:, None]), count)
        ends = np.searchsorted(which, np.arange(len(products) + 1))
        for first, last in pairwise(ends.tolist()):
            found = places[first:last]
            yield found if rows is None else rows[found]


def _lower_bounds(products: NDArray[np.float32], top_k: int) -> NDArray[np.float32]:
    """For each row of products a value that at least ``top_k`` of them reach, and few more."""
    number, count = products.shape
    blocks = count // BLOCK
    if blocks <= top_k:
        return np.partition(products, count - top_k, axis=1)[:, -top_k]
    whole = products[:, : blocks * BLOCK].reshape(number, BLOCK, blocks)
    return np.partition(whole.max(axis=1), blocks - top_k, axis=1)[:, -top_k]
