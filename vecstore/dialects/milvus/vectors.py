"""Vectors that the engine's arithmetic holds: it squares and adds up numbers of 32 bits.

Beyond these bounds a square is infinite or nothing, and scores come out as 0 or infinite for
documents that are near.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vecstore.capabilities import Metric
from vecstore.document import shown_id
from vecstore.errors import DocumentError

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

LARGEST: Final = 1e18
"""Length of a vector: the square of a difference of two is at most 4e36, and 3.4e38 the end."""
SHORTEST: Final = 1e-15
"""Length of a vector whose direction is compared; its square still has all its digits."""


def check_lengths(ids: Sequence[str], vectors: Matrix, metric: Metric) -> None:
    """Refuse vectors that would be scored wrong.

    Args:
        ids: Of the documents.
        vectors: Their vectors, one a row; finite, and none of zeros under cosine.
        metric: How they are compared.

    Raises:
        DocumentError: Naming the first document.
    """
    import numpy as np

    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    wrong = lengths > LARGEST
    if metric == "cosine":
        wrong |= lengths < SHORTEST
    if wrong.any():
        row = int(wrong.argmax())
        raise DocumentError(
            f"the vector of document {shown_id(ids[row])} has a length of {lengths[row]:.3g}, and "
            f"Milvus compares vectors of {SHORTEST:g} to {LARGEST:g}: beyond, their squares leave "
            "32-bit floats; scale the vectors",
            document_id=ids[row],
        )


def comparable_query(vector: Vector, metric: Metric) -> Vector:
    """The vector to search with: under cosine of length 1 where its own is out of bounds.

    Raises:
        DocumentError: If it is too long under another metric.
    """
    import numpy as np

    length = float(np.linalg.norm(vector.astype(np.float64)))
    if metric == "cosine":
        if SHORTEST <= length <= LARGEST:
            return vector
        return (vector.astype(np.float64) / length).astype(np.float32)
    if length > LARGEST:
        raise DocumentError(
            f"the query's vector has a length of {length:.3g}, and Milvus compares vectors of at "
            f"most {LARGEST:g}; scale the vectors"
        )
    return vector
