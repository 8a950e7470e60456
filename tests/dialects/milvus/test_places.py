"""Where a milvus-lite can be, why it cannot be opened, and who has it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vecstore import BackendError, ConfigurationError, Document
from vecstore.dialects.milvus.store import MilvusStore

ONE = Document("text", {"n": 1}, "a", [1, 0])


@pytest.mark.parametrize("name", ["a b", "it's", 'say "hi"', "100%", "%20", "ключ", "#?&", "x.db"])
def test_folders_of_any_name(folder: Path, name: str) -> None:
    path = folder / name
    path.mkdir()
    with MilvusStore("docs", uri=str(path / f"{name}.db"), dimension=2) as store:
        store.add([ONE])
    with MilvusStore("docs", uri=str(path / f"{name}.db")) as store:
        assert store.count("n == 1") == 1


def test_what_is_no_milvus_lite(folder: Path) -> None:
    (folder / "file.db").write_text("something else")
    with pytest.raises(ConfigurationError, match=r"file\.db is a file of something else"):
        MilvusStore("docs", uri=str(folder / "file.db"))
    (folder / "photos.db").mkdir()
    (folder / "photos.db" / "cat.jpeg").write_bytes(b"")
    with pytest.raises(ConfigurationError, match=r"photos\.db holds other files"):
        MilvusStore("docs", uri=str(folder / "photos.db"))
    assert os.listdir(folder / "photos.db") == ["cat.jpeg"]
    assert (folder / "file.db").read_text() == "something else"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_folders_that_cannot_be_written(folder: Path) -> None:
    MilvusStore("docs", uri=str(folder / "docs.db"), dimension=2).close()
    for place in (folder / "docs.db", folder):
        place.chmod(0o500)
        try:
            with pytest.raises(BackendError, match="Permission denied") as caught:
                MilvusStore("docs", uri=str(folder / ("docs.db" if place != folder else "new.db")))
        finally:
            place.chmod(0o700)
        assert not caught.value.retryable


def test_the_reason_of_the_system_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import milvus_lite.adapter.grpc.server as module

    def fail(data_dir: str) -> None:
        raise OSError(30, "Read-only file system", data_dir)

    monkeypatch.setattr(module, "start_server_in_thread", fail)
    with pytest.raises(BackendError, match=r"cannot open .*docs.db: Read-only file sys") as caught:
        MilvusStore("docs", uri=str(folder / "docs.db"))
    assert not caught.value.retryable


def test_a_damaged_collection(folder: Path) -> None:
    path = folder / "docs.db"
    with MilvusStore("docs", uri=str(path), dimension=2) as store:
        store.add([ONE])
    (path / "collections" / "docs" / "schema.json").write_text("{")
    with pytest.raises(BackendError) as caught:
        MilvusStore("docs", uri=str(path))
    assert not caught.value.retryable
    MilvusStore("other", uri=str(path), dimension=2).close()


KILLED = """
    import os, signal, sys
    from vecstore import Document
    from vecstore.dialects.milvus.store import MilvusStore
    store = MilvusStore("docs", uri=sys.argv[1], dimension=2)
    number = int(sys.argv[2])
    store.add([Document("", {"n": number}, str(number), [1, number])])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path: Path, number: int) -> int:
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), str(number)]
    return subprocess.run(command, check=False).returncode


@pytest.mark.wide
def test_a_killed_owner_leaves_nothing_locked(folder: Path) -> None:
    assert killed(folder / "docs.db", 0) == -9
    with MilvusStore("docs", uri=str(folder / "docs.db")) as store:
        assert store.count() == 1


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
def test_a_hundred_killed_owners(folder: Path) -> None:
    for number in range(100):
        assert killed(folder / "docs.db", number) == -9
    with MilvusStore("docs", uri=str(folder / "docs.db")) as store:
        assert sorted(int(one.id) for one in store.scan()) == list(range(100))


FORKED = """
    import os, sys, time
    from vecstore import BackendError, Document, StoreClosedError
    from vecstore.dialects.milvus.store import MilvusStore

    path, end = sys.argv[1:]
    store = MilvusStore("docs", uri=path, dimension=2)
    store.add([Document("", {}, "a", [1, 0])])
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        told = []
        for call in (store.count, lambda: MilvusStore("docs", uri=path)):
            try:
                call()
            except (StoreClosedError, BackendError) as error:
                told.append(f"{type(error).__name__}: {error}")
        store.close()
        os.write(writer, "|".join(told).encode())
        os.close(writer)
        if end == "outlive":
            os.close(1)
            time.sleep(60)  # until it is killed
        sys.exit(0)  # with all that Python does at its end
    os.close(writer)
    told = b""
    while part := os.read(reader, 10_000):
        told += part
    print(child, told.decode(), sep="|", flush=True)
    if end == "outlive":
        os.kill(os.getpid(), 9)
    print(os.waitpid(child, 0)[1])
    store.add([Document("", {}, "b", [1, 1])])
    store.close()
    with MilvusStore("docs", uri=path) as store:
        print(sorted(one.id for one in store.scan()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("end", ["exit", pytest.param("outlive", marks=pytest.mark.heavy)])
@pytest.mark.wide
def test_a_forked_child_is_told_at_once_and_leaves_the_file_alone(folder: Path, end: str) -> None:
    path = str(folder / "docs.db")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKED), path, end],
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
        check=False,
    )
    first, *rest = ran.stdout.splitlines()
    child, used, opened = first.split("|")
    assert used.startswith("StoreClosedError: ")
    assert "milvus-lite belongs to one process" in used
    assert opened.startswith("BackendError: another process has ")
    if end == "exit":
        assert rest == ["0", "['a', 'b']"]
        return
    # The parent was killed, the child lives: it holds no lock.
    try:
        with MilvusStore("docs", uri=path) as store:
            assert store.count() == 1
    finally:
        os.kill(int(child), 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_reaches_a_server_by_a_connection_of_its_own(folder: Path) -> None:
    """A milvus-lite in another process is a server to this one."""
    program = """
        import os, sys, traceback
        from vecstore import Document, StoreClosedError
        from vecstore.dialects.milvus.store import MilvusStore

        store = MilvusStore("docs", uri=sys.argv[1], dimension=2, create=True)
        store.add([Document("", {}, "a", [1, 0])])
        forks = os.environ.pop("GRPC_ENABLE_FORK_SUPPORT")
        if not (child := os.fork()):
            try:
                store.count()
            except StoreClosedError as error:
                os._exit("GRPC_ENABLE_FORK_SUPPORT=1" not in str(error))
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        os.environ["GRPC_ENABLE_FORK_SUPPORT"] = forks
        for number in range(2):
            child = os.fork()
            if not child:
                try:
                    assert store.count() == 1 + number
                    store.add([Document("", {}, f"of child {number}", [1, 0])])
                    store.close()
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            assert store.count() == 2 + number
        store.close()
    """
    server = """
        import sys
        from milvus_lite.adapter.grpc.server import start_server_in_thread
        served = start_server_in_thread(sys.argv[1])
        print(served[2], flush=True)
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(server), str(folder / "docs.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stdout is not None
        port = serving.stdout.readline().strip()
        address = f"http://127.0.0.1:{port}"
        try:
            ran = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), address],
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
                env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "1"},
            )
            assert ran.returncode == 0, ran.stderr[-3000:]
        finally:
            serving.kill()
