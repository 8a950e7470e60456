"""``residual="evaluate"`` on every engine: random filters of every kind select by the rules.

Qdrant and Milvus refuse by themselves; in memory and on PostgreSQL, which answer everything, a third
of all comparisons is refused by the test.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from tests.store.refusing import refusing
from vecstore import (
    Document,
    Expression,
    F,
    MilvusStore,
    PgvectorStore,
    QdrantStore,
    Selection,
    SimpleVectorStore,
    VectorStore,
)
from vecstore.dialects.qdrant.layout import PayloadLayout
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.rows import Domain
from vecstore.testing.store_suite.ranking import check_ranking, reference_scores

pytestmark = pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")

DIMENSION = 6
ROWS = 120
EVALUATE: Any = {"residual": "evaluate", "residual_limit": None}

_TENANTS = ("even", "odd")
_numbers = count(1)


def one_in_three(atom: Expression) -> bool:
    return zlib.crc32(atom.to_text().encode()) % 3 == 0 and atom.key.path != ("tenant",)


class Looking:
    """An observer that adds up what is told of evaluating."""

    def __init__(self) -> None:
        self.calls = self.looked = self.matched = 0

    def start(self, operation: str, attributes: Mapping[str, Any]) -> Any:
        return {}

    def note(self, started: Any, attributes: Mapping[str, Any]) -> None:
        started.update(attributes)

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        looked = started.get("vecstore.residual.documents")
        if looked is not None:
            self.calls += 1
            self.looked += looked
            self.matched += started["vecstore.residual.matched"]


@dataclass
class Filled:
    """A store with random documents of two tenants, and what is known of these."""

    store: VectorStore
    looking: Looking
    rows: dict[str, Mapping[str, Any]]
    vectors: dict[str, Any]
    source: RandomCases
    tally: dict[str, int] = field(default_factory=lambda: {"whole": 0, "part": 0, "all": 0})


def filled(store: VectorStore, ids: Callable[[int], str] = "row-{}".format) -> Filled:
    looking = Looking()
    store._set_up(observers=[looking], max_cost=None)
    source = RandomCases(3, domain=Domain(integers=(-(2**63), 2**63 - 1)))
    generator = np.random.default_rng(1)
    documents = [
        Document("text", {**metadata, "tenant": _TENANTS[number % 2]}, ids(number), vector)
        for number, (metadata, vector) in enumerate(
            zip(source.rows(ROWS).values(), generator.normal(size=(ROWS, DIMENSION)), strict=True)
        )
    ]
    store.add(documents)
    rows = {one.id: one.metadata for one in store.scan()}
    vectors = {one.id: one.embedding for one in documents}
    return Filled(store, looking, rows, vectors, source)


def memory(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    return filled(refusing(SimpleVectorStore(), one_in_three))


def postgres(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    table = f"residual_{next(_numbers)}"
    store = PgvectorStore(dsn(), table=table, create=True, dimension=DIMENSION, index=None)
    return filled(refusing(stack.enter_context(store), one_in_three))


def qdrant(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    store = QdrantStore("docs", location=":memory:", dimension=DIMENSION)
    return filled(stack.enter_context(store))


def qdrant_plain(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    layout = PayloadLayout(id=None, text="document", metadata="")
    store = QdrantStore("docs", location=":memory:", dimension=DIMENSION, layout=layout)
    return filled(stack.enter_context(store), lambda number: str(number + 1))


def milvus(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    store = MilvusStore("docs", uri=str(folder / "own.db"), dimension=DIMENSION)
    return filled(stack.enter_context(store))


def milvus_plain(stack: ExitStack, folder: Path, dsn: Callable[[], str]) -> Filled:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "plain.db"))
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, max_length=100, is_primary=True)
    schema.add_field("text", DataType.VARCHAR, max_length=100)
    schema.add_field("metadata", DataType.JSON)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSION)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection("others", schema=schema, index_params=index)
    client.close()
    store = MilvusStore("others", uri=str(folder / "plain.db"), layout="plain")
    return filled(stack.enter_context(store))


ENGINES = [memory, postgres, qdrant, qdrant_plain, milvus, milvus_plain]


@pytest.fixture(scope="module", params=ENGINES, ids=lambda make: make.__name__)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("residual")
        yield request.param(stack, folder, lambda: request.getfixturevalue("postgres_dsn"))


def compare(engine: Filled, filter: Expression, number: int, *, every: bool) -> None:
    """One filter through the methods that read: the oracle's documents, and in the right order."""
    __tracebackhide__ = True
    store, rows = engine.store, engine.rows
    shown = filter.to_text()[:500]
    told = store.explain(filter)
    engine.tally[
        "whole" if not told.evaluated else "all" if told.looked_at == ROWS else "part"
    ] += 1
    wanted = {id for id, row in rows.items() if filter.matches(row)}
    query = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    exact = reference_scores("cosine", query, {id: engine.vectors[id] for id in wanted})
    found = store.search(vector=query, top_k=5, filter=filter, **EVALUATE)
    check_ranking(found, exact, 5, exact_ties=True)
    assert store.count(filter, **EVALUATE) == len(wanted), shown
    inside = {id for id in wanted if rows[id]["tenant"] == "odd"}
    view = store.scoped(F.tenant == "odd")
    assert {one.id for one in view.scan(filter, **EVALUATE)} == inside, shown
    if not every:
        return
    assert {one.id for one in store.get(filter=filter, **EVALUATE)} == wanted, shown
    best = sorted(exact, key=lambda id: -exact[id])
    page = store.search(vector=query, top_k=4, offset=3, filter=filter, **EVALUATE)
    assert [one.id for one in page] == best[3:7], shown
    lowest = 0.1
    near = store.search(vector=query, top_k=9, threshold=lowest, filter=filter, **EVALUATE)
    assert [one.id for one in near] == [id for id in best if exact[id] >= lowest][:9], shown
    ours = view.search(vector=query, top_k=4, filter=filter, **EVALUATE)
    assert [one.id for one in ours] == [id for id in best if id in inside][:4], shown
    others = np.stack([query, -query])
    many = view.search_many(vectors=others, top_k=3, filter=filter, **EVALUATE)
    assert [one.id for one in many[0]] == [id for id in best if id in inside][:3], shown
    assert [one.id for one in many[1]] == [id for id in best[::-1] if id in inside][:3], shown
    some = sorted(rows)[::3]
    kept = store.get(some, filter=filter, **EVALUATE)
    assert [one.id for one in kept] == [id for id in some if id in wanted], shown


def test_random_filters(engine: Filled) -> None:
    for number in range(20):
        compare(engine, engine.source.filter(number % 4 + 1), number, every=number % 5 == 0)
    assert engine.tally["part"] + engine.tally["all"] > 0


@pytest.mark.heavy
def test_many_random_filters(engine: Filled) -> None:
    for number in range(400):
        compare(engine, engine.source.filter(number % 6), number, every=True)
    assert engine.tally["part"] > 10


@pytest.mark.wide
def test_random_filters_that_delete_and_change(engine: Filled) -> None:
    """What is not meant stays as it is, document for document."""
    store, rows = engine.store, engine.rows
    whole = {one.id: one for one in store.scan(include_embedding=True)}
    for number in range(60):
        filter = engine.source.filter(number % 5 + 1)
        wanted = {id for id, row in rows.items() if filter.matches(row)}
        if len(wanted) == len(rows) or not wanted:
            continue
        assert store.update_metadata(filter=filter, set={"touched": number}, **EVALUATE) == len(
            wanted
        )
        touched = {one.id for one in store.scan() if one.metadata.get("touched") == number}
        assert touched == wanted, filter.to_text()
        view = store.scoped(F.tenant == _TENANTS[number % 2])
        inside = {id for id in wanted if rows[id]["tenant"] == _TENANTS[number % 2]}
        assert view.delete(filter=filter, **EVALUATE) == len(inside), filter.to_text()
        assert {one.id for one in store.scan()} == rows.keys() - inside, filter.to_text()
        store.add([whole[id] for id in inside])
        store.update_metadata(list(rows), unset=["touched"])
    assert {one.id: one.metadata for one in store.scan()} == rows


# --- PostgreSQL -----------------------------------------------------------------------------------


@pytest.fixture
def locked(postgres_dsn: str) -> Iterator[tuple[PgvectorStore, str, str]]:
    table = f"residual_{next(_numbers)}"
    with PgvectorStore(postgres_dsn, table=table, create=True, dimension=2) as store:
        store.add([Document("", {"n": n}, f"{n}", [1, n]) for n in range(10)])
        yield store, postgres_dsn, table


@pytest.mark.parametrize("hook", ["_delete_judged", "_update_judged"])
def test_rows_are_locked_while_they_are_judged(
    locked: tuple[PgvectorStore, str, str], hook: str
) -> None:
    store, dsn, table = locked
    held: list[bool] = []
    lock = sql.SQL("SELECT 1 FROM {} WHERE id = '3' FOR UPDATE NOWAIT").format(
        sql.Identifier(table)
    )

    def judge(metadata: Mapping[str, Any]) -> bool:
        with psycopg.connect(dsn, autocommit=True) as other:
            try:
                other.execute(lock)
                held.append(False)
            except psycopg.errors.LockNotAvailable:
                held.append(True)
        return bool(metadata["n"] < 4)

    options: Any = {} if hook == "_delete_judged" else {"set": {"a": 1}, "unset": ()}
    call = getattr(store, hook)
    assert call(Selection(ids=("2", "3", "5")), judge, **options) == 2
    assert held == [True] * 3
    left = {one.id: one.metadata for one in store.scan()}
    if hook == "_delete_judged":
        assert left.keys() == {"0", "1", "4", "5", "6", "7", "8", "9"}
    else:
        assert {id for id, metadata in left.items() if "a" in metadata} == {"2", "3"}


def test_a_judge_that_fails_changes_nothing_of_its_part(
    locked: tuple[PgvectorStore, str, str],
) -> None:
    store, _, _ = locked

    def judge(metadata: Mapping[str, Any]) -> bool:
        if metadata["n"] == 5:
            raise RuntimeError("no")
        return True

    with pytest.raises(RuntimeError):
        store._delete_judged(Selection(ids=("2", "3", "5")), judge)
    assert store.count() == 10


def test_rows_of_others_without_metadata_are_judged(
    locked: tuple[PgvectorStore, str, str],
) -> None:
    store, dsn, table = locked
    insert = sql.SQL(
        "INSERT INTO {} (id, text, metadata, embedding) VALUES (%s, '', %s, '[1,1]')"
    ).format(sql.Identifier(table))
    with psycopg.connect(dsn, autocommit=True) as other:
        for id, metadata in (("null", "null"), ("list", "[1]")):
            other.execute(insert, [id, metadata])
    refusing(store, lambda atom: atom.key.path == ("n",))
    with pytest.warns(UserWarning, match="no document of this store's layout"):
        assert store.count("n IS NULL", residual="evaluate") == 1
    with pytest.warns(UserWarning, match="no document of this store's layout"):
        assert store.delete(filter="n IS NULL", residual="evaluate") == 1
