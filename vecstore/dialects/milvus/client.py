"""Calling Milvus: one lock around milvus-lite, and errors without secrets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeVar

from vecstore.errors import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    VecstoreError,
)

Result = TypeVar("Result")

TIMEOUT: Final = 60.0
"""Seconds for one call to a server; without a bound the client would try again for hours."""

_RATE_LIMIT = 8
_RETRYABLE_GRPC = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED"})
_LITE = "milvus_lite"


class LiteFiles:
    """The milvus-lite files that stores of this process have open.

    A file is served by threads of this process and locked against others, and the client leaves it
    so until the process ends. Here the last store that closes lets go of it.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._users: dict[Path, int] = {}
        self._locks: dict[str, threading.RLock] = {}

    def lock(self, address: str) -> threading.RLock:
        """The lock for one milvus-lite: it takes several readers or one writer."""
        with self._guard:
            return self._locks.setdefault(address, threading.RLock())

    @contextmanager
    def opening(self, path: Path) -> Iterator[None]:
        """Count one more user of a file, if the block does not fail."""
        from milvus_lite.server_manager import server_manager_instance

        with self._guard:
            served = str(path) in server_manager_instance._servers
            yield
            if path in self._users or not served:
                self._users[path] = self._users.get(path, 0) + 1

    def close(self, path: Path) -> None:
        """Count one user less; the file is let go with the last one."""
        from milvus_lite.server_manager import server_manager_instance

        with self._guard:
            if path not in self._users:
                return  # a client of somebody else's had opened it before
            self._users[path] -= 1
            if not self._users[path]:
                del self._users[path]
                server_manager_instance.release_server(str(path))


_lite_files: Final = LiteFiles()


class Calls:
    """A Milvus client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing ``MilvusClient``, which stays the caller's; or
        uri: the address of a server, or the path of a milvus-lite file, which ends with ``.db``.
        token: For a server that wants one: an API key, or ``user:password``.
        database: Name of the database.
        timeout: Seconds for one call.

    Raises:
        BackendNotInstalledError: If pymilvus, or for a file milvus-lite, is missing.
        ConfigurationError: If there is no way to reach a server by these.
        BackendError: If the server does not answer.
    """

    def __init__(
        self, client: Any, uri: str | None, token: str | None, database: str, timeout: float | None
    ) -> None:
        try:
            from pymilvus import MilvusClient
        except ImportError as error:
            raise _not_installed("milvus", "the Milvus store needs pymilvus", error) from error
        if client is not None and not isinstance(client, MilvusClient):
            raise ConfigurationError(f"client is a MilvusClient, not a {type(client).__name__}")
        if (client is None) == (uri is None):
            raise ConfigurationError(
                "give the Milvus store either an address or a client: uri='http://localhost:19530'"
                ", uri='docs.db' for a milvus-lite file, or client=MilvusClient(...)"
            )
        self._secrets = _secrets(token)
        self._own = client is None
        self._path: Path | None = None
        self.client: Any = client
        if uri is not None:
            options = {"token": token or "", "db_name": database, "timeout": timeout or TIMEOUT}
            with self.translating("open"):
                if uri.endswith(".db"):
                    self._open_file(Path(uri).absolute(), options)
                else:
                    self.client = MilvusClient(uri, **options)
        with self.translating("open"):
            version = str(self.client.get_server_version(timeout=timeout or TIMEOUT))
        self.lite = version.startswith(_LITE)
        self.timeout = timeout if timeout is not None or self.lite else TIMEOUT
        self._lock: Any = nullcontext()
        if self.lite:
            self._lock = _lite_files.lock(self.client._config.address)

    def __call__(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one call on the client."""
        with self.translating(operation), self._lock:
            return call(self.client)

    def close(self) -> None:
        """Close the client if it is our own."""
        if self._own:
            self.client.close()
            if self._path is not None:
                with self._lock:
                    _lite_files.close(self._path)

    def _open_file(self, path: Path, options: dict[str, Any]) -> None:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import ConnectionConfigException

        try:
            import milvus_lite
        except ImportError as error:
            reason = f"a Milvus file such as {path.name} needs milvus-lite"
            raise _not_installed("milvus-embedded", reason, error) from error
        del milvus_lite
        if not path.parent.is_dir():
            raise ConfigurationError(f"there is no folder {path.parent}; make it first")
        with _lite_files.opening(path):
            try:
                self.client = MilvusClient(str(path), **options)
            except ConnectionConfigException:
                raise BackendError(
                    f"milvus-lite cannot open {path}: another process has it open, or it is not a "
                    "milvus-lite folder; one process at a time may use it",
                    operation="open",
                    retryable=True,
                ) from None
        self._path = path

    @contextmanager
    def translating(self, operation: str) -> Iterator[None]:
        """Turn the client's errors into ours."""
        try:
            yield
        except VecstoreError:
            raise
        except Exception as error:
            told = str(getattr(error, "message", "") or error).strip() or type(error).__name__
            safe = self._redacted(f"{error!s}{error!r}") == f"{error!s}{error!r}"
            raise BackendError(
                f"Milvus refused {operation}: {self._redacted(told)}",
                operation=operation,
                retryable=_is_retryable(error),
            ) from (error if safe else None)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(token: str | None) -> list[str]:
    """A token, and the password in it."""
    if not token:
        return []
    password = token.partition(":")[2]
    return [token, password] if password else [token]


def _not_installed(extra: str, reason: str, error: ImportError) -> BackendNotInstalledError:
    return BackendNotInstalledError(
        f"{reason}: pip install 'vecstore-dialects[{extra}]'", name=error.name
    )


def _is_retryable(error: Exception) -> bool:
    if getattr(error, "retriable", False):
        return True
    code = getattr(error, "code", None)
    if callable(code):
        code = code()
    if code == _RATE_LIMIT or type(error).__name__ == "MilvusUnavailableException":
        return True
    # A server that cannot be reached when the store opens has no code but "unexpected".
    return getattr(code, "name", "") in _RETRYABLE_GRPC or "connect" in str(error).lower()
