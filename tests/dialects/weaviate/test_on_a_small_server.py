"""The contract of stores on a server of our own, where no real one is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from tests.dialects.weaviate.damage import SCHEMA, damaged_properties
from tests.servers.weaviate import KEY, Object, WeaviateServer
from vecstore import VectorStore
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.records import object_id
from vecstore.dialects.weaviate.store import WeaviateStore
from vecstore.store.capabilities import Metric
from vecstore.testing import StoreSuite
from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.closing import Closing
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.foreign import Foreign
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.updating import Updating
from vecstore.testing.store_suite.vectorless import Vectorless


@pytest.fixture(scope="class")
def server() -> Iterator[WeaviateServer]:
    with WeaviateServer() as running:
        yield running


class OnASmallServer:
    dialect = Weaviate(layout="exact", schema=SCHEMA)
    many = 300
    secrets = (KEY,)
    at: ClassVar[WeaviateServer]

    @pytest.fixture(autouse=True)
    def _server(self, server: WeaviateServer) -> None:
        type(self).at = server

    def make_store(self, **options: Any) -> VectorStore:
        store = WeaviateStore(
            f"Suite_{uuid4().hex}",
            url=self.at.address,
            grpc_port=self.at.grpc_port,
            api_key=KEY,
            schema=SCHEMA,
            create=True,
            **options,
        )
        # Tests have objects under these keys as well, which no declaration of them allows.
        store._schema = None
        return store

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, WeaviateStore)
        held = damaged_properties(kind)
        if held is None:
            return False
        vectors = {"default": tuple(vector_of("damaged").tolist())}
        self.at._objects[store._collection, store._tenant or ""].put(
            object_id("damaged"), Object(held, vectors)
        )
        return True


class TestOnASmallServer(OnASmallServer, StoreSuite):
    chosen = (
        Adding,
        Deleting,
        Updating,
        Foreign,
        Ids,
        Lifecycle,
        Closing,
        Extra,
        Vectorless,
        "test_a_random_life",
        "test_random_filters",
        "test_hostile_texts_never_widen_a_filter",
        "test_known_scores",
        "test_scan_sees_every_document_once",
        "test_scan_while_others_write",
        "test_scan_without_texts",
    )
    repeats = ("test_update_many", "test_delete_many_ids")  # at length; shorter ones stay


class TestOfATenant(OnASmallServer, StoreSuite):
    whole = "heavy"
    metric: ClassVar[Metric] = "euclidean"
    chosen = ("test_a_random_life", "test_set_and_unset", "test_delete_by_filter_and_by_both")

    def make_store(self, **options: Any) -> VectorStore:
        return super().make_store(tenant="one", vector_name="body", index="flat", **options)
