"""Calling Milvus: one lock around milvus-lite, and errors without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from vecstore.dialects.milvus.engine import LITE_TIMEOUT, LiteEngine, lite_engines
from vecstore.errors import BackendError, ConfigurationError, StoreClosedError, VecstoreError
from vecstore.store.drivers import Secrets, has_passing_grpc_code, not_installed, refused
from vecstore.store.threads import CallThreads, Overdue

Result = TypeVar("Result")

TIMEOUT: Final = 60.0
"""Seconds for one call to a server; without a bound the client would try again for hours."""

_RATE_LIMIT = 8
_LITE = "milvus_lite"
# A call of the client is a few requests, each with the time of one.
_REQUESTS = 3
_FORKS = "GRPC_ENABLE_FORK_SUPPORT"
# Of gRPC: never ask an idle connection whether it lives. milvus-lite is in this process, and its
# server throws off, with a line on the terminal, whoever asks it as often as pymilvus does.
_QUIET = {"grpc.keepalive_time_ms": 2**31 - 1}
_FINE = frozenset({4, 6, 35, 100, 101, 200, 700})
"""Codes of milvus-lite for calls that it refused before it wrote: of what is missing or invalid."""


def _is_file(uri: str) -> bool:
    """Whether milvus-lite answers at an address, and not a server."""
    return uri.endswith(".db")


class Calls:
    """A Milvus client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing ``MilvusClient``, which stays the caller's; or
        uri: the address of a server, or the path of a milvus-lite file, which ends with ``.db``.
        token: For a server that wants one: an API key, or ``user:password``.
        database: Name of the database.
        timeout: Seconds for one call.

    Attributes:
        client: The ``MilvusClient``.
        lite: Whether it is milvus-lite that answers.
        exclusive: A context in which nobody else of this process calls the same milvus-lite.
        timeout: What the client is told; None with milvus-lite, whose calls end when they end.

    Raises:
        BackendNotInstalledError: If pymilvus, or for a file milvus-lite, is missing.
        ConfigurationError: If there is no way to reach a server by these.
        BackendError: If the server does not answer, or the file cannot be opened.
    """

    def __init__(
        self, client: Any, uri: str | None, token: str | None, database: str, timeout: float | None
    ) -> None:
        try:
            from pymilvus import MilvusClient
        except ImportError as error:
            extra = "milvus-embedded" if uri is not None and _is_file(uri) else "milvus"
            raise not_installed("the Milvus store needs pymilvus", extra, error) from error
        if client is not None and not isinstance(client, MilvusClient):
            raise ConfigurationError(f"client is a MilvusClient, not a {type(client).__name__}")
        if (client is None) == (uri is None):
            raise ConfigurationError(
                "give the Milvus store either an address or a client: uri='http://localhost:19530'"
                ", uri='docs.db' for a milvus-lite file, or client=MilvusClient(...)"
            )
        password = (token or "").partition(":")[2]
        self._secrets = Secrets([token, password])
        self._own = client is None
        self._engine: LiteEngine | None = None
        self._threads = CallThreads(single=False)
        self._pid = os.getpid()
        self.exclusive: Any = nullcontext()
        self._options: dict[str, Any] = {"token": token or "", "db_name": database}
        self._uri = uri
        self.client: Any = client
        self.lite = False
        self.timeout: float | None = timeout or TIMEOUT
        self._deadline = _REQUESTS * (timeout or TIMEOUT)
        try:
            if uri is not None:
                self._connect(uri)
            version = str(
                self("open", lambda client: client.get_server_version(timeout=self.timeout))
            )
            if version.startswith(_LITE):
                # A request that ran out of time would go on in the engine beside the next one.
                self.timeout = None
                self._deadline = timeout or LITE_TIMEOUT
                self._join()
        except BaseException:
            self.close()
            raise

    def __call__(
        self, operation: str, call: Callable[[Any], Result], *, writing: bool = False
    ) -> Result:
        """Run one call on the client.

        Args:
            operation: What the caller does, for errors.
            call: Gets the client.
            writing: Whether it changes rows.
        """
        if os.getpid() != self._pid:
            self.after_fork()
        engine = self._engine

        def work() -> Result:
            if engine is None or not writing:
                return call(self.client)
            # Here, in the thread of the engine: the write before may have ended only now.
            engine.check_writable()
            try:
                return call(self.client)
            except Exception as error:
                if _may_have_broken(error):
                    engine.fault = self._secrets.redacted(_told(error))
                raise

        with self._translating(operation), self.exclusive:
            return self._threads.run(work, self._deadline)

    def close(self) -> None:
        """Close the client if it is our own."""
        if os.getpid() != self._pid:
            return
        client, engine = self.client, self._engine
        if self._own and client is not None:
            with self._translating("close"), suppress(Overdue):
                self._threads.run(client.close, self._deadline)
        self._engine = None
        if engine is not None:
            lite_engines.leave(engine)
        else:
            self._threads.close()

    def after_fork(self) -> None:
        """In a forked child: open a connection of its own.

        Raises:
            StoreClosedError: If there is no way to, as with milvus-lite.
        """
        if self._engine is not None and self._engine.path is not None:
            self._engine.check_process()
        if not self._own or self._uri is None:
            raise StoreClosedError(
                "the client of this store was opened before the process was forked, and "
                "connections do not outlive that; make the client and the store in the child"
            )
        if os.environ.get(_FORKS, "").lower() not in ("1", "true", "yes"):
            raise StoreClosedError(
                "this process was forked from one that has a connection to Milvus open, and gRPC "
                f"then reaches nothing; set {_FORKS}=1 in the environment before Python starts, "
                "start processes by spawn, or open the first store after the fork"
            )
        self._threads = CallThreads(single=False)
        self._pid = os.getpid()
        self._engine = None
        self.exclusive = nullcontext()
        self._connect(self._uri)
        if self.lite:  # one that another process has
            self._join()

    def _connect(self, uri: str) -> None:
        from pymilvus import MilvusClient

        if _is_file(uri):
            try:
                import milvus_lite
            except ImportError as error:
                reason = f"a Milvus file such as {Path(uri).name} needs milvus-lite"
                raise not_installed(reason, "milvus-embedded", error) from error
            del milvus_lite
            with self._translating("open"):
                address = lite_engines.open(Path(uri).absolute())
            self._engine = lite_engines.join(address)
            self._threads.close()
            self._threads = self._engine.threads
            uri = f"http://{address}"
            self._options["grpc_options"] = _QUIET
        options = {**self._options, "timeout": self.timeout}

        def connect() -> Any:
            return MilvusClient(uri, dedicated=True, **options)

        with self._translating("open"):
            self.client = self._threads.run(connect, self._deadline)

    def _join(self) -> None:
        self.lite = True
        if self._engine is None:
            self._engine = lite_engines.join(self.client._config.address)
            self._threads.close()
            self._threads = self._engine.threads
        self.exclusive = self._engine.lock

    @contextmanager
    def _translating(self, operation: str) -> Iterator[None]:
        """Turn the client's errors into ours."""
        try:
            yield
        except VecstoreError:
            raise
        except Overdue:
            raise BackendError(
                f"milvus-lite has not ended {operation} after {self._deadline:g} s (timeout); it "
                "may still be at it, and other calls wait for that"
                if self.lite
                else f"Milvus has not answered {operation} after {self._deadline:g} s",
                operation=operation,
                retryable=True,
            ) from None
        except Exception as error:
            failure = refused(
                "Milvus",
                operation,
                error,
                self._secrets,
                retryable=_is_retryable(error),
                told=_told(error),
            )
            raise failure from self._secrets.safe_cause(error)


def _told(error: Exception) -> str:
    return str(getattr(error, "message", "") or error).strip() or type(error).__name__


def _may_have_broken(error: Exception) -> bool:
    """Whether milvus-lite may have failed in the middle of a write.

    The client raises subclasses for what it refuses itself.
    """
    from pymilvus.exceptions import MilvusException

    if isinstance(error, MilvusException):
        codes = {error.code, error.compatible_code}
        return type(error) is MilvusException and not codes & _FINE
    return callable(getattr(error, "code", None))  # of gRPC


def _is_retryable(error: Exception) -> bool:
    return bool(
        getattr(error, "retriable", False)
        or getattr(error, "code", None) == _RATE_LIMIT
        or type(error).__name__ == "MilvusUnavailableException"
        or has_passing_grpc_code(error)
        # A server that cannot be reached when the store opens has no code but "unexpected".
        or "connect" in str(error).lower()
    )
