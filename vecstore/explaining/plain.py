"""What becomes of a filter as plain values, for programs and pages to read."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from vecstore.errors import FilterError, FilterLimitError, UnsupportedFilterError


def error_object(error: Exception) -> dict[str, Any]:
    """An error for a program to read."""
    # A hint stands on a line of its own, as in the text for people.
    message, _, hint = str(error).partition("\nhint: ")
    described: dict[str, Any] = {"type": type(error).__name__, "message": message}
    if hint:
        described["hint"] = hint
    if isinstance(error, FilterError):
        described |= {"message": error.message, "hint": error.hint}
        if error.span is not None:
            described |= {
                "line": error.line,
                "column": error.column,
                "start": error.span.start,
                "end": error.span.end,
            }
    if isinstance(error, FilterLimitError):
        described["limit"] = error.limit
    if isinstance(error, UnsupportedFilterError):
        described |= {
            "dialect": error.dialect,
            "operator": error.op.symbol if error.op is not None else None,
            "key": error.key,
            "reason": error.reason,
        }
    return described


def compact_json(value: Any, width: int) -> str:
    """JSON in few lines: what fits into one line stands on one.

    Example:
        >>> print(compact_json({"must": [{"key": "a"}, {"key": "b"}]}, 24))
        {
          "must": [
            {"key": "a"},
            {"key": "b"}
          ]
        }
    """
    return _compact(value.to_where() if hasattr(value, "to_where") else value, width, 0, 0)


def _compact(value: Any, width: int, indent: int, before: int) -> str:
    """The text of a value whose lines are indented, with so much before it on its first line."""
    line = json.dumps(value, ensure_ascii=False, default=plain_json)
    fits = indent + before + len(line) < width  # one place is kept for a comma
    if fits or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = " " * (indent + 2), " " * indent
    if isinstance(value, dict):
        heads = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        parts = [
            inner + head + _compact(item, width, indent + 2, len(head))
            for head, item in zip(heads, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(parts) + f"\n{outer}}}"
    parts = [inner + _compact(item, width, indent + 2, 0) for item in value]
    return "[\n" + ",\n".join(parts) + f"\n{outer}]"


def plain_json(value: Any) -> Any:
    """What json cannot write by itself: the neutral trees that some dialects compile to."""
    if hasattr(value, "to_where"):
        return value.to_where()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)
