"""What a filter from outside makes an engine do, as one number.

The limits of :mod:`vecstore.filter.limits` bound the reading of a filter. Here it is about running
it: an engine without a fitting index tries every comparison on every document. So the cost is the
number of comparisons that are left when those of one key are merged, each weighted by what it asks
of an engine beside the plain ``key == 1``.

Filters that a program builds are its own affair. Only comparisons that were read from a text or a
dict count, wherever they have got to in a tree.
"""

from __future__ import annotations

import enum
from typing import Any, Final

from vecstore.errors import ConfigurationError, FilterLimitError
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, NULL_TESTS, ORDERINGS, Expression
from vecstore.filter.values import shown

ATOM: Final = 1.0
ORDERING: Final = 1.5
"""Ordering looks at the type of a value as well."""
LITERAL: Final = 0.6
"""Each literal of a short list, which engines may try one by one as an index serves them."""
SHORT_LIST: Final = 16
LATER_LITERAL: Final = 0.003
"""Each literal after these: they are looked up together. No store refuses 10,000 of them."""
STEP: Final = 0.4
"""Each object that a key steps into."""
CHARACTER: Final = 0.002
"""Each character of a name or a text past the first hundred, and each digit of an integer."""
_FREE: Final = 100


class MaxCost(enum.Enum):
    """Stands for the bound that a store's engine declares."""

    AS_DECLARED = "as declared"


AS_DECLARED: Final = MaxCost.AS_DECLARED


def read_max_cost(value: Any) -> int | None | MaxCost:
    """The option ``max_cost``.

    Raises:
        ConfigurationError: If it is neither a whole number from 1 on nor None.
    """
    if value is None or value is AS_DECLARED:
        return AS_DECLARED if value is AS_DECLARED else None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(
            f"max_cost is a whole number from 1 on, or None for no limit, not {shown(value)}"
        )
    return value


def filter_cost(simple: Expression | bool) -> int:
    """The cost of what a filter's comparisons from outside come to, rounded up.

    Args:
        simple: What :func:`~vecstore.filter.normalize.simplify` returned.

    Example:
        >>> from vecstore import F, parse
        >>> filter_cost(parse("a == 1 OR b == 2").normalize())
        2
        >>> filter_cost(parse("a == 1 OR a == 2 OR a == 3").normalize())
        3
        >>> filter_cost((F.a == 1) | (F.b == 2))
        0
    """
    if isinstance(simple, bool):
        return 0
    cost = sum(
        _atom_cost(node) for node in simple.walk() if node.op not in LOGICAL and node.from_outside
    )
    return -int(-cost // 1)


def _atom_cost(atom: Expression) -> float:
    path = atom.key.path
    cost = ORDERING if atom.op in ORDERINGS else ATOM
    cost += STEP * (len(path) - 1) + CHARACTER * max(0, sum(map(len, path)) - _FREE)
    if atom.op in NULL_TESTS:
        return cost
    if atom.op in MEMBERSHIPS:
        count = _literals_from_outside(atom)
        return cost + LITERAL * min(count, SHORT_LIST) + LATER_LITERAL * max(0, count - SHORT_LIST)
    literal = atom.value.value
    if isinstance(literal, str):
        return cost + CHARACTER * max(0, len(literal) - _FREE)
    if isinstance(literal, int):
        return cost + CHARACTER * max(0, literal.bit_length() // 3 - _FREE)
    return cost


def _literals_from_outside(listed: Expression) -> int:
    """How many literals of a list count: those of a program may have been merged with them."""
    count = len(listed.value.items)
    if not listed.merged:
        return count
    return min(count, sum(len(one.value.items) for one in listed.merged if one.from_outside))


def check_cost(filter: Expression, max_cost: int | None, engine: str) -> None:
    """Refuse a filter from outside that costs more than a store allows.

    Args:
        filter: As it was given; what it costs is found out once.
        max_cost: The bound, or None.
        engine: What the error calls the store.

    Raises:
        FilterLimitError: Naming cost, bound, and the argument that raises it.
    """
    if max_cost is None:
        return
    kept = filter.kept
    cost = kept.cost
    if cost is None:
        cost = kept.cost = filter_cost(simplified(filter))
    if cost > max_cost:
        raise FilterLimitError(
            f"this filter costs {cost:,}, and {engine} runs filters of up to {max_cost:,} that "
            "come as text or dict (limit max_cost)",
            limit="max_cost",
            hint="write many values of one key as IN [...], or split the filter; where you trust "
            f"its author, open the store with max_cost={cost}, or None for no limit",
        )
