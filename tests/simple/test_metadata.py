"""Filters decided by columns, against the reference evaluator."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.corpus import corpus
from tests.filter.hostile_shapes import SHAPES
from tests.filter.strategies import documents, trees
from tests.simple.random_filters import metadata, of_one_type, tree
from vecstore import Document, DocumentError, Expression, F, Op, SimpleVectorStore, parse
from vecstore.simple import columns as columns_module
from vecstore.simple import metadata as metadata_module
from vecstore.simple.metadata import FEW_ROWS, MetadataTable


@pytest.fixture
def everything_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns for the shortest tables, read and decided in many pieces."""
    monkeypatch.setattr(metadata_module, "FEW_ROWS", 0)
    monkeypatch.setattr(columns_module, "_FEW_TEXTS", 1)
    for module in (metadata_module, columns_module):
        monkeypatch.setattr(module, "BLOCK", 7)


def check(table: MetadataTable, filter: Expression, size: int | None = None) -> None:
    rows = table.rows[:size]
    got = table.select(filter, size).tolist()
    expected = [filter.evaluate(row) for row in rows]
    assert got == [truth is True for truth in expected], filter
    unlike = table.select(~filter, size).tolist()
    assert unlike == [truth is False for truth in expected], filter


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.wide)])
def test_every_filter_of_the_contract_on_every_document(
    everything_by_columns: None, step: int
) -> None:
    filters, rows = corpus()
    table = MetadataTable(list(rows.values()))
    for filter in filters[::step]:
        check(table, filter)


@pytest.mark.usefixtures("everything_by_columns")
@pytest.mark.parametrize("filters", [200, pytest.param(20_000, marks=pytest.mark.heavy)])
def test_random_filters_on_rows_that_become_more(filters: int) -> None:
    random = Random(filters)
    for number in range(filters // 10):
        rows = [metadata(random) for _ in range(random.choice([1, 5, 50]))]
        if number % 3 == 0:
            rows = of_one_type(rows, random.choice([int, float, str, bool, list]))
        table = MetadataTable(rows)
        for _ in range(10):
            if random.random() < 0.3:
                rows.extend(metadata(random) for _ in range(random.choice([1, 3, 30])))
            check(table, tree(random), random.choice([None, None, random.randint(0, len(rows))]))


@pytest.mark.usefixtures("everything_by_columns")
@settings(max_examples=60)
@given(st.lists(trees, min_size=1, max_size=3), st.lists(documents, max_size=12))
def test_any_filter_on_any_documents(filters: list[Expression], rows: list[dict[str, Any]]) -> None:
    table = MetadataTable(rows)
    for filter in filters:
        check(table, filter)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_most_expensive_filters(shape: str) -> None:
    """On values that no comparison decides early."""
    filter = parse(SHAPES[shape](3_000))
    values: list[Any] = [-0.5, "none", [-1.5, -7], 3, 2**61 - 1, True, {"a": {"a": 1}}, "1", None]
    rows = [{"a": values[number % 9], "b": "x", "c": [1, number]} for number in range(200)]
    check(MetadataTable(rows), filter)


@pytest.mark.parametrize(
    "held",
    [
        [2**53 + 1, 2**53, float(2**53)],
        [2**63 - 1, 2**63, -(2**63), -(2**63) - 1],
        [2**60, 2**60 + 1, float(2**60), 1],
        [10**30, 1e30, 10**400, -(10**400)],
    ],
)
def test_integers_past_float64_are_exact(held: list[Any]) -> None:
    near = [number + step for number in held if type(number) is int for step in (-1, 0, 1)]
    rows = [{"n": number} for number in held * 50] + [{"n": [number]} for number in held]
    table = MetadataTable(rows)
    for literal in (*near, *map(float, held[:2]), 0):
        for op in (Op.EQ, Op.NE, Op.GT, Op.GTE, Op.LT, Op.LTE):
            filter = Expression.from_dict({"op": op.name.lower(), "key": "n", "value": literal})
            assert table.select(filter).tolist() == [filter.matches(row) for row in rows]
    assert table.select(F.n.in_(near)).tolist() == [F.n.in_(near).matches(row) for row in rows]


def test_a_tree_of_any_depth() -> None:
    filter: Expression = F.n == 1
    for number in range(5_000):
        filter = (F.n != number) & filter if number % 2 else (F.n == number) | filter
    table = MetadataTable([{"n": number} for number in range(150)])
    assert table.select(filter).any()


class Counting(dict[str, Any]):
    """Metadata that counts how often a key was read."""

    reads = 0

    def get(self, key: Any, default: Any = None) -> Any:
        Counting.reads += 1
        return super().get(key, default)


def test_each_value_is_read_once() -> None:
    rows: list[dict[str, Any]] = [Counting(n=number % 7) for number in range(1_000)]
    table = MetadataTable(rows)
    Counting.reads = 0
    for number in range(20):
        assert table.select(F.n == number % 7).sum() in (142, 143)
    assert Counting.reads == 1_000
    rows.extend(Counting(n=8) for _ in range(500))
    assert table.select(F.n == 8).sum() == 500
    assert table.select(F.n == 8, 1_100).sum() == 100
    assert Counting.reads == 1_500
    # What the rest of a filter has decided is not read at all.
    assert not table.select((F.n == 99) & (F.other == 1)).any()
    assert Counting.reads == 1_500


def test_a_few_new_rows_are_asked_and_not_read() -> None:
    rows: list[dict[str, Any]] = [{"n": number} for number in range(1_000)]
    table = MetadataTable(rows)
    table.select(F.n == 1)
    (column,) = table._columns.values()
    rows.extend({"n": 1} for _ in range(FEW_ROWS))
    assert table.select(F.n == 1).sum() == FEW_ROWS + 1
    assert list(table._columns.values()) == [column]
    rows.append({"n": 1})
    assert table.select(F.n == 1).sum() == FEW_ROWS + 2
    assert list(table._columns.values()) != [column]


def test_a_million_keys_take_no_more_than_their_share() -> None:
    rows = [{"held": "x", **{f"k{key}": number for key in range(60)}} for number in range(200)]
    table = MetadataTable(rows)
    for key in range(1_500):
        assert not table.select(F[f"asked {key}"] == 1).any()
        if key % 10 == 0:
            table.select(F.held == "x")
    assert len(table._columns) <= metadata_module._MOST_COLUMNS
    assert ("held",) in table._columns
    assert table.nbytes < 4_000_000


def test_columns_take_no_more_bytes_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_module, "_LEAST_BYTES", 400_000)
    names = [f"k{number}" for number in range(50)]
    rows = [{name: f"{name} {number}" for name in names} for number in range(500)]
    table = MetadataTable(rows)
    for name in names:
        assert table.select(F[name] == f"{name} 7").sum() == 1
        assert len(table._columns) >= min(5, names.index(name) + 1)
        assert table.nbytes <= 400_000
    every = reduce(Expression.__and__, [F[name] == f"{name} 7" for name in names])
    assert table.select(every).tolist() == [number == 7 for number in range(500)]
    assert table.nbytes <= 400_000
    # The names of keys count as well.
    for number in range(20):
        table.select(F["x" * 60_000 + str(number)] == 1)
    assert table.nbytes <= 400_000


def test_what_no_document_holds_is_asked_of_the_matcher() -> None:
    """Rows of other origin: lists of mixed values, objects in lists, numbers that are none."""
    good: list[dict[str, Any]] = [{"a": number % 3, "b": [number]} for number in range(300)]
    bad = json.loads('[{"a": [1, "x"]}, {"a": [null]}, {"a": [[1]]}, {"a": NaN}, {"a": [{}]}]')
    table = MetadataTable(good + bad, Expression.matcher)
    assert table.select(F.b == 7, 300).sum() == 1
    with pytest.raises(DocumentError):
        table.select(F.a == 1)
    # Where a filter does not come to the value, nobody minds it.
    assert table.select((F.b == 7) & (F.a == 1)).tolist() == [n == 7 for n in range(305)]
    for row in bad:
        with pytest.raises(DocumentError):
            MetadataTable([*good, row], Expression.matcher).select(F.a == 1)


def test_readers_share_columns_while_rows_are_appended() -> None:
    random = Random(5)
    rows: list[dict[str, Any]] = [metadata(random) for _ in range(100)]
    coming = [metadata(random) for _ in range(6_000)]
    filters = [tree(random) for _ in range(40)]
    table = MetadataTable(rows)
    ended = threading.Event()

    def write() -> None:
        for start in range(0, len(coming), 20):
            rows.extend(coming[start : start + 20])
        ended.set()

    def read(seed: int) -> int:
        chance, done = Random(seed), 0
        while not ended.is_set() or done < 40:
            filter, size = chance.choice(filters), len(rows)
            got = table.select(filter, size)
            step = max(1, size // 60)
            for row in range(0, size, step):
                assert got[row] == filter.matches(rows[row])
            done += 1
        return done

    with ThreadPoolExecutor(9) as pool:
        readers = [pool.submit(read, seed) for seed in range(8)]
        pool.submit(write).result(120)
        assert all(reader.result(120) for reader in readers)


# --- in the store -----------------------------------------------------------------------------


class Model:
    """A store, and what it should hold."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.store = SimpleVectorStore(dimension=2)
        self.held: dict[str, dict[str, Any]] = {}

    def mutate(self) -> None:
        random, store = self.random, self.store
        which = random.random()
        if which < 0.5:
            ids = [str(random.randrange(400)) for _ in range(random.choice([1, 20, 150]))]
            written = [Document("", metadata(random), id, [1.0, float(id)]) for id in ids]
            store.add(written)
            self.held.update({one.id: one.metadata for one in written})
        elif which < 0.65:
            ids = random.sample(sorted(self.held), min(len(self.held), random.choice([1, 30])))
            assert store.delete(ids) == len(ids)
            for id in ids:
                del self.held[id]
        elif which < 0.8:
            filter, value = tree(random), random.choice([1, "new", [2**53 + 1], None])
            chosen = self.matching(filter)
            assert store.update_metadata(filter=filter, set={"a": value}) == len(chosen)
            for id in chosen:
                self.held[id] = {**self.held[id], "a": value}
        elif which < 0.9 and self.held:
            filter = tree(random) & (F.c == random.choice(["a", 1, True]))
            chosen = self.matching(filter)
            assert store.delete(filter=filter) == len(chosen)
            for id in chosen:
                del self.held[id]
        elif which < 0.95:
            self.store = SimpleVectorStore.from_json(store.to_json())

    def matching(self, filter: Expression) -> set[str]:
        return {id for id, metadata in self.held.items() if filter.matches(metadata)}

    def agrees(self, filter: Expression) -> None:
        store, expected = self.store, self.matching(filter)
        found = store.get(filter=filter)
        assert {one.id for one in found} == expected
        assert len(found) == len(expected) == store.count(filter)
        limit = self.random.randint(0, 5)
        assert store.get(filter=filter, limit=limit) == found[:limit]
        if self.held:
            best = store.search(vector=[1, 1], filter=filter, top_k=500)
            assert {one.id for one in best} == expected


@pytest.mark.parametrize("filters", [100, pytest.param(5_000, marks=pytest.mark.heavy)])
def test_a_store_that_changes(filters: int) -> None:
    """Adds, updates and deletes between filters of every kind, and scans that go on meanwhile."""
    random = Random(3)
    for start in range(0, filters, 50):
        model = Model(random)
        for _ in range(min(50, filters - start)):
            filter = tree(random)
            expected = model.matching(filter)
            scanning = model.store.scan(filter)
            first = [one.id for _, one in zip(range(3), scanning, strict=False)]
            if model.held and expected:
                assert first
                model.mutate()
                assert {*first, *[one.id for one in scanning]} == expected
            model.mutate()
            model.agrees(filter)


def test_equal_scores_whichever_way_rows_are_reached() -> None:
    vectors = np.random.default_rng(1).standard_normal((1_000, 37), dtype=np.float32)
    for metric in ("cosine", "dot", "euclidean"):
        store = SimpleVectorStore(metric=metric)  # type: ignore[arg-type]
        store.add(
            Document("", {"n": number}, str(number), vector)
            for number, vector in enumerate(vectors)
        )
        every = {one.id: one.score for one in store.search(vector=vectors[0], top_k=1_000)}
        for bound in (1, 10, 249, 250, 251, 600, 999):
            found = store.search(vector=vectors[0], top_k=1_000, filter=F.n < bound)
            assert {one.id: one.score for one in found} == {
                str(n): every[str(n)] for n in range(bound)
            }
