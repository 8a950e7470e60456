"""Filter text -> :class:`~vecstore.Expression`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from vecstore.filter.checking import FilterCheck, checked
from vecstore.filter.limits import DEFAULT_LIMITS, Limits, checked_limits
from vecstore.filter.tree import Expression, Group
from vecstore.grammar.cache import TreeCache

_trees = TreeCache()
_cached = _trees.get


def parse(
    text: str,
    *,
    limits: Limits | None = DEFAULT_LIMITS,
    schema: FilterCheck | None = None,
    coerce: bool = False,
) -> Expression:
    """Read a filter text.

    The trees of recent texts are kept, so that parsing the same filter again costs next to
    nothing.

    Args:
        text: A filter, such as ``"year >= 2020 AND country == 'BG'"``.
        limits: Bounds on the size of the filter; None lifts them.
        schema: A :class:`~vecstore.Schema` that the filter has to fit.
        coerce: Whether literals of another kind are read as what they must mean by the schema; a
            :class:`~vecstore.CoercedFilterWarning` tells of it.

    Returns:
        The tree, whose nodes know their place in the text.

    Raises:
        FilterSyntaxError: If the text is no filter; it shows the place, what was expected and,
            where there is one, the corrected line.
        FilterLimitError: If the filter is larger than the limits.
        FilterTypeError: If the filter does not fit the schema.
        TypeError: If ``text`` is no text.

    Example:
        >>> parse("year >= 2020 AND NOT country IN ['BG', 'NL']").to_text()
        "year >= 2020 AND NOT country IN ['BG', 'NL']"
        >>> parse("country == BG")
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterSyntaxError: BG is not a value: strings are quoted
          line 1, column 12
            country == BG
                       ^^
        hint: quote the string: country == 'BG'
    """
    if type(text) is not str:
        text = _plain_text(text)
    key: Hashable = text
    if limits is not DEFAULT_LIMITS:
        key = text, checked_limits(limits)
    tree = _cached(key)
    if tree is None:
        # Loaded by the first text that is not known yet: importing lark takes longer than all else.
        from vecstore.grammar.reading import read_text

        tree = read_text(text, limits)
        _trees.put(key, text, tree)
    return checked(tree, schema, coerce) if schema is not None or coerce else tree


def _plain_text(text: Any) -> str:
    if isinstance(text, str):
        return str.__str__(text)
    if isinstance(text, Expression | Group):
        raise TypeError("this filter is parsed already: use it as it is, without parse()")
    if isinstance(text, bytes | bytearray):
        remedy = "decode it first: parse(text.decode('utf-8'))"
    elif isinstance(text, Mapping):
        remedy = "for the dict form, use Expression.from_dict(...)"
    elif text is None:
        remedy = "where a filter is optional, pass the None on instead of parsing it"
    else:
        remedy = "write parse(\"country == 'BG'\")"
    shown = "None" if text is None else f"a {type(text).__name__}"
    raise TypeError(f"parse takes the text of a filter, a str, not {shown}; {remedy}")
