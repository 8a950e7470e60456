"""Every store says where it is, and takes the options that all stores have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers import weaviate as weaviate_server
from tests.servers.pinecone import KEY, PineconeServer
from tests.servers.weaviate import WeaviateServer
from vecstore import Document, SimpleVectorStore, VectorStore
from vecstore.dialects.milvus.store import MilvusStore
from vecstore.dialects.pgvector.store import PgvectorStore
from vecstore.dialects.pinecone.store import PineconeStore
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.dialects.weaviate.store import WeaviateStore


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def start(self, operation: str, attributes: Any) -> None:
        self.heard.append((operation, dict(attributes)))

    def end(self, *arguments: Any, **details: Any) -> None:
        return


def postgres(request: pytest.FixtureRequest, folder: Path, **options: Any) -> VectorStore:
    dsn = request.getfixturevalue("postgres_dsn")
    return PgvectorStore(dsn, table="observed", create=True, **options)


def pinecone(request: pytest.FixtureRequest, folder: Path, **options: Any) -> VectorStore:
    server = PineconeServer().__enter__()
    request.addfinalizer(lambda: server.__exit__(None, None, None))
    return PineconeStore("observed", host=server.address, api_key=KEY, create=True, **options)


def weaviate(request: pytest.FixtureRequest, folder: Path, **options: Any) -> VectorStore:
    server = WeaviateServer().__enter__()
    request.addfinalizer(lambda: server.__exit__(None, None, None))
    at: dict[str, Any] = {"url": server.address, "grpc_port": server.grpc_port}
    return WeaviateStore("Observed", api_key=weaviate_server.KEY, create=True, **at, **options)


OPENERS: dict[str, Callable[..., VectorStore]] = {
    "memory": lambda request, folder, **options: SimpleVectorStore(**options),
    "postgresql": postgres,
    "qdrant": lambda request, folder, **options: QdrantStore(
        "observed", location=":memory:", **options
    ),
    "pinecone": pinecone,
    "milvus": lambda request, folder, **options: MilvusStore(
        "observed", uri=str(folder / "rows.db"), **options
    ),
    "weaviate": weaviate,
}


@pytest.mark.parametrize("system", OPENERS)
def test_observers_and_threads_are_options_of_every_store(
    system: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    ear = Ear()
    options = {"dimension": 2, "observers": [ear], "async_threads": 2}
    with OPENERS[system](request, tmp_path, **options) as store:
        store.add([Document("a", id="1", embedding=[1, 0])])
        assert store.search(vector=[1, 0])[0].id == "1"
        store.clear()
    operations = [operation for operation, _ in ear.heard]
    assert operations[:2] == ["add", "search"]
    attributes = ear.heard[0][1]
    if system != "memory":
        assert attributes["db.system.name"] == system
        named = "Observed" if system == "weaviate" else "observed"  # which begins with a capital
        assert attributes["db.collection.name"] == named
