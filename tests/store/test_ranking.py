"""The helper for engines that do not order equal scores."""

from __future__ import annotations

from collections.abc import Callable

from vecstore import Document
from vecstore.store.ranking import top_with_ties


def engine(scores: dict[str, float]) -> tuple[Callable[[int], list[Document]], list[int]]:
    """A search that leaves ties in order of arrival, and notes how many it was asked for."""
    asked: list[int] = []
    listed = sorted(scores.items(), key=lambda pair: -pair[1])

    def fetch(count: int) -> list[Document]:
        asked.append(count)
        return [Document("text", id=id, score=score) for id, score in listed[:count]]

    return fetch, asked


def test_without_a_tie_one_call_is_made() -> None:
    fetch, asked = engine({f"{n:02d}": 1 - n / 100 for n in range(50)})
    assert [one.id for one in top_with_ties(fetch, 3, metric="cosine")] == ["00", "01", "02"]
    assert asked == [4]


def test_a_tie_is_followed_to_its_end() -> None:
    scores = {"first": 0.9} | {f"{n:02d}": 0.5 for n in reversed(range(30))} | {"last": 0.1}
    fetch, asked = engine(scores)
    found = top_with_ties(fetch, 4, metric="cosine")
    assert [one.id for one in found] == ["first", "00", "01", "02"]
    assert asked == [5, 10, 20, 40]


def test_a_tie_inside_the_result_costs_nothing() -> None:
    fetch, asked = engine({"b": 0.5, "a": 0.5, "c": 0.4, "d": 0.3})
    assert [one.id for one in top_with_ties(fetch, 2, metric="dot")] == ["a", "b"]
    assert asked == [3]


def test_fewer_documents_than_wanted() -> None:
    fetch, asked = engine({"b": 0.5, "a": 0.5})
    assert [one.id for one in top_with_ties(fetch, 5, metric="dot")] == ["a", "b"]
    assert top_with_ties(lambda count: [], 5, metric="dot") == []
    assert asked == [6]


def test_the_widening_has_an_end() -> None:
    fetch, asked = engine({f"{n:05d}": 0.5 for n in reversed(range(1_000))})
    found = top_with_ties(fetch, 2, metric="dot", tie_limit=50)
    assert [one.id for one in found] == ["00948", "00949"]
    assert asked == [3, 6, 12, 24, 48, 52]
    asked.clear()
    assert len(top_with_ties(fetch, 8, metric="dot", most=10)) == 8
    assert len(top_with_ties(fetch, 10, metric="dot", most=10)) == 10
    assert asked == [9, 10, 10]


def test_cosines_past_one_are_equal() -> None:
    fetch, _ = engine({"z": 1.0000002, "y": 1.0000001, "a": 1.0, "b": 0.5})
    found = top_with_ties(fetch, 1, metric="cosine")
    assert [(one.id, one.score) for one in found] == [("a", 1.0)]
    assert [one.id for one in top_with_ties(fetch, 1, metric="dot")] == ["z"]
