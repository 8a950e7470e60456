"""The contract of stores, in memory and on files."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.store.choices import OF_EVERY_METRIC, ON_AN_ENGINE_REPEATED
from vecstore import Expression, VectorStore
from vecstore.dialects.sqlite import SQLite, SQLiteStore
from vecstore.testing import AsyncStoreSuite, PersistentStoreTests, ScopedStoreSuite, StoreSuite
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.threads import Threads

_numbers = count(1)


class InSQLite:
    """Each store in memory."""

    dialect = SQLite()
    forks = False

    def make_store(self, **options: Any) -> VectorStore:
        return SQLiteStore(**options)

    def refuses(self, filter: Expression) -> bool:
        return len(filter.key.path) > 60

    def damage(self, store: VectorStore, kind: str) -> bool:
        metadata: dict[str, str | bytes | None] = {
            "metadata is a list": '[1, "a"]',
            "metadata is a text": '"text"',
            "metadata is null": "null",
            "no metadata": None,
        }
        if kind not in {*metadata, "no text", "nothing", "empty id"}:
            return False  # the columns' types forbid it
        store.native.execute("PRAGMA writable_schema = ON")
        store.native.execute(
            "UPDATE sqlite_master SET sql = replace(replace(sql, '\"text\" TEXT NOT NULL', "
            "'\"text\" TEXT'), '\"metadata\" TEXT NOT NULL', '\"metadata\" TEXT') "
            "WHERE name = 'documents'"
        )
        store.native.execute("PRAGMA writable_schema = RESET")
        text = None if kind in ("no text", "nothing") else "damaged"
        id = "" if kind == "empty id" else "damaged"
        row = [id, text, metadata.get(kind, '{"n": -1}'), vector_of("damaged").tobytes()]
        store.native.execute(
            "INSERT INTO documents (id, text, metadata, embedding) VALUES (?, ?, ?, ?)", row
        )
        return True


class TestInMemory(InSQLite, StoreSuite):
    repeats = ON_AN_ENGINE_REPEATED


class TestInAFile(InSQLite, PersistentStoreTests, StoreSuite):
    forks = True
    chosen = (
        *(name for name in dir(PersistentStoreTests) if name.startswith("test_")),
        Processes,
        Threads,
        "test_a_random_life",
        "test_scan_while_others_write",
    )

    def make_store(self, **options: Any) -> VectorStore:
        return SQLiteStore(self.folder / f"{next(_numbers)}.db", **options)

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, SQLiteStore)
        assert store._connections.path is not None
        return SQLiteStore(store._connections.path, **options)


class TestAwaited(InSQLite, AsyncStoreSuite):
    whole = "heavy"
    chosen = ("test_scan_while_others_write", "test_set_and_unset", "test_two_stores_share_nothing")


class TestScoped(InSQLite, ScopedStoreSuite):
    chosen = ("test_clear", "test_delete_by_filter_and_by_both", "test_set_and_unset")


class TestDotScores(InSQLite, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(InSQLite, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"
