"""Many documents into local mode, in and out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dialects.memory import check_flat_memory
from vecstore.dialects.qdrant.store import QdrantStore

DIMENSION = 384


def check(store: QdrantStore, count: int) -> None:
    check_flat_memory(store, count, DIMENSION)
    assert store.count() == count
    assert store.count(f"n >= {count - 10}") == 10
    probe = np.random.default_rng(2).random(DIMENSION)
    found = store.search(vector=probe, top_k=10, filter=f"n < {count // 2}")
    assert len(found) == 10
    assert all(one.metadata["n"] < count // 2 for one in found)
    assert store.delete(filter=f"n < {count // 2}") == count // 2
    assert store.count() == count // 2


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
def test_twenty_thousand() -> None:
    """In memory: in a folder, local mode ends a transaction with each point."""
    with QdrantStore("docs", location=":memory:", dimension=DIMENSION) as store:
        check(store, 20_000)
