"""Many documents into milvus-lite, in and out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.dialects.memory import check_flat_memory
from vecstore.dialects.milvus.store import MilvusStore

DIMENSION = 384


def check(store: MilvusStore, count: int) -> None:
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
def test_a_hundred_thousand(open_milvus: Callable[..., MilvusStore]) -> None:
    check(open_milvus(dimension=DIMENSION), 100_000)
