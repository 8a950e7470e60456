"""Threads, forks and interruptions: no connection is used by two, left broken, or lost."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from vecstore import BackendError, Document, StoreClosedError
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]


def documents(count: int, **metadata: Any) -> list[Document]:
    return [
        Document("text", {"n": n, **metadata}, id=f"d{n:04}", embedding=[1, n])
        for n in range(count)
    ]


def sessions(dsn: str) -> list[tuple[int, str]]:
    """Backends of stores, with their states."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT pid, state FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend' AND application_name = 'lives'"
        ).fetchall()


def named(dsn: str) -> str:
    return psycopg.conninfo.make_conninfo(dsn, application_name="lives")


def eventually(holds: Callable[[], bool]) -> None:
    """The server takes a moment to notice that a connection was closed."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestClosing:
    @pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.heavy)])
    def test_while_other_threads_read_scans(self, open_pg: Open, rounds: int) -> None:
        open_pg(dimension=2).add(documents(300))
        for _ in range(rounds):
            store = open_pg()
            begun = threading.Barrier(5)
            endings: list[BaseException | None] = []

            def read(
                store: PgvectorStore = store,
                begun: threading.Barrier = begun,
                endings: list[BaseException | None] = endings,
            ) -> None:
                scan = store.scan(batch_size=1)
                next(scan)
                begun.wait()
                try:
                    while True:
                        for _ in scan:
                            pass
                        scan = store.scan(batch_size=1)
                except StoreClosedError:
                    endings.append(None)
                except BaseException as error:
                    endings.append(error)

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            begun.wait()
            time.sleep(0.01)
            store.close()
            for thread in threads:
                thread.join(30)
            assert endings == [None] * 4

    def test_a_scan_left_half_way(self, open_pg: Open, postgres_dsn: str) -> None:
        store = open_pg(dsn=named(postgres_dsn), dimension=2)
        store.add(documents(10))
        scan = store.scan(batch_size=2)
        next(scan)
        store.close()
        eventually(lambda: not sessions(postgres_dsn))
        with pytest.raises(StoreClosedError):
            list(scan)

    def test_an_abandoned_scan_gives_its_connection_back(self, open_pg: Open) -> None:
        store = open_pg(dimension=2, pool_size=1, timeout=1)
        store.add(documents(10))
        for _ in range(3):
            next(store.scan(batch_size=2))
            gc.collect()
            assert store.count() == 10


@pytest.mark.parametrize("calls", [100, pytest.param(100_000, marks=pytest.mark.heavy)])
@pytest.mark.timeout(7_200)
def test_calls_leave_nothing_behind(open_pg: Open, calls: int) -> None:
    store = open_pg(dimension=2, index=None)
    some = documents(3)
    store.add(some)
    methods: dict[str, Callable[[], object]] = {
        "add": lambda: store.add(some),
        "search": lambda: store.search(vector=[1, 0], filter="n >= 0", include_embedding=True),
        "get": lambda: store.get(["d0001"], include_embedding=True),
        "update_metadata": lambda: store.update_metadata(["d0001"], set={"a": 1}),
        "delete": lambda: store.delete(["unknown"]),
        "count": lambda: store.count("n == 1"),
        "scan": lambda: list(store.scan()),
    }
    gc.freeze()  # what is there before is not walked each time
    for name, method in methods.items():
        for _ in range(20):
            method()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(calls):
            method()
        gc.collect()
        grown = len(gc.get_objects()) - before
        assert grown < 60, f"{name}: {grown} objects more after {calls} calls"


class Stop(Exception):
    """A soft time limit, as task queues raise it from a signal handler."""


class TestInterruptions:
    @pytest.mark.parametrize(
        ("kind", "step"),
        [
            (KeyboardInterrupt, 29),
            (Stop, 31),
            pytest.param(KeyboardInterrupt, 1, marks=pytest.mark.heavy),
            pytest.param(Stop, 1, marks=pytest.mark.heavy),
        ],
    )
    def test_anywhere_in_a_call(
        self, open_pg: Open, postgres_dsn: str, kind: type[BaseException], step: int
    ) -> None:
        store = open_pg(dsn=named(postgres_dsn), dimension=2, index=None, pool_size=2, timeout=5)
        store.add(documents(3))
        calls: list[Callable[[], object]] = [
            lambda: store.add(documents(3, again=True)),
            lambda: store.add(documents(70)),
            lambda: store.search(vector=[1, 0], filter="n >= 0"),
            lambda: list(store.scan(batch_size=2)),
            lambda: store.update_metadata(["d0001"], set={"a": 1}),
        ]
        for call in calls:
            line = 0
            while _interrupted(call, line, kind):
                line += step
                assert store.count("n == 1") == 1
                eventually(
                    lambda: "idle in transaction" not in [one[1] for one in sessions(postgres_dsn)]
                )
        eventually(lambda: len(sessions(postgres_dsn)) <= 2)

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
    def test_while_the_server_is_at_work(self, open_pg: Open, postgres_dsn: str) -> None:
        store = open_pg(dsn=named(postgres_dsn), dimension=2, pool_size=1)

        def interrupt(*_: object) -> None:
            raise Stop

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(Stop):
                store._connections.run("search", lambda one: one.execute("SELECT pg_sleep(20)"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert store.count() == 0
        eventually(lambda: [state for _, state in sessions(postgres_dsn)] == ["idle"])


def _in_a_destructor(frame: Any) -> bool:
    """Whether Python would drop an exception here, and print it."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _interrupted(call: Callable[[], object], line: int, kind: type[BaseException]) -> bool:
    """Run a call and raise ``kind`` at the given line of the store's; False if it is shorter."""
    lines = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if "/pgvector/" not in frame.f_code.co_filename or _in_a_destructor(frame):
            return None
        if event == "line":
            lines += 1
            if lines - 1 == line:
                sys.settrace(None)
                raise kind
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except kind:
        return True
    except BackendError as error:
        return isinstance(error.__cause__, kind)
    finally:
        sys.settrace(before)
    return False


def _in_child(work: Callable[[], object]) -> int:
    """Fork, do some work in the child, and return what it exits with: 0 when all went well."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def _exits(pids: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def test_a_scan_is_not_taken_away_while_it_fetches(open_pg: Open, postgres_dsn: str) -> None:
    """Closing waits for rows that the server is about to give."""
    connections = open_pg(dimension=2, index=None)._connections
    rows = connections.stream("scan", "SELECT pg_advisory_xact_lock(52), 8", {}, 2)
    fetched: list[Any] = []
    reading = threading.Thread(target=lambda: fetched.extend(rows))
    closing = threading.Thread(target=connections.close)
    with psycopg.connect(postgres_dsn) as other, psycopg.connect(postgres_dsn) as watching:
        other.execute("SELECT pg_advisory_xact_lock(52)")
        reading.start()
        eventually(lambda: _waiting(watching) == 1)
        closing.start()
        closing.join(0.2)  # time enough to close what is being read
        other.rollback()
        reading.join()
        closing.join()
    assert [row[1] for row in fetched] == [8]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
class TestForks:
    @pytest.fixture
    def store(self, open_pg: Open) -> PgvectorStore:
        store = open_pg(dimension=2, index=None)
        for tenant in ("a", "b"):
            store.add(
                [
                    Document("t", {"tenant": tenant}, id=f"{tenant}{n}", embedding=[1, n])
                    for n in range(50)
                ]
            )
        return store

    @pytest.mark.parametrize("forks", [4, pytest.param(100, marks=pytest.mark.heavy)])
    def test_each_child_searches_its_own_tenant(self, store: PgvectorStore, forks: int) -> None:
        def search(tenant: str) -> None:
            for top_k in range(1, 40):
                found = store.search(vector=[1, 0], top_k=top_k, filter=f"tenant == '{tenant}'")
                assert [document.metadata["tenant"] for document in found] == [tenant] * top_k
                assert len(list(store.scan(f"tenant == '{tenant}'", batch_size=7))) == 50

        scan = store.scan(batch_size=3)
        next(scan)
        for start in range(0, forks, 4):
            pids = [
                _in_child(lambda tenant=tenant: search(tenant))  # type: ignore[misc]
                for tenant in ("a", "b", "a", "b")[: forks - start]
            ]
            search("a")
            assert _exits(pids) == [0] * len(pids)
        # The parent's own scan went on all the while.
        assert len(list(scan)) == 99
        assert store.count() == 100

    def test_a_scan_of_the_parent_ends_in_the_child(self, store: PgvectorStore) -> None:
        scan = store.scan(batch_size=3)
        next(scan)

        def read_on() -> None:
            with pytest.raises(StoreClosedError):
                list(scan)
            assert store.count() == 100

        assert _exits([_in_child(read_on)]) == [0]
        assert len(list(scan)) == 99

    def test_the_child_closes_its_store_alone(self, store: PgvectorStore) -> None:
        def close() -> None:
            store.close()
            gc.collect()

        assert _exits([_in_child(close)]) == [0]
        assert store.count() == 100

    def test_a_child_that_never_asks_drops_nothing_of_the_parent_s(
        self, store: PgvectorStore, postgres_dsn: str
    ) -> None:
        """What was inherited is kept: a driver tells of connections that are dropped while open."""
        own = [PgvectorStore(postgres_dsn, table=store._spec.table)]
        assert own[0].count() == 100

        def drop() -> None:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                own.clear()
                gc.collect()
            assert [str(one.message) for one in told] == []

        assert _exits([_in_child(drop)]) == [0]
        assert own[0].count() == 100
        own[0].close()

    def test_a_pool_of_the_caller_s(self, store: PgvectorStore, postgres_dsn: str) -> None:
        with ConnectionPool(postgres_dsn, min_size=1, max_size=2, open=True) as pool:
            shared = PgvectorStore(pool=pool, table=store._spec.table)

            def count() -> None:
                for _ in range(2):
                    with pytest.raises(StoreClosedError, match="in the child"):
                        shared.count()

            assert _exits([_in_child(count)]) == [0]
            assert shared.count() == 100
            shared.close()


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.heavy)])
def test_writers_of_the_same_documents_do_not_deadlock(
    open_pg: Open, postgres_dsn: str, rounds: int
) -> None:
    store = open_pg(dimension=2, index=None)
    ids = [f"d{n:04}" for n in range(200)]
    store.add(documents(200))
    failures: list[Exception] = []

    def work(number: int) -> None:
        for round_number in range(rounds):
            mixed = ids[number * 25 :] + ids[: number * 25]
            if number % 2:
                mixed.reverse()
            try:
                match (number + round_number) % 4:
                    case 0:
                        store.add(documents(200, by=number))
                    case 1:
                        store.update_metadata(mixed, set={f"k{number}": round_number})
                    case 2:
                        store.update_metadata(filter="n >= 0", set={"all": number})
                    case 3:
                        store.delete(mixed[:100])
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        if thread.is_alive():
            pytest.fail(_what_hangs(thread, postgres_dsn))
    assert failures == []


def _what_hangs(thread: threading.Thread, dsn: str) -> str:
    """Where a thread is, and what the server waits for."""
    frame = sys._current_frames().get(thread.ident or 0)
    where = "".join(traceback.format_stack(frame)) if frame else "it has just ended"
    with psycopg.connect(dsn, autocommit=True) as connection:
        at_work = connection.execute(
            "SELECT pid, state, wait_event_type, wait_event, now() - query_start, "
            "pg_blocking_pids(pid), left(query, 200) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchall()
    return "\n".join([f"{thread.name} hangs at", where, *map(str, at_work)])


WRITES: dict[str, tuple[int, Callable[[PgvectorStore, list[str]], object]]] = {
    # Up to 63 documents travel as arrays, more by COPY.
    "add by arrays": (20, lambda store, ids: store.add(_again(ids))),
    "add by several arrays": (1_000, lambda store, ids: _without_staging(store).add(_again(ids))),
    "add by copy": (100, lambda store, ids: store.add(_again(ids))),
    "update by ids": (20, lambda store, ids: store.update_metadata(ids, set={"x": 1})),
    "update by filter": (
        20,
        lambda store, ids: store.update_metadata(filter="n >= 0", set={"x": 1}),
    ),
    "delete by ids": (20, lambda store, ids: store.delete(ids)),
    "delete by filter": (20, lambda store, ids: store.delete(filter="n >= 0")),
}


def _without_staging(store: PgvectorStore) -> PgvectorStore:
    """As for a role that may not make temporary tables."""
    store._writing.may_stage = False
    return store


def _again(ids: list[str]) -> list[Document]:
    return [Document("again", {"n": 1}, id, [1, 1]) for id in ids]


@pytest.mark.parametrize("name", WRITES)
def test_rows_are_locked_in_the_order_of_their_ids(
    name: str, open_pg: Open, postgres_dsn: str, table: str
) -> None:
    """A writer that has to wait for one row holds those before it, and none behind it.

    So two writers of the same rows meet at the first of them. That a deadlock is tried again hides
    the order from whoever only counts deadlocks.
    """
    count, write = WRITES[name]
    store = open_pg(dimension=2, index=None)
    ids = [f"d{n:04}" for n in range(count)]
    mixed = ids[count // 3 :] + ids[: count // 3]
    mixed.reverse()
    store.add([Document("text", {"n": 1}, id, [1, 1]) for id in mixed])
    with psycopg.connect(postgres_dsn) as other, psycopg.connect(postgres_dsn) as third:
        # As they lie in the table the rows are in another order.
        third.execute(f"UPDATE {table} SET text = 'moved' WHERE id < 'd0005'")
        third.commit()
        middle = ids[count // 2]
        other.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [middle])
        writer = threading.Thread(target=write, args=(store, mixed))
        writer.start()
        try:
            eventually(lambda: _waiting(third) == 1)
            free = third.execute(f"SELECT id FROM {table} FOR UPDATE SKIP LOCKED").fetchall()
            third.rollback()
        finally:
            other.rollback()
            writer.join()
    assert sorted(row[0] for row in free) == ids[count // 2 + 1 :]


def test_a_write_that_lost_against_another_one_is_done_again(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    """Writers beside our stores keep to no order; the server picks our transaction as the victim."""
    store = open_pg(dimension=2, index=None)
    store.add(documents(3))
    counts: list[int] = []

    def write() -> None:
        counts.append(store.update_metadata(["d0000", "d0001", "d0002"], set={"x": 1}))

    lock = f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE"
    with (
        psycopg.connect(postgres_dsn) as other,
        psycopg.connect(postgres_dsn) as third,
        psycopg.connect(postgres_dsn) as watching,
    ):
        other.execute("SET deadlock_timeout = '1h'")  # whoever looks first loses
        other.execute(lock, ["d0002"])
        third.execute(lock, ["d0001"])
        ours = threading.Thread(target=write)
        ours.start()
        eventually(lambda: _waiting(watching) == 1)
        theirs = threading.Thread(target=other.execute, args=(lock, ["d0000"]))
        theirs.start()
        eventually(lambda: _waiting(watching) == 2)
        third.rollback()  # now each waits for the other
        theirs.join()
        other.rollback()
        ours.join()
    assert counts == [3]
    assert store.count("x == 1") == 3


def _waiting(connection: psycopg.Connection[Any]) -> int:
    """How many sessions wait for a row that another one has locked."""
    found = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    connection.rollback()
    return found[0] if found else 0
