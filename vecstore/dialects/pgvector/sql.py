"""SQL text in the making: pieces of our own text between bound parameters."""

from __future__ import annotations

from typing import NamedTuple

Param = str | int | float | bool | list[str]


class Bound(NamedTuple):
    """A parameter on its way into the SQL text, with the type it is cast to."""

    value: Param
    type: str


class Read(str):
    """The JSONB column, where a condition reads it."""

    __slots__ = ()


SqlPart = list[str | Bound]


def joined(parts: list[SqlPart], joint: str) -> SqlPart:
    """Parts in one pair of parentheses, with ``joint`` between them."""
    result: SqlPart = ["("]
    for number, part in enumerate(parts):
        if number:
            result.append(joint)
        result += part
    result.append(")")
    return result


def quoted(*names: str) -> str:
    """Names of a column or table, each quoted so that it can hold any character."""
    return ".".join(['"' + name.replace('"', '""') + '"' for name in names])
