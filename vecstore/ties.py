"""The best documents with the smaller id at the cut, from an engine that does not order ties."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vecstore.capabilities import Metric
from vecstore.document import Document
from vecstore.ranking import ranked

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
