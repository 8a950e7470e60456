"""How a Milvus server decides an expression for one row, written from its source.

milvus-lite is another program than the server, so what holds there says little about servers. This
interpreter follows the places where they differ, or where versions of the server do:

- Expressions are rewritten before they are parsed: every Han character becomes ``\\uXXXX`` with the
  low sixteen bits of its number (``convertHanToASCII``). String literals undo escapes; JSON paths
  undo ``\\uXXXX`` alone, and are split at ``][`` (``getColumnInfoFromJSONIdentifier``).
- A path finds a key by the bytes of the JSON as it was written, escapes and all, and steps into
  lists by number (simdjson's ``at_pointer`` on demand).
- An integer literal is compared with a stored float as a double, a float literal with a stored
  integer as well; bools are no numbers (``UnaryRangeJSONCompare``). ``json_contains_any`` with
  integers finds integers alone.
- What a comparison says where the path leads nowhere, or to another type: FALSE until 2.6.8,
  UNKNOWN later. ``exists`` counted null, ``[]`` and ``{}`` as there, and later not.
"""

from __future__ import annotations

import json
import operator
import re
from functools import lru_cache
from typing import Any

from tests.dialects.milvus_grammar import Node, read

_COMPARE = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_HAN = [
    (0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAD9), (0x16FE2, 0x16FE3), (0x16FF0, 0x16FF1), (0x20000, 0x323AF),
]  # fmt: skip
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_INT64 = range(-(2**63), 2**63)
_MISSING = object()

Row = dict[str, Any]


def row(metadata: Any, tags: list[str]) -> Row:
    """A row as the client sends it."""
    return {"metadata": metadata, "tags": tags}


def compiled(expression: str) -> Node:
    """The expression as the server understands it."""
    return read(_without_han(expression), _unquoted, _path)


def matches(node: Node, row: Row, *, three_valued: bool) -> bool:
    """Whether a row is selected: by versions with UNKNOWN, or by those before."""
    return _verdict(node, row, three_valued) is True


def _verdict(node: Node, row: Row, later: bool) -> bool | None:
    if node.op in ("all_of", "any_of"):
        deciding = node.op == "any_of"
        verdicts = [_verdict(part, row, later) for part in node.operands]
        if deciding in verdicts:
            return deciding
        return None if None in verdicts else not deciding
    if node.op == "negation":
        verdict = _verdict(node.operands[0], row, later)
        return None if verdict is None else not verdict
    if node.op == "holds":
        name, wanted = node.operands
        return any(tag in row[name] for tag in ([wanted] if isinstance(wanted, str) else wanted))
    value = _at(row, node.operands[0])
    if node.op == "exists":
        return value is not _MISSING and not (later and _is_hollow(value))
    nowhere = None if later else False
    if node.op == "contains":
        if not isinstance(value, list):
            return nowhere
        return any(_finds(literal, item) for literal in node.operands[1] for item in value)
    assert node.op == "comparison"
    _, symbol, literal = node.operands
    if isinstance(literal, str):
        return _COMPARE[symbol](value, literal) if isinstance(value, str) else nowhere
    if type(literal) is bool:
        return value is literal if type(value) is bool else nowhere
    assert type(literal) is float or literal in _INT64, "an integer literal is one of 64 bits"
    if type(value) not in (int, float):
        return nowhere
    if type(literal) is float or type(value) is float:
        return _COMPARE[symbol](float(value), float(literal))
    return _COMPARE[symbol](value, literal)


def _finds(literal: Any, item: Any) -> bool:
    if type(literal) is float:
        return type(item) in (int, float) and float(item) == literal
    return type(item) is type(literal) and item == literal


def _at(row: Row, path: tuple[str, ...]) -> Any:
    value = row[path[0]]
    for segment in path[1:]:
        if isinstance(value, dict):
            written = {_written(key): key for key in value}
            if segment not in written:
                return _MISSING
            value = value[written[segment]]
        elif isinstance(value, list) and segment.isdigit() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            return _MISSING
    return value


@lru_cache(10_000)
def _written(key: str) -> str:
    """A key as it stands in JSON text, which is how the server compares it."""
    return json.dumps(key, ensure_ascii=False)[1:-1]


def _is_hollow(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(
            _is_hollow(item) for item in (value.values() if isinstance(value, dict) else value)
        )
    return value is None


def _without_han(expression: str) -> str:
    pieces, skip = [], False
    for position, character in enumerate(expression):
        following = expression[position + 1 : position + 2]
        if skip:
            skip = False
        elif character == "\\":
            if following and following not in "\\ntrf\"'":
                return expression
            skip = True
        elif any(first <= ord(character) <= last for first, last in _HAN):
            character = f"\\u{ord(character) & 0xFFFF:04x}"
        pieces.append(character)
    return "".join(pieces)


def _unquoted(inside: str) -> str:
    return re.sub(
        r"\\(?:u([0-9a-f]{4})|(.))",
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES[match[2]],
        inside,
    )


def _path(token: str) -> tuple[str, ...]:
    token = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), token)
    field, _, rest = token.partition("[")
    segments = []
    for piece in f"[{rest}".split("]["):
        segment = piece.strip("[]")
        if segment[:1] == segment[-1:] == '"' and len(segment) > 2:
            segment = segment[1:-1]
        else:
            assert segment.isdigit(), f"the server refuses the key {segment}"
        segments.append(segment)
    return (field, *segments)
