"""Several writers in one process: nothing comes back, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from vecstore import Document, DuplicateDocumentError
from vecstore.dialects.milvus.rows import Rows
from vecstore.dialects.milvus.store import MilvusStore

Open = Callable[..., MilvusStore]
THREADS = 8


def documents(count: int) -> list[Document]:
    return [Document("", {"n": number}, str(number), [1, number]) for number in range(count)]


@pytest.mark.parametrize("selection", [{"ids": ["7"]}, {"filter": "n == 7"}], ids=["ids", "filter"])
def test_what_was_deleted_does_not_come_back_with_an_update(
    open_milvus: Open, selection: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The updater is held between reading and writing."""
    store, other = open_milvus("returning", dimension=2), open_milvus("returning")
    store.add(documents(10))
    upsert, reading = Rows.upsert, threading.Event()

    def late(*args: Any) -> None:
        reading.set()
        deleter.join(0.3)  # which cannot end before this write has
        upsert(*args)

    deleter = threading.Thread(target=lambda: reading.wait(60) and other.delete(["7"]))
    deleter.start()
    monkeypatch.setattr(Rows, "upsert", late)
    store.update_metadata(**selection, set={"seen": True})
    deleter.join(60)
    assert store.get(["7"]) == []
    assert store.count() == 9


def test_all_keys_that_threads_set_on_one_document_are_kept(open_milvus: Open) -> None:
    stores = [open_milvus("keys", dimension=2) for _ in range(2)]
    stores[0].add(documents(1))
    barrier = threading.Barrier(THREADS)

    def work(worker: int) -> None:
        barrier.wait()
        for number in range(5):
            key = f"k{worker}_{number}"
            selection: dict[str, Any] = {"filter": "n == 0"} if number % 2 else {"ids": ["0"]}
            assert stores[worker % 2].update_metadata(**selection, set={key: number}) == 1

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert len(stores[0].get(["0"])[0].metadata) == 1 + 5 * THREADS


def test_one_of_those_who_add_an_id_wins(open_milvus: Open) -> None:
    stores = [open_milvus("winners", dimension=2) for _ in range(2)]
    barrier = threading.Barrier(THREADS)

    def work(worker: int) -> bool:
        barrier.wait()
        one = Document(str(worker), {"by": worker}, "same", [1, 0])
        try:
            stores[worker % 2].add([one], on_conflict="error")
        except DuplicateDocumentError:
            return False
        return True

    for _ in range(3):
        with ThreadPoolExecutor(THREADS) as pool:
            won = list(pool.map(work, range(THREADS)))
        assert won.count(True) == 1
        assert stores[0].get(["same"])[0].metadata == {"by": won.index(True)}
        stores[0].delete(["same"])
