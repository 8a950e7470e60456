"""What is read at one go: plain comparisons, and memberships in lists of plain literals.

Both are regular languages, so that one regular expression does the work of a dozen tokens, which is
most of the work of most filters. It reads what the tables read, or nothing: whatever is less
plain, or wrong, is left to them, and a test compares the two on random texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from vecstore.filter.tree import Key, Op, Span, Value
from vecstore.filter.tree import read as node
from vecstore.filter.values import RESERVED_PREFIX, Kind, Scalar
from vecstore.grammar.meaning import IN, NIN, SYMBOLS, At, read_decimal, read_integer, read_string
from vecstore.grammar.tables import KEYWORDS, KINDS, PATTERNS, SPACE

# The groups of the pattern, and what the tokens are that it may match as well.
_AND, _OR, _NOT, _KEY, _SIGN, _STRING, _INTEGER, _DECIMAL, _TRUE, _FALSE = range(1, 11)
_NOT_IN, _SQUARE, _ROUND, _IS, _IS_NOT = range(11, 16)
TOKENS = (0, *map(KINDS.index, ("_AND", "_OR", "NOT")), *[0] * 12)

# Nothing that has matched is tried again in another way, and no place twice: a key is not looked
# for behind a dot. Only letters of ASCII spell a keyword, whatever `i` alone takes them for.
_one = {name: f"(?>{pattern})" for name, pattern in PATTERNS.items()}
_space = f"(?:{SPACE})*+"
_comma = f"{_space}{_one['_COMMA']}{_space}"
_scalar = f"(?:{_one['STRING']}|{_one['INTEGER']}|{_one['DECIMAL']})"
_scalar_groups = f"(?:({_one['STRING']})|({_one['INTEGER']})|({_one['DECIMAL']}))"
# A keyword counts only where what comes after it leaves no doubt.
_ended = r"(?=[\s)]|\Z)"
PATTERN = (
    rf"(?<![^\s()\]])(?ai:(AND)|(OR)|(NOT))(?=[\s(])"
    rf"|(?<!\.)({_one['NAME']}(?:{_one['_DOT']}{_one['NAME']})*+){_space}"
    rf"(?:({_one['COMPARISON']}){_space}(?:{_scalar_groups}|(?ai:(TRUE)|(FALSE)){_ended})"
    rf"|(?:((?ai:NOT))(?:{SPACE})++)?(?ai:IN){_space}(?:({_one['LSQB']})|({_one['LPAR']})){_space}"
    rf"(?:{_scalar}(?:{_comma}{_scalar})*+{_space})?+(?({_SQUARE}){_one['RSQB']}|{_one['RPAR']})"
    rf"|((?ai:IS))(?:{SPACE})++(?:((?ai:NOT))(?:{SPACE})++)?(?ai:NULL){_ended})"
)


@cache
def _items() -> re.Pattern[str]:
    """What matches a literal of a list; many a program never reads one."""
    return re.compile(_scalar_groups)


class NotPlain(Exception):
    """The text has to be read token by token, be it to find out what is wrong with it."""


_SHORT = 640  # digits that any interpreter converts, whatever it is set to
_new = tuple.__new__  # a Span in half the time that the class itself takes


def read_at_once(text: str, match: re.Match[str]) -> tuple[At, int]:
    """The condition that a match of :data:`PATTERN` is, and how many literals are listed in it.

    Raises:
        NotPlain: If it is not as plain as it looks.
        Fault: If a literal cannot be meant.
    """
    path: str
    path, sign, negated = match.group(_KEY, _SIGN, _NOT_IN)
    names = (path,) if "." not in path else tuple(path.split("."))
    for name in names:
        if name.upper() in KEYWORDS or name.startswith(RESERVED_PREFIX) or not name.isidentifier():
            raise NotPlain
    start, end = match.span(_KEY)
    key = Key.of_path(names, _new(Span, (text, start, end)))
    group = match.lastindex or 0
    begin, end = match.span(group)
    if group < _NOT_IN:
        kind, read = _LITERALS[group]
        op = SYMBOLS[sign]
        if kind is _BOOL and op not in _EQUALITIES:
            raise NotPlain
        value = Value.of_scalar(read(match[group]), kind, _new(Span, (text, begin, end)))
        span = _new(Span, (text, start, end))
        return (node(op, (key, value), span, True), start, end), 0
    if group > _ROUND:
        end = match.end()
        test = Op.ISNULL if group == _IS else Op.ISNOTNULL
        span = _new(Span, (text, start, end))
        return (node(test, (key,), span, True), start, end), 0
    end = match.end()
    items = tuple(
        [
            _string(string) if string else _integer(integer) if integer else _decimal(decimal)
            for string, integer, decimal in _items().findall(text, begin, end)
        ]
    )
    value = Value.of_scalars(items, _new(Span, (text, begin, end)))
    span = _new(Span, (text, start, end))
    return (node(NIN if negated else IN, (key, value), span, True), start, end), len(items)


def _string(literal: str) -> str:
    if literal.isascii() and "\\" not in literal and "\0" not in literal:
        return literal[1:-1]
    return read_string(literal, 0, len(literal))


def _integer(literal: str) -> int:
    if len(literal) < _SHORT and literal[-1] not in "lL":
        return int(literal)
    return read_integer(literal, 0, len(literal))


def _decimal(literal: str) -> float:
    return read_decimal(literal, 0, len(literal))


_LITERALS: dict[int, tuple[Kind, Callable[[str], Scalar]]] = {
    _STRING: (Kind.STRING, _string),
    _INTEGER: (Kind.NUMBER, _integer),
    _DECIMAL: (Kind.NUMBER, _decimal),
    _TRUE: (Kind.BOOL, lambda literal: True),
    _FALSE: (Kind.BOOL, lambda literal: False),
}
_BOOL = Kind.BOOL
_EQUALITIES = (Op.EQ, Op.NE)
