"""The worst filters a stranger may send within the limits of a text and a store's budget."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.engines.qdrant import QdrantEdgeRows
from tests.engines.weaviate_server import (
    Address,
    built_server,
    named_server,
    running_weaviate,
)
from tests.filter.hostile_shapes import _NAMES, SHAPES, largest
from vecstore import (
    Document,
    Schema,
    UnsupportedFilterError,
    VecstoreError,
    VectorStore,
    open_store,
    parse,
)
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
    "sqlite": "sqlite://{folder}/kb.db?table=docs",
    "duckdb": "duckdb://{folder}/kb.duckdb?table=docs",
    "chroma": "chroma://{folder}/chroma?collection=docs",
    "lancedb": "lancedb://{folder}/tables?table=docs",
    "redis": "redis+embedded://{folder}/redis?index=docs",
}
_ORDERED = ["a", "b", "c", *_NAMES[:40]]
_WEAVIATE = "weaviate"
"""On the server that the environment names, or one that was built for the tests."""
_EDGE = "qdrant-edge"
"""The engine of a Qdrant server, in process and without a store."""
_EVERY = (*_ADDRESSES, _EDGE, _WEAVIATE)
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


def run(
    names: tuple[str, ...] = _EVERY,
    budget: int | None = None,
    documents: int = _MOST_DOCUMENTS,
) -> None:
    """Print, for each shape and engine, the cost of the largest filter and the seconds it takes.

    Args:
        names: Of the engines.
        budget: What a filter may cost; what each store declares without it.
        documents: At most so many in each; in those that compare in Python fewer.
    """
    for name in names:
        if name == _EDGE:
            _run_edge(budget, documents)
            continue
        if name == _WEAVIATE and not (named_server() or built_server()):
            print("\nweaviate: no server is named, and none is built")
            continue
        with _opened(name) as store:
            bound = budget or store.max_cost or 10_000
            store._set_up(max_cost=None)
            count = min(_DOCUMENTS.get(name, documents), documents)
            metadata = _long_lists if name == "pgvector-lists" else _metadata
            vectors = np.ones((count, 2), dtype=np.float32)
            store.add(
                Document("", metadata(number), str(number), vectors[number])
                for number in range(count)
            )
            print(f"\n{name}, {count:,} documents, max_cost={bound:,}")
            _shapes(store.count, bound)


@contextmanager
def _opened(name: str) -> Iterator[VectorStore]:
    with tempfile.TemporaryDirectory() as folder:
        if name == _WEAVIATE:
            schema = Schema(dict.fromkeys(_ORDERED, Any), others="allow")
            with _weaviate() as at:
                url = f"weaviate://{at.host}:{at.port}/Hostile?create=true&grpc_port={at.grpc_port}"
                with open_store(url, api_key=at.api_key, schema=schema, dimension=2) as store:
                    store.clear()
                    yield store
                    store.clear()
            return
        # Redis orders the values of declared keys alone.
        ordered = {"numbers": _ORDERED, "texts": _ORDERED} if name == "redis" else {}
        url = _ADDRESSES[name].format(folder=Path(folder))
        with open_store(url, dimension=2, **ordered) as store:
            yield store


@contextmanager
def _weaviate() -> Iterator[Address]:
    named = named_server()
    if named is not None:
        yield named
        return
    with running_weaviate() as server:
        yield server.address


def _run_edge(budget: int | None, documents: int) -> None:
    bound = budget or QdrantStore.capabilities.max_cost or 10_000
    dialect = Qdrant(prefix="metadata")
    with QdrantEdgeRows() as engine:
        engine.load({str(n): OWN.write(str(n), "", _metadata(n)) for n in range(documents)})
        print(f"\n{_EDGE}, {documents:,} documents, max_cost={bound:,}")
        _shapes(lambda text: len(engine.select(dialect.compile(text))), bound)


def _shapes(count: Callable[[str], int], bound: int) -> None:
    for shape, text_of in SHAPES.items():
        text = largest(text_of, lambda one: _cost(one) <= bound)
        parse(text)
        started, began = time.perf_counter(), _processor()
        try:
            count(text)
            note = ""
        except UnsupportedFilterError:
            note = "refused"
        except VecstoreError as error:
            note = f"{type(error).__name__}: {str(error)[:60]!r}"
        seconds, busy = time.perf_counter() - started, _processor() - began
        figures = f"cost {_cost(text):5,}  {seconds:7.3f} s  {busy:7.3f} s busy"
        print(f"  {shape:28} {figures}  {note}", flush=True)


def _processor() -> float:
    """Seconds of the processor that this process and the servers it started have had."""
    us = psutil.Process()
    spent = 0.0
    for one in (us, *us.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        spent += times.user + times.system
    return spent


if __name__ == "__main__":
    most = int(sys.argv[2]) if len(sys.argv) > 2 else _MOST_DOCUMENTS
    run(tuple(sys.argv[3:]) or _EVERY, int(sys.argv[1]) or None, most)
