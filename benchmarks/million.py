"""A million documents in memory: what they take, and how long searching, saving and loading do.

Takes 6 GB of memory and of a temporary folder, and minutes; prints only.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import Data, random_data
from benchmarks.harness import sampled
from benchmarks.in_memory import PASS, resident
from benchmarks.timing import duration, show
from vecstore import Document, SimpleVectorStore

_BATCH = 1_000
_PERCENTS = (10, 1, 0.1)


def run(count: int = 1_000_000, dimension: int = 384) -> None:
    """Everything, one after the other, so that two stores are never held at once but to compare."""
    SimpleVectorStore(quantize="int8").add([Document("x", id="x", embedding=[1, 2])])
    before = resident()
    data = random_data(count, dimension)
    bare = resident() - before
    _tell("vectors, texts and metadata", f"{bare / 2**20:,.0f} MiB")

    before, (store, seconds) = resident(), _timed(lambda: _filled(data))
    _tell("a store of them", f"{(resident() - before) / 2**20:,.0f} MiB beside what it shares")
    _tell("add, a document", duration(seconds / count))
    calls = {PASS: lambda: data.vectors.max(), **_searches(store, data)}
    _compare(f"Searches of {data.title}", calls, "no filter")

    with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
        whole, apart = Path(folder, "kb.json"), Path(folder, "apart.json")
        for name, path, sidecar in (("save", whole, False), ("save, sidecar", apart, True)):
            _, seconds = _timed(partial(store.save, path, sidecar=sidecar))
            size = sum(file.stat().st_size for file in Path(folder).glob(f"{path.name}*"))
            _tell(name, f"{duration(seconds)}, {size / 2**20:,.0f} MiB")
        queries = list(data.queries[:8])
        expected = [store.search(vector=query, top_k=10) for query in queries]
        del store
        for name, path, way, mmap in (
            ("load", whole, None, False),
            ("load, sidecar", apart, None, False),
            ("load, sidecar, mmap", apart, None, True),
            ("load, int8", whole, "int8", False),
        ):
            before = resident()
            loaded = SimpleVectorStore(quantize=way)  # type: ignore[arg-type]
            seconds = _timed(partial(loaded.load, path, mmap=mmap))[1]
            held = resident() - before
            _tell(name, f"{duration(seconds)}, {held / 2**20:,.0f} MiB, {held / bare:.2f}x")
            assert [loaded.search(vector=query, top_k=10) for query in queries] == expected
            if way is None:
                del loaded
        plain = SimpleVectorStore().load(apart, mmap=True)
        calls = {
            "no filter": _searches(plain, data)["no filter"],
            **{f"int8, {name}": call for name, call in _searches(loaded, data).items()},
        }
        _compare(f"In int8, {data.title}", calls, "no filter")


def _filled(data: Data) -> SimpleVectorStore:
    store = SimpleVectorStore()
    for start in range(0, len(data), _BATCH):
        rows = slice(start, start + _BATCH)
        columns = (data.texts[rows], data.metadata[rows], data.ids[rows], data.vectors[rows])
        store.add([Document(*row) for row in zip(*columns, strict=True)])
    return store


def _searches(store: SimpleVectorStore, data: Data) -> dict[str, Callable[[], Any]]:
    query = data.query()
    filters = {
        "no filter": None,
        **{f"{percent:g} %": f"rank < {data.kept(percent)}" for percent in _PERCENTS},
    }
    return {
        name: lambda filter=filter: store.search(vector=query(), top_k=4, filter=filter)
        for name, filter in filters.items()
    }


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    gc.collect()
    started = time.perf_counter()
    return call(), time.perf_counter() - started


def _compare(title: str, calls: Mapping[str, Callable[[], Any]], baseline: str) -> None:
    samples = sampled(calls, least=7, most=7, seconds=60, failed={}, ours=list(calls))
    base = median(samples[baseline])
    rows = [
        [name, duration(median(taken)), f"{median(taken) / base:.3g}x"]
        for name, taken in samples.items()
    ]
    show(title, ["", "median", f"to {baseline}"], rows)


def _tell(what: str, figure: str) -> None:
    print(f"{what}: {figure}", flush=True)
