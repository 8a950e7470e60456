"""The contract of stores on Redis, in an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.conformance.test_redis import has_many_alternatives, orders_long_text
from vecstore import Expression, VectorStore
from vecstore.dialects.redis import Redis
from vecstore.dialects.redis.embedded import EmbeddedServer
from vecstore.dialects.redis.layout import EVERY_DOCUMENT, METADATA, TOKENS, VECTOR
from vecstore.dialects.redis.store import RedisStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.vectorless import Vectorless

_numbers = count(1)
KEYS = frozenset([("n",), ("k",), ("x",), ("y",), ("number",), ("year",), ("n", "k")])
ORDERED: dict[str, Any] = {"numbers": KEYS, "texts": KEYS}
DAMAGED = {"a list": "[1]", "a text": '"text"', "a number": "5", "null": "null"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a server that runs as long as these tests do."""
    folder = tmp_path_factory.mktemp("redis") / "data"
    server = EmbeddedServer(folder)
    yield folder
    server.close()


class InFolder(StoreSuiteBase):
    """Indexes of one server."""

    dialect = Redis(numbers=KEYS, texts=KEYS)
    forks = True
    many = 2_000

    data: Path

    @pytest.fixture(autouse=True)
    def _data(self, data: Path) -> None:
        type(self).data = data

    def make_store(self, **options: Any) -> VectorStore:
        return RedisStore(f"suite-{next(_numbers)}", path=self.data, **ORDERED, **options)

    def refuses(self, filter: Expression) -> bool:
        return orders_long_text(filter)

    def answers(self, filter: Expression) -> bool:
        return super().answers(filter) and not has_many_alternatives(self.dialect, filter)

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, RedisStore)
        fields: dict[str, Any] = {TOKENS: EVERY_DOCUMENT, METADATA: '{"n":-1}'}
        match kind.partition(" is "):
            case "no metadata", _, _:
                del fields[METADATA]
            case "nothing", _, _:
                fields = {}
            case "metadata", _, what:
                fields[METADATA] = DAMAGED[what]
            case "no text", _, _:
                pass
            case _:
                return False  # the id is part of the key, and all values are texts
        fields[VECTOR] = vector_of("damaged").astype("<f4").tobytes()
        store.native.hset(f"vecstore:{store._collection}:damaged", mapping=fields)
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
    "test_each_can_be_looked_among",
    "test_who_answers_a_search_among_ids",
    "test_many_ids",
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
    Vectorless,
)


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
        assert isinstance(store, RedisStore)
        return RedisStore(store._collection, path=self.data, **ORDERED, **options)
