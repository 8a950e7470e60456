"""The contract of stores on a Weaviate server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import pytest

from tests.dialects.weaviate.damage import SCHEMA, damaged_properties
from tests.dialects.weaviate.test_extra import add_the_property
from tests.engines.weaviate_server import Address, running_weaviate
from tests.store.choices import AWAITED, OF_EVERY_METRIC, ON_AN_ENGINE_REPEATED, SCOPED
from tests.store.stopping import Stop
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    Schema,
    SchemaMismatchError,
    SimpleVectorStore,
    VectorStore,
    copy,
    open_store,
)
from vecstore.dialects.weaviate import Weaviate, collection
from vecstore.dialects.weaviate.layout import ID, METADATA, TEXT
from vecstore.dialects.weaviate.records import object_id
from vecstore.dialects.weaviate.store import WeaviateStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.paging import Paging
from vecstore.testing.store_suite.searching import Searching

pytestmark = pytest.mark.servers


class OnServer:
    dialect = Weaviate(layout="exact", schema=SCHEMA)
    many = 3_000  # one test goes beyond what the server finds in a call
    at: ClassVar[Address]
    secrets: ClassVar[tuple[str, ...]]

    @pytest.fixture(autouse=True)
    def _server(self, weaviate_address: Address) -> None:
        cls = type(self)
        cls.at = weaviate_address
        cls.secrets = (weaviate_address.api_key,) if weaviate_address.api_key else ()

    def make_store(self, **options: Any) -> VectorStore:
        return self.opened(f"Suite_{uuid4().hex}", create=True, **options)

    def opened(self, collection: str, **options: Any) -> WeaviateStore:
        store = WeaviateStore(collection, schema=SCHEMA, **self.address(), **options)
        # Tests have objects under these keys as well, which no declaration of them allows.
        store._schema = None
        return store

    def address(self) -> dict[str, Any]:
        at = self.at
        return {"url": at.url, "grpc_port": at.grpc_port, "api_key": at.api_key}

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, WeaviateStore)
        held = damaged_properties(kind)
        if held is None:
            return False
        store.native.collections.use(store._collection).data.insert(
            held, uuid=object_id("damaged"), vector={"default": vector_of("damaged").tolist()}
        )
        return True

    def discard(self, store: VectorStore) -> None:
        assert isinstance(store, WeaviateStore)
        store.close()  # which may be so already
        with WeaviateStore("Another", create=True, **self.address()) as other:
            other.native.collections.delete(store._collection)


class TestOnServer(OnServer, StoreSuite):
    repeats = ON_AN_ENGINE_REPEATED


class TestAwaited(OnServer, AsyncStoreSuite):
    chosen = AWAITED


class TestScoped(OnServer, ScopedStoreSuite):
    chosen = SCOPED


class TestFlat(OnServer, StoreSuite):
    """Every vector is compared, and of equal scores the smaller ids come first."""

    chosen = (Searching, Paging)

    def make_store(self, **options: Any) -> VectorStore:
        return super().make_store(index="flat", **options)


class TestNamedVectorOfATenant(OnServer, StoreSuite):
    chosen = (*SCOPED[1:6], *AWAITED[:5], "test_values_and_names_of_every_kind")

    def make_store(self, **options: Any) -> VectorStore:
        return super().make_store(tenant="one", vector_name="body", **options)


class TestDotScores(OnServer, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(OnServer, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestOutliving(OnServer, PersistentStoreTests):
    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, WeaviateStore)
        return self.opened(store._collection, **options)


def documents(count: int, start: int = 0) -> list[Document]:
    return [
        Document(f"text {n}", {"n": n, "even": n % 2 == 0}, id=f"d{n}", embedding=[n % 7 + 1, 1])
        for n in range(start, start + count)
    ]


@pytest.fixture
def at(weaviate_address: Address) -> dict[str, Any]:
    """How a store gets to the server."""
    where = weaviate_address
    return {"url": where.url, "grpc_port": where.grpc_port, "api_key": where.api_key}


@pytest.fixture
def name(at: dict[str, Any]) -> Iterator[str]:
    """A collection of the test's own."""
    made = f"Test_{uuid4().hex}"
    yield made
    with WeaviateStore("Another", create=True, **at) as store:
        store.native.collections.delete(made)


def test_a_server_that_is_killed_has_its_documents_when_it_is_back() -> None:
    with running_weaviate() as server:
        at = server.address
        where = {"url": at.url, "grpc_port": at.grpc_port, "api_key": at.api_key}
        with WeaviateStore("Docs", create=True, **where) as store:
            store.add(documents(600))
            store.delete(["d7"])
            server.kill()
            server.start()
            assert store.count() == 599  # through the connection of before
            kept = {one.id: one for one in store.scan(include_embedding=True)}
            for one in documents(600):
                if one.id != "d7":
                    assert kept[one.id].metadata == one.metadata
                    assert list(kept[one.id].embedding) == list(one.embedding)
            assert len(kept) == 599
            assert store.count("even == true") == 300
            store.add(documents(1, 7))
        with WeaviateStore("Docs", **where) as store:
            assert store.count() == 600
            assert store.dimension == 2


def reach(store: WeaviateStore) -> None:
    """Wait until the client has connected anew, which it tries ever more rarely."""
    for _ in range(30):
        with suppress(BackendError):
            store.count()
            return
    raise AssertionError("the server is back, and the client does not find it")


def test_a_server_that_is_gone_is_told_and_what_it_has_got() -> None:
    with running_weaviate() as server:
        at = server.address
        where = {"url": at.url, "grpc_port": at.grpc_port, "api_key": at.api_key}
        with WeaviateStore("Docs", create=True, dimension=2, timeout=1, **where) as store:

            def until_it_is_gone() -> Iterator[Document]:
                for n, one in enumerate(documents(600)):
                    if n == 400:
                        server.kill()
                    yield one

            with pytest.raises(BackendError) as told:
                store.add(until_it_is_gone())
            stored = set(told.value.stored_ids)
            assert told.value.retryable
            assert stored <= {f"d{n}" for n in range(400)}
            with pytest.raises(BackendError, match="Weaviate has not answered search after 6 s"):
                store.search(vector=[1, 0])
            with pytest.raises(BackendError) as told:
                store.count()
            assert told.value.retryable
            server.start()
            reach(store)
            there = [one.id for one in store.scan()]
            assert len(there) == len(set(there)) == store.count()
            assert stored <= set(there)
            assert store.add(documents(600)) == [f"d{n}" for n in range(600)]
            assert store.count() == store.count("n IS NOT NULL") == 600


def test_an_interrupted_call_ends_and_the_next_one_works(
    name: str, at: dict[str, Any], stopped: Callable[[], None]
) -> None:
    ended = []

    def write(client: Any) -> None:
        stopped()
        client.collections.use(name).data.insert({}, uuid=object_id("written"))
        ended.append(client)

    with WeaviateStore(name, create=True, dimension=2, **at) as store:
        store.add(documents(2))
        with pytest.raises(Stop):
            store._call("add", write, writing=True)
        assert len(ended) == 1
        assert store.count() == 3


FORKED = """
import json, os, sys, traceback
from vecstore import Document, StoreClosedError
from vecstore.dialects.weaviate.store import WeaviateStore

name, where = json.loads(sys.argv[1])
store = WeaviateStore(name, dimension=2, create=True, **where)
store.add([Document("", {}, "a", [1, 0])])
given = WeaviateStore(name, client=store.native)
forks = os.environ.pop("GRPC_ENABLE_FORK_SUPPORT")
if not (child := os.fork()):
    try:
        store.count()
    except StoreClosedError as error:
        os._exit("GRPC_ENABLE_FORK_SUPPORT=1" not in str(error))
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = forks
for number in range(2):
    if not (child := os.fork()):
        try:
            assert store.count() == 1 + number
            store.add([Document("", {}, f"of child {number}", [1, 0])])
            store.close()
            given.count()
        except StoreClosedError as error:
            os._exit("make the client and the store in the child" not in str(error))
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.count() == given.count() == 2 + number
store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_reaches_the_server_by_a_connection_of_its_own(
    name: str, at: dict[str, Any]
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, json.dumps([name, at])],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_more_than_a_call_deletes_and_more_than_a_page_is_scanned(
    name: str, at: dict[str, Any]
) -> None:
    with WeaviateStore(name, create=True, **at) as store:
        store.add(documents(12_500))
        found = [one.id for one in store.scan("n NOT IN [5, 6]", batch_size=500, text=False)]
        assert len(found) == len(set(found)) == 12_498
        assert store.delete(filter="n NOT IN [5, 6]") == 12_498
        assert store.count() == store.count("n IS NOT NULL") == 2
        # The server counts deleted objects under a NOT.
        assert store.count("n != 5") == 1
        assert sorted(one.id for one in store.scan("n != 'x'")) == ["d5", "d6"]
        assert store.clear() == 2


def test_what_does_not_fit_into_a_message_comes_in_parts(name: str, at: dict[str, Any]) -> None:
    with WeaviateStore(name, create=True, **at) as store:
        long = [
            Document("x" * 3_000_000, {"n": n}, id=f"d{n}", embedding=[1, n]) for n in range(40)
        ]
        store.add(long)
        assert {len(one.text) for one in store.search(vector=[1, 0], top_k=40)} == {3_000_000}
        scores = [one.score for one in store.search(vector=[1, 0], top_k=40)]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(1)
        assert len(store.get([f"d{n}" for n in range(40)])) == 40
        assert len({one.id for one in store.scan()}) == 40
        assert len({one.id for one in store.scan("n != 3")}) == 39


def test_a_collection_that_was_deleted_is_not_made_anew_by_the_server(
    name: str, at: dict[str, Any]
) -> None:
    with (
        WeaviateStore(name, create=True, dimension=2, **at) as store,
        WeaviateStore(name, **at) as other,
    ):
        store.native.collections.delete(name)
        with pytest.raises(SchemaMismatchError, match="was deleted since"):
            other.add(documents(1))
        assert not store.native.collections.exists(name)
        store.add(documents(2))
        assert store.count("n == 1") == 1


def test_what_a_collection_orders_is_known_without_its_schema(
    name: str, at: dict[str, Any]
) -> None:
    schema = Schema({"n": int, "a b": str}, others="allow")
    with WeaviateStore(name, create=True, dimension=2, schema=schema, **at) as store:
        with WeaviateStore(name, **at) as other:
            other.add([Document("t", {"n": 3, "a b": "x y"}, id="a", embedding=[1, 0])])
        assert [one.id for one in store.get(filter="n > 2 AND 'a b' >= 'x'")] == ["a"]
        later = Schema({"n": int, "m": float}, others="allow")
        with pytest.raises(SchemaMismatchError, match="without ordering the numbers of m"):
            WeaviateStore(name, schema=later, **at)


def test_tenants_see_nothing_of_each_other(name: str, at: dict[str, Any]) -> None:
    with (
        WeaviateStore(name, create=True, tenant="ada", dimension=2, **at) as ada,
        WeaviateStore(name, create=True, tenant="bob", **at) as bob,
    ):
        assert bob.count() == 0
        assert bob.search(vector=[1, 0]) == []
        ada.add(documents(3))
        bob.add(documents(2))
        assert (ada.count(), bob.count()) == (3, 2)
        assert bob.delete(filter="n IS NOT NULL") == 2
        assert ada.count("even == true") == 2
        with pytest.raises(SchemaMismatchError, match="divided among tenants"):
            WeaviateStore(name, **at)
        with pytest.raises(SchemaMismatchError, match="open the store with create=True"):
            WeaviateStore(name, tenant="cat", **at)


def test_a_collection_from_before_extras_goes_on_and_takes_them_once_it_can(
    name: str, at: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(collection, "_OWN_TEXTS", (ID, TEXT, METADATA))
        WeaviateStore(name, create=True, dimension=2, **at).close()
    with WeaviateStore(name, **at) as old:
        old.add(documents(3))
        with pytest.raises(DocumentError, match="keeps_extra") as caught:
            old.add([one.replace(extra=[1]) for one in documents(1)])
        assert old.update_metadata(filter="n == 1", set={"m": 1}) == 1
        assert len(old.get(["d0", "d1"])) == len(old.search(vector=[1, 1], top_k=2)) == 2
        assert sorted(one.id for one in old.scan()) == ["d0", "d1", "d2"]
        add_the_property(old, str(caught.value))
        with WeaviateStore(name, **at) as new:
            new.add([one.replace(extra={"of": [one.id]}) for one in documents(2)])
            assert old.update_metadata(["d0"], set={"m": 2}) == 1
            found = {one.id: one.extra for one in new.scan()}
            assert found == {"d0": {"of": ["d0"]}, "d1": {"of": ["d1"]}, "d2": None}
            new.add(documents(1, 1))
            assert new.get(["d1"])[0].extra is None


def test_collections_that_do_not_fit(name: str, at: dict[str, Any]) -> None:
    with WeaviateStore(name, create=True, dimension=2, metric="dot", **at) as store:
        with pytest.raises(SchemaMismatchError, match=r"compares by dot, not cosine.*3") as told:
            WeaviateStore(name, dimension=3, **at)
        assert "has 2 dimensions" in str(told.value) or "have 2 dimensions" in str(told.value)
        with pytest.raises(SchemaMismatchError, match="has no tenants"):
            WeaviateStore(name, metric="dot", tenant="ada", **at)
        with pytest.raises(SchemaMismatchError, match="vectors 'default'"):
            WeaviateStore(name, metric="dot", vector_name="body", **at)
        collections = store.native.collections
        collections.delete(name)
        collections.create(name)
        with pytest.raises(SchemaMismatchError, match="no store of this library made it"):
            WeaviateStore(name, **at)


def test_a_client_of_the_callers_stays_open(name: str, at: dict[str, Any]) -> None:
    with WeaviateStore(name, create=True, **at) as own:
        client = own.native
        with WeaviateStore(name, client=client, create=True) as store:
            store.add(documents(2))
        assert client.is_connected()
        assert own.count() == 2
    with pytest.raises(ConfigurationError, match="connected first"):
        WeaviateStore(name, client=client)


def test_its_address_opens_it(name: str, at: dict[str, Any]) -> None:
    host = at["url"].removeprefix("http://")
    address = f"weaviate://{host}/{name}?grpc_port={at['grpc_port']}&create=true&metric=dot"
    with open_store(address, api_key=at["api_key"]) as store:
        store.add(documents(2))
        assert store.search(vector=[1, 0], top_k=1)[0].id == "d1"
        with SimpleVectorStore(metric="dot") as memory:
            assert copy(store, memory).written == 2
            assert memory.get(["d1"])[0].metadata == {"n": 1, "even": False}


@pytest.mark.parametrize("key", ["wrong-key-of-nobody", None])
def test_a_key_that_the_server_does_not_take(key: str | None, at: dict[str, Any]) -> None:
    if at["api_key"] is None:
        pytest.skip("this server takes anybody")
    with pytest.raises(BackendError, match=r"Weaviate refused open: .*401") as caught:
        WeaviateStore("Docs", **{**at, "api_key": key})
    assert not caught.value.retryable
    assert "wrong-key" not in "".join(traceback.format_exception(caught.value))


def test_a_refused_object_is_told_by_its_document(
    name: str, at: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with WeaviateStore(name, create=True, dimension=2, **at) as store:
        store.add(documents(1))
        store._dimension = 3  # as if somebody had made it anew in between
        text = "what nobody is to read"
        with (
            caplog.at_level("DEBUG"),
            pytest.raises(BackendError, match=r"1 of 1 objects.*documents 'z': .*length 3") as told,
        ):
            store.add([Document(text, id="z", embedding=[1, 0, 0])])
        assert told.value.stored_ids == []
        assert text not in caplog.text


def test_of_one_request_the_refused_objects_are_told_and_the_others_kept(
    name: str, at: dict[str, Any]
) -> None:
    with WeaviateStore(name, create=True, dimension=2, **at) as store:
        store.add([Document("old", {"n": 0}, id="d4", embedding=[1, 0])])
        lengths = [3 if number in (1, 4) else 2 for number in range(8)]
        rows = [
            store._row(f"d{n}", f"text {n}", {"n": n}, None, np.ones(length, np.float32), None)
            for n, length in enumerate(lengths)
        ]
        with pytest.raises(BackendError, match=r"refused 2 of 8 .* 'd1' and 'd4': ") as told:
            store._writer.insert("add", rows)
        assert told.value.stored_ids == ["d0", "d2", "d3", "d5", "d6", "d7"]
        assert not told.value.retryable
        kept = {one.id: one.text for one in store.scan()}
        assert kept.pop("d4") == "old"
        assert kept == {id: f"text {id[1:]}" for id in told.value.stored_ids}
