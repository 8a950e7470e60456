"""The contract of stores on the store in memory: made directly, under each metric, and by URL."""

from __future__ import annotations

from typing import Any

from vecstore import SimpleVectorStore, VectorStore, open_store
from vecstore.testing import StoreSuite


class TestCosine(StoreSuite):
    metric = "cosine"

    def make_store(self, **options: Any) -> VectorStore:
        return SimpleVectorStore(**options)


class TestDot(TestCosine):
    metric = "dot"


class TestEuclidean(TestCosine):
    metric = "euclidean"


class TestByUrl(TestCosine):
    def make_store(self, **options: Any) -> VectorStore:
        return open_store("memory:", **options)
