"""Filters that are TRUE on every document, found without looking at one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.filter import naive
from tests.filter.strategies import documents, trees
from vecstore import Expression, F, Key, Op, Value, parse
from vecstore.filter import tautology
from vecstore.filter.normalize import simplify
from vecstore.filter.tautology import matches_everything

LITERALS: tuple[Any, ...] = (0, 1, 1.5, "", "a", "a\x01", "b", True, False)
"""Near each other, so that random filters say much about few values."""

SCALARS: dict[type, tuple[Any, ...]] = {
    bool: (True, False),
    float: (-1, 0, 0.5, 1, 1.25, 1.5, 2),
    str: ("", "A", "a", "a\x01", "a\x01\x01", "aa", "b", "c"),
}


def _values() -> Iterable[Any]:
    """A value for everything that a filter over these literals can tell apart, and more."""
    yield from (None, [], {}, {"in": 1})
    for scalars in SCALARS.values():
        yield from scalars
        for count in range(1, len(scalars) + 1):
            yield from map(list, combinations(scalars, count))


VALUES = tuple(_values())
FEW_VALUES = (
    None,
    {},
    True,
    False,
    0,
    0.5,
    1,
    "",
    "a",
    "c",
    # Lists by which of the literals below they hold: each set of them may be the one that escapes.
    [0],
    [1],
    [0, 1],
    [0.5],
    ["a"],
    ["c"],
    [True],
    [False],
)


def _atoms(names: tuple[str, ...], literals: tuple[Any, ...]) -> st.SearchStrategy[Expression]:
    keys = st.sampled_from([Key(name) for name in names])
    scalars = st.sampled_from(literals).map(Value)
    ordered = st.sampled_from([one for one in literals if not isinstance(one, bool)]).map(Value)
    listed = st.lists(st.sampled_from(literals), min_size=1, max_size=3).map(Value)
    return st.one_of(
        st.builds(Expression, st.sampled_from([Op.ISNULL, Op.ISNOTNULL]), keys),
        st.builds(Expression, st.sampled_from([Op.EQ, Op.NE]), keys, scalars),
        st.builds(Expression, st.sampled_from([Op.IN, Op.NIN]), keys, listed),
        st.builds(Expression, st.sampled_from([Op.GT, Op.GTE, Op.LT, Op.LTE]), keys, ordered),
    )


def _filters(names: tuple[str, ...], literals: tuple[Any, ...]) -> st.SearchStrategy[Expression]:
    """Trees in which it is likely that a part and its negation, or a null test, meet in an OR."""
    parts = st.recursive(
        _atoms(names, literals),
        lambda inner: st.builds(
            lambda op, children: Expression(op, *children),
            st.sampled_from([Op.AND, Op.OR]),
            st.lists(inner, min_size=2, max_size=3),
        ),
        max_leaves=5,
    )
    covering = st.builds(
        lambda part, other, name: (
            part | (F[name].is_not_null() & ~part) | F[name].is_null() | other
        ),
        parts,
        parts,
        st.sampled_from(names),
    )
    either = st.one_of(parts, covering, parts.map(lambda part: part | ~part))
    return st.one_of(
        either,
        st.builds(lambda one, other: one & other, either, either),
        st.builds(lambda one, other: one | other, either, either),
    )


def _everywhere(filter: Expression) -> bool:
    return matches_everything(simplify(filter))


@given(_filters(("k",), LITERALS))
def test_of_one_key_it_finds_exactly_the_filters_that_no_value_escapes(filter: Expression) -> None:
    written = filter.to_dict()
    escaping = [one for one in VALUES if naive.verdict(written, {"k": one}) is not True]
    assert _everywhere(filter) is not bool(escaping), escaping[:1]


_TRUE_BUT_OF_ONE_LIST = F.k.is_not_null() & F.l.in_([1]) & (F.l > 0)


@example(
    _TRUE_BUT_OF_ONE_LIST
    | (F.k.is_not_null() & ~_TRUE_BUT_OF_ONE_LIST)
    | F.k.is_null()
    | (F.l == 0)
)
@given(_filters(("k", "l"), (0, 1, "a", True)))
def test_of_two_keys_too(filter: Expression) -> None:
    written = filter.to_dict()
    pairs = product(FEW_VALUES, FEW_VALUES)
    every = all(naive.verdict(written, {"k": k, "l": other}) is True for k, other in pairs)
    assert _everywhere(filter) is every


@given(trees, trees, documents)
def test_what_it_finds_matches_every_document(
    one: Expression, other: Expression, document: dict[str, Any]
) -> None:
    for filter in (one | ~one | other, (one | ~one) & (other | ~other), one | (~one & other)):
        if _everywhere(filter):
            assert naive.verdict(filter.to_dict(), document) is True


@pytest.mark.parametrize(
    "text",
    [
        "(x IS NOT NULL AND x != 1) OR x IS NULL OR x == 1",
        "x IS NULL OR (x IS NOT NULL AND x != 'a') OR x IN ['b', 'a']",
        "x NOT IN [1, 2] OR (x == 1 AND x != 2) OR x == 2",
        "(x == 1 AND x == 2) OR x != 1 OR x != 2",
        "x != 1 OR x != true",
        "x NOT IN [1, 2] OR x != 'a'",
        "author.name IS NULL OR author.name == 'a' OR (author.name IS NOT NULL AND "
        "author.name != 'a')",
        "(x IS NOT NULL AND (x != true OR x == 1)) OR x == true OR x IS NULL",
        # several keys: one part is enough under OR, under AND it takes all
        "y == 1 OR (x IS NOT NULL AND x != 1) OR z == 2 OR x IS NULL OR x == 1",
        "(x IS NULL OR x == 1 OR (x != 1 AND x IS NOT NULL)) AND (y != 2 OR y != 'a')",
        "((x IS NOT NULL AND x != 1) OR x IN [1, 2] OR x IS NULL) AND (z == 1 OR y != 1 OR y != '')",
        # keys that meet
        "(x IS NULL AND y == 1) OR (x IS NULL AND y != 1) OR x IS NOT NULL",
        "(x == 1 AND y == 1) OR x != 1 OR y != 1",
    ],
)
def test_it_finds(text: str) -> None:
    assert not isinstance(simplify(parse(text)), bool)
    assert _everywhere(parse(text))


@pytest.mark.parametrize(
    ("text", "escaping"),
    [
        ("x < 5 OR x >= 5 OR x IS NULL", "a text"),
        ("x < 5 OR x >= 5 OR x IS NULL OR x < '' OR x >= ''", [1]),
        ("x IS NULL OR x == true OR x == false", 1),
        ("x IS NULL OR x < 5 OR x > 5 OR x != 5", [5]),
        ("x IS NULL OR x < 5 OR x > 5 OR (x != 5 AND x IS NOT NULL)", 5),
        ("(x != 1 AND x IS NOT NULL) OR x IS NULL OR (x == 1 AND x != 2)", [1, 2]),
        ("(x != 1 AND x != 2) OR (x == 1 AND x != 2) OR (x == 2 AND x != 1)", [1, 2]),
        ("x NOT IN [1, 2] OR x == 1", 2),
        ("x NOT IN [1, 2] OR x != 3", [1, 3]),
        ("x != 1 OR x > 0", [1]),
        ("(x IS NULL OR x == 1 OR (x != 1 AND x IS NOT NULL)) AND (y != 2 OR y > 1)", {}),
        ("x != 'a' OR (x > 'A' AND x == 'a')", ["a"]),
    ],
)
def test_it_is_not_taken_in(text: str, escaping: Any) -> None:
    assert not parse(text).matches({"x": escaping, "y": [2]})
    assert not _everywhere(parse(text))


def test_gaps_that_hold_no_value_count_for_nothing() -> None:
    """Between 2**53 and the next integer lies no number, between 'a' and 'a\\x01' no text."""
    others = F.x.is_null() | F.x.not_in([0, 1]) & F.x.is_not_null()
    below, above = 2**53, 2**53 + 1
    numbers = (F.x <= below) | (F.x >= above) | F.x.in_([0, 1])
    assert not _everywhere(numbers)
    apart = F.x.is_not_null() & F.x.not_in([below, above])
    assert _everywhere((apart & numbers) | apart | F.x.is_null() | F.x.in_([above, below]) | others)
    # Only the value between the two could tell these apart from everything.
    assert _Numbers.between(below, above) == []
    assert _Numbers.between(1, 2) == [1.0000000000000002]
    assert _Numbers.between(0.1, 0.10000000000000002) == []
    assert _Numbers.between(5e-324, 1e-323) == []
    assert _Numbers.between(2.0**60, 2**60 + 2) == [2**60 + 1]
    assert list(tautology._texts(["a", "a\x01", "b"])) == [
        "",
        "a",
        "a\x01",
        "a\x01\x01",
        "b",
        "b\x01",
    ]


class _Numbers:
    @staticmethod
    def between(low: float, high: float) -> list[Any]:
        return list(tautology._numbers([low, high]))[2:-2]


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound, the answer is that nothing is known."""
    spent: list[int] = []
    spend = tautology._Search._spend

    def counted(search: Any, work: int) -> None:
        spent.append(work)
        spend(search, work)

    monkeypatch.setattr(tautology._Search, "_spend", counted)
    assert _everywhere(_pigeons(3))
    spent.clear()
    assert not _everywhere(_pigeons(9))
    assert tautology.WORK < sum(spent) < 2 * tautology.WORK


def _pigeons(count: int) -> Expression:
    """Of so many pigeons in one hole less, one has none or two share one: hard to see for any."""
    holes = range(count - 1)
    none = [
        Expression(Op.AND, *[F[f"k{pigeon}_{hole}"] != 1 for hole in holes])
        for pigeon in range(count)
    ]
    shared = [
        (F[f"k{one}_{hole}"] == 1) & (F[f"k{other}_{hole}"] == 1)
        for one, other in combinations(range(count), 2)
        for hole in holes
    ]
    return Expression(Op.OR, *none, *shared)


def test_deep_trees_are_no_burden() -> None:
    filter: Expression = F.x == 1
    for _ in range(20_000):
        filter = (filter & (F.x != 2)) | (F.x != 1)
    assert not _everywhere(filter)
