"""Writes that are broken off anywhere: the old state or the new one, and the store goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vecstore import Document, F, SimpleVectorStore
from vecstore.simple import table as table_module


class TimeIsUp(BaseException):
    """What a handler of signals may raise."""


Write = Callable[[SimpleVectorStore], object]

WRITES: dict[str, Write] = {
    "add": lambda store: store.add([document("new", 1), document("also new", 2)]),
    "replace": lambda store: store.add([document("a", 7), document("new", 1)]),
    "skip": lambda store: store.add([document("a", 7), document("new", 1)], on_conflict="skip"),
    "update": lambda store: store.update_metadata(["a", "b"], set={"v": 9}),
    "update by filter": lambda store: store.update_metadata(filter=F.v >= 2, set={"v": 9}),
    "delete": lambda store: store.delete(["a", "c"]),
    "delete by filter": lambda store: store.delete(filter=F.v == 2),
    "clear": lambda store: store.clear(),
    "load": lambda store: store.load(saved()),
}


def document(id: str, value: int) -> Document:
    return Document(f"text {value}", {"v": value}, id=id, embedding=[value, 1])


def saved() -> Any:
    import io

    other = SimpleVectorStore()
    other.add([document("x", 5), document("a", 6)])
    return io.StringIO(other.to_json())


def state(store: SimpleVectorStore) -> dict[str, Any]:
    """What the store holds, looked at from every side."""
    found = {
        one.id: (one.text, one.metadata["v"], np.asarray(one.embedding).tolist())
        for one in store.scan(include_embedding=True)
    }
    assert store.count() == len(found)
    every = {"a", "b", "c", "new", "also new", "x", *found}
    assert sorted(one.id for one in store.get(every)) == sorted(found)
    assert sorted(one.id for one in store.search(vector=[1, 1], top_k=99)) == sorted(found)
    again = SimpleVectorStore.from_json(store.to_json())
    assert [one.id for one in again.scan()] == list(found)
    return found


def filled() -> SimpleVectorStore:
    store = SimpleVectorStore()
    store.add([document("a", 1), document("b", 2), document("c", 3)])
    return store


@pytest.mark.parametrize("name", WRITES)
def test_broken_off_right_before_the_new_state(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of the next state is there but its snapshot: nothing has happened."""

    def interrupted(*arguments: Any, **options: Any) -> Any:
        raise TimeIsUp

    store = filled()
    before = state(store)
    scanning = store.scan()
    next(scanning)
    with monkeypatch.context() as patch:
        patch.setattr(table_module, "replace", interrupted)
        patch.setattr(table_module, "Snapshot", interrupted)
        with pytest.raises(TimeIsUp):
            WRITES[name](store)
        assert [one.id for one in store.get(list(before))] == list(before)
    assert state(store) == before
    assert len(list(scanning)) == 2
    # A version that never was hides nothing of the next one, which has its number.
    store.add([document("z", 8)])
    assert state(store) == {**before, "z": ("text 8", 8, [8.0, 1.0])}
    WRITES[name](store)
    other = filled()
    other.add([document("z", 8)])
    WRITES[name](other)
    assert state(store) == state(other)


def test_readers_find_what_a_write_under_way_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index leads to rows that are not of the state yet; the older ones are still found."""
    store = filled()
    seen: list[Any] = []
    real = table_module.replace

    def looked_at(*arguments: Any, **options: Any) -> Any:
        seen.append([(one.id, one.metadata["v"]) for one in store.get(["a", "b", "new"])])
        return real(*arguments, **options)

    monkeypatch.setattr(table_module, "replace", looked_at)
    for value in (11, 12, 13):
        store.add([document("a", value), document("new", value)])
    store.delete(["a"])
    store.add([document("a", 14)])
    assert seen == [
        [("a", 1), ("b", 2)],
        [("a", 11), ("b", 2), ("new", 11)],
        [("a", 12), ("b", 2), ("new", 12)],
        [("a", 13), ("b", 2), ("new", 13)],
        [("b", 2), ("new", 13)],
    ]


INTERRUPTING = """
import random, signal, sys
from tests.simple.test_interruptions import WRITES, TimeIsUp, document, state
from vecstore import SimpleVectorStore

wanted, chance = int(sys.argv[1]), random.Random(int(sys.argv[2]))
armed = False

def ring(number, frame):
    if armed:
        raise TimeIsUp

signal.signal(signal.SIGALRM, ring)
writes = list(WRITES.values())
hits, changed, tried = 0, 0, 0
store = SimpleVectorStore()
while hits < wanted:
    tried += 1
    if tried % 50 == 1 or store.count() > 300:
        store.clear()
        store.add([document("a", 1), document("b", 2), document("c", 3)])
    write = chance.choice(writes)
    before = state(store)
    other = SimpleVectorStore.from_json(store.to_json())
    write(other)
    after = state(other)
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(2e-6, 250e-6))
        write(store)
        armed = False
    except TimeIsUp:
        armed = False
        hits += 1
        now = state(store)
        assert now in (before, after), (write, before, after, now)
        changed += now != before
    signal.setitimer(signal.ITIMER_REAL, 0)
    if tried % 10 == 0:
        write(store)
        state(store)
store.close()
print(hits, changed, tried)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("interruptions", [150, pytest.param(10_000, marks=pytest.mark.heavy)])
def test_interrupted_anywhere(interruptions: int) -> None:
    """By a signal at a random moment of a random write: the state before it, or after it."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, str(interruptions), "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=1_200,
    )
    assert done.returncode == 0, done.stderr
    hits, _, _ = map(int, done.stdout.split())
    assert hits >= interruptions


def test_an_attempt_that_failed_costs_later_ones_nothing() -> None:
    """Many failures in a row leave no rows behind."""
    store = filled()
    table = store._table
    for _ in range(50):
        with pytest.raises(ValueError):
            table.put(["a", "n"], ["", ""], [{}, {}], np.ones((3, 2), np.float32))
    store.add([document("z", 8)])
    assert table.snapshot.size == 4
    assert len(table.snapshot.ids) == 4
