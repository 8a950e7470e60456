"""Long lists of literals and long keys: what the engine is left to do, and that it is right."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import pytest

from vecstore import Document, Expression, F, Key, Op, Schema, Value
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.local import LocalQdrant, OneOfNumbers, OneOfTexts, looks_up
from vecstore.dialects.qdrant.points import filter_model
from vecstore.dialects.qdrant.store import QdrantStore


def within(condition: Any, value: float, looked_at: list[Any]) -> bool:
    """Whether a value meets a condition of ranges, as the engine looks at it: in order."""
    if "range" in condition:
        looked_at.append(condition)
        return bool(condition["range"]["gte"] <= value <= condition["range"]["lte"])
    if "should" in condition:
        return any(within(one, value, looked_at) for one in condition["should"])
    return all(within(one, value, looked_at) for one in condition["must"])


@pytest.mark.parametrize("length", [1, 2, 22, 23, 100, 484, 485, 1_000, 10_000])
def test_a_value_is_compared_with_few_of_many_numbers(length: int) -> None:
    draw = random.Random(length)
    numbers = [draw.choice([n, n + 0.5, -n]) for n in range(length)]
    query = Qdrant().compile(F.n.in_(numbers), limits=None).query
    wanted = set(numbers)
    for value in [*draw.sample(numbers, min(20, length)), -0.25, 0.25, length / 3, 10**9]:
        looked_at: list[Any] = []
        assert within(query, value, looked_at) is (value in wanted)
        assert len(looked_at) <= 66


def test_the_installed_client_lets_lists_be_looked_up() -> None:
    assert looks_up()


def test_local_mode_gets_one_condition_for_each_kind() -> None:
    literals: list[Any] = [*map(str, range(5_000)), *range(2_500), *(n + 0.5 for n in range(2_500))]
    query = LocalQdrant().compile(F.n.in_([*literals, True]), limits=None).query
    assert len(query["should"]) == 3


def test_where_the_client_does_not_every_literal_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vecstore.dialects.qdrant.local.looks_up", lambda: False)
    filter = F.n.in_([1, 2, 3, 4, "a", "b", "c"])
    assert LocalQdrant().compile(filter).query == Qdrant().compile(filter).query


@pytest.mark.parametrize("value", [True, None, "1", b"1", [1], {}, float("nan"), object()])
def test_what_is_no_number_reaches_no_bound(value: Any) -> None:
    numbers = OneOfNumbers([2**53 + 1, 1, 2.5, 0])
    assert not numbers <= value
    assert numbers <= 2**53 + 1
    assert numbers <= 1.0
    assert not numbers <= 2.0**53
    assert OneOfTexts(["1"]) != 1
    assert OneOfTexts(["1"]) == "1"


def test_all_of_this_on_documents() -> None:
    values: list[Any] = [
        *(1, 1.0, 1.5, True, False, "1", "a", "", None, [], {"a": 1}, 0, -0.0, 7),
        *([1, 7], ["a", "b"], [True], [0.5], ["c"], [1.0]),
    ]
    draw = random.Random(1)
    scalars: list[Any] = ["1", "a", "b", "", 1, 1.5, 0, 7, 0.5, True, False, 99, "z"]
    with QdrantStore("docs", location=":memory:", dimension=1, metric="dot") as store:
        rows = {str(n): {"k": value, "n": {"k": value}} for n, value in enumerate(values)}
        store.add([Document("", one, id=id, embedding=[1]) for id, one in rows.items()])
        for _ in range(60):
            literals = draw.choices(scalars, k=draw.randint(1, 12))
            for key in ("k", ("n", "k")):
                for op in (Op.IN, Op.NIN):
                    filter = Expression(op, Key(*([key] if key == "k" else key)), Value(literals))
                    found = {one.id for one in store.get(filter=filter)}
                    assert found == {id for id, one in rows.items() if filter.matches(one)}


@pytest.mark.parametrize("text", ["{} == 1", "{} IN ['a']", "{} > 1", "{} IS NOT NULL"])
def test_a_key_deeper_than_any_document(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ".".join(["a"] * 5_000)
    assert Qdrant().compile(text.format(key)).matches_nothing
    with QdrantStore("docs", location=":memory:", dimension=1) as store:
        store.add([Document("", {"a": {"a": 1}}, id="a", embedding=[1])])
        assert store.count(f"NOT {text.format(key)} AND a.a == 1") == (0 if ">" in text else 1)
        monkeypatch.setattr(store._call.client, "count", None)
        assert store.count(text.format(key)) == 0


def test_models_are_those_that_the_client_would_read() -> None:
    from qdrant_client import models

    text = "(a == 'x' OR b IN [1, 2.5, true, 'y', 'z']) AND c > 5 AND d IS NULL AND e != false"
    for dialect, filter in (
        (Qdrant(), text),
        (
            Qdrant(schema=Schema({"at": datetime})),
            "at >= DATE '2024-01-01' AND at < DATE '2024-02-01'",
        ),
        (Qdrant(), "NOT (a == 1 AND b IS NOT NULL)"),
    ):
        query = dialect.compile(filter).query
        assert filter_model(query) == models.Filter.model_validate(query)
