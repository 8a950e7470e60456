"""What was read -> the tree, with every check that is not a matter of grammar.

:data:`ACTIONS` has a function for each rule of ``filter.lark`` that makes something. A function
takes the text and the values of the symbols that the rule consists of; the value of a terminal is
its match. Keys and literals come in the order of the text, so the first fault found is the first in
it. An AND that holds another one stays a tuple until the text has ended, and so does whatever
holds it: :func:`assembled` splices however many there are in one another at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from vecstore.filter.tree import SYMBOLS, Expression, Key, Op, Value, literal_fault
from vecstore.filter.tree import read as node
from vecstore.filter.values import (
    MAX_INTEGER_DIGITS,
    RESERVED_PREFIX,
    Kind,
    Scalar,
    UnusableValue,
    check_segment,
    check_text,
    kind_of,
    to_scalar,
)
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

Match = re.Match[str]

# What a rule stands for, and where: a key, a scalar, a list, a node, or a Branch. The place of the
# last two includes parentheses that the text puts around them.
At = tuple[Any, int, int]
# (Op.AND, Op.OR or Op.NOT, operands, start, end)
Branch = tuple[Op, list[Any], int, int]

# Taken out of their class once: each way there costs as much as making a small object.
AND, OR, NOT, IN, NIN = Op.AND, Op.OR, Op.NOT, Op.IN, Op.NIN


# --- conditions -------------------------------------------------------------------------------


def assembled(text: str, item: Expression | Branch) -> Expression:
    """The tree of a text, every node with its span; ANDs in ANDs and ORs in ORs are spliced."""
    if type(item) is Expression:
        return item
    todo: list[Any] = [item]
    done: list[Expression] = []
    while todo:
        branch = todo.pop()
        if type(branch) is Expression:
            done.append(branch)
            continue
        op, operands, start, end, *first = branch
        if first:
            children = tuple(done[first[0] :])
            del done[first[0] :]
            done.append(node(op, children, (text, start, end), False))
        else:
            todo.append((op, (), start, end, len(done)))
            _splice(op, operands, todo)
    return done[0]


def _splice(op: Op, operands: list[Any], todo: list[Any]) -> None:
    pending = list(operands)
    while pending:
        operand = pending.pop()
        if type(operand) is tuple and operand[0] is op and op is not NOT:
            pending += operand[1]
        elif type(operand) is Expression and operand.op is op and op is not NOT:
            todo += reversed(operand.operands)
        else:
            todo.append(operand)


def _disjunction(text: str, first: At, others: list[At]) -> At:
    return _several(text, OR, first, others)


def _conjunction(text: str, first: At, others: list[At]) -> At:
    return _several(text, AND, first, others)


def _several(text: str, op: Op, first: At, others: list[At]) -> At:
    operands = [first[0], *[other[0] for other in others]]
    start, end = first[1], others[-1][2]
    for operand in operands:
        if type(operand) is not Expression or operand.op is op:
            return (op, operands, start, end), start, end
    return node(op, tuple(operands), (text, start, end), False), start, end


def _complement(text: str, sign: Match, operand: At) -> At:
    item, _, end = operand
    start = sign.start(sign.lastindex or 0)
    if type(item) is not Expression:
        return (NOT, [item], start, end), start, end
    return node(NOT, (item,), (text, start, end), False), start, end


def _group(text: str, opening: Match, content: At, closing: Match) -> At:
    return content[0], opening.start(opening.lastindex or 0), closing.end()


# --- comparisons and tests --------------------------------------------------------------------


def _comparison(text: str, key: At, sign: Match, literal: At) -> At:
    op = SYMBOLS[sign[sign.lastindex or 0]]
    name, start, _ = key
    scalar, begins, end = literal
    kind = type(scalar)
    # Numbers and strings stand beside any of the signs.
    if kind is bool or kind is Value:
        _check_literal(text, op, literal, sign)
    value = Value.of_scalar(scalar, kind_of(scalar), (text, begins, end))
    return node(op, (name, value), (text, start, end), True), start, end


def _member(text: str, key: At, word: Match, literal: At) -> At:
    return _membership(text, IN, key, literal, word)


def _not_member(text: str, key: At, *words_and_literal: Any) -> At:
    *words, literal = words_and_literal
    return _membership(text, NIN, key, literal, *words)


def _membership(text: str, op: Op, key: At, literal: At, *words: Match) -> At:
    name, start, _ = key
    value, _, end = literal
    if type(value) is not Value:
        _check_literal(text, op, literal, *words)
    return node(op, (name, value), (text, start, end), True), start, end


def _null(text: str, key: At, *words: Match) -> At:
    return _null_test(text, Op.ISNULL, key, words[-1])


def _not_null(text: str, key: At, *words: Match) -> At:
    return _null_test(text, Op.ISNOTNULL, key, words[-1])


def _null_test(text: str, op: Op, key: At, last: Match) -> At:
    name, start, _ = key
    end = _place(last)[1]
    return node(op, (name,), (text, start, end), True), start, end


def _check_literal(text: str, op: Op, literal: At, *signs: Match) -> None:
    value = literal[0]
    fault = literal_fault(op, Kind.LIST if type(value) is Value else kind_of(value))
    if fault is not None:
        raise _misplaced(text, op, signs, literal, *fault)


def _misplaced(
    text: str, op: Op, signs: tuple[Match, ...], literal: At, message: str, remedy: str
) -> Fault:
    """A literal of a kind that the operator does not take."""
    value, start, end = literal
    sign = Edit(_place(signs[0])[0], _place(signs[-1])[1], "")
    edits: tuple[Edit, ...] = ()
    if op in (IN, NIN):
        edits = (Edit(start, start, "["), Edit(end, end, "]"))
    elif type(value) is not Value:
        edits = (sign._replace(new="=="),)
    elif op in (Op.EQ, Op.NE):
        edits = (sign._replace(new="IN" if op is Op.EQ else "NOT IN"),)
    elif len(value.items) == 1:
        edits = (Edit(start, end, text[start + 1 : end - 1].strip()),)
    lead, _, pattern = remedy.partition(" [...]")
    return Fault(message, start, end, Advice(lead if edits else remedy, pattern, edits))


# --- keys -------------------------------------------------------------------------------------


def _key(text: str, first: Match, others: list[Match] | None = None) -> At:
    start, end = _place(first)
    if others is None:
        return Key.of_path((_segment(text, first),), (text, start, end)), start, end
    path = tuple([_segment(text, segment) for segment in (first, *others)])
    end = _place(others[-1])[1]
    return Key.of_path(path, (text, start, end)), start, end


def _segment(text: str, match: Match) -> str:
    start, end = _place(match)
    name = read_string(text, start, end) if text[start] in "'\"" else text[start:end]
    # What else check_segment looks for, no name can hold and no string that has been read.
    if not name or name.startswith(RESERVED_PREFIX):
        try:
            check_segment(name)
        except UnusableValue as error:
            raise Fault(error.reason, start, end, Advice(error.remedy)) from None
    return name


# --- literals ---------------------------------------------------------------------------------


def _list(text: str, opening: Match, *rest: Any) -> At:
    *inner, closing = rest
    items: tuple[Scalar, ...] = ()
    if inner:
        first, *others = inner
        items = (first[0], *[scalar for scalar, _, _ in (others[0] if others else ())])
    start, end = _place(opening)[0], _place(closing)[1]
    return Value.of_scalars(items, (text, start, end)), start, end


def _string(text: str, match: Match) -> At:
    start, end = _place(match)
    return read_string(text, start, end), start, end


def _integer(text: str, match: Match) -> At:
    start, end = _place(match)
    return read_integer(text, start, end), start, end


def _decimal(text: str, match: Match) -> At:
    start, end = _place(match)
    return read_decimal(text, start, end), start, end


def _true(text: str, match: Match) -> At:
    return True, *_place(match)


def _false(text: str, match: Match) -> At:
    return False, *_place(match)


def _date(text: str, word: Match, string: Match) -> At:
    return _dated(read_date, text, word, string)


def _timestamp(text: str, word: Match, string: Match) -> At:
    return _dated(read_timestamp, text, word, string)


def _dated(
    read: Callable[[str, int, int, int], Scalar], text: str, word: Match, string: Match
) -> At:
    start = _place(word)[0]
    inner, end = _place(string)
    return read(text, start, end, inner), start, end


# Compiled by the first text that needs one; `re` keeps them from then on.
_ESCAPE = r"""\\(?:([\\'"nrt])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"""
_NAMED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_LOW_SURROGATE = r"\\u([dD][c-fC-F][0-9a-fA-F]{2})"
_DIGITS = "0123456789abcdefABCDEF"

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})"
    r"(?:[T ](?!24)[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,]([0-9]+))?)?)?"
    r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


def read_string(text: str, start: int, end: int) -> str:
    """The text of a quoted string, its escapes undone.

    Raises:
        Fault: At an escape or a character that cannot be used.
    """
    body = text[start + 1 : end - 1]
    if "\\" not in body:
        if body.isascii() and "\0" not in body:
            return body
        return _checked(body, start + 1)
    parts: list[str] = []
    at = start + 1
    while (backslash := text.find("\\", at, end - 1)) >= 0:
        parts.append(_checked(text[at:backslash], at))
        match = re.compile(_ESCAPE).match(text, backslash, end - 1)
        if match is None:
            raise _unknown_escape(text, backslash, end - 1)
        parts.append(_unescaped(text, match))
        at = match.end()
    parts.append(_checked(text[at : end - 1], at))
    return "".join(parts)


def read_integer(text: str, start: int, end: int) -> int:
    """The value of an INTEGER token, of any size that can be stored."""
    digits = text[start:end].rstrip("lL")
    significant = digits.lstrip("+-").lstrip("0")
    if len(significant) > MAX_INTEGER_DIGITS:
        try:
            to_scalar(10**MAX_INTEGER_DIGITS)
        except UnusableValue as error:
            raise Fault(error.reason, start, end, Advice(error.remedy)) from None
    try:
        return int(digits)
    except ValueError:  # more digits, zeros included, than the interpreter is set to convert
        from decimal import Decimal

        return int(Decimal(digits[:1].strip("0123456789") + (significant or "0")))


def read_decimal(text: str, start: int, end: int) -> float:
    """The value of a DECIMAL token."""
    number = float(text[start:end])
    try:
        to_scalar(number)
    except UnusableValue:
        raise Fault(
            f"{quoted(text[start:end])} is not a finite number: it is too large",
            start,
            end,
            Advice("the largest number is about 1.8e308"),
        ) from None
    return number


def read_date(text: str, start: int, end: int, string: int) -> Scalar:
    """The value of ``DATE '...'``, whose string starts at ``string``."""
    from datetime import date

    content = read_string(text, string, end)
    try:
        if not re.fullmatch(_DATE, content):
            raise ValueError
        return to_scalar(date.fromisoformat(content))
    except ValueError:
        shown = quoted(content)
        if re.fullmatch(_DATE, content):
            message = f"'{shown}' is not a date: there is no such day"
            raise Fault(message, start, end) from None
        digits = re.fullmatch(r"([0-9]{4})[-/.]?([0-9]{1,2})[-/.]?([0-9]{1,2})", content)
        fixed = "{}-{:0>2}-{:0>2}".format(*digits.groups()) if digits else ""
        possible = _is_day(fixed)
        fixed = fixed if possible else "2024-01-31"
        advice = Advice("write YYYY-MM-DD", f"DATE '{fixed}'", (Edit(string, end, f"'{fixed}'"),))
        if not possible:
            advice = advice._replace(edits=())
        if not digits:
            if re.fullmatch(_TIMESTAMP, content.upper()):
                advice = Advice("write TIMESTAMP", f"TIMESTAMP '{shown}'", _word(text, start))
        raise Fault(f"'{shown}' is not a date", start, end, advice) from None


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def read_timestamp(text: str, start: int, end: int, string: int) -> Scalar:
    """The value of ``TIMESTAMP '...'``, whose string starts at ``string``."""
    from datetime import datetime

    content = read_string(text, string, end)
    match = re.fullmatch(_TIMESTAMP, content.upper())
    if match is not None and match[1] is not None and len(match[1]) > 6:
        cut = match.start(1) + 6
        shorter = f"'{content[:cut]}{content[match.end(1) :]}'"
        raise Fault(
            f"the timestamp '{quoted(content)}' has a fraction of more than six digits",
            start,
            end,
            Advice("cut it to microseconds", shorter, (Edit(string, end, shorter),)),
        )
    try:
        if match is None:
            raise ValueError
        return to_scalar(datetime.fromisoformat(content.upper()))
    except UnusableValue as error:
        raise Fault(error.reason, start, end, Advice(error.remedy)) from None
    except ValueError:
        raise Fault(
            f"'{quoted(content)}' is not a timestamp",
            start,
            end,
            Advice("write ISO 8601, in UTC or with an offset", "TIMESTAMP '2024-01-31T09:30:00Z'"),
        ) from None


def _word(text: str, start: int) -> tuple[Edit, ...]:
    return (Edit(start, start + len("DATE"), "TIMESTAMP"),)


def _checked(part: str, start: int) -> str:
    """A part of a string between escapes that begins at ``start`` of the text."""
    try:
        return check_text(part)
    except UnusableValue:
        for place, character in enumerate(part, start):
            _check_character(character, place, place + 1)
        raise


def _check_character(character: str, start: int, end: int) -> None:
    try:
        check_text(character)
    except UnusableValue as error:
        shown = f"U+{ord(character):04X}"
        raise Fault(error.reason, start, end, Advice(f"leave {shown} out")) from None


def _unescaped(text: str, match: re.Match[str]) -> str:
    named, four, eight = match.groups()
    if named is not None:
        return _NAMED[named]
    start, end = match.span()
    code = int(four or eight, 16)
    if 0xD800 <= code <= 0xDFFF:
        raise _surrogate_escape(text, start, end, code)
    if code > 0x10FFFF:
        raise Fault(
            f"the escape {match[0]} is beyond the last Unicode character",
            start,
            end,
            Advice("the last one is \\U0010FFFF"),
        )
    _check_character(chr(code), start, end)
    return chr(code)


def _surrogate_escape(text: str, start: int, end: int, code: int) -> Fault:
    message = f"the escape {text[start:end]} is half of a surrogate pair, not a character"
    low = re.compile(_LOW_SURROGATE).match(text, end)
    if code > 0xDBFF or low is None:
        return Fault(message, start, end, Advice("write the character itself, or \\UXXXXXXXX"))
    whole = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
    escape = f"\\U{whole:08X}"
    return Fault(
        message,
        start,
        end,
        Advice("write the whole character as \\U", escape, (Edit(start, low.end(), escape),)),
    )


def _unknown_escape(text: str, start: int, end: int) -> Fault:
    letter = text[start + 1 : start + 2]
    if letter in ("u", "U"):
        wanted = 4 if letter == "u" else 8
        stop = start + 2
        while stop < end and text[stop] in _DIGITS:
            stop += 1
        return Fault(
            f"the escape \\{letter} takes {wanted} hexadecimal digits, not {stop - start - 2}",
            start,
            stop,
            Advice("fill up with zeros", f"\\{letter}{text[start + 2 : stop]:0>{wanted}}"),
        )
    stop = start + 2
    doubled = Advice(
        "write a backslash twice",
        "\\\\" + letter,
        (Edit(start, start, "\\"),),
    )
    byte = re.compile(r"\\x([0-9a-fA-F]{2})").match(text, start, end)
    if byte is not None:
        fixed = f"\\u00{byte[1]}"
        doubled = Advice(f"write {fixed}", "", (Edit(start, byte.end(), fixed),))
        stop = byte.end()
    return Fault(
        f"unknown escape \\{quoted(letter)} in a string; there are \\\\ \\' \\\" \\n \\r \\t "
        "\\uXXXX \\UXXXXXXXX",
        start,
        stop,
        doubled,
    )


# --- what the grammar has any number of -------------------------------------------------------


def _first(text: str, sign: Match, one: Any) -> list[Any]:
    return [one]


def _more(text: str, several: list[Any], sign: Match, one: Any) -> list[Any]:
    several.append(one)
    return several


def _place(match: Match) -> tuple[int, int]:
    return match.span(match.lastindex or 0)


def _start(text: str, where: Match, condition: At) -> At:
    return condition


# By what `tables.RULES` names.
ACTIONS: dict[str, Callable[..., Any]] = {
    "start": _start,
    "disjunction": _disjunction,
    "conjunction": _conjunction,
    "complement": _complement,
    "group": _group,
    "comparison": _comparison,
    "member": _member,
    "not_member": _not_member,
    "null": _null,
    "not_null": _not_null,
    "key": _key,
    "square": _list,
    "round": _list,
    "string": _string,
    "integer": _integer,
    "decimal": _decimal,
    "true": _true,
    "false": _false,
    "date": _date,
    "timestamp": _timestamp,
    "first": _first,
    "more": _more,
}
