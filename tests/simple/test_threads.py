"""Readers and writers in threads: no exception, and every result is one version of a document."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import Document, F, SimpleVectorStore

DIMENSION = 16
IDS = [f"d{n}" for n in range(400)]


def vector(version: int) -> Any:
    row = np.full(DIMENSION, 1.0, np.float32)
    row[version % DIMENSION] = version % 1000 + 2
    return row


def document(id: str, version: int) -> Document:
    metadata = {"id": id, "v": version, "parity": version % 2, "tags": [id, str(version)]}
    return Document(f"{id} {version}", metadata, id=id, embedding=vector(version))


def check(found: Document, *, with_embedding: bool) -> None:
    version = found.metadata["v"]
    assert found.metadata["id"] == found.id
    assert found.text == f"{found.id} {version}"
    assert found.metadata["tags"] == [found.id, str(version)]
    assert found.metadata["parity"] == version % 2
    if with_embedding:
        assert found.embedding is not None
        assert np.array_equal(found.embedding, vector(version))


class Workshop:
    """Threads at work on one store until the time is over or one of them fails."""

    def __init__(self, store: SimpleVectorStore, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.versions = iter(range(1, 10**9))
        self.failures: list[BaseException] = []
        self.done: dict[str, int] = {}
        self.stopped = threading.Event()

    def run(self, seconds: float, *jobs: Callable[[random.Random], None]) -> None:
        threads = [
            threading.Thread(target=self.repeat, args=(job, n)) for n, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        self.stopped.wait(seconds)
        self.stopped.set()
        for thread in threads:
            thread.join()
        for failure in self.failures:
            raise failure

    def repeat(self, job: Callable[[random.Random], None], seed: int) -> None:
        chance = random.Random(seed)
        try:
            while not self.stopped.is_set():
                job(chance)
                self.done[job.__name__] = self.done.get(job.__name__, 0) + 1
        except BaseException as error:
            self.failures.append(error)
            self.stopped.set()

    # --- writers ---

    def add_some(self, chance: random.Random) -> None:
        ids = chance.sample(IDS, chance.randint(1, 60))
        self.store.add(
            [document(id, next(self.versions)) for id in ids],
            on_conflict=chance.choice(["replace", "replace", "skip"]),  # type: ignore[arg-type]
        )

    def delete_some(self, chance: random.Random) -> None:
        if chance.random() < 0.5:
            self.store.delete(chance.sample(IDS, 20))
        else:
            self.store.delete(
                filter=(F.parity == chance.randint(0, 1)) & (F.id < chance.choice(IDS))
            )
        time.sleep(0.001)

    def update_some(self, chance: random.Random) -> None:
        note = {"note": {"n": chance.random()}}
        if chance.random() < 0.5:
            self.store.update_metadata(chance.sample(IDS, 20), set=note)
        else:
            self.store.update_metadata(filter=F.parity == 1, set=note, unset=["nothing"])

    # --- readers ---

    def search(self, chance: random.Random) -> None:
        query = np.abs(np.random.default_rng(chance.randrange(10**6)).normal(size=DIMENSION))
        filter = chance.choice([None, F.parity == 0, F.id > chance.choice(IDS)])
        top_k = chance.choice([1, 5, 50, 1000])
        found = self.store.search(vector=query, top_k=top_k, filter=filter, include_embedding=True)
        assert len({d.id for d in found}) == len(found)
        assert [(-(d.score or 0), d.id) for d in found] == sorted(
            (-(d.score or 0), d.id) for d in found
        )
        for one in found:
            check(one, with_embedding=True)
            assert filter is None or filter.matches(one.metadata)
            assert one.embedding is not None
            row = one.embedding.astype(float)
            exact = row @ query / np.linalg.norm(row) / np.linalg.norm(query)
            assert one.score == pytest.approx(exact, abs=1e-5)

    def read(self, chance: random.Random) -> None:
        for one in self.store.get(chance.sample(IDS, 30), include_embedding=True):
            check(one, with_embedding=True)
        for one in self.store.get(filter=F.parity == 1, limit=30):
            check(one, with_embedding=False)
            assert one.metadata["parity"] == 1

    def scan(self, chance: random.Random) -> None:
        seen = [d.id for d in self.store.scan() if check(d, with_embedding=False) is None]
        assert len(set(seen)) == len(seen)
        assert 0 <= self.store.count() <= len(IDS)

    def save(self, chance: random.Random) -> None:
        path = self.folder / "kb.json"
        self.store.save(path)
        loaded = SimpleVectorStore().load(path)
        seen = list(loaded.scan(include_embedding=True))
        assert len({d.id for d in seen}) == len(seen) == loaded.count()
        for one in seen:
            check(one, with_embedding=True)


@pytest.mark.parametrize(
    "seconds",
    [2, pytest.param(10, marks=pytest.mark.wide), pytest.param(60, marks=pytest.mark.heavy)],
)
def test_everything_at_once(tmp_path: Path, seconds: float) -> None:
    work = Workshop(SimpleVectorStore(dimension=DIMENSION), tmp_path)
    work.run(
        seconds,
        work.add_some,
        work.add_some,
        work.delete_some,
        work.update_some,
        work.search,
        work.search,
        work.read,
        work.scan,
        work.save,
    )
    assert set(work.done) == {
        "add_some",
        "delete_some",
        "update_some",
        "search",
        "read",
        "scan",
        "save",
    }
    for one in work.store.scan(include_embedding=True):
        check(one, with_embedding=True)


def test_no_update_is_lost() -> None:
    store = SimpleVectorStore()
    store.add([Document("", id="x", embedding=[1])])

    def write(name: str) -> None:
        for n in range(300):
            store.update_metadata(["x"], set={f"{name}{n}": n})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.get(["x"])[0].metadata) == 1200


def test_of_writers_that_refuse_to_replace_one_wins() -> None:
    from vecstore import DuplicateDocumentError

    store = SimpleVectorStore()
    won: list[int] = []

    def claim(writer: int) -> None:
        for n in range(200):
            try:
                store.add([Document(f"{writer}", id=f"{n}", embedding=[1])], on_conflict="error")
                won.append(n)
            except DuplicateDocumentError:
                pass

    threads = [threading.Thread(target=claim, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(200))


def test_the_first_vectors_of_two_threads_agree_on_a_dimension() -> None:
    from vecstore import DimensionMismatchError

    for _ in range(100):
        store = SimpleVectorStore()
        failed: list[int] = []
        barrier = threading.Barrier(2)

        def add(
            length: int, store: Any = store, barrier: Any = barrier, failed: Any = failed
        ) -> None:
            barrier.wait()
            try:
                store.add([Document("", embedding=[1] * length)])
            except DimensionMismatchError:
                failed.append(length)

        threads = [threading.Thread(target=add, args=(length,)) for length in (2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 1
        assert store.dimension == 5 - failed[0]
        assert store.count() == 1


def test_loading_while_others_read() -> None:
    texts = []
    for count, metric in ((50, "cosine"), (80, "dot")):
        store = SimpleVectorStore(metric=metric)  # type: ignore[arg-type]
        store.add(Document(metric, id=f"{n}", embedding=[3, 4]) for n in range(count))
        texts.append(store.to_json())
    shared = SimpleVectorStore.from_json(texts[0])
    failures: list[Any] = []
    stopped = threading.Event()

    def read() -> None:
        while not stopped.is_set():
            found = shared.search(vector=[3, 4], top_k=100)
            state = (len(found), {d.text for d in found}, {round(d.score or 0, 3) for d in found})
            if state not in ((50, {"cosine"}, {1.0}), (80, {"dot"}, {25.0})):
                failures.append(state)

    import io

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(100):
        shared.load(io.StringIO(texts[n % 2]))
    stopped.set()
    for thread in threads:
        thread.join()
    assert failures == []
