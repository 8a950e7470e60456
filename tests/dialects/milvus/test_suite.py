"""The contract of stores on milvus-lite, and on a server where one is named."""

from __future__ import annotations

import os
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from tests.dialects.conformance.test_milvus import ORDERINGS, misread, unreachable
from tests.store.choices import (
    AWAITED,
    OF_EVERY_METRIC,
    OF_THE_BASE,
    ON_AN_ENGINE_REPEATED,
)
from vecstore import Expression, VectorStore
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.milvus.layout import TAGS, FieldLayout
from vecstore.dialects.milvus.store import MilvusStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.ordered import Ordered
from vecstore.testing.store_suite.paging import Paging
from vecstore.testing.store_suite.reading import Reading
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.statistics import Statistics
from vecstore.testing.store_suite.updating import Updating

_numbers = count(1)


class OnMilvus:
    """What our own layout refuses beyond what the dialect declares."""

    dialect = Milvus(tags=TAGS)
    many = 2_000

    folder: Any

    def damage(self, store: VectorStore, kind: str) -> bool:
        damaged = {
            "metadata is a list": [1],
            "metadata is a text": '"text"',
            "metadata is a number": 5,
        }
        if kind not in damaged:
            return False  # the other fields have a type, and cannot be null
        assert isinstance(store, MilvusStore)
        row = {
            **FieldLayout().write("damaged", "", {"n": -1}),
            "vector": vector_of("damaged").tolist(),
        }
        store.native.upsert(store._plan.name, [{**row, "metadata": damaged[kind]}])
        return True

    def refuses(self, filter: Expression) -> bool:
        if filter.op not in ORDERINGS:
            return False
        literal = filter.value.value
        large = not isinstance(literal, str) and not -(2**53) < literal < 2**53
        return large or misread(literal) or unreachable(filter)


class InFile(OnMilvus):
    """Collections in one file."""

    def make_store(self, **options: Any) -> VectorStore:
        return MilvusStore(f"suite_{next(_numbers)}", uri=str(self.folder / "docs.db"), **options)


class TestInFile(InFile, StoreSuite):
    # test_writers.py and test_stress.py have threads on one file as well.
    repeats = (
        *ON_AN_ENGINE_REPEATED,
        *OF_THE_BASE,
        Ordered,
        Paging,
        Statistics,
        "test_eight_threads",
        "test_ten_thousand_documents",
    )


class TestAwaited(InFile, AsyncStoreSuite):
    whole = "heavy"
    chosen = AWAITED


class TestScoped(InFile, ScopedStoreSuite):
    chosen = ()


@pytest.mark.wide
class TestManyInFile(InFile, Lives):
    many = 10_000


class CursorStore(MilvusStore):
    """Reads a file as it would read a server: page by page, in the order of the keys."""

    def _open_collection(self) -> None:
        self._call.lite = False
        super()._open_collection()


class TestPagesOfServers(OnMilvus, Reading, Updating):
    def make_store(self, **options: Any) -> VectorStore:
        name = f"cursor_{next(_numbers)}"
        return CursorStore(
            name, uri=str(self.folder / "docs.db"), create=True, index="FLAT", **options
        )


class TestDotScores(InFile, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(InFile, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestOutliving(InFile, PersistentStoreTests):
    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, MilvusStore)
        return MilvusStore(store._plan.name, uri=str(self.folder / "docs.db"), **options)


if "VECSTORE_MILVUS_URI" in os.environ:

    class TestServer(OnMilvus, StoreSuite):
        many = 10_000

        def make_store(self, **options: Any) -> VectorStore:
            return MilvusStore(
                f"vecstore_{uuid4().hex}",
                uri=os.environ["VECSTORE_MILVUS_URI"],
                create=True,
                **options,
            )

        def discard(self, store: VectorStore) -> None:
            from pymilvus import MilvusClient

            assert isinstance(store, MilvusStore)
            store.close()
            MilvusClient(os.environ["VECSTORE_MILVUS_URI"]).drop_collection(store._plan.name)
