"""The helper for engines that do not order equal scores, and scores as relevance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from vecstore import Document, relevance
from vecstore.store.capabilities import METRICS, Metric
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


@pytest.mark.parametrize("metric", METRICS)
def test_relevance_is_from_0_to_1_in_the_order_of_scores(metric: Metric) -> None:
    lowest, highest = {
        "cosine": (-1.0, 1.0),
        "dot": (-1e4, 1e4),
        "euclidean": (-1e4, 0.0),
    }[metric]
    steps = [highest - (highest - lowest) * (step / 200) ** 3 for step in range(201)]
    relevant = [relevance(score, metric) for score in steps]
    assert relevant == sorted(set(relevant), reverse=True), "two scores became one"
    assert all(0.0 <= one <= 1.0 for one in relevant)
    assert relevance(math.inf, metric) == 1.0
    assert relevance(-math.inf, metric) == 0.0
    assert relevance(-1.7e308, metric) >= 0.0
    assert relevance(np.float32(0.0), metric) == {"euclidean": 1.0}.get(metric, 0.5)  # type: ignore[arg-type]


def test_relevance_at_the_ends() -> None:
    assert relevance(1.0000001, "cosine") == relevance(1, "cosine") == 1.0
    assert relevance(-1.0000001, "cosine") == 0.0
    assert relevance(1e-9, "euclidean") == 1.0
    for wrong in (None, True, "0.5"):
        with pytest.raises(TypeError, match=r"relevance\(document.score, store.metric\)"):
            relevance(wrong, "cosine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NaN"):
        relevance(math.nan, "dot")
    with pytest.raises(ValueError, match="\"euclidean\", not 'l2'"):
        relevance(0.5, "l2")  # type: ignore[arg-type]
