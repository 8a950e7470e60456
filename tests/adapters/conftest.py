"""What the tests of all adapters share: stores, and coroutine functions as tests.

Suites of frameworks have coroutine functions among their tests; they run here without a plug-in.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

from tests.servers.pinecone import KEY, PineconeServer
from vecstore import VectorStore, open_store

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # read when haystack is imported

Opener = Callable[..., VectorStore]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def pinecone() -> Iterator[PineconeServer]:
    pytest.importorskip("pinecone")
    with PineconeServer() as server:
        yield server


@pytest.fixture(params=["memory", "postgresql", "qdrant", "milvus", "pinecone"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens an empty store of each engine, given its options."""
    name = f"adapter_{next(_numbers)}"
    if request.param == "memory":
        return lambda **options: open_store("memory:", **options)
    if request.param == "postgresql":
        dsn = request.getfixturevalue("postgres_dsn")
        address = f"{dsn}{'&' if '?' in dsn else '?'}table={name}"
        return lambda **options: open_store(address, create=True, **options)
    if request.param == "qdrant":
        pytest.importorskip("qdrant_client")
        return lambda **options: open_store(f"qdrant:?collection={name}", **options)
    if request.param == "pinecone":
        server = request.getfixturevalue("pinecone")
        index = name.replace("_", "-")
        address = f"pinecone://{index}/kb?host={server.address}&create=true"
        return lambda **options: open_store(address, api_key=KEY, **options)
    pytest.importorskip("milvus_lite")
    address = f"milvus:///{tmp_path}/milvus.db?collection={name}"
    return lambda **options: open_store(address, **options)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
