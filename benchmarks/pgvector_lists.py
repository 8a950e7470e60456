"""Long lists in filters: IN and NOT IN against the shortest SQL for it, on PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import duration, interleaved, show
from vecstore import Document, F, open_store

ROWS = 20_000
LENGTHS = (2, 10, 100, 1_000, 10_000)


def run() -> None:
    """Print the times of both, and their ratio, with an index on the metadata and without."""
    with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
        url = f"pgvector+embedded://{Path(folder) / 'pg'}?table=docs&index=none"
        with open_store(url, dimension=2) as store:
            store.add(_documents())
            with store.native.connection() as one:
                one.execute("VACUUM ANALYZE docs")
            _compare(store, "with a GIN index on the metadata")
            with store.native.connection() as one:
                one.execute("DROP INDEX docs_metadata_ix")
        with open_store(url, dimension=2) as store:
            _compare(store, "without an index")


def _documents() -> list[Document]:
    vectors = np.ones((ROWS, 2), dtype=np.float32)
    return [
        Document("t", {"name": f"name {row}", "number": row}, id=f"{row:06}", embedding=vector)
        for row, vector in enumerate(vectors)
    ]


def _compare(store: Any, title: str) -> None:
    rows = []
    for length in LENGTHS:
        names = [f"name {number * 3}" for number in range(length)]
        numbers = [number * 3 for number in range(length)]
        for kind, key, literals in (("texts", "name", names), ("numbers", "number", numbers)):
            for symbol, filter in (
                ("IN", F[key].in_(literals)),
                ("NOT IN", F[key].not_in(literals)),
            ):
                ours: Callable[[], Any] = lambda filter=filter: store.count(filter)  # noqa: E731
                raw = _raw(store, key, literals, symbol)
                assert ours() == raw()
                seconds = interleaved({"ours": ours, "raw": raw}, rounds=7)
                rows.append(
                    [
                        f"{symbol} {length:,} {kind}",
                        duration(seconds["raw"]),
                        duration(seconds["ours"]),
                        f"{seconds['ours'] / seconds['raw']:.2f}",
                    ]
                )
    show(
        f"count() of {ROWS:,} rows in PostgreSQL, {title}",
        ["", "= ANY by hand", "vecstore", "ratio"],
        rows,
    )


def _raw(store: Any, key: str, literals: list[Any], symbol: str) -> Callable[[], int]:
    """The same by hand, for a key that holds nothing but scalars of the one kind."""
    test = f"metadata ->> '{key}' = ANY(%s::text[])"
    if symbol == "NOT IN":
        test = f"NOT {test}"
    statement = f"SELECT count(*) FROM docs WHERE {test}"

    def call() -> int:
        with store.native.connection() as connection:
            row = connection.execute(statement, [list(map(str, literals))]).fetchone()
            return int(row[0])

    return call
