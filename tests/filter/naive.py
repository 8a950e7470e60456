"""A second reading of the rules, kept as plain as possible, for the evaluator to be held against.

It works on the dict form, by recursion, one table row after the other, and shares no code with
the library.
"""

from __future__ import annotations

from typing import Any

UNKNOWN = None
ORDERINGS = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}


def verdict(tree: dict[str, Any], document: dict[str, Any]) -> bool | None:
    op = tree["op"]
    if op == "not":
        inner = verdict(tree["operands"][0], document)
        return UNKNOWN if inner is UNKNOWN else not inner
    if op in ("and", "or"):
        verdicts = [verdict(child, document) for child in tree["operands"]]
        decisive = op == "or"
        if decisive in verdicts:
            return decisive
        return UNKNOWN if UNKNOWN in verdicts else not decisive
    value = look_up(document, tree["key"])
    absent = value is None or value == []
    if op == "isnull":
        return absent
    if op == "isnotnull":
        return not absent
    literal = tree["value"]
    if op == "eq":
        return equals_any(value, [literal])
    if op == "ne":
        return not equals_any(value, [literal])
    if op == "in":
        return equals_any(value, literal)
    if op == "nin":
        return not equals_any(value, literal)
    if absent or isinstance(value, list | dict) or kind(value) != kind(literal):
        return UNKNOWN
    return ORDERINGS[op](value, literal)


def look_up(document: dict[str, Any], key: str | list[str]) -> Any:
    current: Any = document
    for segment in [key] if isinstance(key, str) else key:
        if not isinstance(current, dict):
            return None
        current = current.get(segment)
    return current


def equals_any(value: Any, literals: list[Any]) -> bool:
    candidates = value if isinstance(value, list) else [value]
    return any(
        kind(candidate) == kind(literal) and candidate == literal
        for candidate in candidates
        for literal in literals
    )


def kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
