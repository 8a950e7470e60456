"""Several searches at once: a matrix product finds the candidates, exact scores choose among them.

A product of matrices reads the vectors once for many queries, and rounds otherwise than one search
does: equal vectors may score differently by where they stand. So it decides nothing. Whatever
comes within twice its rounding error of the best ``top_k`` is scored again, as one search scores
it, and the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vecstore.simple.codes import EPSILON
from vecstore.simple.scoring import BLOCK, MANY
from vecstore.simple.table import Rows, Snapshot
from vecstore.vectors import Matrix

_SCORES_AT_ONCE = 16 * 1024 * 1024
"""Scores of a product that are held at a time, in float32."""

_FEW = 64
"""Queries for which most rows are not gathered before they are multiplied."""

_LARGEST = 1e37
"""No product that float32 holds with certainty is longer."""


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
