"""The random filters of `specs` in the languages of other systems."""

from __future__ import annotations

from typing import Any

from tests.interop.specs import Spec

_HAYSTACK = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "in": "in",
    "nin": "not in",
}
_SQL = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def mongo(spec: Spec) -> dict[str, Any]:
    op, *rest = spec
    if op in ("and", "or"):
        return {f"${op}": [mongo(one) for one in rest[0]]}
    if op == "not":
        return {"$nor": [mongo(rest[0])]}
    key, value = rest
    return {key: {f"${op}": value}}


def haystack(spec: Spec) -> dict[str, Any]:
    op, *rest = spec
    if op in ("and", "or"):
        return {"operator": op.upper(), "conditions": [haystack(one) for one in rest[0]]}
    if op == "not":
        return {"operator": "NOT", "conditions": [haystack(rest[0])]}
    key, value = rest
    return {"field": f"meta.{key}", "operator": _HAYSTACK[op], "value": value}


def llama_index(spec: Spec) -> dict[str, Any]:
    op, *rest = spec
    if op in ("and", "or"):
        return {"condition": op, "filters": [llama_index(one) for one in rest[0]]}
    if op == "not":
        return {"condition": "not", "filters": [llama_index(rest[0])]}
    key, value = rest
    return {"key": key, "operator": {**_HAYSTACK, "nin": "nin"}.get(op, op), "value": value}


def qdrant(spec: Spec) -> dict[str, Any]:
    op, *rest = spec
    if op in ("and", "or"):
        return {"must" if op == "and" else "should": [qdrant(one) for one in rest[0]]}
    if op == "not":
        return {"must_not": [qdrant(rest[0])]}
    key, value = rest
    if op in ("eq", "ne"):
        match: dict[str, Any] = {"key": key, "match": {"value": value}}
        if isinstance(value, float):
            match = {"key": key, "range": {"gte": value, "lte": value}}
        return match if op == "eq" else {"must_not": [match]}
    if op in ("in", "nin"):
        if all(isinstance(one, str) for one in value) or _integers(value):
            return {"key": key, "match": {"any" if op == "in" else "except": value}}
        found = {"should": [qdrant(("eq", key, one)) for one in value]}
        return found if op == "in" else {"must_not": [found]}
    return {"key": key, "range": {op: value}}


def _integers(values: list[Any]) -> bool:
    return all(type(one) is int for one in values)


def sql(spec: Spec) -> str:
    op, *rest = spec
    if op in ("and", "or"):
        return "(" + f" {op.upper()} ".join(sql(one) for one in rest[0]) + ")"
    if op == "not":
        return f"NOT ({sql(rest[0])})"
    key, value = rest
    if op in _SQL:
        return f"{key} {_SQL[op]} {_literal(value)}"
    if op == "between":
        return f"{key} BETWEEN {_literal(value[0])} AND {_literal(value[1])}"
    if op == "null":
        return f"{key} IS NULL"
    listed = ", ".join(map(_literal, value))
    return f"{key} {'NOT ' if op == 'nin' else ''}IN ({listed})"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def chroma(spec: Spec) -> dict[str, Any]:
    """As MongoDB's; an operator of several needs several."""
    op, *rest = spec
    if op not in ("and", "or"):
        return mongo(spec)
    inner = [chroma(one) for one in rest[0]]
    return inner[0] if len(inner) == 1 else {f"${op}": inner}
