"""The engine inside this process: who has its folder, and what becomes of it in a forked child.

Chroma itself keeps nobody out. Two processes that write to one folder each keep an index of vectors
of their own, and after a thousand documents one misses what the other wrote. So a lock of ours
stands in the folder, ``.vecstore.lock``, for as long as a store of this process is open there; all
of them share it, and one lock between their threads.

A forked child inherits the engine without the threads that do its work: it would wait for them for
ever, at a call and once more at its own end. There it is never called, and never collected.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any, Final

from vecstore import process
from vecstore.errors import BackendError, ConfigurationError, StoreFileError
from vecstore.store.locks import InUseElsewhere, LockedFile
from vecstore.store.threads import CallThreads

LOCK: Final = ".vecstore.lock"
MEMORY: Final = "ephemeral"
"""What Chroma calls the engine in memory, of which a process has one."""


class LocalEngine:
    """What the stores on one folder, or in memory, have in common.

    Attributes:
        folder: Its path without links; :data:`MEMORY` in memory.
        lock: What calls hold; a thread may take it again, for several calls in one step.
        threads: Where the calls of the main thread run: half of a write is not seen, nor kept.
        users: How many stores use it.
    """

    __slots__ = ("_file", "folder", "lock", "threads", "users")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.threads = CallThreads(single=True)
        self.users = 0
        self._file = None if folder == MEMORY else _locked(folder)

    def close(self) -> None:
        """Let other processes have the folder."""
        self.threads.close()
        if self._file is not None:
            self._file.close()


_opening = threading.Lock()
_engines: dict[str, LocalEngine] = {}


def take_engine(folder: str) -> LocalEngine:
    """The engine of a folder, which is made when it is missing, or of the memory.

    Raises:
        ConfigurationError: If there is no such folder and none can be made.
        BackendError: If another process has it.
        StoreFileError: If it cannot be written to.
    """
    name = folder if folder == MEMORY else os.path.realpath(folder)
    with _opening:
        engine = _engines.get(name)
        if engine is None:
            engine = _engines[name] = LocalEngine(name)
        engine.users += 1
        return engine


def give_back(engine: LocalEngine) -> None:
    """Give an engine back; with the last user it lets go of its folder."""
    with _opening:
        engine.users -= 1
        if not engine.users and _engines.get(engine.folder) is engine:
            del _engines[engine.folder]
            engine.close()


def _locked(folder: str) -> LockedFile:
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} is a file; Chroma keeps its documents in a folder of its own"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"there is no folder {folder}: {error.strerror}") from error
    try:
        return LockedFile(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT)
    except InUseElsewhere:
        raise BackendError(
            f"the folder {folder} is open in another process, and Chroma would not find there what "
            "that one writes; close the store there, or use a server for several processes: "
            f"chroma run --path {folder}",
            operation="open",
        ) from None
    except OSError as error:
        raise StoreFileError(
            f"the folder {folder} cannot be written to, which Chroma needs even to read: "
            f"{error.strerror}"
        ) from error


@process.in_forked_child
def _forget_inherited() -> None:
    global _opening
    _opening = threading.Lock()
    _engines.clear()
    clients: Any = sys.modules.get("chromadb.api.shared_system_client")
    if clients is None:
        return
    shared = clients.SharedSystemClient
    for system in shared._identifier_to_system.values():
        for component in system._instances.values():
            bindings = getattr(component, "bindings", None)
            if bindings is not None:
                # One reference more than there are, so that it outlives the interpreter.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(bindings))
    shared._identifier_to_system = {}
    shared._identifier_to_refcount = {}
    shared._refcount_lock = threading.Lock()
