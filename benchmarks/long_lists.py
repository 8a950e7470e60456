"""IN and NOT IN with long lists on SQLite, DuckDB, LanceDB, Redis and Chroma, and in memory.

Each beside the shortest exact form that its engine has for a key that holds texts and nothing else:
for one of metadata in JSON where the engine reads JSON, else for a column or field of its own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import duration, interleaved, show
from vecstore import Document, F, UnsupportedFilterError, VectorStore, open_store

ROWS = 20_000
LENGTHS = (10, 100, 1_000, 10_000)
_ADDRESSES = {
    "memory": "memory:",
    "sqlite": "sqlite://{folder}/kb.db?table=docs",
    "duckdb": "duckdb://{folder}/kb.duckdb?table=docs",
    "lancedb": "lancedb://{folder}/tables?table=docs",
    "redis": "redis+embedded://{folder}/redis?index=docs",
    "chroma": "chroma://{folder}/chroma?collection=docs",
}
Raw = Callable[[list[str], bool], int]
"""Values, and whether those are wanted that have one of them -> how many rows there are."""


def run(names: tuple[str, ...] = tuple(_ADDRESSES), rows: int = ROWS) -> None:
    """Print a table for each engine: the store, the engine by hand, and the ratio."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
            url = _ADDRESSES[name].format(folder=folder)
            with open_store(url, dimension=2) as store:
                vectors = np.ones((rows, 2), dtype=np.float32)
                store.add(
                    Document("", {"k": f"v{row}"}, str(row), vectors[row]) for row in range(rows)
                )
                with _RAW[name](store, Path(folder), rows) as raw:
                    _compare(name, store, raw, rows)


def _compare(name: str, store: VectorStore, raw: Raw, rows: int) -> None:
    lines = []
    for length in LENGTHS:
        values = [f"v{3 * number}" for number in range(length)]
        for symbol, filter in (("IN", F.k.in_(values)), ("NOT IN", F.k.not_in(values))):
            calls: dict[str, Callable[[], int]] = {
                "ours": lambda filter=filter: store.count(filter),  # type: ignore[misc]
                "raw": lambda symbol=symbol, values=values: raw(values, symbol == "IN"),  # type: ignore[misc]
            }
            try:
                began = time.perf_counter()
                ours, theirs = calls["ours"](), calls["raw"]()
                slow = time.perf_counter() - began > 1
            except UnsupportedFilterError:
                lines.append([f"{symbol} {length:,}", "", "refused", ""])
                continue
            assert ours == theirs, f"{name}: {ours} and {theirs} rows"
            seconds = interleaved(calls, rounds=1 if slow else 5)
            ratio = f"{seconds['ours'] / seconds['raw']:.2f}"
            lines.append(
                [
                    f"{symbol} {length:,}",
                    duration(seconds["raw"]),
                    duration(seconds["ours"]),
                    ratio,
                ]
            )
    show(f"{name}: count() of {rows:,} rows", ["", "by hand", "vecstore", "ratio"], lines)


@contextmanager
def _memory(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    kept = [one.metadata for one in store.get()]

    def raw(values: list[str], having: bool) -> int:
        wanted = set(values)
        return sum((one["k"] in wanted) is having for one in kept)

    yield raw


@contextmanager
def _sqlite(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    import json
    import sqlite3

    database = sqlite3.connect(folder / "kb.db")
    texts = {
        having: f"SELECT count(*) FROM docs WHERE metadata ->> '$.k' {symbol} "
        "(SELECT value FROM json_each(?))"
        for having, symbol in ((True, "IN"), (False, "NOT IN"))
    }
    yield lambda values, having: int(
        database.execute(texts[having], [json.dumps(values)]).fetchone()[0]
    )
    database.close()


@contextmanager
def _duckdb(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    texts = {
        having: f"SELECT count(*) FROM docs WHERE metadata ->> '$.k' {symbol} (SELECT unnest(?))"
        for having, symbol in ((True, "IN"), (False, "NOT IN"))
    }

    def raw(values: list[str], having: bool) -> int:
        with store.native.cursor() as cursor:
            return int(cursor.execute(texts[having], [values]).fetchone()[0])

    yield raw


@contextmanager
def _lancedb(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    table = store.native.create_table("raw", [{"k": f"v{row}"} for row in range(rows)])

    def raw(values: list[str], having: bool) -> int:
        listed = ", ".join(f"'{one}'" for one in values)
        return int(table.count_rows(f"k {'IN' if having else 'NOT IN'} ({listed})"))

    yield raw


@contextmanager
def _redis(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    client = store.native
    definition = ["ON", "HASH", "PREFIX", 1, "raw:", "SCHEMA", "k", "TAG"]
    client.execute_command("FT.CREATE", "raw", *definition)
    with client.pipeline(transaction=False) as pipeline:
        for row in range(rows):
            pipeline.hset(f"raw:{row}", mapping={"k": f"v{row}"})
        pipeline.execute()

    def raw(values: list[str], having: bool) -> int:
        query = f"{'' if having else '-'}@k:{{{'|'.join(values)}}}"
        asked = ("FT.SEARCH", "raw", query, "LIMIT", 0, 0, "DIALECT", 2, "TIMEOUT", 0)
        told: Any = client.execute_command(*asked)
        if isinstance(told, dict):  # as the client was told to read answers
            return int(
                next(told[name] for name in told if name in (b"total_results", "total_results"))
            )
        return int(told[0])

    yield raw


@contextmanager
def _chroma(store: VectorStore, folder: Path, rows: int) -> Iterator[Raw]:
    collection = store.native.create_collection("raw", embedding_function=None)
    for start in range(0, rows, 5_000):
        part = range(start, min(rows, start + 5_000))
        collection.add(
            ids=[str(row) for row in part],
            embeddings=[[1.0, 1.0]] * len(part),
            metadatas=[{"k": f"v{row}"} for row in part],
        )

    def raw(values: list[str], having: bool) -> int:
        where = {"k": {"$in" if having else "$nin": values}}
        return len(collection.get(where=where, include=[])["ids"])

    yield raw


_RAW = {
    "memory": _memory,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "lancedb": _lancedb,
    "redis": _redis,
    "chroma": _chroma,
}

if __name__ == "__main__":
    run(tuple(sys.argv[2:]) or tuple(_ADDRESSES), int(sys.argv[1]))
