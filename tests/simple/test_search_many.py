"""A matrix product chooses candidates only: results are those of one search after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecstore import Document, SimpleVectorStore
from vecstore.simple import candidates
from vecstore.store.capabilities import METRICS, Metric


def store_of(matrix: np.ndarray, metric: Metric) -> SimpleVectorStore:
    store = SimpleVectorStore(metric=metric)
    store.add(
        [
            Document("", {"n": n % 7}, id=f"{n * 7919 % len(matrix):06}", embedding=row)
            for n, row in enumerate(matrix)
        ]
    )
    return store


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["random", "near ties", "duplicates", "scales"]),
    top_k=st.sampled_from([1, 3, 50]),
    filter=st.sampled_from([None, "n < 3", "n == 0"]),
)
def test_the_same_results(metric: Metric, seed: int, kind: str, top_k: int, filter: str) -> None:
    random = np.random.default_rng(seed)
    count, dimension = 2_500, int(random.choice([2, 16, 128]))
    matrix = random.standard_normal((count, dimension)).astype(np.float32)
    if kind == "near ties":
        matrix = matrix[:1] + matrix * np.float32(1e-6)
    elif kind == "duplicates":
        matrix = matrix[random.integers(0, 40, count)]
    elif kind == "scales":
        matrix *= 10.0 ** random.integers(-6, 6, (count, 1)).astype(np.float32)
    store = store_of(matrix, metric)
    store.delete([f"{n:06}" for n in range(0, count, 5)])
    queries = np.concatenate([matrix[:3], random.standard_normal((4, dimension))]).astype("f4")
    found = store.search_many(vectors=queries, top_k=top_k, filter=filter)
    assert found == [store.search(vector=one, top_k=top_k, filter=filter) for one in queries]


def test_candidates_are_few() -> None:
    random = np.random.default_rng(1)
    matrix = random.standard_normal((20_000, 64)).astype(np.float32)
    store = store_of(matrix, "cosine")
    snapshot = store._table.snapshot
    for rows in candidates.candidates(snapshot, matrix[:5], None, 10):
        assert rows is not None
        assert 10 <= len(rows) < 1_000


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_SCORES_AT_ONCE", 10_000)
    random = np.random.default_rng(2)
    matrix = random.standard_normal((6_000, 8)).astype(np.float32)
    store = store_of(matrix, "dot")
    found = store.search_many(vectors=matrix[:9], top_k=3)
    assert found == [store.search(vector=one, top_k=3) for one in matrix[:9]]
