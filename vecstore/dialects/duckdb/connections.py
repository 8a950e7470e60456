"""Connections to one DuckDB database: a cursor for each call, one writer at a time, and forks."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet, WeakValueDictionary

from vecstore import process
from vecstore.errors import BackendError, ConfigurationError, StoreClosedError
from vecstore.store.drivers import Secrets, not_installed, refused
from vecstore.store.threads import CallThreads

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Result = TypeVar("Result")

_ATTEMPTS: Final = 8
"""How often a transaction is run that lost against one of a writer we know nothing of."""
_PAUSE: Final = 0.005
"""Seconds before the second attempt; twice as long before each further one."""
_MAGIC: Final = (8, b"DUCK")
"""Where a database file says what it is."""

_everywhere: WeakSet[Connections] = WeakSet()
_inherited: list[str] = []
"""In a forked child: the files that the parent has open."""


class _Turn:
    """Who writes to a database; its stores in this process share one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
_finding = threading.Lock()


class _Used:
    """The cursor that a call is at, for whoever interrupts it: never one that has moved on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursor: DuckDBPyConnection | None = None

    def put(self, cursor: DuckDBPyConnection | None) -> None:
        with self._lock:
            self._cursor = cursor

    def interrupt(self) -> None:
        with self._lock:
            if self._cursor is not None:
                self._cursor.interrupt()


class Session:
    """One transaction, on a cursor that nobody else uses meanwhile."""

    def __init__(self, cursor: DuckDBPyConnection) -> None:
        self.cursor = cursor

    def rows(self, statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement selects."""
        return self.cursor.execute(statement, list(params)).fetchall()

    def change(self, statement: str, params: Sequence[Any] = ()) -> int:
        """How many rows a statement changed."""
        return int(self.rows(statement, params)[0][0])


class Connections:
    """The cursors of one store.

    Args:
        path: The file; None for a database in memory.
        connection: One that the caller has, and goes on owning.
        create: Whether a missing file is made.
        read_only: Whether the file is only read, so that other processes may read it too.

    Raises:
        BackendNotInstalledError: If duckdb is missing.
        ConfigurationError: If there is no such file, or it is none of DuckDB.
        BackendError: If another process has the file.
    """

    def __init__(
        self,
        path: str | None,
        connection: DuckDBPyConnection | None,
        *,
        create: bool,
        read_only: bool,
    ) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise not_installed("the DuckDB store needs duckdb", "duckdb", error) from error
        if connection is not None and not isinstance(connection, duckdb.DuckDBPyConnection):
            raise ConfigurationError(
                f"connection is one of duckdb.connect(), not a {type(connection).__name__}"
            )
        self._error = duckdb.Error
        self._conflict = duckdb.TransactionException
        self.path = None if path is None else os.path.abspath(path)
        self.given = connection
        self._threads = CallThreads(single=False)
        self._idle: deque[DuckDBPyConnection] = deque()
        self._making = threading.Lock()
        # What is not in a file is shared by nobody, or by stores on one connection.
        key = f"connection {id(connection)}" if self.path is None else os.path.realpath(self.path)
        with _finding:
            self._turn = _turns.setdefault(key, _Turn()) if path or connection else _Turn()
        if connection is not None:
            self._root = self._asked("open", connection.cursor)
        else:
            self._root = self._open(duckdb, create, read_only)
        _everywhere.add(self)

    def _open(self, duckdb: Any, create: bool, read_only: bool) -> DuckDBPyConnection:
        path = self.path
        opened: DuckDBPyConnection
        if path is None:
            opened = duckdb.connect(":memory:")
            return opened
        if os.path.realpath(path) in _inherited:
            # The library would hand out the parent's database, as if it were open here.
            raise StoreClosedError(
                f"{path} was open in the parent when this process was forked, and DuckDB lets one "
                "process at a time write to a file: open it after the fork, in one process, or "
                "start workers by spawn"
            )
        if os.path.exists(path):
            _check_file(path)
        elif not create or read_only:
            raise ConfigurationError(f"there is no file {path}")
        opened = self._asked("open", lambda: duckdb.connect(path, read_only=read_only))
        return opened

    def run(
        self, operation: str, work: Callable[[Session], Result], *, writing: bool = False
    ) -> Result:
        """Run something in a transaction; once more where it lost against another writer.

        Args:
            operation: What the caller of the store asked for; errors name it.
            work: What is done.
            writing: Whether it changes anything.

        Raises:
            BackendError: If the database refuses something.
        """
        used = _Used()

        def attempt() -> Result:
            if not writing:
                return self._transacted(work, used)
            with self._turn.lock:
                pause = _PAUSE
                for _ in range(_ATTEMPTS - 1):
                    try:
                        return self._transacted(work, used)
                    except self._conflict:
                        time.sleep(pause)
                        pause *= 2
                return self._transacted(work, used)

        # The library answers Ctrl-C with an error of its own, and may have committed: the call runs
        # where no signal is delivered, and its caller leaves when it is over.
        return self._asked(operation, lambda: self._threads.run_whole(attempt, used.interrupt))

    def _transacted(self, work: Callable[[Session], Result], used: _Used) -> Result:
        try:
            cursor = self._idle.pop()
        except IndexError:
            with self._making:
                cursor = self._root.cursor()
        used.put(cursor)
        whole = False
        try:
            cursor.execute("BEGIN TRANSACTION")
            result = work(Session(cursor))
            cursor.execute("COMMIT")
            whole = True
            return result
        finally:
            used.put(None)
            if not whole:
                with suppress(self._error):  # where COMMIT failed there is none to roll back
                    cursor.execute("ROLLBACK")
            self._idle.append(cursor)

    def _asked(self, operation: str, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except self._error as error:
            raise self._failed(operation, error) from error

    def _failed(self, operation: str, error: Exception) -> BackendError:
        text, hint = str(error), ""
        if "Could not set lock on file" in text or "being used by another process" in text:
            hint = (
                "; DuckDB lets one process at a time write to a file: close the store there, or "
                "open it read_only=True in every process; for several writers take "
                "a server, such as postgresql://"
            )
        elif "different configuration" in text:
            hint = (
                "; the file is open in this process with other settings: hand that connection "
                "over, DuckDBStore(connection=...), or close it"
            )
        elif "database has been invalidated" in text:
            hint = "; nothing was lost that an add had told of: open the store anew"
        elif "read-only" in text:
            hint = "; open the store without read_only"
        retryable = (bool(hint) and "lock" in text) or isinstance(error, self._conflict)
        return refused("DuckDB", operation, error, Secrets([]), retryable=retryable, hint=hint)

    @property
    def native(self) -> DuckDBPyConnection:
        """The caller's connection, or that of which the cursors are."""
        return self._root if self.given is None else self.given

    def close(self) -> None:
        """Close every cursor, and with the last one the file; a connection that was given stays."""
        self._threads.close()
        while self._idle:
            self._idle.pop().close()
        self._root.close()
        _everywhere.discard(self)

    def leave_to_parent(self) -> None:
        """In a forked child: keep what was inherited from ever being closed there.

        Its threads stayed with the parent: closing it crashes the child, or writes to the file that
        the parent goes on writing to. So it outlives even the end of the interpreter.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        if self.path is not None:
            _inherited.append(os.path.realpath(self.path))


def _check_file(path: str) -> None:
    """Refuse what is no database of DuckDB, which would go and download what reads it."""
    offset, magic = _MAGIC
    try:
        with open(path, "rb") as file:
            start = file.read(offset + len(magic))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    if start and start[offset:] != magic:
        what = "a database of SQLite" if start.startswith(b"SQLite") else "none of DuckDB's"
        raise ConfigurationError(
            f"the file {path} is {what}; name another file, or open it as what it is"
        )


@process.in_forked_child
def _leave_everything() -> None:
    global _finding
    _finding = threading.Lock()
    for connections in list(_everywhere):
        connections.leave_to_parent()
