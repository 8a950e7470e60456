"""A schema told to others: as JSON Schema of filters, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vecstore.filter.keys import key_form
from vecstore.filter.text import key_text
from vecstore.filter.tree import ORDERINGS, Op
from vecstore.filter.values import Kind
from vecstore.schema.kinds import KeyType, written

if TYPE_CHECKING:
    from vecstore.schema.schema import Schema

_EQUALITIES = (Op.EQ, Op.NE)
_MEMBERSHIPS = (Op.IN, Op.NIN)
# The format "time" would want an offset, which times of day do not have.
_FORMATS = {"datetime": "date-time", "date": "date", "uuid": "uuid"}
# Most validators take a format for a remark.
_PATTERNS = {
    "datetime": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
    "date": r"^\d{4}-\d\d-\d\d$",
    "time": r"^\d\d:\d\d:\d\d\.\d{6}$",
    "uuid": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
}
_TYPES = {Kind.BOOL: "boolean", Kind.NUMBER: "number", Kind.STRING: "string"}


def json_schema(schema: Schema) -> dict[str, Any]:
    """The JSON Schema of filters in dict form over the keys of a schema."""
    comparisons: list[dict[str, Any]] = []
    for path, declared in schema.keys.items():
        comparisons += _comparisons(key_form(path), declared)
    joined = {
        "type": "object",
        "description": "All (and) or some (or) of several filters.",
        "properties": {
            "op": {"enum": ["and", "or"]},
            "operands": {"type": "array", "items": {"$ref": "#/$defs/filter"}, "minItems": 2},
        },
        "required": ["op", "operands"],
        "additionalProperties": False,
    }
    negated = {
        "type": "object",
        "description": "A filter that must not hold.",
        "properties": {
            "op": {"const": "not"},
            "operands": {
                "type": "array",
                "items": {"$ref": "#/$defs/filter"},
                "minItems": 1,
                "maxItems": 1,
            },
        },
        "required": ["op", "operands"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/filter",
        "$defs": {"filter": {"anyOf": [joined, negated, *comparisons]}},
    }


def _comparisons(key: str | list[str], declared: KeyType) -> list[dict[str, Any]]:
    """What a filter can say of one key: compare it, look for it in a list, test its absence."""
    single = [op for op in (*_EQUALITIES, *sorted(ORDERINGS, key=lambda op: op.value))
              if op in _EQUALITIES or declared.ordered]  # fmt: skip
    literal = _literal(declared)
    several = {"type": "array", "items": literal}
    return [
        _comparison(key, single, literal),
        _comparison(key, _MEMBERSHIPS, several),
        _comparison(key, (Op.ISNULL, Op.ISNOTNULL), None),
    ]


def _comparison(key: str | list[str], ops: Any, value: dict[str, Any] | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"op": {"enum": [op.value for op in ops]}, "key": {"const": key}}
    if value is not None:
        properties["value"] = value
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _literal(declared: KeyType) -> dict[str, Any]:
    if declared.choices is not None:
        return {"enum": list(declared.choices)}
    if declared.filter_kind is None:
        return {"type": ["string", "number", "boolean"]}
    literal: dict[str, Any] = {"type": _TYPES[declared.filter_kind]}
    if declared.kind in _FORMATS:
        literal["format"] = _FORMATS[declared.kind]
    if declared.kind in _PATTERNS:
        literal["pattern"] = _PATTERNS[declared.kind]
    return literal


def describe(schema: Schema) -> str:
    """How to filter by the keys of a schema, in words."""
    lines = [
        "Filters compare the keys of a document's metadata.",
        "Operators: == != > >= < <= IN [...] NOT IN [...] IS NULL, IS NOT NULL, joined by AND, OR, "
        "NOT and parentheses. Texts stand in single quotes; a key that a document lacks is NULL.",
        "Keys:",
    ]
    for path, declared in schema.keys.items():
        lines.append(f"- {key_text(path)}: {_in_words(declared)}")
    if schema.others == "refuse":
        lines.append("There are no other keys.")
    lines.append("Examples:")
    lines += [f"- {example}" for example in _examples(schema)]
    return "\n".join(lines)


def _in_words(declared: KeyType) -> str:
    told = declared.held
    if declared.many:
        told += "; == and IN ask whether some element is equal"
    elif declared.kind in ("date", "datetime") and declared.choices is None:
        told += f", written {written(declared.example, declared.kind)}"
    return told


def _examples(schema: Schema) -> list[str]:
    """Two filters: one comparison, and several joined."""
    atoms: list[str] = []
    for path, declared in schema.keys.items():
        value = written(declared.example, declared.kind)
        op = (
            ">="
            if declared.ordered and declared.choices is None and declared.kind != "str"
            else "=="
        )
        atoms.append(f"{key_text(path)} {op} {value}")
    second = schema_key_in(schema)
    return [atoms[0], f"{atoms[min(1, len(atoms) - 1)]} AND NOT ({second})"]


def schema_key_in(schema: Schema) -> str:
    """A membership test over the last key."""
    path, declared = list(schema.keys.items())[-1]
    choices = declared.choices[:2] if declared.choices else (declared.example,)
    listed = ", ".join(written(one, declared.kind) for one in choices)
    return f"{key_text(path)} IN [{listed}]"
