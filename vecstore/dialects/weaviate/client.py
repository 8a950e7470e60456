"""Calling Weaviate: errors without secrets, and no word of what is stored in anybody's log."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from vecstore.errors import BackendError, ConfigurationError, StoreClosedError, VecstoreError
from vecstore.store.drivers import Secrets, has_passing_grpc_code, not_installed, refused
from vecstore.store.threads import CallThreads, Overdue

Result = TypeVar("Result")

TIMEOUT: Final = 30.0
"""Seconds for one request."""

GRPC_PORT: Final = 50_051

_OLDEST = (1, 29)
"""Servers before count over an interface of their own."""
_MESSAGE_BYTES = 10_485_760
"""What a server takes that does not say; the client's own default is ten times that."""
_FORKS = "GRPC_ENABLE_FORK_SUPPORT"
_SLACK = 5.0
_RETRYABLE_STATUS = frozenset({408, 429, 500, 502, 503, 504})
_PASSING = frozenset(
    {
        "WeaviateRetryError",
        "WeaviateConnectionError",
        "WeaviateTimeoutError",
        "WeaviateStartUpError",
        "WeaviateGRPCUnavailableError",
    }
)


class AnswerTooLarge(BackendError):
    """An answer, or a request, does not fit into one message of gRPC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server is.

    Attributes:
        url: Of its REST interface.
        grpc_host: Host of its gRPC interface; None for the same, and in Weaviate's cloud for the
            one that goes with it.
        grpc_port: Its port; None for the usual one.
        api_key: For a server that wants one.
    """

    url: str
    grpc_host: str | None = None
    grpc_port: int | None = None
    api_key: str | None = field(default=None, repr=False)

    def client(self, timeout: float) -> Any:
        """A client that is not connected yet.

        Raises:
            ConfigurationError: If this is no address.
        """
        import weaviate
        from weaviate.classes.init import AdditionalConfig, Auth, Timeout
        from weaviate.connect import ConnectionParams

        parts = urlsplit(self.url)
        host, secure = parts.hostname, parts.scheme == "https"
        if (
            parts.scheme not in ("http", "https")
            or not host
            or parts.path.strip("/")
            or parts.username is not None
        ):
            raise ConfigurationError(
                "url is the address of Weaviate's REST interface, such as http://localhost:8080, "
                "without a user or a path; a key goes into api_key=..."
            )
        grpc_host, grpc_port = self.grpc_place()
        return weaviate.WeaviateClient(
            ConnectionParams.from_params(
                http_host=_bracketed(host),
                http_port=parts.port or (443 if secure else 80),
                http_secure=secure,
                grpc_host=_bracketed(grpc_host),
                grpc_port=grpc_port,
                grpc_secure=secure,
            ),
            auth_client_secret=None if self.api_key is None else Auth.api_key(self.api_key),
            additional_config=AdditionalConfig(
                timeout=Timeout(init=timeout, query=timeout, insert=timeout)
            ),
            skip_init_checks=True,  # one of them asks the package index for the newest version
        )

    def grpc_place(self) -> tuple[str, int]:
        """Host and port of the gRPC interface.

        Example:
            >>> ServerAddress(url="https://docs.c0.europe.gcp.weaviate.cloud").grpc_place()
            ('grpc-docs.c0.europe.gcp.weaviate.cloud', 443)
            >>> ServerAddress(url="http://localhost:8080").grpc_place()
            ('localhost', 50051)
        """
        host = urlsplit(self.url).hostname or ""
        if host.endswith(".weaviate.network"):
            name, _, domain = host.partition(".")
            usual, port = f"{name}.grpc.{domain}", 443
        elif host.endswith((".weaviate.cloud", ".weaviate.io")):
            usual, port = f"grpc-{host}", 443
        else:
            usual, port = host, GRPC_PORT
        return self.grpc_host or usual, self.grpc_port or port


class Calls:
    """A Weaviate client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: A ``WeaviateClient`` that is connected, which stays the caller's; or
        address: of the server.
        timeout: Seconds for one request.

    Attributes:
        client: The ``WeaviateClient``.
        message_bytes: The longest message that the server takes and sends.

    Raises:
        BackendNotInstalledError: If weaviate-client is missing.
        ConfigurationError: If there is no way to reach a server by these.
        BackendError: If the server does not answer.
    """

    exclusive: AbstractContextManager[Any] = nullcontext()

    def __init__(self, client: Any, address: ServerAddress | None, timeout: float) -> None:
        try:
            import weaviate
        except ImportError as error:
            reason = "the Weaviate store needs weaviate-client"
            raise not_installed(reason, "weaviate", error) from error
        if (client is None) == (address is None):
            raise ConfigurationError(
                "give the Weaviate store either an address or a client: "
                "url='http://localhost:8080', or client=weaviate.connect_to_local()"
            )
        if client is not None and not isinstance(client, weaviate.WeaviateClient):
            raise ConfigurationError(
                f"client is a weaviate.WeaviateClient, not a {type(client).__name__}"
            )
        if client is not None and not client.is_connected():
            raise ConfigurationError("client is connected first: client.connect()")
        self._address = address
        self._secrets = Secrets([None if address is None else address.api_key])
        self._threads = CallThreads(single=False)
        self._pid = os.getpid()
        self._deadline = timeout + _SLACK
        self._timeout = timeout
        self.client: Any = client
        self.message_bytes = _MESSAGE_BYTES
        _silence()
        try:
            if address is not None:
                self._connect(address)
            self._look_at_server()
        except BaseException:
            self.close()
            raise

    def __call__(
        self,
        operation: str,
        call: Callable[[Any], Result],
        *,
        writing: bool = False,
        deadline: float | None = None,
    ) -> Result:
        """Run one call on the client.

        The client tries again what a server that is away did not get, for up to a minute, and
        cannot be told not to. A call that reads is left after its deadline; one that writes is
        waited for, because what is left would still write.

        Args:
            operation: What the caller does, for errors.
            call: Gets the client.
            writing: Whether it changes objects.
            deadline: Seconds to wait for one that reads.
        """
        if os.getpid() != self._pid:
            self.after_fork()

        def work() -> Result:
            before = _quiet.set(True)
            try:
                return call(self.client)
            except VecstoreError:
                raise
            except Exception as error:
                # Here, where its context is still what it was raised in: gRPC's own error.
                raise self._failure(operation, error) from self._secrets.safe_cause(error)
            finally:
                _quiet.reset(before)

        wait = deadline or self._deadline
        if writing:
            return self._threads.run_whole(work)
        try:
            return self._threads.run(work, wait)
        except Overdue:
            raise BackendError(
                f"Weaviate has not answered {operation} after {wait:g} s",
                operation=operation,
                retryable=True,
            ) from None

    def redacted(self, text: str) -> str:
        """A text without the key."""
        return self._secrets.redacted(text)

    def close(self) -> None:
        """Close the client if it is our own."""
        if os.getpid() != self._pid:
            return
        if self._address is not None and self.client is not None:
            self("close", lambda client: client.close(), writing=True)
        self._threads.close()

    def after_fork(self) -> None:
        """In a forked child: open a connection of its own.

        Raises:
            StoreClosedError: If there is no way to.
        """
        if self._address is None:
            raise StoreClosedError(
                "the client of this store was opened before the process was forked, and "
                "connections do not outlive that; make the client and the store in the child"
            )
        if os.environ.get(_FORKS, "").lower() not in ("1", "true", "yes"):
            raise StoreClosedError(
                "this process was forked from one that has a connection to Weaviate open, and gRPC "
                f"then reaches nothing; set {_FORKS}=1 in the environment before Python starts, "
                "start processes by spawn, or open the first store after the fork"
            )
        _forgotten.append(self.client)
        self.client = None
        self._threads = CallThreads(single=False)
        self._pid = os.getpid()
        self._connect(self._address)

    def _connect(self, address: ServerAddress) -> None:
        try:
            self.client = address.client(self._timeout)
            host, port = address.grpc_place()
        except (ValueError, TypeError) as error:
            told = self._secrets.redacted(str(error).strip())
            raise ConfigurationError(f"this is no address of Weaviate: {told}") from None
        try:
            self("open", lambda client: client.connect(), writing=True)
        except BackendError as error:
            reason = _unreachable(error)
            if reason is None:
                raise
            raise BackendError(
                f"no Weaviate answers at {address.url} ({reason}); start the server there, or say "
                "where it is",
                operation="open",
                retryable=True,
            ) from error.__cause__
        # The client would find out with the first search, and try for a minute.
        try:
            socket.create_connection((host, port), self._timeout).close()
        except OSError as error:
            raise BackendError(
                f"Weaviate answers at {address.url}, and its gRPC interface at {host}:{port} does "
                f"not ({error.strerror or error}); say where it is: grpc_host=..., grpc_port=...",
                operation="open",
                retryable=True,
            ) from error

    def _look_at_server(self) -> None:
        meta = self("open", lambda client: client.get_meta())
        version = str(meta.get("version", ""))
        numbers = tuple([int(part) for part in version.split(".")[:2] if part.isdecimal()])
        if len(numbers) == 2 and numbers < _OLDEST:
            raise ConfigurationError(
                f"this Weaviate is version {version}; the store needs "
                f"{'.'.join(map(str, _OLDEST))} or later"
            )
        self.message_bytes = int(meta.get("grpcMaxMessageSize") or _MESSAGE_BYTES)

    def _failure(self, operation: str, error: Exception) -> BackendError:
        if _is_too_large(error):
            told = self._secrets.redacted(_told(error))
            return AnswerTooLarge(f"Weaviate refused {operation}: {told}", operation=operation)
        return refused(
            "Weaviate",
            operation,
            error,
            self._secrets,
            retryable=_is_retryable(error),
            told=_told(error),
        )


_forgotten: list[Any] = []
"""Clients that a forked child inherited: collecting one would end its parent's connections."""

_quiet: ContextVar[bool] = ContextVar("vecstore_weaviate_quiet", default=False)


class _Quiet(logging.Filter):
    """Keeps the client from logging what it does for a store: texts and metadata are in there."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()


_quietly: Final = _Quiet()


def _silence() -> None:
    from weaviate.logger import logger

    logger.addFilter(_quietly)  # once, however often


def _bracketed(host: str) -> str:
    """A host as it stands before a port: an address with colons in brackets."""
    return f"[{host}]" if ":" in host else host


def _told(error: Exception) -> str:
    return str(getattr(error, "message", "") or error).strip() or type(error).__name__


def _origins(error: BaseException | None) -> list[BaseException]:
    """An error and those that it stands for: the client wraps what gRPC raises."""
    found: list[BaseException] = []
    while error is not None and len(found) < 5:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _is_too_large(error: Exception) -> bool:
    return any(
        getattr(code() if callable(code := getattr(one, "code", None)) else None, "name", "")
        == "RESOURCE_EXHAUSTED"
        for one in _origins(error)
    ) and "larger than max" in _told(error)


def _unreachable(error: BackendError) -> str | None:
    """Why nothing answered; None where something did."""
    from httpx import TimeoutException, TransportError

    for one in _origins(error):
        if isinstance(one, TimeoutException):
            return "it takes too long"
        if isinstance(one, TransportError):
            return str(one) or type(one).__name__
    return None


def _is_retryable(error: Exception) -> bool:
    from httpx import TransportError

    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 100:  # below are codes of gRPC
        return status in _RETRYABLE_STATUS
    return any(
        type(one).__name__ in _PASSING
        or isinstance(one, TransportError)
        or (isinstance(one, Exception) and has_passing_grpc_code(one))
        for one in _origins(error)
    )
