"""Awaited calls and observers: what stands around every store works on this one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from vecstore.embedding import CountBatching
from vecstore.errors import StoreClosedError
from vecstore.filter.builder import F
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import TextEmbedder

OPERATIONS = (
    "add",
    "search",
    "get",
    "update_metadata",
    "delete",
    "count",
    "fields",
    "distinct",
    "minmax",
    "scan",
    "clear",
)


class Awaiting(StoreSuiteBase):
    """Tests of ``.aio``."""

    def test_awaited_calls_do_what_the_others_do(self, store: VectorStore) -> None:
        """Hooks run in several threads at once: a connection or a cursor is shared without a lock.

        Where only some tasks fail, look at objects of the client that belong to the thread or loop
        that made them.
        """
        documents = self.documents(30)

        async def main() -> None:
            assert await store.aio.add(documents) == [one.id for one in documents]
            nearest = [store.search(f"text of doc-{n}", top_k=1)[0].id for n in range(30)]
            found = await asyncio.gather(
                *[store.aio.search(f"text of doc-{n}", top_k=1) for n in range(30)]
            )
            assert [one.id for (one,) in found] == nearest
            assert {one.id async for one in store.aio.scan(batch_size=7)} == {
                one.id for one in documents
            }
            assert {one.text async for one in store.aio.scan(text=False)} == {""}
            assert await store.aio.update_metadata(filter="n < 3", set={"m": 1}) == 3
            assert await store.aio.delete(filter="m == 1") == 3
            assert await store.aio.count() == 27
            self.check_documents(await store.aio.get([documents[9].id]), [documents[9]])
            assert await store.scoped(F.n == 5).aio.count() == 1
            await store.aio.clear()

        asyncio.run(main())
        assert store.count() == 0

    def test_a_cancelled_add_stops_between_batches(self) -> None:
        """A cancelled call left a lock, a transaction or a connection behind: ``_add``.

        The hook at work is finished, no other is begun; what it has taken must come back on every
        way out.
        """
        store = self.new_store(embedder=TextEmbedder(), batching=CountBatching(3))
        documents = self.documents(12)
        reached, opened = threading.Event(), threading.Event()
        batches = 0

        def wait(batch: Any) -> None:
            nonlocal batches
            batches += 1
            if batches == 2:
                reached.set()
                assert opened.wait(60)

        async def main() -> None:
            task = asyncio.ensure_future(store.aio.add(documents))
            await asyncio.to_thread(reached.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            stored: list[str] = caught.value.stored_ids  # type: ignore[attr-defined]
            assert stored == [one.id for one in documents[:3]]
            opened.set()
            while len(stored) < 6:
                await asyncio.sleep(0.01)
            assert batches == 2
            # Nothing is left locked or in use.
            await store.aio.update_metadata([documents[0].id], set={"m": 1})
            assert await store.aio.count() == 6

        with self.hooked(store, {"_add": wait}):
            asyncio.run(asyncio.wait_for(main(), 120))

    def test_an_awaited_store_is_closed_after_its_calls(self) -> None:
        """``_close`` failed in another thread than the one that opened, or a call got past it."""
        store = self.new_store(embedder=TextEmbedder())

        async def main() -> None:
            async with store.aio:
                await store.aio.add(self.documents(3))
            with pytest.raises(StoreClosedError):
                await store.aio.count()
            with pytest.raises(StoreClosedError):
                async for _ in store.aio.scan():
                    pass

        asyncio.run(main())


class Observing(StoreSuiteBase):
    """Tests of what observers are told."""

    def test_every_operation_is_told_once(self) -> None:
        """A hook calls a public method, which is told as a second operation; or ``_place`` fails.

        Hooks call hooks. No attribute may hold a document's id, text or metadata.
        """
        told: list[tuple[str, Mapping[str, Any], str | None]] = []

        class Telling:
            def start(self, operation: str, attributes: Mapping[str, Any]) -> Any:
                return operation, attributes

            def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
                assert duration >= 0
                told.append((*started, error and type(error).__name__))

        store = self.new_store(embedder=TextEmbedder())
        self.behind(store)._set_up(observers=[Telling()])
        store.add(self.documents(3))
        store.search("text of doc-1", filter="n != 7")
        store.get(self.ids("doc-1"))
        store.update_metadata(self.ids("doc-1"), set={"m": 1})
        store.delete(self.ids("doc-2"))
        store.count()
        assert "n" in store.fields()
        assert store.distinct("n").total == 2
        assert store.minmax("n").numbers == (0, 1)
        assert len(list(store.scan())) == 2
        store.clear()
        assert [name for name, _, _ in told if name != "embed"] == list(OPERATIONS)
        assert [name for name, _, _ in told][:4] == ["embed", "add", "embed", "search"]
        for name, attributes, error in told:
            assert error is None
            assert None not in attributes.values()
            assert not [value for value in attributes.values() if "doc-" in str(value)]
            if name != "embed":
                assert attributes["db.operation.name"] == name
                assert attributes["db.system.name"]
        store.close()
        with pytest.raises(StoreClosedError):
            store.count()
        assert told[-1][2] == "StoreClosedError"
