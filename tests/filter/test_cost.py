from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.filter.hostile_shapes import SHAPES, largest
from vecstore import (
    ConfigurationError,
    Document,
    Expression,
    F,
    FilterLimitError,
    Op,
    SimpleVectorStore,
    open_store,
    parse,
)
from vecstore.dialects.duckdb.store import DuckDBStore
from vecstore.dialects.milvus.store import _LITE_MAX_COST
from vecstore.dialects.pgvector.store import PgvectorStore
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.dialects.sqlite.store import SQLiteStore
from vecstore.filter.cost import filter_cost
from vecstore.filter.limits import DEFAULT_LIMITS
from vecstore.filter.normalize import simplify

MANY = " OR ".join(f"k{number} == {number}" for number in range(1_000))


BUDGETS = (
    SimpleVectorStore.capabilities.max_cost,
    PgvectorStore.capabilities.max_cost,
    _LITE_MAX_COST,
    QdrantStore.capabilities.max_cost,
    SQLiteStore.capabilities.max_cost,
    DuckDBStore.capabilities.max_cost,
)


def cost(filter: str | Expression) -> int:
    return filter_cost(simplify(parse(filter) if isinstance(filter, str) else filter))


@pytest.mark.parametrize("name", ["< OR, many keys", "a key of 64 KiB"])
def test_a_shape_does_not_escape_the_budget(name: str) -> None:
    no_escape(name)


@pytest.mark.wide
@pytest.mark.parametrize("name", SHAPES)
def test_no_shape_escapes_the_budget(name: str) -> None:
    no_escape(name)


def no_escape(name: str) -> None:
    """The cost is that of so many comparisons, weighted; past the budget nothing is run."""
    text = SHAPES[name](DEFAULT_LIMITS.text)
    assert len(text) <= DEFAULT_LIMITS.text
    simple = simplify(parse(text))
    if isinstance(simple, bool):
        return
    atoms = [node for node in simple.walk() if node.op not in (Op.AND, Op.OR)]
    steps = sum(len(atom.key.path) for atom in atoms)
    assert filter_cost(simple) >= max(len(atoms), steps // 3)
    limit = SimpleVectorStore.capabilities.max_cost
    assert limit is not None
    if filter_cost(simple) > limit:
        with pytest.raises(FilterLimitError, match="max_cost"):
            SimpleVectorStore().count(text)
    within = largest(SHAPES[name], lambda one: cost(one) <= limit)
    assert SimpleVectorStore().count(within) == 0


@pytest.mark.parametrize(
    "name", ["== OR, many keys", "IS NULL AND, many keys", "ranges, one key", "ands of ors"]
)
def test_a_qdrant_server_reads_a_payload_a_hundred_times_at_most(name: str) -> None:
    """Its engine reads a document's payload for each condition that no index answers."""
    budget = QdrantStore.capabilities.max_cost
    assert budget is not None
    compiled = Qdrant().compile(largest(SHAPES[name], lambda one: cost(one) <= budget))
    waiting, conditions = [compiled.query], 0
    while waiting:
        part = waiting.pop()
        branches = [part.get(branch, []) for branch in ("must", "should", "must_not")]
        conditions += not any(branches)
        waiting += [below for branch in branches for below in branch]
    assert conditions <= 110


def test_there_are_forty_shapes() -> None:
    assert len(SHAPES) >= 40


@pytest.mark.parametrize(
    "read",
    [
        lambda: MANY,
        lambda: parse(MANY),
        lambda: parse(MANY, limits=None),
        lambda: Expression.from_dict(parse(MANY).to_dict()),
        lambda: ~parse(MANY),
        lambda: ~~parse(MANY),
        lambda: parse(MANY) & (F.a == 1),
        lambda: (F.a == 1) | ((F.b == 1) & parse(MANY)),
        lambda: parse(MANY).normalize(),
        lambda: pickle.loads(pickle.dumps(parse(MANY))),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda store, filter: store.count(filter),
        lambda store, filter: store.get(filter=filter),
        lambda store, filter: list(store.scan(filter)),
        lambda store, filter: store.search(vector=[1.0], filter=filter),
        lambda store, filter: store.delete(filter=filter),
        lambda store, filter: store.update_metadata(filter=filter, set={"n": 1}),
        lambda store, filter: store.scoped(F.a == 1).count(filter),
        lambda store, filter: store.scoped("a == 1").update_metadata(filter=filter, set={"n": 1}),
    ],
)
def test_a_filter_from_outside_is_counted_wherever_it_got_to(
    read: Callable[[], Any], call: Callable[[Any, Any], Any]
) -> None:
    store = SimpleVectorStore()
    store.add([Document("one", {"a": 1}, "1", [1.0])])
    with pytest.raises(FilterLimitError) as caught:
        call(store, read())
    assert caught.value.limit == "max_cost"
    assert "costs 1,00" in str(caught.value)
    assert "max_cost=100" in str(caught.value)


def test_what_a_program_builds_is_not_counted() -> None:
    built = Expression(Op.OR, *[F[f"k{number}"] == number for number in range(2_000)])
    store = SimpleVectorStore()
    store.add([Document("one", {"k7": 7}, "1", [1.0])])
    assert store.count(built) == 1
    assert store.count(parse("k7 == 7") & built) == 1
    assert cost(built) == 0
    assert store.scoped(built).count("k7 == 7") == 1
    # The scope is the program's, however it was written.
    assert store.scoped(MANY).count("k7 == 7") == 1
    assert store.scoped(lambda: MANY).update_metadata(filter="k7 == 7", set={"n": 1}) == 1


@pytest.mark.parametrize(("address", "budget"), [("sqlite:", 50), ("duckdb:", 150)])
def test_engines_that_read_json_anew_for_each_key_have_smaller_budgets(
    address: str, budget: int
) -> None:
    many = MANY.split(" OR ")
    with open_store(address, dimension=2) as store:
        store.add([Document("a", {"k7": 7}, "a", [1, 0])])
        assert store.count(" OR ".join(many[:budget])) == 1
        with pytest.raises(FilterLimitError, match="max_cost"):
            store.count(" OR ".join(many[: budget + 1]))


def test_lists_of_ten_thousand_values_are_allowed() -> None:
    listed = f"k IN [{','.join(map(str, range(10_000)))}]"
    assert cost(listed) == 41
    assert SimpleVectorStore().count(listed) == 0
    assert SimpleVectorStore().count(Expression.from_dict(parse(listed).to_dict())) == 0
    assert cost(f"{listed} AND tenant == 'a' AND year >= 2020") <= min(
        budget for budget in BUDGETS if budget is not None
    )


def test_literals_of_a_program_are_not_counted_where_they_merge_with_others() -> None:
    many = F.k.in_(list(range(20_000)))
    for one in ("k == -1", "k == 5"):
        assert cost(many | parse(one)) <= cost(one) + 2
        assert cost(parse(one) | many) <= cost(one) + 2
        assert cost(~(many | parse(one))) <= cost(one) + 2
        assert cost((many | parse(one)).normalize()) <= cost(one) + 2
        assert SimpleVectorStore().count(many | parse(one)) == 0


def test_the_limit_is_an_option_of_every_store() -> None:
    assert SimpleVectorStore(max_cost=1_000).count(MANY) == 0
    assert SimpleVectorStore(max_cost=None).count(MANY) == 0
    with pytest.raises(FilterLimitError, match="up to 999 that"):
        SimpleVectorStore(max_cost=999).count(MANY)
    with open_store("memory:", max_cost=1_000) as store:
        assert store.max_cost == store.scoped(F.a == 1).max_cost == 1_000
        assert store.count(MANY) == 0
    for wrong in (0, -1, True, "100", 1.5):
        with pytest.raises(ConfigurationError, match="max_cost"):
            SimpleVectorStore(max_cost=wrong)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="max_cost"):
            open_store("memory:", max_cost=wrong)


def test_marks_are_left_out_of_what_a_tree_says() -> None:
    built = (F.k == 1) | (F.j > 2)
    read = parse("k == 1 OR j > 2")
    assert built == read
    assert hash(built) == hash(read)
    assert repr(built) == repr(read)
    assert built.to_dict() == read.to_dict()
    assert (cost(built), cost(read)) == (0, 3)


def test_weights() -> None:
    assert cost("a == 1") == 1
    assert cost("a == 1 OR a == 2 OR a == 3") == 3  # one list
    assert cost(" OR ".join(f"a == {n}" for n in range(1_000))) == 14
    assert cost("a < 1 OR a < 2") == 2
    assert cost("a.b.c == 1") > cost("a == 1")
    assert cost("a IS NULL OR a IS NOT NULL") == 0
    assert cost(f"a == '{'x' * 60_000}'") > 50
    assert cost(f"a == {'9' * 4_000}") > 5
