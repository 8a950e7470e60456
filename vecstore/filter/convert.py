"""What a dialect states of its engine as data, why it refuses the rest, and what it gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from vecstore.errors import FilterError
from vecstore.filter.tree import ORDERINGS, Op
from vecstore.filter.values import Kind
from vecstore.frozen import field, frozen

SAFE_DOUBLE: Final = 2**53 - 1
"""Largest integer that a float64 engine keeps apart from both of its neighbours."""

_SCALARS = frozenset({Kind.BOOL, Kind.NUMBER, Kind.STRING})
_ORDERED = frozenset({Kind.NUMBER, Kind.STRING})

ALL_LITERALS: Final[Mapping[Op, frozenset[Kind]]] = {
    Op.EQ: _SCALARS,
    Op.NE: _SCALARS,
    Op.IN: _SCALARS,
    Op.NIN: _SCALARS,
    **dict.fromkeys(sorted(ORDERINGS, key=lambda op: op.value), _ORDERED),
    Op.ISNULL: frozenset(),
    Op.ISNOTNULL: frozenset(),
}
"""Every operator of the language with every kind of literal it may meet."""


@frozen
class Refusal:
    """Why a backend cannot answer something exactly, and what to do instead."""

    reason: str
    remedy: str | None = None


@frozen
class KeyRule:
    """Which key segments an engine can address.

    Attributes:
        pattern: What a whole segment must match.
        refusal: Told to the user when it does not.
    """

    pattern: re.Pattern[str]
    refusal: Refusal

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, re.Pattern):
            raise TypeError(f"a KeyRule takes a compiled pattern: re.compile({self.pattern!r})")


@frozen
class FloatRule:
    """Which floats an engine reads as they are written.

    Attributes:
        keeps: Whether a float is read as itself.
        digits: Significant digits up to which it is, in the usual range of exponents.
        remedy: Told to the user when it is not.
    """

    keeps: Callable[[float], bool]
    digits: int
    remedy: str


@frozen(kw_only=True)
class Capabilities:
    """What a dialect answers exactly; everything else is refused.

    Attributes:
        literals: The operators (AND, OR and NOT aside, which every dialect has) and the kinds of
            literal each may stand before; for IN and NOT IN the kinds of the list's elements.
        refusals: Better words for what ``literals`` leaves out.
        nested_keys: Whether a key may step into objects, or why not.
        key_rule: Which key segments can be addressed, or None for any.
        max_key_bytes: Longest whole key in UTF-8, segments joined by one byte, or None.
        max_number: Largest magnitude of a number that is compared exactly, or None.
        max_ordered_number: The same before an ordering, for engines that hold numbers in two
            ways, or None.
        float_rule: Which floats the engine reads exactly, or None for all.
        max_string_bytes: Longest string literal in UTF-8, or None.
        max_list: Most literals in one list, or None.
        max_depth: Most levels of AND and OR after NOT is pushed down, or None.
        max_atoms: Most comparisons and null tests in a filter, or None.
    """

    literals: Mapping[Op, frozenset[Kind]] = field(default_factory=lambda: ALL_LITERALS)
    refusals: Mapping[tuple[Op, Kind | None], Refusal] = field(default_factory=dict)
    nested_keys: bool | Refusal = True
    key_rule: KeyRule | None = None
    max_key_bytes: int | None = None
    max_number: int | None = None
    max_ordered_number: int | None = None
    float_rule: FloatRule | None = None
    max_string_bytes: int | None = None
    max_list: int | None = None
    max_depth: int | None = None
    max_atoms: int | None = None

    @property
    def float_digits(self) -> int | None:
        """Significant digits of floats that are read exactly, or None for all."""
        return None if self.float_rule is None else self.float_rule.digits


NO_QUERY: Final = object()
"""Stands for the query of a filter that matches nothing where an engine cannot say so."""


@frozen
class Compiled:
    """A filter in the language of one backend.

    Attributes:
        dialect: Name of the dialect.
        params: Bound parameters, for dialects that bind; a tuple or a dict.
        matches_all: True when the filter selects every document: leave it out of the call.
        matches_nothing: True when the filter selects no document: no call is needed.

    Example:
        >>> from vecstore import compile_filter
        >>> compiled = compile_filter("year > 2020", "qdrant")
        >>> compiled.matches_all, compiled.matches_nothing
        (False, False)
    """

    dialect: str
    native: Any
    params: Any = ()
    matches_all: bool = False
    matches_nothing: bool = False

    @property
    def query(self) -> Any:
        """The native query, safe to run as it is.

        Raises:
            FilterError: If the filter matches nothing and the engine has no such query; look at
                ``matches_nothing`` first.
        """
        if self.native is NO_QUERY:
            raise FilterError(
                f"this filter matches no document, and {self.dialect} has no query for that",
                hint="test .matches_nothing first and skip the call",
            )
        return self.native

    def __str__(self) -> str:
        if self.native is NO_QUERY:
            return "(matches nothing: no call needed)"
        if self.native is None or self.native == "":
            shown = "(no filter)"
        elif isinstance(self.native, dict | list):
            import json

            shown = json.dumps(self.native, ensure_ascii=False, indent=2)
        else:
            shown = str(self.native)
        if not self.params:
            return shown
        pairs = self.params.items() if isinstance(self.params, dict) else enumerate(self.params, 1)
        return "\n".join([shown, *[f"  {name} = {value!r}" for name, value in pairs]])


def check_own_names(subclass: type, own: Iterable[str]) -> None:
    """Refuse a class from outside that takes a name for itself which its base goes by inside.

    Args:
        subclass: The class.
        own: Names of the base; those without an underscore are for subclasses.

    Raises:
        TypeError: Naming it.
    """
    if subclass.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return
    # Names of ABC are there twice where a dataclass is made anew with its slots.
    taken = [name for name in own if re.match("_(?!abc_)[a-z]", name) and name in vars(subclass)]
    if taken:
        raise TypeError(
            f"{subclass.__name__}.{taken[0]} stands in the way of its base, which has something of "
            f"its own under that name; call it otherwise, for example {taken[0]}_of_mine"
        )
