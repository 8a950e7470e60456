"""What a store does with a compiled filter, and what of it milvus-lite is asked.

milvus-lite decides a filter row by row in Python, one literal after the other: a list of 10,000
texts costs it several milliseconds a row. So it is asked a filter's cheap part alone, one that no
document fails which the whole filter selects, and what it finds is decided here by the reference
evaluator, which looks a value up in a set. Servers do the same in their own code and get the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, NULL_TESTS, Expression, Op, trusted
from vecstore.store.collection import decider

ASKED: Final = 48
"""Literals that milvus-lite is asked at most: about as many cost as much as reading a row."""


@dataclass(frozen=True, slots=True)
class RowFilter(Compiled):
    """A compiled filter, with what the store needs to read a file.

    Attributes:
        coarse: What milvus-lite is asked: an expression that finds every document the filter
            selects, and maybe others; empty where none is worth asking.
        is_whole: Whether that is the filter itself.
        decide: Whether metadata matches; None where it holds what no document does.
    """

    coarse: str = ""
    is_whole: bool = True
    decide: Callable[[Any], bool | None] = lambda metadata: None


def row_filter(
    filter: Expression, to_query: Callable[[Expression], Compiled], *, presence: bool
) -> RowFilter:
    """Compile a filter and take it apart.

    Args:
        filter: The filter.
        to_query: Compiles; the dialect's.
        presence: Whether it can ask for the presence of a key.
    """
    compiled = to_query(filter)
    simple = simplified(filter)
    whole = isinstance(simple, bool) or _cost(simple) <= ASKED
    coarse = compiled.native
    if not isinstance(simple, bool) and not whole:
        part = _cheap_part(simple, presence)
        coarse = to_query(part).native if part is not None else ""
    return RowFilter(
        compiled.dialect,
        compiled.native,
        compiled.params,
        compiled.matches_all,
        compiled.matches_nothing,
        str(coarse),
        whole,
        decider(filter),
    )


def _cost(expression: Expression) -> int:
    """Literals and null tests in a filter."""
    cost, pending = 0, [expression]
    while pending:
        node = pending.pop()
        if node.op in LOGICAL:
            pending.extend(node.operands)
        else:
            cost += 1 if node.op in NULL_TESTS else len(node.value.items)
    return cost


def _cheap_part(simple: Expression, presence: bool) -> Expression | None:
    """A filter that every document matches which matches ``simple``, with few literals."""
    kept: list[Expression] = []
    left = ASKED
    for part in simple.operands if simple.op is Op.AND else (simple,):
        cost = _cost(part)
        if cost > left and part.op is Op.IN and presence:
            part, cost = trusted(Op.ISNOTNULL, (part.key,)), 1
        if cost <= left:
            kept.append(part)
            left -= cost
    if len(kept) > 1:
        return trusted(Op.AND, tuple(kept))
    return kept[0] if kept else None
