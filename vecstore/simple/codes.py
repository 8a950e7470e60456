"""Vectors in int8, and what that leaves out: a quarter of the bytes for a first look at them.

A vector ``x`` is kept as whole numbers from -127 to 127 and a step: ``x = step * numbers + rest``.
The length of the rest is kept as well. It bounds how far a product with the numbers is from one
with the vector itself, so that a search can tell which rows it need not look at
(:mod:`vecstore.simple.candidates`). 8 bytes a row, beside one for each dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vecstore.errors import BackendError
from vecstore.store.drivers import not_installed
from vecstore.vectors import Matrix

Quantize = Literal["int8"]

Numbers = NDArray[np.int8]
Dots = Callable[[Numbers, Numbers], NDArray[np.float32]]
"""Numbers of one row, and of many -> their products, exact but for the rounding to float32."""

LARGEST = 127
MOST_DIMENSIONS = 2**31 // LARGEST**2
"""Up to here a product fits the 32 bits that it is added up in."""

EPSILON = float(np.finfo(np.float32).eps)

_ROWS_AT_ONCE = 1_024
_SHORTEST = 1e-30
"""The largest number of a row; below, nothing is kept of it but its rest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codes:
    """The rows of a table in int8; like its other columns, they may be longer than its size.

    Attributes:
        relative: Whether steps and rests are of vectors scaled to length 1.
        numbers: int8, of shape (rows, dimension).
        steps: Of each row.
        rests: For each row, at least the length of what ``steps * numbers`` leaves out.
    """

    relative: bool
    numbers: Numbers
    steps: NDArray[np.float32]
    rests: NDArray[np.float32]

    @classmethod
    def empty(cls, relative: bool) -> Codes:
        """Without rows."""
        none = np.empty(0, np.float32)
        return cls(relative=relative, numbers=np.empty((0, 0), np.int8), steps=none, rests=none)

    @classmethod
    def of(cls, relative: bool, vectors: Matrix, lengths: NDArray[np.float32]) -> Codes:
        """Those of some vectors."""
        codes = cls.empty(relative).longer(0, *vectors.shape)
        codes.put(0, vectors, lengths)
        return codes

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.numbers.nbytes + self.steps.nbytes + self.rests.nbytes

    def longer(self, size: int, capacity: int, dimension: int) -> Codes:
        """The first ``size`` rows, with room for more; zeros where they had no numbers."""
        numbers = np.empty((capacity, dimension), np.int8)
        if size:
            numbers[:size] = self.numbers[:size] if self.numbers.shape[1] else 0
        steps, rests = np.empty((2, capacity), np.float32)
        steps[:size], rests[:size] = self.steps[:size], self.rests[:size]
        return replace(self, numbers=numbers, steps=steps, rests=rests)

    def taken(self, rows: NDArray[np.intp]) -> Codes:
        """Some rows, as a copy."""
        numbers, steps, rests = self.numbers[rows], self.steps[rows], self.rests[rows]
        return replace(self, numbers=numbers, steps=steps, rests=rests)

    def put(self, start: int, vectors: Matrix, lengths: NDArray[np.float32]) -> None:
        """Write rows from ``start`` on."""
        if not vectors.shape[1]:  # of documents without vectors, before the first one with
            self.steps[start : start + len(vectors)] = 0
            self.rests[start : start + len(vectors)] = 0
            return
        for first in range(0, len(vectors), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            self._put(start + first, vectors[rows], lengths[rows])

    def _put(self, start: int, vectors: Matrix, lengths: NDArray[np.float32]) -> None:
        place = slice(start, start + len(vectors))
        with np.errstate(all="ignore"):  # of rows that are too long or short, and never looked at
            steps = np.maximum(vectors.max(axis=1), -vectors.min(axis=1)) / np.float32(LARGEST)
            steps[steps < _SHORTEST / LARGEST] = 0
            scaled = vectors * np.where(steps, 1 / steps, 0)[:, None]
            numbers = np.rint(scaled)
            self.numbers[place] = numbers
            # In steps, where it is exact, and no square of a part is too small for float32.
            scaled -= numbers
            slack = 1 + vectors.shape[1] * EPSILON
            rests = np.where(steps, steps * np.sqrt(np.vecdot(scaled, scaled)) * slack, lengths)
            rests += 4 * EPSILON * lengths  # more than the rounding of what was scaled
            if self.relative:
                shares = np.where(lengths, 1 / lengths, 0)
                steps, rests = steps * shares, rests * shares
        self.steps[place] = steps
        self.rests[place] = rests


@cache
def dots_of_int8() -> Dots:
    """What multiplies rows of int8.

    Raises:
        BackendNotInstalledError: If the package for it is missing.
        BackendError: If it does not add up exactly on this processor.
    """
    try:
        import simsimd
    except ImportError as error:
        raise not_installed('quantize="int8" needs simsimd', "int8", error) from error

    def dots(one: Numbers, many: Numbers) -> NDArray[np.float32]:
        found: Any = simsimd.cdist(one[None], many, metric="dot", out_dtype="float32")
        return np.asarray(found).reshape(-1)

    # Each kind of processor has instructions of its own for this, and no test runs on all of them.
    for length in (1, 15, 64, 1_000):
        many = np.full((3, length), LARGEST, np.int8)
        many[1, ::2] = many[2] = -LARGEST
        exact = many.astype(np.int64) @ many[0].astype(np.int64)
        if not np.array_equal(dots(many[0], many), exact.astype(np.float32)):
            raise BackendError(
                "simsimd multiplies int8 wrongly on this processor; leave quantize out",
                operation="open",
            )
    return dots
