"""The store in memory beside others: searching, filling, saving, growing."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import QUERIES, Data, random_data, real_data
from benchmarks.harness import Call, Floor, Prepared, Run
from benchmarks.others import (
    PEERS,
    Faiss,
    Haystack,
    LangChain,
    LlamaIndex,
    Peer,
    VecstoreInt8,
    filled,
    missing,
)
from vecstore import SimpleVectorStore

PASS = "one pass over the vectors"
INT8 = VecstoreInt8.name
SIDECAR = "vecstore, sidecar"
PERCENTS = (100, 50, 10, 1, 0.1)
_SLOW_PEERS = {"langchain-core", "llama-index-core", "haystack-ai"}


def _data(run: Run) -> Iterator[tuple[Data, bool]]:
    """Each kind of data, and whether filters are tried on it at every share."""
    if not run.quick:
        yield random_data(10_000), False
    yield random_data(run.size(100_000, 10_000), run.size(384, 384, 8)), True
    if missing(("wordllama",), "wordllama") is None:
        yield real_data(60 if run.tiny else None), False


def search(run: Run) -> None:
    """Whole calls, with documents: plain, filtered at several shares, and in batches."""
    for data, at_every_share in _data(run):
        skipped: dict[str, str] = {}
        with filled(data, skipped=skipped) as ready, _unhindered():
            notes = _notes(data, ready)
            _plain(run, data, ready, skipped, notes)
            for percent in PERCENTS if at_every_share else (10, 1):
                _filtered(run, data, ready, skipped, notes, percent)
            if at_every_share:
                _batch(run, data, ready)
        gc.collect()


def _searches(
    data: Data, ready: Mapping[str, Peer], below: int | None = None
) -> dict[str, Callable[[], Any]]:
    def call(peer: Peer) -> Callable[[], Any]:
        query = data.query()
        return lambda: peer.search(query(), below)

    return {name: call(peer) for name, peer in ready.items()}


def _plain(
    run: Run,
    data: Data,
    ready: Mapping[str, Peer],
    skipped: Mapping[str, str],
    notes: Mapping[str, str],
) -> None:
    calls: dict[str, Call] = dict(_searches(data, ready))
    calls[PASS] = lambda: data.vectors.max()
    floors = []
    if len(data) >= 100_000:
        floors = [
            Floor("certified int8, faiss flat", INT8, Faiss.name, 0.55),
            *(Floor(f"{name} slower", name, "vecstore", 100, True) for name in _SLOW_PEERS),
            Floor("lancedb slower", "lancedb flat", "vecstore", 15, True),
            Floor("qdrant-client slower", "qdrant-client local", "vecstore", 10, True),
            Floor("sqlite-vec slower", "sqlite-vec", "vecstore", 5, True),
            Floor("usearch slower", "usearch exact", "vecstore", 1, True),
            Floor("qdrant-edge slower", "qdrant-edge", "vecstore", 1, True),
        ]
    run.measure(
        "search",
        f"nearest 4 of {data.title}",
        calls,
        ours=("vecstore", INT8),
        floors=floors,
        skipped=skipped,
        notes=notes,
    )


def _filtered(
    run: Run,
    data: Data,
    ready: Mapping[str, Peer],
    skipped: Mapping[str, str],
    notes: Mapping[str, str],
    percent: float,
) -> None:
    calls = _searches(data, ready, data.kept(percent))
    plain = "vecstore, no filter"
    calls[plain] = _searches(data, {"vecstore": ready["vecstore"]})["vecstore"]
    run.measure(
        "filtered",
        f"nearest 4 of {percent:g} % of {data.title}",
        calls,
        ours=("vecstore", INT8, plain),
        skipped=skipped,
        notes=notes,
        x=(percent, "% of the documents that the filter keeps"),
        family=f"filtered, {data.title}",
    )


def _batch(run: Run, data: Data, ready: Mapping[str, Peer]) -> None:
    store = ready["vecstore"].store  # type: ignore[attr-defined]
    one_by_one = f"vecstore, {QUERIES} x search"
    calls: dict[str, Call] = {
        "vecstore": lambda: store.search_many(vectors=data.queries, top_k=4),
        one_by_one: lambda: [store.search(vector=query, top_k=4) for query in data.queries],
        "one product of matrices": lambda: data.queries @ data.vectors.T,
    }
    skipped = {}
    if Faiss.name in ready:
        index = ready[Faiss.name].index  # type: ignore[attr-defined]
        calls["faiss flat"] = lambda: index.search(data.queries, 4)
    else:
        skipped["faiss flat"] = "not installed: pip install faiss-cpu"
    run.measure(
        "batch",
        f"{QUERIES} queries among {data.title}",
        calls,
        ours=("vecstore", one_by_one),
        floors=[Floor(f"{QUERIES} queries, to singles", "vecstore", one_by_one, 0.3)],
        skipped=skipped,
        notes={"faiss flat": "numbers only", "one product of matrices": "scores only"},
    )


def _notes(data: Data, ready: Mapping[str, Peer]) -> dict[str, str]:
    """What peers say of themselves, and how much of what we find they find."""
    queries = data.queries[:8]
    ours = [ready["vecstore"].search(query) for query in queries]
    notes = {}
    for name, peer in ready.items():
        try:
            theirs = [peer.search(query) for query in queries]
        except Exception:
            continue  # it will be named among the skipped when it is timed
        both = sum(len({*one} & {*other}) for one, other in zip(ours, theirs, strict=True))
        share = both / sum(map(len, ours))
        parts = [peer.note] if peer.note else []
        if share < 1:
            parts.append(f"{share:.0%} of the same results")
        notes[name] = ", ".join(parts)
    return notes


@contextmanager
def _unhindered() -> Iterator[None]:
    """Without the collector of garbage, which walks through the peers' millions of objects."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def ingest(run: Run) -> None:
    """From rows of texts, metadata and vectors to a store that can be searched."""
    data = random_data(run.size(20_000, 2_000), run.size(384, 384, 8))
    data.lists  # noqa: B018  (made now, for those that take lists)
    documents = data.documents()
    skipped: dict[str, str] = {}

    def fill_again() -> Any:
        store = SimpleVectorStore()
        for start in range(0, len(documents), 1_000):
            store.add(documents[start : start + 1_000])
        return store

    def fill_halves() -> None:
        for half in (documents[: len(documents) // 2], documents[len(documents) // 2 :]):
            store = SimpleVectorStore()
            for start in range(0, len(half), 1_000):
                store.add(half[start : start + 1_000])

    def fill_one_by_one() -> Any:
        store = SimpleVectorStore()
        for document in documents:
            store.add([document])
        return store

    batches, singly = "vecstore, batches of 1,000", "vecstore, one by one"
    halves = "vecstore, two stores of half of them"
    with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
        calls: dict[str, Call] = {
            "vecstore": lambda: SimpleVectorStore().add(data.documents()),
            batches: fill_again,
            halves: fill_halves,
            singly: fill_one_by_one,
            "np.array": lambda: data.vectors.copy(),
        }
        for kind in PEERS:
            reason = missing(kind.modules, kind.package)
            if reason is not None:
                skipped[kind.name] = reason
            else:
                calls[kind.name] = _filling(kind, data, Path(folder))
        run.measure(
            "ingest",
            f"fill with {data.title}",
            calls,
            ours=("vecstore", batches, halves, singly, INT8),
            floors=[
                Floor("a document, from arrays in batches", batches, None, 1.5e-6, False,
                      len(data)),
                Floor("documents once, to half of them twice", batches, halves, 1.25),
            ],
            skipped=skipped,
            notes={
                "vecstore": "documents made as well",
                batches: "documents made before",
                halves: "documents made before",
                singly: "documents made before",
                "np.array": "a copy of the vectors",
            },
            rounds=3,
        )  # fmt: skip


def _filling(kind: type[Peer], data: Data, folder: Path) -> Prepared:
    def fill(own: str) -> None:
        kind(data, Path(own)).close()

    return Prepared(lambda: tempfile.mkdtemp(dir=folder), fill)  # engines keep files


def persistence(run: Run) -> None:
    """To a file and back, and the size of the file."""
    data = random_data(run.size(20_000, 1_000), run.size(384, 384, 8))
    savers: dict[str, Call] = {}
    loaders: dict[str, Call] = {}
    sizes: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder,
        filled(data, (Faiss, LangChain, LlamaIndex, Haystack), skipped) as ready,
    ):
        home = Path(folder)

        def add(name: str, save: Callable[[Path], Any], load: Callable[[Path], Any]) -> None:
            path = home / f"{len(savers)}.json"
            save(path)
            savers[name] = lambda: save(path)
            loaders[name] = lambda: load(path)
            files = home.glob(f"{path.name}*")
            sizes[name] = [float(sum(file.stat().st_size for file in files))]

        store = ready["vecstore"].store  # type: ignore[attr-defined]
        add("vecstore", store.save, lambda path: SimpleVectorStore().load(path))
        add(
            SIDECAR,
            lambda path: store.save(path, sidecar=True),
            lambda path: SimpleVectorStore().load(path, mmap=True),
        )
        add("np.save", lambda path: _np_save(path, data.vectors), np.load)
        if Faiss.name in ready:
            import faiss

            index = ready[Faiss.name].index  # type: ignore[attr-defined]
            add(
                "faiss flat",
                lambda path: faiss.write_index(index, str(path)),
                lambda path: faiss.read_index(str(path)),
            )
        for kind in (LangChain, LlamaIndex, Haystack):
            peer = ready.get(kind.name)
            if peer is None:
                continue
            try:
                add(kind.name, peer.save, peer.load)  # type: ignore[attr-defined]
            except Exception as error:
                skipped[kind.name] = f"{type(error).__name__}: {str(error)[:100]}"
        notes = {
            SIDECAR: "loaded by mmap",
            "np.save": "vectors only",
            "faiss flat": "vectors only",
        }
        document_stores = [name for name in savers if name in _SLOW_PEERS]
        rounds = 3
        for title, calls, bound in (("save", savers, 0.05), ("load", loaders, 0.08)):
            run.measure(
                "persistence",
                f"{title} {data.title}",
                calls,
                ours=("vecstore", SIDECAR),
                skipped=skipped,
                notes=notes,
                rounds=rounds,
                floors=[
                    Floor(f"{title}, to {name}", "vecstore", name, bound)
                    for name in document_stores
                ],
            )
        run.keep(
            "persistence",
            f"file of {data.title}",
            "bytes",
            sizes,
            ours=("vecstore", SIDECAR),
            skipped=skipped,
            notes=notes,
            floors=[Floor(f"file, to {name}", "vecstore", name, 0.3) for name in document_stores],
        )


def _np_save(path: Path, vectors: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, vectors)


def scaling(run: Run) -> None:
    """The same search, and filtered ones, while the data grows."""
    counts = [60, 120] if run.tiny else [1_000, 10_000, 100_000]
    if not run.quick:
        counts += [3_000, 30_000]
    if run.large:
        counts.append(1_000_000)
    for count in sorted(counts):
        data = random_data(count, run.size(384, 384, 8))
        skipped: dict[str, str] = {}
        with filled(data, (Faiss, VecstoreInt8), skipped) as ready, _unhindered():
            calls: dict[str, Call] = dict(_searches(data, ready))
            for percent in (10, 1):
                below = data.kept(percent)
                for who, call in _searches(data, ready, below).items():
                    calls[f"{who}, {percent} % kept"] = call
            calls[PASS] = lambda data=data: data.vectors.max()
            run.measure(
                "scaling",
                f"nearest 4 of {data.title}",
                calls,
                ours=tuple(name for name in calls if name.startswith("vecstore")),
                floors=_scaling_floors(count),
                skipped=skipped,
                x=(count, "documents"),
                family="scaling",
            )


def _scaling_floors(count: int) -> list[Floor]:
    at = f"{count:,} documents"
    if count == 10_000:
        return [Floor(f"search of {at}, to faiss flat", "vecstore", Faiss.name, 1.35)]
    if count < 100_000:
        return []
    floors = [
        Floor(f"search of {at}, to one read pass", "vecstore", PASS, 1.2),
        Floor(f"search of {at}, to faiss flat", "vecstore", Faiss.name, 1.15),
        Floor(f"search of {at} in int8, to faiss flat", INT8, Faiss.name, 0.55),
    ]
    for percent, bound in ((10, 0.6), (1, 0.08)):
        name = f"vecstore, {percent} % kept"
        floors += [
            Floor(f"{percent} % of {at}, to no filter", name, "vecstore", bound),
            Floor(
                f"{percent} % of {at}, to faiss + bitmap",
                name,
                f"{Faiss.name}, {percent} % kept",
                1.0,
            ),
        ]
    return floors


_CHILD = """
import gc, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from benchmarks.in_memory import resident
from benchmarks.data import random_data
from benchmarks.others import PEERS, Vecstore, filled
name, count, dimension = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kinds = {kind.name: kind for kind in (Vecstore, *PEERS)}
with TemporaryDirectory(prefix="vecstore-bench-") as folder:
    if name in kinds:  # everything imported, and a first call made
        Path(folder, "warm").mkdir(), Path(folder, "own").mkdir()
        kinds[name](random_data(10, dimension), Path(folder, "warm")).close()
        random_data.cache_clear()
    gc.collect()
    before = resident()
    data = random_data(count, dimension)
    held = kinds[name](data, Path(folder, "own")) if name in kinds else (data, data.ids)
    del data
    random_data.cache_clear()
    gc.collect()
    print(resident() - before)
"""
BARE = "texts, metadata and one matrix"


def resident() -> int:
    """Bytes of memory that this process holds, after what is free was given back."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass  # not glibc: the figure then has what the allocator keeps
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell the memory of a process in /proc")


def memory(run: Run) -> None:
    """What a process grows by, each store in a process of its own."""
    if not Path("/proc/self/status").exists():
        print("\nmemory: skipped, it is read from /proc, which this system does not have")
        return
    count, dimension = run.size(50_000, 5_000), run.size(384, 384, 8)
    data_bytes: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    peers = PEERS[:1] if run.tiny else PEERS
    wanted = {"vecstore": None, **{kind.name: kind for kind in peers}, BARE: None}
    for name, kind in wanted.items():
        reason = None if kind is None else missing(kind.modules, kind.package)
        if reason is None and kind is not None and count > kind.most:
            reason = f"filled with at most {kind.most:,} rows here"
        if reason is not None:
            skipped[name] = reason
            continue
        command = [sys.executable, "-c", _CHILD, name, str(count), str(dimension)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            skipped[name] = (done.stderr.strip().splitlines() or ["it failed"])[-1][:120]
            continue
        data_bytes[name] = [float(done.stdout.split()[-1])]
    run.keep(
        "memory",
        f"growth of a process with {count:,} x {dimension}",
        "bytes",
        data_bytes,
        ours=("vecstore", INT8),
        floors=[Floor("memory, to documents and vectors", "vecstore", BARE, 1.3)],
        skipped=skipped,
        notes={
            "lancedb flat": "on disk",
            "faiss flat + bitmap": "with a list of documents",
            BARE: "what the store is filled from",
        },
    )
