"""The suite on stores with limits, on the defaults of the hooks, and on ids of other kinds."""

from __future__ import annotations

from typing import Any

from tests.store.choices import OTHER_IDS
from tests.store.conformance.limited import (
    FLAT,
    IntegerStore,
    LimitedStore,
    SafeMinimalStore,
    UuidStore,
)
from vecstore import VectorStore
from vecstore.testing import StoreSuite


class TestMinimal(StoreSuite):
    """Six hooks, and the defaults for the rest."""

    many = 2_000

    def make_store(self, **options: Any) -> VectorStore:
        return SafeMinimalStore(**options)


class TestLimited(StoreSuite):
    dialect = "qdrant"
    domain = FLAT
    many = 500

    def make_store(self, **options: Any) -> VectorStore:
        return LimitedStore(**options)


class TestUuids(StoreSuite):
    chosen = OTHER_IDS
    many = 500

    def make_store(self, **options: Any) -> VectorStore:
        return UuidStore(**options)


class TestIntegers(StoreSuite):
    chosen = OTHER_IDS
    many = 500

    def make_store(self, **options: Any) -> VectorStore:
        return IntegerStore(**options)
