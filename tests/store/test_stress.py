"""Hard use of the stores whose engines have no such tests of their own: see ``tests/stress.py``.

Those of memory, PostgreSQL, Qdrant and Milvus stand beside their other tests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.servers.pinecone import PineconeServer
from tests.stress import (
    DIMENSION,
    METHODS,
    add_and_change,
    broken_off_inside_locks,
    everything_at_once,
    interrupted,
    memory_flat,
)
from vecstore import VectorStore, open_store

PLACES = {
    "sqlite": "sqlite://{folder}/kb.db?table=docs",
    "duckdb": "duckdb://{folder}/kb.duckdb?table=docs",
    "chroma": "chroma://{folder}/chroma?collection=docs",
    "lancedb": "lancedb://{folder}/tables?table=docs",
    "redis": "redis+embedded://{folder}/redis?index=docs",
    "pinecone": "pinecone://docs/kb?host={server}&create=true",
}
OPTIONS: dict[str, dict[str, Any]] = {"redis": {"numbers": ["version", "group"]}}
"""What comparisons of order ask for."""
GROWTH = dict.fromkeys(("chroma", "lancedb", "duckdb"), 60 * 2**20)
"""Bytes: these engines have caches, which fill up to a bound of their own."""

Open = Callable[[], VectorStore]


@pytest.fixture
def opening(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a store on one new place."""
    with ExitStack() as stack:
        server = ""
        if engine == "pinecone":
            running = stack.enter_context(PineconeServer())
            running.http.requests = deque(maxlen=100)  # type: ignore[assignment]  # it keeps all
            monkeypatch.setenv("PINECONE_API_KEY", running.key)
            server = running.address
        url = PLACES[engine].format(folder=tmp_path, server=server)
        yield lambda: open_store(url, dimension=DIMENSION, **OPTIONS.get(engine, {}))


every = pytest.mark.parametrize("engine", PLACES)


@pytest.mark.timeout(400)
@every
def test_a_signal_inside_of_pythons_own_locks_leaves_none_taken(opening: Open) -> None:
    broken_off_inside_locks(opening())


@pytest.mark.wide
@every
def test_everything_at_once(opening: Open) -> None:
    assert everything_at_once(opening, seconds=1.5)["close"]


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
@every
def test_everything_at_once_for_a_minute(opening: Open) -> None:
    everything_at_once(opening, seconds=60)


@pytest.mark.heavy
@pytest.mark.timeout(7_200)
@every
def test_interrupted_many_times(opening: Open) -> None:
    assert interrupted(opening, add_and_change, times=2_000, check_each=10)


@pytest.mark.heavy
@pytest.mark.timeout(7_200)
@every
@pytest.mark.parametrize("method", METHODS)
def test_memory_of_a_hundred_thousand_calls(method: str, engine: str, opening: Open) -> None:
    memory_flat(opening(), calls=100_000, methods=[method], allowed=GROWTH.get(engine, 6 * 2**20))
