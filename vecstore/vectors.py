"""What is a vector, and what is not. Loads numpy; imported where the first vector turns up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def _rows_by_square(matrix: Matrix, chosen: Callable[[Any], Any]) -> list[int]:
    """Rows chosen by their squared length, which takes a third of a look at every number."""
    if not matrix.size:
        return []
    with np.errstate(all="ignore"):
        found: list[int] = np.flatnonzero(chosen(np.vecdot(matrix, matrix))).tolist()
    return found


class LengthLimits:
    """The lengths that a store declares, checked on vectors before anything is written or asked.

    Args:
        name: What the store is called.
        shortest: From which length on its engine compares exactly, or None.
        longest: Up to which length it does, or None.

    Example:
        >>> limits = LengthLimits("a store", None, 100.0)
        >>> [(row, fault)] = limits.faults(np.array([[3, 4], [300, 400]], np.float32))
        >>> row, fault.partition(",")[0]
        (1, 'has a length of 500')
    """

    def __init__(self, name: str, shortest: float | None, longest: float | None) -> None:
        self._name = name
        self._low = shortest
        self._high = longest

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._low is not None or self._high is not None

    def faults(self, matrix: Matrix) -> Iterator[tuple[int, str]]:
        """The rows past a limit, and what is wrong with them; a row of zeros has no length."""
        if not self.limited:
            return
        # In float64 no square of a float32 overflows, and none but 0 becomes 0.
        wide = matrix.astype(np.float64)
        lengths = np.sqrt(np.vecdot(wide, wide))
        low, high = self._low or 0.0, self._high or np.inf
        for row in np.flatnonzero((lengths > high) | ((lengths < low) & (lengths > 0.0))).tolist():
            bound = (
                f"up to {high:g} (max_vector_length)"
                if lengths[row] > high
                else f"{low:g} and more (min_vector_length)"
            )
            yield (
                row,
                f"has a length of {lengths[row]:.4g}, and {self._name} compares vectors of "
                f"{bound}; scale the vectors",
            )


def of_length_one(vector: Vector) -> Vector:
    """A vector of the same direction, worked out in float64.

    Example:
        >>> of_length_one(np.array([3e30, 4e30], np.float32)).round(3).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    wide = vector.astype(np.float64)
    result: Vector = (wide / np.sqrt(np.vecdot(wide, wide))).astype(np.float32)
    result.flags.writeable = False
    return result


def _float32(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str | bytes):
        raise VectorFault(f"is a {type(value).__name__}; pass numbers")
    _check_nesting(value)
    try:
        array = value if type(value) is np.ndarray else np.asarray(value)
    except ValueError:
        raise VectorFault("is ragged: its parts differ in length") from None
    if array.dtype.kind not in _NUMERIC_KINDS and array.size:
        kind = "True and False" if array.dtype.kind == "b" else f"values of type {array.dtype}"
        raise VectorFault(f"holds {kind}; pass numbers")
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
        return np.array(array, dtype=np.float32, order="C")


def _check_nesting(value: Any) -> None:
    """Refuse lists in lists in lists, which numpy would write out, each as often as it is held."""
    first, depth = value, 0
    while isinstance(first, list | tuple) and first:
        first, depth = first[0], depth + 1
        if depth > 2:
            raise VectorFault("has lists in lists in lists; pass flat lists of numbers")


def _refuse_not_finite(array: NDArray[Any]) -> NoReturn:
    position = int(np.argmin(np.isfinite(array)))
    raise VectorFault(
        f"holds {array[position]} at position {position}, as float32; pass finite numbers"
    )
