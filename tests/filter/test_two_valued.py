"""Filters that are constant, and filters to which the unknown is false."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.filter.strategies import documents as any_documents
from tests.filter.strategies import trees
from vecstore import (
    FALSE,
    TRUE,
    Expression,
    F,
    FilterTypeError,
    Op,
    Schema,
    compile_filter,
    dialect_names,
    parse,
)
from vecstore.filter.normalize import NEGATION
from vecstore.filter.tree import LOGICAL, ORDERINGS


def naive(filter: Expression, document: dict[str, Any]) -> bool:
    """What it means, by the definition."""
    if filter.op is Op.AND:
        return all(naive(part, document) for part in filter.operands)
    if filter.op is Op.OR:
        return any(naive(part, document) for part in filter.operands)
    if filter.op is Op.NOT:
        return not naive(filter.operands[0], document)
    return filter.evaluate(document) is True


@given(trees, any_documents)
def test_the_unknown_counts_as_false(filter: Expression, document: dict[str, Any]) -> None:
    assert filter.matches(document, unknown=False) is naive(filter, document)


@given(trees, any_documents)
def test_without_an_ordering_under_a_not_no_schema_is_needed(
    filter: Expression, document: dict[str, Any]
) -> None:
    try:
        tree = filter.two_valued()
    except FilterTypeError:
        assert any(node.op in ORDERINGS for node in filter.walk())
        return
    assert Op.NOT not in [node.op for node in tree.walk()]
    assert tree.matches(document) is filter.matches(document, unknown=False)


SCHEMA = Schema({"year": int, "title": str, "flag": bool, "tags": list[int], "odd": "any"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOT year > 2020", "year <= 2020 OR year IS NULL"),
        ("NOT NOT year > 2020", "year > 2020"),
        ("NOT (year > 2020 AND flag == true)", "year <= 2020 OR year IS NULL OR flag != true"),
        (
            "NOT (year > 2020 OR title <= 'M')",
            "(year <= 2020 OR year IS NULL) AND (title > 'M' OR title IS NULL)",
        ),
        ("NOT year == 2020", "year != 2020"),
        ("other > 1 AND NOT other IN [1]", "other > 1 AND other NOT IN [1]"),
    ],
)
def test_the_tree(text: str, expected: str) -> None:
    assert parse(text).two_valued(SCHEMA).to_text() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NOT other > 1", "other is not declared"),
        ("NOT tags > 1", r"tags is declared as list\[int\]"),
        ("NOT odd > 1", "odd is declared as any"),
        ("NOT flag > 1", "flag is declared as bool"),
        ("NOT year > 'a'", "year holds integers"),
    ],
)
def test_keys_of_which_it_cannot_be_said(text: str, message: str) -> None:
    with pytest.raises(FilterTypeError, match=message) as caught:
        parse(text).two_valued(SCHEMA)
    assert caught.value.span is not None
    with pytest.raises(FilterTypeError, match="is not declared"):
        parse("NOT year > 1").two_valued()


def test_what_no_tree_says_of_lists() -> None:
    filter = parse("NOT year > 2020")
    assert not filter.matches({})
    assert filter.matches({}, unknown=False)
    assert filter.matches({"year": [2021]}, unknown=False)
    assert not filter.matches({"year": 2021}, unknown=False)
    for wrong in (True, 0, "false"):
        with pytest.raises(TypeError, match="unknown is False, or None"):
            filter.matches({}, unknown=wrong)  # type: ignore[arg-type]


def test_deep_trees() -> None:
    filter = F.year > 2020
    for _ in range(2_501):
        filter = ~(filter & (F.flag == True))  # noqa: E712
    tree = filter.two_valued(SCHEMA)
    for document in ({}, {"year": 2021, "flag": True}, {"flag": True}):
        assert tree.matches(document) is filter.matches(document, unknown=False)


# --- constants ------------------------------------------------------------------------------------


def test_constants_select_everything_and_nothing() -> None:
    for document in ({}, {"always": 1, "never": 1}, {"always": [], "never": {}}):
        assert TRUE.matches(document)
        assert not FALSE.matches(document)
        assert FALSE.evaluate(document) is False
    assert TRUE.is_true
    assert not TRUE.is_false
    assert FALSE.is_false
    assert not FALSE.is_true
    assert (~TRUE).is_false
    assert (FALSE | (F.a == 1)).normalize() == (F.a == 1)
    assert (TRUE & (F.a == 1)).normalize() == (F.a == 1)
    for constant in (TRUE, FALSE):
        assert parse(constant.to_text()) == constant
        assert Expression.from_dict(constant.to_dict()) == constant
        assert Schema({"year": int}).check(constant) == constant


@pytest.mark.parametrize("name", dialect_names())
def test_constants_in_every_dialect(name: str) -> None:
    assert compile_filter(TRUE, name).matches_all
    assert compile_filter(FALSE, name).matches_nothing


def test_other_filters_that_are_constant() -> None:
    assert parse("x IS NULL OR x == 1 OR (x IS NOT NULL AND x != 1)").is_true
    assert parse("x == 1 AND y IN []").is_false
    for text in ("x == 1", "x IS NULL", "x > 1 OR x <= 1"):
        assert not parse(text).is_true, text
        assert not parse(text).is_false, text


def test_every_operator_has_its_negation() -> None:
    assert set(NEGATION) == set(Op) - {Op.NOT}
    assert LOGICAL >= {Op.AND, Op.OR, Op.NOT}
