"""The random filters of `specs` in the languages of other systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.interop.specs import Spec
from vecstore import Expression, Key, Op, Schema, Value

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
        several = rest[0] if isinstance(rest[0], list) else [rest[0]]
        return {"operator": "NOT", "conditions": [haystack(one) for one in several]}
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


# --- our own filters ------------------------------------------------------------------------------


def spec_of(tree: Expression, name: Callable[[tuple[str, ...]], str]) -> Spec:
    """A filter of ours, to be written in each language; ``name`` spells its keys there.

    Null tests are ``("null", key, None)`` and ``("notnull", key, None)``.
    """
    if tree.op in (Op.AND, Op.OR):
        return (tree.op.value, tuple(spec_of(one, name) for one in tree.operands))
    if tree.op is Op.NOT:
        return ("not", spec_of(tree.operands[0], name))
    key = name(tree.key.path)
    if tree.op in (Op.ISNULL, Op.ISNOTNULL):
        return ("null" if tree.op is Op.ISNULL else "notnull", key, None)
    value = tree.value.value
    return (tree.op.value, key, list(value) if isinstance(value, tuple) else value)


def expression_of(spec: Spec, schema: Schema, name: Callable[[tuple[str, ...]], str]) -> Expression:
    """And back: the keys are those of the schema."""
    op, *rest = spec
    if op in ("and", "or"):
        return Expression(Op(op), *(expression_of(one, schema, name) for one in rest[0]))
    if op == "not":
        return Expression(Op.NOT, expression_of(rest[0], schema, name))
    (key,) = [Key(*path) for path in schema.keys if name(path) == rest[0]]
    if op in ("null", "notnull"):
        return Expression(Op.ISNULL if op == "null" else Op.ISNOTNULL, key)
    return Expression(Op(op), key, Value(rest[1]))


def mapped(spec: Spec, leaf: Callable[[str, str, Any], Spec]) -> Spec:
    """The same filter with each comparison written in another way."""
    op, *rest = spec
    if op in ("and", "or"):
        return (op, tuple(mapped(one, leaf) for one in rest[0]))
    if op == "not":
        return (op, mapped(rest[0], leaf))
    return leaf(op, *rest)


def structured(spec: Spec, operation: Callable[..., Any], comparison: Callable[..., Any]) -> Any:
    """LangChain's structured query, of whatever classes."""
    op, *rest = spec
    if op in ("and", "or"):
        inner = [structured(one, operation, comparison) for one in rest[0]]
        return operation(operator=op, arguments=inner)
    if op == "not":
        return operation(operator=op, arguments=[structured(rest[0], operation, comparison)])
    return comparison(comparator=op, attribute=rest[0], value=rest[1])


def langchain_dict(spec: Spec, *, negated: bool = False) -> dict[str, Any]:
    """As MongoDB's, where ``$ne`` and ``$nin`` leave out what has no value."""
    op, *rest = spec
    if op in ("and", "or"):
        return {f"${op}": [langchain_dict(one, negated=negated) for one in rest[0]]}
    if op == "not":
        return {"$not": langchain_dict(rest[0], negated=True)}
    key, value = rest
    if op in ("null", "notnull"):
        return {key: {"$exists": op == "notnull"}}
    if op == "in" and negated:  # which is unknown there of what has no value
        return {"$or": [{key: {"$eq": one}} for one in value]}
    if op == "nin" and negated:
        return {"$not": langchain_dict(("in", key, value), negated=True)}
    written = {key: {f"${op}": value}}
    return {"$or": [written, {key: {"$exists": False}}]} if op in ("ne", "nin") else written


def sql_where_null_is_unknown(op: str, key: str, value: Any) -> Spec:
    """A comparison that is true, false and unknown where ours is."""
    there = ("not", ("null", key, None))
    if op == "notnull":
        return there
    if op in ("ne", "nin"):
        return ("or", ((op, key, value), ("null", key, None)))
    return ("and", ((op, key, value), there)) if op in ("eq", "in") else (op, key, value)
