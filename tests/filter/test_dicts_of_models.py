"""Filters in dict form as language models write them: read where they are plain, or put right."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from vecstore import Expression, FilterTypeError, Op

SPELLINGS = {
    Op.AND: ["and", "AND", "$and", "&&", "And"],
    Op.OR: ["or", "OR", "$or", "||"],
    Op.NOT: ["not", "NOT", "$not", "!"],
    Op.EQ: ["eq", "EQ", "==", "=", "$eq", "equals", "Equals"],
    Op.NE: ["ne", "!=", "<>", "$ne", "neq", "not_equals", "notEquals", "NOT EQUALS"],
    Op.GT: ["gt", ">", "$gt", "GT"],
    Op.GTE: ["gte", ">=", "$gte", "GTE", "ge"],
    Op.LT: ["lt", "<", "$lt"],
    Op.LTE: ["lte", "<=", "$lte", "LTE", "le"],
    Op.IN: ["in", "IN", "$in"],
    Op.NIN: ["nin", "$nin", "NIN", "not_in", "NOT IN", "not-in", "notIn", "NOT_IN"],
    Op.ISNULL: ["isnull", "is_null", "IS NULL", "isNull", "IS_NULL"],
    Op.ISNOTNULL: ["isnotnull", "is_not_null", "IS NOT NULL", "isNotNull", "not_null"],
}
FLAT = [(op, spelling) for op, spellings in SPELLINGS.items() for spelling in spellings]


def form(op: Op, spelling: str) -> dict[str, Any]:
    inner = {"op": "eq", "key": "a", "value": 1}
    if op in (Op.AND, Op.OR):
        return {"op": spelling, "operands": [inner, {"op": "isnull", "key": "b"}]}
    if op is Op.NOT:
        return {"op": spelling, "operands": [inner]}
    if op in (Op.ISNULL, Op.ISNOTNULL):
        return {"op": spelling, "key": "a"}
    return {"op": spelling, "key": "a", "value": [1, 2] if op in (Op.IN, Op.NIN) else 2}


@pytest.mark.parametrize(("op", "spelling"), FLAT)
def test_spellings_of_operators(op: Op, spelling: str) -> None:
    read = Expression.from_dict(form(op, spelling))
    assert read.op is op
    # What is written is always the one spelling.
    assert read.to_dict() == Expression.from_dict(form(op, op.value)).to_dict()


@pytest.mark.parametrize(
    "spelling", ["like", "", "$", "eq;", "eq ne", "≥", "x" * 10_000, "isnotin"]
)
def test_other_words_are_refused(spelling: str) -> None:
    with pytest.raises(FilterTypeError, match="unknown operator"):
        Expression.from_dict({"op": spelling, "key": "a", "value": 1})


WRONG = [
    *(
        {other: "eq", "key": "year", "value": 2020}
        for other in ["operator", "operation", "comparator", "OPERATOR"]
    ),
    *(
        {"op": "eq", other: "year", "value": 2020}
        for other in ["field", "name", "column", "attribute", "property", "path", "identifier"]
    ),
    *(
        {"op": "eq", "key": "year", other: 2020}
        for other in ["val", "values", "literal", "operand"]
    ),
    *(
        {"op": op, "field": "year", "value": value}
        for op, value in itertools.product(["==", "$gte", "LT", "not_equals"], [2020, -1.5])
    ),
    {"op": "eq", "key": "tags", "value": ["a", "b"]},
    {"op": "!=", "key": "tags", "value": ["a"]},
    {"op": "in", "key": "tags", "value": "a"},
    {"op": "not_in", "field": "tags", "values": "a"},
    {"op": "is_null", "key": "year", "value": True},
    {"op": "isnotnull", "field": "year", "value": None},
    {"op": "eq", "key": "year", "value": None},
    {"op": "ne", "key": "year", "value": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
def test_a_mistake_is_answered_with_the_corrected_dict(wrong: dict[str, Any]) -> None:
    around = {
        "op": "and",
        "operands": [
            {"op": "isnull", "key": "x"},
            {"op": "not", "operands": [{"op": "or", "operands": [wrong, wrong]}]},
        ],
    }
    with pytest.raises(FilterTypeError) as caught:
        Expression.from_dict(around)
    assert caught.value.message.startswith("at operands[1].operands[0].operands[")
    hint = str(caught.value.hint)
    assert hint.startswith("write {")
    Expression.from_dict(json.loads(hint.removeprefix("write ")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"op": "like", "key": "a", "value": "x"},
        {"op": "eq", "key": "a", "value": {"x": 1}},
        {"op": "eq", "key": "a", "field": "b", "value": 1},
        {"op": "eq", "value": 1},
        {"op": "and", "operands": 1},
        {"key": "a"},
        5,
        {"op": "in", "key": "a", "values": ["x" * 10_000]},
    ],
    ids=str,
)
def test_what_is_not_plain_is_not_guessed(wrong: Any) -> None:
    with pytest.raises(FilterTypeError) as caught:
        Expression.from_dict(wrong)
    assert not str(caught.value.hint).startswith("write {")


def test_a_place_far_inside_is_told_shortly() -> None:
    wrong: dict[str, Any] = {"op": "eq", "key": "a"}
    for _ in range(5_000):
        wrong = {"op": "not", "operands": [wrong]}
    with pytest.raises(FilterTypeError) as caught:
        Expression.from_dict(wrong, limits=None)
    assert "…" in caught.value.message
    assert len(caught.value.message) < 300
