"""Files, processes, threads and interruptions."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    SchemaMismatchError,
    StoreClosedError,
    open_store,
)
from vecstore.dialects.sqlite import SQLiteStore


def run(program: str, *arguments: object) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def one(id: str, n: int = 0) -> Document:
    return Document("", {"n": n}, id, embedding=[1.0, n])


FORKED = """
    import os, sys
    from vecstore import Document, StoreClosedError
    from vecstore.dialects.sqlite import SQLiteStore

    store, memory = SQLiteStore(sys.argv[1]), SQLiteStore()
    for each in (store, memory):
        each.add([Document("", {}, str(n), [1, n]) for n in range(100)])
    begun = store._connections._make()  # as another thread may have it at the fork
    store._connections._every.append(begun)
    begun.execute("BEGIN IMMEDIATE")
    begun.execute("DELETE FROM documents WHERE id = '7'")
    for leaves in (lambda: sys.exit(7), lambda: os._exit(7)):
        pid = os.fork()
        if not pid:
            try:
                memory.count()
            except StoreClosedError as error:
                assert "parent" in str(error)
            else:
                raise AssertionError("answered")
            assert store.count() == 100
            del store, memory, begun
            leaves()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    begun.execute("COMMIT")
    assert store.count() == 99
    pid = os.fork()
    if not pid:
        store.add([Document("", {}, "child", [1, 2])])
        store.close()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert store.count() == 100
    store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_goes_on_with_a_file_and_ends_no_transaction_of_its_parent(
    tmp_path: Path,
) -> None:
    run(FORKED, tmp_path / "a.db")


INTERRUPTED = """
    import os, random, signal, sys, threading
    from vecstore import Document
    from vecstore.dialects.sqlite import SQLiteStore

    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = SQLiteStore(sys.argv[1], dimension=2)
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
    with SQLiteStore(sys.argv[1]) as store:
        assert store.count() == 2_000
    print(interrupted)
"""


def test_an_interrupted_call_did_all_or_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    assert int(run(INTERRUPTED, tmp_path / "a.db")) >= 8


KILLED = """
    import sys
    from vecstore import Document
    from vecstore.dialects.sqlite import SQLiteStore

    store = SQLiteStore(sys.argv[1], dimension=2)
    for batch in range(10_000):
        store.add([Document("", {"batch": batch}, f"{batch}-{n}", [1, n]) for n in range(60)])
        print(batch, flush=True)
"""


def test_a_killed_process_leaves_every_batch_that_was_told(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(path)],
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
    with SQLiteStore(path) as store:
        batches = {found.value: found.count for found in store.distinct("batch")}
        assert set(range(told + 1)) <= batches.keys()
        assert set(batches.values()) == {60}
        store.add([one("after")])


OTHER = """
    import sys
    from vecstore import Document, open_store
    with open_store(f"sqlite://{sys.argv[1]}") as store:
        for n in range(20):
            store.add([Document("", {}, f"{sys.argv[2]}-{n}", embedding=[1, n])])
        print(store.count() >= 20)
"""


def test_processes_and_threads_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SQLiteStore(path, dimension=2) as first, SQLiteStore(path) as second:

        def fill(number: int) -> None:
            store = (first, second)[number % 2]
            for n in range(10):
                store.add([one(f"{number}-{n}"), one("same", number)])

        with ThreadPoolExecutor(6) as threads:
            others = [threads.submit(run, OTHER, path, name) for name in "ab"]
            list(threads.map(fill, range(4)))
            assert [other.result() for other in others] == ["True\n", "True\n"]
        assert first.count() == second.count() == 81
    with open_store(f"sqlite://{path}") as opened:
        again = pickle.loads(pickle.dumps(opened))
        assert again.count() == 81
        again.close()
    with open_store("sqlite:") as store, pytest.raises(TypeError, match="in its memory"):
        pickle.dumps(store)


def test_a_call_that_waited_in_vain_says_for_whom_and_may_be_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SQLiteStore(path, patience=0.05) as store:
        store.add([one("a")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BackendError, match="have it end its transaction") as caught:
            store.add([one("b")])
        assert caught.value.retryable
        assert store.count() == 1
        other.execute("ROLLBACK")
        other.close()
        store.add([one("b")])
    with pytest.raises(ConfigurationError, match="number of seconds"):
        SQLiteStore(patience=-1)


def test_writers_that_read_first_take_turns(tmp_path: Path) -> None:
    """A writer that began by reading could not go on, and no patience would help it."""
    path = tmp_path / "a.db"
    program = """
        import sys
        from vecstore import Document
        from vecstore.dialects.sqlite import SQLiteStore

        with SQLiteStore(sys.argv[1]) as store:
            for n in range(60):
                store.update_metadata(["shared"], set={sys.argv[2]: n})
    """
    with SQLiteStore(path, dimension=2) as store:
        store.add([one("shared")])
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda name: run(program, path, name), "ab"))
        [shared] = store.get(["shared"])
        assert shared.metadata == {"n": 0, "a": 59, "b": 59}


def test_a_snapshot_that_is_too_old_is_a_matter_of_waiting(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "a.db", dimension=2) as store:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY_SNAPSHOT
        assert store._connections._failed("add", error).retryable


def test_closing_waits_for_a_write_in_another_thread(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
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
    with SQLiteStore(path) as again:
        assert again.count() == len(told)


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.write_text("no database at all")
    with pytest.raises(ConfigurationError, match="no database of SQLite"):
        SQLiteStore(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        SQLiteStore(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no file"):
        open_store(f"sqlite://{tmp_path}/none.db?create=false")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(BackendError, match=r"there is no folder .*none; make it first"):
        SQLiteStore(tmp_path / "none" / "a.db")
    for bad in ("", "a\0b", b"bytes"):
        with pytest.raises(ConfigurationError, match="has a path"):
            SQLiteStore(bad)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="read_only is for a file"):
        SQLiteStore(read_only=True)
    with pytest.raises(ConfigurationError, match="what follows two slashes is a host"):
        open_store("sqlite://file.db?table=docs")


def test_a_path_is_a_path_whatever_it_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("file:x?mode=memory", ":memory:", "it's 100%.db", "#1?.db"):
        with SQLiteStore(name) as store:
            store.add([one("a")])
        assert (tmp_path / name).stat().st_size > 0


def test_a_path_of_four_slashes_is_absolute_as_with_other_tools(tmp_path: Path) -> None:
    for address in (f"sqlite:///{tmp_path}/file.db", f"sqlite:////{tmp_path}//file.db"):
        with open_store(address) as store:
            store.add([one("a")])
            assert store.count() == 1
    assert (tmp_path / "file.db").stat().st_size > 0


def test_addresses(tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/file.db?table=docs&metric=dot&dimension=2&patience=1.5"
    with open_store(address) as store:
        assert isinstance(store, SQLiteStore)
        assert (store.metric, store.dimension) == ("dot", 2)
        store.add([one("a", 3)])
    with open_store(f"sqlite://{tmp_path}/file.db?table=DOCS&read_only=true") as store:
        assert (store.metric, store.dimension, store.count()) == ("dot", 2, 1)
        with pytest.raises(BackendError, match="open the store without read_only"):
            store.add([one("b")])
    with open_store("sqlite:") as store, open_store("sqlite://") as other:
        store.add([one("a")])
        assert other.count() == 0
    with pytest.raises(SchemaMismatchError, match=r"no table .*create=True"):
        open_store(f"sqlite://{tmp_path}/file.db?table=others&create=false")
