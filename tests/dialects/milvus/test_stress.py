"""Hard use of milvus-lite: everything at once, interrupted anywhere, memory that stays."""

from __future__ import annotations

from collections.abc import Callable
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
from vecstore.dialects.milvus.store import MilvusStore


def opening(folder: Path) -> Callable[[], MilvusStore]:
    return lambda: MilvusStore("docs", uri=str(folder / "docs.db"), dimension=DIMENSION)


def test_everything_at_once(folder: Path) -> None:
    assert everything_at_once(opening(folder), seconds=1.5)["close"]


# At random points, also inside the client; test_interrupted.py tries the known ones.
@pytest.mark.heavy
def test_interrupted(folder: Path) -> None:
    assert interrupted(opening(folder), add_and_change, times=30)


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
def test_everything_at_once_for_minutes(folder: Path) -> None:
    everything_at_once(opening(folder), seconds=120)


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
def test_interrupted_many_times(folder: Path) -> None:
    interrupted(opening(folder), add_and_change, times=2_000, check_each=10)


@pytest.mark.heavy
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("method", METHODS)
def test_memory_of_a_hundred_thousand_calls(
    method: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine keeps rows in memory until it writes a segment: 128 MB of them by its own count,
    # which are several times as much in the process.
    monkeypatch.setattr("milvus_lite.engine.collection.MEMTABLE_MEMORY_LIMIT", 8 * 2**20)
    with opening(folder)() as store:
        memory_flat(store, calls=100_000, methods=[method], allowed=60 * 2**20)
