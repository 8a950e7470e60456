"""Transactions on PostgreSQL, each on a connection of its own; and the addresses these lead to."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from vecstore.dialects.pgvector.failures import (
    CONFLICTS,
    failed,
    is_lost,
    is_starting,
    lost_its_statement,
    none_free,
    not_connected,
)
from vecstore.dialects.pgvector.pool import (
    ForeignPool,
    Lease,
    NoFreeConnection,
    Pool,
    PoolIsClosed,
    Source,
    forget,
)
from vecstore.dialects.pgvector.rows import register_wire_vector
from vecstore.errors import BackendError, ConfigurationError, StoreClosedError, VecstoreError
from vecstore.process import in_forked_child
from vecstore.store.drivers import Secrets, not_installed
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

Result = TypeVar("Result")
Row = tuple[Any, ...]

_MOST_ATTEMPTS: Final = 6
"""How often a transaction runs that loses against others again and again."""
_LONGEST_PAUSE: Final = 0.4
_STARTING_PAUSE: Final = 0.1

_everywhere: WeakSet[Connections] = WeakSet()


class Connections:
    """Where transactions come from.

    Args:
        dsn: A libpq connection string or URL, for a pool of our own; or
        pool: an open ``psycopg_pool.ConnectionPool`` that stays the caller's.
        pool_size: Connections that a pool of our own opens at most.
        timeout: Seconds to wait for a free connection, and for the server to answer a new one.
        statement_timeout: Seconds that one statement may run; None leaves the server's setting.
        prepare_threshold: After how many runs a statement is prepared on the server; None for
            never, which poolers in transaction mode need.

    Raises:
        BackendNotInstalledError: If psycopg is missing.
        ConfigurationError: If the address cannot be read.
    """

    def __init__(
        self,
        dsn: str | None,
        pool: Any,
        *,
        pool_size: int,
        timeout: float,
        statement_timeout: float | None,
        prepare_threshold: int | None,
    ) -> None:
        _driver()
        if (dsn is None) == (pool is None):
            raise ConfigurationError("give the pgvector store either a dsn or a pool")
        if pool is not None:
            _check_pool(pool)
        self._dsn = dsn
        self._foreign: Any = pool
        self._pool_size = pool_size
        self._timeout = timeout
        self._prepare_threshold = prepare_threshold
        # Compiling to machine code takes longer than any of our statements: filters look costly.
        self._settings = "SET LOCAL jit = off"
        # Whether they matter to costly statements alone.
        self._only_costs = statement_timeout is None
        if statement_timeout is not None:
            milliseconds = max(1, round(statement_timeout * 1_000))
            self._settings += f"; SET LOCAL statement_timeout = {milliseconds:d}"
        self._closed = False
        self.database: str | None = None
        """The database's name, once it has been connected to."""
        self._parameters = _read(dsn)
        self._secrets = Secrets(map(self._parameters.get, ("password", "sslpassword")))
        self._start()
        _everywhere.add(self)

    def _start(self) -> None:
        """Take what belongs to this process alone."""
        self._pid = os.getpid()
        self._streams: WeakSet[_Stream] = WeakSet()
        self.pool: Any = self._foreign
        self._source: Source
        if self._foreign is None:
            self.pool = self._source = Pool(
                self._connect, max_size=self._pool_size, timeout=self._timeout
            )
        else:
            self._source = ForeignPool(self._foreign)

    def leave_to_parent(self) -> None:
        """In a forked child: keep off everything that was opened before the fork."""
        forget(self._source, self.pool, self._streams)
        pid = self._pid
        self._start()
        if self._foreign is not None:
            self._pid = pid

    def renew(self) -> None:
        """At the first call in a forked child.

        Raises:
            StoreClosedError: If the connections are a pool of the caller's.
        """
        if self._pid != os.getpid():
            if self._foreign is not None:
                raise StoreClosedError(
                    "this store uses a connection pool that was made before the process was forked,"
                    " and connections cannot be shared; make pool and store in the child"
                )
            self.leave_to_parent()

    def run(
        self,
        operation: str,
        work: Callable[[Cursor[Any]], Result],
        *,
        settings: str = "",
        reads_once: bool = False,
    ) -> Result:
        """Do some work in a transaction of its own.

        The work is done again when the transaction lost against another one (a deadlock), when the
        connection turns out to be dead before anything was sent, and when a pooler has lost a
        prepared statement.

        Args:
            operation: What the caller of the store asked for; errors name it.
            work: Gets a cursor.
            settings: Further statements at the beginning of the transaction, without parameters.
            reads_once: Whether the work is a single statement that only reads, and that the server
                makes no machine code of. Where nothing speaks against it, it is then sent alone,
                without two more trips to the server that begin and end a transaction.

        Raises:
            BackendError: For whatever else the driver raises.
        """
        import psycopg

        attempt = 0
        forgiven: set[str] = set()
        while True:
            if attempt:
                # Two that met once meet again, unless one of them waits a little longer.
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.01 * 2**attempt)))
            lease = Lease(self._source)
            sound = begun = False
            try:
                connection = self._take(lease, operation)
                if self._prepare_threshold is None:
                    connection.prepare_threshold = None
                try:
                    if reads_once and connection.autocommit and self._only_costs:
                        cursor = _cursor(connection)
                        register_wire_vector(cursor)
                        result = work(cursor)
                        sound = True
                        return result
                    cursor = self._begin(connection, settings)
                    begun = True
                    result = work(cursor)
                    connection.commit()
                    sound = True
                    return result
                except (VecstoreError, psycopg.Error):
                    sound = self._roll_back(connection)
                    raise
            except psycopg.Error as error:
                if is_lost(error):
                    sound = False
                    # The others are dead as well.
                    if isinstance(self._source, Pool):
                        self._source.drop_idle()
                if is_lost(error) and lease.reused and not begun and "dead" not in forgiven:
                    forgiven.add("dead")
                    continue
                if lost_its_statement(error) and "prepared" not in forgiven:
                    forgiven.add("prepared")
                    self._prepare_threshold = None
                    sound = False
                    continue
                attempt += 1
                if error.sqlstate in CONFLICTS and attempt < _MOST_ATTEMPTS:
                    continue
                raise failed(operation, error, self._secrets) from self._secrets.safe_cause(error)
            finally:
                try:
                    self._give_back(lease, sound)
                except BaseException:
                    self._give_back(lease, sound=False)
                    raise

    def stream(
        self, operation: str, query: str, params: dict[str, Any], batch_size: int
    ) -> Iterator[Row]:
        """Rows of a query, fetched ``batch_size`` at a time on a connection of their own.

        The connection goes back when the rows or the iterator end. :meth:`close` closes it only
        between two fetches.
        """
        stream = _Stream(self, operation, batch_size)
        try:
            rows = stream.first(query, params)
            while rows:
                yield from rows
                if len(rows) < batch_size:
                    break
                rows = stream.more()
        finally:
            try:
                stream.end()
            except BaseException:
                stream.close()
                raise

    def close(self) -> None:
        """Close the pool if it is our own, and scans that were left half-way."""
        self._closed = True
        for stream in list(self._streams):
            stream.close()
        if isinstance(self._source, Pool):
            self._source.close()

    # --- one connection ----------------------------------------------------------------------

    def _take(self, lease: Lease, operation: str) -> Connection[Any]:
        import psycopg

        self.renew()
        lease.source = self._source
        deadline = time.monotonic() + self._timeout
        while lease.connection is None:
            try:
                self._source.take(lease, max(0, deadline - time.monotonic()))
            except NoFreeConnection as error:
                raise none_free(operation, self._timeout, self._pool_size) from error
            except PoolIsClosed:
                raise StoreClosedError("the store was closed") from None
            except psycopg.Error as error:
                if self._foreign is None and is_starting(error) and time.monotonic() < deadline:
                    time.sleep(_STARTING_PAUSE)
                    continue
                failure = self._not_taken(operation, error)
                raise failure from self._secrets.safe_cause(error)
        connection = lease.connection
        assert connection is not None
        lease.threshold = connection.prepare_threshold
        if self.database is None:
            self.database = connection.info.dbname
        return connection

    def _not_taken(self, operation: str, error: Exception) -> BackendError:
        if self._foreign is None:
            return not_connected(operation, error, self._secrets)
        import psycopg_pool

        if isinstance(error, psycopg_pool.PoolClosed):
            return BackendError(
                f"{operation} found the connection pool closed; it belongs to whoever made it",
                operation=operation,
            )
        return BackendError(
            f"{operation} got no connection to PostgreSQL within {self._timeout:g} s: the server "
            f"does not answer, or all {self._foreign.max_size} connections of the pool are in use",
            operation=operation,
            retryable=True,
        )

    def _give_back(self, lease: Lease, sound: bool) -> None:
        if lease.connection is not None and self._foreign is not None:
            # The caller's connections stay as they were.
            lease.connection.prepare_threshold = lease.threshold
        lease.end(sound=sound)

    def _connect(self) -> Connection[Any]:
        import psycopg

        patience: dict[str, Any] = {}
        if not self._parameters.get("connect_timeout") and "PGCONNECT_TIMEOUT" not in os.environ:
            patience["connect_timeout"] = max(2, math.ceil(self._timeout))
        return psycopg.connect(
            self._dsn or "",
            autocommit=True,
            prepare_threshold=self._prepare_threshold,
            **patience,
        )

    def _begin(self, connection: Connection[Any], settings: str = "") -> Cursor[Any]:
        """A cursor in a new transaction."""
        cursor = _cursor(connection)
        register_wire_vector(cursor)
        beginning = "BEGIN; " if connection.autocommit else ""
        cursor.execute(f"{beginning}{self._settings}{settings}", prepare=False)
        return cursor

    def _roll_back(self, connection: Connection[Any]) -> bool:
        """Whether the connection can be used again."""
        import psycopg
        from psycopg.pq import TransactionStatus

        try:
            connection.rollback()
        except psycopg.Error:
            return False
        status: object = connection.info.transaction_status
        return status is TransactionStatus.IDLE


class _Stream:
    """A query whose rows are fetched in parts, in a transaction that stays open between them."""

    def __init__(self, connections: Connections, operation: str, batch_size: int) -> None:
        self._connections = connections
        self._operation = operation
        self._batch_size = batch_size
        self._lease = Lease(connections._source)
        self._cursor: Any = None
        self._busy = True
        # Held while the connection is at work, and while it is taken away. Re-entrant, because the
        # garbage collector may end a scan in the very thread that is closing it.
        self._lock = threading.RLock()
        connections._streams.add(self)

    def first(self, query: str, params: dict[str, Any]) -> list[Row]:
        """Begin, and fetch the first rows."""
        with self._lock:
            connection = self._connections._take(self._lease, self._operation)
            if self._connections._prepare_threshold is None:
                connection.prepare_threshold = None

            def declare(cursor: Cursor[Any]) -> None:
                cursor.execute(
                    f"DECLARE vecstore_scan NO SCROLL CURSOR FOR {query}", params, prepare=False
                )

            try:
                self._cursor = self._connections._begin(connection)
            except Exception as error:
                if not (is_lost(error) and self._lease.reused):
                    raise self._failed(error) from error
                # The server was restarted since the connection was last used.
                self._lease.end(sound=False)
                self._lease = Lease(self._connections._source)
                if isinstance(self._connections._source, Pool):
                    self._connections._source.drop_idle()
                connection = self._connections._take(self._lease, self._operation)
                self._cursor = self._connections._begin(connection)
            try:
                declare(self._cursor)
            except Exception as error:
                raise self._failed(error) from self._connections._secrets.safe_cause(error)
            return self._fetch()

    def more(self) -> list[Row]:
        """Fetch further rows.

        Raises:
            StoreClosedError: If the connection was taken away, or belongs to another process.
        """
        with self._lock:
            if self._lease.connection is None or self._lease.pid != os.getpid():
                raise StoreClosedError(
                    "the store was closed, or the process forked, while this scan was read"
                )
            return self._fetch()

    def end(self) -> None:
        """Give the connection back; after a fetch that was broken off, it is closed."""
        import psycopg

        self._connections._streams.discard(self)
        with self._lock:
            connection = self._lease.connection
            sound = False
            if connection is not None and not self._busy and self._lease.pid == os.getpid():
                try:
                    connection.rollback()
                    sound = True
                except psycopg.Error:
                    sound = False
            self._connections._give_back(self._lease, sound)

    def close(self) -> None:
        """Take the connection from a scan that was left half-way."""
        self._connections._streams.discard(self)
        with self._lock:
            self._connections._give_back(self._lease, sound=False)

    def _fetch(self) -> list[Row]:
        self._busy = True
        try:
            self._cursor.execute(f"FETCH FORWARD {self._batch_size:d} FROM vecstore_scan")
            rows: list[Row] = self._cursor.fetchall()
        except Exception as error:
            raise self._failed(error) from self._connections._secrets.safe_cause(error)
        self._busy = False
        return rows

    def _failed(self, error: Exception) -> Exception:
        import psycopg

        if isinstance(error, psycopg.Error):
            return failed(self._operation, error, self._connections._secrets)
        return error


def _cursor(connection: Connection[Any]) -> Cursor[Any]:
    """A cursor with our own rows, whatever the connection makes."""
    import psycopg
    from psycopg.rows import tuple_row

    return psycopg.Cursor(connection, row_factory=tuple_row)


@in_forked_child
def _forget_everywhere() -> None:
    for connections in list(_everywhere):
        connections.leave_to_parent()


def _check_pool(pool: Any) -> None:
    try:
        import psycopg_pool
    except ImportError:
        fits = False
    else:
        fits = isinstance(pool, psycopg_pool.ConnectionPool)
    if not fits:
        raise ConfigurationError(
            f"pool is a psycopg_pool.ConnectionPool, not a {type(pool).__name__}"
        )


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise not_installed("the pgvector store needs psycopg", "pgvector", error) from error
    return psycopg


def _read(dsn: str | None) -> dict[str, Any]:
    """The parts of a connection string, which is read here for the first time."""
    psycopg = _driver()
    if dsn is None:
        return {}
    if not isinstance(dsn, str):
        raise ConfigurationError(f"the dsn is a text, not a {type(dsn).__name__}")
    try:
        return dict(psycopg.conninfo.conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        # The driver's words quote the string, password and all.
        raise ConfigurationError(
            "the PostgreSQL connection string cannot be read; it looks like "
            "postgresql://user@host:5432/database or host=... dbname=..."
        ) from None


# --- addresses ------------------------------------------------------------------------------------


def _index(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _threshold(text: str) -> int | None:
    return None if text.lower() == "none" else int(text)


LIBPQ_OPTIONS: Final = tuple(
    (
        "host hostaddr port user password dbname service passfile sslmode sslrootcert sslcert "
        "sslkey sslpassword sslcrl sslsni sslnegotiation ssl_min_protocol_version "
        "ssl_max_protocol_version channel_binding require_auth gssencmode krbsrvname requirepeer "
        "connect_timeout tcp_user_timeout keepalives keepalives_idle keepalives_interval "
        "keepalives_count application_name options client_encoding target_session_attrs "
        "load_balance_hosts"
    ).split()
)
"""Keywords of libpq's connection strings, handed on as they are."""
URL_OPTIONS: Final[dict[str, Any]] = {
    **dict.fromkeys(("table", "namespace", "metric"), str),
    **dict.fromkeys(("id_column", "text_column", "metadata_column"), str),
    **dict.fromkeys(("embedding_column", "extra_column"), str),
    **dict.fromkeys(("dimension", "exact_below", "pool_size", "search_effort"), int),
    **dict.fromkeys(("timeout", "statement_timeout"), float),
    **dict.fromkeys(LIBPQ_OPTIONS, str),
    "create": flag,
    "prepare_threshold": _threshold,
    "index": _index,
    "index_options": None,
    **dict.fromkeys(("columns", "batching", "schema", "where"), None),
}


def connection_string(url: StoreURL, libpq: Mapping[str, Any]) -> str:
    """What libpq connects by.

    Args:
        url: The address, whose parts give way to
        libpq: keywords of libpq. A host that starts with a slash is the folder of a socket.

    Raises:
        BackendNotInstalledError: If psycopg is missing.
        ConfigurationError: If libpq cannot read it; without a word of it, which may be secret.
    """
    psycopg = _driver()
    if url.path and not url.path.startswith("/"):
        raise ConfigurationError(
            f"after {url.scheme}: come two slashes: {url.scheme}://user@host:5432/database?table=docs"
        )
    parts = {
        "host": url.host or None,
        "port": url.port,
        "user": url.user,
        "password": url.password,
        "dbname": url.path.strip("/") or None,
        **{name: str(value) for name, value in libpq.items() if value is not None},
    }
    try:
        return str(psycopg.conninfo.make_conninfo("", **parts))
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            "libpq does not take these options of a connection; they look like "
            "postgresql://user@host:5432/database?sslmode=require"
        ) from None
