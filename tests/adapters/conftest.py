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
from typing import Any
from uuid import uuid4

import pytest

from tests.engines.fixtures import weaviate_address
from tests.engines.weaviate_server import named_server
from tests.servers.pinecone import KEY, PineconeServer
from vecstore import Schema, VectorStore, open_store

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # read when haystack is imported

__all__ = ["weaviate_address"]

Opener = Callable[..., VectorStore]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def pinecone() -> Iterator[PineconeServer]:
    pytest.importorskip("pinecone")
    with PineconeServer() as server:
        yield server


_ENGINES = ["memory", "postgresql", "qdrant", "milvus", "pinecone"]
if named_server() is not None:
    _ENGINES.append("weaviate")


@pytest.fixture(params=_ENGINES)
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
    if request.param == "weaviate":
        return _on_weaviate(request)
    pytest.importorskip("milvus_lite")
    address = f"milvus:///{tmp_path}/milvus.db?collection={name}"
    return lambda **options: open_store(address, **options)


def _on_weaviate(request: pytest.FixtureRequest) -> Opener:
    pytest.importorskip("weaviate")
    from vecstore.dialects.weaviate.store import WeaviateStore

    at = request.getfixturevalue("weaviate_address")
    name = f"Adapter_{uuid4().hex}"
    where = {"url": at.url, "grpc_port": at.grpc_port, "api_key": at.api_key}

    def delete() -> None:
        with WeaviateStore(name, create=True, **where) as store:
            store.native.collections.delete(name)

    request.addfinalizer(delete)
    # What it orders has to be declared.
    ordered = Schema({"weight": Any, "year": Any}, others="allow")
    return lambda **options: WeaviateStore(
        name, create=True, **{"schema": ordered, **where, **options}
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
