"""What `parse` takes and gives: trees, spans, arguments, imports."""

from __future__ import annotations

import enum
import pickle
import subprocess
import sys
from typing import Any

import pytest

from vecstore import (
    Expression,
    F,
    FilterError,
    FilterSyntaxError,
    Group,
    Key,
    Kind,
    Limits,
    Op,
    Span,
    Value,
    parse,
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a == 1 OR b == 2 AND c == 3", (F.a == 1) | ((F.b == 2) & (F.c == 3))),
        ("a == 1 && b == 2 || c == 3", ((F.a == 1) & (F.b == 2)) | (F.c == 3)),
        ("NOT a == 1 AND b == 2", ~(F.a == 1) & (F.b == 2)),
        ("NOT a == 1 OR b == 2", ~(F.a == 1) | (F.b == 2)),
        ("NOT (a == 1 AND b == 2)", ~((F.a == 1) & (F.b == 2))),
        ("!!a == 1", ~~(F.a == 1)),
        ("! NOT a IN [1]", ~~F.a.in_([1])),
        ("NOT a NOT IN [1]", ~F.a.not_in([1])),
        ("a == 1 AND (b == 2 AND (c == 3)) AND d == 4", (F.a == 1) & (F.b == 2) & (F.c == 3) & (F.d == 4)),
        ("a == 1 OR ((b == 2 OR c == 3))", (F.a == 1) | (F.b == 2) | (F.c == 3)),
        ("(a == 1 OR b == 2) AND c == 3", ((F.a == 1) | (F.b == 2)) & (F.c == 3)),
        ("a in (1, 'x', true, .5)", F.a.in_([1, "x", True, 0.5])),
        ("a NOT IN ()", F.a.not_in([])),
        ("a nin ['x']", F.a.not_in(["x"])),
        ("a . b\n.c==1", F.a.b.c == 1),
        ("'a'.\"b\".c IS NULL", F.a.b.c.is_null()),
        ("date.timestamp == 1", F.date.timestamp == 1),
        ("DATE IN [DATE '2024-01-01']", F.DATE.in_(["2024-01-01"])),
        ("where a = 1", F.a == 1),
        ("not\ta = 1", ~(F.a == 1)),
    ],
)  # fmt: skip
def test_tree(text: str, tree: Expression) -> None:
    assert parse(text) == tree


def test_every_node_knows_its_place() -> None:
    text = "WHERE (a.b == 'x' OR NOT ( c IN [1, 2] ))AND d IS NOT NULL"
    tree = parse(text)
    places = {node.op: node.span.text for node in tree.walk() if node.span is not None}
    assert places == {
        Op.AND: "(a.b == 'x' OR NOT ( c IN [1, 2] ))AND d IS NOT NULL",
        Op.OR: "a.b == 'x' OR NOT ( c IN [1, 2] )",
        Op.EQ: "a.b == 'x'",
        Op.NOT: "NOT ( c IN [1, 2] )",
        Op.IN: "c IN [1, 2]",
        Op.ISNOTNULL: "d IS NOT NULL",
    }
    atoms = {node.op: node for node in tree.walk() if node.op in (Op.EQ, Op.IN, Op.ISNOTNULL)}
    assert {op: atom.key.span.text for op, atom in atoms.items()} == {
        Op.EQ: "a.b",
        Op.IN: "c",
        Op.ISNOTNULL: "d",
    }
    assert atoms[Op.EQ].value.span == Span(text, 14, 17)
    assert atoms[Op.IN].value.span.text == "[1, 2]"
    assert parse("d < DATE  '2024-01-01'").value.span.text == "DATE  '2024-01-01'"


def test_places_of_spliced_operands() -> None:
    tree = parse("(a == 1 AND b == 2) AND (c == 3 AND (d == 4))")
    assert tree.span == Span(tree.span.source, 0, 45)
    assert [node.span.text for node in tree.operands] == ["a == 1", "b == 2", "c == 3", "d == 4"]


def test_spans_stay_out_of_equality_and_survive_pickling() -> None:
    tree = parse("a == 1 AND b == 2")
    assert tree == parse("a==1&&b==2") == (F.a == 1) & (F.b == 2)
    assert pickle.loads(pickle.dumps(tree)).operands[1].span == Span("a == 1 AND b == 2", 11, 17)


def test_the_tree_is_what_the_constructors_build() -> None:
    # The parser leaves out checks that it has made: rebuild with all of them.
    tree = parse("NOT (a == 1 OR b.c IN ['x', 2]) AND d >= -0.5 AND (e IS NULL OR f != true)")

    def rebuilt(node: Expression) -> Expression:
        operands = [
            rebuilt(operand)
            if isinstance(operand, Expression)
            else Key(*operand.path)
            if isinstance(operand, Key)
            else Value(list(operand.value) if isinstance(operand.value, tuple) else operand.value)
            for operand in node.operands
        ]
        return Expression(node.op, *operands)

    again = rebuilt(tree)
    assert again == tree
    assert hash(again) == hash(tree)
    assert repr(again) == repr(tree)
    assert [node.written_op for node in tree.walk()] == [node.op for node in tree.walk()]
    assert parse("a IN ['x', 2]").value.kind is Kind.LIST
    assert tree.matches({"a": 2, "d": 0, "f": False})


class Mode(enum.StrEnum):
    FILTER = "a == 1"


class Loud(str):
    def __str__(self) -> str:
        raise AssertionError("the text itself is read")


def test_subclasses_of_str_are_read_as_their_text() -> None:
    assert parse(Mode.FILTER) == (F.a == 1)
    tree = parse(Loud("loud == 1"))
    assert tree == (F.loud == 1)
    assert type(tree.span.source) is str


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (F.a == 1, "parsed already"),
        (Group(F.a == 1), "parsed already"),
        (b"a == 1", "decode"),
        ({"op": "eq"}, "Expression.from_dict"),
        (None, "pass the None on"),
        (True, "not a bool"),
        (lambda document: True, "not a function"),
        (["a == 1"], "not a list"),
        (F.a, "not a Field"),
    ],
)
def test_only_text_is_parsed(given: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        parse(given)


@pytest.mark.parametrize("limits", [100, {"text": 5}, True, [1], "none"])
def test_limits_are_limits_or_none(limits: Any) -> None:
    with pytest.raises(TypeError, match="Limits or None"):
        parse("a == 1", limits=limits)
    assert parse("a == 1", limits=Limits()) == parse("a == 1", limits=None)


def test_source_is_never_code() -> None:
    with pytest.raises(FilterSyntaxError):
        parse("().__class__.__mro__")
    with pytest.raises(FilterSyntaxError):
        parse("__import__('os').system('id') == 1")
    key = "__import__('os').system('id')"
    assert parse(f'"{key}" == 1').key.path == (key,)


def test_errors_have_no_inner_history() -> None:
    for text in ("a ==", "a == 'x\\q'", "a > true", "\ufeff"):
        with pytest.raises(FilterError) as caught:
            parse(text)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_neither_reading_nor_explaining_needs_lark() -> None:
    code = (
        "import sys\n"
        "sys.modules['lark'] = None\n"
        "from vecstore import FilterSyntaxError, parse\n"
        "parse('a == 1 AND NOT b IN [1] OR c IS NULL')\n"
        "assert 'vecstore.grammar.explain' not in sys.modules and 'numpy' not in sys.modules\n"
        "try:\n"
        "    parse('a == b')\n"
        "except FilterSyntaxError as error:\n"
        "    assert 'quote the string' in error.hint\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)
