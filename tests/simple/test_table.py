"""Snapshots: readers keep what they saw while rows come, go and are moved together."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from vecstore import DimensionMismatchError, Document, F, SimpleVectorStore
from vecstore.simple.table import Snapshot, Table


def put(table: Table, *ids: str, value: int = 0) -> None:
    table.put(
        list(ids),
        [f"text {value}"] * len(ids),
        [{"v": value}] * len(ids),
        np.full((len(ids), 3), value + 1, np.float32),
    )


def seen(snapshot: Snapshot) -> dict[str, int]:
    rows = snapshot.live_rows().tolist()
    for row in rows:
        version = snapshot.metadata[row]["v"]
        assert snapshot.texts[row] == f"text {version}"
        assert snapshot.matrix[row].tolist() == [version + 1] * 3
        assert snapshot.lengths[row] == pytest.approx(3**0.5 * (version + 1), rel=1e-6)
    assert len(rows) == snapshot.live
    return {snapshot.ids[row]: snapshot.metadata[row]["v"] for row in rows}


def test_a_snapshot_never_changes() -> None:
    table = Table("cosine")
    kept: list[tuple[Snapshot, dict[str, int]]] = []
    model: dict[str, int] = {}
    chance = random.Random(1)
    for step in range(400):
        kept.append((table.snapshot, dict(model)))
        ids = [str(n) for n in chance.sample(range(120), chance.randint(1, 40))]
        if chance.random() < 0.6:
            put(table, *ids, value=step)
            model.update(dict.fromkeys(ids, step))
        elif chance.random() < 0.95:
            table.delete(table.settled().rows_of(ids))
            for id in ids:
                model.pop(id, None)
        else:
            table.clear()
            model.clear()
    for snapshot, expected in chance.sample(kept, 100):
        assert seen(snapshot) == expected
        asked = [str(n) for n in chance.choices(range(140), k=200)]
        rows = [snapshot.row_of(id) for id in asked]
        assert snapshot.rows_of(asked) == [row for row in rows if row is not None]
        assert [snapshot.ids[row] for row in snapshot.rows_of(asked)] == [
            id for id in asked if id in expected
        ]
    assert seen(table.snapshot) == model


def test_dead_rows_are_dropped_in_time() -> None:
    table = Table("cosine")
    for step in range(20_000):
        put(table, "a", "b", value=step % 50)
    assert table.snapshot.live == 2
    assert table.snapshot.size <= 1_030
    assert len(table.snapshot.matrix) <= 4_200


def test_growing_copies_seldom() -> None:
    table = Table("dot")
    capacities = set()
    for n in range(3_000):
        put(table, f"{n}")
        capacities.add(len(table.snapshot.matrix))
    assert len(capacities) < 10


class Broken(list[Any]):
    def __iter__(self) -> Any:
        yield {"v": 9}
        raise KeyError


def test_a_write_that_fails_leaves_no_trace() -> None:
    table = Table("cosine")
    put(table, "a", "b", value=1)
    before = table.snapshot
    with pytest.raises(ValueError):
        table.put(["b", "c"], ["", ""], [{}, {}], np.ones((2, 5), np.float32))
    with pytest.raises(KeyError):
        table.put(["b", "c"], ["", ""], Broken(), np.ones((2, 3), np.float32))
    assert seen(before) == seen(table.snapshot) == {"a": 1, "b": 1}
    put(table, "c", value=2)
    assert seen(table.snapshot) == {"a": 1, "b": 1, "c": 2}


def test_clear_keeps_the_dimension() -> None:
    store = SimpleVectorStore()
    store.add([Document("", embedding=[1, 2])])
    store.clear()
    assert store.dimension == 2
    with pytest.raises(DimensionMismatchError):
        store.add([Document("", embedding=[1, 2, 3])])
    assert SimpleVectorStore.from_json(store.to_json()).dimension == 2


def test_a_scan_sees_one_state() -> None:
    store = SimpleVectorStore()
    store.add(Document("", {"v": 1}, id=f"{n}", embedding=[n + 1]) for n in range(3_000))
    scanning = store.scan(F.v == 1)
    first = next(scanning)
    store.update_metadata(filter=F.v == 1, set={"v": 2})
    store.delete(["5"])
    store.add([Document("", {"v": 1}, id="new", embedding=[1])])
    assert [first.id, *[d.id for d in scanning]] == [f"{n}" for n in range(3_000)]
    assert [d.id for d in store.scan(F.v == 1)] == ["new"]


class Machine(RuleBasedStateMachine):
    """Any order of calls against a dict."""

    IDS = st.lists(st.sampled_from("abcdefgh"), max_size=6)

    def __init__(self) -> None:
        super().__init__()
        self.store = SimpleVectorStore(metric="dot")
        self.model: dict[str, tuple[int, dict[str, Any]]] = {}
        self.step = 0

    @rule(ids=IDS, conflict=st.sampled_from(["replace", "skip"]))
    def add(self, ids: list[str], conflict: Any) -> None:
        self.step += 1
        documents = [Document(id, {"v": self.step}, id=id, embedding=[self.step, 1]) for id in ids]
        self.store.add(documents, on_conflict=conflict)
        for id in ids:
            if conflict == "replace" or id not in self.model:
                self.model[id] = (self.step, {"v": self.step})

    @rule(ids=IDS)
    def delete(self, ids: list[str]) -> None:
        gone = {id for id in ids if id in self.model}
        assert self.store.delete(ids) == len(gone)
        for id in gone:
            del self.model[id]

    @rule(bound=st.integers(0, 20))
    def delete_filtered(self, bound: int) -> None:
        gone = [id for id, (_, metadata) in self.model.items() if metadata["v"] < bound]
        assert self.store.delete(filter=F.v < bound) == len(gone)
        for id in gone:
            del self.model[id]

    @rule(ids=IDS, value=st.integers(0, 3))
    def update(self, ids: list[str], value: int) -> None:
        known = {id for id in ids if id in self.model}
        assert self.store.update_metadata(ids, set={"u": value}) == len(known)
        for id in known:
            self.model[id] = (self.model[id][0], {**self.model[id][1], "u": value})

    @rule()
    def clear(self) -> None:
        self.store.clear()
        self.model.clear()

    @rule()
    def reload(self) -> None:
        self.store = SimpleVectorStore.from_json(self.store.to_json())

    @invariant()
    def agrees(self) -> None:
        found = {
            d.id: (int(d.embedding[0]), d.metadata)  # type: ignore[index]
            for d in self.store.scan(include_embedding=True)
        }
        assert found == self.model
        assert self.store.count() == len(self.model)
        best = self.store.search(vector=[1, 0], top_k=3)
        assert [d.id for d in best] == sorted(self.model, key=lambda id: (-self.model[id][0], id))[
            :3
        ]


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=30)
