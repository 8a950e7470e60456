"""Hard use of local mode, in memory and in a folder."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from tests.stress import (
    DIMENSION,
    METHODS,
    add_and_change,
    everything_at_once,
    interrupted,
    memory_flat,
)
from vecstore.dialects.qdrant.store import QdrantStore


def test_everything_at_once(tmp_path: Path) -> None:
    everything_at_once(
        lambda: QdrantStore("docs", path=str(tmp_path), dimension=DIMENSION), seconds=0.4
    )


def test_memory() -> None:
    memory_flat(QdrantStore("docs", location=":memory:", dimension=DIMENSION), calls=30)


@pytest.mark.heavy
def test_everything_at_once_for_a_minute(tmp_path: Path) -> None:
    numbers = count()
    everything_at_once(
        lambda: QdrantStore("docs", path=str(tmp_path), dimension=DIMENSION), seconds=30
    )
    everything_at_once(
        lambda: QdrantStore(f"docs{next(numbers)}", location=":memory:", dimension=DIMENSION), 30
    )


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
def test_interrupted_many_times(tmp_path: Path) -> None:
    interrupted(
        lambda: QdrantStore("docs", path=str(tmp_path), dimension=DIMENSION),
        add_and_change,
        times=2_000,
        check_each=3,
    )


@pytest.mark.heavy
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("method", METHODS)
def test_memory_of_a_hundred_thousand_calls(method: str) -> None:
    store = QdrantStore("docs", location=":memory:", dimension=DIMENSION)
    memory_flat(store, calls=100_000, methods=[method])
