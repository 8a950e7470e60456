"""Calling Redis: a client of one's own or the store's, and errors without secrets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeVar

from vecstore.errors import ConfigurationError, VecstoreError
from vecstore.store.drivers import Secrets, not_installed, refused

Result = TypeVar("Result")

_HINTS: Final = {
    "unknown command": "; the store needs the search module, which Redis has from version 8 on, "
    "and Redis Stack",
    "nknown index name": "; if somebody dropped the index, open the store anew, which makes it",
    "o such index": "; if somebody dropped the index, open the store anew, which makes it",
    "OOM": "; the server's memory is full: see its setting maxmemory",
}

_FOUND_AGAIN: Final = (
    "; the embedded server was gone, and runs again, with all that it had answered to: this call "
    "may be done or not, send it once more"
)


class Calls:
    """A client of Redis whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing client, which stays the caller's; or None for one of our own, by
        folder: where an embedded server has its data, or
        address: what ``redis.Redis`` takes to find a server.
        timeout: Seconds to wait for an answer.

    Attributes:
        client: The client.
        servers: How many embedded servers there have been, one after the other was killed.
        exclusive: Nothing, as each step is one of the server's.

    Raises:
        BackendNotInstalledError: If a package is missing.
        ConfigurationError: If the options do not fit together.
        BackendError: If an embedded server does not start.
    """

    def __init__(
        self, client: Any, *, folder: str | None, address: dict[str, Any], timeout: float
    ) -> None:
        try:
            import redis
        except ImportError as error:
            raise not_installed("the Redis store needs redis", "redis", error) from error
        if client is not None and not isinstance(client, redis.Redis):
            raise ConfigurationError(
                "client is a client of redis that is not awaited, redis.Redis(..., protocol=3), "
                f"not a {type(client).__name__}"
            )
        if [client is not None, folder is not None, bool(address)].count(True) != 1:
            raise ConfigurationError(
                "say where Redis is, in one way: host=... for a server, path=... for an embedded "
                "one in a folder, or client=..."
            )
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise ConfigurationError(f"timeout is a number of seconds above 0, not {timeout!r}")
        self._own = client is None
        self._server: Any = None
        self._address, self._timeout = address, timeout
        self._secrets = Secrets([address.get("password")])
        self.servers = 1
        self.exclusive: AbstractContextManager[Any] = nullcontext()
        if client is not None:
            _check(client)
            self.client = client
            return
        if folder is not None:
            from vecstore.dialects.redis.embedded import EmbeddedServer

            self._server = EmbeddedServer(folder)
        self.client = self._connected()

    def __call__(self, operation: str, *words: Any) -> Any:
        """Send one command.

        Raises:
            BackendError: For whatever the client raises.
        """
        return self.run(operation, lambda client: client.execute_command(*words))

    def run(self, operation: str, work: Callable[[Any], Result]) -> Result:
        """Run something on the client.

        Raises:
            BackendError: For whatever the client raises.
        """
        import redis

        try:
            return self._worked(work)
        except VecstoreError:
            raise
        except Exception as error:
            hint = next((hint for told, hint in _HINTS.items() if told in str(error)), "")
            if isinstance(error, redis.ConnectionError) and self._found_again():
                hint = _FOUND_AGAIN
            passing = (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError)
            failure = refused(
                "Redis",
                operation,
                error,
                self._secrets,
                retryable=isinstance(error, (*passing, OSError))
                and not isinstance(error, redis.AuthenticationError),
                hint=hint,
            )
            raise failure from self._secrets.safe_cause(error)

    def _worked(self, work: Callable[[Any], Result]) -> Result:
        import redis

        try:
            return work(self.client)
        except (redis.ResponseError, VecstoreError):
            raise  # the answer was read to its end
        except BaseException:
            # A signal may come between sending and reading, and the connection is then back in the
            # pool with an answer on its way, which the next call would take for its own.
            self.client.connection_pool.disconnect(inuse_connections=False)
            raise

    def _found_again(self) -> bool:
        """Whether the embedded server was gone, and the next call goes to another one."""
        if self._server is None or not self._server.look_again():
            return False
        gone, self.client = self.client, self._connected()
        gone.close()
        self.servers += 1
        return True

    def close(self) -> None:
        """Close the client if it is our own, and let go of an embedded server."""
        if self._own:
            self.client.close()
        if self._server is not None:
            self._server.close()

    def after_fork(self) -> None:
        """In a forked child: use an embedded server as one more process, and connect anew."""
        if self._server is not None:
            self._server.renew()
        if self._own:  # others' clients see to it themselves
            self.client = self._connected()

    def _connected(self) -> Any:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        address = self._address
        if self._server is not None:
            address = {"unix_socket_path": self._server.socket}
        return redis.Redis(
            **address,
            protocol=3,
            socket_timeout=self._timeout,
            socket_connect_timeout=min(self._timeout, 10),
            # What was sent may have been done: it is for the caller to send it once more.
            retry=Retry(NoBackoff(), 0),
        )


def _check(client: Any) -> None:
    settings = client.connection_pool.connection_kwargs
    faults = []
    if settings.get("decode_responses"):
        faults.append("it makes texts of what it reads (decode_responses=True)")
    if str(settings.get("protocol")) != "3":
        faults.append("it does not speak RESP3 (protocol=3)")
    if settings.get("db"):
        faults.append("it is in another database than 0, in which Redis has indexes")
    if faults:
        raise ConfigurationError(
            f"this client cannot be used: {'; '.join(faults)}; write client=redis.Redis(..., "
            "protocol=3)"
        )
