"""Connections go to those who wait for them, in the order in which they came."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from vecstore.dialects.pgvector.pool import Lease, NoFreeConnection, Pool


@pytest.fixture
def pool(postgres_dsn: str) -> Iterator[Pool]:
    made = Pool(lambda: psycopg.connect(postgres_dsn), max_size=2, timeout=60)
    yield made
    made.close()


def test_who_waits_goes_before_those_who_come_later(pool: Pool) -> None:
    """Busy threads that take a connection back at once leave nobody standing."""
    stop = threading.Event()
    taken: list[int] = []

    def busy() -> None:
        while not stop.is_set():
            with pool.connection():
                taken.append(1)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        passed_by = []
        for _ in range(40):
            before = len(taken)
            with pool.connection() as connection:
                passed_by.append(len(taken) - before)
                assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    # One or two may take theirs between the count and the question.
    assert sorted(passed_by)[len(passed_by) // 2] <= 6
    assert not pool._waiting


def test_who_was_called_and_does_not_come_holds_nobody_up(pool: Pool) -> None:
    """An interrupted call may leave its turn behind: what was kept for it is free soon."""
    first, second = Lease(pool), Lease(pool)
    pool.take(first, 1)
    pool.take(second, 1)
    lost = threading.Lock()
    lost.acquire()
    pool._waiting.append(lost)
    first.end(sound=True)
    assert not lost.locked()
    third = Lease(pool)
    pool.take(third, 30)
    assert third.reused
    third.end(sound=True)
    second.end(sound=True)


@pytest.mark.parametrize("also_used", [False, True])
def test_the_garbage_collector_waits_for_no_lock(postgres_dsn: str, also_used: bool) -> None:
    """A call that was broken off may have left the pool locked; whose thread collects, goes on."""
    opened: list[psycopg.Connection] = []

    def connect() -> psycopg.Connection:
        opened.append(psycopg.connect(postgres_dsn))
        return opened[-1]

    pool = Pool(connect, max_size=2, timeout=60)
    leases = [Lease(pool), Lease(pool)]
    for lease in leases:
        pool.take(lease, 1)
    leases.pop().end(sound=True)
    if not also_used:
        leases.pop().end(sound=True)
    pool._lock.acquire()
    cycle: list[object] = [pool, leases]
    cycle.append(cycle)
    del pool, leases, lease, cycle
    collecting = threading.Thread(target=gc.collect, daemon=True)
    collecting.start()
    collecting.join(60)
    assert not collecting.is_alive()
    assert [one.closed for one in opened] == [True, True]


def test_an_abandoned_lease_makes_room(pool: Pool) -> None:
    for _ in range(5):
        lease = Lease(pool)
        pool.take(lease, 1)
        del lease
    assert pool.get_stats()["pool_size"] == 0
    with pool.connection() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_who_stops_waiting_leaves_no_turn_behind(pool: Pool) -> None:
    held = [Lease(pool), Lease(pool)]
    for lease in held:
        pool.take(lease, 1)
    with pytest.raises(NoFreeConnection):
        pool.take(Lease(pool), 0.6)
    assert not pool._waiting
    for lease in held:
        lease.end(sound=True)
    began = time.monotonic()
    again = Lease(pool)
    pool.take(again, 30)
    again.end(sound=True)
    assert not pool._called
    assert time.monotonic() - began < 20
