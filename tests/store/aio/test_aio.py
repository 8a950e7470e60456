"""Awaited calls: cancellation, the bounded pool, context variables, asynchronous embedders."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from tests.store.embedders import Counting, letters
from vecstore import CountBatching, Document, F, SimpleVectorStore
from vecstore.errors import (
    BackendError,
    ConfigurationError,
    EmbeddingError,
    ScopeError,
    StoreClosedError,
)
from vecstore.store.operations import CountCall


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, 60))


def documents(count: int) -> list[Document]:
    return [Document("a", {"n": n}, f"{n:03}", [1.0, n + 1.0]) for n in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come to that")


class Gate:
    """Holds whoever passes until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, *arguments: Any, **options: Any) -> None:
        self.reached.set()
        assert self.opened.wait(300)


def gated(store: Any, hook: str, at: int = 0) -> Gate:
    """A gate before the given call of a hook."""
    gate, real, calls = Gate(), getattr(store, hook), iter(range(10**6))

    def waiting(*arguments: Any, **options: Any) -> Any:
        if next(calls) == at:
            gate()
        return real(*arguments, **options)

    setattr(store, hook, waiting)
    store._is_quick = lambda call: False
    return gate


async def cancelled(task: asyncio.Task[Any]) -> asyncio.CancelledError:
    # Whoever waited for the gate in here would wait for as long as it is patient.
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert time.monotonic() - started < 200
    return caught.value


def test_add_stops_between_batches_and_reports_what_was_stored() -> None:
    async def main() -> None:
        store = SimpleVectorStore(letters, batching=CountBatching(2))
        gate = gated(store, "_add", at=1)
        done: list[int] = []
        texts = [Document("a", id=str(n)) for n in range(10)]
        task = asyncio.ensure_future(
            store.aio.add(texts, progress=lambda count, of: done.append(count))
        )
        await asyncio.to_thread(gate.reached.wait, 30)
        error: Any = await cancelled(task)
        assert error.stored_ids == ["0", "1"]
        gate.opened.set()
        await until(lambda: done == [2, 4])
        await store.aio.count()
        assert error.stored_ids == ["0", "1", "2", "3"]
        assert sorted(one.id for one in store.scan()) == error.stored_ids
        await store.aio.close()

    run(main())


def test_search_is_left_at_once_and_its_engine_call_ends() -> None:
    async def main() -> None:
        embedder = Counting()
        store = SimpleVectorStore(embedder)
        store.add([Document("a", id="a")])
        gate = gated(store, "_search")
        task = asyncio.ensure_future(store.aio.search("a"))
        await asyncio.to_thread(gate.reached.wait, 30)
        await cancelled(task)
        gate.opened.set()
        assert await store.aio.count() == 1
        await store.aio.close()
        assert store._workers is not None
        await until(lambda: not store._workers.pending)

    run(main())


def test_a_search_that_nobody_waits_for_goes_no_further_than_its_embedder() -> None:
    async def main() -> None:
        gate = Gate()

        def embed(texts: list[str]) -> Any:
            gate()
            return letters(texts)

        store = SimpleVectorStore(embed)
        searched: list[int] = []
        store._search = lambda *a, **o: searched.append(1) or []  # type: ignore[method-assign,func-returns-value]
        task = asyncio.ensure_future(store.aio.search("a"))
        await asyncio.to_thread(gate.reached.wait, 30)
        await cancelled(task)
        gate.opened.set()
        await store.aio.close()
        assert searched == []

    run(main())


def test_a_call_that_waits_for_its_turn_never_begins_when_cancelled() -> None:
    async def main() -> None:
        store = SimpleVectorStore(async_threads=1)
        store.add(documents(3))
        gate = gated(store, "_count")
        first = asyncio.ensure_future(store.aio.count())
        await asyncio.to_thread(gate.reached.wait, 30)
        second = asyncio.ensure_future(store.aio.clear())
        await asyncio.sleep(0.01)
        await cancelled(second)
        gate.opened.set()
        assert await first == 3
        assert await store.aio.count() == 3

    run(main())


def test_scan_is_read_in_batches_and_closed_early() -> None:
    async def main() -> None:
        store = SimpleVectorStore()
        store.add(documents(20))
        closed = threading.Event()

        def scan(*arguments: Any, **options: Any) -> Any:
            try:
                yield from documents(20)
            finally:
                closed.set()

        store._scan = scan  # type: ignore[method-assign]
        assert [one.id async for one in store.aio.scan(batch_size=7)] == [
            one.id for one in documents(20)
        ]
        closed.clear()
        async with contextlib.aclosing(store.aio.scan(batch_size=3)) as found:
            async for one in found:
                if one.id == "004":
                    break
        assert closed.is_set()
        closed.clear()
        async for _ in store.aio.scan(batch_size=3):
            break
        gc.collect()
        await until(closed.is_set)

    run(main())


def test_a_cancelled_scan_gives_back_what_it_holds() -> None:
    async def main() -> None:
        store = SimpleVectorStore()
        gate, closed = Gate(), threading.Event()

        def scan(*arguments: Any, **options: Any) -> Any:
            try:
                yield from documents(4)
                gate()
                yield from documents(4)
            finally:
                closed.set()

        store._scan = scan  # type: ignore[method-assign]
        seen: list[str] = []

        async def read() -> None:
            async for one in store.aio.scan(batch_size=2):
                seen.append(one.id)  # noqa: PERF401

        task = asyncio.ensure_future(read())
        await asyncio.to_thread(gate.reached.wait, 30)
        await cancelled(task)
        assert not closed.is_set()
        gate.opened.set()
        await until(closed.is_set)
        assert seen == ["000", "001", "002", "003"]

    run(main())


def test_an_error_in_a_scan_comes_after_what_was_read_before_it() -> None:
    async def main() -> None:
        store = SimpleVectorStore()

        def scan(*arguments: Any, **options: Any) -> Any:
            yield from documents(3)
            raise LookupError("gone")

        store._scan = scan  # type: ignore[method-assign]
        seen: list[str] = []
        with pytest.raises(BackendError):
            async for one in store.aio.scan():
                seen.append(one.id)  # noqa: PERF401
        assert seen == ["000", "001", "002"]

    run(main())


def test_two_hundred_calls_share_a_bounded_pool() -> None:
    async def main() -> None:
        store = SimpleVectorStore(async_threads=4)
        store.add(documents(50))
        at_once, most, lock = 0, 0, threading.Lock()
        real = store._search

        def counting(*arguments: Any, **options: Any) -> Any:
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.001)
            try:
                return real(*arguments, **options)
            finally:
                with lock:
                    at_once -= 1

        store._search = counting  # type: ignore[method-assign]
        store._is_quick = lambda call: False  # type: ignore[method-assign]
        found = await asyncio.gather(
            *[store.aio.search(vector=[1, n], filter=f"n != {n}") for n in range(200)]
        )
        assert all(len(one) == 4 for one in found)
        assert 1 < most <= 4
        threads = [one for one in threading.enumerate() if one.name.startswith("vecstore_")]
        assert len(threads) <= 4
        await store.aio.close()

    run(main())


PROBE = letters(["a text"])[0]


def test_what_takes_less_time_than_a_thread_is_done_at_once() -> None:
    here = threading.get_ident()
    where: list[tuple[str, bool]] = []

    class Watching:
        def start(self, operation: str, attributes: Any) -> None:
            where.append((operation, threading.get_ident() == here))

        def end(self, started: Any, **ended: Any) -> None:
            pass

    async def main() -> None:
        store = SimpleVectorStore(letters, observers=[Watching()])
        ours = store.scoped(F.n >= 0)
        await ours.aio.add([Document("a", {"n": n}, id=str(n)) for n in range(400)])
        await store.aio.search(vector=PROBE, filter="n > 5")
        await store.aio.get(["1"])
        await ours.aio.count()
        await store.aio.search("a text")  # its embedder may take any time
        await store.aio.add([Document("a", {"n": n}, id=str(n)) for n in range(400, 600)])
        await store.aio.search(vector=PROBE)
        await store.aio.search(vector=PROBE, filter="n > 5 AND n < 9")
        await store.aio.search(vector=PROBE, filter="n IN [1, 2]")
        await store.aio.search(vector=PROBE, filter="n == 1 OR (n > 2 AND n < 5)")
        await store.aio.search(vector=PROBE, top_k=501)
        await store.aio.count("n > 5")
        await store.aio.count()

    run(main())
    assert [one for one in where if one[0] != "embed"] == [
        ("add", False),
        ("search", True),
        ("get", True),
        ("count", True),
        ("search", False),
        ("add", False),
        ("search", True),
        ("search", True),
        ("search", False),
        ("search", False),
        ("search", False),
        ("count", False),
        ("count", True),
    ]


def test_quick_calls_let_others_have_their_turn() -> None:
    async def main() -> None:
        store = SimpleVectorStore(dimension=2)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(tick())
        for _ in range(50):
            await store.aio.count()
        task.cancel()
        assert ticks >= 50

    run(main())


def test_a_store_of_another_kind_decides_for_itself() -> None:
    class Slow(SimpleVectorStore):
        """Its hooks may wait for anything."""

    store = Slow(dimension=2)
    assert not store._is_quick(CountCall())
    assert SimpleVectorStore(dimension=2)._is_quick(CountCall())


def test_a_view_has_the_threads_of_its_store() -> None:
    view = SimpleVectorStore(dimension=2, async_threads=3).scoped(F.tenant == "a")
    assert view.async_threads == view.scoped(F.kind == "b").async_threads == 3


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "4"])
def test_the_size_of_the_pool_is_checked(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="async_threads"):
        SimpleVectorStore(async_threads=wrong)


_user: ContextVar[str] = ContextVar("user")


def test_the_callers_context_is_there_in_the_thread_and_for_scopes() -> None:
    local = threading.local()

    async def main() -> None:
        seen: list[str] = []

        def embed(texts: list[str]) -> Any:
            seen.append(_user.get())
            return letters(texts)

        store = SimpleVectorStore(embed)
        local.user = "of the loop's thread"
        scope = store.scoped(lambda: F.owner == f"{_user.get()} {local.user}")

        async def add(user: str) -> None:
            _user.set(user)
            await scope.aio.add([Document("a", id=user)])
            assert [one.id async for one in scope.aio.scan()] == [user]
            assert await scope.aio.count() == 1

        await asyncio.gather(*[add(f"u{n}") for n in range(8)])
        assert sorted(seen) == [f"u{n}" for n in range(8)]
        assert store.get(["u3"])[0].metadata == {"owner": "u3 of the loop's thread"}
        del local.user
        with pytest.raises(ScopeError):
            await scope.aio.count()

    run(main())


class AsyncLetters(Counting):
    """Has both kinds of methods; the synchronous ones refuse inside awaited calls."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited: list[Any] = []
        self.loops: set[Any] = set()

    async def aembed_documents(self, texts: list[str]) -> Any:
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        self.awaited.append(texts)
        return letters(texts)

    async def aembed_query(self, text: str) -> Any:
        self.loops.add(asyncio.get_running_loop())
        self.awaited.append(text)
        return letters([text])[0]


def test_asynchronous_embedders_are_awaited_on_the_callers_loop() -> None:
    async def main() -> None:
        embedder = AsyncLetters()
        store = SimpleVectorStore(embedder)
        await store.aio.add([Document("ab", id="x")])
        assert [one.id for one in await store.aio.search("a")] == ["x"]
        assert embedder.awaited == [["ab"], "a"]
        assert embedder.calls == 0
        assert embedder.loops == {asyncio.get_running_loop()}
        await asyncio.to_thread(store.search, "a")
        assert embedder.queries == ["a"]

    run(main())


def test_an_asynchronous_embedder_that_fails_is_an_embedding_error() -> None:
    class Failing(AsyncLetters):
        async def aembed_query(self, text: str) -> Any:
            raise TimeoutError("the provider is slow")

        async def aembed_documents(self, texts: list[str]) -> Any:
            return [[1.0]] * (len(texts) + 1)

    async def main() -> None:
        store = SimpleVectorStore(Failing())
        with pytest.raises(EmbeddingError, match="TimeoutError"):
            await store.aio.search("a")
        with pytest.raises(EmbeddingError, match="vectors for 1"):
            await store.aio.add([Document("ab", id="x")])

    run(main())


def test_an_asynchronous_embedder_is_cancelled_with_its_call() -> None:
    async def main() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        class Slow(AsyncLetters):
            async def aembed_query(self, text: str) -> Any:
                begun.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.set()

        store = SimpleVectorStore(Slow(), async_threads=1)
        task = asyncio.ensure_future(store.aio.search("a"))
        await begun.wait()
        await cancelled(task)
        await asyncio.wait_for(ended.wait(), 50)
        assert await store.aio.count() == 0  # the only thread is free again

    run(main())


def test_an_asynchronous_embedder_may_use_a_store_itself() -> None:
    async def main() -> None:
        inner = SimpleVectorStore(AsyncLetters())

        class Outer(AsyncLetters):
            async def aembed_query(self, text: str) -> Any:
                assert inner.search("a") == []  # not awaited, on the loop's own thread
                assert await inner.aio.search("a") == []
                return await super().aembed_query(text)

        store = SimpleVectorStore(Outer())
        assert await store.aio.search("a") == []

    run(main())


def test_a_loop_that_ends_first_holds_nobody_up() -> None:
    gate = Gate()

    class Late(AsyncLetters):
        def embed_query(self, text: str) -> Any:
            raise AssertionError

        async def aembed_query(self, text: str) -> Any:
            raise AssertionError

    store = SimpleVectorStore(Late(), async_threads=1)
    real = store._embed_queries

    def late(text: str) -> Any:
        gate()
        return real(text)

    store._embed_queries = late  # type: ignore[method-assign]

    async def main() -> None:
        asyncio.ensure_future(store.aio.search("a"))  # noqa: RUF006
        await asyncio.to_thread(gate.reached.wait, 30)

    asyncio.run(main())
    gate.opened.set()

    async def again() -> int:
        return await store.aio.count()

    assert run(again()) == 0


def test_closing_waits_for_what_is_in_flight() -> None:
    async def main() -> None:
        store = SimpleVectorStore()
        store.add(documents(2))
        gate = gated(store, "_count")
        async with store.aio as entered:
            task = asyncio.ensure_future(entered.count())
            await asyncio.to_thread(gate.reached.wait, 30)
            asyncio.get_running_loop().call_later(0.05, gate.opened.set)
        assert await task == 2
        for call in (store.aio.count(), store.aio.__aenter__()):
            with pytest.raises(StoreClosedError):
                await call
        with pytest.raises(StoreClosedError):
            async for _ in store.aio.scan():
                pass
        await store.aio.close()

    run(main())


def test_a_store_that_was_closed_by_others_says_so() -> None:
    async def main() -> None:
        store = SimpleVectorStore()
        await store.aio.count()
        view = store.scoped("a == 1").aio
        store.close()
        for call in (store.aio.count(), view.count()):
            with pytest.raises(StoreClosedError):
                await call

    run(main())


def test_a_view_has_awaited_calls_too_and_leaves_the_store_open() -> None:
    async def main() -> None:
        store = SimpleVectorStore()
        async with store.aio.scoped(F.tenant == "a") as ours:
            await ours.add(documents(2))
            assert await ours.count() == 2
            assert "aio" in repr(ours)
            assert ours.store.name == "memory"
        with pytest.raises(StoreClosedError):
            await ours.count()
        assert await store.aio.count() == 2

    run(main())


def test_wrong_arguments_are_refused_as_in_the_methods_that_are_not_awaited() -> None:
    anything: Any = SimpleVectorStore().aio

    async def main() -> None:
        with pytest.raises(TypeError, match="filter="):
            await anything.delete("n == 1")
        with pytest.raises(ValueError, match=r"clear\(\)"):
            await anything.delete()
        with pytest.raises(TypeError, match="get"):
            await anything.search()
        with pytest.raises(ValueError, match="batch_size"):
            anything.scan(batch_size=0)

    run(main())
