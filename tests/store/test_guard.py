"""The guard around hooks: closing waits, nothing begins after it, and signals break neither."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from tests.stress import interrupted
from vecstore import CountBatching, Document, F
from vecstore.errors import BackendError, StoreClosedError
from vecstore.store.base import VectorStore


def documents(count: int, first: int = 0) -> list[Document]:
    numbers = range(first, first + count)
    return [Document(f"{n}", {"n": n}, f"{n:03}", [1, n]) for n in numbers]


class Slow(MinimalStore):
    """Its hooks stop half-way until they are let go; it notes what runs during ``_close``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(dimension=2, **options)
        self.reached, self.go = threading.Event(), threading.Event()
        self.inside: set[int] = set()
        self.closed_under: list[set[int]] = []
        self.closings = 0
        self.in_hook: Callable[[], object] | None = None
        self.fail_close: BaseException | None = None

    def _count(self, filter: Any) -> int:
        me = threading.get_ident()
        self.inside.add(me)
        try:
            if self.in_hook is not None:
                self.in_hook()
            self.reached.set()
            assert self.go.wait(30)
            return super()._count(filter)
        finally:
            self.inside.discard(me)

    def _close(self) -> None:
        self.closings += 1
        self.closed_under.append(self.inside - {threading.get_ident()})
        if self.fail_close is not None:
            raise self.fail_close


def closing(store: MinimalStore) -> bool:
    return store._closed


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


def test_closing_waits_for_hooks_of_other_threads_and_lets_nothing_begin() -> None:
    store = Slow()
    store.add(documents(3))
    with ThreadPoolExecutor(3) as pool:
        counting = pool.submit(store.count)
        assert store.reached.wait(30)
        closed = pool.submit(store.close)
        wait_until(lambda: closing(store))
        for call in (lambda: store.get(["000"]), lambda: store.add(documents(1)), store.clear):
            with pytest.raises(StoreClosedError):
                call()
        assert not closed.done()
        store.go.set()
        assert counting.result(30) == 3
        closed.result(30)
    assert store.closed_under == [set()]
    store.close()
    assert store.closings == 1


def test_of_two_that_close_one_waits_for_the_other() -> None:
    store = Slow()
    with ThreadPoolExecutor(4) as pool:
        counting = pool.submit(store.count)
        assert store.reached.wait(30)
        closing = [pool.submit(store.close) for _ in range(3)]
        time.sleep(0.02)
        assert not any(one.done() for one in closing)
        store.go.set()
        for one in closing:
            one.result(30)
        assert counting.result(30) == 0
    assert store.closings == 1


def test_a_hook_closes_its_own_store() -> None:
    store = Slow()
    store.go.set()
    store.in_hook = store.close
    assert store.count() == 0
    assert store.closings == 1
    with pytest.raises(StoreClosedError):
        store.count()


def test_what_fails_after_closing_itself_is_told_to_be_closed() -> None:
    store = Slow()

    def fail() -> None:
        store.close()
        raise OSError("the handle is gone")

    store.in_hook = fail
    with pytest.raises(StoreClosedError) as caught:
        store.count()
    assert isinstance(caught.value.__cause__, OSError)


def test_two_hooks_that_close_do_not_wait_for_each_other() -> None:
    store = Slow()
    together = threading.Barrier(2)

    def close() -> None:
        together.wait(30)
        store.close()

    store.in_hook = close
    store.go.set()
    with ThreadPoolExecutor(2) as pool:
        for one in [pool.submit(store.count) for _ in range(2)]:
            assert one.result(30) == 0
    assert store.closings == 1
    assert store.closed_under == [set()]


@pytest.mark.parametrize("place", ["embedder", "progress"])
def test_closing_between_the_batches_of_an_add(place: str) -> None:
    calls: list[int] = []

    def at(number: int) -> None:
        calls.append(number)
        if len(calls) == 2:
            store.close()

    def embed(texts: list[str]) -> list[list[float]]:
        if place == "embedder":
            at(len(texts))
        return [[1.0, 2.0] for _ in texts]

    def progress(done: int, total: int | None) -> None:
        if place == "progress":
            at(done)

    store = MinimalStore(embed, batching=CountBatching(2))
    with pytest.raises(StoreClosedError) as caught:
        store.add([Document(f"{n}", id=f"{n}") for n in range(6)], progress=progress)
    stored = 2 if place == "embedder" else 4
    assert list(caught.value.stored_ids) == [f"{n}" for n in range(stored)]
    assert list(caught.value.failed_ids) == [f"{n}" for n in range(stored, 6)]
    assert len(calls) == 2, "nothing is embedded for a store that is closed"


@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt(), BackendError("no")])
def test_when_closing_fails_the_store_stays_open(error: BaseException) -> None:
    store = Slow()
    store.go.set()
    store.fail_close = error
    kind = BackendError if isinstance(error, Exception) else type(error)
    with pytest.raises(kind) as caught:
        store.close()
    if isinstance(error, OSError):
        assert caught.value.__cause__ is error
        assert caught.value.operation == "close"  # type: ignore[union-attr]
    assert store.count() == 0
    store.fail_close = None
    store.close()
    assert store.closings == 2
    with pytest.raises(StoreClosedError):
        store.count()


def test_one_that_waited_closes_what_the_other_could_not() -> None:
    store = Slow()
    store.fail_close = OSError("disk")
    with ThreadPoolExecutor(3) as pool:
        counting = pool.submit(store.count)
        assert store.reached.wait(30)
        closing = [pool.submit(store.close) for _ in range(2)]
        wait_until(lambda: store._closed)
        store.go.set()
        counting.result(30)
        failed = [one.exception(30) for one in closing]
    assert all(isinstance(one, BackendError) for one in failed)
    assert store.closings == 2


class Pages(MinimalStore):
    """Its scan goes on reading, page by page, and tells when it ended."""

    ended = False

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        try:
            yield from super()._scan(
                filter, batch_size=batch_size, include_embedding=include_embedding
            )
        finally:
            self.ended = True


def test_a_scan_is_ended_by_its_own_reader() -> None:
    store = Pages(dimension=2)
    store.add(documents(10))
    scan = store.scan(batch_size=2)
    next(scan)
    store.close()
    assert not store.ended
    with pytest.raises(StoreClosedError):
        next(scan)
    assert store.ended
    assert list(scan) == []


def test_a_scan_that_is_left_does_not_hold_up_closing() -> None:
    store = Pages(dimension=2)
    store.add(documents(10))
    for scan in (store.scan(batch_size=2), store.scoped(F.n > 2).scan(batch_size=2)):
        store.ended = False
        next(scan)
        scan.close()  # type: ignore[attr-defined]
        assert store.ended
    scan = store.scan()
    next(scan)
    store.close()


def test_a_scan_that_cannot_be_ended_says_so() -> None:
    class Fails(MinimalStore):
        def _scan(self, filter: Any, **options: Any) -> Iterator[Document]:
            try:
                yield from super()._scan(filter, **options)
            finally:
                raise OSError("hunter2 of the engine")

    store = Fails(dimension=2)
    store.add(documents(3))
    scan = store.scan(batch_size=1)
    next(scan)
    with pytest.raises(BackendError, match="failed in scan with OSError") as caught:
        scan.close()  # type: ignore[attr-defined]
    assert isinstance(caught.value.__cause__, OSError)
    assert "hunter2" not in str(caught.value)
    store.close()  # which waits for nothing that the scan left


class Lazy(MinimalStore):
    """Returns generators everywhere, which fail when they are read."""

    fails = False

    def _lazily(self, found: Iterable[Any]) -> Iterator[Any]:
        for number, one in enumerate(found):
            if self.fails and number == 2:
                raise LookupError("of the engine")
            yield one

    def _add(self, batch: Any) -> Iterable[str]:
        return self._lazily(super()._add(batch))

    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        return self._lazily(super()._search(vector, **options))

    def _get(self, selection: Any, **options: Any) -> Iterable[Document]:
        return self._lazily(super()._get(selection, **options))

    def _scan(self, filter: Any, **options: Any) -> Iterator[Document]:
        return self._lazily(super()._scan(filter, **options))


def test_what_hooks_return_lazily_is_read_inside_the_guard() -> None:
    store = Lazy(dimension=2)
    store.add(documents(6))
    assert [one.id for one in store.scan()] == [f"{n:03}" for n in range(6)]
    store.fails = True
    calls: list[tuple[str, Callable[[], object]]] = [
        ("add", lambda: store.add(documents(4))),
        ("search", lambda: store.search(vector=[1, 0], top_k=5)),
        ("get", lambda: store.get()),
        ("get", lambda: store.get([f"{n:03}" for n in range(6)])),
        ("count", store.count),
        ("scan", lambda: list(store.scan())),
    ]
    for operation, call in calls:
        with pytest.raises(BackendError) as caught:
            call()
        assert caught.value.operation == operation
        assert isinstance(caught.value.__cause__, LookupError)
    scan = store.scan()
    assert [next(scan).id, next(scan).id] == ["000", "001"], "what was read comes first"
    with pytest.raises(BackendError):
        next(scan)


@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.heavy)])
def test_signals_leave_the_guard_as_it_was(times: int) -> None:
    """An interrupted call, or closing, leaves nothing behind that another thread would wait for."""

    def everything(store: VectorStore, number: int) -> None:
        store.count()
        store.scoped(F.n > 0).count()
        scan = store.scan(batch_size=1)
        next(scan)
        scan.close()  # type: ignore[attr-defined]
        store.get(["000"])

    def unharmed(store: VectorStore) -> None:
        assert not [lock for lock in store._running if lock.locked()]
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(store.count).result(30) == 5

    def opened() -> MinimalStore:
        store = MinimalStore(dimension=2)
        store.add(documents(5))
        return store

    interrupted(opened, everything, times, check=unharmed, check_each=max(1, times // 100))


def test_signals_in_the_middle_of_closing() -> None:
    """Whatever they break off, the store can be closed, and is closed once."""

    def close(store: VectorStore, number: int) -> None:
        fresh = opened()
        current.append(fresh)
        fresh.close()

    def closable(store: VectorStore) -> None:
        for one in current:
            thread = threading.Thread(target=one.close, daemon=True)
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
            assert one.ended == 1
            with pytest.raises(StoreClosedError):
                one.count()
        current.clear()

    class Once(MinimalStore):
        ended = 0

        def _close(self) -> None:
            self.ended += 1

    def opened() -> Once:
        return Once(dimension=2)

    current: list[Once] = []
    interrupted(opened, close, 400, check=closable)
