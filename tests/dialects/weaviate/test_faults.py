"""What goes wrong on the way: nothing is lost or doubled, and the error says what was stored."""

from __future__ import annotations

import json
import random
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.servers.http import Fault, What
from tests.servers.weaviate import KEY, WeaviateServer
from tests.store.stopping import Stop
from vecstore import BackendError, Document, DocumentError, SchemaMismatchError
from vecstore.dialects.weaviate.layout import ID
from vecstore.dialects.weaviate.records import object_id
from vecstore.dialects.weaviate.store import WeaviateStore

Open = Callable[..., WeaviateStore]
SECRET = "what nobody is to read"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client was to wait before it tries again, without waiting."""
    noted: list[float] = []
    monkeypatch.setattr("weaviate.retry.time", SimpleNamespace(sleep=noted.append))
    return noted


def documents(count: int, start: int = 0, **metadata: Any) -> list[Document]:
    return [
        Document(f"{SECRET} {n}", {"n": n, **metadata}, f"d{n}", [1.0, float(n)])
        for n in range(start, start + count)
    ]


def held(server: WeaviateServer) -> list[str]:
    """What the server has, whatever it has answered."""
    return sorted(one.properties[ID] for one in server.objects("Docs").values())


# --- objects that are refused ----------------------------------------------------------------


def refusing(server: WeaviateServer, *ids: str) -> None:
    def refuses(properties: dict[str, Any]) -> str | None:
        return f"no room in shard 3 for {KEY}" if properties[ID] in ids else None

    server.refuses = refuses


@pytest.mark.parametrize("refused", [["d3"], ["d0", "d9"], [f"d{n}" for n in range(10)]])
def test_what_is_refused_is_told_by_its_document(
    server: WeaviateServer,
    open_weaviate: Open,
    refused: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = open_weaviate()
    refusing(server, *refused)
    rest = [f"d{n}" for n in range(10) if f"d{n}" not in refused]
    with caplog.at_level("DEBUG"), pytest.raises(BackendError) as told:
        store.add(documents(10))
    message = str(told.value)
    assert f"refused {len(refused)} of 10 objects" in message
    assert f"documents {refused[0]!r}" in message
    assert "no room in shard 3 for ***" in message
    assert told.value.stored_ids == rest == held(server)
    assert not told.value.retryable
    shown = "".join(traceback.format_exception(told.value))
    assert KEY not in shown
    assert SECRET not in shown + caplog.text
    server.refuses = lambda properties: None
    assert len(store.add(documents(10))) == store.count() == 10


def test_what_earlier_requests_stored_is_told_as_well(
    server: WeaviateServer, open_weaviate: Open
) -> None:
    """A batch of 256 goes in several requests where its objects are large."""
    store = open_weaviate()
    refusing(server, "d11")
    large = [Document("x" * 3_000_000, {"n": n}, f"d{n:02}", [1.0, float(n)]) for n in range(12)]
    with pytest.raises(BackendError, match=r"documents 'd11'") as told:
        store.add(large)
    assert told.value.stored_ids == [f"d{n:02}" for n in range(11)] == held(server)
    assert server.calls.count("/BatchObjects") > 3


def test_an_update_that_is_refused_leaves_the_document_as_it_was(
    server: WeaviateServer, open_weaviate: Open
) -> None:
    store = open_weaviate()
    store.add(documents(4))
    refusing(server, "d2")
    with pytest.raises(BackendError, match=r"documents 'd2'") as told:
        store.update_metadata(filter="n != 0", set={"seen": True})
    assert sorted(told.value.stored_ids) == ["d1", "d3"]
    assert sorted(one.id for one in store.get(filter="seen == true")) == ["d1", "d3"]
    assert store.get(["d2"])[0].metadata == {"n": 2}


# --- calls that are not answered -------------------------------------------------------------

RETRIED: dict[str, tuple[str, Callable[[WeaviateStore], Any], Any]] = {
    "search": ("/Search", lambda store: len(store.search(vector=[1, 0], filter="n != 1")), 4),
    "get": ("/Search", lambda store: len(store.get(["d1", "none"])), 1),
    "count": ("/Aggregate", lambda store: store.count("n != 2"), 4),
    "scan": ("/Search", lambda store: len(list(store.scan(batch_size=2))), 5),
    "scan by filter": ("/Search", lambda store: len(list(store.scan("n != 0", batch_size=2))), 4),
    "add": ("/BatchObjects", lambda store: len(store.add(documents(5))), 5),
}
CALLS = {
    **RETRIED,
    "delete": ("/BatchDelete", lambda store: store.delete(filter="n != 1"), 4),
    "update": ("/BatchObjects", lambda store: store.update_metadata(["d1"], set={"a": 1}), 1),
}


@pytest.mark.parametrize("what", ["cut before", "cut after"])
@pytest.mark.parametrize("name", RETRIED)
def test_what_passes_is_tried_again_by_the_client(
    server: WeaviateServer, open_weaviate: Open, pauses: list[float], name: str, what: What
) -> None:
    path, call, expected = RETRIED[name]
    store = open_weaviate()
    store.add(documents(5))
    server.faults.add(Fault(what=what, path=path, times=2))
    assert call(store) == expected
    assert server.faults.happened == len(pauses) == 2
    assert held(server) == [f"d{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("fault", "retryable"),
    [
        (Fault(what="refuse", status=500, times=99), False),
        (Fault(what="refuse", status=504, times=99), True),
        (Fault(what="cut before", times=99), True),
    ],
    ids=["internal", "late", "cut"],
)
@pytest.mark.parametrize("name", CALLS)
def test_what_goes_on_is_an_error_of_ours(
    server: WeaviateServer,
    open_weaviate: Open,
    pauses: list[float],
    name: str,
    fault: Fault,
    retryable: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path, call, _ = CALLS[name]
    store = open_weaviate()
    store.add(documents(5))
    server.faults.add(replace(fault, path=path))
    with caplog.at_level("DEBUG", "weaviate"), pytest.raises(BackendError) as told:
        call(store)
    assert told.value.retryable is retryable
    assert told.value.operation == name.split()[0].replace("update", "update_metadata")
    shown = "".join(traceback.format_exception(told.value))
    assert KEY not in shown
    assert SECRET not in shown + caplog.text
    server.faults.clear()
    assert store.count() == 5


@pytest.mark.parametrize("what", ["cut before", "cut after"])
def test_the_error_says_what_arrived(
    server: WeaviateServer, open_weaviate: Open, pauses: list[float], what: What
) -> None:
    """What was carried out and not answered is stored; what only looks like it is not."""
    store = open_weaviate()
    store.add(documents(3, version=1))
    server.faults.add(Fault(what=what, path="/BatchObjects", times=99))
    with pytest.raises(BackendError) as told:
        store.add(documents(5, version=2))
    server.faults.clear()
    arrived = [f"d{n}" for n in range(5)] if what == "cut after" else []
    assert told.value.stored_ids == arrived
    assert told.value.retryable
    assert sorted(one.id for one in store.scan("version == 2")) == arrived
    assert held(server) == [f"d{n}" for n in range(5 if arrived else 3)]


def test_the_error_says_what_arrived_without_a_vector(
    server: WeaviateServer, open_weaviate: Open, pauses: list[float]
) -> None:
    store = open_weaviate()
    store.add(documents(3))
    server.faults.add(Fault(what="cut after", path="/BatchObjects", times=99))
    bare = [Document(one.text, one.metadata, one.id) for one in documents(4)]
    with pytest.raises(BackendError) as told:
        store.add(bare, embed=False)
    assert told.value.stored_ids == ["d0", "d1", "d2", "d3"]
    server.faults.clear()
    server.faults.add(Fault(what="cut before", path="/BatchObjects", times=99))
    with pytest.raises(BackendError) as told:
        store.add(documents(4))  # which would give them their vectors back
    assert told.value.stored_ids == []


def test_a_server_that_is_gone_and_back(
    server: WeaviateServer, open_weaviate: Open, pauses: list[float]
) -> None:
    store = open_weaviate()
    store.add(documents(5))
    with server.gone():
        with pytest.raises(BackendError) as told:
            store.add(documents(5, 5))
        assert told.value.retryable
        assert told.value.stored_ids == []
        with pytest.raises(BackendError):
            store.search(vector=[1, 0])
        with pytest.raises(BackendError):
            store.delete(filter="n IS NOT NULL")
    for _ in range(200):  # the channel waits a little before it connects anew
        try:
            assert store.count() == 5
            break
        except BackendError:
            time.sleep(0.05)
    assert len(store.add(documents(5, 5))) == 5
    assert held(server) == sorted(f"d{n}" for n in range(10))


def test_a_slow_answer_is_waited_for_no_longer_than_was_said(
    server: WeaviateServer, open_weaviate: Open
) -> None:
    store = open_weaviate(timeout=0.3)
    store.add(documents(3))
    for path, call in (
        ("/Search", lambda: store.search(vector=[1, 0])),
        ("/Aggregate", store.count),
        ("/BatchObjects", lambda: store.add(documents(3, 3))),
    ):
        server.faults.add(Fault(what="slow", path=path, seconds=0.8))
        with pytest.raises(BackendError) as told:
            call()
        assert told.value.retryable
    # The last one was carried out all the same, when nobody waited any more.
    while len(held(server)) < 6:
        time.sleep(0.02)
    assert len(store.add(documents(3, 3))) == 3
    assert held(server) == [f"d{n}" for n in range(6)]


def test_a_server_that_never_answers_a_read_is_left(
    server: WeaviateServer, open_weaviate: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client would go on for a minute."""
    released = threading.Event()
    monkeypatch.setattr(
        "weaviate.retry.time", SimpleNamespace(sleep=lambda seconds: released.wait(30))
    )
    store = open_weaviate()
    store._call._deadline = 0.2
    server.faults.add(Fault(what="cut before", path="/Search"))
    with pytest.raises(BackendError, match=r"has not answered search after 0\.2 s") as told:
        store.search(vector=[1, 0])
    assert told.value.retryable
    released.set()
    assert store.search(vector=[1, 0]) == []


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_nothing_is_lost_or_doubled(
    server: WeaviateServer, open_weaviate: Open, pauses: list[float], seed: int
) -> None:
    """Under a storm of faults, the error's word is what is there, and trying again makes it whole."""
    store = open_weaviate()
    dice = random.Random(seed)
    expected: dict[str, int] = {}
    with server.faults.storm(seed, 0.3, "/"):
        for version in range(60):
            start, count = dice.randrange(30), dice.randrange(1, 12)
            wanted = documents(count, start, version=version)
            ids = [one.id for one in wanted]
            try:
                if dice.random() < 0.3:
                    store.delete(ids)
                    for id in ids:
                        expected.pop(id, None)
                    continue
                store.add(wanted)
                expected.update(dict.fromkeys(ids, version))
            except BackendError as error:
                there = server.objects("Docs")
                for id in error.stored_ids:
                    metadata = json.loads(there[object_id(id)].properties["vecstore_metadata"])
                    assert metadata["version"] == version
                for id in ids:  # what was not answered is there or not, and never twice
                    found = there.get(object_id(id))
                    expected.pop(id, None)
                    if found is not None:
                        kept = json.loads(found.properties["vecstore_metadata"])
                        expected[id] = kept["version"]
    assert server.faults.happened > 5
    found = {one.id: one.metadata["version"] for one in store.scan()}
    assert found == expected
    assert store.count() == len(expected)
    assert held(server) == sorted(expected)


def test_a_call_that_is_interrupted_ends_whole(
    server: WeaviateServer, open_weaviate: Open, stopped: Callable[[], None]
) -> None:
    store = open_weaviate()

    def refuses(properties: dict[str, Any]) -> None:
        if properties[ID] == "d3":
            stopped()

    server.refuses = refuses
    with pytest.raises(Stop):
        store.add(documents(6))
    assert store.count() == len(list(store.scan())) == 6


# --- sizes -----------------------------------------------------------------------------------


def test_messages_of_a_small_size() -> None:
    with (
        WeaviateServer(message_bytes=200_000) as small,
        WeaviateStore(
            "Docs", url=small.address, grpc_port=small.grpc_port, api_key=KEY, create=True
        ) as store,
    ):
        long = [Document("x" * 30_000, {"n": n}, f"d{n}", [1, n]) for n in range(40)]
        assert len(store.add(long)) == 40
        assert small.calls.count("/BatchObjects") >= 7
        found = store.search(vector=[1, 0], top_k=40, filter="n != 5")
        assert {len(one.text) for one in found} == {30_000}
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len(found) == 39
        assert len(store.get([f"d{n}" for n in range(40)])) == 40
        assert len({one.id for one in store.scan()}) == 40
        assert store.update_metadata(filter="n != 3", set={"m": 1}) == 39
        with pytest.raises(DocumentError, match=r"document 'huge' would be an object of 2\d\d,"):
            store.add([Document("x" * 200_000, {}, "huge", [1, 0])])
        assert store.count() == 40


def test_a_collection_that_somebody_deletes(server: WeaviateServer, open_weaviate: Open) -> None:
    store, other = open_weaviate(), open_weaviate(create=False)
    store.native.collections.delete("Docs")
    with pytest.raises(SchemaMismatchError, match="was deleted since"):
        other.add(documents(1))
    assert other.count() == 0
    assert not store.native.collections.exists("Docs")
    store.add(documents(2))
    assert held(server) == ["d0", "d1"]
