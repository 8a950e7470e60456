"""The contract of stores through the asynchronous twin, inside a scope, and under an observer."""

from __future__ import annotations

from typing import Any

from tests.store.choices import AWAITED, OBSERVED, OF_THE_DIALECT, SCOPED
from tests.store.conformance.test_example import example
from vecstore import Expression, SimpleVectorStore, VectorStore
from vecstore.testing import AsyncStoreSuite, ObservedStoreSuite, ScopedStoreSuite


class InMemory:
    many = 1_000

    def make_store(self, **options: Any) -> VectorStore:
        return SimpleVectorStore(**options)


class InLite:
    many = 1_000
    dialect = example.Lite()

    def make_store(self, **options: Any) -> VectorStore:
        return example.LiteStore(":memory:", **options)

    def refuses(self, filter: Expression) -> bool:
        return len(filter.key.path) > 60


class TestAwaitedInMemory(InMemory, AsyncStoreSuite):
    repeats = OF_THE_DIALECT


class TestScopedInMemory(InMemory, ScopedStoreSuite):
    pass


class TestObservedInMemory(InMemory, ObservedStoreSuite):
    chosen = OBSERVED


class TestAwaitedInLite(InLite, AsyncStoreSuite):
    whole = "heavy"
    chosen = AWAITED


class TestScopedInLite(InLite, ScopedStoreSuite):
    whole = "heavy"
    chosen = SCOPED
