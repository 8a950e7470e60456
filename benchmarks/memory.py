"""The store in memory against the least a search could cost, and against other libraries.

``python -m benchmarks.memory`` prints ratios within one run; every call takes its turn in every
round, so that a busy moment of the machine falls on all of them alike.

    --quick              10,000 documents, under two minutes
    --documents N        how many, 100,000 when left out
    --clock cpu          seconds of the processor, for a machine that others use as well
    --json FILE          write the figures to a file
    --compare FILE       show what has become slower than in such a file
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from benchmarks.peers import PEERS, TOP_K, Corpus, Peer, Vecstore
from benchmarks.timing import duration, show
from vecstore import SimpleVectorStore

Figures = dict[str, dict[str, float]]
"""For each call its median, the quartiles around it, and its ratio to the baseline."""

_DIMENSION = 384
_FIELDS = {"every": 1, "half": 2, "tenth": 10, "hundredth": 100, "thousandth": 1_000}
_SLOWER = 1.25
"""A ratio that has grown by more than this is shown as slower."""

_CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def made(count: int, dimension: int = _DIMENSION) -> Corpus:
    """Random documents; ``tenth`` is 0 in every tenth of them, and so on."""
    vectors = np.random.default_rng(0).standard_normal((count, dimension), dtype=np.float32)
    metadata = [
        {field: number % every for field, every in _FIELDS.items()} for number in range(count)
    ]
    ids = [f"d{number}" for number in range(count)]
    return Corpus(ids, [f"text {number}" for number in range(count)], metadata, vectors)


class Run:
    """The figures of one run."""

    def __init__(self, clock: Callable[[], float], rounds: int) -> None:
        self._clock, self._rounds = clock, rounds
        self.parts: dict[str, Figures] = {}

    def compare(
        self, title: str, calls: Mapping[str, Callable[[], Any]], baseline: str, *, scale: float = 1
    ) -> None:
        """Time calls in turns, and print each with its ratio to one of them."""
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for number in range(self._rounds + 1):
            for name, call in calls.items():
                started = self._clock()
                call()
                if number:  # the first round makes everything ready
                    samples[name].append((self._clock() - started) / scale)
        base = median(samples[baseline])
        figures: Figures = {}
        for name, seconds in samples.items():
            low, middle, high = quantiles(seconds, n=4)
            figures[name] = {"median": middle, "low": low, "high": high, "ratio": middle / base}
        self.parts[title] = figures
        rows = [
            [
                name,
                duration(one["median"]),
                f"{duration(one['low'])} to {duration(one['high'])}",
                f"{one['ratio']:.3g}x",
            ]
            for name, one in figures.items()
        ]
        show(title, ["", "median", "quartiles", f"to {baseline}"], rows)


def _search(run: Run, corpus: Corpus) -> None:
    ours = Vecstore(corpus)
    peers: list[Peer] = [ours]
    for kind in PEERS:
        if len(corpus.ids) > kind.most:
            print(f"{kind.name}: left out, for it takes seconds over so many documents")
            continue
        try:
            peers.append(kind(corpus))
        except ImportError as missing:
            print(f"{kind.name}: left out, for {missing.name} is not installed")
    query = corpus.vectors[0] + np.float32(0.5) * corpus.vectors[1]
    alone: dict[str, Callable[[], Any]] = {
        "one pass over the vectors": corpus.vectors.max,
        "no filter": lambda: ours.search(query, None),
    }
    for field, every in _FIELDS.items():
        alone[f"{100 / every:g} %"] = lambda field=field: ours.search(query, field)
    count = f"{len(corpus.ids):,} documents x {corpus.dimension}"
    run.compare(f"Search, {count}", alone, "no filter")
    for field in (None, "tenth", "hundredth"):
        expected = ours.search(query, field)
        for peer in peers:
            found = peer.search(query, field)
            assert len(found) == TOP_K, peer.name
            assert found[0] == expected[0], peer.name
        share = "no filter" if field is None else f"{100 / _FIELDS[field]:g} %"
        calls = {
            peer.name: lambda peer=peer, field=field: peer.search(query, field) for peer in peers
        }
        run.compare(f"Against others, {share}, {count}", calls, ours.name)
    _many(run, ours.store, corpus)
    for peer in peers:
        peer.close()


def _many(run: Run, store: SimpleVectorStore, corpus: Corpus) -> None:
    queries = corpus.vectors[:64] + np.float32(0.5) * corpus.vectors[64:128]
    run.compare(
        f"64 queries, {len(corpus.ids):,} documents",
        {
            "one by one": lambda: [store.search(vector=query, top_k=TOP_K) for query in queries],
            "search_many": lambda: store.search_many(vectors=queries, top_k=TOP_K),
        },
        "one by one",
    )


def _ingest(run: Run, corpus: Corpus) -> None:
    documents = corpus.documents()
    half = documents[: len(documents) // 2]
    embeddings = [one.embedding for one in documents]

    def filled(given: list[Any], size: int) -> None:
        store = SimpleVectorStore()
        for start in range(0, len(given), size):
            store.add(given[start : start + size])

    run.compare(
        f"Ingest of arrays, a document, {len(documents):,} documents",
        {
            "copying the vectors": lambda: np.concatenate(embeddings),
            "add in batches of 1,000": lambda: filled(documents, 1_000),
            "twice half of them": lambda: [filled(half, 1_000) for _ in range(2)],
            "add at once": lambda: filled(documents, len(documents)),
        },
        "copying the vectors",
        scale=len(documents),
    )


def _files(run: Run, corpus: Corpus) -> None:
    store = SimpleVectorStore()
    store.add(corpus.documents())
    with tempfile.TemporaryDirectory() as folder:
        file, bare = Path(folder) / "kb.json", Path(folder) / "vectors.npy"
        store.save(file)
        np.save(bare, corpus.vectors)
        run.compare(
            f"Save and load, {len(corpus.ids):,} documents; "
            f"the file is {file.stat().st_size / corpus.vectors.nbytes:.2f}x the bare vectors",
            {
                "np.save, vectors only": lambda: np.save(bare, corpus.vectors),
                "np.load, vectors only": lambda: np.load(bare),
                "save": lambda: store.save(file),
                "load": lambda: SimpleVectorStore().load(file),
            },
            "np.save, vectors only",
        )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "numpy": np.__version__}
    for name in ("faiss-cpu", "usearch", "sqlite-vec", "qdrant-client", "langchain-core", "orjson"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _slower(parts: dict[str, Figures], before: dict[str, Figures]) -> list[list[str]]:
    rows = []
    for title, figures in parts.items():
        for name, one in figures.items():
            old = before.get(title, {}).get(name)
            if old is not None and one["ratio"] > _SLOWER * old["ratio"]:
                rows.append([f"{title}: {name}", f"{old['ratio']:.3g}x", f"{one['ratio']:.3g}x"])
    return rows


def run(arguments: list[str] | None = None) -> None:
    """Measure, print, and write or compare what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--clock", choices=sorted(_CLOCKS), default="wall")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args([] if arguments is None else arguments)
    count = options.documents or (10_000 if options.quick else 100_000)
    measured = Run(_CLOCKS[options.clock], 5 if options.quick else 15)
    corpus = made(count)
    _search(measured, corpus)
    _ingest(measured, corpus)
    _files(measured, corpus)
    if options.json is not None:
        content = {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "clock": options.clock,
            "versions": _versions(),
            "parts": measured.parts,
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    if options.compare is not None:
        before = json.loads(options.compare.read_text("utf-8"))["parts"]
        rows = _slower(measured.parts, before)
        show("Slower than before", ["", "before", "now"], rows or [["nothing", "", ""]])


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
