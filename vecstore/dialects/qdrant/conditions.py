"""The conditions of Qdrant's REST interface: how keys, literals and bounds get into them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from math import ceil
from typing import Any, Final

from vecstore.dialects.qdrant.layout import is_timestamp
from vecstore.filter.tree import Op
from vecstore.filter.values import Scalar

Condition = dict[str, Any]

ADDRESSABLE: Final = re.compile(r'[^"\\]+')
"""Names that a path can hold: it has quotes, and no escape inside them."""

_BARE = re.compile("[A-Za-z0-9_-]+")
_RANGE = {Op.GT: "gt", Op.GTE: "gte", Op.LT: "lt", Op.LTE: "lte"}
_GROUP = 22
_FIRST_MOMENT = "T00:00:00.000000Z"


def encode_key(path: tuple[str, ...]) -> str:
    """The one way a key gets into a filter.

    Qdrant reads dots and brackets outside quotes as steps, and knows no escape inside them.

    Example:
        >>> encode_key(("metadata", "author", "e.mail"))
        'metadata.author."e.mail"'
    """
    return ".".join([name if _BARE.fullmatch(name) else f'"{name}"' for name in path])


def is_addressable(name: str) -> bool:
    """Whether a path can name a key.

    Example:
        >>> is_addressable("a.b"), is_addressable('say "hi"')
        (True, False)
    """
    return ADDRESSABLE.fullmatch(name) is not None


def encode_values(key: str, literals: Iterable[Scalar]) -> list[Condition]:
    """Conditions of which one holds where the value equals one of the literals.

    A number is a range of one point: ``match`` takes no floats, and tells 1 from 1.0.
    """
    texts: list[str] = []
    truths: list[bool] = []
    numbers: list[int | float] = []
    for literal in literals:
        if isinstance(literal, str):
            texts.append(literal)
        elif isinstance(literal, bool):
            truths.append(literal)
        else:
            numbers.append(literal)
    conditions: list[Condition] = []
    if texts:
        match = {"value": texts[0]} if len(texts) == 1 else {"any": texts}
        conditions.append({"key": key, "match": match})
    conditions += [{"key": key, "match": {"value": truth}} for truth in truths]
    return conditions + _among(key, sorted(numbers))


def _among(key: str, numbers: list[Any]) -> list[Condition]:
    """Ranges of one point, in groups of groups.

    Each group starts with the range that it is in: of ten thousand points that would be tried one
    by one, some thirty ranges are left for a value to be compared with. The range and the points
    stand in one ``must``, for the engine looks at the ``should`` of a filter before its ``must``.
    """
    if len(numbers) <= _GROUP:
        return [_between(key, number, number) for number in numbers]
    levels = 2
    while _GROUP**levels < len(numbers):
        levels += 1
    size = ceil(len(numbers) / ceil(len(numbers) ** (1 / levels)))
    groups = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return [
        {"must": [_between(key, group[0], group[-1]), {"should": _among(key, group)}]}
        for group in groups
    ]


def _between(key: str, lowest: float, highest: float) -> Condition:
    return {"key": key, "range": {"gte": lowest, "lte": highest}}


def encode_bound(op: Op, literal: Scalar) -> dict[str, Scalar]:
    """The range that an ordering stands for.

    A timestamp is longer than the date it starts with, and so comes after it as a text: past a
    date means from its first moment on, whether the date itself is included or not.
    """
    if isinstance(literal, str) and not is_timestamp(literal):
        return {"gte" if op in (Op.GT, Op.GTE) else "lt": literal + _FIRST_MOMENT}
    return {_RANGE[op]: literal}


def encode_day_bound(op: Op, literal: Scalar) -> dict[str, Scalar]:
    """The same for a key that holds dates, each of which is its first moment to the engine.

    A date comes before the timestamps that start with it, also before its first moment.
    """
    if isinstance(literal, str) and is_timestamp(literal):
        return {"gt" if op in (Op.GT, Op.GTE) else "lte": literal}
    return {_RANGE[op]: f"{literal}{_FIRST_MOMENT}"}


def is_date(text: str) -> bool:
    """Whether a text is a date as filters and documents write it."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
