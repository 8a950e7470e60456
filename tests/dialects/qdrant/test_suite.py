"""The contract of stores on the client's local mode, and on a server where one is named."""

from __future__ import annotations

import os
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from vecstore import VectorStore
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.testing import PersistentStoreTests, StoreSuite
from vecstore.testing.store_suite.searching import Searching

_numbers = count(1)


class InMemory:
    dialect = Qdrant()

    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore(f"suite_{next(_numbers)}", location=":memory:", **options)


class TestInMemory(InMemory, StoreSuite):
    pass


class TestDotScores(InMemory, Searching):
    metric = "dot"


class TestEuclideanScores(InMemory, Searching):
    metric = "euclidean"


class TestNamedVector(InMemory, Searching):
    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore("docs", location=":memory:", vector_name="body", **options)


class TestFolder(PersistentStoreTests):
    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore("docs", path=str(self.folder / uuid4().hex), **options)

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        store.close()
        return QdrantStore("docs", path=store.native_path, **options)


@pytest.mark.skipif("VECSTORE_QDRANT_URL" not in os.environ, reason="no server is named")
class TestServer(StoreSuite):
    dialect = Qdrant()

    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore(
            f"vecstore_{uuid4().hex}", url=os.environ["VECSTORE_QDRANT_URL"], create=True, **options
        )

    def discard(self, store: VectorStore) -> None:
        from qdrant_client import QdrantClient

        store.close()
        QdrantClient(os.environ["VECSTORE_QDRANT_URL"]).delete_collection(store._collection)
