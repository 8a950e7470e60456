"""Vectors too long or too short for the arithmetic of an engine.

Engines add up squares in float32, which holds none above 3.4e38 and few digits below 1.2e-38: the
cosine of a vector of 1e30 with itself comes out as NaN on one and as 0 on another, a distance as
infinite. A store declares between which lengths its engine is right, and the base refuses the rest
by name, as it does with everything that a store cannot hold exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vecstore.capabilities import StoreCapabilities

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

SHORTEST_IN_FLOAT32 = 1e-15
"""Of vectors of this length and more float32 adds up squares, and products, with all its digits."""

LONGEST_IN_FLOAT32 = 1e18
"""Of vectors up to this length, squares of sums are at most 4e36, and 3.4e38 is the end."""

SHORTEST_IN_FLOAT16 = 1e-3
"""The same where an index holds vectors in 16 bits, whose numbers end at 6e-8."""

LONGEST_IN_FLOAT16 = 65_504.0
"""The largest number of 16 bits."""


class LengthLimits:
    """The lengths that a store declares, checked on vectors before anything is written or asked.

    Args:
        name: What the store is called.
        capabilities: Of the store.

    Example:
        >>> import numpy as np
        >>> limits = LengthLimits("a store", StoreCapabilities(max_vector_length=100.0))
        >>> [(row, fault)] = limits.faults(np.array([[3, 4], [300, 400]], np.float32))
        >>> row, fault.partition(",")[0]
        (1, 'has a length of 500')
    """

    def __init__(self, name: str, capabilities: StoreCapabilities) -> None:
        self._name = name
        self._low = capabilities.min_vector_length
        self._high = capabilities.max_vector_length

    def faults(self, matrix: Matrix) -> Iterator[tuple[int, str]]:
        """The rows past a limit, and what is wrong with them; a row of zeros has no length."""
        if self._low is None and self._high is None:
            return
        import numpy as np

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
        >>> import numpy as np
        >>> of_length_one(np.array([3e30, 4e30], np.float32)).round(3).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    import numpy as np

    wide = vector.astype(np.float64)
    result: Vector = (wide / np.sqrt(np.vecdot(wide, wide))).astype(np.float32)
    result.flags.writeable = False
    return result
