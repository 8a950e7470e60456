"""Who writes to a table: one writer at a time, of all threads and processes on the folder.

The engine commits each write by itself, and lets the second of two that meet try again. But an
append does not see the ids that another process appends at that moment, and what is read in order
to be written may be old by then. So whoever writes holds a lock on a small file beside the table.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from vecstore.errors import BackendError, StoreFileError
from vecstore.process import in_forked_child
from vecstore.store.locks import InUseElsewhere, LockedFile

_WAIT: Final = 0.002
_LONGEST_WAIT: Final = 0.05


class Turns:
    """The turns of writers to one table.

    Args:
        path: Of the file that is locked between processes; None where no other process writes, or
            none can be kept out.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0

    @contextmanager
    def taken(self, operation: str, timeout: float) -> Iterator[None]:
        """Write when it is one's turn; whoever has it may take it again.

        Args:
            operation: What for, for errors.
            timeout: Seconds to wait.

        Raises:
            BackendError: If others have it for so long.
            StoreFileError: If the file cannot be made.
        """
        end = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout):
            raise _overdue(operation, timeout, "another thread of this process")
        file: LockedFile | None = None
        try:
            if self.path is not None and not self._depth:
                file = _locked(self.path, operation, end, timeout)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
        finally:
            if file is not None:
                file.close()
            self._lock.release()


def turns_of(client: Any, folder: str | None, table: str) -> Turns:
    """The turns of writers to a table, the same for all stores on it in this process.

    Args:
        client: What the table is reached by.
        folder: The folder it is in, None where it is in none on this machine.
        table: Its name.
    """
    with _making:
        if folder is None:
            return _by_client.setdefault(client, {}).setdefault(table, Turns(None))
        path = os.path.join(os.path.realpath(folder), f"{table}.vecstore-lock")
        return _by_path.setdefault(path, Turns(path))


def _locked(path: str, operation: str, end: float, timeout: float) -> LockedFile:
    wait = _WAIT
    while True:
        try:
            return LockedFile(path, os.O_RDWR | os.O_CREAT)
        except InUseElsewhere:
            if time.monotonic() > end:
                raise _overdue(operation, timeout, "another process") from None
        except OSError as error:
            raise StoreFileError(
                f"nothing can be written to the folder {os.path.dirname(path)}, so that this store "
                f"only reads: {error.strerror or error}"
            ) from error
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


def _overdue(operation: str, timeout: float, who: str) -> BackendError:
    return BackendError(
        f"LanceDB: {who} has been writing to this table for {timeout:g} s (timeout), and one "
        f"writes at a time; {operation} has changed nothing",
        operation=operation,
        retryable=True,
    )


_making = threading.Lock()
_by_path: WeakValueDictionary[str, Turns] = WeakValueDictionary()
_by_client: WeakKeyDictionary[Any, dict[str, Turns]] = WeakKeyDictionary()


@in_forked_child
def _forget() -> None:
    global _making, _by_path, _by_client
    _making = threading.Lock()
    _by_path, _by_client = WeakValueDictionary(), WeakKeyDictionary()
