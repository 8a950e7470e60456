"""Why a filter is what it is on a document: held against the evaluator, and against what is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.filter.strategies import documents, trees
from vecstore import F, parse
from vecstore.explaining.verdicts import Judge
from vecstore.filter.tree import Expression, Op


@given(trees, documents)
def test_the_verdict_is_the_evaluators(tree: Expression, document: dict[str, Any]) -> None:
    verdict = Judge(tree).verdict(document)
    assert verdict.value is tree.evaluate(document)
    assert verdict.reasons


@given(trees, documents)
def test_each_reason_is_what_the_whole_is(tree: Expression, document: dict[str, Any]) -> None:
    verdict = Judge(tree).verdict(document)
    for reason in verdict.reasons:
        assert parse(reason.clause).evaluate(document) is verdict.value


@pytest.mark.parametrize(
    ("filter", "metadata", "value", "reasons"),
    [
        ("a == 1 AND b == 2", {"a": 1, "b": 3}, False, ["b == 2: b is 3"]),
        ("a == 1 AND b == 2", {"a": 1, "b": 2}, True, ["a == 1: a is 1", "b == 2: b is 2"]),
        ("a == 1 OR b == 2", {"a": 1, "b": 3}, True, ["a == 1: a is 1"]),
        (
            "NOT (a == 1 OR b IN ['x'])",
            {"b": ["y"]},
            True,
            ["NOT a == 1: there is no a", "NOT b IN ['x']: b is ['y']"],
        ),
        (
            "a == 1 AND NOT (b < 2)",
            {"a": 1},
            None,
            ["NOT b < 2: there is no b, and what is absent has no order"],
        ),
        ("b < 2", {"b": None}, None, ["b < 2: b is null, which is absent, and what is absent has no order"]),
        ("b < 2", {"b": []}, None, ["b < 2: b is [], which is absent, and what is absent has no order"]),
        ("b < 2", {"b": [1]}, None, ["b < 2: b is [1], and a list has no order"]),
        ("b < 2", {"b": {"c": 1}}, None, ["b < 2: b is an object, and has no order"]),
        ("b < 2", {"b": "1"}, None, ["b < 2: b is '1', a text, and 2 is a number"]),
        ("b < '2'", {"b": True}, None, ["b < '2': b is true, a boolean, and '2' is a text"]),
        ("b.c IS NULL", {"b": 1}, True, ["b.c IS NULL: there is no b.c"]),
        ("b.c == 1", {"b": {"c": 1}}, True, ["b.c == 1: b.c is 1"]),
        ('"b.c" == 1', {"b.c": 1}, True, ['"b.c" == 1: "b.c" is 1']),
        ("a == 1 OR a == 1", {}, False, ["a == 1: there is no a"]),
    ],
)  # fmt: skip
def test_what_is_said(
    filter: str, metadata: dict[str, Any], value: bool | None, reasons: list[str]
) -> None:
    verdict = Judge(parse(filter)).verdict(metadata)
    assert verdict.value is value
    assert [f"{clause}: {because}" for clause, because in verdict.reasons] == reasons


def test_long_values_are_cut() -> None:
    judge = Judge(parse("a == 1"))
    for held in ("x" * 10_000, 10**3_000, ["x" * 100] * 10_000):
        ((_, because),) = judge.verdict({"a": held}).reasons
        assert len(because) < 60
        assert because.endswith("…")


def test_a_filter_of_any_depth_is_judged() -> None:
    tree: Expression = F.a == 1
    for number in range(20_000):
        tree = Expression(Op.NOT, tree) if number % 2 else Expression(Op.OR, tree, F.b == number)
    verdict = Judge(tree).verdict({"a": 1})
    assert verdict.value is tree.evaluate({"a": 1})
    assert verdict.reasons
