"""Connections to PostgreSQL: a pool of our own or the caller's, and errors without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vecstore.errors import BackendError, BackendNotInstalledError, ConfigurationError

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg_pool import ConnectionPool

_RETRYABLE_STATES = ("08", "40", "53", "57P")
_MISSING_EXTENSION = (
    "the database has no extension vector; let an administrator run CREATE EXTENSION vector, or "
    "open the store with create=True as a role that may"
)


class Connections:
    """Where cursors come from: each is one transaction on a pooled connection.

    Args:
        dsn: A libpq connection string or URL, for a pool of our own; or
        pool: an open ``psycopg_pool.ConnectionPool`` that stays the caller's.
        pool_size: Connections that a pool of our own opens at most.
        timeout: Seconds to wait for a free connection.
        statement_timeout: Seconds that one statement may run; None leaves the server's setting.

    Raises:
        BackendNotInstalledError: If psycopg, psycopg-pool or pgvector is missing.
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
    ) -> None:
        try:
            import pgvector
            import psycopg_pool
        except ImportError as error:
            raise BackendNotInstalledError(
                "the pgvector store needs psycopg, psycopg-pool and pgvector: "
                "pip install 'vecstore-dialects[pgvector]'",
                name=error.name,
            ) from error
        del pgvector
        if (dsn is None) == (pool is None):
            raise ConfigurationError("give the pgvector store either a dsn or a pool")
        if pool is not None and not isinstance(pool, psycopg_pool.ConnectionPool):
            raise ConfigurationError(
                f"pool is a psycopg_pool.ConnectionPool, not a {type(pool).__name__}"
            )
        self._own = pool is None
        self._timeout = timeout
        self._statement_timeout = statement_timeout
        self._vector_type: Any = None
        self._closed = False
        self._streams: set[Any] = set()
        self.database: str | None = None
        """The database's name, once it has been connected to."""
        self._secrets = _secrets(dsn)
        self.pool: ConnectionPool = pool or psycopg_pool.ConnectionPool(
            dsn or "",
            min_size=0,
            max_size=pool_size,
            timeout=timeout,
            kwargs={"autocommit": True},
            open=True,
            name="vecstore",
        )

    @contextmanager
    def transaction(self, operation: str) -> Iterator[Cursor[Any]]:
        """A cursor in a transaction of its own, which ends with the block.

        Raises:
            BackendError: For whatever the driver raises inside the block.
        """
        with (
            self.translating(operation),
            self.pool.connection(timeout=self._timeout) as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            self._prepare(cursor)
            yield cursor

    @contextmanager
    def streaming(self, operation: str, batch_size: int) -> Iterator[Cursor[Any]]:
        """A cursor on the server's side, from which rows are fetched ``batch_size`` at a time."""
        import psycopg

        with (
            self.translating(operation),
            self.pool.connection(timeout=self._timeout) as connection,
        ):
            self._streams.add(connection)
            try:
                with connection.transaction():
                    with connection.cursor() as cursor:
                        self._prepare(cursor)
                    with connection.cursor(name="vecstore_scan") as rows:
                        rows.itersize = batch_size
                        self._adapt(rows)
                        yield rows
            except psycopg.OperationalError:
                # Closing the store takes the connection from a scan that was left half-way.
                if not (self._closed and connection.closed):
                    raise
            finally:
                self._streams.discard(connection)

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the driver's errors into ours, without a word of the connection string."""
        import psycopg
        import psycopg_pool

        try:
            yield
        except psycopg_pool.PoolTimeout as error:
            raise BackendError(
                f"{operation} got no connection to PostgreSQL within {self._timeout:g} s: the "
                f"server does not answer, or all {self.pool.max_size} connections of the pool are "
                "in use (pool_size, timeout)",
                operation=operation,
                retryable=True,
            ) from self._safe_cause(error)
        except psycopg_pool.PoolClosed as error:
            raise BackendError(
                f"{operation} found the connection pool closed; it belongs to whoever made it",
                operation=operation,
            ) from error
        except psycopg.Error as error:
            if isinstance(error, psycopg.OperationalError) and not error.sqlstate:
                # The server went away: let the pool find out which others are dead, too.
                self._drop_dead_connections()
            state = error.sqlstate or ""
            lost = isinstance(error, psycopg.OperationalError) and not state
            raise BackendError(
                f"PostgreSQL refused {operation}: {self._redacted(str(error))}",
                operation=operation,
                retryable=lost or state.startswith(_RETRYABLE_STATES),
            ) from self._safe_cause(error)

    def close(self) -> None:
        """Close the pool if it is our own, and end scans that were left half-way."""
        self._closed = True
        if self._own:
            for connection in list(self._streams):
                connection.close()
            self.pool.close()

    def _prepare(self, cursor: Cursor[Any]) -> None:
        if self._statement_timeout is not None:
            milliseconds = max(1, round(self._statement_timeout * 1_000))
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
        if self.database is None:
            self.database = cursor.connection.info.dbname
        self._adapt(cursor)

    def _adapt(self, cursor: Any) -> None:
        """Teach the cursor the vector type; the connection may be shared and stays as it is."""
        if self._vector_type is not None:
            from pgvector.psycopg.vector import register_vector_info

            register_vector_info(cursor, self._vector_type)

    def learn_vector_type(self, cursor: Cursor[Any]) -> None:
        """Ask the server once what number its vector type has.

        Raises:
            ConfigurationError: If the extension is not there.
        """
        from psycopg.types import TypeInfo

        if self._vector_type is None:
            self._vector_type = TypeInfo.fetch(cursor.connection, "vector")
            if self._vector_type is None:
                raise ConfigurationError(_MISSING_EXTENSION)
        self._adapt(cursor)

    def _drop_dead_connections(self) -> None:
        import psycopg
        import psycopg_pool

        try:
            self.pool.check()
        except (psycopg.Error, psycopg_pool.PoolTimeout):
            return

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _safe_cause(self, error: Exception) -> Exception | None:
        """The driver's error as the cause, unless its text tells a secret."""
        return None if self._redacted(str(error)) != str(error) else error


def _secrets(dsn: str | None) -> list[str]:
    """The passwords in a connection string, which is read here for the first time."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    if dsn is None:
        return []
    if not isinstance(dsn, str):
        raise ConfigurationError(f"the dsn is a text, not a {type(dsn).__name__}")
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The driver's words quote the string, password and all.
        raise ConfigurationError(
            "the PostgreSQL connection string cannot be read; it looks like "
            "postgresql://user@host:5432/database or host=... dbname=..."
        ) from None
    return [str(parts[name]) for name in ("password", "sslpassword") if parts.get(name)]
