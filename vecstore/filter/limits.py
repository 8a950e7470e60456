"""How large a filter may be before it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vecstore.errors import FilterLimitError
from vecstore.frozen import frozen

if TYPE_CHECKING:
    from vecstore.filter.tree import Span


@frozen
class Limits:
    """Bounds on filters that come from outside; pass ``limits=None`` to lift them all.

    Attributes:
        text: Characters of a filter text.
        nesting: Open parentheses plus NOTs that wait for their operand, while reading text.
        depth: Levels of AND, OR and NOT in a tree.
        nodes: Expressions in a tree.
        in_values: Literals in one IN list.

    Example:
        >>> from vecstore import parse
        >>> parse("a IN [1, 2, 3]", limits=Limits(in_values=2))
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterLimitError: the list holds more than 2 values (limit in_values)
        ...
    """

    text: int = 65_536
    nesting: int = 64
    depth: int = 64
    nodes: int = 10_000
    in_values: int = 10_000


DEFAULT_LIMITS = Limits()


def checked_limits(limits: Limits | None) -> Limits | None:
    """The limits themselves.

    Raises:
        TypeError: If they are neither limits nor None.
    """
    if limits is not None and type(limits) is not Limits:
        raise TypeError(f"limits is a Limits or None, not a {type(limits).__name__}")
    return limits


TOO_MANY = "the filter has more than {} expressions"
TOO_DEEP = "the filter is nested deeper than {} levels"
TOO_MANY_VALUES = "the list holds more than {} values"


def limit_error(name: str, bound: int, message: str, span: Span | None) -> FilterLimitError:
    """The error for one limit, worded the same wherever it is noticed."""
    return FilterLimitError(
        f"{message.format(f'{bound:,}')} (limit {name})",
        limit=name,
        span=span,
        hint=f"make the filter smaller, or raise the limit: limits=Limits({name}=...)",
    )
