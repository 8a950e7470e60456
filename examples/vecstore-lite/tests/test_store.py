"""The whole proof of the store: the conformance kit, in memory and on files."""

from __future__ import annotations

from uuid import uuid4

from vecstore_lite import Lite
from vecstore_lite.store import LiteStore

from vecstore.testing import PersistentStoreTests, StoreSuite


class TestLiteStore(StoreSuite):
    dialect = Lite()

    def make_store(self, **options):
        return LiteStore(":memory:", **options)

    def refuses(self, atom):
        return len(atom.key.path) > 60


class TestLiteFile(PersistentStoreTests):
    def make_store(self, **options):
        return LiteStore(self.folder / f"{uuid4()}.db", **options)

    def open_again(self, store, **options):
        return LiteStore(store.path, **options)
