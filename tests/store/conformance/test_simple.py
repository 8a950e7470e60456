"""The contract of stores on the store in memory: made directly, under each metric, and by URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from tests.store.choices import OF_EVERY_METRIC, OTHER_METRIC, OTHER_OPENING
from vecstore import SimpleVectorStore, VectorStore, open_store
from vecstore.simple import candidates
from vecstore.testing import PersistentStoreTests, StoreSuite


class TestCosine(StoreSuite):
    metric = "cosine"

    def make_store(self, **options: Any) -> VectorStore:
        return SimpleVectorStore(**options)


class TestDot(TestCosine):
    chosen = OTHER_METRIC
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclidean(TestCosine):
    chosen = OTHER_METRIC
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestByUrl(TestCosine):
    chosen = OTHER_OPENING

    def make_store(self, **options: Any) -> VectorStore:
        return open_store("memory:", **options)


class TestInt8(TestCosine):
    """With a first look in int8, at small data as well."""

    chosen = OTHER_OPENING

    @pytest.fixture(autouse=True)
    def _looked_at_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(candidates, "_FEW_NUMBERS", 0)

    def make_store(self, **options: Any) -> VectorStore:
        return open_store("memory:?quantize=int8", **options)


class TestFile(PersistentStoreTests):
    """``memory:`` with a path: loaded when opened, saved when closed."""

    live = False

    def make_store(self, **options: Any) -> VectorStore:
        path = self.folder / f"{uuid4()}.json"
        store = open_store(f"memory:{path}", **options)
        self.paths[id(store)] = path
        return store

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        return open_store(f"memory:{self.paths[id(store)]}", **options)

    paths: ClassVar[dict[int, Path]] = {}
