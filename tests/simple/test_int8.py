"""``quantize="int8"``: a look at a quarter of the bytes, and the results of float32."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simple.test_threads import Workshop, document
from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    Document,
    SimpleVectorStore,
    open_store,
)
from vecstore.simple import candidates, codes
from vecstore.simple.candidates import narrowed
from vecstore.store.capabilities import METRICS, Metric

KINDS = [
    "random",
    "near ties",
    "duplicates",
    "scales",
    "tiny",
    "huge",
    "extreme",
    "zeros",
    "outlier",
    "whole numbers",
    "one line",
]
FILTERS = [None, "n < 6", "n < 3", "n == 0", "n == 0 AND m == 1"]


@pytest.fixture(autouse=True)
def _looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_FEW_NUMBERS", 0)  # small data, too


def vectors_of(kind: str, random: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    matrix = random.standard_normal((count, dimension)).astype(np.float32)
    if kind == "near ties":
        matrix = matrix[:1] + matrix * np.float32(10.0 ** random.integers(-8, -2))
    elif kind == "duplicates":
        matrix = matrix[random.integers(0, min(40, count), count)]
    elif kind == "scales":
        matrix *= 10.0 ** random.integers(-6, 6, (count, 1)).astype(np.float32)
    elif kind == "tiny":
        matrix *= np.float32(2e-15)
    elif kind == "huge":
        matrix *= np.float32(2e13)
    elif kind == "extreme":
        matrix *= 10.0 ** random.integers(-30, 30, (count, 1)).astype(np.float32)
    elif kind == "zeros":
        matrix[random.random((count, dimension)) < 0.9] = 0
    elif kind == "outlier":
        matrix[:, 0] *= 1_000
    elif kind == "whole numbers":
        matrix = np.rint(matrix)
    elif kind == "one line":
        matrix = matrix[:1] * random.choice(np.array([-2, 0.5, 1, 3], np.float32), (count, 1))
    return matrix


def documents_of(matrix: np.ndarray) -> list[Document]:
    return [
        Document("", {"n": n % 11, "m": n % 7}, id=f"{n * 7919 % len(matrix):06}", embedding=row)
        for n, row in enumerate(matrix)
    ]


def compare(metric: Metric, seed: int, kind: str, top_k: int) -> None:
    random = np.random.default_rng(seed)
    count, dimension = int(random.integers(50, 1_500)), int(random.choice([1, 2, 7, 64, 131]))
    matrix = vectors_of(kind, random, count, dimension)
    queries = np.concatenate(
        [
            matrix[:2],
            -matrix[2:3],
            matrix[3:4] * np.float32(1 + 1e-6) + np.float32(1e-7),
            vectors_of(kind, random, 2, dimension),
            random.standard_normal((2, dimension)).astype(np.float32),
        ]
    )
    if metric == "cosine":
        matrix[~matrix.any(axis=1), 0] = 1
        queries[~queries.any(axis=1), 0] = 1
    plain, quantized = (
        SimpleVectorStore(metric=metric),
        SimpleVectorStore(metric=metric, quantize="int8"),
    )
    documents = documents_of(matrix)
    again = documents_of(vectors_of(kind, random, count, dimension)[::-1] + matrix[:1])[
        : count // 7
    ]
    for store in (plain, quantized):
        store.add(documents[: count // 3])
        store.add(documents[count // 3 :])

    def check() -> None:
        for filter in FILTERS:
            for query in queries:
                found = quantized.search(vector=query, top_k=top_k, filter=filter)
                assert found == plain.search(vector=query, top_k=top_k, filter=filter)
        found = quantized.search_many(vectors=queries, top_k=top_k)
        assert found == plain.search_many(vectors=queries, top_k=top_k)

    check()
    for store in (plain, quantized):
        store.delete([one.id for one in documents[: count // 5]])
        store.add([one for one in again if one.embedding is not None and one.embedding.any()])
        store.update_metadata(set={"n": 0}, filter="n == 5")
    check()
    for store in (plain, quantized):
        store.delete(filter="n < 8")  # most rows, so that the others are moved together
    check()


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), top_k=st.sampled_from([1, 4, 30])
)
def test_the_same_results(metric: Metric, seed: int, kind: str, top_k: int) -> None:
    compare(metric, seed, kind, top_k)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_the_same_results_many_times(metric: Metric, kind: str) -> None:
    for seed in range(60):
        compare(metric, seed, kind, (1, 4, 30)[seed % 3])


@pytest.mark.wide
@pytest.mark.parametrize("metric", METRICS)
def test_the_same_results_on_docstrings(metric: Metric) -> None:
    from benchmarks.data import real_data

    data = real_data()
    stores = [SimpleVectorStore(metric=metric, quantize=way) for way in (None, "int8")]  # type: ignore[arg-type]
    for store in stores:
        store.add(data.documents())
    for query in [*data.queries, *data.vectors[::20]]:
        for filter in (None, "length > 300", "kind == 'class'"):
            plain, quantized = (
                store.search(vector=query, top_k=10, filter=filter) for store in stores
            )
            assert plain == quantized
    counts = [len(narrowed(stores[1]._table.snapshot, query, None, 10)) for query in data.queries]
    assert np.median(counts) < len(data) / 10


@pytest.mark.parametrize("metric", METRICS)
def test_few_rows_are_scored_again(metric: Metric) -> None:
    random = np.random.default_rng(1)
    matrix = random.standard_normal((20_000, 64)).astype(np.float32)
    store = SimpleVectorStore(metric=metric, quantize="int8")
    store.add(documents_of(matrix))
    snapshot = store._table.snapshot
    few = np.arange(0, 20_000, 40)
    many = np.arange(0, 20_000, 2)
    for query in matrix[:5]:
        for rows in (None, few, many):
            found = narrowed(snapshot, query, rows, 10)
            assert found is not None
            assert 10 <= len(found) < (400 if rows is None else len(rows) / 2)
            assert rows is None or np.isin(found, rows).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("lost", ["of the query", "of the vectors"])
def test_what_int8_loses_counts(metric: Metric, lost: str) -> None:
    """One side is kept without loss; the other decides which of many near ones is the best."""
    random = np.random.default_rng(6)
    near = np.rint(random.standard_normal(64) * 40) + random.integers(-2, 3, (2_000, 64))
    near = np.clip(near, -127, 127).astype(np.float32)
    near[:, 0] = 127  # the step is 1
    queries = near[:40] + random.uniform(-0.5, 0.5, (40, 64)).astype(np.float32)
    if lost == "of the vectors":
        queries, near = near[:40], near + random.uniform(-0.5, 0.5, near.shape).astype(np.float32)
    plain = SimpleVectorStore(metric=metric)
    quantized = SimpleVectorStore(metric=metric, quantize="int8")
    for store in (plain, quantized):
        store.add(documents_of(near))
    for query in queries:
        found = quantized.search(vector=query, top_k=1)
        assert found == plain.search(vector=query, top_k=1)


def test_what_float32_rounds_counts() -> None:
    """int8 loses nothing of these vectors, and knows their products better than float32 does.

    Adding up 65,536 products with 127, float32 rounds upwards with those of 125, and downwards with
    those of 123 and 127, thousands of times. By that the second best is found first.
    """
    dimension = 65_536
    low, high = np.full((2, dimension), 125, np.float32)
    high[::2], high[1::2] = 123, 127
    low[0] = high[0] = 127  # the step is 1
    high[2:20:2] = 127
    matrix = np.stack([low, high, *-np.eye(6, dimension, dtype=np.float32)])
    query = np.full(dimension, 127, np.float32)
    found = []
    for way in (None, "int8"):
        store = SimpleVectorStore(metric="dot", quantize=way)  # type: ignore[arg-type]
        store.add(documents_of(matrix))
        found.append(store.search(vector=query, top_k=1))
    assert found[0] == found[1]


def test_rests_are_not_too_short() -> None:
    random = np.random.default_rng(2)
    for kind in KINDS:
        for dimension in (1, 3, 200):
            matrix = vectors_of(kind, random, 500, dimension)
            wide = matrix.astype(np.float64)
            lengths = np.sqrt(np.vecdot(wide, wide))
            made = codes.Codes.of(False, matrix, lengths.astype(np.float32))
            if kind != "extreme":
                left = wide - made.numbers * made.steps[:, None].astype(np.float64)
                assert (made.rests >= np.sqrt(np.vecdot(left, left))).all(), kind
                assert (made.rests <= 0.02 * dimension**0.5 * np.abs(matrix).max(axis=1)).all()


def test_memory_is_a_quarter_more() -> None:
    random = np.random.default_rng(3)
    store = SimpleVectorStore(quantize="int8")
    store.add(documents_of(random.standard_normal((256, 128)).astype(np.float32)))
    kept = store._table.snapshot.codes
    assert kept is not None
    assert kept.nbytes == 256 * (128 + 8)
    assert SimpleVectorStore()._table.snapshot.codes is None


def test_readers_and_writers(tmp_path: Path) -> None:
    store = SimpleVectorStore(quantize="int8")
    store.add([document(f"d{n}", n) for n in range(400)])
    shop = Workshop(store, tmp_path)
    writers = [shop.add_some, shop.delete_some] * 2
    shop.run(0.5, *writers, *[shop.search] * 8)
    snapshot = store._table.snapshot
    rows = snapshot.live_rows()
    fresh = codes.Codes.of(True, snapshot.matrix[rows], snapshot.lengths[rows])
    assert snapshot.codes is not None
    kept = snapshot.codes.taken(rows)
    assert np.array_equal(kept.numbers, fresh.numbers)
    assert np.array_equal(kept.rests, fresh.rests)


def test_files_are_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    documents = documents_of(random.standard_normal((300, 16)).astype(np.float32))
    plain = SimpleVectorStore()
    plain.add(documents)
    path = tmp_path / "kb.json"
    with open_store(f"memory:{path}?quantize=int8") as store:
        store.add(documents)
    assert path.read_text() == plain.to_json()
    query = documents[5].embedding
    for opened in (
        SimpleVectorStore(quantize="int8").load(path),
        SimpleVectorStore.from_json(plain.to_json(), quantize="int8"),
    ):
        assert opened._table.snapshot.codes is not None
        assert opened.search(vector=query, top_k=5) == plain.search(vector=query, top_k=5)
        opened.clear()
        opened.add(documents)
        assert opened.search(vector=query, top_k=5) == plain.search(vector=query, top_k=5)


def test_another_metric_of_a_file_is_taken(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    matrix = random.standard_normal((300, 16)).astype(np.float32)
    plain = SimpleVectorStore(metric="euclidean")
    plain.add(documents_of(matrix))
    plain.save(tmp_path / "kb.json")
    store = SimpleVectorStore(quantize="int8").load(tmp_path / "kb.json")
    assert store.search(vector=matrix[7], top_k=5) == plain.search(vector=matrix[7], top_k=5)


def test_other_ways_are_refused() -> None:
    with pytest.raises(ConfigurationError, match='quantize is "int8", or left out'):
        SimpleVectorStore(quantize="int4")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="not 'float16'"):
        open_store("memory:?quantize=float16")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simsimd", None)
    codes.dots_of_int8.cache_clear()
    with pytest.raises(BackendNotInstalledError, match=r"needs simsimd: pip install 'simsimd"):
        SimpleVectorStore(quantize="int8")
    assert SimpleVectorStore().count() == 0


def test_a_processor_that_adds_up_wrongly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Saturating:
        @staticmethod
        def cdist(one: Any, many: Any, metric: str, out_dtype: str) -> Any:
            products = many.astype(np.float32) @ one[0].astype(np.float32)
            return np.minimum(products, 32_767)[None]

    monkeypatch.setitem(sys.modules, "simsimd", Saturating)
    codes.dots_of_int8.cache_clear()
    try:
        with pytest.raises(BackendError, match="multiplies int8 wrongly"):
            SimpleVectorStore(quantize="int8")
    finally:
        codes.dots_of_int8.cache_clear()
