"""Calling Chroma: one lock where the engine is in this process, and errors without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final, TypeVar
from uuid import uuid4

from vecstore.dialects.chroma.engine import MEMORY, LocalEngine, give_back, take_engine
from vecstore.errors import ConfigurationError, StoreClosedError, VecstoreError
from vecstore.store.drivers import Secrets, not_installed, refused
from vecstore.store.threads import CallThreads

Result = TypeVar("Result")

DEFAULT: Final = "default_database"
CLOUD: Final = "trychroma.com"
_READING = frozenset({"search", "get", "count", "scan"})
"""What leaves nothing half done, wherever it is broken off."""


class Calls:
    """A Chroma client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        client: An existing client, which stays the caller's; or None for one of our own, by
        path: a folder,
        host: a server, or
        memory: in the memory of this process, in a database that goes with this object.
        port: Of the server.
        ssl: Whether it is asked by HTTPS.
        headers: Sent with each request.
        api_key: For Chroma Cloud, and servers that want one.
        tenant: Name of the tenant.
        database: Name of the database.

    Attributes:
        client: The client.
        local: Whether the engine is in this process.
        cloud: Whether it is Chroma Cloud.
        exclusive: A context that keeps other threads out of a local engine, between the calls of
            one operation as well.

    Raises:
        BackendNotInstalledError: If chromadb is missing.
        ConfigurationError: If the options do not fit together.
    """

    def __init__(
        self,
        client: Any,
        *,
        path: str | None,
        host: str | None,
        memory: bool,
        port: int | None,
        ssl: bool,
        headers: Mapping[str, str],
        api_key: str | None,
        tenant: str | None,
        database: str | None,
    ) -> None:
        try:
            from chromadb.api.client import Client
        except ImportError as error:
            raise not_installed("the Chroma store needs chromadb", "chroma", error) from error
        if client is not None and not isinstance(client, Client):
            raise ConfigurationError(
                f"client is a client of chromadb that is not awaited, such as chromadb.HttpClient("
                f"), not a {type(client).__name__}"
            )
        if [client is not None, path is not None, host is not None, memory].count(True) != 1:
            raise ConfigurationError(
                "say where Chroma is, in one way: path=... for a folder, host=... for a server, "
                "memory=True, or client=..."
            )
        server_only = {"port": port, "ssl": ssl, "headers": headers, "api_key": api_key}
        given = [name for name, value in server_only.items() if value]
        if host is None and given:
            raise ConfigurationError(f"{given[0]} is for a server, which host=... names")
        if client is not None and (tenant or database):
            raise ConfigurationError("a client has its tenant and database already")
        if memory and database:
            raise ConfigurationError("a store in memory has a database of its own")
        sent = {**headers, **({"x-chroma-token": api_key} if api_key else {})}
        self._secrets = Secrets([*sent.values()])
        self._own = client is None
        self._engine: LocalEngine | None = None
        self._database: str | None = None
        self.exclusive: AbstractContextManager[Any] = nullcontext()
        self._threads = CallThreads(single=True)
        names = {
            name: value for name, value in (("tenant", tenant), ("database", database)) if value
        }
        self.client: Any = client
        if client is not None:
            self.local = not type(client._server).__name__.endswith("FastAPI")
            if self.local:
                self._join(take_engine(client._identifier))
        elif host is not None:
            self.local = False
            self._address: dict[str, Any] = {
                "host": host,
                "port": port or (443 if ssl else 8000),
                "ssl": ssl,
            }
            self._address.update(headers=sent, **names)
            self.client = self("open", lambda _: self._connected())
        else:
            self.local = True
            self._join(take_engine(MEMORY if path is None else path))
            try:
                self.client = self("open", lambda _: self._opened(path, names))
            except BaseException:
                give_back(self._engine)  # type: ignore[arg-type]
                raise
        settings = self.client.get_settings()
        self.cloud = not self.local and CLOUD in str(settings.chroma_server_host)

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
            told = self._secrets.redacted(str(error).strip()) or type(error).__name__
            if operation == "open" and "with different settings" in told:
                raise ConfigurationError(
                    "a client of chromadb is open on this folder with other settings; give the "
                    "store that client: client=..."
                ) from None
            failure = refused(
                "Chroma",
                operation,
                error,
                self._secrets,
                retryable=_is_retryable(error),
                hint=self._hint(operation, error),
            )
            raise failure from self._secrets.safe_cause(error)

    def _hint(self, operation: str, error: Exception) -> str:
        if type(error).__name__ == "NotFoundError":
            return "; if somebody deleted the collection, open the store anew with create=True"
        if operation == "open" and "Could not connect" in str(error) and not self.local:
            at = f"{self._address['host']}:{self._address['port']}"
            return f" Start the server at {at}, or say where it is."
        return ""

    @property
    def in_memory(self) -> bool:
        """Whether the documents are gone with this process."""
        return self._engine is not None and self._engine.folder == MEMORY

    def close(self) -> None:
        """Close the client if it is our own, and let go of its folder."""
        if self._own:
            with self.exclusive:
                self._threads.run_whole(self._end)
        if self._engine is None:
            self._threads.close()
        else:
            give_back(self._engine)

    def after_fork(self) -> None:
        """Connect anew in a forked child, where that can be.

        Raises:
            StoreClosedError: If it cannot.
        """
        if self._engine is not None:
            raise StoreClosedError(
                "this process was forked from one that has the store open, and Chroma's engine "
                "does not survive that; open the store in the child alone, or use a server"
            )
        if not self._own:
            raise StoreClosedError(
                "this process was forked, and the connections of a client do not survive that; "
                "make a client and a store in the child"
            )
        _inherited.append(self.client)
        self.client = self("open", lambda _: self._connected())

    def _join(self, engine: LocalEngine) -> None:
        self._engine, self.exclusive, self._threads = engine, engine.lock, engine.threads

    def _connected(self) -> Any:
        from chromadb import HttpClient

        return HttpClient(settings=_settings(), **self._address)

    def _opened(self, path: str | None, names: dict[str, str]) -> Any:
        from chromadb import EphemeralClient, PersistentClient

        if path is not None:
            return PersistentClient(os.path.realpath(path), settings=_settings(), **names)
        whole: Any = EphemeralClient(settings=_settings())
        try:
            self._database = f"vecstore-{uuid4().hex}"
            whole._admin_client.create_database(self._database)
            return EphemeralClient(settings=_settings(), database=self._database)
        finally:
            if self._database is None:
                whole.close()
            else:
                self._whole = whole

    def _end(self) -> None:
        if self._database is not None:
            with suppress(Exception):
                for collection in self.client.list_collections():
                    _empty(collection)
                    self.client.delete_collection(collection.name)
                self._whole._admin_client.delete_database(self._database)
            self._whole.close()
        self.client.close()
        if not self.local:  # the client leaves its connections open, and those of the one inside it
            for one in (self.client, self.client._admin_client):
                one._server._session.close()


def _empty(collection: Any) -> None:
    """Delete every record of a collection.

    One that is dropped with records in it leaves the values of their lists to those made after it.
    """
    ids = collection.get(include=[])["ids"]
    for start in range(0, len(ids), _DELETED_AT_ONCE):
        collection.delete(ids=ids[start : start + _DELETED_AT_ONCE])


_DELETED_AT_ONCE: Final = 1_000

_inherited: list[Any] = []
"""Clients that a forked child inherited: collecting one would end its parent's connections."""


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _is_retryable(error: Exception) -> bool:
    code = getattr(error, "code", None)
    status = code() if callable(code) else None
    if status == 429 or (isinstance(status, int) and status > 500):
        return True
    return type(error).__module__.partition(".")[0] in ("httpx", "httpcore")
