"""The contract of stores, in memory and on files."""

from __future__ import annotations

from itertools import count
from typing import Any

from tests.store.choices import OF_EVERY_METRIC, ON_AN_ENGINE_REPEATED
from vecstore import VectorStore
from vecstore.dialects.duckdb import DuckDB, DuckDBStore
from vecstore.testing import AsyncStoreSuite, PersistentStoreTests, ScopedStoreSuite, StoreSuite
from vecstore.testing.store_suite.diverse import Diverse
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.scopes import Scopes
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.threads import Threads

_numbers = count(1)


class InDuckDB:
    """Each store in memory."""

    dialect = DuckDB()
    forks = False

    def make_store(self, **options: Any) -> VectorStore:
        return DuckDBStore(**options)

    def damage(self, store: VectorStore, kind: str) -> bool:
        metadata: dict[str, str | None] = {
            "metadata is a list": '[1, "a"]',
            "metadata is a text": '"text"',
            "metadata is null": "null",
            "no metadata": None,
        }
        if kind not in {*metadata, "no text", "nothing", "empty id"}:
            return False  # the columns' types forbid it
        text = None if kind in ("no text", "nothing") else "damaged"
        vector = vector_of("damaged").tolist()
        id = "" if kind == "empty id" else "damaged"
        with store.native.cursor() as cursor:
            for column in ("text", "metadata"):
                cursor.execute(f"ALTER TABLE documents ALTER {column} DROP NOT NULL")
            row = [id, text, metadata.get(kind, '{"n": -1}'), vector]
            cursor.execute(
                "INSERT INTO documents (id, text, metadata, embedding) VALUES (?, ?, ?, ?)", row
            )
        return True


class TestInMemory(InDuckDB, StoreSuite):
    # The others on their paths stay; each of these asks thousands of small queries.
    repeats = (
        *ON_AN_ENGINE_REPEATED,
        Diverse,
        Scopes,
        Threads,
        "test_a_vector_reaches_its_own_score",
        "test_bounds_are_those_of_the_documents",
        "test_constants",
        "test_deleting_one_leaves_the_others",
        "test_documents_come_in_order",
        "test_drawn_metadata_comes_back",
        "test_each_can_be_replaced_and_changed",
        "test_hostile_texts_never_widen_a_deletion",
        "test_hostile_texts_never_widen_a_filter",
        "test_lengths_past_the_limit_are_refused",
        "test_many_searches_at_once",
        "test_max_batch",
        "test_max_dimension",
        "test_max_text_bytes",
        "test_ordered_pages_follow_each_other",
        "test_pages_of_equal_scores",
        "test_random_filters",
        "test_ten_thousand_documents",
        "test_unknown_ids_are_unknown",
        "test_values_and_names_of_every_kind",
        "test_values_are_counted_as_filters_count",
        "test_values_are_those_of_the_documents",
        "test_values_of_every_kind_in_order",
    )


class TestInAFile(InDuckDB, PersistentStoreTests, Processes):
    def make_store(self, **options: Any) -> VectorStore:
        return DuckDBStore(self.folder / f"{next(_numbers)}.db", **options)

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, DuckDBStore)
        assert store._connections.path is not None
        return DuckDBStore(store._connections.path, **options)


class TestAwaited(InDuckDB, AsyncStoreSuite):
    whole = "heavy"
    chosen = ("test_scan_while_others_write", "test_set_and_unset", "test_two_stores_share_nothing")


class TestScoped(InDuckDB, ScopedStoreSuite):
    chosen = ("test_clear", "test_delete_by_filter_and_by_both", "test_set_and_unset")


class TestDotScores(InDuckDB, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(InDuckDB, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"
