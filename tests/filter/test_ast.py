from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given

from tests.filter.strategies import trees
from vecstore import (
    Expression,
    F,
    FilterTypeError,
    Group,
    Key,
    Kind,
    Op,
    Span,
    Value,
)

A = Expression(Op.EQ, Key("a"), Value(1))
B = Expression(Op.GT, Key("b"), Value("x"))
C = Expression(Op.ISNULL, Key("c"))


def test_there_are_thirteen_operators_and_no_others() -> None:
    assert [op.name for op in Op] == [
        "AND", "OR", "NOT", "EQ", "NE", "GT", "GTE", "LT", "LTE", "IN", "NIN", "ISNULL", "ISNOTNULL",
    ]  # fmt: skip


class TestKey:
    def test_segments_make_a_path_and_a_dot_does_not(self) -> None:
        assert Key("a", "b").path == ("a", "b")
        assert Key("a.b").path == ("a.b",)
        assert Key("a", "b") != Key("a.b")

    @pytest.mark.parametrize(
        ("segments", "says"),
        [
            ((), "at least one"),
            (("",), "empty"),
            (("a", ""), "empty"),
            (("a\0b",), "NUL"),
            (("\ud800",), "surrogate"),
            (("__vecstore_id",), "reserved"),
            (("a", "__vecstore"), "reserved"),
            ((1,), "text, not int"),
            ((None,), "text, not NoneType"),
        ],
    )
    def test_what_is_no_key(self, segments: tuple[object, ...], says: str) -> None:
        with pytest.raises(FilterTypeError, match=says):
            Key(*segments)  # type: ignore[arg-type]

    def test_any_other_name_is_a_key(self) -> None:
        for name in ["__x", " ", "$where", "a`b", "%s", "'; --", "\n", "x" * 5000, "__vecstor"]:
            assert Key(name).path == (name,)


class TestValue:
    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            (True, Kind.BOOL),
            (1, Kind.NUMBER),
            (1.5, Kind.NUMBER),
            ("a", Kind.STRING),
            ([], Kind.LIST),
        ],
    )
    def test_kinds(self, value: object, kind: Kind) -> None:
        assert Value(value).kind is kind

    def test_equality_and_hash_keep_bool_and_number_apart_but_not_int_and_float(self) -> None:
        assert Value(1) == Value(1.0)
        assert hash(Value(1)) == hash(Value(1.0))
        assert Value(-0.0) == Value(0)
        assert Value(1) != Value(True)
        assert Value([1]) != Value([True])
        assert Value([1]) == Value([1.0])
        assert Value("1") != Value(1)
        assert Value([1]) != Value(1)
        assert len({Value(1), Value(True), Value("1"), Value(1.0), Value([1]), Value([True])}) == 5

    def test_lists_may_mix_types_but_not_hold_null_or_lists(self) -> None:
        assert Value([1, "a", True]).value == (1, "a", True)
        for bad in ([None], [[1]], [{"a": 1}], [b"x"]):
            with pytest.raises(FilterTypeError):
                Value(bad)

    def test_null_is_no_literal(self) -> None:
        with pytest.raises(FilterTypeError, match="IS NULL"):
            Value(None)


class TestExpression:
    @pytest.mark.parametrize(
        ("op", "operands", "says"),
        [
            (Op.AND, (A,), "at least two"),
            (Op.OR, (), "at least two"),
            (Op.NOT, (A, B), "one expression"),
            (Op.NOT, (), "one expression"),
            (Op.AND, (A, "b == 1"), "a str"),
            (Op.AND, (A, True), "F on the left"),
            (Op.EQ, (Key("a"),), "a Key and a Value"),
            (Op.EQ, ("a", Value(1)), "is a Key"),
            (Op.EQ, (Key("a"), 1), "is a Value"),
            (Op.EQ, (Key("a"), Value([1])), "write IN"),
            (Op.NE, (Key("a"), Value([1])), "write NOT IN"),
            (Op.IN, (Key("a"), Value(1)), "takes a list"),
            (Op.NIN, (Key("a"), Value("x")), "takes a list"),
            (Op.GT, (Key("a"), Value(True)), "orders numbers or strings"),
            (Op.LTE, (Key("a"), Value([1])), "orders numbers or strings"),
            (Op.ISNULL, (Key("a"), Value(1)), "takes a Key"),
            (Op.ISNULL, (A,), "is a Key"),
            ("eq", (Key("a"), Value(1)), "member of Op"),
            ("== 1) OR (1", (Key("a"), Value(1)), "member of Op"),
        ],
    )
    def test_operands_that_do_not_fit(
        self, op: object, operands: tuple[object, ...], says: str
    ) -> None:
        with pytest.raises(FilterTypeError, match=says):
            Expression(op, *operands)  # type: ignore[arg-type]

    def test_and_is_spliced_into_and_or_into_or_in_order(self) -> None:
        tree = Expression(Op.AND, A, Expression(Op.AND, B, Expression(Op.OR, A, C)), C)
        assert tree.operands == (A, B, Expression(Op.OR, A, C), C)
        assert (A & B) & C == A & (B & C) == Expression(Op.AND, A, B, C)
        assert (A | B) | C == A | (B | C)
        assert A & B != B & A

    def test_group_is_unwrapped_wherever_it_stands(self) -> None:
        assert Expression(Op.AND, Group(Group(A)), B) == A & B
        assert Expression(Op.NOT, Group(A)) == ~A
        assert Group(A) & Group(B) == A & B
        assert Group(A).build() is A
        assert ~Group(A) == ~A
        assert (A | Group(B | C)).operands == (A, B, C)

    def test_type_aware_equality_reaches_through_the_tree(self) -> None:
        one = Expression(Op.EQ, Key("x"), Value(1))
        true = Expression(Op.EQ, Key("x"), Value(True))
        assert one != true
        assert (one & A) != (true & A)
        assert len({one, true, Expression(Op.EQ, Key("x"), Value(1.0))}) == 2

    def test_span_is_no_part_of_identity(self) -> None:
        placed = Expression(Op.EQ, Key("a"), Value(1), span=Span("a == 1", 0, 6))
        assert placed == A
        assert hash(placed) == hash(A)
        assert repr(placed) == repr(A)
        assert placed.to_dict() == A.to_dict()

    def test_nodes_are_immutable(self) -> None:
        for node, attribute in (
            (A, "op"),
            (Key("a"), "path"),
            (Value(1), "value"),
            (Group(A), "content"),
        ):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(node, attribute, None)
            with pytest.raises(AttributeError):
                delattr(node, attribute)

    def test_truth_is_refused(self) -> None:
        for node in (A, A & B, Group(A)):
            with pytest.raises(TypeError, match="&"):
                bool(node)
        with pytest.raises(TypeError):
            A and B

    def test_combining_with_something_else_shows_the_parentheses(self) -> None:
        for broken in (lambda: A & 1, lambda: 1 & A, lambda: A | "x", lambda: True | A):
            with pytest.raises(TypeError, match="parentheses"):
                broken()

    def test_parts_of_an_atom(self) -> None:
        assert A.key == Key("a")
        assert A.value == Value(1)
        with pytest.raises(AttributeError, match="no value"):
            C.value
        with pytest.raises(AttributeError, match="no key"):
            (A & B).key

    @given(trees)
    def test_copies_are_equal(self, tree: Expression) -> None:
        again = pickle.loads(pickle.dumps(tree))
        assert again == tree
        assert hash(again) == hash(tree)
        assert repr(again) == repr(tree)
        assert copy.deepcopy(tree) == tree
        assert copy.copy(tree) == tree

    @given(trees)
    def test_repr_builds_the_same_tree(self, tree: Expression) -> None:
        scope = {"Expression": Expression, "Op": Op, "Key": Key, "Value": Value}
        assert eval(repr(tree), scope) == tree


class TestDepth:
    """A tree may be far deeper than the interpreter's stack."""

    @staticmethod
    def deep(levels: int) -> Expression:
        tree = A
        for level in range(levels):
            if level % 3 == 0:
                tree = ~tree
            elif level % 3 == 1:
                tree = tree & (F[f"k{level % 7}"] == level)
            else:
                tree = tree | (F.c > level)
        return tree

    # Either is some times as deep as what recurses in Python or in C can go.
    @pytest.mark.parametrize("levels", [10_000, pytest.param(50_000, marks=pytest.mark.wide)])
    def test_everything_works_on_a_deep_tree(self, levels: int) -> None:
        tree, twin = self.deep(levels), self.deep(levels)
        assert tree == twin
        assert hash(tree) == hash(twin)
        assert tree != self.deep(levels + 1)
        assert repr(tree) == repr(twin)
        assert len(tree.to_text()) > levels
        assert pickle.loads(pickle.dumps(tree)) == tree
        assert copy.deepcopy(tree) == tree
        assert Expression.from_dict(tree.to_dict(), limits=None) == tree
        assert sum(1 for _ in tree.walk()) > levels
        normal = tree.normalize()
        for document in ({}, {"a": 1}, {"c": 1}, {"c": levels}, {"k1": 1, "a": True}):
            assert normal.evaluate(document) is tree.evaluate(document)
            assert tree.matches(document) is (tree.evaluate(document) is True)

    def test_a_long_flat_chain(self) -> None:
        chain = Expression(Op.AND, *[F.a != number for number in range(5_000)])
        assert chain.matches({"a": -1})
        assert not chain.matches({"a": 4_999})
        assert chain.normalize() == F.a.not_in(range(5_000))
        mixed = Expression(Op.AND, *[F[f"a{number}"] != number for number in range(5_000)])
        assert len(mixed.normalize().operands) == 5_000
