"""The contract of stores on the client's local mode, and on a server where one is named."""

from __future__ import annotations

import os
from itertools import count
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from qdrant_client import models

from tests.store.choices import (
    AWAITED,
    OF_EVERY_METRIC,
    OF_THE_BASE,
    ON_AN_ENGINE_REPEATED,
)
from vecstore import VectorStore
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.layout import LANGCHAIN, PayloadLayout
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.ordered import Ordered
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.statistics import Statistics
from vecstore.testing.store_suite.updating import Updating

_numbers = count(1)
DAMAGED = {"a number": 7, "a list": [1, "a"], "a text": "text", "null": None}


class InMemory:
    """Local mode, which is Python through and through: fewer documents where many are wanted."""

    dialect = Qdrant()
    many = 1_000

    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore(f"suite_{next(_numbers)}", location=":memory:", **options)

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, QdrantStore)
        payload: dict[str, Any] = {"id": "damaged", "text": "damaged", "metadata": {"n": -1}}
        match kind:
            case "no id" | "no text":
                del payload[kind.removeprefix("no ")]
            case "no metadata":
                del payload["metadata"]
            case "nothing":
                payload = {}
            case _:
                part, _, what = kind.partition(" is ")
                payload[part] = DAMAGED[what]
        vector = vector_of("damaged").tolist()
        point = models.PointStruct(id=str(uuid4()), vector=vector, payload=payload)
        store.native.upsert(store._collection, [point])
        return True


class TestInMemory(InMemory, StoreSuite):
    repeats = (*ON_AN_ENGINE_REPEATED, *OF_THE_BASE, Ordered, Statistics, "test_eight_threads")


class TestAwaited(InMemory, AsyncStoreSuite):
    whole = "heavy"
    chosen = AWAITED


class TestScoped(InMemory, ScopedStoreSuite):
    chosen = ()


@pytest.mark.wide
class TestManyInMemory(InMemory, Lives):
    many = 10_000


class TestDotScores(InMemory, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(InMemory, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestNamedVector(InMemory, Searching):
    repeats = OF_EVERY_METRIC

    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore("docs", location=":memory:", vector_name="body", **options)


class InLangchainsLayout(InMemory):
    """Ids are the points' own, metadata a part of payloads that hold other things as well."""

    layout: ClassVar[PayloadLayout] = LANGCHAIN

    def make_store(self, **options: Any) -> VectorStore:
        return QdrantStore("docs", location=":memory:", layout=self.layout, **options)

    def damage(self, store: VectorStore, kind: str) -> bool:
        return False


class TestInLangchainsLayout(InLangchainsLayout, StoreSuite):
    chosen = (Ids, Adding, Updating, Deleting)


class TestBesideTheKeysOfMetadata(InLangchainsLayout, Extra):
    """Its extra stands among the keys of the metadata, under the name that the layout gives it."""

    layout = PayloadLayout("doc", "content", "", "more")


class TestFolder(PersistentStoreTests):
    live = False  # one client at a time has the folder
    paths: ClassVar[dict[VectorStore, str]] = {}

    def make_store(self, **options: Any) -> VectorStore:
        path = str(self.folder / uuid4().hex)
        store = QdrantStore("docs", path=path, **options)
        self.paths[store] = path
        return store

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        return QdrantStore("docs", path=self.paths[store], **options)


if "VECSTORE_QDRANT_URL" in os.environ:

    class TestServer(StoreSuite):
        dialect = Qdrant()

        def make_store(self, **options: Any) -> VectorStore:
            return QdrantStore(
                f"vecstore_{uuid4().hex}",
                url=os.environ["VECSTORE_QDRANT_URL"],
                create=True,
                **options,
            )

        def discard(self, store: VectorStore) -> None:
            from qdrant_client import QdrantClient

            store.close()
            QdrantClient(os.environ["VECSTORE_QDRANT_URL"]).delete_collection(store._collection)
