"""The connection to LanceDB, its errors as ours, and who may use it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vecstore import process
from vecstore.dialects.lancedb.turns import Turns, turns_of
from vecstore.errors import (
    ConfigurationError,
    SchemaMismatchError,
    StoreClosedError,
    StoreFileError,
    VecstoreError,
)
from vecstore.process import in_forked_child
from vecstore.store.drivers import Secrets, not_installed, refused
from vecstore.store.threads import CallThreads

if TYPE_CHECKING:
    from lancedb.db import DBConnection

Result = TypeVar("Result")

IN_MEMORY: Final = "memory://"
_INDEX_CACHE: Final = 256 * 2**20
_METADATA_CACHE: Final = 32 * 2**20
"""Bytes. The engine keeps what it has read of each version, 1 GiB and more where it is not told."""

_PASSING: Final = re.compile(
    r"conflict|concurrent|retry|timed? ?out|too many open files|resource busy", re.IGNORECASE
)


class Calls:
    """One connection, and one table of it.

    Args:
        client: A connection, which stays open; or None to connect to
        folder: a folder on this machine, or to memory where that is None, too.
        table: Name of the table.
        create: Whether the folder is made where it is missing.
        timeout: Seconds to wait for others who write.

    Attributes:
        client: The connection.
        threads: Where what writes runs, out of the reach of signals.
    """

    def __init__(
        self,
        client: DBConnection | None,
        folder: str | None,
        table: str,
        create: bool,
        timeout: float,
    ) -> None:
        try:
            import lancedb
        except ImportError as error:
            raise not_installed("the LanceDB store needs lancedb", "lancedb", error) from error
        check_process()
        self.table_name = table
        self.timeout = timeout
        self._own = client is None
        self._pid = process.pid
        self._table: Any = None
        self._secrets = Secrets([])
        self.threads = CallThreads(single=False)
        if client is None:
            if folder is not None:
                check_folder(folder, create)
            with self.translating("open"):
                client = self.threads.run_whole(
                    lambda: lancedb.connect(
                        IN_MEMORY if folder is None else folder,
                        # What other processes wrote is seen by the next call.
                        read_consistency_interval=timedelta(0),
                        session=lancedb.Session(_INDEX_CACHE, _METADATA_CACHE),
                    )
                )
        elif not isinstance(client, lancedb.db.LanceDBConnection):
            raise ConfigurationError(
                "client is what lancedb.connect(folder) returns, not "
                f"{type(client).__module__}.{type(client).__name__}: a connection on LanceDB's "
                "own engine, made without await"
            )
        options = getattr(client, "storage_options", None)
        self._secrets = Secrets((options or {}).values())
        self.client: Any = client
        self.folder = folder if self._own else _folder_of(str(client.uri))
        self.exclusive: Any = nullcontext()  # the store calls `exclusively` instead
        self._turns: Turns = turns_of(client, self.folder, table)

    @property
    def local(self) -> bool:
        """Whether nobody can write to the table without waiting for us, but by LanceDB itself."""
        return self.folder is not None or str(self.client.uri) == IN_MEMORY

    def exclusively(self, operation: str, work: Callable[[], Result]) -> Result:
        """Run what writes: to its end, whatever signal comes, and with nobody else writing."""

        def whole() -> Result:
            with self.translating(operation), self._turns.taken(operation, self.timeout):
                return work()

        return self.threads.run_whole(whole)

    def __call__(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one call on the table, to its end, whatever signal comes.

        The client waits for its own loop with locks of Python: a signal in the midst of one would
        leave it taken, and every later call of the process waiting for the loop.
        """

        def whole() -> Result:
            with self.translating(operation):
                return call(self.table)

        return self.threads.run_whole(whole)

    @property
    def table(self) -> Any:
        """The table, in the version that is the latest."""
        if self._table is None:
            self._table = self.client.open_table(self.table_name)
        elif not self._own:
            self._table.checkout_latest()  # which connections of others may do seldom or never
        return self._table

    def find(self, operation: str) -> Any:
        """The table; None where there is none of that name."""

        def whole() -> Any:
            with self.translating(operation):
                try:
                    return self.table
                except (ValueError, FileNotFoundError) as error:
                    if "not found" in str(error).lower():
                        return None
                    raise

        return self.threads.run_whole(whole)

    def close(self) -> None:
        """Let go of the connection; the engine closes what nobody refers to."""
        self._table = None
        if self._own:
            self.client = None
        self.threads.close()

    def after_fork(self) -> None:
        """In a forked child: refuse.

        Raises:
            StoreClosedError: Saying how to start processes instead.
        """
        raise StoreClosedError(_FORKED)

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the engine's errors into ours."""
        try:
            yield
        except VecstoreError:
            raise
        except Exception as error:
            told = _told(error)
            if "/_versions" in told and "not found" in told.lower():
                raise SchemaMismatchError(
                    f"the table {self.table_name!r} was there and is gone: somebody dropped it; "
                    "open the store again"
                ) from self._secrets.safe_cause(error)
            missing = _NO_COLUMN.search(told)
            if missing is not None:  # whatever the filter: its keys are no columns
                column = missing[missing.lastindex or 0]
                raise SchemaMismatchError(
                    f"the table {self.table_name!r} has no column {column} any more: "
                    "somebody has made it anew, or changed it; open the store again"
                ) from self._secrets.safe_cause(error)
            failure = refused(
                "LanceDB",
                operation,
                error,
                self._secrets,
                retryable=_PASSING.search(told) is not None,
                told=told,
            )
            raise failure from self._secrets.safe_cause(error)


def check_folder(folder: str, create: bool) -> None:
    """See to it that there is a folder for tables.

    Raises:
        ConfigurationError: If it is an address, or a file.
        SchemaMismatchError: If it is missing, and not to be made.
        StoreFileError: If it cannot be made or written to.
    """
    if "://" in folder:
        raise ConfigurationError(
            f"path is a folder on this machine, not {folder.partition('://')[0]}://...; for tables "
            "elsewhere connect yourself: client=lancedb.connect(...)"
        )
    if not os.path.isdir(folder) and not create and not os.path.exists(folder):
        raise SchemaMismatchError(
            f"there is no folder {folder}, and create=False is not to make it"
        )
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} is a file; LanceDB keeps its tables in a folder"
        ) from None
    except OSError as error:
        raise StoreFileError(
            f"the folder {folder} cannot be made: {error.strerror or error}"
        ) from error


_NO_COLUMN: Final = re.compile(
    r"No field named (\w+)|[Ff]ield '(\w+)' (?:does not exist|not found)"
    r"|[Cc]olumn (\w+) (?:does not exist|not found)"
)
_FORKED: Final = (
    "this process was forked from one that has LanceDB at work, whose threads and locks do not "
    "outlive that: a call may never end. Start processes by spawn or forkserver "
    "(multiprocessing.get_context('spawn')), or open the first store after the fork"
)
_forked_at_work = False


def check_process() -> None:
    """Refuse to begin in a process in which calls of the engine may hang.

    Raises:
        StoreClosedError: In a child that was forked when LanceDB was loaded.
    """
    if _forked_at_work:
        raise StoreClosedError(_FORKED)


@in_forked_child
def _note_fork() -> None:
    global _forked_at_work
    # In the child of a child it is said of its grandparent as well.
    _forked_at_work = _forked_at_work or "lancedb" in sys.modules


def _folder_of(uri: str) -> str | None:
    """The folder of an address, None where it is none on this machine."""
    path = uri.removeprefix("file://")
    return path if "://" not in path and os.path.isdir(path) else None


def _told(error: Exception) -> str:
    """What an error says, without where in the engine it was made."""
    text = re.split(r",? (?:location: )?/\S*/\.cargo/", str(error).strip(), maxsplit=1)[0]
    text = text.removeprefix("lance error: ")
    return text or type(error).__name__
