from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.filter import naive
from tests.filter.strategies import documents, trees
from vecstore import Document, DocumentError, Expression, F, Key, Op, Span, Value, parse
from vecstore.filter.evaluate import _equality
from vecstore.filter.normalize import NEGATION, simplify
from vecstore.filter.values import _SCALAR_KINDS, MAX_METADATA_DEPTH, Kind

A, B, C = F.a == 1, F.b > 2, F.c.is_null()


def test_negation_map() -> None:
    assert set(NEGATION) == set(Op) - {Op.NOT}
    assert all(NEGATION[NEGATION[op]] is op for op in NEGATION)


@given(trees, documents)
def test_push_down_keeps_the_three_valued_verdict(
    tree: Expression, document: dict[str, Any]
) -> None:
    normal = tree.normalize()
    assert naive.verdict(normal.to_dict(), document) is naive.verdict(tree.to_dict(), document)


@given(trees)
def test_what_is_left_has_no_not_no_nesting_of_one_operator_and_no_duplicates(
    tree: Expression,
) -> None:
    for node in tree.normalize().walk():
        assert node.op is not Op.NOT
        if node.op in (Op.AND, Op.OR):
            assert all(child.op is not node.op for child in node.operands)
            assert len(set(node.operands)) == len(node.operands) >= 2


@given(trees)
def test_normalising_twice_changes_nothing(tree: Expression) -> None:
    once = tree.normalize()
    assert once.normalize() == once


@given(trees, documents)
def test_two_valued_evaluation_is_enough_after_push_down(
    tree: Expression, document: dict[str, Any]
) -> None:
    """The theorem the dialects stand on: atoms may answer "TRUE or not" and nothing is lost."""
    simple = simplify(tree)

    def two_valued(node: Expression) -> bool:
        if node.op is Op.AND:
            return all(two_valued(child) for child in node.operands)
        if node.op is Op.OR:
            return any(two_valued(child) for child in node.operands)
        return naive.verdict(node.to_dict(), document) is True

    expected = naive.verdict(tree.to_dict(), document) is True
    assert (simple if isinstance(simple, bool) else two_valued(simple)) is expected


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (~(A & B), "a != 1 OR b <= 2"),
        (~(A | ~B), "a != 1 AND b > 2"),
        (~~A, "a == 1"),
        (~(A & ~(B & C)), "a != 1 OR b > 2 AND c IS NULL"),
        (A & ~(~B | C), "a == 1 AND b > 2 AND c IS NOT NULL"),
        (~F.x.in_([1]), "x NOT IN [1]"),
        (A & A, "a == 1"),
        (A & (F.a == 1.0), "a == 1"),
        ((A | B) & (A | B), "a == 1 OR b > 2"),
        (A & F.x.in_([]), "a IN []"),
        (A | F.x.in_([]), "a == 1"),
        (A & F.x.not_in([]), "a == 1"),
        (A | F.x.not_in([]), "a NOT IN []"),
        (~(F.x.in_([]) & A), "x NOT IN []"),
        (F.x.in_([]), "x IN []"),
        ((F.x == 1) & (F.x == True), "x == 1 AND x == true"),  # noqa: E712
    ],
)
def test_examples(tree: Expression, text: str) -> None:
    assert tree.normalize().to_text() == text


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("a == 1 OR a == 2", "a IN [1, 2]"),
        ("a == 1 OR b == 1 OR a IN [2, 1.0] OR a == true", "a IN [1, 2, true] OR b == 1"),
        ("a != 1 AND a NOT IN [2, 'x'] AND b > 1", "a NOT IN [1, 2, 'x'] AND b > 1"),
        ("NOT (a == 1 OR a == 2)", "a NOT IN [1, 2]"),
        ("a == 1 OR a == 1.0", "a == 1"),
        ("a == 1 OR (b == 1 OR a == 2 AND c == 1)", "a == 1 OR b == 1 OR a == 2 AND c == 1"),
        ("a < 1 OR a < 2 OR a <= 2 OR a < 'x'", "a <= 2 OR a < 'x'"),
        ("a < 1 AND a < 2 AND a >= 0 AND a > 0", "a < 1 AND a > 0"),
        ("a > 'b' OR a > 'a' OR a >= 'c'", "a > 'a'"),
        ("a == 1 OR a IS NOT NULL", "a IS NOT NULL"),
        ("a != 1 OR a IS NULL", "a != 1"),
        ("a != 1 AND a IS NULL", "a IS NULL"),
        ("a == 1 AND a IS NOT NULL", "a == 1"),
        # What no document, or every one, matches.
        ("a IS NULL OR a IS NOT NULL", "a NOT IN []"),
        ("a == 1 OR a != 1", "a NOT IN []"),
        ("a IN [1, 2] OR a != 2.0", "a NOT IN []"),
        ("a IS NOT NULL OR a != 1", "a NOT IN []"),
        ("NOT (a == 1 AND a != 1)", "a NOT IN []"),
        ("a == 1 OR a == 2 OR (a != 2 AND a != 1)", "a NOT IN []"),
        ("a IS NULL AND a IS NOT NULL", "a IN []"),
        ("a IS NULL AND a == 1", "a IN []"),
        ("a == 1 AND a NOT IN [1, 2]", "a IN []"),
        ("b > 1 AND (a == 1 AND NOT a == 1)", "b IN []"),
        # What only looks like it: lists hold several values, and other types are there as well.
        ("a == 1 AND a == 2", None),
        ("a != 1 OR a != 2", None),
        ("a IN [1, 2] OR a NOT IN [2, 3]", None),
        ("a IN [1, 2] AND a NOT IN [2, 3]", None),
        ("a < 5 OR a >= 5", None),
        ("a < 5 OR a >= 5 OR a IS NULL", None),
        ("a < 5 AND a > 7", None),
        ("a > 1 AND a IS NULL", None),
        ("a > 1 OR a IS NOT NULL", None),
        ("a == 1 OR a == true", "a IN [1, true]"),
        ("a == 1 OR a IS NULL", None),
        ("a != 1 AND a IS NOT NULL", None),
        ('a.b == 1 OR "a.b" == 2', None),
        ("a > 1 OR a > '1'", None),
    ],
)
def test_atoms_of_one_key_are_merged_where_that_is_exact(text: str, merged: str | None) -> None:
    assert parse(text).normalize().to_text() == (text if merged is None else merged)


def test_a_merged_atom_knows_where_it_comes_from() -> None:
    text = "b == 1 OR NOT (a != 1 AND a != 2)"
    _, merged = parse(text).normalize().operands
    assert merged == F.a.in_([1, 2])
    assert merged.span is not None
    assert merged.span.text == "a != 1 AND a != 2"
    assert merged.written_op is Op.NE
    assert [source.span.text for source in merged.merged] == ["a != 1", "a != 2"]
    assert all(source.written_op is Op.NE and source.op is Op.EQ for source in merged.merged)


one_key = st.recursive(
    st.one_of(
        st.builds(
            lambda op, value: Expression(op, Key("k"), Value(value)),
            st.sampled_from([Op.EQ, Op.NE]),
            st.sampled_from([1, 2, True, "a", "b"]),
        ),
        st.builds(
            lambda op, values: Expression(op, Key("k"), Value(values)),
            st.sampled_from([Op.IN, Op.NIN]),
            st.lists(st.sampled_from([1, 1.0, 2, True, "a", "b"]), max_size=3),
        ),
        st.builds(
            lambda op, value: Expression(op, Key("k"), Value(value)),
            st.sampled_from([Op.GT, Op.GTE, Op.LT, Op.LTE]),
            st.sampled_from([1, 1.5, 2, "a", "b"]),
        ),
        st.sampled_from([F.k.is_null(), F.k.is_not_null(), F.other == 1]),
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: ~one),
        st.builds(
            lambda op, parts: Expression(op, *parts),
            st.sampled_from([Op.AND, Op.OR]),
            st.lists(inner, min_size=2, max_size=5),
        ),
    ),
    max_leaves=16,
)
HELD: list[Any] = [
    *[None, [], {}, {"x": 1}, True, False, 0, 1, 1.0, 1.5, 2, 3, "", "a", "aa", "b", "c"],
    *[[1], [2], [1, 2], [3], [1.0, 3], [True], [False], [True, False]],
    *[["a"], ["b"], ["a", "b"], ["c"], ["a", "c"]],
]


@settings(max_examples=25)
@given(one_key)
def test_merging_keeps_the_three_valued_verdict(tree: Expression) -> None:
    normal, form = tree.normalize().to_dict(), tree.to_dict()
    simple = simplify(tree)
    for value in HELD:
        for other in ({}, {"other": 1}):
            document = {"k": value, **other}
            expected = naive.verdict(form, document)
            assert naive.verdict(normal, document) is expected
            matched = simple if isinstance(simple, bool) else simple.matches(document)
            assert matched is (expected is True)


@pytest.mark.heavy
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(one_key)
def test_merging_keeps_the_three_valued_verdict_of_many(tree: Expression) -> None:
    test_merging_keeps_the_three_valued_verdict.hypothesis.inner_test(tree)  # type: ignore[attr-defined]


class TestHostileNumbers:
    """Integers whose hashes are all the same: whatever keys a dict or set by them takes forever."""

    @pytest.mark.parametrize("op", [Op.EQ, Op.NE, Op.LT])
    @pytest.mark.parametrize("joint", [Op.AND, Op.OR])
    def test_no_two_of_them_are_compared_for_being_in_one_bucket(self, op: Op, joint: Op) -> None:
        hostile = [number * (2**61 - 1) for number in range(1, 5_001)]
        assert len(set(map(hash, hostile))) == 1
        tree = Expression(joint, *[Expression(op, Key("a"), Value(n)) for n in hostile])
        with counted_calls(Value.__eq__, Expression.__eq__) as calls:
            assert isinstance(tree.normalize(), Expression)
            tree.matches({"a": hostile[-1]})
            hash(tree)
        assert calls[0] < 5_000

    def test_hashes_of_literals_cannot_be_chosen(self) -> None:
        values = [Value(number * (2**61 - 1)) for number in range(1, 1_001)]
        assert len(set(map(hash, values))) == 1_000
        lists = [Value([number * (2**61 - 1)]) for number in range(1, 1_001)]
        assert len(set(map(hash, lists))) == 1_000
        assert hash(Value(2**60)) == hash(Value(float(2**60)))
        assert hash(Value(0)) == hash(Value(-0.0))

    def test_a_list_of_them_is_looked_up_by_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each of two documents costs a few comparisons, not one for each literal."""

        class Counted(int):
            compared = 0

            def __lt__(self, other: Any) -> bool:
                Counted.compared += 1
                return int(self) < int(other)

            def __gt__(self, other: Any) -> bool:
                Counted.compared += 1
                return int(self) > int(other)

            def __eq__(self, other: Any) -> bool:
                Counted.compared += 1
                return int(self) == int(other)

            __hash__ = int.__hash__

        monkeypatch.setitem(_SCALAR_KINDS, Counted, Kind.NUMBER)
        literals = tuple(Counted(number * (2**61 - 1)) for number in range(1_000))
        found = _equality(literals, any)
        Counted.compared = 0
        assert found(999 * (2**61 - 1))
        assert not found(1)
        assert Counted.compared < 100


def test_a_key_deeper_than_any_document_is_absent() -> None:
    deep = Key(*["a"] * (MAX_METADATA_DEPTH + 1))
    assert simplify(Expression(Op.EQ, deep, Value(1))) is False
    assert simplify(Expression(Op.IN, deep, Value([1]))) is False
    assert simplify(Expression(Op.NE, deep, Value(1))) is True
    assert simplify(Expression(Op.NIN, deep, Value([1]))) is True
    assert simplify(Expression(Op.ISNULL, deep)) is True
    assert simplify(Expression(Op.ISNOTNULL, deep)) is False
    lower = Expression(Op.LT, deep, Value(1))
    assert simplify(lower) is False
    assert simplify(~lower) is False
    assert lower.normalize() == lower  # UNKNOWN, as its negation
    assert lower.evaluate({}) is None
    longest = Key(*["a"] * MAX_METADATA_DEPTH)
    metadata: dict[str, Any] = {"a": 1}
    for _ in range(MAX_METADATA_DEPTH - 1):
        metadata = {"a": metadata}
    assert Document("", metadata).metadata == metadata
    assert Expression(Op.EQ, longest, Value(1)).matches(metadata)
    with pytest.raises(DocumentError):
        Document("", {"a": metadata})


@contextmanager
def counted_calls(*methods: Any) -> Iterator[list[int]]:
    """How often some methods are called inside, in the first element of the list."""
    codes, calls = {method.__code__ for method in methods}, [0]

    def count(frame: Any, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls[0] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def test_rewrites_keep_the_place_and_the_operator_as_written() -> None:
    source = "NOT a > 1"
    atom = Expression(Op.GT, *(F.a > 1).operands, span=Span(source, 4, 9))
    pushed = Expression(Op.NOT, atom, span=Span(source, 0, 9)).normalize()
    assert pushed.op is Op.LTE
    assert pushed.written_op is Op.GT
    assert pushed.span == Span(source, 4, 9)
