"""What a search has to return: the scores by numpy, and the order that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vecstore.document import Document
from vecstore.store.capabilities import Metric

TOLERANCE = 1e-4
"""How far a score may be from the exact one, relative to the exact one where that is above 1."""

REPEATED = 1e-5
"""How far the scores of one search run twice may lie apart."""


def reference_scores(
    metric: Metric, query: ArrayLike, vectors: Mapping[str, ArrayLike]
) -> dict[str, float]:
    """The exact score of each vector, worked out one by one in float64.

    Example:
        >>> reference_scores("euclidean", [0, 0], {"a": [3, 4]})
        {'a': -5.0}
    """
    probe = np.asarray(query, np.float32).astype(np.float64)
    result: dict[str, float] = {}
    for id, vector in vectors.items():
        row = np.asarray(vector, np.float32).astype(np.float64)
        if metric == "euclidean":
            score = -float(np.linalg.norm(row - probe))
        else:
            score = float(row @ probe)
            if metric == "cosine":
                score /= float(np.linalg.norm(row) * np.linalg.norm(probe))
        result[id] = score
    return result


def check_ranking(
    found: Sequence[Document], exact: Mapping[str, float], top_k: int, *, exact_ties: bool
) -> None:
    """Fail unless ``found`` are the ``top_k`` best, with right scores, in the right order.

    Args:
        found: What a search returned.
        exact: The exact score of each document that could have been found, by id.
        top_k: Of the search.
        exact_ties: Whether of equal scores at the edge those with the smallest ids must be in.
    """
    __tracebackhide__ = True
    ids = [document.id for document in found]
    assert len(set(ids)) == len(ids), f"a document was found twice: {ids}"
    assert not set(ids) - exact.keys(), f"found, but not to be: {set(ids) - exact.keys()}"
    assert len(ids) == min(top_k, len(exact)), (
        f"top_k={top_k} of {len(exact)} documents returned {len(ids)}"
    )
    for document in found:
        assert type(document.score) is float, f"{document.id!r}: the score is {document.score!r}"
        right = exact[document.id]
        assert abs(document.score - right) <= _slack(right), (
            f"{document.id!r}: the score is {document.score}, by numpy it is {right}"
        )
    scored = [(document.score or 0.0, document.id) for document in found]
    assert scored == sorted(scored, key=lambda pair: (-pair[0], pair[1])), (
        f"not best first, equal scores by id: {scored}"
    )
    best = sorted(exact, key=lambda id: (-exact[id], id))
    for place, id in enumerate(ids):
        assert exact[id] >= exact[best[place]] - 2 * _slack(exact[id]), (
            f"place {place} holds {id!r} with {exact[id]}, where {best[place]!r} has "
            f"{exact[best[place]]}"
        )
    if exact_ties and ids:
        edge = [id for id in ids if exact[id] == exact[ids[-1]]]
        tied = [id for id in best if exact[id] == exact[ids[-1]]]
        assert sorted(edge) == tied[: len(edge)], (
            f"of the equal scores at the edge {sorted(edge)} are in, the smallest ids are "
            f"{tied[: len(edge)]}"
        )


def ids_of(documents: Any) -> list[str]:
    """The ids of documents, in their order."""
    return [document.id for document in documents]


def _slack(score: float) -> float:
    return TOLERANCE * max(1.0, abs(score))


def check_same_results(found: Sequence[Document], expected: Sequence[Document]) -> None:
    """Fail unless two searches returned the same documents with the same scores.

    As far as an engine repeats itself: the last bits of a sum may depend on how threads share it.
    """
    __tracebackhide__ = True
    assert [document.id for document in found] == [document.id for document in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.replace(score=None) == other.replace(score=None)
        assert one.score is not None
        assert other.score is not None
        assert abs(one.score - other.score) <= REPEATED, (one, other)
