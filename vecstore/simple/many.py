"""Several searches at once: a matrix product finds the candidates, exact scores choose among them.

A product of matrices reads the vectors once for many queries, and rounds otherwise than one search
does: equal vectors may score differently by where they stand. So it decides nothing. Whatever
comes within twice its rounding error of the best ``top_k`` is scored again, as one search scores
it, and the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vecstore.simple.scoring import lower_bound
from vecstore.simple.table import Rows, Snapshot
from vecstore.vectors import Matrix

_SCORES_AT_ONCE = 16 * 1024 * 1024
"""Scores of a product that are held at a time, in float32."""

_EPSILON = float(np.finfo(np.float32).eps)


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
    if rows is not None:
        matrix, lengths = matrix[rows], lengths[rows]
    wide = queries.astype(np.float64)
    of_queries = np.sqrt(np.vecdot(wide, wide))
    # Of a dot product of length n: |error| <= n * eps * |x| * |y|, for each way of adding up.
    error = 2.0 * queries.shape[1] * _EPSILON
    longest = float(lengths.max(initial=0.0))
    step = max(1, _SCORES_AT_ONCE // count)
    for start in range(0, len(queries), step):
        part = queries[start : start + step]
        products = part @ matrix.T
        if snapshot.metric == "cosine":
            products /= lengths
        for values, length in zip(products, of_queries[start : start + step], strict=True):
            margin = error * length * (1.0 if snapshot.metric == "cosine" else longest)
            if not np.isfinite(margin) or not np.isfinite(values).all():
                yield rows
                continue
            found = np.flatnonzero(values >= lower_bound(values, top_k) - 2.0 * margin)
            yield found if rows is None else rows[found]
