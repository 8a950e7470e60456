"""The whole proof of the store: the conformance kit, in memory and on files."""

from __future__ import annotations

from uuid import uuid4

from vecstore_sqlite import Sqlite
from vecstore_sqlite.store import SqliteStore

from vecstore.testing import PersistentStoreTests, StoreSuite


class TestSqliteStore(StoreSuite):
    dialect = Sqlite()

    def make_store(self, **options):
        return SqliteStore(":memory:", **options)

    def refuses(self, atom):
        return len(atom.key.path) > 60


class TestSqliteFile(PersistentStoreTests):
    def make_store(self, **options):
        return SqliteStore(self.folder / f"{uuid4()}.db", **options)

    def open_again(self, store, **options):
        return SqliteStore(store.path, **options)
