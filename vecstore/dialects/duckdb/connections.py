"""Connections to one DuckDB database: a cursor for each call, and what forks inherit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from vecstore.errors import BackendError, ConfigurationError, StoreClosedError
from vecstore.store.drivers import Secrets, not_installed, refused, why_not_opened
from vecstore.store.transactions import Session, Transactions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAGIC: Final = (8, b"DUCK")
"""Where a database file says what it is."""

_inherited: list[str] = []
"""In a forked child: the files that the parent has open."""


class DuckDBSession(Session):
    """One transaction, on a cursor that nobody else uses meanwhile."""

    def change(self, statement: str, params: Sequence[Any] = ()) -> int:
        """How many rows a statement changed."""
        return int(self.rows(statement, params)[0][0])


class Connections(Transactions):
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

    _session = DuckDBSession

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
        # What is not in a file is shared by nobody, or by stores on one connection.
        place = None if connection is None else f"connection {id(connection)}"
        super().__init__(place if self.path is None else os.path.realpath(self.path))
        if connection is not None:
            self._root = self._asked("open", connection.cursor)
        else:
            self._root = self._open(duckdb, create, read_only)
        self._opened()

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

    def _make(self) -> DuckDBPyConnection:
        return self._root.cursor()

    def _failed(self, operation: str, error: Exception) -> BackendError:
        text, hint = str(error), ""
        if "Could not set lock on file" in text or "being used by another process" in text:
            hint = (
                "; another process has it open, and DuckDB lets one process at a time write to a "
                "file: close the store there, or open it read_only=True in every process; for "
                "several writers take a server, such as postgresql://"
            )
        elif "different configuration" in text:
            hint = (
                "; the file is open in this process with other settings: hand that connection "
                "over, DuckDBStore(connection=...), or close it"
            )
        elif "database has been invalidated" in text:
            hint = "; nothing was lost that an add had told of: open the store anew"
        elif "Permission denied" in text and (reason := why_not_opened(self.path or "")):
            hint = f"; {reason}"
        elif "read-only" in text:
            hint = "; open the store without read_only"
        retryable = (bool(hint) and "lock" in text) or isinstance(error, self._conflict)
        return refused("DuckDB", operation, error, Secrets([]), retryable=retryable, hint=hint)

    def names_what_is_not_there(self, error: BackendError) -> bool:
        """Whether a statement was refused for a table, a column or a key that there is not."""
        import duckdb

        return isinstance(error.__cause__, duckdb.CatalogException | duckdb.BinderException)

    @property
    def native(self) -> DuckDBPyConnection:
        """The caller's connection, or that of which the cursors are."""
        return self._root if self.given is None else self.given

    def close(self) -> None:
        """Close every cursor, and with the last one the file; a connection that was given stays."""
        super().close()
        self._root.close()

    def leave_to_parent(self) -> None:
        """In a forked child: keep what was inherited, and remember its file."""
        super().leave_to_parent()
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
