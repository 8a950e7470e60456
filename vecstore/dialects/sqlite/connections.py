"""Connections to one SQLite database: one for each call that runs, and what forks inherit."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from vecstore.errors import BackendError, ConfigurationError
from vecstore.store.drivers import Secrets, refused, why_not_opened
from vecstore.store.transactions import Session, Transactions

_MAGIC: Final = b"SQLite format 3\0"
"""How a database file begins."""
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class SQLiteSession(Session):
    """One transaction, on a connection that nobody else uses meanwhile."""

    def change(self, statement: str, params: Sequence[object] = ()) -> int:
        """How many rows a statement changed."""
        return int(self.cursor.execute(statement, params).rowcount)


class Connections(Transactions):
    """The connections of one store.

    Args:
        path: The file; None for a database in memory, where all calls take turns.
        create: Whether a missing file is made.
        read_only: Whether the file is only read.
        patience: Seconds that a call waits for other processes that hold the file.

    Raises:
        ConfigurationError: If there is no such file, or it is none of SQLite.
    """

    _begin = ("BEGIN", "BEGIN IMMEDIATE")
    _session = SQLiteSession
    _error = sqlite3.Error
    _conflict = ()

    def __init__(self, path: str | None, *, create: bool, read_only: bool, patience: float) -> None:
        self.path = None if path is None else os.path.abspath(path)
        self._alone = path is None
        self._mode = "ro" if read_only else "rwc" if create else "rw"
        self._patience = patience
        self._native: sqlite3.Connection | None = None
        super().__init__(None if self.path is None else os.path.realpath(self.path))
        if self.path is not None:
            if os.path.exists(self.path):
                _check_file(self.path)
            elif self._mode != "rwc":
                raise ConfigurationError(f"there is no file {self.path}")
        self._opened()

    def again(self) -> Connections:
        """New connections to the same file, in a forked child."""
        return Connections(
            self.path,
            create=self._mode == "rwc",
            read_only=self._mode == "ro",
            patience=self._patience,
        )

    def _make(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # One slash at its start, or what follows two would be a host.
        place = quote(self.path.replace(os.sep, "/").lstrip("/"))
        address = f"file:///{place}?mode={self._mode}"
        return sqlite3.connect(
            address,
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )

    @property
    def native(self) -> sqlite3.Connection:
        """The connection of a database in memory, or else one that no call uses."""
        with self._making:
            if self._native is None:
                if self.path is None and self._every:
                    self._native = self._every[0]
                else:
                    self._native = self._make()
                    self._every.append(self._native)
                    if self.path is None:
                        self._idle.append(self._native)
            return self._native

    def _failed(self, operation: str, error: Exception) -> BackendError:
        code = getattr(error, "sqlite_errorcode", None)
        # The lowest byte says what it is, the others why.
        busy = isinstance(code, int) and code & 0xFF in _BUSY
        hint = ""
        if busy:
            hint = (
                f"; another connection holds {self.path or 'it'} for more than "
                f"{self._patience:g} s: have it end its transaction, and call again"
            )
        elif "readonly" in str(error):
            hint = "; open the store without read_only, on a file that can be written"
        elif "unable to open" in str(error):
            hint = f": {why_not_opened(self.path or '') or self.path}"
        return refused("SQLite", operation, error, Secrets([]), retryable=busy, hint=hint)


def _check_file(path: str) -> None:
    """Refuse what is no database of SQLite."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    if start and start != _MAGIC:
        raise ConfigurationError(
            f"the file {path} is no database of SQLite; name another file, or open it as what it is"
        )
