"""What is a vector, and what is not. Loads numpy; imported where the first vector turns up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float32]
"""A read-only, contiguous, one-dimensional array of finite float32."""

Matrix = NDArray[np.float32]
"""One vector a row."""

_NUMERIC_KINDS = frozenset("fiu")


class VectorFault(ValueError):
    """What is wrong with a vector, as the end of a sentence: "... holds NaN"."""


def to_vector(value: ArrayLike) -> Vector:
    """A read-only float32 copy of one vector.

    Raises:
        VectorFault: If it is not a flat, non-empty sequence of finite numbers.

    Example:
        >>> to_vector([1, 2.5])
        array([1. , 2.5], dtype=float32)
    """
    array = _float32(value)
    if array.ndim != 1:
        raise VectorFault(
            f"has {array.ndim} dimensions of its own (shape {array.shape}); "
            "pass a flat list of numbers"
        )
    if not array.size:
        raise VectorFault("is empty; pass a list of numbers")
    if not np.isfinite(array).all():
        _refuse_not_finite(array)
    array.flags.writeable = False
    return array


def to_matrix(value: Any) -> Matrix:
    """A float32 matrix of an embedder's answer, one vector a row; its numbers are not checked.

    Raises:
        VectorFault: If the answer is not a list of vectors of one length.
    """
    if isinstance(value, list) and value and all(type(row) is np.ndarray for row in value):
        lengths = {row.shape for row in value}
        if len(lengths) > 1:
            raise VectorFault("are not all of one length")
    matrix = _float32(value)
    if matrix.size == 0 and matrix.ndim == 1:
        return matrix.reshape(0, 0)
    if matrix.ndim != 2:
        raise VectorFault(
            "are not a list of vectors"
            + (": a single vector came back" if matrix.ndim == 1 else f" (shape {matrix.shape})")
        )
    return np.ascontiguousarray(matrix)


def rows_not_finite(matrix: Matrix) -> list[int]:
    """The rows that hold NaN or an infinity."""
    suspects = _rows_by_square(matrix, lambda squares: ~np.isfinite(squares))
    # The square of a very long vector is infinite as well.
    return [row for row in suspects if not np.isfinite(matrix[row]).all()]


def first_not_finite(matrix: Matrix) -> int | None:
    """The first row that holds NaN or an infinity."""
    return next(iter(rows_not_finite(matrix)), None)


def rows_of_zeros(matrix: Matrix) -> list[int]:
    """The rows that are all zeros."""
    suspects = _rows_by_square(matrix, lambda squares: squares == 0)
    # The square of a very short vector is 0 as well.
    return [row for row in suspects if not matrix[row].any()]


def first_zero(matrix: Matrix) -> int | None:
    """The first row that is all zeros."""
    return next(iter(rows_of_zeros(matrix)), None)


def _rows_by_square(matrix: Matrix, chosen: Callable[[Any], Any]) -> list[int]:
    """Rows chosen by their squared length, which takes a third of a look at every number."""
    if not matrix.size:
        return []
    with np.errstate(all="ignore"):
        found: list[int] = np.flatnonzero(chosen(np.vecdot(matrix, matrix))).tolist()
    return found


def _float32(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str | bytes):
        raise VectorFault(f"is a {type(value).__name__}; pass numbers")
    try:
        array = value if type(value) is np.ndarray else np.asarray(value)
    except ValueError:
        raise VectorFault("is ragged: its parts differ in length") from None
    if array.dtype.kind not in _NUMERIC_KINDS and array.size:
        kind = "True and False" if array.dtype.kind == "b" else f"values of type {array.dtype}"
        raise VectorFault(f"holds {kind}; pass numbers")
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
        return np.array(array, dtype=np.float32, order="C")


def _refuse_not_finite(array: NDArray[Any]) -> NoReturn:
    position = int(np.argmin(np.isfinite(array)))
    raise VectorFault(
        f"holds {array[position]} at position {position}, as float32; pass finite numbers"
    )
