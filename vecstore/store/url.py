"""Opening a store by its address: our own schemes from a table, others from entry points.

A store gets into another process as the address that it was opened by, without its secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from vecstore.embedding import EmbedderInput
from vecstore.errors import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    VecstoreError,
)
from vecstore.filter.cost import read_max_cost
from vecstore.installing import install_line
from vecstore.plugins import PlugIns
from vecstore.store.base import VectorStore
from vecstore.store.embedded import read_embed_as
from vecstore.store.observing import read_observers
from vecstore.store.options import (
    COMMON_OPTIONS,
    read_residual,
    read_residual_limit,
    read_schema,
    read_threads,
)

ENTRY_POINT_GROUP = "vecstore.stores"

_BUILT_IN = {
    "chroma": "vecstore.dialects.chroma.store:ChromaStore",
    "chroma+https": "vecstore.dialects.chroma.store:ChromaStore",
    "duckdb": "vecstore.dialects.duckdb.store:DuckDBStore",
    "memory": "vecstore.simple.store:SimpleVectorStore",
    "pgvector+embedded": "vecstore.dialects.pgvector.store:PgvectorStore",
    "lancedb": "vecstore.dialects.lancedb.store:LanceDBStore",
    "milvus": "vecstore.dialects.milvus.store:MilvusStore",
    "milvus+https": "vecstore.dialects.milvus.store:MilvusStore",
    "pinecone": "vecstore.dialects.pinecone.store:PineconeStore",
    "qdrant": "vecstore.dialects.qdrant.store:QdrantStore",
    "qdrant+https": "vecstore.dialects.qdrant.store:QdrantStore",
    "redis": "vecstore.dialects.redis.store:RedisStore",
    "redis+embedded": "vecstore.dialects.redis.store:RedisStore",
    "rediss": "vecstore.dialects.redis.store:RedisStore",
    "postgres": "vecstore.dialects.pgvector.store:PgvectorStore",
    "postgresql": "vecstore.dialects.pgvector.store:PgvectorStore",
    "sqlite": "vecstore.dialects.sqlite.store:SQLiteStore",
    "weaviate": "vecstore.dialects.weaviate.store:WeaviateStore",
    "weaviate+https": "vecstore.dialects.weaviate.store:WeaviateStore",
}
_PLUG_INS = PlugIns(
    ENTRY_POINT_GROUP,
    frozenset(_BUILT_IN),
    offered="stores for {}: are".format,
    purpose="stores at {}:".format,
)

_EXTRAS = {
    "chroma": "chroma",
    "chroma+https": "chroma",
    "duckdb": "duckdb",
    "lancedb": "lancedb",
    "milvus": "milvus",
    "milvus+https": "milvus",
    "pgvector+embedded": "pgvector-embedded",
    "pinecone": "pinecone",
    "postgres": "pgvector",
    "postgresql": "pgvector",
    "qdrant": "qdrant",
    "qdrant+https": "qdrant",
    "redis": "redis",
    "redis+embedded": "redis-embedded",
    "rediss": "redis",
    "weaviate": "weaviate",
    "weaviate+https": "weaviate",
}

OptionReader = Callable[[str], Any]
"""Turns the text of an option in a URL into its value; raises ValueError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreURL:
    """The address of a store, taken apart; texts are percent-decoded.

    Attributes:
        scheme: What stands before the first colon; names the kind of store.
        user: Left of ``@``, or None.
        password: Never shown, neither by ``repr`` nor in errors.
        host: Empty for a store on this machine.
        port: Or None.
        path: With its leading slash; empty when there is none.
        query: The options behind ``?``.
        common: Options of every store that :func:`open_store` was given.

    Example:
        >>> url = StoreURL.read("qdrant://localhost:6333/docs?metric=dot")
        >>> url.host, url.port, url.path, url.query
        ('localhost', 6333, '/docs', {'metric': 'dot'})
    """

    scheme: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    host: str = ""
    port: int | None = None
    path: str = ""
    query: dict[str, str] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, url: str) -> StoreURL:
        """Take an address apart.

        Raises:
            ConfigurationError: If it is none, or carries a secret behind the ``?``, where logs and
                process lists would show it.
        """
        if not isinstance(url, str):
            raise TypeError(
                f"a store is opened by its URL, a text, not {type(url).__name__}; for a file in "
                'memory write open_store(f"memory:{path}")'
            )
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", url):
            raise ConfigurationError(
                "the address of a store starts with its scheme, such as memory: or qdrant://; for "
                "a file of the in-memory store write memory: before its path"
            )
        try:
            parts = urlsplit(url)
            port = parts.port
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            # The reason is left out: it may quote the address with its password.
            raise ConfigurationError(
                "the address cannot be read; percent-encode special characters in it "
                "(urllib.parse.quote)"
            ) from None
        if parts.netloc and "@" in f"{parts.path}{parts.query}{parts.fragment}":
            # Most likely the end of a password with a special character: nothing of it is shown.
            raise ConfigurationError(
                "there is an @ behind the host of the address; percent-encode special characters "
                'in user and password (urllib.parse.quote(password, safe="")), and write @ as %40 '
                "in a path or an option"
            )
        if parts.fragment:
            raise ConfigurationError("write # as %23 in the address of a store")
        query: dict[str, str] = {}
        for name, value in pairs:
            if is_secret(name):
                raise ConfigurationError(
                    f"the option {name!r} is a secret, which does not belong behind the ? of an "
                    f"address; pass it by keyword: open_store(url, {name}=...)"
                )
            if name in query:
                which = "an option" if _may_hide_password(parts) else f"the option {name!r}"
                raise ConfigurationError(f"the address gives {which} twice")
            query[name] = value
        return cls(
            scheme=parts.scheme,
            user=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else unquote(parts.password),
            host=_host(parts.netloc, parts.hostname),
            port=port,
            path=unquote(parts.path),
            query=query,
        )

    def __str__(self) -> str:
        """The address without the password."""
        user = "" if self.user is None else quote(self.user, safe="") + "@"
        # The folder of a socket has slashes; several hosts have commas between them.
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe=",")
        port = "" if self.port is None else f":{self.port}"
        place = f"//{user}{host}{port}" if user or host or port else ""
        if not place and self.path.startswith("/"):
            place = "//"
        options = "&".join(f"{quote(name)}={quote(value)}" for name, value in self.query.items())
        return f"{self.scheme}:{place}{quote(self.path)}{'?' if options else ''}{options}"

    def file(self) -> str | None:
        """The path of a store on this machine, or None.

        ``scheme:///a/b`` and ``scheme:/a/b`` are the absolute path ``/a/b``, ``scheme:a/b`` is
        relative to the working directory.

        Raises:
            ConfigurationError: If the address names a host.

        Example:
            >>> StoreURL.read("memory:///data/kb.json").file()
            '/data/kb.json'
            >>> StoreURL.read("memory:kb.json").file()
            'kb.json'
        """
        if self.host or self.user is not None or self.port is not None:
            raise ConfigurationError(
                f"{self._shown()}: what follows two slashes is a host; write {self.scheme}:path "
                f"for a path relative to the working directory, or {self.scheme}:///path for an "
                "absolute one"
            )
        if re.match(r"/[A-Za-z]:[/\\]", self.path):  # file URLs of Windows
            return self.path[1:]
        return self.path or None

    def server(self, port: int) -> str:
        """The address of the HTTP server that this is, with the port it has when none is told.

        A scheme that ends with ``+https`` is served by HTTPS, by itself on port 443.

        Example:
            >>> StoreURL.read("qdrant+https://[::1]/docs").server(6333)
            'https://[::1]:443'
        """
        secure = self.scheme.endswith("+https")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if secure else ''}://{host}:{self.port or (443 if secure else port)}"

    def collection(self, given: str | None, port: int) -> str:
        """The collection that an option names, or else the path on a server.

        Args:
            given: The option, or None.
            port: For an example.

        Raises:
            ConfigurationError: If neither does.
        """
        collection = given or (self.path.strip("/") if self.host else "")
        if not collection:
            scheme = self.scheme.partition("+")[0]
            raise ConfigurationError(
                f"{self}: name the collection: {scheme}://host:{port}/docs, or ?collection=docs"
            )
        return collection

    def options(
        self, known: Mapping[str, OptionReader | None], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The options of the address together with those given by keyword, which go first.

        Args:
            known: The options of the store, each with what reads it from a text; None for one that
                can only be given by keyword. ``embedder`` and what every store takes are no part
                of it: ``open_store`` reads them. A store that has to know one of these when it is
                made names it here, such as ``"schema": None``.
            given: Options given by keyword.

        Raises:
            ConfigurationError: For an unknown option, and for a text that cannot be read.
            TypeError: For an unknown keyword.
        """
        by_keyword = [*known, *(name for name in _EVERY_STORE if name not in known)]
        for name in given:
            if name not in known:
                raise TypeError(
                    f"{self.scheme} has no option {name!r}{_closest(name, by_keyword)}; by keyword "
                    f"it takes: {', '.join(by_keyword)}"
                )
        result = {name: value for name, value in self.common.items() if name in known}
        for name, text in self.query.items():
            read = known.get(name)
            if read is None:
                raise ConfigurationError(self._no_option(name, known, by_keyword))
            if name not in given:
                try:
                    result[name] = read(text)
                except Exception:
                    value = "this" if self._may_hide_password() else repr(text)
                    raise ConfigurationError(
                        f"{self._shown()}: {value} is no value for the option {name!r}"
                    ) from None
        return {**result, **given}

    def _no_option(
        self, name: str, known: Mapping[str, OptionReader | None], by_keyword: list[str]
    ) -> str:
        here = [option for option, read in known.items() if read is not None]
        listed = f"behind the ? {self.scheme} takes: {', '.join(here) or 'nothing'}"
        if name in by_keyword:
            return (
                f"{self._shown()}: the option {name!r} is given by keyword: "
                f"open_store(url, {name}=...); {listed}"
            )
        close = _closest(name, by_keyword)
        if not close and self._may_hide_password():
            return (
                f"{self._shown()}: there is an unknown option behind the ?; {listed}; if it is "
                "part of a password, percent-encode that (urllib.parse.quote)"
            )
        return f"{self._shown()}: there is no option {name!r}{close}; {listed}"

    def _may_hide_password(self) -> bool:
        """Whether ``host:port`` may be ``user:password``, cut off at a character not encoded."""
        return self.user is None and self.port is not None

    def _shown(self) -> str:
        """The address as errors tell it."""
        return f"{self.scheme}:" if self._may_hide_password() else str(self)


def flag(text: str) -> bool:
    """An option of an address that is True or False.

    Example:
        >>> flag("true"), flag("no")
        (True, False)
    """
    word = text.lower()
    if word not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[word]


_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _host(netloc: str, hostname: str | None) -> str:
    """The host; one with encoded characters is the path of a socket, whose case matters."""
    if hostname is None or "%" not in hostname:
        return hostname or ""
    return unquote(netloc.rpartition("@")[2].partition(":")[0])


_IN_ADDRESSES: Mapping[str, OptionReader] = {"residual": str, "residual_limit": int}
"""Options of every store that may stand behind the ``?``, each with what reads it from a text."""

_EVERY_STORE = ("embedder", *COMMON_OPTIONS)


def open_store(url: str, *, embedder: EmbedderInput | None = None, **options: Any) -> VectorStore:
    """Open a store by its address.

    Args:
        url: ``memory:`` for an empty store in memory; ``memory:kb.json`` or
            ``memory:///data/kb.json`` for one that is loaded from that file when it exists, and
            saved to it by ``close()`` and at the end of ``with``; the schemes of other stores are
            listed with them.
        embedder: For the store.
        **options: Options of the store; they go before those behind the ``?`` of the address.

    Raises:
        ConfigurationError: If the address or an option cannot be used.
        BackendNotInstalledError: If the store's client package is missing.
        StoreFileError: If there is a file, and it cannot be read.

    Example:
        >>> with open_store("memory:?metric=dot", dimension=3) as store:
        ...     store.metric, store.dimension
        ('dot', 3)
    """
    address = StoreURL.read(url)
    common = {name: options.pop(name) for name in COMMON_OPTIONS if name in options}
    asked, common = _common_in(address, common)
    found = store_class(address.scheme)
    _check_common(common)
    try:
        store = found.from_url(replace(asked, common=common), embedder=embedder, **options)
    except VecstoreError:
        raise
    except Exception as error:
        if _is_misuse(error):
            raise
        raise _not_opened(address.scheme, error) from error
    if common:
        store._set_up(**common)
    store._origin = Origin.of(address, {**options, **common})
    return store


def open_with(url: str, defaults: Mapping[str, Any], **options: Any) -> VectorStore:
    """Open a store by its address, with options for those that have them.

    Args:
        url: Its address.
        defaults: Options that hold where the store has them and the address does not name them.
        **options: As of :func:`open_store`.
    """
    from inspect import signature

    address = StoreURL.read(url)
    known = signature(store_class(address.scheme)).parameters
    fitting = {
        name: value
        for name, value in defaults.items()
        if name in known and name not in address.query
    }
    return open_store(url, **fitting, **options)


def open_existing(url: str, **options: Any) -> VectorStore:
    """Open a store that is there; a mistyped address makes no empty one.

    Raises:
        VecstoreError: As of :func:`open_store`, and if there is none.

    Example:
        >>> open_existing("memory:no/such/kb.json")
        Traceback (most recent call last):
        ...
        vecstore.errors.ConfigurationError: there is no file no/such/kb.json
    """
    address = StoreURL.read(url)
    # A store in memory has no option for it: it would begin anew.
    if address.scheme == "memory" and (path := address.file()) and not os.path.exists(path):
        raise ConfigurationError(f"there is no file {path}")
    return open_with(url, {"create": False}, **options)


def _common_in(url: StoreURL, given: dict[str, Any]) -> tuple[StoreURL, dict[str, Any]]:
    """An address without the options of every store in it, and these with what was given."""
    names = [name for name in _IN_ADDRESSES if name in url.query]
    if not names:
        return url, given
    read = replace(url, query={name: url.query[name] for name in names}).options(_IN_ADDRESSES, {})
    rest = {name: text for name, text in url.query.items() if name not in names}
    return replace(url, query=rest), {**read, **given}


def _is_misuse(error: Exception) -> bool:
    """Whether a call from Python was wrong: told by this library, or by Python about a keyword."""
    if type(error) is not TypeError:
        return False
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__"))
    return module.partition(".")[0] == "vecstore" or "unexpected keyword argument" in str(error)


def _not_opened(scheme: str, error: Exception) -> VecstoreError:
    """What a caller is told of an error that is none of this library."""
    if isinstance(error, ImportError):
        missing = "" if error.name is None else f", {error.name}"
        remedy = f": {install_line(_EXTRAS[scheme])}" if scheme in _EXTRAS else ""
        return BackendNotInstalledError(
            f"stores for {scheme}: need one more package{missing}{remedy}", name=error.name
        )
    # Only the type: a driver's message may quote the address with its password.
    return BackendError(
        f"the store for {scheme}: could not be opened ({type(error).__name__}); the error itself "
        "is the cause of this one",
        operation="open",
    )


def _check_common(common: dict[str, Any]) -> None:
    """Refuse options before a store makes its folder or table."""
    if "max_cost" in common:
        read_max_cost(common["max_cost"])
    if "schema" in common:
        read_schema(common["schema"])
    if "residual" in common:
        read_residual(common["residual"])
    if "residual_limit" in common:
        read_residual_limit(common["residual_limit"])
    if "embed_as" in common:
        read_embed_as(common["embed_as"])
    if "async_threads" in common:
        read_threads(common["async_threads"])
    if isinstance(common.get("observers"), Iterator):
        common["observers"] = list(common["observers"])
    content = common.get("observe_content", False)
    read_observers(common.get("observers", ()), False if content is True else content)


def store_schemes() -> list[str]:
    """The schemes that :func:`open_store` knows, sorted.

    Example:
        >>> "memory" in store_schemes()
        True
    """
    return sorted([*_BUILT_IN, *_PLUG_INS.names()])


def store_class(scheme: str) -> type[VectorStore]:
    """The class that opens addresses of a scheme.

    Raises:
        ConfigurationError: If there is none, or if two distributions offer it.
        BackendNotInstalledError: If a plug-in cannot be imported; it never disappears silently.
    """
    location = _BUILT_IN.get(scheme)
    if location is None:
        return _load_plug_in(scheme)
    module, _, attribute = location.partition(":")
    try:
        found: type[VectorStore] = getattr(import_module(module), attribute)
    except ImportError as error:
        raise _not_opened(scheme, error) from error
    return found


def _load_plug_in(scheme: str) -> type[VectorStore]:
    misfit = f"{scheme}: is no subclass of vecstore.VectorStore"
    try:
        loaded: type[VectorStore] | None = _PLUG_INS.load(scheme, VectorStore, misfit)
    except VecstoreError:
        raise
    except Exception as error:
        raise _not_imported(error) from error
    if loaded is None:
        known = store_schemes()
        meant = _closest(scheme, known)
        if scheme in ("http", "https", "localhost") or "." in scheme:  # a host and a port
            secure = "; over HTTPS qdrant+https://host/docs" if scheme == "https" else ""
            meant = (
                "; an address says first which engine is there: qdrant://host:6333/docs, "
                f"weaviate://host:8080/Docs{secure}"
            )
        raise ConfigurationError(
            f"there is no store for {scheme}:{meant} (known: {', '.join(known)})"
        )
    return loaded


def _not_imported(error: Exception) -> VecstoreError:
    """What a caller is told of a plug-in that fails when it is imported; its notes name it."""
    what = "; ".join(getattr(error, "__notes__", ()))
    if isinstance(error, ImportError):
        missing = "something" if error.name is None else error.name
        return BackendNotInstalledError(
            f"a plug-in cannot be imported, because {missing} cannot be: {what}", name=error.name
        )
    return ConfigurationError(
        f"a plug-in cannot be imported ({type(error).__name__}, the cause of this error): {what}"
    )


def _may_hide_password(parts: SplitResult) -> bool:
    return "@" not in parts.netloc and ":" in parts.netloc


def _closest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    close = get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


# --- pickled --------------------------------------------------------------------------------

_SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|credential|token$|api[-_]?key"
    r"|(^|[-_])(pwd|auth|authorization|(access|private)[-_]?key)($|[-_])|^key$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether an option of this name holds what nobody else may see."""
    return _SECRET.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a store was opened by, without its secrets.

    Attributes:
        address: Its URL; a relative path has been made absolute.
        options: What was given by keyword.
        left_out: Names of what a pickle does not carry.
    """

    address: str
    options: dict[str, Any] = field(repr=False)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: StoreURL, options: Mapping[str, Any]) -> Origin:
        """What is kept of an address and options."""
        here = not (url.host or url.user is not None or url.port is not None)
        if here and url.path and not os.path.isabs(url.path):
            url = replace(url, path=os.path.abspath(url.path))
        left_out: list[str] = []
        kept = _public(options, "", left_out)
        if url.password is not None:
            left_out.append("password")
        return cls(address=str(url), options=kept, left_out=tuple(left_out))

    def reduced(self, store: VectorStore) -> tuple[Any, ...]:
        """What ``__reduce__`` of the store returns.

        Raises:
            TypeError: If another process cannot open it, saying why and what to do.
        """
        kind = type(store).__name__
        if store._closed:
            _refuse(f"this {kind} is closed", "pickle it while it is open, or hand on its address")
        reason = store._bound_to_process()
        if reason is not None:
            _refuse(
                f"this {kind} cannot be reached from another process: {reason}",
                "give it a place that others reach, and open it in the worker",
            )
        return open_again, (self.address, store.embedder, self.options, self.left_out)


def open_again(
    address: str, embedder: EmbedderInput | None, options: dict[str, Any], left_out: tuple[str, ...]
) -> VectorStore:
    """Open a store that was pickled, in the process that unpickles it."""
    try:
        return open_store(address, embedder=embedder, **options)
    except Exception as error:
        if left_out:
            error.add_note(
                f"a pickled store does not carry {', '.join(left_out)}: open the store in the "
                "worker itself, or let the worker's environment name it"
            )
        raise


def _public(values: Mapping[Any, Any], path: str, left_out: list[str]) -> dict[Any, Any]:
    """Values without secrets, as far as their names tell them."""
    kept: dict[Any, Any] = {}
    for name, value in values.items():
        if is_secret(str(name)):
            left_out.append(f"{path}{name}")
        else:
            inner = type(value) is dict
            kept[name] = _public(value, f"{path}{name}.", left_out) if inner else value
    return kept


def _refuse(reason: str, remedy: str) -> NoReturn:
    raise TypeError(
        f"{reason}; a store goes to another process as its address: {remedy}, with "
        "open_store(url, embedder=...) at the worker's start"
    )
