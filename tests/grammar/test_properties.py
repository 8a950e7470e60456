from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.filter.strategies import scalars, trees
from tests.grammar.test_errors import CORRECTED, TOLD
from vecstore import Expression, FilterError, Key, Op, Span, Value, parse
from vecstore.filter.text import is_reserved

segments = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    st.text(st.characters(categories=["Lu", "Ll", "Nl", "Mn", "Nd", "Pc"]), min_size=1),
    st.sampled_from("and OR Not iN is nUll true WHERE date TIMESTAMP 1a a-b ﬁ ſ \ufeff \x85".split(" ")),
    st.text("'\"\\.n\nu \t", min_size=1),
).filter(lambda name: not name.startswith("__vecstore"))  # fmt: skip
odd_trees = st.builds(
    lambda path, literals: (
        Expression(Op.IN, Key(*path), Value(literals)) | ~Expression(Op.ISNULL, Key(*reversed(path)))
    ),
    st.lists(segments, min_size=1, max_size=3),
    st.lists(st.one_of(scalars, segments), max_size=3),
)  # fmt: skip


@given(st.one_of(trees, odd_trees))
def test_text_round_trip(tree: Expression) -> None:
    text = tree.to_text()
    again = parse(text, limits=None)
    assert again == tree
    assert again.to_text() == text
    assert again.to_dict() == tree.to_dict()


@given(segments)
def test_a_key_is_quoted_exactly_when_it_has_to_be(name: str) -> None:
    plain = name.isidentifier() and not is_reserved(name)
    assert Expression(Op.ISNULL, Key(name)).to_text().startswith('"') is not plain
    try:
        bare = parse(f"{name} IS NULL")
    except FilterError:
        assert not plain
    else:
        # White space around a name is none of its own; quotes and dots are read as such.
        assert not plain or bare.key.path == (name,)


class Writer:
    """Writes a tree in one of the many ways the language allows."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def gap(self, least: int = 0) -> str:
        return "".join(self.dice.choices(" \n\t\xa0", k=self.dice.choice([least, least, 1, 2])))

    def word(self, word: str) -> str:
        return "".join(self.dice.choice([c.lower(), c.upper()]) for c in word)

    def string(self, text: str) -> str:
        quote = self.dice.choice("'\"")
        parts = []
        for c in text:
            if c == "\\" or c == quote:
                parts.append("\\" + c)
            elif self.dice.random() < 0.1:
                parts.append(f"\\U{ord(c):08X}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}")
            else:
                parts.append(c)
        return quote + "".join(parts) + quote

    def literal(self, value: object) -> str:
        if isinstance(value, bool):
            return self.word(str(value))
        if isinstance(value, str):
            return self.string(value)
        sign = "+" if value >= 0 and self.dice.random() < 0.3 and str(value)[0] != "-" else ""
        suffix = self.dice.choice(["", "L", "l"]) if isinstance(value, int) else ""
        return f"{sign}{value!r}{suffix}"

    def items(self, values: Sequence[object]) -> str:
        left, right = self.dice.choice(["[]", "()"])
        inner = f"{self.gap()},{self.gap()}".join([self.literal(value) for value in values])
        return f"{left}{self.gap()}{inner}{self.gap()}{right}"

    def key(self, path: Sequence[str]) -> str:
        names = [
            name
            if name.isidentifier() and not is_reserved(name) and self.dice.random() < 0.7
            else self.string(name)
            for name in path
        ]
        return f"{self.gap()}.{self.gap()}".join(names)

    def atom(self, node: Expression) -> str:
        key = self.key(node.key.path)
        if node.op in (Op.ISNULL, Op.ISNOTNULL):
            words = ["is", "null"] if node.op is Op.ISNULL else ["is", "not", "null"]
            return self.gap(1).join([key, *map(self.word, words)])
        if node.op is Op.IN:
            return f"{key} {self.word('in')}{self.gap()}{self.items(node.value.items)}"
        if node.op is Op.NIN:
            negated = self.word("nin")
            if self.dice.random() < 0.5:
                negated = self.word("not") + self.gap(1) + self.word("in")
            return f"{key} {negated}{self.gap()}{self.items(node.value.items)}"
        signs = {Op.EQ: ["==", "="], Op.NE: ["!=", "<>"]}.get(node.op, [node.op.symbol])
        sign = self.dice.choice(signs)
        return f"{key}{self.gap()}{sign}{self.gap()}{self.literal(node.value.value)}"

    def write(self, node: Expression, around: int = 0) -> str:
        if node.op is Op.NOT:
            sign = self.dice.choice(["!", self.word("not") + self.gap(1)])
            text, tightness = sign + self.write(node.operands[0], 2), 2
        elif node.op in (Op.AND, Op.OR):
            tightness = 1 if node.op is Op.AND else 0
            joint = {Op.AND: ["&&", "and"], Op.OR: ["||", "or"]}[node.op]
            text = self.write(node.operands[0], tightness)
            for operand in node.operands[1:]:
                word = f"{self.gap(1)}{self.word(self.dice.choice(joint))}{self.gap(1)}"
                text += word + self.write(operand, tightness)
        else:
            text, tightness = self.atom(node), 3
        while tightness < around or self.dice.random() < 0.15:
            text, tightness = f"({self.gap()}{text}{self.gap()})", 3
        return text


@given(trees, st.integers(0, 2**32))
def test_every_spelling_gives_the_same_tree(tree: Expression, seed: int) -> None:
    writer = Writer(seed)
    text = writer.dice.choice(["", "", writer.word("where") + writer.gap(1)]) + writer.write(tree)
    again = parse(text, limits=None)
    assert again == tree
    for node in again.walk():
        assert isinstance(node.span, Span)
        assert node.span.source == text
        # What a node's span covers reads as the node itself, alone.
        assert parse(node.span.text, limits=None) == node


tokens = st.sampled_from(
    [
        *"a b.c 'x' \"y\" 1 -1 .5 5. 1e3 5L AND OR NOT ! && || & | ( ) [ ] , . == = != < > <= >= <> "
        "IN NIN IS NULL true FALSE DATE TIMESTAMP WHERE date LIKE BETWEEN CONTAINS XOR $ne { } ? :x "
        "~ =~ -- # ; ‘ ’ “ ” ` ≤ ＝ ２ \\ \\u12 ' \" ² é - + * / % ^ @ exists now None also adn "
        "2024-01-01 0x1 1_0 kg ſ İ … ∉ ١ select".split(),
        "DATE '2024-01-01'", "TIMESTAMP '2024'", "\ufeff", "\u200b", "\0", "\ud800", "\xa0", "\n",
        "\x1c", "\x1b[0m", "a == 1", "b IN [1, 2]",
    ]
)  # fmt: skip
soup = st.builds(lambda joint, parts: joint.join(parts), st.sampled_from(["", " "]), st.lists(tokens, max_size=12))  # fmt: skip
known = st.sampled_from([case[0] for case in CORRECTED + TOLD])


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.one_of(known, trees.map(Expression.to_text)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 5)))
        text = text[:start] + draw(st.one_of(tokens, st.just(""), known)) + text[end:]
    return text


anything = st.one_of(st.text(st.characters()), soup, mutated())


def check(text: str) -> None:
    try:
        tree = parse(text)
    except FilterError as raised:
        error = raised
    else:
        assert parse(tree.to_text(), limits=None) == tree
        return
    assert error.span is not None
    assert error.span.source == text
    assert 0 <= error.span.start <= error.span.end <= len(text)
    shown = str(error)
    assert error.message in shown
    assert len(shown) < 2_000
    shown.encode()
    assert all(c.isprintable() or c == "\n" for c in shown)


@given(anything)
@example("\ufeff" * 2)
@example("a == 0x" + "f" * 30)
@example("a 1" + "9" * 5_000)
def test_parse_raises_filter_errors_only(text: str) -> None:
    check(text)


@pytest.mark.heavy
@settings(max_examples=20_000)
@given(anything)
def test_parse_raises_filter_errors_only_at_length(text: str) -> None:
    check(text)


@pytest.mark.heavy
@settings(max_examples=10_000)
@given(st.one_of(trees, odd_trees))
def test_text_round_trip_at_length(tree: Expression) -> None:
    assert parse(tree.to_text(), limits=None) == tree
