"""The contract of stores on Pinecone, through its own client over sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from tests.dialects.pinecone.place import PineconePlace, pinecone_place
from tests.servers.pinecone import KEY
from tests.store.choices import AWAITED
from vecstore import VectorStore
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.pinecone.records import ID, METADATA, TEXT, check_size
from vecstore.dialects.pinecone.store import PineconeStore
from vecstore.errors import DocumentError
from vecstore.store.capabilities import Metric
from vecstore.testing import (
    AsyncStoreSuite,
    Domain,
    ObservedStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.closing import Closing
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.foreign import Foreign
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.processes import Processes

_ROOM = 3_000
"""What ids, texts and scopes of tests take, in characters."""


@dataclass(frozen=True, kw_only=True)
class RecordDomain(Domain):
    """Metadata that a record of 40 KB has room for, with all that filters need of it."""

    def fit(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        fitting = super().fit(metadata)
        while fitting:
            try:
                check_size("x", "x" * _ROOM, fitting)
            except DocumentError:
                fitting.popitem()
            else:
                break
        return fitting


@pytest.fixture(scope="class")
def place(request: pytest.FixtureRequest) -> Iterator[PineconePlace]:
    with pinecone_place(**request.cls.service) as made:
        yield made


class OnPinecone:
    dialect = Pinecone(layout="exact")
    domain = RecordDomain()
    many = 1_000
    forks = True
    secrets = (KEY,)
    service: ClassVar[dict[str, Any]] = {}
    """What the server of our own is like."""

    @pytest.fixture(autouse=True)
    def _place(self, place: PineconePlace) -> None:
        type(self).at = place

    at: ClassVar[PineconePlace]

    def make_store(self, **options: Any) -> VectorStore:
        return self.at.store(**options)

    def discard(self, store: VectorStore) -> None:
        assert isinstance(store, PineconeStore)
        self.at.discard(store)

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, PineconeStore)
        fields: dict[str, Any] = {ID: "damaged", TEXT: "damaged", METADATA: '{"n":-1}'}
        names = {"id": ID, "text": TEXT, "metadata": METADATA}
        match kind:
            case "nothing":
                fields = {}
            case "metadata is null":  # which Pinecone drops
                return False
            case _ if kind.startswith("no "):
                del fields[names[kind.removeprefix("no ")]]
            case _:
                part, _, what = kind.partition(" is ")
                value = {"a number": 7, "a list": [1, "a"], "a text": "text"}[what]
                fields[names[part]] = json.dumps(value) if part == "metadata" else value
        vector = {"id": "damaged", "values": vector_of("damaged").tolist(), "metadata": fields}
        store.native.upsert(vectors=[vector], namespace=store._namespace)
        return True


class TestStore(OnPinecone, PersistentStoreTests, StoreSuite):
    chosen = (
        Ids,
        Adding,
        Deleting,
        Foreign,
        Lifecycle,
        Closing,
        Processes,
        Extra,
        "test_a_random_life",
        "test_random_filters",
        "test_large_metadata",
        "test_max_metadata_bytes",
        "test_max_text_bytes",
        "test_set_and_unset",
        "test_scan_while_others_write",
        "test_known_scores",
    )

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, PineconeStore)
        return self.at.again(store, **options)


class TestAwaited(OnPinecone, AsyncStoreSuite):
    whole = "heavy"
    chosen = AWAITED[:3]


class TestScoped(OnPinecone, ScopedStoreSuite):
    chosen = ("test_delete_by_filter_and_by_both", "test_set_and_unset", "test_clear")


class TestObserved(OnPinecone, ObservedStoreSuite):
    whole = "heavy"
    chosen = ()


class TestDotScores(OnPinecone, StoreSuite):
    whole = "heavy"
    metric: ClassVar[Metric] = "dot"
    chosen = ("test_known_scores", "test_a_given_vector_of_zeros")


class TestEuclideanScores(OnPinecone, StoreSuite):
    whole = "heavy"
    metric: ClassVar[Metric] = "euclidean"
    chosen = ("test_known_scores", "test_a_given_vector_of_zeros", "test_keeps_norm")


class TestSeenLate(OnPinecone, StoreSuite):
    """The service answers a write before reads see it."""

    chosen = ("test_delete_by_filter_and_by_both", "test_set_and_unset")
    service: ClassVar[dict[str, Any]] = {"delay": 0.02}


class TestPlainServer(OnPinecone, StoreSuite):
    """Servers that number no writes and cannot be asked by metadata."""

    chosen = ("test_delete_by_filter_and_by_both", "test_set_and_unset")
    service: ClassVar[dict[str, Any]] = {
        "numbers_writes": False,
        "deletes_by_filter": False,
        "fetches_by_metadata": False,
    }
