"""Closing a store that others are using, and errors that leave its hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import BackendError, StoreClosedError, VecstoreError
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.hooks import HOOKS

_THREADS = 8
_MOST_CALLS = 400


class Closing(StoreSuiteBase):
    """Tests of the end of a store, and of what goes wrong inside it."""

    def test_closing_while_others_are_at_work(self) -> None:
        """Each call of theirs comes back as it should, or is refused; two threads close.

        Usually: a call met a client that is gone, or ``_close`` did not bear to be called twice.
        What the engine says about a closed client must become ``StoreClosedError``.
        """
        store = self.new_store()
        made = self.behind(store)
        store.add(self.documents(8, embedded=True))
        busy, done = threading.Barrier(_THREADS + 1), count()
        closing: set[str] = set()

        def work(number: int) -> None:
            calls = self._calls(store, number)
            busy.wait(60)
            for place in range(_MOST_CALLS):
                try:
                    calls[place % len(calls)]()
                    next(done)
                except StoreClosedError:
                    closing.add("refused")
                    return

        def close() -> None:
            busy.wait(60)
            while next(done) < 4 * _THREADS:
                if "refused" in closing:
                    break
                threading.Event().wait(0.001)
            with ThreadPoolExecutor(2) as pool:
                for one in [pool.submit(made.close) for _ in range(2)]:
                    one.result(60)

        with ThreadPoolExecutor(_THREADS + 1) as pool:
            futures = [pool.submit(work, number) for number in range(_THREADS)]
            futures.append(pool.submit(close))
            for future in futures:
                future.result(120)
        with pytest.raises(StoreClosedError):
            store.count()

    def test_no_hook_is_at_work_when_a_store_gives_back_what_it_holds(self) -> None:
        """Closing waits for the hooks of other threads, and begins no other.

        Usually: the store closes by a ``close`` of its own; ``_close`` is called when no hook is at
        work.
        """
        store = self.new_store()
        made = self.behind(store)
        store.add(self.documents(3, embedded=True))
        inside, go = threading.Event(), threading.Event()
        order: list[str] = []
        give_back: Any = made._close

        def slow(*_: object, **__: object) -> None:
            inside.set()
            assert go.wait(60)
            order.append("hook")

        def noted() -> None:
            order.append("closed")
            give_back()

        made._close = noted  # type: ignore[method-assign]
        try:
            with (
                self.hooked(store, {"_count": slow, "_scan": slow}),
                ThreadPoolExecutor(2) as pool,
            ):
                counting = pool.submit(store.count)
                assert inside.wait(60)
                closing = pool.submit(made.close)
                while not made._closed and not closing.done():
                    threading.Event().wait(0.001)
                # Not through a view: where calls are awaited, the hook may hold up their loop.
                with pytest.raises(StoreClosedError):
                    made.get(self.ids("doc-0"))
                go.set()
                assert counting.result(60) == 3
                closing.result(60)
        finally:
            go.set()
            del made._close
        assert order[-1] == "closed", "hooks were still at work"

    def test_no_bare_error_leaves_a_store(self, store: VectorStore) -> None:
        """An error of the engine's client left a hook as it was, or was lost, or lost its cause.

        Raise ``BackendError(...) from error``; a bare ``except`` or a ``return`` in ``finally``
        hides one.
        """
        store.add(self.documents(2, embedded=True))
        calls = self._calls(store, 0)

        def fail(*_: object, **__: object) -> None:
            raise LookupError("of the engine")

        met = 0
        with self.hooked(store, dict.fromkeys(HOOKS, fail)):
            for call in calls:
                try:
                    call()
                except VecstoreError as error:
                    assert isinstance(error, BackendError)
                    assert isinstance(error.__cause__, LookupError)
                    assert error.operation
                    met += 1
        assert met == len(calls)

    def _calls(self, store: VectorStore, number: int) -> list[Callable[[], object]]:
        own = self.id(f"closing-{number}")
        document = Document(f"{number}", {"n": number}, own, vector_of(f"{number}"))
        return [
            lambda: store.add([document]),
            lambda: store.search(vector=vector_of(f"{number}"), top_k=2),
            lambda: store.get([own]),
            lambda: store.get(filter=f"n == {number}"),
            lambda: store.update_metadata([own], set={"m": 1}),
            lambda: store.count(f"n == {number}"),
            lambda: list(store.scan(batch_size=2)),
            lambda: store.delete([own]),
        ]
