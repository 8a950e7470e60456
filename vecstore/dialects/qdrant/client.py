"""Calling Qdrant: one lock where the engine needs it, and errors without secrets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from vecstore.errors import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    VecstoreError,
)

Result = TypeVar("Result")

_RETRYABLE_STATUS = frozenset({408, 429, 500, 502, 503, 504})
_RETRYABLE_GRPC = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED"})


class Calls:
    """A Qdrant client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing ``QdrantClient``, which stays the caller's; or None for one made from
            ``options``.
        options: Arguments of ``QdrantClient``.

    Raises:
        BackendNotInstalledError: If qdrant-client is missing.
        ConfigurationError: If the client does not take the options.
    """

    def __init__(self, client: Any, options: dict[str, Any]) -> None:
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            raise BackendNotInstalledError(
                "the Qdrant store needs one more package: pip install 'vecstore-dialects[qdrant]'",
                name=error.name,
            ) from error
        if client is not None and not isinstance(client, QdrantClient):
            raise ConfigurationError(f"client is a QdrantClient, not a {type(client).__name__}")
        if client is not None and options:
            raise ConfigurationError("give the Qdrant store either a client or an address")
        if client is None and not options:
            raise ConfigurationError(
                "say where Qdrant is: url=..., host=..., path=... for a folder, or "
                'location=":memory:"'
            )
        self._own = client is None
        api_key = options.get("api_key")
        self._secret = api_key if isinstance(api_key, str) else None
        self.client: Any = client
        if client is None:
            with self.translating("open"):
                self.client = QdrantClient(**options)
        inner = type(self.client._client).__name__
        self.local = inner == "QdrantLocal"
        # Two threads inside local mode meet half-written lists and a cursor of one thread only.
        self._lock: AbstractContextManager[Any] = threading.RLock() if self.local else nullcontext()

    def __call__(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one call on the client."""
        with self.translating(operation), self._lock:
            return call(self.client)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Keep other threads out between the calls of one operation, in local mode."""
        return self._lock

    def close(self) -> None:
        """Close the client if it is our own."""
        if self._own:
            with self._lock:
                self.client.close()

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the client's errors into ours."""
        try:
            yield
        except VecstoreError:
            raise
        except TypeError as error:
            if operation != "open":
                raise
            raise ConfigurationError(f"QdrantClient: {self._redacted(str(error))}") from None
        except Exception as error:
            text = self._redacted(str(error).strip()) or type(error).__name__
            safe = self._secret is None or self._secret not in str(error)
            raise BackendError(
                f"Qdrant refused {operation}: {text}",
                operation=operation,
                retryable=_is_retryable(error),
            ) from (error if safe else None)

    def _redacted(self, text: str) -> str:
        return text if not self._secret else text.replace(self._secret, "***")


def _is_retryable(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _RETRYABLE_STATUS
    code = getattr(error, "code", None)
    if callable(code):
        return getattr(code(), "name", "") in _RETRYABLE_GRPC
    return type(error).__name__ == "ResponseHandlingException"
