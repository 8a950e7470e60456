"""Limits are noticed while reading; nothing overflows when they are lifted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clock import takes_less
from tests.filter.strategies import trees
from vecstore import (
    Expression,
    FilterError,
    FilterLimitError,
    FilterSyntaxError,
    Limits,
    Op,
    parse,
)
from vecstore.filter.checking import check_tree
from vecstore.filter.limits import DEFAULT_LIMITS


def exceeded(text: str, limits: Limits = DEFAULT_LIMITS) -> FilterLimitError:
    with pytest.raises(FilterLimitError) as caught:
        parse(text, limits=limits)
    assert caught.value.limit is not None
    assert f"(limit {caught.value.limit})" in caught.value.message
    assert f"{getattr(limits, caught.value.limit):,}" in caught.value.message
    assert len(str(caught.value)) < 600
    return caught.value


def test_text() -> None:
    text = "a == 'x'"
    parse(text, limits=Limits(text=8))
    error = exceeded(text, Limits(text=7))
    assert error.limit == "text"
    assert error.span.start == 7
    parse("a == '" + "x" * 65_529 + "'")
    assert exceeded("a == '" + "x" * 65_530 + "'").limit == "text"


@pytest.mark.parametrize(
    ("text", "nesting"),
    [
        ("a == 1", 0),
        ("(a == 1)", 1),
        ("NOT a == 1", 1),
        ("NOT (a == 1)", 2),
        ("!(!(a == 1))", 4),
        ("((a == 1) AND (b == 1))", 2),
        ("NOT a == 1 AND NOT b == 1", 1),
        ("NOT (a == 1) OR NOT (b == 1)", 2),
        ("(NOT a == 1) AND (NOT NOT b == 1)", 3),
        ("a NOT IN (1) AND b IS NOT NULL AND c IN (1)", 0),
        ("(a NOT IN (1)) AND NOT b NOT IN (1)", 1),
        ("NOT (a IN (1) OR NOT b IS NOT NULL) AND NOT c == 1", 3),
        ("NOT NOT NOT a == 1 && NOT b == 1 || NOT c == 1", 3),
    ],
)
def test_nesting(text: str, nesting: int) -> None:
    parse(text, limits=Limits(nesting=nesting))
    if nesting:
        assert exceeded(text, Limits(nesting=nesting - 1)).limit == "nesting"


def test_nesting_stops_at_the_parenthesis_that_is_too_many() -> None:
    assert exceeded("(" * 64 + "(a ==").span.start == 64
    assert exceeded("a == 1 AND " + "NOT " * 70).span.start == 11 + 4 * 64
    # An error before it comes first.
    with pytest.raises(FilterSyntaxError):
        parse("(" * 64 + "a == 1 b" + "(" * 10)


def test_depth_counts_levels_of_the_tree() -> None:
    text = "a == 1 OR b == 1 AND (c == 1 OR d == 1 AND NOT e == 1)"
    parse(text, limits=Limits(depth=5))
    assert exceeded(text, Limits(depth=4)).limit == "depth"
    # Parentheses that hold more of the same add no level.
    spliced = "a == 1 AND (" * 40 + "b == 1" + ")" * 40
    parse(spliced, limits=Limits(depth=1))
    deep = "a == 1 OR b == 1 AND (" * 33 + "c == 1" + ")" * 33
    assert exceeded(deep).limit == "depth"


def test_nodes() -> None:
    text = "a == 1 AND NOT b == 1 OR c IS NULL"
    parse(text, limits=Limits(nodes=6))
    assert exceeded(text, Limits(nodes=5)).limit == "nodes"
    assert exceeded(text, Limits(nodes=2)).span.text == "IS"
    for word in ("a IN [1]", "a NIN [1]", "a NOT IN [1]", "a IS NOT NULL", "a < 1"):
        assert exceeded(f"{word} AND {word}", Limits(nodes=1)).limit == "nodes"


def test_in_values() -> None:
    for text in ("a IN [1, 'x', true]", "a NOT IN (1, 2, DATE '2024-01-01')"):
        parse(text, limits=Limits(in_values=3))
        error = exceeded(f"{text} AND b ==", Limits(in_values=2))
        assert error.limit == "in_values"
        assert error.span.end == len(text) - 1
    parse("a IN [1, 2] AND b IN (3, 4) AND c == 5", limits=Limits(in_values=2))
    parse("a IN []", limits=Limits(in_values=0))
    parse(f"a IN [{', '.join(['1'] * 10_000)}]")
    assert exceeded(f"a IN [{', '.join(['1'] * 10_001)}]").limit == "in_values"


@given(trees, st.integers(1, 6), st.integers(1, 12))
def test_the_same_trees_are_refused_as_in_the_dict_form(
    tree: Expression, depth: int, nodes: int
) -> None:
    limits = Limits(depth=depth, nodes=nodes, nesting=1_000)
    try:
        check_tree(tree, limits)
    except FilterLimitError:
        with pytest.raises(FilterLimitError):
            parse(tree.to_text(), limits=limits)
    else:
        assert parse(tree.to_text(), limits=limits) == tree


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000 + "a == 1" + ")" * 100_000,
        "(" * 65_000,
        "NOT " * 50_000 + "a == 1",
        "!" * 65_000,
        " AND ".join(["a == 1"] * 50_000),
        "a IN [" + "1," * 32_000 + "1]",
    ],
    ids=lambda text: f"{text[:12]}...",
)
def test_hostile_size_is_refused_at_once(text: str) -> None:
    assert takes_less(2, lambda: exceeded(text))


def test_a_long_flat_chain_is_fine() -> None:
    text = " AND ".join(["a == 1"] * 5_000)
    # Three texts, as one that was read is kept.
    texts = iter([f"{text} OR b == {number}" for number in range(3)])
    assert takes_less(2, lambda: parse(next(texts)))
    tree = parse(text)
    assert tree.op is Op.AND
    assert len(tree.operands) == 5_000
    assert exceeded(" OR ".join(["a==1"] * 10_000), Limits(text=10**6)).limit == "nodes"


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("(" * 20_000 + "a == 1" + ")" * 20_000, 0),
        ("NOT " * 100_000 + "a == 1", 100_000),
        ("!(" * 5_000 + "a == 1" + ")" * 5_000, 5_000),
        ("a == 1 AND (" * 3_000 + "a == 1" + ")" * 3_000, 1),
        ("a == 1 OR NOT (" * 3_000 + "a == 1" + ")" * 3_000, 6_000),
        ("(" * 3_000 + "a == 1" + " AND b == 2)" * 3_000, 1),
    ],
    ids=lambda value: f"{value[:14]}..." if isinstance(value, str) else str(value),
)
def test_without_limits_nesting_is_bounded_by_memory_alone(text: str, levels: int) -> None:
    tree = parse(text, limits=None)
    depth = 0
    node = tree
    while node.op in (Op.AND, Op.OR, Op.NOT):
        depth += 1
        node = node.operands[-1]
    assert depth == levels
    assert tree.span.source == text


def test_errors_far_inside_are_found_without_limits_too() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse("(" * 5_000 + "a == 1" + ")" * 5_001, limits=None)
    assert caught.value.span.start == 10_006


FAULTS_IN_LONG_TEXTS = [
    "a == 1" + " " * 60_000 + "b",
    "a == '" + "x " * 30_000,
    "a == '" + "\\\\" * 30_000,
    "a == '" + "\\'" * 30_000,
    "a == " + "'" * 60_000,
    "a == " + "\"'" * 30_000,
    "a == " + "9" * 60_000,
    "a == 1." + "9" * 60_000 + "x",
    "a == 1e" + "9" * 60_000,
    "a == b" + " c" * 30_000,
    "a == b" + " " * 60_000 + ",",
    "a" + ".a" * 30_000,
    "a == " + "\u201c" * 60_000,
    "a " + "\uff1d" * 60_000,
    "a" + "\u00b2" * 60_000,
    "\u00e9" * 60_000,
    "d > " + "2024-01-01" * 6_000,
    "a BETWEEN " + "x " * 30_000,
    "a IN [1" + " 1" * 30_000,
    "a IN ['" + "x', '" * 10_000,
    "[" * 60_000,
    "-" * 60_000,
    "a == \\" + "\\'" * 30_000,
    "a " + "b " * 30_000,
    "a == 1 OR " + "2 OR " * 12_000,
    "a == 1 AND " * 5_000 + "adn",
    "contains(" + "a," * 30_000,
    "(" * 60 + "\t" * 60_000,
    # For what is read at one go: how often is a text looked through that it does not fit?
    "a" + " . a" * 16_000,
    ". a.a" * 13_000,
    "a IN [" + "1," * 32_000,
    "a IN (" * 10_000,
    "a IN ['x'," * 6_000,
    "a == 1 AND " * 5_900 + "NOT",
    "a == '" * 10_001,
    "a NOT" + " " * 60_000 + "x",
    "a is not" + " \n" * 30_000 + "x",
    ("a" + " " * 500) * 120,
    "é.é" * 20_000,
    "a.b.c IS NOT NULL AND " * 2_800,
]


@pytest.mark.parametrize(
    "text",
    FAULTS_IN_LONG_TEXTS,
    ids=lambda text: ascii(f"{text[:8]}...{text[-4:]}"),
)
def test_faults_in_long_texts_are_explained_in_linear_time(text: str) -> None:
    def refuse() -> None:
        with pytest.raises(FilterError):
            parse(text)

    assert takes_less(2, refuse)
