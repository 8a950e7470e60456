"""Many documents through flat memory, in and out."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vecstore import Document
from vecstore.dialects.pgvector.store import PgvectorStore

DIMENSION = 384
ALLOWED = 60 * 2**20


def documents(count: int) -> Iterator[Document]:
    dice = np.random.default_rng(1)
    for number in range(count):
        yield Document(
            "text " * 50, {"n": number}, id=f"{number:08}", embedding=dice.random(DIMENSION)
        )


def check(store: PgvectorStore, count: int) -> None:
    tracemalloc.start()
    try:
        store.add(documents(count))
        added = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        seen = sum(1 for _ in store.scan(include_embedding=True))
        scanned = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == count
    assert added < ALLOWED + count * 150, "the ids of the call are all that may grow"
    assert scanned < ALLOWED + count * 150


def test_some_thousands(open_pg: Callable[..., PgvectorStore]) -> None:
    check(open_pg(dimension=DIMENSION, index=None), 4_000)


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
def test_a_hundred_thousand(open_pg: Callable[..., PgvectorStore]) -> None:
    check(open_pg(dimension=DIMENSION, index=None), 100_000)
