"""The tables are what the grammar gives, and are read as lark reads the grammar itself."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest
from lark import Lark, Tree
from lark import Token as LarkToken
from lark.exceptions import UnexpectedToken

from tests.grammar.random_texts import random_text
from tools import grammar_tables
from vecstore import Expression, FilterLimitError, Limits, Op
from vecstore.grammar.at_once import read_at_once
from vecstore.grammar.faults import Fault
from vecstore.grammar.lalr import END, Refusal, Token, read, scan

LARK = Lark.open_from_package(
    "vecstore.grammar", "filter.lark", parser="lalr", lexer="basic", maybe_placeholders=False
)
OPERATORS = {
    "member": Op.IN,
    "not_member": Op.NIN,
    "null": Op.ISNULL,
    "not_null": Op.ISNOTNULL,
}


def test_the_tables_are_what_the_grammar_gives() -> None:
    written = grammar_tables.TABLES.read_text("utf-8")
    assert grammar_tables.generated() == written, "the tables are out of date: make grammar"


# --- what lark makes of a text ----------------------------------------------------------------

Place = tuple[int, int]
# (operator, its place, that of its key, that of its literal, operands)
Node = tuple[Any, Place, Place | None, Place | None, list[Any]]


def fed(tokens: list[Token], text: str) -> Any:
    machine = LARK.parse_interactive()
    result = None
    for kind, start, end in tokens:
        result = machine.feed_token(LarkToken(kind, text[start:end], start, end_pos=end))
    return machine, result


def by_lark(text: str) -> Tree[LarkToken] | tuple[list[Token], Token, set[str]]:
    """Its tree, or else the tokens that it took, the one that it refused, and what it would take."""
    machine, taken = LARK.parse_interactive(), []
    for token in scan(text):
        kind, start, end = token
        try:
            result = machine.feed_token(LarkToken(kind, text[start:end], start, end_pos=end))
        except UnexpectedToken:
            break
        if kind == END:
            tree: Tree[LarkToken] = result
            return tree
        taken.append(token)
    return taken, token, fed(taken, text)[0].accepts()


def place(item: Any) -> Place:
    if isinstance(item, LarkToken):
        assert item.start_pos is not None
        assert item.end_pos is not None
        return item.start_pos, item.end_pos
    return place(item.children[0])[0], place(item.children[-1])[1]


def shape(tree: Tree[LarkToken]) -> Node:
    name, children = tree.data, tree.children
    if name == "start":
        return shape(children[-1])  # type: ignore[arg-type]
    if name == "group":
        return shape(children[1])  # type: ignore[arg-type]
    if name == "complement":
        return Op.NOT, place(tree), None, None, [shape(children[1])]  # type: ignore[arg-type]
    if name in ("conjunction", "disjunction"):
        op = Op.AND if name == "conjunction" else Op.OR
        operands: list[Node] = []
        for child in children:
            one = shape(child)  # type: ignore[arg-type]
            operands += one[4] if one[0] is op else [one]
        return op, place(tree), None, None, operands
    if name == "comparison":
        sign = {"=": "==", "<>": "!="}.get(str(children[1]), children[1])
        op = next(one for one in Op if one.symbol == sign)
    else:
        op = OPERATORS[name]
    literal = None if "null" in name else place(children[-1])
    return op, place(tree), place(children[0]), literal, []


def flat(node: Node) -> Iterator[tuple[Any, ...]]:
    yield (*node[:4], len(node[4]))
    for operand in node[4]:
        yield from flat(operand)


def ours(tree: Expression) -> Iterator[tuple[Any, ...]]:
    for node in tree.walk():
        key = literal = None
        logical = node.op in (Op.AND, Op.OR, Op.NOT)
        if not logical:
            key = node.key.span[1:]
            literal = None if node.op in (Op.ISNULL, Op.ISNOTNULL) else node.value.span[1:]
        yield node.op, node.span[1:], key, literal, len(node.operands) if logical else 0


def compare(text: str) -> str:
    theirs = by_lark(text)
    try:
        tree = read(text)
    except Refusal as refusal:
        refused: Any = (refusal.tokens, refusal.found, refusal.accepted)
    except Fault:
        refused = ()
    else:
        refused = None
    if refused:
        assert refused == theirs
        return "refused"
    assert isinstance(theirs, Tree)
    if refused is not None:
        return "fault"
    assert list(ours(tree)) == list(flat(shape(theirs)))
    return "read"


def by_tables(text: str, limits: Limits | None) -> Any:
    try:
        return told(read(text, limits))
    except Refusal:
        return "refused"
    except Fault as fault:
        return fault.message, fault.start, fault.end, fault.advice
    except FilterLimitError as error:
        return error.message, error.span


def at_once(text: str, limits: Limits | None) -> Any:
    """What comes of a text that is read at one go, or None."""
    try:
        found = read_at_once(text, limits)
    except FilterLimitError as error:
        return error.message, error.span
    if found is None:
        return None
    tree, conditions, opened, values = found
    nodes = list(tree.walk())
    plain = [node for node in nodes if node.op not in (Op.AND, Op.OR, Op.NOT)]
    assert len(plain) == conditions
    assert len(nodes) <= 2 * conditions + opened
    lists = [node.value for node in plain if node.op in (Op.IN, Op.NIN)]
    assert sum(len(one.items) for one in lists) == values
    assert told(pickle.loads(pickle.dumps(tree))) == told(tree)
    return told(tree)


def told(tree: Expression) -> Any:
    """Everything in a tree that can be asked for."""
    nodes = list(tree.walk())
    rest = [(node.from_outside, node.merged, node.written_op, node.span.source) for node in nodes]
    literals = [repr(node.value) for node in nodes if hasattr(node, "value")]
    kinds = [node.value.kind for node in nodes if hasattr(node, "value")]
    return repr(tree), list(ours(tree)), rest, literals, kinds


LIMITS = [
    Limits(),
    Limits(nesting=1),
    Limits(nodes=2),
    Limits(in_values=1),
    Limits(depth=1),
    Limits(nesting=0, nodes=1, in_values=0),
]


def run(texts: int, seed: int) -> None:
    dice = random.Random(seed)
    outcomes = {"read": 0, "fault": 0, "refused": 0, "read at once": 0}
    for number in range(texts):
        text = random_text(dice)
        outcomes[compare(text)] += 1
        for limits in (None, LIMITS[number % len(LIMITS)]):
            found = at_once(text, limits)
            if found is not None:
                assert found == by_tables(text, limits), text
                outcomes["read at once"] += 1
    assert all(count > texts / 100 for count in outcomes.values()), outcomes


def test_texts_are_read_as_lark_reads_them() -> None:
    run(1_200, seed=1)


@pytest.mark.heavy
def test_a_hundred_thousand_texts_are_read_as_lark_reads_them() -> None:
    run(100_000, seed=random.randrange(2**32))
