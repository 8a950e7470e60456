"""What a filter is held against between reading it and running it: a schema, and limits."""

from __future__ import annotations

from typing import Protocol

from vecstore.errors import FilterLimitError
from vecstore.filter.limits import (
    TOO_DEEP,
    TOO_MANY,
    TOO_MANY_VALUES,
    Limits,
    checked_limits,
    limit_error,
)
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, Expression


class FilterCheck(Protocol):
    """A declaration that filters are held against; a schema is one."""

    def check(self, filter: Expression, /, *, coerce: bool = False) -> Expression:
        """The filter, or with ``coerce`` what it was read as.

        Raises:
            FilterTypeError: If it does not fit.
        """


def checked(filter: Expression, schema: FilterCheck | None, coerce: bool) -> Expression:
    """A filter held against a schema, where there is one.

    Raises:
        TypeError: If ``schema`` is none, or ``coerce`` is asked for without one.
        FilterTypeError: If the filter does not fit.
    """
    if schema is None:
        if coerce:
            raise TypeError("coerce=True reads literals by a schema: pass schema=Schema({...})")
        return filter
    if not callable(getattr(schema, "check", None)):
        raise TypeError(
            f"schema is a Schema, not a {type(schema).__name__}: Schema({{'year': int}})"
        )
    return schema.check(filter, coerce=coerce)


def check_tree(expression: Expression, limits: Limits | None) -> Expression:
    """Return the tree when it keeps within ``depth``, ``nodes`` and ``in_values``.

    Raises:
        FilterLimitError: Naming the first limit that is passed, at the node that passes it.
    """
    if limits is None or expression.kept.limits is limits:
        return expression
    checked_limits(limits)
    if not _keeps_within(expression, limits):
        raise _past_a_limit(expression, limits)
    expression.kept.limits = limits
    return expression


def _keeps_within(expression: Expression, limits: Limits) -> bool:
    level = [expression]
    nodes = depth = 0
    while level:
        nodes += len(level)
        if nodes > limits.nodes:
            return False
        below: list[Expression] = []
        for node in level:
            op = node.op
            if op in LOGICAL:
                below += node.operands
            elif op in MEMBERSHIPS and len(node.value.items) > limits.in_values:
                return False
        if below:
            depth += 1
            if depth > limits.depth:
                return False
        level = below
    return True


def _past_a_limit(expression: Expression, limits: Limits) -> FilterLimitError:
    """The error for the first node that passes one, from left to right."""
    stack = [(expression, 1)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > limits.nodes:
            return limit_error("nodes", limits.nodes, TOO_MANY, node.span)
        if node.op in LOGICAL:
            if depth > limits.depth:
                return limit_error("depth", limits.depth, TOO_DEEP, node.span)
            stack.extend((child, depth + 1) for child in reversed(node.operands))
        elif node.op in MEMBERSHIPS and len(node.value.items) > limits.in_values:
            return limit_error("in_values", limits.in_values, TOO_MANY_VALUES, node.span)
    raise AssertionError("the tree keeps within the limits")
