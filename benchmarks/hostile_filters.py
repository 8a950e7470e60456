"""The worst filters a stranger may send within the limits of a text and a store's budget."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.engines.qdrant import QdrantEdgeRows
from tests.filter.hostile_shapes import _NAMES, SHAPES, largest
from vecstore import Document, UnsupportedFilterError, VecstoreError, open_store, parse
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.layout import OWN
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.filter.cost import filter_cost
from vecstore.filter.normalize import simplify

_ADDRESSES = {
    "memory": "memory:",
    "pgvector": "pgvector+embedded://{folder}/pg?table=docs",
    "pgvector-lists": "pgvector+embedded://{folder}/pg?table=lists",
    "qdrant": "qdrant://{folder}/q?collection=docs",
    "milvus": "milvus://{folder}/m.db?collection=docs",
}
_EDGE = "qdrant-edge"
"""The engine of a Qdrant server, in process and without a store."""
_DOCUMENTS = {"qdrant": 500, "milvus": 500}
_MOST_DOCUMENTS = 10_000


def _metadata(number: int) -> dict[str, Any]:
    """Values that no comparison of the shapes decides early."""
    values: tuple[Any, ...] = (-0.5 - number, "none", [-1.5, -number])
    deep: dict[str, Any] = {"zz": 1}
    for _ in range(20):
        deep = {"a": deep}
    return {"a": values[number % 3] if number % 10 else deep, "b": "x", "c": [1, 2], "n": number}


def _long_lists(number: int) -> dict[str, Any]:
    """Metadata of some kilobytes, which PostgreSQL keeps compressed."""
    return {name: [-1.5 - number - n for n in range(40)] for name in ("a", "b", *_NAMES[:4])}


def _cost(text: str) -> int:
    return filter_cost(simplify(parse(text)))


def run(names: tuple[str, ...] = (*_ADDRESSES, _EDGE), budget: int | None = None) -> None:
    """Print, for each shape and engine, the cost of the largest filter and the seconds it takes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name == _EDGE:
                _run_edge(budget)
                continue
            store = open_store(_ADDRESSES[name].format(folder=Path(folder)), dimension=2)
            with store:
                bound = budget or store.max_cost or 10_000
                store._set_up(max_cost=None)
                count = _DOCUMENTS.get(name, _MOST_DOCUMENTS)
                metadata = _long_lists if name == "pgvector-lists" else _metadata
                vectors = np.ones((count, 2), dtype=np.float32)
                store.add(
                    Document("", metadata(number), str(number), vectors[number])
                    for number in range(count)
                )
                print(f"\n{name}, {count:,} documents, max_cost={bound:,}")
                _shapes(store.count, bound)


def _run_edge(budget: int | None) -> None:
    bound = budget or QdrantStore.capabilities.max_cost or 10_000
    dialect = Qdrant(prefix="metadata")
    with QdrantEdgeRows() as engine:
        engine.load({str(n): OWN.write(str(n), "", _metadata(n)) for n in range(_MOST_DOCUMENTS)})
        print(f"\n{_EDGE}, {_MOST_DOCUMENTS:,} documents, max_cost={bound:,}")
        _shapes(lambda text: len(engine.select(dialect.compile(text))), bound)


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
    run(tuple(sys.argv[2:]) or (*_ADDRESSES, _EDGE), int(sys.argv[1]))
