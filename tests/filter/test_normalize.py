from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.filter import naive
from tests.filter.strategies import documents, trees
from vecstore import Expression, F, Op, Span
from vecstore.filter.normalize import NEGATION, simplify

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


def test_rewrites_keep_the_place_and_the_operator_as_written() -> None:
    source = "NOT a > 1"
    atom = Expression(Op.GT, *(F.a > 1).operands, span=Span(source, 4, 9))
    pushed = Expression(Op.NOT, atom, span=Span(source, 0, 9)).normalize()
    assert pushed.op is Op.LTE
    assert pushed.written_op is Op.GT
    assert pushed.span == Span(source, 4, 9)
