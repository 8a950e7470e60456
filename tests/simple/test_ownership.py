"""One store at a time writes a file, whoever dies, forks or comes later."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from vecstore import (
    Document,
    SimpleVectorStore,
    StoreClosedError,
    StoreFileError,
    VectorStore,
    open_store,
)
from vecstore.simple import locks

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill")


def document(id: str) -> Document:
    return Document("text", {"n": 1}, id=id, embedding=[1, 2])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ids(path: Path) -> list[str]:
    return sorted(one.id for one in SimpleVectorStore().load(path).scan())


@contextmanager
def another_process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that runs some code with ``path`` and says when it is ready."""
    prelude = (
        "import os, sys, time\n"
        "from vecstore import Document, SimpleVectorStore, StoreFileError, open_store\n"
        "path = sys.argv[1]\n"
        "def ready(*words):\n"
        "    print('ready', *words, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", prelude + code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert words[:1] == ["ready"], words
    return words[1:]


HOLDING = """
store = open_store(f"memory:{path}")
store.add([Document("", id="held", embedding=[1, 2])])
ready()
sys.stdin.readline()
"""


def test_a_second_store_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    (tmp_path / "link.json").symlink_to("kb.json")
    with open_store(f"memory:{path}") as first:
        first.add([document("a")])
        for other in (path, tmp_path / "link.json", tmp_path / "." / "kb.json"):
            with pytest.raises(StoreFileError, match=r"another store of this process.*\.load\("):
                open_store(f"memory:{other}")
    with open_store(f"memory:{path}") as second:
        assert second.count() == 1
    assert names(tmp_path) == ["kb.json", "link.json"]


def test_a_store_that_could_not_be_opened_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    path.write_text("{")
    with pytest.raises(StoreFileError, match="cut off"):
        open_store(f"memory:{path}")
    assert names(tmp_path) == ["kb.json"]
    path.unlink()
    open_store(f"memory:{path}").close()


def test_another_process_is_told_and_a_killed_owner_leaves_nothing_locked(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    with another_process(HOLDING, path) as owner:
        told(owner)
        with pytest.raises(StoreFileError, match=f"of process {owner.pid}"):
            open_store(f"memory:{path}")
        copy = SimpleVectorStore()
        with pytest.raises(StoreFileError, match=f"of process {owner.pid}"):
            copy.save(path)
        owner.kill()
        owner.wait()
        with open_store(f"memory:{path}") as store:
            assert store.count() == 0
            store.add([document("mine")])
    assert ids(path) == ["mine"]
    assert names(tmp_path) == ["kb.json"]
    with another_process(HOLDING, path) as owner:
        told(owner)
    assert names(tmp_path) == [".kb.json.lock", "kb.json"]
    copy.save(path)
    assert ids(path) == []
    assert names(tmp_path) == ["kb.json"]


def test_copies_by_hand(tmp_path: Path) -> None:
    """Everybody may read a file at any time; saving over one that a store owns is refused."""
    path, elsewhere = tmp_path / "kb.json", tmp_path / "copy.json"
    other = SimpleVectorStore()
    other.add([document("other")])
    other.save(path)
    with open_store(f"memory:{path}") as owner:
        assert isinstance(owner, SimpleVectorStore)
        owner.add([document("a")])
        assert ids(path) == ["other"]
        with pytest.raises(StoreFileError, match="is open in another store"):
            other.save(path)
        other.save(elsewhere)
        owner.save(elsewhere)
        owner.save(path)
        before = path.stat().st_ino
    assert path.stat().st_ino == before, "what was saved already is not saved again"
    assert ids(path) == ids(elsewhere) == ["a", "other"]
    other.save(path)
    assert ids(path) == ["other"]
    assert names(tmp_path) == ["copy.json", "kb.json"]


def test_a_save_that_began_before_a_store_was_opened(tmp_path: Path) -> None:
    """It is refused at the last moment; the store keeps what it has read."""
    path = tmp_path / "kb.json"
    store = SimpleVectorStore()
    store.add([document("a")])
    from vecstore.simple.files import write_target

    opened: list[VectorStore] = []

    def pieces() -> Iterator[bytes]:
        yield b"never "
        opened.append(open_store(f"memory:{path}"))
        yield b"seen"

    with pytest.raises(StoreFileError, match="is open in another store"):
        write_target(path, pieces())
    assert not path.exists()
    opened[0].add([document("b")])
    opened[0].close()
    assert ids(path) == ["b"]
    assert names(tmp_path) == ["kb.json"]


# --- forks --------------------------------------------------------------------------------------

FORKED = """
store = open_store(f"memory:{path}")
store.add([Document("", id="before", embedding=[1, 2])])
if os.fork() == 0:
    assert store.count() == 1
    store.add([Document("", id="child's", embedding=[1, 2])])
    for call in (lambda: store.save(path), store.close):
        try:
            call()
        except StoreFileError as error:
            print(type(error).__name__, "parent" in str(error) or "another" in str(error))
    store.save(path + ".copy")
    store.close()
    sys.stdout.flush()
    os._exit(0)
assert os.wait()[1] == 0
try:
    open_store(f"memory:{path}")
except StoreFileError:
    print("still owned")
store.add([Document("", id="after", embedding=[1, 2])])
if os.fork() == 0:
    store.close()  # has not touched it: nothing to lose, nothing to write
    sys.exit()
assert os.wait()[1] == 0
assert not os.path.exists(path)
store.close()
ready()
"""


@needs_fork
def test_a_forked_child_has_a_copy_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    with another_process(FORKED, path) as process:
        out, _ = process.communicate()
        assert process.returncode == 0
    assert out.split("\n")[:4] == [
        "StoreFileError True",
        "StoreFileError True",
        "still owned",
        "ready",
    ]
    assert ids(path) == ["after", "before"]
    assert ids(tmp_path / "kb.json.copy") == ["before", "child's"]


ORPHAN = """
store = open_store(f"memory:{path}")
pid = os.fork()
if pid == 0:
    time.sleep(60)
    os._exit(0)
ready(pid)
sys.stdin.readline()
"""


@needs_fork
def test_a_child_that_outlives_its_parent_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    with another_process(ORPHAN, path) as owner:
        child = int(told(owner)[0])
        try:
            with pytest.raises(StoreFileError, match="open in another store"):
                open_store(f"memory:{path}")
            owner.kill()
            owner.wait()
            with open_store(f"memory:{path}") as store:
                store.add([document("a")])
        finally:
            os.kill(child, signal.SIGKILL)
    assert ids(path) == ["a"]


# --- many at once -------------------------------------------------------------------------------

TAKING_TURNS = """
rounds, mark = int(sys.argv[2]), sys.argv[3]
for number in range(rounds):
    while True:
        try:
            store = open_store(f"memory:{path}")
            break
        except StoreFileError as error:
            assert "another store" in str(error), error
            time.sleep(0.001)
    store.add([Document("", id=f"{mark}-{number}", embedding=[1, 2])])
    store.close()
ready()
"""


@pytest.mark.parametrize("rounds", [15, pytest.param(200, marks=pytest.mark.heavy)])
def test_processes_that_take_turns_lose_nothing(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "kb.json"
    with (
        another_process(TAKING_TURNS, path, rounds, "a") as one,
        another_process(TAKING_TURNS, path, rounds, "b") as two,
    ):
        told(one), told(two)
    wanted = sorted(f"{mark}-{number}" for mark in "ab" for number in range(rounds))
    assert ids(path) == wanted
    assert names(tmp_path) == ["kb.json"]


@pytest.mark.parametrize("runs", [3, pytest.param(30, marks=pytest.mark.heavy)])
def test_what_was_acknowledged_before_closing_is_in_the_file(tmp_path: Path, runs: int) -> None:
    for run in range(runs):
        path = tmp_path / f"{run}.json"
        store = open_store(f"memory:{path}")
        acknowledged: list[str] = []
        refused: list[int] = []

        def work(
            mark: int,
            store: VectorStore = store,
            noted: list[str] = acknowledged,
            refused: list[int] = refused,
        ) -> None:
            for number in range(1_000_000):
                try:
                    noted.extend(store.add([document(f"{mark}-{number}")]))
                except StoreClosedError:
                    refused.append(mark)
                    return

        threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 40:
            time.sleep(0.001)
        store.close()
        for thread in threads:
            thread.join()
        assert sorted(refused) == [0, 1, 2, 3]
        assert ids(path) == sorted(acknowledged)


# --- what killed processes leave ------------------------------------------------------------------

SAVING = """
store = SimpleVectorStore()
store.add([Document("text " * 200, id=str(n), embedding=[1] * 64) for n in range(3_000)])
ready()
while True:
    store.save(path)
"""


@needs_fork
@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.heavy)])
def test_the_next_save_or_open_removes_what_a_killed_one_left(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "kb.json"
    left = 0
    for number in range(kills):
        with another_process(SAVING, path) as saver:
            told(saver)
            deadline = time.monotonic() + 60
            while not [name for name in names(tmp_path) if name.endswith(".tmp")]:
                assert time.monotonic() < deadline
        left += len([name for name in names(tmp_path) if name.endswith(".tmp")])
        if number % 2:
            with open_store(f"memory:{path}") as store:
                store.count()
        else:
            small = SimpleVectorStore()
            small.add([document("a")])
            small.save(path)
        assert names(tmp_path) in (["kb.json"], [])
    assert left > kills / 4


def test_a_file_that_is_being_written_stays(tmp_path: Path) -> None:
    """Of this process and of another, of this machine and of another."""
    path = tmp_path / "kb.json"
    store = SimpleVectorStore()
    store.add([document("a")])
    writing = locks.temporary_file(str(path))
    dead = tmp_path / f".kb.json.1-{locks.host_mark()}-00000000.tmp"
    far = tmp_path / ".kb.json.1-01234567-00000000.tmp"
    old = tmp_path / ".kb.json.1-01234567-00000001.tmp"
    unmarked = tmp_path / ".kb.json.1-00000002.tmp"
    others = [tmp_path / name for name in (".other.json.1-00000000.tmp", ".kb.json.x.tmp")]
    for file in (dead, far, old, unmarked, *others):
        file.write_text("half")
    long_ago = time.time() - 2 * locks._ABANDONED
    for file in (old, unmarked, *others):
        os.utime(file, (long_ago, long_ago))
    store.save(path)
    kept = {Path(writing.path).name, far.name, "kb.json", *[file.name for file in others]}
    assert set(names(tmp_path)) == kept
    writing.close()
    store.save(path)
    assert set(names(tmp_path)) == kept - {Path(writing.path).name}


def test_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("知" * 80 + ".json")
    with open_store(f"memory:{path}") as store:
        store.add([document("a")])
        with pytest.raises(StoreFileError, match="another store"):
            open_store(f"memory:{path}")
    assert ids(path) == ["a"]
    assert names(tmp_path) == [path.name]


# --- what is told ---------------------------------------------------------------------------------


def test_a_store_that_is_forgotten_warns(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"

    def forgotten(*added: str) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            store = open_store(f"memory:{path}")
            store.add([document(id) for id in added])
            del store
            gc.collect()
        return [str(one.message) for one in caught if one.category is ResourceWarning]

    [message] = forgotten("a")
    assert "kb.json" in message
    assert "with open_store" in message
    assert not path.exists()
    assert forgotten() == []
    open_store(f"memory:{path}").close()  # nothing is locked
    assert names(tmp_path) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def none(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    path = tmp_path / "kb.json"
    monkeypatch.setattr(fcntl, "flock", none)
    left = tmp_path / f".kb.json.1-{locks.host_mark()}-00000000.tmp"
    left.write_text("")
    with pytest.warns(RuntimeWarning, match="no locks"):
        store = open_store(f"memory:{path}")
    store.add([document("a")])
    store.close()
    assert ids(path) == ["a"]
    assert names(tmp_path) == [left.name, "kb.json"]


READ_ONLY = """
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for name in ("locked/kb.json", "locked/old.json", "protected.json"):
    try:
        open_store(f"memory:{path}/{name}")
    except StoreFileError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
def test_what_cannot_be_written_is_refused_when_it_is_opened() -> None:
    # Root may do everything, so the test asks as somebody else, in a folder that all may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "protected.json").write_text("{}")
        (folder / "protected.json").chmod(0o444)
        (folder / "locked").mkdir()
        (folder / "locked" / "old.json").write_text("{}")
        (folder / "locked" / "old.json").chmod(0o666)
        (folder / "locked").chmod(0o555)
        try:
            with another_process(READ_ONLY, folder) as process:
                out, _ = process.communicate()
        finally:
            (folder / "locked").chmod(0o755)
        lines = out.splitlines()
    assert len(lines) == 3, out
    for line, name in zip(lines, ("kb.json", "old.json"), strict=False):
        assert f"{name}' cannot be written: nothing can be written to the folder" in line
    assert "is write-protected" in lines[2]
    assert all(".load(" in line for line in lines)
