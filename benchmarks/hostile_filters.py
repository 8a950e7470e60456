"""The worst filters a stranger may send within the limits of a text and a store's budget."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.filter.hostile_shapes import SHAPES, largest
from vecstore import Document, UnsupportedFilterError, VecstoreError, open_store, parse
from vecstore.filter.cost import filter_cost
from vecstore.filter.normalize import simplify

_DOCUMENTS = {"memory": 10_000, "pgvector": 10_000, "qdrant": 500, "milvus": 500}
_ADDRESSES = {
    "memory": "memory:",
    "pgvector": "pgvector+embedded://{folder}/pg?table=docs",
    "qdrant": "qdrant://{folder}/q?collection=docs",
    "milvus": "milvus://{folder}/m.db?collection=docs",
}


def _metadata(number: int) -> dict[str, Any]:
    """Values that no comparison of the shapes decides early."""
    values: tuple[Any, ...] = (-0.5 - number, "none", [-1.5, -number])
    deep: dict[str, Any] = {"zz": 1}
    for _ in range(20):
        deep = {"a": deep}
    return {"a": values[number % 3] if number % 10 else deep, "b": "x", "c": [1, 2], "n": number}


def _cost(text: str) -> int:
    return filter_cost(simplify(parse(text)))


def run(names: tuple[str, ...] = tuple(_ADDRESSES), budget: int | None = None) -> None:
    """Print, for each shape and engine, the cost of the largest filter and the seconds it takes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            store = open_store(_ADDRESSES[name].format(folder=Path(folder)), dimension=2)
            with store:
                bound = budget or store.max_cost or 10_000
                store._set_up(max_cost=None)
                count = _DOCUMENTS[name]
                vectors = np.ones((count, 2), dtype=np.float32)
                store.add(
                    Document("", _metadata(number), str(number), vectors[number])
                    for number in range(count)
                )
                print(f"\n{name}, {count:,} documents, max_cost={bound:,}")
                _shapes(store.count, bound)


def _shapes(count: Callable[[str], int], bound: int) -> None:
    for shape, text_of in SHAPES.items():
        text = largest(text_of, lambda one: _cost(one) <= bound)
        parse(text)
        started = time.perf_counter()
        try:
            count(text)
            note = ""
        except UnsupportedFilterError:
            note = "refused"
        except VecstoreError as error:
            note = f"{type(error).__name__}: {str(error)[:60]!r}"
        seconds = time.perf_counter() - started
        print(f"  {shape:28} cost {_cost(text):5,}  {seconds:7.3f} s  {note}", flush=True)


if __name__ == "__main__":
    run(tuple(sys.argv[2:]) or tuple(_ADDRESSES), int(sys.argv[1]))
