"""What our own code holds in memory while an engine in the same process holds the documents."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import vecstore
from vecstore import Document, VectorStore

_OURS = str(Path(vecstore.__file__).parent / "*")
ALLOWED = 30 * 2**20
"""Some batches of documents with their vectors."""
PER_DOCUMENT = 150
"""The ids that ``add`` gives back at its end, and notes of what is stored."""


def documents(count: int, dimension: int) -> Iterator[Document]:
    """Numbered documents, made one by one."""
    dice = np.random.default_rng(1)
    for number in range(count):
        yield Document(
            "text " * 50, {"n": number}, id=f"{number:08}", embedding=dice.random(dimension)
        )


def held() -> int:
    """Bytes in objects that were made by lines of our own."""
    gc.collect()
    snapshot = tracemalloc.take_snapshot()
    ours = snapshot.filter_traces([tracemalloc.Filter(True, _OURS)])
    return sum(statistic.size for statistic in ours.statistics("filename"))


def check_flat_memory(store: VectorStore, count: int, dimension: int) -> None:
    """Fail if what we hold grows with the documents, while they go in and while they come out."""
    adding: list[int] = []
    scanning: list[int] = []

    def sample(done: int, total: int | None) -> None:
        if done >= count * (len(adding) + 1) // 4:
            adding.append(held())

    tracemalloc.start(1)
    try:
        assert len(store.add(documents(count, dimension), progress=sample)) == count
        for seen, _ in enumerate(store.scan(include_embedding=True), 1):
            if seen >= count * (len(scanning) + 1) // 4:
                scanning.append(held())
    finally:
        tracemalloc.stop()
    assert seen == count
    assert len(adding) > 1
    assert len(scanning) > 1
    for samples in (adding, scanning):
        assert max(samples) < ALLOWED + count * PER_DOCUMENT, samples
