"""Calls in threads of their own: an interruption reaches who waits, and not the call."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.pinecone import KEY, PineconeServer
from tests.store.stopping import Stop
from vecstore import Document, VectorStore
from vecstore.dialects.pinecone.store import PineconeStore
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.store.threads import CallThreads, Overdue
from vecstore.testing.store_suite.children import can_fork, in_a_child


@pytest.fixture
def threads() -> Iterator[CallThreads]:
    made = CallThreads(single=True)
    yield made
    made.close()


def fail() -> None:
    raise LookupError("of the call")


def test_what_a_call_gives_or_raises(threads: CallThreads) -> None:
    assert threads.run_whole(lambda: 5) == 5
    with pytest.raises(LookupError, match="of the call"):
        threads.run_whole(fail)
    assert threads.run_whole(threading.current_thread) is not threading.main_thread()
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(3)
    assert threads.run_whole(variable.get) == 3
    threads.close()
    assert threads.run_whole(lambda: 6) == 6
    with pytest.raises(Overdue):
        threads.run(lambda: time.sleep(0.05), 0.001)


def test_no_other_thread_than_the_main_one_is_interrupted(threads: CallThreads) -> None:
    ran: list[threading.Thread] = []
    caller = threading.Thread(
        target=lambda: ran.append(threads.run_whole(threading.current_thread))
    )
    caller.start()
    caller.join()
    assert ran == [caller]


def test_a_call_ends_though_the_caller_is_interrupted(
    threads: CallThreads, stopped: Callable[[], None]
) -> None:
    ended = []

    def work() -> None:
        stopped()
        time.sleep(0.05)  # time enough to leave too early
        ended.append(True)

    for count in (1, 2):
        with pytest.raises(Stop):
            threads.run_whole(work)
        assert len(ended) == count
    assert threads.run_whole(lambda: 5) == 5


def test_a_second_interruption_is_told_at_once(
    threads: CallThreads, stopped: Callable[[], None]
) -> None:
    released = threading.Event()

    def work() -> None:
        stopped()
        stopped()
        released.wait(60)

    with pytest.raises(Stop):
        threads.run_whole(work)
    assert not released.is_set()
    released.set()
    assert threads.run_whole(lambda: 5) == 5  # after the one before


def test_a_call_that_has_not_begun_does_not_begin(
    threads: CallThreads, stopped: Callable[[], None]
) -> None:
    """The thread is still at what was left behind."""
    released, ran = threading.Event(), []

    def twice() -> None:
        stopped()
        stopped()
        released.wait(60)

    with pytest.raises(Stop):
        threads.run_whole(twice)
    later = threading.Timer(0.05, stopped)
    later.start()
    with pytest.raises(Stop):
        threads.run_whole(lambda: ran.append(True))
    released.set()
    assert threads.run_whole(lambda: 5) == 5
    assert not ran


@pytest.mark.skipif(not can_fork(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(threads: CallThreads) -> None:
    threads.run_whole(lambda: 5)

    def work() -> None:
        assert threads.run_whole(lambda: 6) == 6

    in_a_child(work)
    assert threads.run_whole(lambda: 7) == 7


def test_threads_end_with_what_made_them() -> None:
    dropped = CallThreads(single=True)
    one = dropped.run_whole(threading.current_thread)
    del dropped
    one.join(60)
    assert not one.is_alive()


# --- in stores --------------------------------------------------------------------------------


def documents(count: int) -> list[Document]:
    return [Document(f"text {n}", {"n": n}, f"{n}", [1.0, n]) for n in range(count)]


@pytest.mark.parametrize("kept", ["in memory", "in a folder"])
def test_no_half_of_a_write_in_qdrant_local(
    kept: str, tmp_path: Path, stopped: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from qdrant_client.local.local_collection import LocalCollection

    place = {"location": ":memory:"} if kept == "in memory" else {"path": str(tmp_path)}
    store: VectorStore = QdrantStore("docs", dimension=2, **place)  # type: ignore[arg-type]
    plain = LocalCollection._add_point

    def add_point(collection: Any, *arguments: Any) -> None:
        plain(collection, *arguments)
        if len(collection.ids) == 3:
            stopped()

    store.add(documents(1))
    monkeypatch.setattr(LocalCollection, "_add_point", add_point)
    with pytest.raises(Stop):
        store.add(documents(6))
    monkeypatch.undo()
    assert store.count() == len(list(store.scan())) == 6
    assert len(store.search(vector=[1, 0], top_k=9)) == 6
    store.close()


def test_no_half_of_a_request_to_pinecone(stopped: Callable[[], None]) -> None:
    """It would leave a connection in the client's pool that the next request cannot use."""
    ended = []

    def work(client: Any, seconds: float) -> None:
        stopped()
        time.sleep(0.05)
        ended.append(client)

    with (
        PineconeServer() as server,
        PineconeStore("docs", api_key=KEY, host=server.address, create=True, dimension=2) as store,
    ):
        store.add(documents(2))
        with pytest.raises(Stop):
            store._call("count", work)
        assert len(ended) == 1
        assert store.count() == 2
