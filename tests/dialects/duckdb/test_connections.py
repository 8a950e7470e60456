"""Files, processes, threads and other people's connections."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    SchemaMismatchError,
    StoreClosedError,
    open_store,
)
from vecstore.dialects.duckdb import DuckDBStore


def run(program: str, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0 or not check, ran.stderr[-3000:]
    return ran


def one(id: str, n: int = 0) -> Document:
    return Document("", {"n": n}, id, embedding=[1.0, n])


OTHER_PROCESS = """
    import sys
    from vecstore import VecstoreError, open_store
    for options in sys.argv[2:]:
        try:
            with open_store(f"duckdb://{sys.argv[1]}?{options}") as store:
                print(store.count())
        except VecstoreError as error:
            print(type(error).__name__, getattr(error, "retryable", None), error)
"""


def test_one_process_writes_and_others_are_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with DuckDBStore(path) as store:
        store.add([one("a")])
        told = run(OTHER_PROCESS, path, "create=false", "read_only=true").stdout.splitlines()
        assert len(told) == 2
        for line in told:
            assert line.startswith("BackendError True DuckDB refused open: ")
            assert "one process at a time" in line
            assert "read_only=True in every process" in line
            assert "postgresql://" in line
    with (
        open_store(f"duckdb://{path}") as opened,
        pytest.raises(TypeError, match="one process at a time"),
    ):
        pickle.dumps(opened)
    assert run(OTHER_PROCESS, path, "create=false").stdout == "1\n"


def test_any_number_of_processes_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with DuckDBStore(path) as store:
        store.add([one("a")])
    with DuckDBStore(path, read_only=True) as store:
        assert run(OTHER_PROCESS, path, "read_only=true").stdout == "1\n"
        assert [found.id for found in store.search(vector=[1, 0])] == ["a"]
        with open_store(f"duckdb://{path}?read_only=true") as opened:
            again = pickle.loads(pickle.dumps(opened))
            assert again.count() == 1
            again.close()
        with pytest.raises(BackendError, match="open the store without read_only"):
            store.add([one("b")])
        with pytest.raises(BackendError, match="different configuration"):
            DuckDBStore(path)
    with pytest.raises(ConfigurationError, match="read_only is for a file"):
        DuckDBStore(read_only=True)


FORKED = """
    import os, sys
    from vecstore import Document, StoreClosedError, open_store
    from vecstore.dialects.duckdb import DuckDBStore

    def refused(call):
        try:
            call()
        except StoreClosedError as error:
            return str(error)
        raise AssertionError("answered")

    store, memory = DuckDBStore(sys.argv[1]), DuckDBStore()
    for each in (store, memory):
        each.add([Document("", {}, str(n), [1, n]) for n in range(100)])
    for leaves in (lambda: sys.exit(7), lambda: os._exit(7)):
        pid = os.fork()
        if not pid:
            assert "parent" in refused(store.count)
            assert "parent" in refused(memory.count)
            assert "after the fork" in refused(lambda: DuckDBStore(sys.argv[1]))
            with DuckDBStore() as own:
                own.add([Document("", {}, "mine", [1, 2])])
                assert own.count() == 1
            del store, memory
            leaves()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        store.add([Document("", {}, "more", [1, 2])])
        assert store.count() == 101
    store.close()
    with DuckDBStore(sys.argv[1]) as again:
        assert again.count() == 101
    if not os.fork():
        with DuckDBStore(sys.argv[1]) as again:  # nobody has it any more
            assert again.count() == 101
        os._exit(0)
    assert os.wait()[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_is_refused_and_harms_nothing_not_even_at_its_end(tmp_path: Path) -> None:
    run(FORKED, tmp_path / "a.db")


INTERRUPTED = """
    import os, random, signal, sys, threading
    from vecstore import Document
    from vecstore.dialects.duckdb import DuckDBStore

    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = DuckDBStore(sys.argv[1], dimension=2)
    store.add([Document("", {"n": n}, str(n), [1, n]) for n in range(2_000)])
    dice, interrupted = random.Random(1), 0
    for turn in range(12):
        timer = threading.Timer(dice.random() * 0.05, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while timer.is_alive():
                if turn % 2:
                    store.update_metadata(filter="n >= 0", set={"turn": turn})
                else:
                    store.search(vector=[1, 0], filter="n >= 0 AND n != 5", top_k=2_000)
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        turns = list(store.distinct("turn"))
        assert len(turns) <= 1 and store.count("turn IS NULL") in (0, 2_000), turns
    store.close()
    with DuckDBStore(sys.argv[1]) as store:
        assert store.count() == 2_000
    print(interrupted)
"""


def test_an_interrupted_call_did_all_or_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    assert int(run(INTERRUPTED, tmp_path / "a.db").stdout) >= 8


KILLED = """
    import sys
    from vecstore import Document
    from vecstore.dialects.duckdb import DuckDBStore

    store = DuckDBStore(sys.argv[1], dimension=2)
    for batch in range(10_000):
        store.add([Document("", {"batch": batch}, f"{batch}-{n}", [1, n]) for n in range(60)])
        print(batch, flush=True)
"""


def test_a_killed_process_leaves_every_batch_that_was_told(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED.replace("\n    ", "\n"), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    with child, child.stdout:
        for line in child.stdout:
            if int(line) == 5:
                child.send_signal(signal.SIGKILL)
                break
        told = max([5, *map(int, child.stdout.read().split())])
    with DuckDBStore(path) as store:
        batches = {found.value: found.count for found in store.distinct("batch")}
        assert set(range(told + 1)) <= batches.keys()
        assert set(batches.values()) == {60}
        store.add([one("after")])


def test_a_connection_of_the_caller_stays_open(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA kb")
        for _ in range(2):
            with DuckDBStore(connection=connection, namespace="kb", table="docs") as store:
                store.add([one("a", 1)])
                assert store.native is connection
            with (
                open_store("duckdb:", connection=connection) as opened,
                pytest.raises(TypeError, match="connection of yours"),
            ):
                pickle.dumps(opened)
        assert connection.execute("SELECT id, metadata FROM kb.docs").fetchall() == [
            ("a", '{"n":1}')
        ]
        with pytest.raises(ConfigurationError, match="not both"):
            DuckDBStore(tmp_path / "a.db", connection=connection)
    with pytest.raises(ConfigurationError, match=r"one of duckdb.connect\(\), not a str"):
        DuckDBStore(connection="file.db")  # type: ignore[arg-type]
    with pytest.raises(BackendError, match="DuckDB refused open"):
        DuckDBStore(connection=connection)


def test_a_write_that_loses_to_another_connection_is_run_again() -> None:
    with duckdb.connect() as connection, DuckDBStore(connection=connection) as store:
        store.add([one("a"), one("b")])
        other = connection.cursor()
        other.execute("BEGIN")
        other.execute("UPDATE documents SET text = 'theirs', metadata = '{}' WHERE id = 'a'")
        threading.Timer(0.05, other.execute, ["COMMIT"]).start()
        assert store.update_metadata(["a"], set={"n": 7}) == 1
        (found,) = store.get(["a"])
        assert (found.text, found.metadata) == ("theirs", {"n": 7})
        other.execute("BEGIN")
        other.execute("UPDATE documents SET metadata = '{}' WHERE id = 'a'")
        with pytest.raises(BackendError, match="Conflict") as caught:
            store.update_metadata(["a"], set={"n": 8})
        assert caught.value.retryable
        other.execute("ROLLBACK")
        assert store.update_metadata(["a"], set={"n": 8}) == 1


def test_two_stores_on_one_file_write_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with DuckDBStore(path) as first, DuckDBStore(path) as second:

        def fill(number: int) -> None:
            store = (first, second)[number % 2]
            for n in range(10):
                store.add([one(f"{number}-{n}"), one("same", number)])

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(fill, range(8)))
        assert first.count() == second.count() == 81


def test_closing_waits_for_a_write_in_another_thread(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = DuckDBStore(path)
    told: list[str] = []
    started = threading.Event()

    def fill() -> None:
        try:
            for n in range(1_000):
                told.extend(store.add([one(f"{n}-{part}") for part in range(5)]))
                started.set()
        except StoreClosedError:
            return

    writer = threading.Thread(target=fill)
    writer.start()
    assert started.wait(60)
    store.close()
    writer.join(60)
    with DuckDBStore(path) as again:
        assert again.count() == len(told)


def test_what_is_no_database_is_refused_before_the_library_sees_it(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE documents (id)")
    with pytest.raises(ConfigurationError, match="a database of SQLite"):
        DuckDBStore(path)
    path.write_text("no database at all")
    with pytest.raises(ConfigurationError, match="none of DuckDB's"):
        DuckDBStore(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        DuckDBStore(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no file"):
        open_store(f"duckdb://{tmp_path}/none.db?create=false")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(BackendError, match="No such file or directory"):
        DuckDBStore(tmp_path / "none" / "a.db")
    for bad in ("", "a\0b", b"bytes"):
        with pytest.raises(ConfigurationError, match="has a path"):
            DuckDBStore(bad)  # type: ignore[arg-type]


def test_a_path_is_a_path_whatever_it_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library reads ``md:`` as a service, and ``:memory:`` as no file."""
    monkeypatch.chdir(tmp_path)
    for name in ("md:mine", ":memory:", "it's.db"):
        with DuckDBStore(name) as store:
            store.add([one("a")])
        assert (tmp_path / name).stat().st_size > 0


def test_addresses(tmp_path: Path) -> None:
    address = f"duckdb://{tmp_path}/file.db?table=docs&metric=dot&dimension=2"
    with open_store(address) as store:
        assert isinstance(store, DuckDBStore)
        assert (store.metric, store.dimension) == ("dot", 2)
        store.add([one("a", 3)])
    with open_store(f"duckdb://{tmp_path}/file.db?table=docs") as store:
        assert (store.metric, store.dimension, store.count()) == ("dot", 2, 1)
    with open_store("duckdb:") as store, open_store("duckdb://") as other:
        store.add([one("a")])
        assert other.count() == 0
    with pytest.raises(SchemaMismatchError, match=r"no table .*create=True"):
        open_store(f"duckdb://{tmp_path}/file.db?table=others&create=false")
    with pytest.raises(ConfigurationError, match="what follows two slashes is a host"):
        open_store("duckdb://file.db?table=docs")
