"""Scores of all rows against one query, and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecstore.simple.table import Rows, Snapshot
from vecstore.vectors import Matrix, Vector

Scores = NDArray[Any]
"""float32, or float64 where a vector's length asks for it."""

BLOCK = 256
_CHUNK_BYTES = 384 * 1024
MANY = 0.25
"""Of the rows: to gather more of them takes longer than to score them all."""

SAFE_LENGTH = 1e15
"""Queries that are longer, or shorter than one by it, are not scored in float32."""


def scores(snapshot: Snapshot, query: Vector, rows: Rows | None) -> Scores:
    """The score of each of ``rows`` (None: of every row, dead ones too).

    ``np.vecdot`` reads the matrix once, at the speed of memory, and gives equal rows equal
    scores, which a matrix product does not.
    """
    if not snapshot.size:
        return np.empty(0, np.float32)
    metric = snapshot.metric
    matrix = snapshot.matrix[: snapshot.size]
    lengths = snapshot.lengths[: snapshot.size]
    wide = query.astype(np.float64)
    length = float(np.sqrt(np.vecdot(wide, wide)))
    exact = snapshot.extreme or not 1 / SAFE_LENGTH <= length <= SAFE_LENGTH
    if metric == "cosine":
        wide /= length
    probe: NDArray[Any] = wide if exact else wide.astype(np.float32)
    result: Scores

    if metric == "euclidean":
        return _gathered(matrix, rows, exact, lambda part: _minus_distance(part, probe))
    if metric == "cosine" and exact:
        return _gathered(matrix, rows, exact, lambda part: _cosine(part, probe))
    if exact:
        result = _gathered(matrix, rows, exact, lambda part: np.vecdot(part, probe))
    elif rows is None:
        result = np.vecdot(matrix, probe)
    elif len(rows) > MANY * len(matrix):
        result = np.vecdot(matrix, probe)[rows]
    else:
        result = _gathered(matrix, rows, exact, lambda part: np.vecdot(part, probe))
    if metric == "dot":
        return result
    result /= lengths if rows is None else lengths[rows]
    return np.clip(result, -1.0, 1.0, out=result)


def best(values: Scores, top_k: int, id_of: Callable[[int], str]) -> list[int]:
    """Positions of the ``top_k`` highest values, best first, equal ones by id.

    The block that holds the k-th highest block maximum bounds the k-th highest value from below:
    one pass and a partition of the few maxima leave only candidates.
    """
    count = len(values)
    if top_k >= count:
        candidates = np.arange(count)
    else:
        candidates = np.flatnonzero(values >= lower_bound(values, top_k))
        if len(candidates) > top_k:
            held = values[candidates]
            candidates = candidates[held >= np.partition(held, len(held) - top_k)[-top_k]]
    return nsmallest(
        top_k, candidates.tolist(), key=lambda position: (-values[position], id_of(position))
    )


def lower_bound(values: Scores, top_k: int) -> Any:
    """A value that at least ``top_k`` of them reach, and few more."""
    blocks = len(values) // BLOCK
    if blocks <= top_k:
        return np.partition(values, len(values) - top_k)[-top_k]
    # Every blocks-th value makes a block: which ones do is all the same, and this way is quicker.
    maxima = values[: blocks * BLOCK].reshape(BLOCK, blocks).max(axis=0)
    return np.partition(maxima, blocks - top_k)[-top_k]


def _gathered(
    matrix: Matrix, rows: Rows | None, exact: bool, score: Callable[[Matrix], Scores]
) -> Scores:
    """Score all rows, or some of them, in pieces that stay in the cache."""
    count = len(matrix) if rows is None else len(rows)
    dtype = np.float64 if exact else np.float32
    result = np.empty(count, dtype)
    step = max(1, _CHUNK_BYTES // max(1, matrix.shape[1] * result.itemsize))
    # Into one buffer, over and over: fresh memory for each piece costs more than the copying.
    buffer = None if rows is None else np.empty((min(step, count), matrix.shape[1]), np.float32)
    for start in range(0, count, step):
        stop = min(start + step, count)
        if rows is None or buffer is None:
            part = matrix[start:stop]
        else:
            part = buffer[: stop - start]
            # "clip" is what writes to the buffer at once; no row is out of range.
            np.take(matrix, rows[start:stop], axis=0, out=part, mode="clip")
        result[start:stop] = score(part.astype(dtype) if exact else part)
    return result


def _minus_distance(part: NDArray[Any], probe: NDArray[Any]) -> Scores:
    difference = part - probe
    # 0.0 - x, not -x: the distance to an equal vector is 0.0, not -0.0.
    return np.asarray(0.0 - np.sqrt(np.vecdot(difference, difference)))


def _cosine(part: NDArray[Any], probe: NDArray[Any]) -> Scores:
    lengths = np.sqrt(np.vecdot(part, part))
    return np.asarray(np.clip(np.vecdot(part, probe) / lengths, -1.0, 1.0))
