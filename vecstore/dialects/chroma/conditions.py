"""Single conditions of Chroma's ``where``, for metadata as anybody writes it.

A literal that is a fraction is cut to a whole number where the engine compares it with an integer:
``{"k": {"$lt": 1.5}}`` misses 1. So it stands between the two whole numbers around it. A list holds
its numbers as integers or as floats, and is asked for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor
from typing import Any

from vecstore.filter.tree import Op
from vecstore.filter.values import Scalar

Condition = dict[str, Any]


def joined(operator: str, parts: Iterable[Condition]) -> Condition:
    """The parts under ``$and`` or ``$or``, which takes no single one; those under it join.

    Example:
        >>> joined("$or", [{"$or": [{"a": 1}, {"b": 2}]}, {"c": 3}])
        {'$or': [{'a': 1}, {'b': 2}, {'c': 3}]}
    """
    flat = [one for part in parts for one in part.get(operator, [part])]
    return flat[0] if len(flat) == 1 else {operator: flat}


def size_of(condition: Condition) -> int:
    """How many comparisons a condition has."""
    pending, size = [condition], 0
    while pending:
        one = pending.pop()
        parts = one.get("$and") or one.get("$or")
        if isinstance(parts, list):
            pending += parts
        else:
            size += 1
    return size


def equal(key: str, literal: Scalar, *, single: bool, many: bool) -> list[Condition]:
    """Conditions of which one holds where a value, or an element of a list, equals a literal.

    Args:
        key: The key.
        literal: The literal.
        single: Whether the key may hold a single value.
        many: Whether it may hold a list.
    """
    alone: Condition
    elements: list[Condition]
    if is_whole(literal):
        whole = int(literal)
        alone = {key: {"$eq": whole}}
        elements = [{key: {"$contains": whole}}, {key: {"$contains": float(whole)}}]
    elif isinstance(literal, float):
        below, above = _around(literal)
        alone = {"$and": [{key: {"$eq": literal}}, {key: {"$gt": below}}, {key: {"$lt": above}}]}
        elements = [{key: {"$contains": literal}}]
    else:
        alone = {key: {"$eq": literal}}
        elements = [{key: {"$contains": literal}}]
    return [*([alone] if single else []), *(elements if many else [])]


def unequal(key: str, literal: Scalar, *, single: bool, many: bool) -> list[Condition]:
    """Conditions that hold all of them where :func:`equal` has none that does."""
    alone: Condition
    elements: list[Condition]
    if is_whole(literal):
        whole = int(literal)
        alone = {key: {"$ne": whole}}
        elements = [{key: {"$not_contains": whole}}, {key: {"$not_contains": float(whole)}}]
    elif isinstance(literal, float):
        below, above = _around(literal)
        alone = {"$or": [{key: {"$ne": literal}}, {key: {"$lte": below}}, {key: {"$gte": above}}]}
        elements = [{key: {"$not_contains": literal}}]
    else:
        alone = {key: {"$ne": literal}}
        elements = [{key: {"$not_contains": literal}}]
    return [*([alone] if single else []), *(elements if many else [])]


def ordered(key: str, op: Op, literal: int | float) -> Condition:
    """A number that compares so with a literal."""
    name = OPERATORS[op]
    if is_whole(literal):
        return {key: {name: int(literal)}}
    below, above = _around(literal)
    if op in (Op.LT, Op.LTE):
        between = {"$and": [{key: {name: literal}}, {key: {"$lt": above}}]}
        return {"$or": [{key: {"$lte": below}}, between]}
    between = {"$and": [{key: {name: literal}}, {key: {"$gt": below}}]}
    return {"$or": [{key: {"$gte": above}}, between]}


def ordered_list(keys: Sequence[str], op: Op, literals: Sequence[int]) -> Condition:
    """Integers under several keys that compare so, as a list, with literals.

    Example:
        >>> ordered_list(["a", "b"], Op.GT, [1, 2])
        {'$or': [{'a': {'$gt': 1}}, {'$and': [{'a': {'$eq': 1}}, {'b': {'$gt': 2}}]}]}
    """
    last = len(keys) - 1
    strict = "$gt" if op in (Op.GT, Op.GTE) else "$lt"
    parts, before = [], list[Condition]()
    for place, (key, literal) in enumerate(zip(keys, literals, strict=True)):
        name = OPERATORS[op] if place == last else strict
        parts.append(joined("$and", [*before, {key: {name: literal}}]))
        before.append({key: {"$eq": literal}})
    return joined("$or", parts)


OPERATORS = {Op.GT: "$gt", Op.GTE: "$gte", Op.LT: "$lt", Op.LTE: "$lte"}


def is_whole(literal: Scalar) -> bool:
    """Whether a literal is a whole number, written as an integer or as a float."""
    return type(literal) is int or (isinstance(literal, float) and literal.is_integer())


def _around(literal: float) -> tuple[int, int]:
    below = floor(literal)
    return below, below + 1
