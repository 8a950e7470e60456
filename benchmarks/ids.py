"""Searches among documents that are known by their ids, beside the same by metadata; and reads."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vecstore import BackendNotInstalledError, Document, F, VecstoreError, VectorStore, open_store

_ADDRESSES = {
    "memory": "memory:",
    "sqlite": "sqlite://{folder}/s.db?table=docs",
    "duckdb": "duckdb://{folder}/d.db?table=docs",
    "lancedb": "lancedb://{folder}/l?table=docs",
    "pgvector": "pgvector+embedded://{folder}/pg?table=docs",
    "qdrant": "qdrant://{folder}/q?collection=docs",
    "milvus": "milvus://{folder}/m.db?collection=docs",
    "chroma": "chroma://{folder}/c?collection=docs",
    "redis": "redis+embedded://{folder}/r?index=docs",
}
_DIMENSION = 128
_TOP_K = 10


def run(
    names: tuple[str, ...] = tuple(_ADDRESSES),
    documents: int = 5_000,
    chosen: int = 1_000,
    rounds: int = 3,
) -> None:
    """Print milliseconds, the median of some rounds, for each store that is kept in this process.

    Args:
        names: Which stores.
        documents: How many there are.
        chosen: Among how many of them is searched.
        rounds: How often.
    """
    print(f"among {chosen:,} of {documents:,} documents, {_DIMENSION} dimensions, in ms")
    print(
        f"{'':10}{'native':>8}{'ids':>10}{'get them':>10}{'besides':>10}{'IN':>10}{'get of 10':>11}"
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            address = _ADDRESSES[name].format(folder=Path(folder))
            try:
                store = open_store(address, dimension=_DIMENSION)
            except BackendNotInstalledError as error:
                print(f"{name:10}left out: {error}")
                continue
            with store:
                print(f"{name:10}{_line(store, documents, chosen, rounds)}", flush=True)


def _line(store: VectorStore, documents: int, chosen: int, rounds: int) -> str:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((documents, _DIMENSION), dtype=np.float32)
    store.add(
        Document(
            "",
            {"key": f"k{n}"},
            f"d{n}" if store.capabilities.id_charset == "any" else None,
            vectors[n],
        )
        for n in range(documents)
    )
    query = random.standard_normal(_DIMENSION, dtype=np.float32)
    keys = [f"k{n}" for n in random.permutation(documents)[:chosen]]
    of_key = {one.metadata["key"]: one.id for one in store.scan(text=False)}
    ids = [of_key[key] for key in keys]
    by_ids, found = _timed(lambda: store.search(vector=query, top_k=_TOP_K, ids=ids), rounds)
    # What every one of them takes that is read to be compared.
    reading, _ = _timed(lambda: store.get(ids, include_embedding=True), rounds)
    besides, _ = _timed(lambda: store.search(vector=query, top_k=_TOP_K, exclude_ids=ids), rounds)
    among = F.key.in_(keys)
    try:
        by_metadata, same = _timed(
            lambda: store.search(vector=query, top_k=_TOP_K, filter=among), rounds
        )
        if [one.id for one in found] != [one.id for one in same]:
            raise AssertionError(f"{store.name} finds others by their ids than by their keys")
        metadata = f"{by_metadata:.1f}"
    except VecstoreError:
        metadata = "refused"
    read, _ = _timed(lambda: store.get(ids[:10]), 10 * rounds)
    native = "yes" if store.capabilities.native_ids else "no"
    others = f"{reading:>10.1f}{besides:>10.1f}{metadata:>10}"
    return f"{native:>8}{by_ids:>10.1f}{others}{read:>11.2f}"


def _timed(work: Callable[[], list[Document]], rounds: int) -> tuple[float, list[Document]]:
    """The median of the milliseconds, after one round that is not counted."""
    found = work()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(1_000 * (time.perf_counter() - start))
    return float(np.median(taken)), found
