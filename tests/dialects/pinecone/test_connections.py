"""Indexes, addresses, keys and clients: who opens, who closes, and what never shows."""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from pinecone import Index, Pinecone

from tests.dialects.pinecone.conftest import Open
from tests.servers.http import Fault
from tests.servers.pinecone import KEY, PineconeServer
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    Schema,
    SchemaMismatchError,
    SimpleVectorStore,
    copy,
    open_store,
)
from vecstore.dialects.pinecone import retries
from vecstore.dialects.pinecone.client import _reachable
from vecstore.dialects.pinecone.store import PineconeStore
from vecstore.errors import DimensionMismatchError, StoreClosedError
from vecstore.installing import install_line
from vecstore.testing.store_suite.children import can_fork, in_a_child

DOCUMENT = Document("text", {"n": 1}, id="a", embedding=[1, 0])


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    return KEY


@pytest.fixture
def index(server: PineconeServer, open_pinecone: Open) -> Iterator[Index]:
    """An index object of somebody's own."""
    open_pinecone(namespace="first")
    made = Pinecone(api_key=KEY).index(host=f"http://{server.indexes['docs'].host}")
    yield made
    made.close()


class TestIndexes:
    def test_one_is_made_with_the_first_documents(
        self, server: PineconeServer, open_pinecone: Open
    ) -> None:
        server.looks_until_ready = 3
        store = open_pinecone(dimension=None, metric="dot", cloud="gcp", region="europe-west4")
        assert store.search(vector=[1, 0]) == []
        assert not server.indexes
        assert store.add([DOCUMENT]) == ["a"]
        made = server.indexes["docs"]
        assert (made.dimension, made.metric) == (2, "dotproduct")
        assert made.deployment == {
            "deployment_type": "managed",
            "cloud": "gcp",
            "region": "europe-west4",
        }
        assert store.dimension == 2
        with pytest.raises(DimensionMismatchError):
            store.add([Document("", id="b", embedding=[1, 0, 0])])

    def test_none_is_made_unless_asked(self, server: PineconeServer, open_pinecone: Open) -> None:
        with pytest.raises(SchemaMismatchError, match=r"no collection 'docs' in Pinecone.*create"):
            open_pinecone(create=False)
        assert not server.indexes

    def test_one_that_others_made_meanwhile(
        self, server: PineconeServer, open_pinecone: Open
    ) -> None:
        one, other = (open_pinecone(dimension=None, namespace=name) for name in "ab")
        assert one.add([DOCUMENT]) == other.add([DOCUMENT]) == ["a"]
        assert server.asked("/indexes") == 1
        server.http.requests.clear()
        third = open_pinecone(dimension=None, index="raced")
        third._look = lambda operation: False  # type: ignore[method-assign]
        third._make_collection(2)
        third._make_collection(2)  # 409
        assert server.asked("/indexes") == 2

    def test_one_that_does_not_fit(self, open_pinecone: Open) -> None:
        open_pinecone()
        with pytest.raises(SchemaMismatchError, match="2 dimensions, not 3") as caught:
            open_pinecone(dimension=3, metric="euclidean")
        assert "compares by cosine, not euclidean" in str(caught.value)

    def test_one_that_is_never_ready(self, server: PineconeServer, open_pinecone: Open) -> None:
        server.looks_until_ready = 10_000
        with pytest.raises(BackendError, match=r"ready within 0.2 s.*Initializing") as caught:
            open_pinecone(deadline=0.2)
        assert caught.value.retryable

    def test_faults_of_the_control_plane(self, server: PineconeServer, open_pinecone: Open) -> None:
        server.faults.add(Fault(what="refuse", path="/indexes", status=503, times=3))
        server.faults.add(Fault(what="cut before", path="/indexes/docs", after=1))
        assert open_pinecone().add([DOCUMENT]) == ["a"]

    def test_by_host(self, server: PineconeServer, open_pinecone: Open) -> None:
        open_pinecone().add([DOCUMENT])
        server.http.requests.clear()
        host = f"http://{server.indexes['docs'].host}"
        with PineconeStore(index_host=host, namespace="kb", api_key=KEY, create=True) as store:
            assert store.dimension == 2
            assert store.count() == 1
        assert not [request for request, _ in server.http.requests if "/indexes" in request.path]

    def test_by_host_it_has_to_fit_too(self, server: PineconeServer, open_pinecone: Open) -> None:
        open_pinecone()
        host = f"http://{server.indexes['docs'].host}"
        with pytest.raises(SchemaMismatchError, match="cosine, not dot"):
            PineconeStore(index_host=host, api_key=KEY, metric="dot")

    def test_namespaces_share_nothing(self, open_pinecone: Open) -> None:
        one, other, default = (open_pinecone(namespace=name) for name in ("a", "b", ""))
        one.add([DOCUMENT])
        default.add([Document("of the default one", id="a", embedding=[0, 1])])
        assert other.count() == 0
        assert other.delete(["a"]) == 0
        other.clear()
        assert [store.get(["a"])[0].text for store in (one, default)] == [
            "text",
            "of the default one",
        ]
        one.clear()
        assert (one.count(), default.count()) == (0, 1)


class TestClients:
    def test_an_index_given_stays_open(self, index: Index) -> None:
        with PineconeStore(index, namespace="kb") as store:
            assert store.native is index
            assert store.add([DOCUMENT]) == ["a"]
        assert index.describe_index_stats().total_vector_count == 1

    def test_an_index_given_and_an_address(self, index: Index) -> None:
        with pytest.raises(ConfigurationError, match=r"either a pinecone.Index or an address"):
            PineconeStore(index, api_key=KEY)
        with pytest.raises(ConfigurationError, match="not a Pinecone"):
            PineconeStore(Pinecone(api_key=KEY))  # type: ignore[arg-type]

    @pytest.mark.skipif(not can_fork(), reason="no fork on this system")
    def test_an_index_given_and_a_fork(self, index: Index) -> None:
        with PineconeStore(index, namespace="kb") as store:
            store.add([DOCUMENT])

            def work() -> None:
                with pytest.raises(StoreClosedError, match="make a client and a store"):
                    store.count()

            in_a_child(work)
            assert store.count() == 1

    @pytest.mark.skipif(not can_fork(), reason="no fork on this system")
    def test_a_fork_while_requests_are_on_their_way(self, open_pinecone: Open) -> None:
        store = open_pinecone(dimension=800, parallel=4)
        documents = [
            Document("", id=f"{n}", embedding=[1.0, float(n)] + [0.5] * 798) for n in range(300)
        ]
        store.add(documents)

        def work() -> None:
            assert store.count() == 300
            assert len(store.get([f"{n}" for n in range(300)])) == 300
            store.add(documents)
            store.close()

        in_a_child(work)
        assert len(store.get([f"{n}" for n in range(300)])) == 300

    def test_a_missing_package(self) -> None:
        program = """
            import sys
            sys.modules["pinecone"] = None
            from vecstore import BackendNotInstalledError, open_store
            try:
                open_store("pinecone://docs/kb", api_key="x")
            except BackendNotInstalledError as error:
                print(error)
        """
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert install_line("pinecone") in ran.stdout


class TestAddresses:
    def test_the_key_comes_from_the_environment(
        self, server: PineconeServer, key: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PINECONE_CONTROLLER_HOST", server.address)
        with open_store("pinecone://docs/kb?create=true&dimension=2&metric=dot") as store:
            assert store.add([DOCUMENT]) == ["a"]
            assert store.metric == "dot"
        with open_store("pinecone://docs", metric="dot", dimension=2) as store:
            assert store.count() == 0
        with open_store("pinecone://docs/kb?metric=dot") as store:
            assert store.count("n == 1") == 1
        with open_store("pinecone://docs/a%2Fb?metric=dot") as store:
            store.add([DOCUMENT])
        assert set(server.indexes["docs"].namespaces) == {"kb", "a/b"}

    def test_pinecone_local(self, server: PineconeServer, key: str) -> None:
        with open_store(f"pinecone://docs/kb?host={server.address}&create=1", dimension=2) as store:
            store.add([DOCUMENT])
        host = f"http://{server.indexes['docs'].host}"
        with open_store(f"pinecone:?index_host={host}&namespace=kb") as store:
            assert store.count() == 1

    def test_with_a_schema(self, server: PineconeServer, key: str) -> None:
        schema = Schema({"size": ["large", "small"]})
        url = f"pinecone://docs/kb?host={server.address}&create=1"
        with open_store(url, dimension=2, schema=schema) as store:
            store.add([Document("", {"size": "small"}, "a", [1, 0])])
            assert store.count("size > 'large'") == 1

    @pytest.mark.parametrize(
        ("index_host", "host", "reached"),
        [
            ("https://localhost:5081", "http://localhost:5080", "http://localhost:5081"),
            ("localhost:5081", "http://localhost:5080", "http://localhost:5081"),
            ("https://docs.pinecone.io", "http://localhost:5080", "https://docs.pinecone.io"),
            ("https://localhost:5081", None, "https://localhost:5081"),
            ("docs.pinecone.io", None, "docs.pinecone.io"),
        ],
    )
    def test_only_this_machine_is_asked_unencrypted(
        self, index_host: str, host: str | None, reached: str
    ) -> None:
        assert _reachable(index_host, host) == reached

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("pinecone:", "name the index"),
            ("pinecone:///kb", "name the index"),
            ("pinecone://:swordfish@docs/kb", "no user, password or port"),
            ("pinecone://docs:6333/kb", "no user, password or port"),
            ("pinecone://docs/kb?api_key=swordfish", "secret"),
            ("pinecone://docs/kb?namespace=other", "namespace is the path"),
            ("pinecone://docs/kb?create=maybe", "'maybe'"),
            ("pinecone://docs/kb?batching=5", "by keyword"),
            ("pinecone://docs/kb?regoin=x", "did you mean 'region'"),
            ("pinecone://docs/k%C3%A9", "ASCII"),
            ("pinecone://docs/kb?host=https://example.org", "PINECONE_API_KEY would be sent"),
            ("pinecone:?index_host=pinecone.io.example.org", "index_host=... or api_key"),
            ("pinecone:?index_host=http://[", "PINECONE_API_KEY would be sent"),
            # The client puts https:// before it, and asks example.org.
            ("pinecone://docs/kb?host=example.org://docs.pinecone.io", "PINECONE_API_KEY would be"),
            ("pinecone:?index_host=example.org://localhost", "PINECONE_API_KEY would be sent"),
            ("pinecone:?index_host=http://docs.pinecone.io", "unencrypted, and PINECONE_API_KEY"),
            ("pinecone:?index_host=example.org%5C@docs.pinecone.io", "would be sent"),
        ],
    )
    def test_what_is_no_address(self, url: str, words: str, key: str) -> None:
        with pytest.raises(ConfigurationError, match=words) as caught:
            open_store(url)
        assert "swordfish" not in str(caught.value)

    def test_without_a_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PINECONE_API_KEY", raising=False)
        with pytest.raises(ConfigurationError, match=r"set PINECONE_API_KEY .*api_key="):
            open_store("pinecone://docs/kb")

    def test_a_key_that_is_none(self, server: PineconeServer) -> None:
        with pytest.raises(ConfigurationError, match="not a valid HTTP header") as caught:
            PineconeStore("docs", api_key="sword\nfish", host=server.address)
        assert "sword" not in str(caught.value)

    def test_a_service_that_is_not_there(self) -> None:
        with pytest.raises(BackendError, match="Pinecone refused open") as caught:
            PineconeStore("docs", api_key="x", host="http://127.0.0.1:1", timeout=5)
        assert caught.value.retryable

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"index": ""}, "say which index"),
            ({"namespace": "x" * 513}, "at most 512"),
            ({"namespace": 5}, "namespace"),
            ({"timeout": 0}, "timeout"),
            ({"deadline": float("inf")}, "deadline"),
            ({"retries": -1}, "retries"),
            ({"retries": True}, "retries"),
            ({"parallel": 0}, "parallel"),
            ({"create": "yes"}, "create"),
            ({"wait_until_visible": 1}, "wait_until_visible"),
            ({"region": None}, "region"),
            ({"index_host": ""}, "index_host"),
        ],
    )
    def test_options_that_cannot_work(
        self, open_pinecone: Open, options: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=words):
            open_pinecone(**options)


def test_copies(server: PineconeServer, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    source = SimpleVectorStore()
    source.add(
        [
            Document(f"text {n}", {"n": n, "o": {"l": [n, 0.5]}}, f"id é {n}", [1.0, n / 7])
            for n in range(300)
        ]
    )
    address = f"pinecone://docs/kb?host={server.address}&retries=40"
    with server.faults.storm(5, 0.2, "/vectors"):
        assert copy(source, address, batch_size=50).written == 300
        assert copy(source, address).skipped == 300
        there = SimpleVectorStore()
        host = f"http://{server.indexes['docs'].host}"
        back = copy(f"pinecone:?index_host={host}&namespace=kb&retries=40", there, filter="n < 200")
    assert back.written == 200
    held = {one.id: one for one in source.scan("n < 200", include_embedding=True)}
    assert {one.id: one for one in there.scan(include_embedding=True)} == held


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def start(self, *told: Any, **more: Any) -> None:
        self.heard.append(repr((told, more)))

    end = start


class TestSecrets:
    @pytest.mark.parametrize("status", [401, 503])
    def test_the_key_is_never_shown(
        self,
        server: PineconeServer,
        open_pinecone: Open,
        caplog: pytest.LogCaptureFixture,
        capsys: pytest.CaptureFixture[str],
        status: int,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        ear = Ear()
        store = open_pinecone(retries=0, observers=[ear], observe_content=True)
        server.faults.add(
            Fault(what="refuse", path="/query", status=status, message=f"no {KEY} here")
        )
        with pytest.raises(BackendError, match=r"no \*\*\* here") as caught:
            store.search(vector=[1, 0])
        store.add([DOCUMENT])
        told = [
            *traceback.format_exception(caught.value),
            repr(caught.value),
            repr(store),
            repr(vars(store)),
            json.dumps(ear.heard),
            caplog.text,
            *capsys.readouterr(),
        ]
        assert ear.heard
        assert "Upserting" in caplog.text  # the client's own log is looked at
        assert KEY not in "".join(told)
        assert store._place().namespace == "kb"

    def test_a_pickle_has_no_key(self, server: PineconeServer, key: str, monkeypatch: Any) -> None:
        url = f"pinecone://docs/kb?host={server.address}&create=true&dimension=2"
        with open_store(url, api_key=KEY) as store:
            store.add([DOCUMENT])
            pickled = pickle.dumps(store)
            assert KEY.encode() not in pickled
            with pickle.loads(pickled) as again:
                assert again.count() == 1
            monkeypatch.delenv("PINECONE_API_KEY")
            with pytest.raises(ConfigurationError, match="PINECONE_API_KEY") as caught:
                pickle.loads(pickled)
        assert "api_key" in "".join(caught.value.__notes__)
