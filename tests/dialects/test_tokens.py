"""Tokens are equal exactly where the rules of the language call values equal."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.filter.strategies import documents, lists, paths, scalars
from vecstore import Expression, Key, Kind, Op, Value
from vecstore.dialects.tokens import (
    DOCUMENT_TOKEN,
    LONGEST_TOKEN,
    document_tokens,
    kind_token,
    nearest_double,
    presence_token,
    present_values,
    value_token,
)

keys = paths.map(tuple)
wild_segments = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
wild_paths = st.lists(wild_segments.filter(bool), min_size=1, max_size=3).map(tuple)
doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(st.tuples(wild_paths | keys, scalars), st.tuples(wild_paths | keys, scalars))
@example((("a", "b"), "c"), (("a",), "b"))
@example((("a",), 1), (("a",), True))
@example((("a",), 1), (("a",), "1"))
@example((("a",), 0), (("a",), -0.0))
@example((("a",), 10**23), (("a",), 1e23))
@example((("a",), 2**53), (("a",), 2**53 + 1))
@example((("a",), float(2**53)), (("a",), 2**53 + 1))
@example((("a.b",), 1), (("a", "b"), 1))
@example((("a",), " "), (("a",), "\\u0020"))
@example((("a",), "\u00a0"), (("a",), " "))
@example((('a"]="b',), "c"), (("a",), 'b"]="c'))
@example((("a",), "x" * 200), (("a",), "x" * 201))
@example((("a",), "é"), (("a",), "e\u0301"))
def test_values_share_a_token_when_the_language_calls_them_equal(one: Any, other: Any) -> None:
    equal = one[0] == other[0] and Value(one[1]) == Value(other[1])
    assert (value_token(*one) == value_token(*other)) is equal


@given(wild_paths | keys, wild_paths | keys, scalars)
@example(("a",), ("a",), "x" * 500)
@example(("a" * 500,), ("a" * 500,), 1)
@example(("a",), ('a"]="b',), "b")
def test_no_kind_of_token_is_taken_for_another(one: Any, other: Any, value: Any) -> None:
    presence = presence_token(one)
    assert presence != value_token(other, value)
    assert (presence == presence_token(other)) is (one == other)
    assert presence != DOCUMENT_TOKEN == presence_token(())
    kinds = [kind_token(path, kind) for path in {one, other} for kind in Kind]
    assert len(set(kinds)) == len(kinds)
    assert not {presence, value_token(other, value), DOCUMENT_TOKEN} & set(kinds)


@given(wild_paths, scalars)
@example((" ",), "\u3000")
@example(("\x85",), "\x1c")
@example(("😀" * 40,), "\n" * 300)
@example(("a",), 10**3999)
def test_tokens_survive_what_engines_do_to_texts(path: Any, value: Any) -> None:
    for token in (presence_token(path), value_token(path, value), kind_token(path, Kind.STRING)):
        assert token.isascii()
        assert token.isprintable()
        assert token.split() == [token]
        assert 2 < len(token) <= LONGEST_TOKEN


@given(documents, st.lists(st.tuples(keys, scalars | lists), max_size=5))
def test_asking_for_a_token_is_asking_for_the_value(document: Any, wanted: Any) -> None:
    tokens = document_tokens(document)
    assert len(tokens) == len(set(tokens))
    assert tokens[0] == DOCUMENT_TOKEN
    there = [
        (path, value)
        for path, value in present_values(document)
        if path and type(value) is not dict
    ]
    for path, value in [*wanted, *there]:
        items = value if isinstance(value, list) else [value]
        for item in items:
            equal = Expression(Op.EQ, Key(*path), Value(item))
            assert (value_token(path, item) in tokens) is equal.matches(document)
        present = Expression(Op.ISNOTNULL, Key(*path))
        assert (presence_token(path) in tokens) is present.matches(document)


@given(st.one_of(st.integers(), st.integers(-(10**400), 10**400), doubles), st.data())
@example(2**53 + 1, None)
def test_a_double_compares_with_safe_numbers_as_the_number_does(value: Any, data: Any) -> None:
    bound = 2**53 - 1
    near = st.one_of(st.integers(-bound, bound), doubles, st.just(value))
    literal = bound if data is None else data.draw(near)
    assume(abs(literal) <= bound)
    double = nearest_double(value)
    assert (double < literal, double > literal) == (value < literal, value > literal)
    assert str(double) != "-0.0"
