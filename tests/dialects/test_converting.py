"""The template method, with a dialect small enough to be read at a glance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from vecstore import Expression, F, FilterError, Kind, Limits, Op, Span, UnsupportedFilterError
from vecstore.dialects import Dialect, compile_filter
from vecstore.filter.convert import ALL_LITERALS, NO_QUERY, Capabilities, Compiled, KeyRule, Refusal


@dataclass(frozen=True)
class Lisp(Dialect[str]):
    name: ClassVar[str] = "lisp"

    limits: Capabilities = Capabilities()  # noqa: RUF009
    shout: bool = False

    @property
    def capabilities(self) -> Capabilities:
        return self.limits

    def all_of(self, parts: list[str]) -> str:
        return f"(and {' '.join(parts)})"

    def any_of(self, parts: list[str]) -> str:
        return f"(or {' '.join(parts)})"

    def compare(self, atom: Expression) -> str:
        return f"({atom.op.value} {atom.key} {atom.value.value!r})"

    def member(self, atom: Expression) -> str:
        return f"({atom.op.value} {atom.key} {list(atom.value.items)!r})"

    def null(self, atom: Expression) -> str:
        return f"({atom.op.value} {atom.key})"

    def finish(self, part: str) -> Compiled:
        return Compiled(self.name, part)

    def everything(self) -> Compiled:
        return Compiled(self.name, "", matches_all=True)

    def nothing(self) -> Compiled:
        return Compiled(self.name, NO_QUERY, matches_nothing=True)


def lisp(filter: Any, **limits: Any) -> Compiled:
    return Lisp(Capabilities(**limits)).compile(filter)


def test_one_hook_a_construct_bottom_up_and_left_to_right() -> None:
    tree = ~((F.a == 1) & (F.b.in_([1, 2]) | F.c.is_null())) | (F.d > "x")
    assert lisp(tree).query == "(or (ne a 1) (and (nin b [1, 2]) (isnotnull c)) (gt d 'x'))"


def test_no_filter_and_constants() -> None:
    assert lisp(None).matches_all
    assert lisp(F.a.not_in([]) | (F.b == 1)).matches_all
    nothing = lisp(F.a.in_([]) & (F.b == 1))
    assert nothing.matches_nothing
    with pytest.raises(FilterError, match="matches_nothing"):
        nothing.query
    assert "matches nothing" in str(nothing)


def test_deep_and_long_trees_do_not_recurse() -> None:
    tree = F.a == 1
    for level in range(20_000):
        tree = (tree & (F.b == level)) if level % 2 else (tree | (F.c == level))
    dialect = Lisp()
    assert dialect.compile(tree, limits=None).query.count("(and ") == 10_000
    with pytest.raises(FilterError, match="64 levels"):
        dialect.compile(tree)


def test_the_pattern_of_a_rule_on_keys_is_compiled() -> None:
    with pytest.raises(TypeError, match=r"re\.compile\('\[a-z\]\+'\)"):
        KeyRule("[a-z]+", Refusal("lower case"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "tree", "op", "reason"),
    [
        ({"literals": {Op.EQ: frozenset({Kind.STRING})}}, F.a == 1, Op.EQ, "none for numbers"),
        ({"literals": {Op.EQ: frozenset({Kind.STRING})}}, F.a != "x", Op.NE, "no such operator"),
        ({"literals": {}}, F.a.is_null(), Op.ISNULL, "no such operator"),
        ({"literals": {**ALL_LITERALS, Op.IN: frozenset({Kind.BOOL})}}, F.a.in_([True, 1]), Op.IN, "numbers"),
        ({"refusals": {(Op.GT, Kind.STRING): Refusal("text has no order")}, "literals": {Op.GT: frozenset()}},
         F.a > "x", Op.GT, "text has no order"),
        ({"nested_keys": False}, F.a.b == 1, Op.EQ, "inside objects"),
        ({"nested_keys": Refusal("flat only", "flatten")}, F.a.b == 1, Op.EQ, "flat only"),
        ({"key_rule": KeyRule(re.compile(r"[a-z]+"), Refusal("lower case"))}, F.A == 1, Op.EQ, "lower case"),
        ({"key_rule": KeyRule(re.compile(r"[a-z]+"), Refusal("lower case"))}, F["a\n"] == 1, Op.EQ, "lower case"),
        ({"max_key_bytes": 3}, F["éé"] == 1, Op.EQ, "at most 3 bytes"),
        ({"max_number": 10}, F.a == 11, Op.EQ, "up to 10"),
        ({"max_number": 10}, F.a == -10.5, Op.EQ, "up to 10"),
        ({"max_number": 10}, F.a.in_([1, 11]), Op.IN, "up to 10"),
        ({"max_string_bytes": 3}, F.a == "éé", Op.EQ, "3 bytes"),
        ({"max_list": 2}, F.a.in_([1, 2, 3]), Op.IN, "at most 2 values"),
        ({"max_depth": 1}, (F.a == 1) & ((F.b == 1) | (F.c == 1)), Op.OR, "at most 1"),
        ({"max_atoms": 2}, (F.a == 1) & (F.b == 1) & (F.c == 1), Op.EQ, "at most 2 comparisons"),
    ],
)  # fmt: skip
def test_what_is_not_declared_is_refused(
    limits: dict[str, Any], tree: Expression, op: Op, reason: str
) -> None:
    with pytest.raises(UnsupportedFilterError, match=reason) as caught:
        lisp(tree, **limits)
    assert caught.value.dialect == "lisp"
    assert caught.value.op is op
    assert caught.value.reason in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "tree"),
    [
        ({"max_number": 10}, F.a == True),  # noqa: E712
        ({"max_number": 10}, F.a == -10),
        ({"max_string_bytes": 4}, F.a == "éé"),
        ({"max_list": 2}, F.a.in_([1, 2])),
        ({"max_depth": 2}, (F.a == 1) & ((F.b == 1) | (F.c == 1))),
        ({"max_atoms": 3}, (F.a == 1) & (F.b == 1) & (F.c == 1)),
        ({"max_key_bytes": 4}, F["éé"] == 1),
        ({"max_key_bytes": 3}, F.a.b == 1),
    ],
)
def test_up_to_the_limit_it_works(limits: dict[str, Any], tree: Expression) -> None:
    assert lisp(tree, **limits).query


def test_a_refusal_names_the_operator_as_written_and_shows_its_place() -> None:
    source = "x == 1 AND NOT a > 'x'"
    atom = Expression(Op.GT, *(F.a > "x").operands, span=Span(source, 15, 22))
    with pytest.raises(UnsupportedFilterError) as caught:
        lisp((F.x == 1) & ~atom, literals={Op.EQ: frozenset({Kind.NUMBER})})
    assert caught.value.op is Op.GT
    assert caught.value.key == "a"
    assert str(caught.value).splitlines() == [
        "lisp cannot answer > on key a: it has no such operator",
        "  line 1, column 16",
        "    x == 1 AND NOT a > 'x'",
        "                   ^^^^^^^",
    ]


def test_compile_takes_text_and_expressions_and_nothing_else() -> None:
    assert Lisp().compile("a == 1").query == Lisp().compile(F.a == 1).query
    for wrong in (True, 5, {"a": 1}, lambda d: True):
        with pytest.raises(TypeError):
            Lisp().compile(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="F on the left"):
        Lisp().compile(False)  # type: ignore[arg-type]


def test_options() -> None:
    with pytest.raises(TypeError, match="'shut'; its options are: limits, shout"):
        Lisp(shut=True)  # type: ignore[call-arg]
    assert Lisp(shout=True) == Lisp(shout=True) != Lisp()


def test_compile_filter_by_name_and_by_object() -> None:
    assert compile_filter("a == 1", Lisp()).query == "(eq a 1)"
    assert compile_filter("a == 1", "pgvector", column="m").query.startswith('"m" @>')
    with pytest.raises(TypeError, match="has no option 'colum'; its options are: column"):
        compile_filter("a == 1", "pgvector", colum="m")
    with pytest.raises(TypeError, match="has its own"):
        compile_filter("a == 1", Lisp(), shout=True)
    assert compile_filter("a IN [1, 2]", Lisp(), limits=Limits(in_values=2)).query


def test_compiled_for_people() -> None:
    assert str(Compiled("d", "", matches_all=True)) == "(no filter)"
    assert str(Compiled("d", {"a": "é"})) == '{\n  "a": "é"\n}'
    assert str(Compiled("d", "x = ?", ("v",))) == "x = ?\n  1 = 'v'"
    assert str(Compiled("d", "x = %(p0)s", {"p0": 5})) == "x = %(p0)s\n  p0 = 5"
