"""Scores, order and ties of the in-memory store against plain arithmetic."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import Document, F, SimpleVectorStore
from vecstore.simple.table import best

METRICS = ["cosine", "dot", "euclidean"]


def filled(metric: Any, matrix: Any, ids: list[str] | None = None) -> SimpleVectorStore:
    store = SimpleVectorStore(metric=metric)
    ids = [f"d{n:06}" for n in range(len(matrix))] if ids is None else ids
    store.add(
        Document("", {"n": n, "group": n % 10}, id=id, embedding=row)
        for n, (id, row) in enumerate(zip(ids, matrix, strict=True))
    )
    return store


def true_scores(metric: str, matrix: Any, query: Any) -> Any:
    matrix = np.asarray(matrix, np.float32).astype(float)
    query = np.asarray(query, np.float32).astype(float)
    if metric == "dot":
        return matrix @ query
    if metric == "euclidean":
        return -np.sqrt(((matrix - query) ** 2).sum(axis=1))
    return matrix @ query / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize("metric", METRICS)
def test_known_scores(metric: str) -> None:
    matrix = [[3, 4], [-3, -4], [-4, 3], [6, 8], [0.3, 0.4]]
    store = filled(metric, matrix, ["same", "opposite", "orthogonal", "double", "short"])
    scores = {d.id: d.score for d in store.search(vector=[3, 4], top_k=9)}
    expected = {
        "cosine": [1, -1, 0, 1, 1],
        "dot": [25, -25, 0, 50, 2.5],
        "euclidean": [0, -10, -(50**0.5), -5, -4.5],
    }[metric]
    assert list(scores) == sorted(scores, key=lambda id: (-(scores[id] or 0), id))
    for id, score in zip(
        ["same", "opposite", "orthogonal", "double", "short"], expected, strict=True
    ):
        assert scores[id] == pytest.approx(score, abs=1e-6)
    assert str(scores["same"]) != "-0.0"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [1, 3, 255, 256, 257, 5_000])
def test_random_searches(metric: str, size: int) -> None:
    chance = np.random.default_rng(size)
    matrix = chance.normal(size=(size, 24))
    store = filled(metric, matrix)
    for top_k in (1, 2, 10, 300, 10_000):
        query = chance.normal(size=24)
        for filter, rows in (
            (None, np.arange(size)),
            (F.group == 3, np.arange(3, size, 10)),
            (F.group != 3, np.flatnonzero(np.arange(size) % 10 != 3)),
        ):
            found = store.search(vector=query, top_k=top_k, filter=filter)
            truth = true_scores(metric, matrix, query)
            order = sorted(rows.tolist(), key=lambda row: -truth[row])[:top_k]
            assert [d.metadata["n"] for d in found] == order
            assert [d.score for d in found] == pytest.approx(truth[order].tolist(), abs=1e-4)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_vectors_have_equal_scores_and_come_by_id(metric: str) -> None:
    chance = np.random.default_rng(7)
    vector = chance.normal(size=384)
    ids = [f"{n:05}" for n in chance.permutation(3_000)]
    store = filled(metric, [vector] * 3_000, ids)
    store.add([Document("", id="!worse", embedding=-vector)])
    found = store.search(vector=vector, top_k=7)
    assert [d.id for d in found] == sorted(ids)[:7]
    assert len({d.score for d in found}) == 1
    assert [d.id for d in store.search(vector=vector, top_k=3_001)] == [*sorted(ids), "!worse"]
    some = store.search(vector=vector, top_k=5, filter=F.group == 4)
    assert [d.id for d in some] == sorted(d.id for d in store.get(filter=F.group == 4))[:5]
    assert {d.score for d in some} == {found[0].score}  # whichever way it was computed


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.25, 0.5, 1.0]), max_size=2_000),
    st.integers(1, 2_100),
    st.randoms(use_true_random=False),
)
def test_best_against_sorting(values: list[float], top_k: int, chance: Any) -> None:
    ids = [str(n) for n in range(len(values))]
    chance.shuffle(ids)
    array = np.array(values, np.float32)
    expected = sorted(range(len(values)), key=lambda n: (-values[n], ids[n]))[:top_k]
    assert best(array, top_k, ids.__getitem__) == expected


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("exponent", [-44, -40, -30, -19, -10, 0, 10, 17, 19, 30, 37])
def test_very_long_and_very_short_vectors(metric: str, exponent: int) -> None:
    chance = np.random.default_rng(3)
    matrix = chance.uniform(0.5, 1, size=(20, 8)) * chance.choice([-1, 1], size=(20, 8))
    matrix[::2] *= 10.0**exponent
    # Denormal numbers hold few digits: what counts is what float32 made of the vector.
    query = matrix[0] + 0.1 * 10.0**exponent
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = filled(metric, matrix)
        found = store.search(vector=query, top_k=20)
    truth = true_scores(metric, matrix, query)
    assert len(found) == 20
    scale = max(1.0, float(np.abs(truth).max())) if metric != "cosine" else 1.0
    for document in found:
        assert document.score == pytest.approx(truth[document.metadata["n"]], abs=1e-5 * scale)
    back = store.get(["d000000"], include_embedding=True)[0].embedding
    assert back is not None
    assert np.array_equal(back, matrix[0].astype(np.float32))


def test_a_result_keeps_no_more_alive_than_its_own_vector() -> None:
    (found,) = filled("dot", [[1, 2], [3, 4]]).search(
        vector=[1, 1], top_k=1, include_embedding=True
    )
    assert found.embedding is not None
    assert found.embedding.base is None
    assert not found.embedding.flags.writeable


def test_one_dimension() -> None:
    store = filled("cosine", [[2], [-3], [1e-20]])
    assert [d.score for d in store.search(vector=[0.5])] == [1.0, 1.0, -1.0]


def test_cosine_never_leaves_its_range() -> None:
    chance = np.random.default_rng(0)
    matrix = chance.normal(size=(500, 33))
    store = filled("cosine", matrix)
    for row in range(0, 500, 7):
        for sign in (1, -1):
            scores = [d.score for d in store.search(vector=sign * matrix[row], top_k=500)]
            assert all(-1 <= score <= 1 for score in scores if score is not None)


@pytest.mark.parametrize("metric", METRICS)
def test_searching_while_rows_are_dead(metric: str) -> None:
    chance = np.random.default_rng(1)
    matrix = chance.normal(size=(3_000, 8))
    store = filled(metric, matrix)
    store.delete(filter=F.group.in_([0, 1, 2]))
    store.update_metadata(filter=F.group == 4, set={"moved": True})
    query = chance.normal(size=8)
    truth = true_scores(metric, matrix, query)
    live = [n for n in range(3_000) if n % 10 > 2]
    assert [d.metadata["n"] for d in store.search(vector=query, top_k=20)] == sorted(
        live, key=lambda n: -truth[n]
    )[:20]
    assert [
        d.metadata["n"] for d in store.search(vector=query, top_k=20, filter="moved == true")
    ] == sorted(range(4, 3_000, 10), key=lambda n: -truth[n])[:20]
    assert len(store.search(vector=query, top_k=10_000)) == 2_100


def test_a_stricter_filter_never_returns_more() -> None:
    store = filled("cosine", np.random.default_rng(2).normal(size=(200, 4)))
    for loose in (F.n > 50, F.group != 2, F.missing.is_null()):
        for further in (F.group == 3, F.n < 120, ~(F.group == 9)):
            wide = {d.id for d in store.search(vector=[1, 2, 3, 4], top_k=200, filter=loose)}
            narrow = {
                d.id for d in store.search(vector=[1, 2, 3, 4], top_k=200, filter=loose & further)
            }
            assert narrow <= wide
            assert narrow == {d.id for d in store.get(filter=further & loose)}
