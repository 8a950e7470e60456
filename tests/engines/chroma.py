"""Chroma: documents in the metadata of a collection, filtered by the engine in this process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.engines.rows import Documents, Rows

_RUN = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"
_PATIENCE = 60.0
"""Seconds in which a server has to answer; it takes two of an idle machine."""


@contextmanager
def running_chroma(folder: Path) -> Iterator[tuple[str, int]]:
    """Host and port of a server: one that the environment names, or one of our own."""
    named = os.environ.get("VECSTORE_CHROMA_URL")
    if named is not None:
        address = urlsplit(named)
        yield address.hostname or "", address.port or 8000
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    run = [sys.executable, "-c", _RUN, "run", "--path", str(folder)]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [*run, "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=log
        )
    try:
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > ends:
                    told = (folder / "log").read_text("utf-8", "replace")
                    raise RuntimeError(f"Chroma has not started:\n{told}") from None
                time.sleep(0.05)
        yield "127.0.0.1", port
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


Write = Callable[[Mapping[str, Any]], dict[str, Any]]


def as_it_is(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What other programs write; nothing of what Chroma has not got is there."""
    return {key: value for key, value in metadata.items() if value is not None and value != []}


def storable(value: Any) -> bool:
    """Whether a plain collection can hold a value of metadata, as Chroma gives it back."""
    if isinstance(value, dict):
        return False
    items = value if isinstance(value, list) else [value]
    numbers = [item for item in items if type(item) in (int, float)]
    whole = all(type(item) is float or -(2**63) <= item < 2**63 for item in numbers)
    return whole and len(set(map(type, items))) < 2


class ChromaRows(Rows):
    """A collection in memory; ``write`` gives what stands there for a document's metadata.

    Ids are numbered, for ids here may be any string.
    """

    name = "Chroma"
    asked_once = True

    def __init__(self, write: Write = as_it_is) -> None:
        from chromadb import EphemeralClient
        from chromadb.config import Settings

        super().__init__()
        self._client: Any = EphemeralClient(Settings(anonymized_telemetry=False))
        self._write = write
        self._collection = self._client.create_collection(
            f"vecstore-{uuid4().hex}", embedding_function=None
        )
        self._names: dict[str, str] = {}

    def _refused_by(self) -> tuple[type[Exception], ...]:
        from chromadb.errors import ChromaError

        return (ChromaError, ValueError, TypeError)

    def _load(self, rows: Documents) -> None:
        if self._names:
            self._collection.delete(ids=list(self._names))
        self._names = {f"r{number}": key for number, key in enumerate(rows)}
        if rows:
            self._collection.add(
                ids=list(self._names),
                embeddings=[[1.0, 0.0]] * len(rows),
                metadatas=[self._write(rows[key]) or None for key in self._names.values()],
            )

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a where carries its literals itself"
        found = self._collection.get(where=query, include=[])
        return {self._names[id] for id in found["ids"]}

    def close(self) -> None:
        if self._client is not None:
            if self._names:  # a collection that is made later would inherit their lists
                self._collection.delete(ids=list(self._names))
            self._client.delete_collection(self._collection.name)
            self._client.close()
            self._client = None
