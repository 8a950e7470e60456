"""Hard use of the in-memory store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress import (
    DIMENSION,
    add_and_change,
    everything_at_once,
    interrupted,
    memory_flat,
)
from vecstore import SimpleVectorStore, open_store


def open_memory() -> SimpleVectorStore:
    return SimpleVectorStore(dimension=DIMENSION)


def test_everything_at_once() -> None:
    done = everything_at_once(open_memory, seconds=0.4)
    assert done["close"]


def test_everything_at_once_on_a_file(tmp_path: Path) -> None:
    everything_at_once(lambda: open_store(f"memory:{tmp_path}/kb.json", dimension=DIMENSION), 0.4)


def test_interrupted() -> None:
    assert interrupted(open_memory, add_and_change, times=60) > 0


def test_memory() -> None:
    memory_flat(open_memory(), calls=50)


@pytest.mark.heavy
def test_everything_at_once_for_a_minute(tmp_path: Path) -> None:
    everything_at_once(open_memory, seconds=30)
    everything_at_once(lambda: open_store(f"memory:{tmp_path}/kb.json", dimension=DIMENSION), 30)


@pytest.mark.heavy
def test_interrupted_ten_thousand_times() -> None:
    assert interrupted(open_memory, add_and_change, times=10_000, check_each=10) > 0


@pytest.mark.heavy
def test_memory_of_a_hundred_thousand_calls() -> None:
    memory_flat(open_memory(), calls=100_000)
