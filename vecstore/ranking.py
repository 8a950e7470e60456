"""What the scores of a search mean, whatever engine worked them out: range, threshold, order.

Engines add up float32 numbers in different orders, so that the cosine of a vector with itself
comes out as 0.99999994 on one and as 1.0000001 on another. Measured on every engine, with up to
16,000 dimensions, scores lie within a quarter of a millionth of the exact ones; a threshold
therefore has a slack of one millionth, the same on every store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from vecstore.capabilities import Metric
from vecstore.document import Document, with_score

THRESHOLD_SLACK = 1e-6
"""How far below the threshold a score still reaches it: under cosine this much, under dot and
euclidean this part of the threshold."""

_ROUNDING = 1e-4


def bounded(score: float, metric: Metric) -> float:
    """A score within the range of its metric: cosines end at -1 and 1.

    Only what rounding makes of them: a cosine of 25 is an engine's mistake, and not hidden.

    Example:
        >>> bounded(1.0000001, "cosine"), bounded(1.0000001, "dot")
        (1.0, 1.0000001)
    """
    if metric == "cosine" and 1.0 < abs(score) <= 1.0 + _ROUNDING:
        return math.copysign(1.0, score)
    return score


def lowest_score(threshold: float, metric: Metric) -> float:
    """The lowest score that reaches a threshold.

    Example:
        >>> lowest_score(1.0, "cosine"), lowest_score(-2.0, "euclidean"), lowest_score(0.0, "dot")
        (0.999999, -2.000002, 0.0)
    """
    if math.isinf(threshold):
        return threshold
    scale = 1.0 if metric == "cosine" else abs(threshold)
    return threshold - THRESHOLD_SLACK * scale


def ranked(
    documents: Iterable[Document], metric: Metric, threshold: float | None = None
) -> list[Document]:
    """Best first, equal scores by id, without those below the threshold.

    Args:
        documents: As an engine found them, each with its score.
        metric: How they were compared.
        threshold: As callers give it; None leaves out nothing.
    """
    lowest = None if threshold is None else lowest_score(threshold, metric)
    kept = []
    for document in documents:
        score = document.score
        if score is not None:
            within = bounded(score, metric)
            if within != score:
                document = with_score(document, within)
        if lowest is None or (score is not None and score >= lowest):
            kept.append(document)
    kept.sort(key=rank)
    return kept


def rank(document: Document) -> tuple[float, str]:
    """What results are sorted by: the score from the highest down, then the id."""
    return -(document.score or 0.0), document.id
