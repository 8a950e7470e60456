"""What the literals of a filter text stand for, and whether a document could hold it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

from vecstore.filter.values import (
    MAX_INTEGER_DIGITS,
    Scalar,
    UnusableValue,
    check_text,
    to_scalar,
)
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_ESCAPE = re.compile(r"""\\(?:([\\'"nrt])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))""")
_NAMED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_DIGITS = "0123456789abcdefABCDEF"

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
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
        return _checked(body, start + 1)
    parts: list[str] = []
    at = start + 1
    while (backslash := text.find("\\", at, end - 1)) >= 0:
        parts.append(_checked(text[at:backslash], at))
        match = _ESCAPE.match(text, backslash, end - 1)
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
    content = read_string(text, string, end)
    try:
        if not _DATE.fullmatch(content):
            raise ValueError
        return to_scalar(date.fromisoformat(content))
    except ValueError:
        shown = quoted(content)
        if _DATE.fullmatch(content):
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
            if _TIMESTAMP.fullmatch(content.upper()):
                advice = Advice("write TIMESTAMP", f"TIMESTAMP '{shown}'", _word(text, start))
        raise Fault(f"'{shown}' is not a date", start, end, advice) from None


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def read_timestamp(text: str, start: int, end: int, string: int) -> Scalar:
    """The value of ``TIMESTAMP '...'``, whose string starts at ``string``."""
    content = read_string(text, string, end)
    match = _TIMESTAMP.fullmatch(content.upper())
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
    low = _LOW_SURROGATE.match(text, end)
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


DATED: dict[str, Callable[[str, int, int, int], Scalar]] = {
    "DATE": read_date,
    "TIMESTAMP": read_timestamp,
}

PLAIN: dict[str, Callable[[str, int, int], Scalar]] = {
    "STRING": read_string,
    "INTEGER": read_integer,
    "DECIMAL": read_decimal,
    "TRUE": lambda text, start, end: True,
    "FALSE": lambda text, start, end: False,
}
