"""The six searches of the demo, and the comparison of two stores' answers to one of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vecstore.grammar.parser import parse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.document import Document
    from vecstore.store.base import VectorStore

SCORE_TOLERANCE = 1e-4
"""How far the scores of one document may differ between two engines."""
TIE = 1e-6
"""Documents whose scores are closer than this may change places: both engines add up float32."""
TOP_K = 4


@dataclass(frozen=True, slots=True)
class Search:
    """Words to look for, a filter, and what is new in the filter."""

    words: str
    filter: str
    shows: str


SEARCHES = (
    Search(
        "compress data into an archive",
        "kind == 'function'",
        "one comparison",
    ),
    Search(
        "wait until several tasks have finished, or a timeout",
        "kind IN ['class', 'function', 'method'] AND length >= 200 AND length < 3000",
        "a list and a range",
    ),
    Search(
        "find the files whose names match a pattern",
        "package.name NOT IN ['distutils', 're', 'tkinter'] AND package.depth <= 2 "
        'AND source."first line" <= 200',
        "nested keys, one of them with a space",
    ),
    Search(
        "send an e-mail message through a server",
        "deprecated IS NULL AND NOT (kind == 'module' OR async == true)",
        "what is absent, and a negated OR",
    ),
    Search(
        "open a network connection to a host",
        "parameters IN ['host', 'address', 'timeout'] AND raises IS NOT NULL "
        "AND NOT (raises == 'NotImplementedError' OR parameters == 'loop')",
        "the elements of lists",
    ),
    Search(
        "the average or the middle of some numbers",
        'NOT (NOT ("doc.words" >= 20 AND "words per line" > 0.5) OR deprecated == true '
        'OR NOT ("lines of code" < 100 OR "lines of code" >= 200) AND kind != \'class\') '
        "AND (kind != 'method' OR decorators IN ['classmethod', 'staticmethod'])",
        "NOT inside NOT, and keys with dots and spaces",
    ),
)


@dataclass(slots=True)
class Answer:
    """What one engine said to one search.

    Attributes:
        top: Ids of the best documents, best first.
        scores: The score of every document that the filter selects.
        seconds: How long the search for the best ones took.
    """

    top: list[str]
    scores: dict[str, float]
    seconds: float


@dataclass(slots=True)
class Comparison:
    """Two answers to one search held against each other.

    Attributes:
        only_first: Documents that only the first engine selected.
        only_second: Documents that only the second engine selected.
        largest_difference: Between the scores of one document.
        ranks: For each rank, whether both engines put the same document there.
    """

    only_first: list[str]
    only_second: list[str]
    largest_difference: float
    ranks: list[bool] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether both engines gave the same answer."""
        return (
            not self.only_first
            and not self.only_second
            and self.largest_difference <= SCORE_TOLERANCE
            and all(self.ranks)
        )


def compare(first: Answer, second: Answer) -> Comparison:
    """Hold two answers against each other: every selected document, every score, every rank.

    Example:
        >>> one = Answer(["a"], {"a": 0.5, "b": 0.25}, 0.0)
        >>> compare(one, Answer(["a"], {"a": 0.5, "b": 0.25}, 0.0)).same
        True
        >>> compare(one, Answer(["a"], {"a": 0.5}, 0.0)).only_first
        ['b']
    """
    both = first.scores.keys() & second.scores.keys()
    ranks = [
        one == other or _tied(first.scores, one, other)
        for one, other in zip(first.top, second.top, strict=False)
    ]
    if len(first.top) != len(second.top):
        ranks.append(False)
    return Comparison(
        only_first=sorted(first.scores.keys() - both),
        only_second=sorted(second.scores.keys() - both),
        largest_difference=max(
            (abs(first.scores[id] - second.scores[id]) for id in both), default=0.0
        ),
        ranks=ranks,
    )


def _tied(scores: dict[str, float], one: str, other: str) -> bool:
    return one in scores and other in scores and abs(scores[one] - scores[other]) <= TIE


def answer_of(
    store: VectorStore, search: Search, vector: ArrayLike
) -> tuple[Answer, list[Document]]:
    """What a store answers, and the best documents; all that match are asked for as well."""
    wanted = parse(search.filter)
    started = time.perf_counter()
    top = store.search(vector=vector, filter=wanted, top_k=TOP_K)
    seconds = time.perf_counter() - started
    matching = store.search(vector=vector, filter=wanted, top_k=max(1, store.count()))
    scores = {document.id: document.score or 0.0 for document in matching}
    return Answer([document.id for document in top], scores, seconds), top
