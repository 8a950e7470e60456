"""Cancelled calls on a real server: connections come back, and locks are given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.store.aio.test_aio import Gate, cancelled, documents, gated, run, until
from vecstore import CountBatching, Document
from vecstore.dialects.pgvector import store as module
from vecstore.dialects.pgvector.store import PgvectorStore


@pytest.fixture
def store(postgres_dsn: str) -> Iterator[PgvectorStore]:
    import psycopg

    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS awaited")
    made = PgvectorStore(
        postgres_dsn,
        table="awaited",
        create=True,
        dimension=2,
        index=None,
        pool_size=2,
        embedder=lambda texts: [[1.0, 1.0]] * len(texts),
        batching=CountBatching(2),
    )
    yield made
    made.close()
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE awaited")


def idle(store: PgvectorStore) -> bool:
    stats = store.native.get_stats()
    return stats.get("pool_available", 0) == stats.get("pool_size", 0)


def test_cancelled_add_search_and_scan(
    store: PgvectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        gate = gated(store, "_ready_for", at=1)  # inside the transaction of the second batch
        adding = asyncio.ensure_future(
            store.aio.add([Document("a", id=str(number)) for number in range(8)])
        )
        await asyncio.to_thread(gate.reached.wait, 30)
        error: Any = await cancelled(adding)
        assert error.stored_ids == ["0", "1"]
        gate.opened.set()
        await until(lambda: len(error.stored_ids) == 4 and idle(store))
        assert await store.aio.count() == 4

        gate, fetch = Gate(), module._fetched

        def fetched(*arguments: Any) -> Any:
            gate()
            return fetch(*arguments)

        monkeypatch.setattr(module, "_fetched", fetched)
        searching = asyncio.ensure_future(store.aio.search("a"))
        await asyncio.to_thread(gate.reached.wait, 30)
        await cancelled(searching)
        gate.opened.set()
        await until(lambda: idle(store))

        await store.aio.add(documents(50))
        real, gate = store._scan, Gate()
        reached = threading.Event()

        def scan(*arguments: Any, **options: Any) -> Any:
            for number, one in enumerate(real(*arguments, **options)):
                if number == 10:
                    gate()
                yield one
            reached.set()

        store._scan = scan  # type: ignore[method-assign]

        async def read() -> None:
            async for _ in store.aio.scan(batch_size=4):
                pass

        scanning = asyncio.ensure_future(read())
        await asyncio.to_thread(gate.reached.wait, 30)
        assert not idle(store)
        await cancelled(scanning)
        gate.opened.set()
        await until(lambda: idle(store))
        assert not reached.is_set()
        del store._scan
        await store.aio.clear()  # no lock is left on the table
        assert await store.aio.count() == 0

    run(main())


def test_many_calls_on_few_connections(store: PgvectorStore) -> None:
    async def main() -> None:
        await store.aio.add(documents(20))
        found = await asyncio.gather(*[store.aio.search(vector=[1, 2]) for _ in range(100)])
        assert {len(one) for one in found} == {4}
        assert store.native.get_stats()["pool_max"] == 2
        await until(lambda: idle(store))

    run(main())
