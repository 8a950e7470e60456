"""Calling Qdrant: one lock where the engine needs it, and errors without secrets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar
from urllib.parse import urlsplit

from vecstore.dialects.qdrant.folders import LocalEngine, close_engine, engine_of, open_folder
from vecstore.errors import ConfigurationError, StoreClosedError, VecstoreError
from vecstore.store.drivers import Secrets, has_passing_grpc_code, not_installed, refused
from vecstore.store.threads import CallThreads

Result = TypeVar("Result")

_READING = frozenset({"search", "get", "count", "scan"})
"""What leaves nothing half done in local mode, wherever it is broken off."""
_RETRYABLE_STATUS = frozenset({408, 429, 500, 502, 503, 504})


class Calls:
    """A Qdrant client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing ``QdrantClient``, which stays the caller's; or None for one made from
            ``options``.
        options: Arguments of ``QdrantClient``.

    Attributes:
        client: The ``QdrantClient``.
        local: Whether the client is its own engine, in local mode.
        exclusive: A context that in local mode keeps other threads out, between the calls of one
            operation as well.

    Raises:
        BackendNotInstalledError: If qdrant-client is missing.
        ConfigurationError: If the client does not take the options.
    """

    def __init__(self, client: Any, options: dict[str, Any]) -> None:
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            needed = "the Qdrant store needs one more package"
            raise not_installed(needed, "qdrant", error) from error
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
        self._secrets = Secrets([api_key if isinstance(api_key, str) else None])
        self._engine: LocalEngine | None = None
        self.exclusive: AbstractContextManager[Any] = nullcontext()
        self._threads = CallThreads(single=True)
        self.local = False
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
        if self._engine is not None:
            self.exclusive = self._engine.lock
            self._threads = self._engine.threads

    def __call__(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one call on the client.

        Raises:
            BackendError: For whatever the client raises.
            ConfigurationError: If it is for the options, when the store opens.
        """
        try:
            with self.exclusive:
                if self.local and operation in _READING:
                    return call(self.client)
                return self._threads.run_whole(lambda: call(self.client))
        except VecstoreError:
            raise
        except Exception as error:
            if operation == "open" and isinstance(error, TypeError | ValueError):
                told = self._secrets.redacted(str(error).strip()) or type(error).__name__
                raise ConfigurationError(f"QdrantClient: {told}") from None
            retryable = _is_retryable(error)
            hint = self._where() if operation == "open" and retryable else ""
            failure = refused(
                "Qdrant", operation, error, self._secrets, retryable=retryable, hint=hint
            )
            raise failure from self._secrets.safe_cause(error)

    def _where(self) -> str:
        """Where no server answered, without what else an address may hold."""
        parts = urlsplit(str(self._options.get("url") or f"//{self._options.get('host') or ''}"))
        host = parts.netloc.rpartition("@")[2]
        return f"; start the server at {host}, or say where it is" if host else ""

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
            self._threads.close()
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

        options = {**self._options, "check_compatibility": False}
        self.client = self("open", lambda _: QdrantClient(**options))


_forgotten: list[Any] = []
"""Clients that a forked child inherited: collecting one would end its parent's connections."""


def _is_retryable(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _RETRYABLE_STATUS
    return has_passing_grpc_code(error) or type(error).__name__ == "ResponseHandlingException"
