"""Hard use of PostgreSQL: everything at once, interrupted anywhere, memory that stays."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from tests.stress import (
    DIMENSION,
    METHODS,
    add_and_change,
    everything_at_once,
    interrupted,
    memory_flat,
)
from vecstore.dialects.pgvector.store import PgvectorStore


def opening(dsn: str, table: str, **options: Any) -> Callable[[], PgvectorStore]:
    settings = {"create": True, "dimension": DIMENSION, "index": None, **options}
    return lambda: PgvectorStore(dsn, table=table, **settings)


# An exception that strikes between the driver's opening a connection and its handing it over leaves
# that to the garbage collector, which closes it, and says so.
dropped_by_the_driver = pytest.mark.filterwarnings(
    "ignore:.*was deleted while still open:ResourceWarning"
)


def test_everything_at_once(postgres_dsn: str, table: str) -> None:
    assert everything_at_once(opening(postgres_dsn, table), seconds=1.5)["close"]


# At random points, where test_lives.py tries every line of ours: what strikes inside the driver is the
# driver's, and different at every run.
@pytest.mark.heavy
@dropped_by_the_driver
def test_interrupted(postgres_dsn: str, table: str) -> None:
    assert interrupted(opening(postgres_dsn, table, pool_size=2), add_and_change, times=30)
    gc.collect()


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("index", ["hnsw", None])
def test_everything_at_once_for_a_minute(postgres_dsn: str, table: str, index: Any) -> None:
    everything_at_once(opening(postgres_dsn, table, index=index), seconds=60)


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
@dropped_by_the_driver
def test_interrupted_many_times(postgres_dsn: str, table: str) -> None:
    interrupted(opening(postgres_dsn, table), add_and_change, times=2_000, check_each=10)
    gc.collect()


@pytest.mark.heavy
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("method", METHODS)
def test_memory_of_a_hundred_thousand_calls(method: str, postgres_dsn: str, table: str) -> None:
    with opening(postgres_dsn, table)() as store:
        memory_flat(store, calls=100_000, methods=[method])
