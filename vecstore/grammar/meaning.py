"""What was read -> the tree, with every check that is not a matter of grammar.

A parser hands over *raw* expressions: plain tuples that hold kinds and places of tokens, and
nothing of what they stand for. :func:`build` checks and converts them all in the order of the
text, so that whatever parser read them, the same fault is found at the same place.
"""

from __future__ import annotations

from typing import Any

from vecstore.errors import FilterTypeError
from vecstore.filter.tree import LOGICAL, Expression, Key, Op, Span, Value, literal_fault, trusted
from vecstore.filter.values import UnusableValue, check_segment
from vecstore.grammar.faults import Advice, Edit, Fault
from vecstore.grammar.lexer import Token
from vecstore.grammar.literals import DATED, PLAIN, read_string

# (kind, start, end, string): the kind of a token, DATE or TIMESTAMP with the place of its string.
RawScalar = tuple[str, int, int, int]
# (LIST, start, end, scalars)
RawList = tuple[str, int, int, list[RawScalar]]
# (head, start, end, ...): the place includes parentheses that the text puts around the operands.
#   (op, start, end, segments, literal or None, start of op, end of op): a comparison or null test
#   (Op.AND or Op.OR, start, end, operands)    (Op.NOT, start, end, operand)
#   (GROUP, start, end, content)
Raw = tuple[Any, ...]

LIST = "LIST"
GROUP = "GROUP"
_CLOSE = "CLOSE"  # (_CLOSE, start, end, op, how many nodes were done when it was opened)

SYMBOLS = {
    "=": Op.EQ,
    "==": Op.EQ,
    "!=": Op.NE,
    "<>": Op.NE,
    ">": Op.GT,
    ">=": Op.GTE,
    "<": Op.LT,
    "<=": Op.LTE,
}


def build(text: str, raw: Raw) -> Expression:
    """The tree of a text, every node with its span.

    Args:
        text: The filter text.
        raw: What a parser read in it.

    Raises:
        Fault: At the first key, operator or literal of the text that cannot be meant.
    """
    todo: list[Raw] = [raw]
    done: list[Expression] = []
    while todo:
        item = _without_group(todo.pop())
        head, start, end = item[0], item[1], item[2]
        if head is _CLOSE:
            op, first = item[3], item[4]
            operands = tuple(done[first:])
            del done[first:]
            done.append(trusted(op, operands, Span(text, start, end)))
        elif head is Op.NOT:
            todo.append((_CLOSE, start, end, head, len(done)))
            todo.append(item[3])
        elif head in LOGICAL:
            todo.append((_CLOSE, start, end, head, len(done)))
            _open(head, item[3], todo)
        else:
            done.append(_atom(text, item))
    return done[0]


def _without_group(item: Raw) -> Raw:
    while item[0] is GROUP:
        item = item[3]
    return item


def _open(op: Op, operands: list[Raw], todo: list[Raw]) -> None:
    """Put operands on the stack; an AND inside an AND is opened as well, an OR inside an OR."""
    pending = list(operands)
    while pending:
        operand = _without_group(pending.pop())
        if operand[0] is op:
            pending.extend(operand[3])
        else:
            todo.append(operand)


def _atom(text: str, item: Raw) -> Expression:
    op, start, end, segments, literal, op_start, op_end = item
    key = _key(text, segments)
    operands: tuple[Any, ...] = (key,)
    if literal is not None:
        value = _value(text, literal)
        fault = literal_fault(op, value.kind)
        if fault is not None:
            raise _misplaced(text, literal, op, (op_start, op_end), fault)
        operands = (key, value)
    return trusted(op, operands, Span(text, start, end), from_outside=True)


def _key(text: str, segments: list[Token]) -> Key:
    names = [
        read_string(text, start, end) if kind == "STRING" else text[start:end]
        for kind, start, end in segments
    ]
    try:
        return Key(*names, span=Span(text, segments[0][1], segments[-1][2]))
    except FilterTypeError:
        for name, (_, start, end) in zip(names, segments, strict=True):
            try:
                check_segment(name)
            except UnusableValue as error:
                raise Fault(error.reason, start, end, Advice(error.remedy)) from None
        raise


def _value(text: str, literal: Any) -> Value:
    kind, start, end, rest = literal
    span = Span(text, start, end)
    if kind is LIST:
        return Value([_scalar(text, *scalar) for scalar in rest], span=span)
    return Value(_scalar(text, kind, start, end, rest), span=span)


def _scalar(text: str, kind: str, start: int, end: int, string: int) -> Any:
    reader = PLAIN.get(kind)
    if reader is not None:
        return reader(text, start, end)
    return DATED[kind](text, start, end, string)


def _misplaced(
    text: str, literal: Any, op: Op, place: tuple[int, int], fault: tuple[str, str]
) -> Fault:
    """A literal of a kind that the operator does not take."""
    kind, start, end, rest = literal
    message, remedy = fault
    edits: tuple[Edit, ...] = ()
    if op in (Op.IN, Op.NIN):
        edits = (Edit(start, start, "["), Edit(end, end, "]"))
    elif kind is not LIST:
        edits = (Edit(*place, "=="),)
    elif op in (Op.EQ, Op.NE):
        edits = (Edit(*place, "IN" if op is Op.EQ else "NOT IN"),)
    elif len(rest) == 1:
        edits = (Edit(start, end, text[rest[0][1] : rest[0][2]]),)
    lead, _, pattern = remedy.partition(" [...]")
    return Fault(message, start, end, Advice(lead if edits else remedy, pattern, edits))
