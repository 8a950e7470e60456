"""Every encoding of an ordering selects what the reference evaluator selects, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.filter.strategies import numbers, paths, texts
from vecstore import Op
from vecstore.dialects.orders import (
    LONGEST_TERM,
    ordered_term,
    sortable_integer,
    term_range,
    text_integers,
    trie_query,
    trie_tokens,
)
from vecstore.dialects.tokens import (
    document_tokens,
    hashed_token,
    kind_token,
    nearest_double,
    presence_token,
    value_token,
)
from vecstore.filter.values import kind_of

keys = paths.map(tuple)
orderings = st.sampled_from([Op.GT, Op.GTE, Op.LT, Op.LTE])
# Near ones, whose prefixes are the same for long, and any.
near = st.text("\x01aa\x7f\x80é\uffff😀", max_size=30)
any_text = near | texts
BYTES = 24


def holds(value: Any, op: Op, literal: Any) -> bool:
    return {
        Op.GT: value > literal,
        Op.GTE: value >= literal,
        Op.LT: value < literal,
        Op.LTE: value <= literal,
    }[op]


@given(numbers, numbers)
@example(-0.0, 0)
@example(-0.0, -5e-324)
@example(-5e-324, 5e-324)
@example(10**400, 1.7976931348623157e308)
@example(-(10**400), -1.7976931348623157e308)
@example(2**53, 2**53 + 1)
def test_integers_are_ordered_as_the_doubles_are(one: float, other: float) -> None:
    doubles, integers = map(nearest_double, (one, other)), map(sortable_integer, (one, other))
    first, second = doubles
    low, high = integers
    assert (low < high, low == high) == (first < second, first == second)
    assert -(2**63) < low < 2**63


@given(any_text, any_text, st.integers(1, 4))
@example("", "a", 1)
@example("a" * 7, "a" * 7 + "\x01", 2)
@example("a" * 7, "a" * 6, 2)
@example("a" * 14, "a" * 15, 3)
def test_integers_are_ordered_as_the_texts_are(one: str, other: str, most: int) -> None:
    first, second = text_integers(one, most), text_integers(other, most)
    assert len(first) <= most
    assert all(0 <= number < 2**57 for number in first)
    if min(len(one.encode()), len(other.encode())) < 7 * most:
        assert (first < second, first == second) == (one < other, one == other)
        # Behind the end of a text nothing is looked at: what stands there may be anybody's.
        [short, long] = sorted([first, second], key=len)
        assert short == long or short != long[: len(short)]


@given(any_text, st.text(max_size=30), st.text(max_size=30))
def test_what_is_cut_off_stands_for_every_text_behind_it(begin: str, one: str, other: str) -> None:
    begin = begin.ljust(14, "x")
    assert text_integers(begin + one, 2) == text_integers(begin + other, 2)


@given(keys, orderings, any_text | numbers, any_text | numbers)
@example(("a",), Op.GT, "x" * (LONGEST_TERM + 1), "x" * (LONGEST_TERM - 1))
@example(("a",), Op.LTE, "", "")
@example(("a",), Op.GT, 10, "10")
def test_terms_are_ordered_as_the_values_are(
    path: tuple[str, ...], op: Op, value: float | str, literal: float | str
) -> None:
    lowest, beyond = term_range(path, literal)
    term, bound = ordered_term(path, value), ordered_term(path, literal)
    found = lowest <= term < beyond and holds(term, op, bound)
    assert found == _compares(value, op, literal)


@given(keys, orderings, any_text | numbers, any_text | numbers)
@example(("a",), Op.GT, "ab", "a")
@example(("a",), Op.LT, "a", "ab")
@example(("a",), Op.LT, "", "a")
@example(("a",), Op.LT, "", "")
@example(("a",), Op.GTE, "", "")
@example(("a",), Op.GTE, "x" * BYTES, "x" * (BYTES - 1))
@example(("a",), Op.LT, 5, "a")
def test_a_prefix_is_among_those_asked_for_where_the_value_compares_so(
    path: tuple[str, ...], op: Op, value: float | str, literal: float | str
) -> None:
    assume(not isinstance(literal, str) or len(literal.encode()) < BYTES)
    tokens, wanted = trie_tokens(path, value, BYTES), trie_query(path, op, literal)
    assert bool({*tokens} & {*wanted}) == _compares(value, op, literal)
    assert (
        len({*wanted})
        == len(wanted)
        <= (241 if not isinstance(literal, str) else 16 * 2 * len(literal.encode()) + 17)
    )
    assert len(tokens) <= (2 * BYTES + 1 if isinstance(value, str) else 16)


@given(keys, keys, any_text | numbers, orderings, any_text | numbers)
@example(("a", "b"), ("a.b",), 1, Op.GT, 0)
@example(("a", "b"), ("ab",), 1, Op.GT, 0)
def test_keys_do_not_meet(
    path: tuple[str, ...], other: tuple[str, ...], value: float, op: Op, literal: float
) -> None:
    assume(path != other)
    assert not {*trie_tokens(path, value, BYTES)} & {*trie_query(other, op, literal)}
    lowest, beyond = term_range(other, literal)
    assert not lowest <= ordered_term(path, value) < beyond


@given(keys, any_text | numbers, any_text | numbers)
def test_no_element_of_a_list_is_taken_for_a_prefix(
    path: tuple[str, ...], value: float | str, element: float | str
) -> None:
    document: dict[str, object] = {path[-1]: [element]}
    for name in reversed(path[:-1]):
        document = {name: document}
    prefixes = {*trie_tokens(path, value, BYTES)}
    assert not prefixes & {*document_tokens(document)}
    assert kind_token(path, kind_of(element)) not in prefixes


@given(keys, any_text | numbers, any_text | numbers)
def test_hashed_tokens_are_equal_where_tokens_are(
    path: tuple[str, ...], one: float | str, other: float | str
) -> None:
    tokens = [presence_token(path), value_token(path, one), value_token(path, other)]
    hashed = [hashed_token(token) for token in tokens]
    assert len({*hashed}) == len({*tokens})
    assert all(len(token) == 32 and {*token} <= {*"0123456789abcdef"} for token in hashed)


@pytest.mark.parametrize("op", [Op.GT, Op.GTE, Op.LT, Op.LTE])
def test_a_number_asks_for_at_most_241_tokens(op: Op) -> None:
    """What a dialect may count on where its engine limits the size of a query."""
    for literal in (0, -0.5, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 1e-300):
        assert len(trie_query(("a",), op, literal)) <= 241


def _compares(value: float | str, op: Op, literal: float | str) -> bool:
    if isinstance(value, str) and isinstance(literal, str):
        return holds(value, op, literal)
    if isinstance(value, str) or isinstance(literal, str):
        return False
    return holds(nearest_double(value), op, nearest_double(literal))
