"""Folders of local mode: one client for each, shared by all stores of this process.

The client locks its folder, against itself as well: a second one is refused, in this process as in
any other. So stores on one folder share a client and the lock that keeps their threads apart; the
last one to close closes it. A forked child inherits the memory of a client but not its right to
the folder, so it must neither use nor close it: closing would release its parent's lock.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from vecstore.errors import BackendError, ConfigurationError, StoreFileError
from vecstore.store.threads import CallThreads


class LocalEngine:
    """A client in local mode, and the lock around it.

    Attributes:
        client: The client. Two threads inside it meet half-written lists, and a database cursor of
            one thread only.
        lock: What calls hold; a thread may take it again, for several calls in one step.
        threads: Where the calls of the main thread run: half of a write is not seen, nor kept.
        folder: Where it keeps its points; None in memory.
        users: How many stores use it.
    """

    __slots__ = ("__weakref__", "client", "folder", "lock", "threads", "users")

    def __init__(self, client: Any, folder: str | None) -> None:
        self.client = client
        self.folder = folder
        self.lock = threading.RLock()
        self.threads = CallThreads(single=True)
        self.users = 0

    @property
    def in_place(self) -> bool:
        """Whether the folder is still the one that was opened: it may have been made anew."""
        assert self.folder is not None
        held = getattr(self.client._client, "_flock_file", None)
        if held is None or held.closed:
            return False
        try:
            return os.path.samestat(os.fstat(held.fileno()), os.stat(_lock_file(self.folder)))
        except OSError:
            return False


MEMORY: Final = ":memory:"

_opening = threading.Lock()
_engines: dict[str, LocalEngine] = {}
_given: WeakKeyDictionary[Any, LocalEngine] = WeakKeyDictionary()
_inherited: Final[list[LocalEngine]] = []


def open_folder(path: str) -> LocalEngine:
    """The engine of a folder, which is made when it is missing.

    Raises:
        ConfigurationError: If there is no such folder and none can be made.
        BackendError: If somebody else has it open.
        StoreFileError: If it cannot be written to, or does not hold what the client can read.
    """
    folder = os.path.realpath(path)
    with _opening:
        engine = _engines.get(folder)
        if engine is None or not engine.in_place:
            engine = _engines[folder] = LocalEngine(_open_client(folder), folder)
        engine.users += 1
        return engine


def engine_of(client: Any) -> LocalEngine:
    """The engine that a client in local mode is, so that all of its stores have one lock."""
    with _opening:
        for shared in _engines.values():
            if shared.client is client:
                return shared
        folder = client._client.location
        engine = LocalEngine(client, None if folder == MEMORY else folder)
        return _given.setdefault(client, engine)


def close_engine(engine: LocalEngine) -> None:
    """Give an engine back; the last one to do so closes its client."""
    with _opening:
        engine.users -= 1
        if engine.users:
            return
        if engine.folder is not None and _engines.get(engine.folder) is engine:
            del _engines[engine.folder]
        with engine.lock:
            engine.threads.run_whole(engine.client.close)
        engine.threads.close()


def _open_client(folder: str) -> Any:
    from qdrant_client import QdrantClient

    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} is a file; Qdrant's local mode keeps its points in a folder of its own"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"there is no folder {folder}: {_reason(error)}") from error
    _check_free(folder)
    try:
        return QdrantClient(path=folder, force_disable_check_same_thread=True)
    except Exception as error:
        raise StoreFileError(
            f"the folder {folder} does not hold what Qdrant's local mode can read: "
            f"{_reason(error)}; if the version of qdrant-client changed, open it with the former "
            "one, else restore the folder from a copy"
        ) from error


def _check_free(folder: str) -> None:
    """See whether the folder can be written to and locked, before the client leaves half of it."""
    import portalocker

    path = _lock_file(folder)
    try:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "the folder is read-only for this user")
        Path(path).touch()
        with open(path, "r+") as file:
            portalocker.lock(
                file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
            portalocker.unlock(file)
    except portalocker.exceptions.LockException:
        raise BackendError(
            f"the folder {folder} is already accessed by another client: in another process, or "
            "one of its own in this one. Give the store that client (client=...), or use a server "
            "for several processes",
            operation="open",
        ) from None
    except OSError as error:
        raise StoreFileError(
            f"the folder {folder} cannot be written to, which Qdrant's local mode needs even to "
            f"read: {_reason(error)}"
        ) from error


def _lock_file(folder: str) -> str:
    return os.path.join(folder, ".lock")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip() or type(error).__name__


def _forget_in_child() -> None:
    """In a forked child: keep what was inherited from ever being closed, and start anew."""
    global _opening
    _opening = threading.Lock()
    for engine in _engines.values():
        # The client closes itself when it is collected.
        engine.client.close = _nothing
        _inherited.append(engine)
    _engines.clear()


def _nothing(**options: Any) -> None:
    return


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
