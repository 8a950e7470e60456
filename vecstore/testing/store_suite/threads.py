"""Many threads on one store: no exception, and every document read is one that was written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document
from vecstore.errors import DuplicateDocumentError
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, vector_of
from vecstore.testing.store_suite.sizes import sized

_THREADS = 8


class Threads(StoreSuiteBase):
    """Tests of one store in several threads."""

    @sized(25, 400)
    def test_eight_threads(self, store: VectorStore, size: int) -> None:
        """Each thread writes ids of its own and reads everybody's.

        Usually: a thread saw half of a write, or lost one: a client, cursor or cache shared without
        a lock. Text, metadata and vector of a document change in one step; a read in between sees
        the old or the new one.
        """
        left: list[dict[str, int]] = [{} for _ in range(_THREADS)]

        def work(number: int) -> None:
            random, own = Random(self.seed + number), left[number]
            ids = [self.id(f"{number}-{place}") for place in range(6)]
            for version in range(size):
                chosen = random.sample(ids, 3)
                store.add([_version(id, number, version) for id in chosen])
                own.update(dict.fromkeys(chosen, version))
                _consistent(
                    store.search(vector=vector_of(f"{number}"), top_k=10, include_embedding=True)
                )
                if version % 3 == 0:
                    gone = random.choice(ids)
                    assert store.delete([gone]) == (gone in own)
                    own.pop(gone, None)
                if version % 4 == 0:
                    marked = random.sample(ids, 2)
                    changed = store.update_metadata(marked, set={"mark": version})
                    assert changed == sum(id in own for id in marked)
                found = store.get(ids)
                assert {one.id: one.metadata["version"] for one in found} == own
                _consistent(found)
                if version % 5 == number % 5:
                    _consistent(store.scan(f"thread == {(number + 1) % _THREADS}", batch_size=4))
                    assert store.count() <= _THREADS * len(ids)
                    assert store.count(f"thread == {number}") == len(own)
                if version % 10 == 9:
                    assert store.delete(filter=f"thread == {number}") == len(own)
                    own.clear()

        _in_threads(work, range(_THREADS))
        expected = {id: version for own in left for id, version in own.items()}
        found = list(store.scan(include_embedding=True))
        assert {one.id: one.metadata["version"] for one in found} == expected
        _consistent(found)
        assert store.count() == len(expected)

    @pytest.mark.parametrize("mode", ["error", "skip"])
    def test_one_of_many_writers_wins(self, store: VectorStore, mode: Any) -> None:
        """Where conflicts are decided in the step that writes, an id is written once.

        Usually: ``conflict_atomic`` is declared, but ids are looked up before they are written:
        ``_add``. Let the engine decide (a unique key, INSERT … ON CONFLICT, a lock around look and
        write), or do not declare it.
        """
        if not self.capabilities.conflict_atomic:
            return  # declared: two writers may both see an id as free
        for round in range(6):
            id = self.id(f"contested-{round}")
            start = threading.Barrier(_THREADS)

            def write(number: int, id: str = id, start: threading.Barrier = start) -> int | None:
                document = _version(id, number, number)
                start.wait(timeout=60)
                try:
                    store.add([document], on_conflict=mode)
                except DuplicateDocumentError as error:
                    assert list(error.ids) == [id]
                    return None
                return number

            winners = [one for one in _in_threads(write, range(_THREADS)) if one is not None]
            (found,) = store.get([id], include_embedding=True)
            _consistent([found])
            if mode == "error":
                assert winners == [found.metadata["thread"]]
            else:
                assert len(winners) == _THREADS
        assert store.count() == 6

    def test_batches_are_seen_whole(self, store: VectorStore) -> None:
        """Where a batch is written whole or not at all, and counting is the engine's.

        Usually: ``batch_atomic`` is declared, but a batch is written in parts: no transaction in
        ``_add``.
        """
        if not (self.capabilities.batch_atomic and self.capabilities.filtered_count):
            return  # declared: a reader may see a part of a batch
        size = min(50, self.capabilities.max_batch or 50)
        done = threading.Event()
        counts: set[int] = set()

        def write(_: int) -> None:
            try:
                for number in range(12):
                    documents = self.documents(size, prefix=f"batch-{number}", embedded=True)
                    store.add(documents)
            finally:
                done.set()

        def read(_: int) -> None:
            while not done.is_set():
                counts.add(store.count())
                counts.add(store.count("n >= 0"))

        with ThreadPoolExecutor(3) as pool:
            for future in [pool.submit(work, 0) for work in (write, read, read)]:
                future.result()
        assert not [count for count in counts if count % size]
        assert store.count() == 12 * size


def _version(id: str, thread: int, version: int) -> Document:
    """A document all of whose parts tell the same version."""
    metadata = {"thread": thread, "version": version, "again": [version, thread]}
    return Document(f"{id} {thread} {version}", metadata, id, _vector(thread, version))


def _vector(thread: int, version: int) -> list[float]:
    vector = [1.0] * DIMENSION
    vector[0], vector[1] = float(thread + 1), float(version % 100 + 1)
    length = float(np.linalg.norm(vector))
    return [number / length for number in vector]


def _consistent(documents: Iterable[Document]) -> None:
    """No document mixes parts of two versions."""
    for one in documents:
        thread, version = one.metadata["thread"], one.metadata["version"]
        assert one.text == f"{one.id} {thread} {version}", (
            f"{one.id!r}: the text of another version"
        )
        assert one.metadata["again"] == [version, thread]
        if one.embedding is not None:
            assert np.allclose(one.embedding, _vector(thread, version), atol=1e-5), (
                f"{one.id!r}: the vector of another version"
            )


def _in_threads(work: Callable[[int], Any], numbers: Iterable[int]) -> list[Any]:
    """Run at the same time; raise what one of them raised."""
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(work, number) for number in numbers]
        return [future.result() for future in futures]
