"""Diverse searches against maximal marginal relevance written plainly, and what they ask for."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.store.minimal import MinimalStore
from vecstore import (
    BackendError,
    Document,
    Expression,
    F,
    Op,
    SearchRequest,
    SimpleVectorStore,
    StoreCapabilities,
    UnsupportedFilterError,
)
from vecstore.store.capabilities import METRICS, Metric


def compared(metric: Metric, one: Iterable[float], other: Iterable[float]) -> float:
    one, other = list(one), list(other)
    if metric == "euclidean":
        return -math.dist(one, other)
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return dot if metric == "dot" else dot / (math.hypot(*one) * math.hypot(*other))


def plainly(
    metric: Metric,
    query: list[float],
    vectors: Mapping[str, list[float]],
    diversity: float,
    top_k: int,
    fetch_k: int,
) -> list[str]:
    """The ids that maximal marginal relevance chooses, one at a time."""
    score = {id: compared(metric, query, vector) for id, vector in vectors.items()}
    left = sorted(vectors, key=lambda id: (-score[id], id))[:fetch_k]
    chosen: list[str] = []
    while left and len(chosen) < top_k:

        def value(id: str) -> float:
            closest = max(compared(metric, vectors[id], vectors[one]) for one in chosen)
            return (1 - diversity) * score[id] - diversity * closest

        best = min(left, key=lambda id: (-value(id), id)) if chosen else left[0]
        left.remove(best)
        chosen.append(best)
    return chosen


def random_vectors(count: int, seed: int, *, scale: float = 1.0) -> dict[str, list[float]]:
    """Float32 vectors, in several close groups."""
    drawn = random.Random(seed)
    middles = [[drawn.gauss(0, 1) for _ in range(6)] for _ in range(5)]
    made = {}
    for number in range(count):
        middle = drawn.choice(middles)
        length = scale * drawn.choice([1.0, 1.0, 0.5, 3.0])
        row = [length * (x + drawn.gauss(0, 0.2)) for x in middle]
        made[f"{number:02d}"] = np.array(row, np.float32).astype(float).tolist()
    return made


def filled(vectors: Mapping[str, list[float]], **options: Any) -> SimpleVectorStore:
    store = SimpleVectorStore(**options)
    store.add(
        [
            Document(id, {"n": n, "even": n % 2 == 0}, id, vector)
            for n, (id, vector) in enumerate(vectors.items())
        ]
    )
    return store


def ids(found: Iterable[Document]) -> list[str]:
    return [one.id for one in found]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_the_same_as_written_plainly(metric: Metric, scale: float) -> None:
    for seed in range(3):
        vectors = random_vectors(40, seed, scale=scale)
        store = filled(vectors, metric=metric)
        query = vectors.pop("00")
        vectors["00"] = query
        for diversity in (0.1, 0.5, 0.9, 1.0):
            for top_k, fetch_k in ((1, 5), (4, 10), (10, 40), (40, 100)):
                found = store.search(
                    vector=query, top_k=top_k, diversity=diversity, fetch_k=fetch_k
                )
                wanted = plainly(metric, query, vectors, diversity, top_k, fetch_k)
                assert ids(found) == wanted, (seed, diversity, top_k, fetch_k)


def test_equal_values_go_by_id() -> None:
    axes = np.eye(4).tolist()
    store = filled({"a": axes[0], "y": axes[1], "x": axes[2], "b": axes[3], "z": axes[0]})
    found = store.search(vector=axes[0], top_k=5, diversity=1)
    # Those at right angles to what was chosen are all as far as can be.
    assert ids(found) == ["a", "b", "x", "y", "z"]
    same = filled({id: [1.0, 2.0] for id in "dbca"})
    assert ids(same.search(vector=[1, 0], top_k=4, diversity=0.5)) == ["a", "b", "c", "d"]


def test_vectors_are_read_only_where_they_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    search = SimpleVectorStore._search

    def noting(self: Any, vector: Any, **options: Any) -> Any:
        asked.append((options["top_k"], options["include_embedding"]))
        return search(self, vector, **options)

    monkeypatch.setattr(SimpleVectorStore, "_search", noting)
    store = filled(random_vectors(30, 1))
    query = [1.0] * 6
    store.search(vector=query, diversity=0)
    store.search(vector=query, diversity=0, fetch_k=25)
    store.search(vector=query, top_k=1, diversity=1, fetch_k=25)
    assert asked == [(4, False), (4, False), (1, False)]
    asked.clear()
    found = store.search(vector=query, diversity=0.5)
    store.search(vector=query, top_k=10, diversity=0.5)
    store.search(vector=query, diversity=0.5, fetch_k=25)
    assert asked == [(20, True), (50, True), (25, True)]
    assert all(one.embedding is None for one in found)
    kept = store.search(vector=query, diversity=0.5, include_embedding=True)
    assert all(one.embedding is not None for one in kept)
    assert store.search(vector=query, top_k=0, diversity=0.5) == []
    assert store.search(vector=query, diversity=0.5, filter="n == -1") == []


def test_no_diversity_is_the_plain_search() -> None:
    store = filled(random_vectors(30, 2))
    query = [1.0] * 6
    for options in ({}, {"offset": 12}, {"top_k": 25, "filter": "n > 3"}, {"threshold": 0.2}):
        plain: Any = store.search(vector=query, **options)  # type: ignore[arg-type]
        for diversity in (0, -0.0, None):
            assert store.search(vector=query, diversity=diversity, **options) == plain  # type: ignore[arg-type]


def test_scopes_awaited_calls_and_many_at_once() -> None:
    vectors = random_vectors(40, 3)
    store = filled(vectors)
    ours = store.scoped(F.even == True)  # noqa: E712
    query = vectors["01"]
    inside = {id: vector for n, (id, vector) in enumerate(vectors.items()) if n % 2 == 0}
    wanted = plainly("cosine", query, inside, 0.7, 5, 20)
    options: dict[str, Any] = {"top_k": 5, "diversity": 0.7}
    found = ours.search(vector=query, **options)
    assert ids(found) == wanted
    assert asyncio.run(ours.aio.search(vector=query, **options)) == found
    assert asyncio.run(store.aio.search(vector=query, **options)) == store.search(
        vector=query, **options
    )
    asked = [*list(vectors.values())[:3], [-x for x in query]]
    each = [ours.search(vector=one, **options) for one in asked]
    assert ours.search_many(vectors=asked, **options) == each
    assert asyncio.run(ours.aio.search_many(vectors=asked, **options)) == each
    requests = [SearchRequest(vector=query, **options), SearchRequest(vector=query, top_k=5)]
    assert ours.search_many([*requests, requests[0]]) == [
        found,
        ours.search(vector=query, top_k=5),
        found,
    ]


class AnswersEqualityAlone(MinimalStore):
    """Leaves ``>`` to be evaluated on what it finds."""

    def _compile_filter(self, filter: Expression) -> Any:
        for node in filter.walk():
            if node.op is Op.GT:
                raise UnsupportedFilterError(
                    "cannot compare", dialect="minimal", op=node.op, key="n"
                )
        return filter


def test_of_what_is_left_by_a_filter_that_is_answered_in_part() -> None:
    vectors = random_vectors(60, 4)
    store = AnswersEqualityAlone()
    store.add(
        [Document(id, {"n": n}, id, vector) for n, (id, vector) in enumerate(vectors.items())]
    )
    query = vectors["01"]
    matching = {id: vector for n, (id, vector) in enumerate(vectors.items()) if n > 30}
    wanted = plainly("cosine", query, matching, 0.6, 6, 12)
    options: dict[str, Any] = {"filter": "n > 30", "diversity": 0.6, "fetch_k": 12}
    with pytest.warns(UserWarning, match="minimal cannot answer"):
        found = store.search(vector=query, top_k=6, residual="evaluate", **options)
    assert ids(found) == wanted
    assert all(one.embedding is None for one in found)
    [many] = store.search_many(vectors=[query], top_k=6, residual="evaluate", **options)
    assert many == found
    with pytest.raises(UnsupportedFilterError):
        store.search(vector=query, top_k=6, **options)


@pytest.mark.parametrize("make", [SimpleVectorStore, MinimalStore], ids=["memory", "minimal"])
@pytest.mark.parametrize("chosen", ["ids", "exclude_ids"])
def test_among_some_ids_no_more_are_chosen_from_than_asked_for(make: Any, chosen: str) -> None:
    vectors = random_vectors(30, 5)
    with make() as store:
        store.add([Document("", id=id, embedding=vector) for id, vector in vectors.items()])
        some = {chosen: sorted(vectors)[::3]}
        query = vectors[min(vectors)]
        plain = ids(store.search(vector=query, top_k=3, **some))
        # Of three candidates all three are chosen, in whatever order.
        varied = store.search(vector=query, top_k=3, diversity=0.9, fetch_k=3, **some)
        assert sorted(ids(varied)) == sorted(plain)
        [many] = store.search_many(vectors=[query], top_k=3, diversity=0.9, fetch_k=3, **some)
        assert ids(many) == ids(varied)


def test_by_default_no_more_than_the_engine_returns() -> None:
    store = MinimalStore(capabilities=StoreCapabilities(max_top_k=15))
    store.add([Document(id, {}, id, vector) for id, vector in random_vectors(30, 5).items()])
    store.calls.clear()
    assert len(store.search(vector=[1.0] * 6, diversity=0.5)) == 4
    assert store.calls == [("search", 15)]
    with pytest.raises(ValueError, match=r"at most 15 .*\(max_top_k\), not 16 \(fetch_k\)"):
        store.search(vector=[1.0] * 6, diversity=0.5, fetch_k=16)


class WithoutVectors(MinimalStore):
    def _search(self, vector: Any, *, include_embedding: bool, **options: Any) -> Any:
        return super()._search(vector, include_embedding=False, **options)


def test_a_store_that_gives_no_vectors_is_told() -> None:
    store = WithoutVectors()
    store.add([Document("a", {}, "a", [1, 0]), Document("b", {}, "b", [0, 1])])
    with pytest.raises(BackendError, match="'a' came back without its vector"):
        store.search(vector=[1, 0], diversity=0.5)


def test_a_row_of_zeros_of_others_is_compared() -> None:
    class Zeros(MinimalStore):
        def _search(self, vector: Any, **options: Any) -> Any:
            found = list(super()._search(vector, **options))
            return [*found, Document("zeros", {}, "zeros", [0, 0], score=0.0)]

    store = Zeros()
    store.add([Document("a", {}, "a", [1, 0]), Document("b", {}, "b", [-1, 0])])
    assert ids(store.search(vector=[1, 0], top_k=3, diversity=0.5)) == ["a", "b", "zeros"]


def test_a_request_carries_it() -> None:
    request = SearchRequest("bread", diversity=1, fetch_k=30)
    assert repr(request) == "SearchRequest(query='bread', top_k=4, diversity=1.0, fetch_k=30)"
    assert request == SearchRequest("bread", diversity=1.0, fetch_k=30)
    assert request != SearchRequest("bread", diversity=1.0)
    assert hash(request) == hash(replace(request, query="bread"))
    store = filled(random_vectors(3, 1))
    anything: Any = store
    with pytest.raises(TypeError, match="carries everything"):
        anything.search(request, diversity=0.5)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"fetch_k": 20}, ValueError, "pass diversity=0.5 as well"),
        ({"diversity": 0.5, "top_k": 5, "fetch_k": 4}, ValueError, "top_k are chosen: 5 or more"),
        (
            {"diversity": 0.5, "offset": 3, "fetch_k": 5},
            ValueError,
            r"offset \+ top_k are chosen: 7 or more",
        ),
        ({"diversity": 0.5, "offset": 17}, ValueError, "the same fetch_k=105 for every page"),
        ({"diversity": 10**400}, ValueError, "from 0"),
        ({"diversity": np.float32("nan")}, ValueError, "from 0"),
        ({"lambda_mult": 0.5}, TypeError, "write diversity="),
        ({"mmr": True}, TypeError, "write diversity=0.5"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], told: str) -> None:
    store = filled(random_vectors(3, 1))
    with pytest.raises(error, match=told):
        store.search(vector=[1] * 6, **options)
    with pytest.raises(error, match=told):
        store.search_many(vectors=[[1] * 6], **options)
