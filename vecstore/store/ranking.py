"""What the results of a search mean, whatever engine found them: scores, threshold, order, number.

Engines add up float32 numbers in different orders, so that the cosine of a vector with itself
comes out as 0.99999994 on one and as 1.0000001 on another. Measured on every engine, with up to
16,000 dimensions, scores lie within a quarter of a millionth of the exact ones; a threshold
therefore has a slack of one millionth, the same on every store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

from vecstore.document import Document, stored_document, stored_extra, with_score
from vecstore.store.capabilities import Metric

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

Record = TypeVar("Record")
Found = TypeVar("Found")

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


def relevance(score: float, metric: Metric) -> float:
    """A score as a number from 0 to 1, for those who expect one: the higher, the better.

    The order of scores stays: under cosine it is ``(1 + score) / 2``; under dot, whose scores have
    no ends, ``(1 + score / (1 + |score|)) / 2``, so that 0 is one half; under euclidean, of a
    distance, ``1 / (1 + distance)``. These are no probabilities, and those of two metrics are not
    to be compared. A cosine past 1 or -1, as rounding makes them, counts as that.

    Args:
        score: As a search on a store gives it: ``document.score``.
        metric: How the store compares vectors: ``store.metric``.

    Returns:
        A number from 0.0 to 1.0.

    Raises:
        TypeError: For a score that is no number, such as that of a document which no search found.
        ValueError: For NaN, and for a metric that there is not.

    Example:
        >>> relevance(1.0, "cosine"), relevance(-0.5, "cosine")
        (1.0, 0.25)
        >>> relevance(3.0, "dot"), relevance(0.0, "dot"), relevance(-3.0, "euclidean")
        (0.875, 0.5, 0.25)
    """
    if isinstance(score, bool) or not isinstance(score, Real):
        raise TypeError(
            f"relevance is of a score, which is a number, not {type(score).__name__}; a document "
            "that a search found has one: relevance(document.score, store.metric)"
        )
    value = float(score)
    if math.isnan(value):
        raise ValueError("relevance is of a score, which is a number, not NaN")
    if metric == "cosine":
        return (1.0 + min(1.0, max(-1.0, value))) / 2.0
    if metric == "euclidean":
        return 1.0 / (1.0 - min(0.0, value))
    if metric != "dot":
        raise ValueError(f'metric is "cosine", "dot" or "euclidean", not {metric!r:.60}')
    if math.isinf(value):
        return 1.0 if value > 0.0 else 0.0
    return (1.0 + value / (1.0 + abs(value))) / 2.0


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


def scores(matrix: Matrix, probe: Vector, metric: Metric) -> list[float]:
    """The score of each row, in float64 and rounded to what engines give.

    Example:
        >>> import numpy as np
        >>> scores(np.array([[3, 4], [1, 0]], np.float32), np.array([1, 0], np.float32), "cosine")
        [0.6000000238418579, 1.0]
    """
    import numpy as np

    wide, query = matrix.astype(np.float64), probe.astype(np.float64)
    if metric == "euclidean":
        difference = wide - query
        found = 0.0 - np.sqrt(np.vecdot(difference, difference))
    else:
        found = np.vecdot(wide, query)
        if metric == "cosine":
            lengths = np.sqrt(np.vecdot(wide, wide) * np.vecdot(query, query))
            found = np.clip(found / np.where(lengths > 0.0, lengths, 1.0), -1.0, 1.0)
    rounded: list[float] = found.astype(np.float32).tolist()
    return rounded


def scored(
    documents: Sequence[Document],
    probes: Sequence[Vector] | Matrix,
    metric: Metric,
    include_embedding: bool,
) -> list[list[Document]]:
    """Documents with the scores that a search would give them, for each of several vectors.

    Args:
        documents: With their vectors; those without one, or with one of another length, are near
            nothing.
        probes: The vectors, all of one length.
        metric: How vectors are compared.
        include_embedding: Whether the documents keep their vectors.

    Example:
        >>> import numpy as np
        >>> near = Document("text", id="a", embedding=[1, 0])
        >>> scored([near], [np.array([1, 0], np.float32)], "dot", False)[0][0].score
        1.0
    """
    import numpy as np

    size = len(probes[0])
    held = [
        (one, vector)
        for one in documents
        if (vector := one.embedding) is not None and len(vector) == size
    ]
    if not held:
        return [[] for _ in probes]
    matrix = np.stack([vector for _, vector in held])
    return [
        [
            stored_document(
                one.id,
                one.text,
                one.metadata,
                vector if include_embedding else None,
                score,
                stored_extra(one),
            )
            for (one, vector), score in zip(held, scores(matrix, probe, metric), strict=True)
        ]
        for probe in probes
    ]


TIE_LIMIT = 10_000
"""How many documents are fetched at most to see the end of a tie."""


def top_with_ties(
    fetch: Callable[[int], Iterable[Document]],
    count: int,
    *,
    metric: Metric,
    most: int | None = None,
    tie_limit: int = TIE_LIMIT,
) -> list[Document]:
    """The best ``count`` documents; of equal scores at the cut, those with the smaller ids.

    One document more than wanted is fetched. Only when it scores the same as the last one wanted
    are more fetched, twice as many each time, until one scores less: so results that are not tied
    at the cut cost one call. Scores are equal when the engine says so, within the range of the
    metric. A tie that goes on past ``tie_limit``, or past what the engine returns of one search,
    is cut as the engine cuts it.

    Args:
        fetch: Searches for that many documents, the best of all, each with its score.
        count: How many are wanted, from 1 on.
        metric: How they are compared.
        most: The most that ``fetch`` can be asked for; None for no limit.
        tie_limit: How many documents beyond ``count`` are fetched at most.

    Returns:
        At most ``count`` documents, best first, equal scores by id.

    Example:
        >>> same = [Document("text", id=id, score=0.5) for id in "zyxa"]
        >>> [one.id for one in top_with_ties(lambda n: same[:n], 2, metric="cosine")]
        ['a', 'x']
    """
    limit = count + tie_limit
    if most is not None:
        limit = min(limit, max(count, most))
    size = min(count + 1, limit)
    while True:
        found = ranked(fetch(size), metric)
        if len(found) < size or size == limit or found[-1].score != found[count - 1].score:
            return found[:count]
        size = min(2 * size, limit)


def filled(
    ask: Callable[[int], Sequence[Record]],
    read: Callable[[Sequence[Record]], list[Found]],
    count: int,
    most: int,
) -> list[Found]:
    """That many documents, of a question that records of others may answer.

    Args:
        ask: Answers with the first so many records.
        read: The documents that these hold.
        count: How many are wanted.
        most: The most that can be asked for.
    """
    size = count
    while True:
        records = ask(size)
        found = read(records)
        if len(found) >= count or len(records) < size or size >= most:
            return found[:count]
        # Records that hold no document took the place of some that do.
        size = min(most, count + 2 * (len(records) - len(found)))
