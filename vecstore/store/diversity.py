"""Searches that vary their results: maximal marginal relevance, over the metric of the store.

Of the nearest documents, the best comes first. Each next one is the one with the highest
``(1 - diversity) * score - diversity * closest``, where ``closest`` is its highest score, under
the same metric, against what was chosen before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vecstore.cancelling import check_stop
from vecstore.document import Document
from vecstore.errors import BackendError
from vecstore.store.capabilities import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vecstore.vectors import Vector


def chosen_places(
    best: Sequence[Document], query: Vector, metric: Metric, diversity: float, count: int
) -> list[int]:
    """Which of some documents are chosen, one after the other.

    Scores are worked out anew, in float64, so that every engine's documents are compared alike.

    Args:
        best: The documents, ranked, with their vectors.
        query: The vector that was searched with.
        metric: How vectors are compared.
        diversity: From 0 for the score alone to 1 for the difference alone.
        count: How many to choose at most.

    Returns:
        Places in ``best``: the first is 0, and of equal documents comes that with the smaller id.

    Example:
        >>> from vecstore.vectors import to_vector
        >>> found = [
        ...     Document("", id="a", embedding=[1, 0]),
        ...     Document("", id="b", embedding=[0.99, 0]),
        ...     Document("", id="c", embedding=[0.7, 0.7]),
        ... ]
        >>> chosen_places(found, to_vector([1, 0]), "cosine", 0.6, 2)
        [0, 2]
    """
    import numpy as np

    if not best or not count:
        return []
    # In the order of ids, so that the first of equal values is the one with the smallest.
    places = sorted(range(len(best)), key=lambda place: best[place].id)
    rows = _comparable(np.stack([_vector_of(best[place]) for place in places]), metric)
    relevant = _scores(rows, _comparable(query[None, :], metric)[0], metric)
    closest = np.full(len(places), -np.inf)
    left = np.ones(len(places), bool)
    at = places.index(0)
    chosen = [0]
    for _ in range(min(count, len(places)) - 1):
        check_stop()
        left[at] = False
        np.maximum(closest, _scores(rows, rows[at], metric), out=closest)
        values = (1.0 - diversity) * relevant - diversity * closest
        at = int(np.argmax(np.where(left, values, -np.inf)))
        chosen.append(places[at])
    return chosen


def _vector_of(document: Document) -> NDArray[Any]:
    if document.embedding is None:
        raise BackendError(
            f"document {document.id!r} came back without its vector, which diversity compares",
            operation="search",
        )
    return document.embedding


def _comparable(matrix: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """Rows in float64, where no square of a float32 overflows or is lost; under cosine of length 1.

    A row of zeros, which others may have written, stays as it is.
    """
    import numpy as np

    wide = matrix.astype(np.float64)
    if metric == "cosine":
        lengths = np.sqrt(np.vecdot(wide, wide))[:, None]
        wide /= np.where(lengths > 0.0, lengths, 1.0)
    return wide


def _scores(rows: NDArray[Any], row: NDArray[Any], metric: Metric) -> NDArray[Any]:
    import numpy as np

    if metric == "euclidean":
        difference = rows - row
        found = -np.sqrt(np.vecdot(difference, difference))
    else:
        found = np.vecdot(rows, row)
    return np.asarray(found)
