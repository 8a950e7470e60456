"""Transactions on a database in the process: a handle for each, one writer at a time, and forks."""

from __future__ import annotations

import ctypes
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, TypeVar
from weakref import WeakSet, WeakValueDictionary

from vecstore import process
from vecstore.errors import BackendError
from vecstore.store.threads import CallThreads

Result = TypeVar("Result")

_ATTEMPTS: Final = 8
"""How often a transaction is run that lost against one of a writer we know nothing of."""
_PAUSE: Final = 0.005
"""Seconds before the second attempt; twice as long before each further one."""

_everywhere: WeakSet[Transactions] = WeakSet()


class _Turn:
    """Who writes to a database; its stores in this process share one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
_finding = threading.Lock()


class _Used:
    """The handle that a call is at, for whoever interrupts it: never one that has moved on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: Any = None

    def put(self, handle: Any) -> None:
        with self._lock:
            self._handle = handle

    def interrupt(self) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.interrupt()


class Session:
    """One transaction, on a handle that nobody else uses meanwhile.

    Attributes:
        cursor: The handle: a cursor or connection of the driver.
    """

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def rows(self, statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement selects."""
        found: list[tuple[Any, ...]] = self.cursor.execute(statement, list(params)).fetchall()
        return found


class Transactions(ABC):
    """The handles of one store.

    Args:
        place: What stores in this process have in common that write to one database; None for a
            database that no other store has.
    """

    _begin: ClassVar[tuple[str, str]] = ("BEGIN TRANSACTION", "BEGIN TRANSACTION")
    """What begins a transaction that reads, and one that writes."""
    _session: ClassVar[type[Session]] = Session
    _alone: bool = False
    """Whether those that read take turns as well."""

    _error: type[Exception]
    """The driver's errors, and those of a transaction that lost against another one."""
    _conflict: type[Exception] | tuple[type[Exception], ...]

    def __init__(self, place: str | None) -> None:
        self._threads = CallThreads(single=False)
        self._idle: deque[Any] = deque()
        self._every: list[Any] = []
        self._making = threading.Lock()
        with _finding:
            self._turn = _Turn() if place is None else _turns.setdefault(place, _Turn())

    @abstractmethod
    def _make(self) -> Any:
        """One more handle; no two threads make one at a time."""

    @abstractmethod
    def _failed(self, operation: str, error: Exception) -> BackendError:
        """What a caller is told of an error of the driver."""

    def run(
        self, operation: str, work: Callable[[Any], Result], *, writing: bool = False
    ) -> Result:
        """Run something in a transaction; once more where it lost against another writer.

        Args:
            operation: What the caller of the store asked for; errors name it.
            work: What is done, with a session.
            writing: Whether it changes anything.

        Raises:
            BackendError: If the database refuses something.
        """
        used = _Used()

        def attempt() -> Result:
            if not writing and not self._alone:
                return self._transacted(work, used, writing)
            with self._turn.lock:
                pause = _PAUSE
                for _ in range(_ATTEMPTS - 1):
                    try:
                        return self._transacted(work, used, writing)
                    except self._conflict:
                        time.sleep(pause)
                        pause *= 2
                return self._transacted(work, used, writing)

        # A driver answers Ctrl-C with an error of its own, and may have committed: the call runs
        # where no signal is delivered, and its caller leaves when it is over.
        return self._asked(operation, lambda: self._threads.run_whole(attempt, used.interrupt))

    def _transacted(self, work: Callable[[Any], Result], used: _Used, writing: bool) -> Result:
        try:
            handle = self._idle.pop()
        except IndexError:
            with self._making:
                handle = self._make()
                self._every.append(handle)
        used.put(handle)
        whole = False
        try:
            handle.execute(self._begin[writing])
            result = work(self._session(handle))
            handle.execute("COMMIT")
            whole = True
            return result
        finally:
            used.put(None)
            if not whole:
                with suppress(self._error):  # where COMMIT failed there may be none to roll back
                    handle.execute("ROLLBACK")
            self._idle.append(handle)

    def _asked(self, operation: str, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except self._error as error:
            raise self._failed(operation, error) from error

    def close(self) -> None:
        """Close every handle."""
        self._threads.close()
        _everywhere.discard(self)
        self._idle.clear()
        while self._every:
            self._every.pop().close()

    def leave_to_parent(self) -> None:
        """In a forked child: keep what was inherited from ever being closed there.

        Its threads and locks stayed with the parent: closing it crashes the child, or writes to the
        file that the parent goes on writing to. So it outlives even the end of the interpreter.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def _opened(self) -> None:
        """To be called when there is something that a forked child inherits."""
        _everywhere.add(self)


@process.in_forked_child
def _leave_everything() -> None:
    global _finding
    _finding = threading.Lock()
    for transactions in list(_everywhere):
        transactions.leave_to_parent()
    _turns.clear()
