"""What goes wrong on the way: nothing is lost or doubled, and the error says what was stored."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.dialects.pinecone.conftest import Open
from tests.servers.http import Fault, Request, What
from tests.servers.pinecone import PineconeServer
from vecstore import BackendError, Document, StoreClosedError
from vecstore.dialects.pinecone import retries
from vecstore.dialects.pinecone.retries import Deadline
from vecstore.dialects.pinecone.store import PineconeStore

KINDS: tuple[What, ...] = ("refuse", "cut before", "cut after", "cut midway")


def documents(count: int, dimension: int = 2) -> list[Document]:
    return [
        Document(f"text {n}", {"n": n}, f"d{n:05}", [1.0, float(n), *[0.5] * (dimension - 2)])
        for n in range(count)
    ]


def held(server: PineconeServer, namespace: str = "kb") -> list[str]:
    """What the server has, whatever it has answered."""
    space = server.indexes["docs"].namespaces.get(namespace)
    if space is None:
        return []
    space.catch_up()
    return sorted(space.seen)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was to be waited, without waiting."""
    noted: list[float] = []
    monkeypatch.setattr(Deadline, "wait", lambda self, seconds: noted.append(seconds))
    return noted


OPERATIONS: dict[str, tuple[str, Callable[[PineconeStore], Any], Any]] = {
    "add": ("/vectors/upsert", lambda store: len(store.add(documents(5))), 5),
    "search": ("/query", lambda store: len(store.search(vector=[1, 0], filter="n > 1")), 3),
    "get": ("/vectors/fetch", lambda store: len(store.get(["d00001", "none"])), 1),
    "count": ("/vectors/list", lambda store: store.count(), 5),
    "count by filter": ("/vectors/fetch_by", lambda store: store.count("n <= 2"), 3),
    "scan": ("/vectors/list", lambda store: len(list(store.scan())), 5),
    "update": ("/vectors/upsert", lambda store: store.update_metadata(["d00001"], set={"m": 1}), 1),
    "delete": ("/vectors/delete", lambda store: store.delete(["d00000", "none"]), 1),
    "delete by filter": ("/vectors/delete", lambda store: store.delete(filter="n > 2"), 2),
    "clear": ("/vectors/delete", lambda store: store.clear(), 5),
}


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_passes_is_tried_again(
    server: PineconeServer, open_pinecone: Open, pauses: list[float], name: str, what: What
) -> None:
    path, call, expected = OPERATIONS[name]
    store = open_pinecone()
    store.add(documents(5))
    asked = server.asked(path)
    server.faults.add(Fault(what=what, path=path, times=2))
    assert call(store) == expected
    assert server.faults.happened == 2
    assert server.asked(path) > asked + 1 or name == "count by filter"
    assert len(pauses) == 2
    assert pauses[0] >= (0.01 if what == "refuse" else retries.FIRST_PAUSE / 2)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_answers_that_may_pass(
    server: PineconeServer, open_pinecone: Open, pauses: list[float], status: int
) -> None:
    store = open_pinecone(retries=2)
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", status=status, times=3))
    with pytest.raises(BackendError, match=rf"{status}.*\(tried 3 times\)") as caught:
        store.add(documents(2))
    assert caught.value.retryable
    assert caught.value.stored_ids == []
    assert caught.value.failed_ids == ["d00000", "d00001"]
    assert server.asked("/vectors/upsert") == 3
    assert store.add(documents(2)) == ["d00000", "d00001"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413])
def test_answers_that_will_not(server: PineconeServer, open_pinecone: Open, status: int) -> None:
    store = open_pinecone()
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", status=status))
    with pytest.raises(BackendError, match=str(status)) as caught:
        store.add(documents(2))
    assert not caught.value.retryable
    assert server.asked("/vectors/upsert") == 1


def test_the_pause_is_as_long_as_the_service_asks_for(
    server: PineconeServer, open_pinecone: Open, pauses: list[float]
) -> None:
    store = open_pinecone()
    server.faults.add(Fault(what="refuse", path="/query", status=429, retry_after="7"))
    server.faults.add(Fault(what="refuse", path="/query", status=503, retry_after=None, times=4))
    store.search(vector=[1, 0])
    first, *others = pauses
    assert 7 <= first <= 7.7
    # Without a word of the service: longer and longer.
    bounds = [retries.FIRST_PAUSE * 2**attempt for attempt in range(1, 5)]
    assert all(most / 2 <= pause <= most for pause, most in zip(others, bounds, strict=True))


def test_a_pause_past_the_deadline_is_not_waited_for(
    server: PineconeServer, open_pinecone: Open, pauses: list[float]
) -> None:
    store = open_pinecone(deadline=60)
    server.faults.add(Fault(what="refuse", path="/query", status=429, retry_after="3600"))
    with pytest.raises(BackendError, match="it asks to wait 3600 s") as caught:
        store.search(vector=[1, 0])
    assert caught.value.retryable
    assert not pauses
    assert server.asked("/query") == 1


def test_nothing_is_tried_after_the_deadline(server: PineconeServer, open_pinecone: Open) -> None:
    store = open_pinecone(deadline=0.3, retries=100)
    server.faults.add(Fault(what="refuse", path="/query", times=1_000, retry_after="0.1"))
    with pytest.raises(BackendError, match="tried"):
        store.search(vector=[1, 0])
    assert server.asked("/query") <= 4


def test_a_slow_answer_is_asked_for_again(server: PineconeServer, open_pinecone: Open) -> None:
    store = open_pinecone(timeout=0.3)
    server.faults.add(Fault(what="slow", path="/vectors/upsert", seconds=1.5))
    assert len(store.add(documents(3))) == 3
    assert server.asked("/vectors/upsert") == 2
    server.faults.add(Fault(what="slow", path="/query", seconds=0.05, times=3))
    assert len(store.search(vector=[1, 0])) == 3


def test_cut_connections_that_were_kept(server: PineconeServer, open_pinecone: Open) -> None:
    store = open_pinecone()
    store.add(documents(3))
    server.http.cut_all()
    assert store.count() == 3


# --- what was stored ----------------------------------------------------------------------


@pytest.mark.parametrize("what", ["refuse", "cut before", "cut after"])
@pytest.mark.parametrize("parallel", [1, 4])
def test_the_error_says_what_was_stored(
    server: PineconeServer, open_pinecone: Open, pauses: list[float], what: What, parallel: int
) -> None:
    # So long that a request carries some hundred of them.
    store = open_pinecone(dimension=800, retries=1, parallel=parallel)
    given = documents(500, 800)
    server.faults.add(Fault(what=what, path="/vectors/upsert", after=2, times=1_000))
    with pytest.raises(BackendError) as caught:
        store.add(given)
    error = caught.value
    assert error.stored_ids == held(server)
    assert error.stored_ids
    assert what == "cut after" or error.failed_ids
    assert sorted(error.stored_ids + error.failed_ids) == [one.id for one in given]
    server.faults.clear()
    missing = [one for one in given if one.id in error.failed_ids]
    assert len(store.add(missing, on_conflict="error")) == len(missing)  # none of them is there
    assert held(server) == [one.id for one in given]


def test_what_was_stored_and_not_answered_is_told(
    server: PineconeServer, open_pinecone: Open
) -> None:
    store = open_pinecone(retries=0)
    store.add(documents(2))
    server.faults.add(Fault(what="cut after", path="/vectors/upsert"))
    with pytest.raises(BackendError) as caught:
        store.add([Document("new", {"n": 7}, "d00000", [0, 1]), *documents(3)[1:]])
    assert caught.value.stored_ids == ["d00000", "d00001", "d00002"]
    assert store.get(["d00000"])[0].text == "new"
    server.faults.add(Fault(what="cut before", path="/vectors/upsert"))
    with pytest.raises(BackendError) as caught:
        store.add(documents(2))
    assert caught.value.stored_ids == []
    assert store.get(["d00000"])[0].text == "new"


def test_an_outage_stops_a_large_add_at_once(
    server: PineconeServer, open_pinecone: Open, pauses: list[float]
) -> None:
    store = open_pinecone(dimension=800, retries=2, parallel=2)
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", times=1_000))
    with pytest.raises(BackendError):
        store.add(documents(1_000, 800))
    # Of some ten requests, those that were on their way when the first gave up.
    assert server.asked("/vectors/upsert") <= 2 * 3


def test_a_hopeless_request_ends_the_pauses_of_the_others(
    server: PineconeServer, open_pinecone: Open
) -> None:
    store = open_pinecone(dimension=800, parallel=2)
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", retry_after="100"))
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", status=400, times=1_000))
    with pytest.raises(BackendError):
        store.add(documents(300, 800))
    assert server.asked("/vectors/upsert") == 2


def life(store: PineconeStore, seed: int, steps: int) -> dict[str, tuple[str, int]]:
    """Writes of every kind, and what is stored by them."""
    dice = random.Random(seed)
    stored: dict[str, tuple[str, int]] = {}
    for step in range(steps):
        ids = [f"id{dice.randrange(40)}" for _ in range(dice.randrange(1, 12))]
        ids = list(dict.fromkeys(ids))
        match dice.randrange(7):
            case 0 | 1 | 2:
                given = [Document(f"{step}", {"n": step}, id, [1.0, float(step % 7)]) for id in ids]
                store.add(given)
                stored.update(dict.fromkeys(ids, (f"{step}", step)))
            case 3:
                free = [id for id in ids if id not in stored]
                given = [Document(f"{step}", {"n": step}, id, [1.0, 2.0]) for id in ids]
                assert store.add(given, on_conflict="skip") == ids
                stored.update(dict.fromkeys(free, (f"{step}", step)))
            case 4:
                assert store.delete(ids) == len(stored.keys() & set(ids))
                for id in ids:
                    stored.pop(id, None)
            case 5:
                bound = dice.randrange(max(1, step))
                gone = [id for id, (_, n) in stored.items() if n < bound]
                assert store.delete(filter=f"n < {bound}") == len(gone)
                for id in gone:
                    del stored[id]
            case _:
                changed = [id for id in ids if id in stored]
                assert store.update_metadata(ids, set={"n": step}) == len(changed)
                stored.update({id: (stored[id][0], step) for id in changed})
    return stored


@pytest.mark.parametrize(
    "seed", [1, *[pytest.param(n, marks=pytest.mark.wide) for n in range(2, 12)]]
)
def test_nothing_is_lost_or_doubled_in_a_storm(
    server: PineconeServer, open_pinecone: Open, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    server.delay = 0.002
    store = open_pinecone(retries=40)
    with server.faults.storm(seed, 0.25):
        stored = life(store, seed, 40)
        found = {one.id: (one.text, one.metadata["n"]) for one in store.scan()}
        assert store.count() == len(stored)
    assert server.faults.happened > 20
    assert found == stored
    assert held(server) == sorted(stored)


def test_writers_in_a_storm(
    server: PineconeServer, open_pinecone: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    store = open_pinecone(retries=40)
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for n in range(5):
                store.add([Document("", {"n": n}, f"{number}-{n}-{k}", [1, k]) for k in range(4)])
        except BaseException as error:
            failed.append(error)

    with server.faults.storm(3, 0.3):
        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert not failed
    assert len(held(server)) == store.count() == 4 * 5 * 4


# --- ends ---------------------------------------------------------------------------------


def test_closing_while_a_call_tries_again(server: PineconeServer, open_pinecone: Open) -> None:
    store = open_pinecone(retries=3)
    server.faults.add(Fault(what="refuse", path="/vectors/upsert", times=2, retry_after="0.2"))
    stored: list[list[str]] = []

    def add() -> None:
        try:
            stored.append(store.add(documents(2)))
        except StoreClosedError as error:  # after the batch, before the end of the call
            stored.append(error.stored_ids)

    thread = threading.Thread(target=add)
    thread.start()
    while not server.asked("/vectors/upsert"):
        threading.Event().wait(0.005)
    store.close()
    thread.join(60)
    assert stored == [["d00000", "d00001"]]
    assert held(server) == ["d00000", "d00001"]
    with pytest.raises(StoreClosedError):
        store.count()


def test_an_interrupted_add_leaves_whole_documents(
    server: PineconeServer, open_pinecone: Open
) -> None:
    store = open_pinecone(dimension=800, parallel=4)
    on_its_way = threading.Event()

    def interrupt(request: Request) -> None:
        if request.path == "/vectors/upsert" and not on_its_way.is_set():
            on_its_way.set()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        # On a busy machine all requests could else be over before the main thread has its turn.
        threading.Event().wait(0.05)

    server.http.during_answer = interrupt
    # What a shell starts in the background is deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            store.add(documents(1_000, 800))
    finally:
        signal.signal(signal.SIGINT, before)
    stored = held(server)
    assert len(stored) < 1_000
    assert sorted(one.id for one in store.scan()) == stored  # and nothing is still being written
    assert len(store.add(documents(20, 800))) == 20


def test_a_signal_inside_of_pythons_own_locks_leaves_none_taken(
    open_pinecone: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_pinecone(dimension=800, parallel=4)
    store.add(documents(400, 800))
    taken = threading.Condition.__enter__
    wait, main = 0, threading.get_ident()

    def interrupted(condition: threading.Condition) -> bool:
        nonlocal wait
        entered = taken(condition)
        # Between here and the body of `with` a signal may come up, and nothing gives it back.
        if threading.get_ident() == main:
            wait -= 1
            if wait == 0:
                raise KeyboardInterrupt
        return entered

    def count() -> None:
        counts.append(store.count("n >= 0"))

    for turn in range(1, 40):
        wait = turn
        with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
            patched.setattr(threading.Condition, "__enter__", interrupted)
            store.add(documents(400, 800))
        counts: list[int] = []
        other = threading.Thread(target=count, daemon=True)
        other.start()
        other.join(20)
        assert counts == [400], turn
        if wait > 0:  # there is no later one
            break


PROGRAM = """
    import faulthandler, os, random, signal, sys, threading
    from vecstore import Document
    from vecstore.dialects.pinecone.store import PineconeStore

    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = PineconeStore(
        "docs", namespace="interrupted", host=sys.argv[1], create=True, dimension=2
    )
    store.add([Document("", {"n": n}, str(n), [1, n]) for n in range(100)])
    dice, interrupted = random.Random(1), 0
    for turn in range(int(sys.argv[2])):
        timer = threading.Timer(dice.random() * 0.03, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            # Not for ever: Python drops an exception that comes up inside a finaliser.
            while timer.is_alive():
                store.update_metadata(filter="n >= 0", set={"turn": turn})
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        counts = []
        other = threading.Thread(target=lambda: counts.append(store.count("n >= 0")), daemon=True)
        other.start()
        other.join(60)
        if not counts:
            faulthandler.dump_traceback()
        assert counts == [100], f"after {turn} interruptions: {counts}"
    store.close()
    print(interrupted, flush=True)
"""


@pytest.mark.parametrize(
    "turns", [8, pytest.param(300, marks=[pytest.mark.heavy, pytest.mark.timeout(700)])]
)
def test_calls_after_an_interruption_work(
    server: PineconeServer, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", server.key)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), server.address, str(turns)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert int(ran.stdout) >= turns // 2
    assert len(held(server, "interrupted")) == 100
