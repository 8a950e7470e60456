"""The contract of stores on Chroma's engine in this process, and on a server where one is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from tests.dialects.conformance.test_chroma import is_kept
from tests.engines.chroma import running_chroma
from tests.store.choices import OF_EVERY_METRIC
from vecstore import Expression, Op, VectorStore
from vecstore.dialects.chroma import Chroma
from vecstore.dialects.chroma.dialect import MOST_CONDITIONS
from vecstore.dialects.chroma.layout import METADATA
from vecstore.dialects.chroma.store import ChromaStore
from vecstore.testing import (
    AsyncStoreSuite,
    Domain,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.chosen import Chosen
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.foreign import Foreign
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.metadata import Metadata
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.reading import Reading
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.updating import Updating

_numbers = count(1)
IN_MEMORY = (
    Metadata,
    Extra,
    Foreign,
    "test_each_is_its_own",
    "test_each_can_be_looked_among",
    "test_a_search_among_ids",
    "test_who_answers_a_search_among_ids",
    "test_many_ids",
    "test_known_scores",
    "test_a_random_life",
    "test_random_filters",
    "test_hostile_texts_never_widen_a_filter",
    "test_replace_changes_the_whole_document",
    "test_skip_leaves_what_is_there",
    "test_error_names_the_ids_and_writes_nothing_of_the_batch",
    "test_set_and_unset",
    "test_delete_by_filter_and_by_both",
    "test_scan_while_others_write",
    "test_closing_while_others_are_at_work",
    "test_no_bare_error_leaves_a_store",
    "test_very_long_and_very_short_vectors",
)
ON_A_SERVER = (
    "test_a_search_among_ids",
    "test_who_answers_a_search_among_ids",
    "test_an_extra_goes_with_its_document",
    "test_get_by_filter_and_by_both",
    "test_scan_while_others_write",
    "test_set_and_unset",
    "test_delete_by_filter_and_by_both",
    "test_clear",
    "test_a_store_shows_no_secret",
    "test_a_forked_child_finds_its_own_documents_or_is_refused",
)
DAMAGED = {"a number": 7, "a list": [1, "a"], "a text": "text", "null": None}


class InMemory:
    dialect = Chroma(layout="exact")
    many = 1_000

    def make_store(self, **options: Any) -> VectorStore:
        return ChromaStore(f"suite-{next(_numbers)}", memory=True, **options)

    def refuses(self, filter: Expression) -> bool:
        return filter.op in (Op.IN, Op.NIN) and len(filter.value.items) > MOST_CONDITIONS

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, ChromaStore)
        fields: dict[str, Any] | None = {METADATA: '{"n":-1}'}
        match kind.partition(" is "):
            case "no metadata", _, _:
                fields = {"n": -1}
            case "nothing", _, _:
                fields = None
            case "metadata", _, what:
                fields = {METADATA: json.dumps(DAMAGED[what])}
            case _:
                return False  # every record has an id and a text
        collection = store.native.get_collection(store._collection, embedding_function=None)
        vector = vector_of("damaged").tolist()
        collection.upsert(ids=["damaged"], embeddings=[vector], metadatas=[fields])
        return True


class TestInMemory(InMemory, StoreSuite):
    chosen = IN_MEMORY


@pytest.mark.heavy
class TestAwaited(InMemory, AsyncStoreSuite):
    """No part of it is Chroma's own: calls run in any thread, as in all suites."""


class TestScoped(InMemory, ScopedStoreSuite):
    chosen = ()


@pytest.mark.wide
class TestManyInMemory(InMemory, Lives):
    many = 10_000


class TestDotScores(InMemory, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(InMemory, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestPlain(Ids, Adding, Deleting, Updating, Extra):
    """Metadata as other programs write it."""

    chosen = (
        "test_replace_changes_the_whole_document",
        "test_texts_and_vectors_stay",
        "test_an_extra_is_kept_or_refused_by_name",
    )
    # These ask whether a key is there, which the plain layout cannot tell.
    test_set_and_unset = None
    test_null_and_empty_list_are_set_as_declared = None
    dialect = Chroma()
    domain = Domain(accepts=is_kept)

    def make_store(self, **options: Any) -> VectorStore:
        return ChromaStore(f"suite-{next(_numbers)}", memory=True, layout="plain", **options)


class TestFolder(PersistentStoreTests):
    live = False  # one process at a time has the folder
    paths: ClassVar[dict[VectorStore, str]] = {}

    def make_store(self, **options: Any) -> VectorStore:
        path = str(self.folder / uuid4().hex)
        store = ChromaStore("docs", path=path, **options)
        self.paths[store] = path
        return store

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        return ChromaStore("docs", path=self.paths[store], **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with running_chroma(tmp_path_factory.mktemp("chroma")) as address:
        yield address


class TestServer(Reading, Chosen, Updating, Deleting, Extra, Lifecycle, Processes):
    """The engine in a process of its own, through the client that speaks HTTP."""

    chosen = ON_A_SERVER
    dialect = Chroma(layout="exact")
    many = 500
    forks = True

    @pytest.fixture(autouse=True)
    def _server(self, server: tuple[str, int]) -> None:
        self.host, self.port = server

    def make_store(self, **options: Any) -> VectorStore:
        name = f"vecstore-{uuid4().hex}"
        return ChromaStore(name, host=self.host, port=self.port, create=True, **options)
