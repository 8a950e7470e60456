"""Calling Qdrant: one lock where the engine needs it, and errors without secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from vecstore.dialects.qdrant.folders import LocalEngine, close_engine, engine_of, open_folder
from vecstore.errors import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    StoreClosedError,
    VecstoreError,
)
from vecstore.installing import install_line

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
                f"the Qdrant store needs one more package: {install_line('qdrant')}",
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
        self._options = options
        api_key = options.get("api_key")
        self._secret = api_key if isinstance(api_key, str) else None
        self._engine: LocalEngine | None = None
        self.client: Any = client
        if client is None and set(options) == {"path"}:
            self._engine = open_folder(options["path"])
            self.client = self._engine.client
        elif client is None:
            self._connect()
        self.local = type(self.client._client).__name__ == "QdrantLocal"
        if self.local and self._engine is None:
            self._engine = engine_of(self.client)
            self._engine.users += self._own

    def __call__(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one call on the client."""
        with self.translating(operation), self.exclusive():
            return call(self.client)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Keep other threads out between the calls of one operation, in local mode."""
        return nullcontext() if self._engine is None else self._engine.lock

    @property
    def in_memory(self) -> bool:
        """Whether the collections are gone with this process."""
        return self._engine is not None and self._engine.folder is None

    def close(self) -> None:
        """Close the client if it is our own and nobody else uses it."""
        if not self._own:
            return
        if self._engine is None:
            self.client.close()
        else:
            close_engine(self._engine)

    def after_fork(self) -> None:
        """Forget what a child must not share with its parent, and connect anew.

        Raises:
            StoreClosedError: If the child cannot have the engine.
        """
        if self._engine is not None:
            # A copy in memory is the child's own, as long as nobody was writing to it.
            if self._engine.folder is not None or not self._engine.lock.acquire(blocking=False):
                raise StoreClosedError(
                    "this process was forked from one that has the store open, and a local Qdrant "
                    "cannot be shared; open the store in the child alone, or use a server"
                )
            self._engine.lock.release()
        elif self._own:
            _forgotten.append(self.client)
            self._connect()
        else:
            raise StoreClosedError(
                "this process was forked, and the connections of a Qdrant client do not survive "
                "that; make a client and a store in the child"
            )

    def _connect(self) -> None:
        from qdrant_client import QdrantClient

        with self.translating("open"):
            self.client = QdrantClient(**self._options, check_compatibility=False)

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the client's errors into ours."""
        try:
            yield
        except VecstoreError:
            raise
        except Exception as error:
            text = self._redacted(str(error).strip()) or type(error).__name__
            if operation == "open" and isinstance(error, TypeError | ValueError):
                raise ConfigurationError(f"QdrantClient: {text}") from None
            safe = self._secret is None or self._secret not in str(error)
            raise BackendError(
                f"Qdrant refused {operation}: {text}",
                operation=operation,
                retryable=_is_retryable(error),
            ) from (error if safe else None)

    def _redacted(self, text: str) -> str:
        return text if not self._secret else text.replace(self._secret, "***")


_forgotten: list[Any] = []
"""Clients that a forked child inherited: collecting one would end its parent's connections."""


def _is_retryable(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _RETRYABLE_STATUS
    code = getattr(error, "code", None)
    if callable(code):
        return getattr(code(), "name", "") in _RETRYABLE_GRPC
    return type(error).__name__ == "ResponseHandlingException"
