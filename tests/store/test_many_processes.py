"""Forks, kills and two processes at one place, a hundred times: nothing lost, left or hung."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.servers.pinecone import PineconeServer
from tests.store.many_processes import servers_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

ROOT = Path(__file__).resolve().parents[2]

PLACES = {
    "memory": "memory:{folder}/kb.json",
    "pgvector": "pgvector+embedded://{folder}/pg?table=docs&index=none",
    "qdrant": "qdrant://{folder}/qdrant?collection=docs",
    "lancedb": "lancedb://{folder}/tables?table=docs",
    "milvus": "milvus://{folder}/docs.db?collection=docs",
    "sqlite": "sqlite://{folder}/kb.db?table=docs",
    "duckdb": "duckdb://{folder}/kb.duckdb?table=docs",
    "chroma": "chroma://{folder}/chroma?collection=docs",
    "redis": "redis+embedded://{folder}/redis?index=docs",
    "pinecone": "pinecone://docs/kb?host={server}&create=true",
}
SHARED = ("pgvector", "sqlite", "redis", "pinecone")
"""What several processes can have open at once; the others belong to one at a time."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the root of temporary files; pytest's own are closed to PostgreSQL's user."""
    with tempfile.TemporaryDirectory(prefix="vecstore-test-") as name:
        yield Path(name)


@pytest.fixture
def place(folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a new place of an engine."""
    if engine != "pinecone":
        yield PLACES[engine].format(folder=quote(str(folder)))
        return
    with PineconeServer() as server:
        monkeypatch.setenv("PINECONE_API_KEY", server.key)
        yield PLACES[engine].format(server=server.address)


def check_servers_ended(folder: Path) -> None:
    """Nothing of an embedded server is left; one whose user was killed ends a moment later."""
    ends = time.monotonic() + 60
    while any(servers_of(str(folder / name)) for name in ("pg", "redis")):
        assert time.monotonic() < ends, "an embedded server is left"
        time.sleep(0.05)


def run(way: str, place: str, times: int) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.store.many_processes",
            way,
            place,
            str(times),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_700,
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    counted: dict[str, Any] = json.loads(done.stdout)
    print(way, place.split(":")[0], counted)  # the figure, for whoever runs it
    return counted


def sized(usual: tuple[str, ...], engines: tuple[str, ...]) -> Any:
    """A few times on some engines, a hundred times on each."""
    return pytest.mark.parametrize(
        ("engine", "times"),
        [(engine, 6) for engine in usual]
        + [
            pytest.param(
                engine,
                100,
                marks=[pytest.mark.heavy, pytest.mark.timeout(1_800)],
                id=f"{engine}-100",
            )
            for engine in engines
        ],
    )


@sized(("memory",), tuple(PLACES))
def test_a_store_that_is_open_and_forks(place: str, engine: str, times: int, folder: Path) -> None:
    counted = run("forks", place, times)
    answers = engine in (*SHARED, "memory")  # what is in memory is the child's own copy
    assert counted["answered" if answers else "refused"] == times
    check_servers_ended(folder)


# What is in memory is written when it is closed; tests/simple/test_processes.py kills it then.
@sized((), tuple(engine for engine in PLACES if engine != "memory"))
def test_writers_that_are_killed(place: str, engine: str, times: int, folder: Path) -> None:
    counted = run("kills", place, times)
    assert counted["killed"] == times
    assert counted["acknowledged"] >= times
    check_servers_ended(folder)


@sized(("memory",), tuple(PLACES))
def test_two_processes_at_once(place: str, engine: str, times: int, folder: Path) -> None:
    assert run("pairs", place, times)["pairs"] == times
    check_servers_ended(folder)
