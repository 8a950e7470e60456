"""The contract of stores on LanceDB: in a folder, and in memory."""

from __future__ import annotations

from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from vecstore import VectorStore
from vecstore.dialects.lancedb import LanceDB
from vecstore.dialects.lancedb.rows import written
from vecstore.dialects.lancedb.schema import table_schema
from vecstore.dialects.lancedb.store import LanceDBStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.searching import Searching

_numbers = count(1)
DAMAGED = {"a list": "[1]", "a text": '"text"', "a number": "5", "null": "null"}


class InFolder:
    """Tables in one folder."""

    dialect = LanceDB(layout="exact")
    forks = False
    many = 2_000

    folder: Any

    def make_store(self, **options: Any) -> VectorStore:
        return LanceDBStore(f"suite_{next(_numbers)}", path=self.folder / "tables", **options)

    def damage(self, store: VectorStore, kind: str) -> bool:
        part, _, what = kind.partition(" is ")
        if part != "metadata" or what not in DAMAGED:
            return False  # no column can be null, and each has a type
        assert isinstance(store, LanceDBStore)
        table = store.native.open_table(store._collection)
        vector = vector_of("damaged")[None]
        schema = table_schema(vector.shape[1], store.metric, extra=True)
        row = written(schema, ["damaged"], [""], [{"n": -1}], (), vector)
        place = row.column_names.index("metadata")
        table.add(row.set_column(place, row.schema.field(place), pa.array([DAMAGED[what]])))
        return True


LEAN = (
    "test_ids_stay_with_their_documents_across_batches",
    "test_replace_changes_the_whole_document",
    "test_skip_leaves_what_is_there",
    "test_error_names_the_ids_and_writes_nothing_of_the_batch",
    "test_one_of_many_writers_wins",
    "test_each_is_its_own",
    "test_every_value_comes_back_with_its_type",
    "test_very_long_and_very_short_vectors",
    "test_equal_scores_are_ordered_by_id",
    "test_top_k",
    "test_a_search_among_ids",
    "test_a_search_besides_ids",
    "test_scan_while_others_write",
    "test_set_and_unset",
    "test_texts_and_vectors_stay",
    "test_delete_by_filter_and_by_both",
    "test_hostile_texts_never_widen_a_deletion",
    "test_clear",
    "test_an_id_owned_outside_is_refused_and_not_shown",
    "test_ids_outside_are_unknown",
    "test_a_record_that_is_no_document_stops_no_call",
    "test_closing_while_others_are_at_work",
    Processes,
    Extra,
)
"""A write takes a hundredth of a second: what each hook does once, and what engines get wrong."""


class TestInFolder(InFolder, StoreSuite):
    chosen = LEAN


class TestAwaited(InFolder, AsyncStoreSuite):
    whole = "heavy"
    chosen = ("test_scan_while_others_write", "test_known_scores")


class TestScoped(InFolder, ScopedStoreSuite):
    whole = "heavy"
    chosen = ("test_clear", "test_delete_by_filter_and_by_both")


@pytest.mark.wide
class TestManyInFolder(InFolder, Lives):
    many = 10_000


class TestDotScores(InFolder, Searching):
    chosen = ("test_known_scores", "test_threshold_is_inclusive")
    metric = "dot"


class TestEuclideanScores(InFolder, Searching):
    chosen = ()
    metric = "euclidean"


class TestOutliving(InFolder, PersistentStoreTests):
    chosen = (
        "test_documents_outlive_their_store",
        "test_another_dimension_does_not_fit",
        "test_another_metric_does_not_fit_or_is_taken",
        "test_two_stores_on_the_same_documents_see_each_other",
    )

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, LanceDBStore)
        return LanceDBStore(store._collection, path=self.folder / "tables", **options)


class TestInMemory(InFolder, StoreSuite):
    whole = "heavy"
    chosen = (
        "test_skip_leaves_what_is_there",
        "test_a_store_takes_its_dimension_from_the_first_vector",
    )

    def make_store(self, **options: Any) -> VectorStore:
        return LanceDBStore("docs", **options)
