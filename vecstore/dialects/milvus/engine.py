"""milvus-lite: an engine inside this process, one for each file, shared by all its stores.

It takes several readers or one writer and locks nothing itself, so every call holds the engine's
lock. What reads and then writes holds it from end to end.

After a write that failed, a log of milvus-lite may end in the middle of a record, or rows may be
neither in memory nor in a segment: what it then acknowledges is lost with the next crash, and
a clean close can delete a log that is needed. So an engine that failed takes no further write, and
is let go without one; opened again, it reads from its logs all that it ever acknowledged.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

from vecstore.errors import BackendError, ConfigurationError, StoreClosedError
from vecstore.store.threads import CallThreads, Overdue

LITE_TIMEOUT: Final = 300.0
"""Seconds for one call: merging segments may take minutes, and whoever writes waits for it."""

_OWN_FILES = frozenset({"LOCK", "collections", "databases", ".database-staging"})


class LiteEngine:
    """One milvus-lite.

    Attributes:
        lock: Held during every call.
        threads: Where calls run, one after the other.
        fault: Why it takes no further write, or None.
    """

    def __init__(self, address: str, path: Path | None = None) -> None:
        self.address = address
        self.path = path
        self.lock = threading.RLock()
        self.threads = CallThreads(single=True)
        self.fault: str | None = None
        self.users = 0
        self._pid = os.getpid()

    def check_process(self) -> None:
        """Refuse calls from a process that was forked off.

        Raises:
            StoreClosedError: Saying where to open the store.
        """
        if os.getpid() != self._pid:
            raise StoreClosedError(
                "this process was forked from the one that has the milvus-lite file open, and "
                "milvus-lite belongs to one process; close the store before the fork and open it "
                "in one of the processes, or use a Milvus server"
            )

    def check_writable(self) -> None:
        """Refuse a write after one that failed.

        Raises:
            BackendError: Saying that the file has to be opened again.
        """
        if self.fault is not None:
            name = self.path.name if self.path is not None else "the file"
            raise BackendError(
                f"milvus-lite could not write to {name} before ({self.fault}), and would lose what "
                "it acknowledged from now on; close every store and client on the file and open "
                "it again: what was acknowledged until then is there",
                operation="write",
                retryable=False,
            )

    def release(self) -> None:
        """Stop serving the file and let go of its lock."""
        from milvus_lite.server_manager import server_manager_instance as manager

        if self.fault is None:
            manager.release_server(str(self.path))
            return
        with manager._lock:
            server, database, _ = manager._servers.pop(str(self.path))
        server.stop(grace=2).wait()
        # Not database.close(): it would write what is in memory, and delete logs.
        database._release_lock()
        database._closed = True


class LiteEngines:
    """The milvus-lites that stores of this process use.

    The client serves a file until the process ends. Here the last store that closes lets go of it,
    unless a client of somebody else's had opened it before.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._engines: dict[str, LiteEngine] = {}
        self._openers = CallThreads(single=False)
        self._inherited: list[Any] = []

    def open(self, path: Path) -> str:
        """Serve a file, if it is not served yet, and give the address.

        Raises:
            ConfigurationError: If there can be no milvus-lite at that path.
            BackendError: If it cannot be opened, with the reason.
        """
        return self._openers.run(lambda: self._open(path), LITE_TIMEOUT)

    def join(self, address: str) -> LiteEngine:
        """The engine at an address, with one user more."""
        with self._guard:
            engine = self._engines.get(address)
            if engine is None:
                engine = self._engines[address] = LiteEngine(address)
            engine.users += 1
            return engine

    def leave(self, engine: LiteEngine) -> None:
        """Count one user less; the file is let go with the last one."""
        with self._guard:
            engine.users -= 1
            if engine.users or self._engines.get(engine.address) is not engine:
                return
            del self._engines[engine.address]
            # Behind the calls that still run, and before anybody opens the file again.
            if engine.path is not None:
                try:
                    engine.threads.run(engine.release, LITE_TIMEOUT)
                except Overdue:
                    pass  # a call has hung: its lock goes with the process
            engine.threads.close()

    def _open(self, path: Path) -> str:
        from milvus_lite.adapter.grpc.server import start_server_in_thread
        from milvus_lite.exceptions import DataDirLockedError
        from milvus_lite.server_manager import server_manager_instance as manager

        with self._guard:
            served = manager._servers.get(str(path))
            if served is not None:
                return f"127.0.0.1:{served[2]}"
            _check_folder(path)
            try:
                server, database, port = start_server_in_thread(str(path))
            except DataDirLockedError:
                raise BackendError(
                    f"another process has {path} open; milvus-lite serves one process at a time: "
                    "close the store there, or use a Milvus server",
                    operation="open",
                    retryable=True,
                ) from None
            except OSError as error:
                raise BackendError(
                    f"milvus-lite cannot open {path}: {error.strerror or error}; it needs a folder "
                    "that this process may read and write",
                    operation="open",
                    retryable=False,
                ) from error
            with manager._lock:
                manager._servers[str(path)] = (server, database, port)
            address = f"127.0.0.1:{port}"
            self._engines[address] = LiteEngine(address, path)
            return address

    def forget(self) -> None:
        """In a forked child: leave the engines to the parent.

        Neither they nor milvus-lite itself may write at the end of the child, nor may the child
        hold the lock of a file when its parent is gone.
        """
        self._inherited.append((self._engines, self._openers))
        self._guard = threading.Lock()
        self._engines = {}
        self._openers = CallThreads(single=False)
        module = sys.modules.get("milvus_lite.server_manager")
        if module is not None:
            manager = module.server_manager_instance
            for served in manager._servers.values():
                self._inherited.append(served)
                os.close(served[1]._lock_fd)
                served[1]._lock_fd = None
            manager._servers = {}
            manager._lock = threading.Lock()
        module = sys.modules.get("pymilvus.client.connection_manager")
        if module is not None:
            self._inherited.append(module.ConnectionManager._instance)
            module.ConnectionManager._instance = None
            module.ConnectionManager._instance_lock = threading.Lock()


lite_engines: Final = LiteEngines()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lite_engines.forget)


def _check_folder(path: Path) -> None:
    """Refuse what milvus-lite would fill with its own files, or fail on without a reason."""
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_dir():
        raise ConfigurationError(
            f"{path} is a file of something else: milvus-lite keeps a folder under that name"
        )
    try:
        inside = {entry.name for entry in path.iterdir()} if path.exists() else set()
    except OSError as error:
        raise BackendError(
            f"milvus-lite cannot open {path}: {error.strerror or error}",
            operation="open",
            retryable=False,
        ) from error
    if inside and not inside & _OWN_FILES:
        raise ConfigurationError(
            f"the folder {path} holds other files and no milvus-lite; name another"
        )
