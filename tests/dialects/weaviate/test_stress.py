"""Hard use of a Weaviate server: everything at once, interrupted, forked, killed, called for ever."""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.engines.weaviate_server import Address
from tests.store.test_many_processes import run
from tests.stress import (
    DIMENSION,
    METHODS,
    add_and_change,
    everything_at_once,
    interrupted,
    memory_flat,
)
from vecstore import Schema
from vecstore.dialects.weaviate.store import WeaviateStore

pytestmark = [
    pytest.mark.servers,
    pytest.mark.heavy,
    pytest.mark.timeout(7_200),
]
Open = Callable[[], WeaviateStore]


@pytest.fixture
def opening(weaviate_address: Address) -> Open:
    """Opens a store on one new collection."""
    at, collection = weaviate_address, f"Stress_{uuid4().hex}"
    schema = Schema({"version": int, "group": int}, others="allow")
    return lambda: WeaviateStore(
        collection,
        url=at.url,
        grpc_port=at.grpc_port,
        api_key=at.api_key,
        schema=schema,
        create=True,
        dimension=DIMENSION,
    )


@pytest.mark.parametrize("seconds", [2, pytest.param(60, id="a-minute")])
def test_everything_at_once(opening: Open, seconds: float) -> None:
    assert everything_at_once(opening, seconds)["close"]


@pytest.mark.parametrize("times", [30, 2_000])
def test_interrupted(opening: Open, times: int) -> None:
    assert interrupted(opening, add_and_change, times=times, check_each=10)


@pytest.mark.parametrize("method", METHODS)
def test_memory_of_a_hundred_thousand_calls(method: str, opening: Open) -> None:
    memory_flat(opening(), calls=100_000, methods=[method])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    ("way", "counted"),
    [
        ("forks", "refused"),
        ("forks", "answered"),  # where gRPC is told of forks
        ("kills", "killed"),
        ("pairs", "pairs"),
    ],
)
@pytest.mark.parametrize("times", [6, 100])
def test_many_processes(
    way: str,
    counted: str,
    times: int,
    weaviate_address: Address,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = weaviate_address
    monkeypatch.setenv("VECSTORE_WEAVIATE_API_KEY", at.api_key or "")
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", str(int(counted == "answered")))
    place = f"weaviate://{at.host}:{at.port}/Many_{uuid4().hex}?create=true"
    told = run(way, f"{place}&grpc_port={at.grpc_port}", times)
    assert told[counted] == times
