"""Exact search in memory, against the least it could cost: one pass over the vectors."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import compare, duration, show
from vecstore import Document, SimpleVectorStore

_DIMENSION = 384
_FILTERS = {"every 10th": "tenth == 0", "every 100th": "hundredth == 0"}
_PASS = "one pass over the vectors"


def _documents(vectors: np.ndarray) -> list[Document]:
    return [
        Document(
            f"text {number}",
            {"tenth": number % 10, "hundredth": number % 100},
            id=str(number),
            embedding=vector,
        )
        for number, vector in enumerate(vectors)
    ]


def _measure(count: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((count, _DIMENSION), dtype=np.float32)
    query = vectors[0] + np.float32(0.5) * vectors[1]
    documents = _documents(vectors)

    store = SimpleVectorStore()
    started = time.perf_counter()
    store.add(documents)
    added = time.perf_counter() - started

    calls = {
        _PASS: lambda: vectors.max(),
        "np.vecdot alone": lambda: np.vecdot(vectors, query),
        "search": lambda: store.search(vector=query, top_k=4),
    }
    for name, written in _FILTERS.items():
        calls[f"search, {name}"] = lambda written=written: store.search(
            vector=query, top_k=4, filter=written
        )
    compare(f"Search, {count:,} documents x {_DIMENSION}", calls, baseline=_PASS)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.json"
        started = time.perf_counter()
        store.save(file)
        saved = time.perf_counter() - started
        started = time.perf_counter()
        assert SimpleVectorStore().load(file).count() == count
        loaded = time.perf_counter() - started
        size = file.stat().st_size / vectors.nbytes
    rows = [
        ["add", duration(added), duration(added / count)],
        ["save", duration(saved), duration(saved / count)],
        ["load", duration(loaded), duration(loaded / count)],
    ]
    title = f"Fill, save and load {count:,} documents; the file is {size:.2f}x the bare vectors"
    show(title, ["", "whole", "a document"], rows)


def run() -> None:
    """In the processor's cache, and beyond it."""
    for count in (10_000, 100_000):
        _measure(count)
