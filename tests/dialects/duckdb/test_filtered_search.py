"""A filter never shortens a search, wherever the matches lie; and many documents through flat memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from vecstore import Document, F
from vecstore.dialects.duckdb import DuckDBStore

TOP_K = 10
PLACES = ("nearest", "random", "farthest")


def check_whole(count: int, dimension: int, sizes: list[int], path: Path | None = None) -> None:
    vectors = np.random.default_rng(3).normal(size=(count, dimension)).astype(np.float32)
    query = np.ones(dimension, dtype=np.float32)
    similarity = (vectors @ query) / np.linalg.norm(vectors, axis=1)
    order = np.argsort(-similarity)
    dice = np.random.default_rng(4).permutation(count)
    inside = {
        (place, size): {"nearest": order, "random": dice, "farthest": order[::-1]}[place][:size]
        for place in PLACES
        for size in sizes
    }
    held: list[dict[str, Any]] = [{} for _ in range(count)]
    for (place, size), chosen in inside.items():
        key = f"{place}{size}"
        members = set(chosen.tolist())
        for n, metadata in enumerate(held):
            metadata[f"{key}_rank"] = n if n in members else -1 - n
            if n in members:
                metadata[f"{key}_in"] = "in"
            else:
                metadata[f"{key}_out"] = True
    with DuckDBStore(path, dimension=dimension) as store:
        store.add(
            Document("", metadata, f"{n:06}", embedding=vectors[n])
            for n, metadata in enumerate(held)
        )
        for (place, size), chosen in inside.items():
            best = sorted(chosen.tolist(), key=lambda n: (-similarity[n], n))[:TOP_K]
            wanted = {f"{n:06}" for n in best}
            key = f"{place}{size}"
            for filter in (F[f"{key}_in"] == "in", F[f"{key}_out"] != True, F[f"{key}_rank"] >= 0):  # noqa: E712
                found = store.search(vector=query, top_k=TOP_K, filter=filter)
                assert {one.id for one in found} == wanted, (place, size, filter)
                assert len(store.search(vector=query, top_k=size + 1, filter=filter)) == size


def test_few_matches_among_many() -> None:
    check_whole(2_000, 16, [30])


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
def test_100_000_documents(tmp_path: Path) -> None:
    check_whole(100_000, 32, [1_000, 100, 10], tmp_path / "a.db")


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
def test_100_000_vectors_go_in_as_fast_as_by_hand_in_flat_memory(tmp_path: Path) -> None:
    """Beside the library's own quick way for arrays; the time is printed, for nobody to rely on."""
    count, dimension, at_once = 100_000, 384, 5_000

    def documents() -> Iterator[Document]:
        dice = np.random.default_rng(1)
        for n in range(count):
            yield Document(f"text {n}", {"n": n}, f"{n:06}", embedding=dice.normal(size=dimension))

    with DuckDBStore(tmp_path / "ours.db") as store:
        began = time.perf_counter(), time.process_time()
        store.add(documents())
        ours = time.perf_counter() - began[0], time.process_time() - began[1]
        assert store.count() == count
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert sum(1 for _ in store.scan(include_embedding=True)) == count
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert peak < 100 * 2**20, f"{peak / 2**20:.0f} MiB"
    with duckdb.connect(str(tmp_path / "raw.db")) as connection:
        connection.execute(
            f"CREATE TABLE t (id VARCHAR PRIMARY KEY, a VARCHAR, m JSON, e FLOAT[{dimension}])"
        )
        vectors = np.random.default_rng(1).normal(size=(2_000, dimension)).astype(np.float32)
        began = time.perf_counter(), time.process_time()
        connection.begin()
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [[f"{n:06}", "", "{}", vector.tolist()] for n, vector in enumerate(vectors)],
        )
        connection.commit()
        many = time.perf_counter() - began[0], time.process_time() - began[1]
        columns = ", ".join([f"c{n}" for n in range(dimension)])
        dice = np.random.default_rng(1)
        began = time.perf_counter(), time.process_time()
        for start in range(0, count, at_once):
            matrix = dice.normal(size=(at_once, dimension)).astype(np.float32)
            numbers = {f"c{n}": one for n, one in enumerate(np.ascontiguousarray(matrix.T))}
            connection.register("part", numbers)
            connection.execute(
                f"INSERT INTO t SELECT 'x' || (rowid + {start}), 'text', '{{}}', "
                f"array_value({columns}) FROM (SELECT *, row_number() OVER () AS rowid FROM part)"
            )
        raw = time.perf_counter() - began[0], time.process_time() - began[1]
    print(
        f"ours {ours}, by columns {raw}, executemany {many} for 2,000; scan peak {peak / 2**20:.1f}"
    )
