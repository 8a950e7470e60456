"""A store that was opened before a fork: what a child may do with it, and what it must not."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from vecstore import Document, F, SimpleVectorStore, open_store, parse
from vecstore.errors import BackendError, StoreClosedError, StoreFileError
from vecstore.testing.store_suite.children import in_a_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

PACKAGE = Path(__file__).resolve().parents[2] / "vecstore"


def documents(count: int) -> list[Document]:
    return [Document(f"{n}", {"n": n}, f"{n:03}", [1, n]) for n in range(count)]


def simple() -> SimpleVectorStore:
    store = SimpleVectorStore(dimension=2)
    store.add(documents(6))
    return store


def test_a_child_has_a_copy_of_what_is_in_memory() -> None:
    store = simple()
    view = store.scoped(F.n > 3)

    def work() -> None:
        assert store.count() == 6
        assert [one.id for one in store.search(vector=[1, 0], top_k=1)] == ["000"]
        assert view.count() == 2
        store.add([Document("child", {"n": 7}, "child", [1, 1])])
        store.delete(["000"])
        assert view.count() == 3
        assert store.count() == 6
        in_a_child(lambda: store.add(documents(1)))
        store.close()

    in_a_child(work)
    in_a_child(work)
    assert store.count() == 6
    assert store.get(["child"]) == []


def test_awaited_calls_in_a_child() -> None:
    store = simple()

    async def calls() -> None:
        found = await asyncio.gather(*[store.aio.search(vector=[1, n]) for n in range(20)])
        assert all(len(one) == 4 for one in found)
        assert [one.id async for one in store.aio.scan("n < 2")] == ["000", "001"]
        assert await store.scoped(F.n > 3).aio.count() == 2

    async def and_close() -> None:
        await calls()
        await store.aio.close()

    asyncio.run(calls())
    in_a_child(lambda: asyncio.run(and_close()))
    in_a_child(lambda: asyncio.run(store.aio.close()))
    asyncio.run(calls())


def test_a_fork_from_the_thread_of_an_awaited_call() -> None:
    """The child's only thread works for nobody: it waits for no loop of the parent's."""

    class Embedder:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 2.0]

        async def aembed_query(self, text: str) -> list[float]:
            in_a_child(lambda: store.search("x"))
            return [1.0, 2.0]

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0] for _ in texts]

    store = SimpleVectorStore(Embedder())
    store.add(documents(2))
    gone: list[int] = []

    class Forks(SimpleVectorStore):
        def _count(self, filter: Any) -> int:
            in_a_child(lambda: store.search("x"))
            gone.append(1)
            return super()._count(filter)

    asyncio.run(Forks().aio.count())
    assert gone


class Busy(MinimalStore):
    """Holds a lock of its own in a hook, as a thread of the parent does at the fork."""

    def __init__(self) -> None:
        super().__init__(dimension=2)
        self.lock = threading.Lock()
        self.reached, self.go = threading.Event(), threading.Event()
        self.forks = 0
        self.closings = 0
        self.fail: Exception | None = None

    def _count(self, filter: Any) -> int:
        with self.lock:
            self.reached.set()
            if not self.forks:
                assert self.go.wait(30)
            return super()._count(filter)

    def _close(self) -> None:
        self.closings += 1

    def _after_fork(self) -> None:
        self.forks += 1
        if self.fail is not None:
            raise self.fail
        self.lock = threading.Lock()
        self._check_open()


def test_locks_that_were_held_at_the_fork() -> None:
    store = Busy()
    store.add(documents(3))
    thread = threading.Thread(target=store.count)
    thread.start()
    assert store.reached.wait(30)
    closing = threading.Thread(target=Busy.close, args=(store,))

    def work() -> None:
        assert store.count() == 3
        assert store.count() == 3
        assert store.forks == 1
        store.close()
        assert store.closings == 1

    in_a_child(work)

    def close_only() -> None:
        store.close()
        assert (store.forks, store.closings) == (0, 0), "it had nothing of its own to give back"
        with pytest.raises(StoreClosedError):
            store.count()

    in_a_child(close_only)
    closing.start()
    store.go.set()
    thread.join(30)
    closing.join(30)
    assert (store.closings, store.forks) == (1, 0)


def test_two_threads_of_a_child_make_it_anew_once() -> None:
    store = Busy()
    store.go.set()
    original = store._after_fork

    def slowly() -> None:
        time.sleep(0.02)
        original()

    store._after_fork = slowly  # type: ignore[method-assign]

    def work() -> None:
        failures: list[BaseException] = []

        def call() -> None:
            try:
                store.count()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=call) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)
        assert not failures
        assert store.forks == 1

    in_a_child(work)


def test_a_call_that_forks_on_its_way_goes_on_in_both_processes() -> None:
    """It was let in by the parent; the hook runs in the child, which has nothing of its own yet."""

    class Forking:
        child = -1

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            self.child = os.fork()
            return [1.0, 2.0]

    class Anew(MinimalStore):
        forks = 0

        def _after_fork(self) -> None:
            self.forks += 1

    embedder = Forking()
    store = Anew(embedder)
    store.add([Document("text", {}, "a", [1, 2])])
    found: list[Document] = []
    try:
        found += store.search("x")
    finally:
        if embedder.child == 0:
            os._exit(0 if (store.forks, len(found)) == (1, 1) else 1)
    assert os.waitpid(embedder.child, 0)[1] == 0
    assert (store.forks, len(found)) == (0, 1)


def test_a_store_that_one_process_has_says_so_in_a_child() -> None:
    store = MinimalStore(dimension=2)
    store.add(documents(3))
    view = store.scoped(F.n > 0)
    scan = store.scan()
    next(scan)
    calls: list[Callable[[], object]] = [
        store.count,
        store.clear,
        view.count,
        lambda: store.add(documents(1)),
        lambda: asyncio.run(store.aio.count()),
        store.__enter__,
    ]

    def work() -> None:
        for call in (lambda: next(scan), *calls, *calls):
            with pytest.raises(StoreClosedError, match="open it in the process"):
                call()
        store.close()
        with pytest.raises(StoreClosedError, match="is closed"):
            store.count()

    in_a_child(work)
    assert store.count() == 3
    assert len(list(scan)) == 2


def test_what_fails_in_a_child_is_tried_again_and_told() -> None:
    store = Busy()
    store.go.set()

    def work() -> None:
        store.fail = OSError("no more sockets")
        for _ in range(2):
            with pytest.raises(BackendError) as caught:
                store.count()
            assert caught.value.operation == "open"
            assert isinstance(caught.value.__cause__, OSError)
        store.fail = None
        assert store.count() == 0
        assert store.forks == 3

    in_a_child(work)


def test_a_child_does_not_save_over_its_parents_file(tmp_path: Path) -> None:
    url = f"memory:{tmp_path}/kb.json"
    store = open_store(url, dimension=2)
    store.add(documents(3))

    def work() -> None:
        store.delete(["000"])
        with suppress(StoreFileError):  # refused aloud
            store.close()

    in_a_child(work)
    assert not (tmp_path / "kb.json").exists()
    store.close()
    with open_store(url) as again:
        assert again.count() == 3


@pytest.mark.parametrize(
    "module", ["vecstore.store.aio", "vecstore.grammar.parser", "vecstore.process"]
)
def test_locks_of_modules_that_were_held_at_the_fork(module: str) -> None:
    from vecstore import process
    from vecstore.grammar import parser
    from vecstore.store import aio

    locks = {
        "vecstore.store.aio": lambda: aio._making,
        "vecstore.grammar.parser": lambda: parser._trees._lock,
        "vecstore.process": lambda: process.adopting,
    }
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with locks[module]():
            held.set()
            assert go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    store = simple()

    def work() -> None:
        parse(f"a == 'of {os.getpid()}'")
        assert asyncio.run(store.aio.count()) == 6

    try:
        in_a_child(work)
    finally:
        go.set()
        thread.join(30)


def test_every_lock_of_a_module_is_made_anew() -> None:
    """What is made when a module is imported outlives a fork, whoever holds it."""
    lock = re.compile(r"^\w+(: [^=\n]+)? = .*\b(Lock|RLock|local)\(", re.MULTILINE)
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if lock.search(text) and not re.search("in_forked_child|register_at_fork", text):
            found.append(str(path.relative_to(PACKAGE)))
    assert found == []


if sys.version_info >= (3, 12):
    # Forking with threads is what is tested here.
    pytestmark = [pytestmark, pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")]
