"""Filling a table: ``add`` against COPY of the same rows by hand, on an embedded server.

With an HNSW index, by hand means COPY, and CREATE INDEX afterwards.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from benchmarks.timing import duration, show
from vecstore import Document, open_store
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.rows import to_wire

DOCUMENTS = 100_000
DIMENSION = 384
WINDOW = 5_000


INDEXED = 5_000
INDEXED_DIMENSION = 64
ROUNDS = 5
BY_HAND = "CREATE INDEX by_hand ON raw USING hnsw (embedding vector_cosine_ops)"


def run() -> None:
    """Print both tables."""
    _without_index()
    _with_index()


def _with_index() -> None:
    """Medians of rounds that take turns, each in an empty table."""
    options = {"table": "docs", "dimension": INDEXED_DIMENSION}
    seconds: dict[str, list[float]] = {"by hand": [], "add": [], "row by row": []}
    with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
        url = f"pgvector+embedded://{Path(folder) / 'pg'}"
        with open_store(url, **options) as store:
            with store.native.connection() as connection:
                connection.execute("CREATE TABLE raw (LIKE docs INCLUDING ALL)")
                connection.execute("DROP INDEX raw_embedding_idx")
            for number in range(ROUNDS + 1):
                taken = {}
                _execute(store, "TRUNCATE raw")
                started = time.perf_counter()
                _copy(store.native, INDEXED, INDEXED_DIMENSION)
                _execute(store, BY_HAND)
                taken["by hand"] = time.perf_counter() - started
                _execute(store, "DROP INDEX by_hand")
                store.clear()
                _execute(store, "TRUNCATE docs")
                started = time.perf_counter()
                store.add(_documents(INDEXED, INDEXED_DIMENSION))
                taken["add"] = time.perf_counter() - started
                if number < 2:
                    _execute(store, "TRUNCATE docs")
                    store.add(_documents(1, INDEXED_DIMENSION))  # not empty: row by row
                    started = time.perf_counter()
                    store.add(_documents(INDEXED, INDEXED_DIMENSION))
                    seconds["row by row"].append(time.perf_counter() - started)
                if number:
                    for name, one in taken.items():
                        seconds[name].append(one)
    by_hand = median(seconds["by hand"])
    show(
        f"{INDEXED:,} documents of {INDEXED_DIMENSION} dimensions into an empty table with HNSW",
        ["", "time", "ratio"],
        [
            [f"{title}", duration(median(seconds[name])), f"{median(seconds[name]) / by_hand:.2f}"]
            for name, title in (
                ("by hand", "COPY and CREATE INDEX by hand"),
                ("add", "add()"),
                ("row by row", "add() to a table that is not empty"),
            )
        ],
    )


def _execute(store: Any, statement: str) -> None:
    with store.native.connection() as connection:
        connection.execute(statement)


def _without_index() -> None:
    """Print both times, their ratio, and by how much this process grew meanwhile."""
    with (
        tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder,
        open_store(
            f"pgvector+embedded://{Path(folder) / 'pg'}?table=docs&index=none", dimension=DIMENSION
        ) as store,
    ):
        store.add(_documents(WINDOW))  # both sides start warm
        with store.native.connection() as connection:
            connection.execute("CREATE TABLE raw (LIKE docs INCLUDING ALL)")
            connection.execute("TRUNCATE docs")
        started = time.perf_counter()
        before = _peak()
        store.add(_documents(DOCUMENTS))
        ours, grown = time.perf_counter() - started, _peak() - before
        started = time.perf_counter()
        _copy(store.native)
        raw = time.perf_counter() - started
    show(
        f"{DOCUMENTS:,} documents of {DIMENSION} dimensions into PostgreSQL, no vector index",
        ["", "time", "documents/s", "ratio"],
        [
            [
                "COPY by hand, no conflicts handled",
                duration(raw),
                f"{DOCUMENTS / raw:,.0f}",
                "1.00",
            ],
            ["add()", duration(ours), f"{DOCUMENTS / ours:,.0f}", f"{ours / raw:.2f}"],
        ],
    )
    print(f"\n  add() raised this process's peak memory by {grown / 2**20:,.0f} MiB")


def _documents(count: int, dimension: int = DIMENSION) -> Iterator[Document]:
    dice = np.random.default_rng(1)
    for start in range(0, count, WINDOW):
        vectors = dice.normal(size=(min(WINDOW, count - start), dimension)).astype(np.float32)
        for row, vector in enumerate(vectors, start):
            yield Document(f"text {row} " * 20, _metadata(row), id=f"{row:08}", embedding=vector)


def _metadata(row: int) -> dict[str, object]:
    return {"number": row, "group": f"g{row % 100}", "tags": ["a", "b"], "ratio": row / 7}


def _copy(pool: Any, count: int = DOCUMENTS, dimension: int = DIMENSION) -> None:
    statement = "COPY raw (id, text, metadata, embedding) FROM STDIN (FORMAT BINARY)"
    with (
        pool.connection() as connection,
        connection.transaction(),
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        copy.set_types(["text", "text", "jsonb", "bytea"])
        for document in _documents(count, dimension):
            metadata = Jsonb(document.metadata, dumps=encode_json)
            vector = to_wire(document.embedding)
            copy.write_row((document.id, document.text, metadata, vector))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
