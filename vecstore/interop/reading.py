"""What every importer does: places for errors, keys and literals, and the walk over the input.

Input is hostile: it may contain itself, be a million levels deep, or have keys that are no text.
The walk keeps its own stack, counts what it opens, and knows what it is inside of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, NamedTuple

from vecstore.errors import FilterTypeError
from vecstore.filter.checking import check_tree
from vecstore.filter.limits import (
    TOO_MANY,
    TOO_MANY_VALUES,
    Limits,
    checked_limits,
    limit_error,
)
from vecstore.filter.tree import (
    FALSE,
    MEMBERSHIPS,
    TRUE,
    Expression,
    Key,
    Op,
    Value,
    trusted,
)
from vecstore.filter.values import list_items, plain_value, shown

_STEPS_SHOWN = 8
_OPENED_FOR_A_NODE = 4
"""So many things may be opened for each expression of the limit: wrappers become none."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the input.

    Example:
        >>> str(Place().step("$and").item(1).step("year"))
        '$and[1].year'
    """

    outer: Place | None = None
    own: str = ""

    def step(self, name: object) -> Place:
        """The place of what a key leads to."""
        plain = isinstance(name, str) and name.removeprefix("$").isidentifier() and len(name) < 60
        return Place(self, f".{name}" if plain else f"[{brief(name)}]")

    def item(self, number: int) -> Place:
        """The place of an item in a list."""
        return Place(self, f"[{number}]")

    def is_inside(self, name: str) -> bool:
        """Whether a key of that name leads here.

        Example:
            >>> Place().step("$not").item(1).step("year").is_inside("$not")
            True
        """
        own, place = Place().step(name).own, self
        while place.outer is not None and place.own != own:
            place = place.outer
        return place.own == own

    def __str__(self) -> str:
        steps: list[str] = []
        place: Place | None = self
        while place is not None:
            steps.append(place.own)
            place = place.outer
        steps.reverse()
        if len(steps) > _STEPS_SHOWN:
            steps[_STEPS_SHOWN // 2 : -_STEPS_SHOWN // 2] = [".…"]
        return "".join(steps).lstrip(".")


class Part(NamedTuple):
    """Something that is still to be read."""

    read: Callable[[Any, Place], Expression | Branch]
    item: Any
    """Never what contains it: by this the walk notices what contains itself."""
    place: Place


class Branch(NamedTuple):
    """AND, OR or NOT of what is still to be read; none of it is TRUE, and FALSE for OR."""

    op: Op
    parts: Iterable[Expression | Part | Branch]


Read = Expression | Branch


class Importer:
    """Reads the filters of one system.

    Args:
        limits: Bounds on the size of what is read; None lifts them.
    """

    source: ClassVar[str]
    """Whose filters these are, for errors."""

    def __init__(self, limits: Limits | None) -> None:
        self.limits = checked_limits(limits)

    def read(self, item: Any) -> Expression:
        """The whole filter.

        Raises:
            FilterTypeError: For what has no meaning here, with its place.
            FilterLimitError: If it is larger than the limits.
        """
        return check_tree(self._walk(Part(self.start, item, Place())), self.limits)

    def start(self, item: Any, place: Place) -> Read:
        """What the input is, at its outermost."""
        raise NotImplementedError

    # --- the walk -------------------------------------------------------------------------------

    def _walk(self, first: Part) -> Expression:
        # What is open, with the parts that are left, those that are done, and what it was read of.
        frames: list[tuple[Op, Iterator[Expression | Part | Branch], list[Expression], Any]] = []
        inside: set[int] = set()
        opened = 0
        most = None if self.limits is None else _OPENED_FOR_A_NODE * self.limits.nodes
        current: Expression | Part | Branch | None = first
        while True:
            item = None
            if isinstance(current, Part):
                opened += 1
                if most is not None and self.limits is not None and opened > most:
                    raise limit_error("nodes", self.limits.nodes, TOO_MANY, None)
                item, place = current.item, current.place
                if id(item) in inside:
                    raise self.refused(place, "it contains itself", "write it out")
                current = current.read(item, place)
            if isinstance(current, Branch):
                if item is not None:
                    inside.add(id(item))
                frames.append((current.op, iter(current.parts), [], item))
            else:
                assert current is not None
                if not frames:
                    return current
                frames[-1][2].append(current)
            while True:
                op, parts, done, item = frames[-1]
                current = next(parts, None)
                if current is not None:
                    break
                frames.pop()
                inside.discard(id(item))
                finished = joined(op, done)
                if not frames:
                    return finished
                frames[-1][2].append(finished)

    # --- atoms ----------------------------------------------------------------------------------

    def key(self, name: Any, place: Place, *, dots: Literal["step", "name"]) -> Key:
        """The key that a name stands for: dots step into objects, or belong to the name."""
        if not isinstance(name, str):
            raise self.refused(
                place, f"a key is text, not {brief(name)}", "write the key as a text"
            )
        segments = name.split(".") if dots == "step" else [name]
        return self.key_of(segments, place)

    def key_of(self, segments: Iterable[str], place: Place) -> Key:
        """The key with these names."""
        try:
            return Key(*segments)
        except FilterTypeError as error:
            raise self.refused(place, error.message, error.hint) from None

    def compared(self, op: Op, key: Key, value: Any, place: Place) -> Expression:
        """A comparison with a literal."""
        items = list_items(value)
        if items is not None and self.limits is not None and op in MEMBERSHIPS:
            if len(items) > self.limits.in_values:
                raise limit_error("in_values", self.limits.in_values, TOO_MANY_VALUES, None)
        if isinstance(value, Mapping):
            raise self.refused(
                place,
                "an object is compared with nothing",
                "compare the keys inside it, each by itself",
            )
        for item in items or ():
            if isinstance(item, Mapping) or list_items(item) is not None:
                raise self.refused(
                    place, f"a list of literals holds {brief(item)}", "list texts, numbers, bools"
                )
        try:
            checked = Expression(op, key, Value(value))
        except FilterTypeError as error:
            raise self.refused(place, error.message, error.hint) from None
        return trusted(op, checked.operands, from_outside=True)

    def null(self, key: Key, absent: bool = True) -> Expression:
        """IS NULL, or IS NOT NULL."""
        return trusted(Op.ISNULL if absent else Op.ISNOTNULL, (key,), from_outside=True)

    def among(self, op: Op, key: Key, value: Any, place: Place, *, nulls: bool = False) -> Read:
        """IN or NOT IN; with ``nulls``, a null in the list stands for an absent value."""
        items = list_items(value)
        if items is None:
            raise self.refused(place, f"a list is needed, not {brief(value)}", "write [...]")
        if not nulls or not any(item is None for item in items):
            return self.compared(op, key, items, place)
        others = self.compared(op, key, [item for item in items if item is not None], place)
        if op is Op.IN:
            return Branch(Op.OR, (others, self.null(key)))
        return Branch(Op.AND, (others, self.null(key, absent=False)))

    # --- errors ---------------------------------------------------------------------------------

    def refused(self, place: Place, message: str, hint: str | None = None) -> FilterTypeError:
        """The error for something at a place."""
        where = str(place)
        at = f"in the {self.source} filter, at {where}: " if where else f"{self.source} filter: "
        return FilterTypeError(f"{at}{message}", hint=hint)

    def unknown(
        self, place: Place, what: str, name: Any, known: Iterable[str], advice: Mapping[str, str]
    ) -> FilterTypeError:
        """The error for an operator: what to write instead, or the closest one that there is."""
        listed = list(known)
        hint = advice.get(name) if isinstance(name, str) else None
        if hint is not None:
            return self.refused(place, f"the {what} {brief(name)} has no meaning here", hint)
        close = get_close_matches(name, listed, 1) if isinstance(name, str) else []
        return self.refused(
            place,
            f"unknown {what} {brief(name)}",
            f"did you mean {close[0]}?" if close else "known are: " + ", ".join(listed),
        )


def joined(op: Op, parts: list[Expression]) -> Expression:
    """AND, OR or NOT of any number of filters; constants among them go."""
    if op is Op.NOT:
        (part,) = parts
        if part is TRUE or part is FALSE:
            return FALSE if part is TRUE else TRUE
        return Expression(op, part)
    absorbing, neutral = (TRUE, FALSE) if op is Op.OR else (FALSE, TRUE)
    if any(part is absorbing for part in parts):
        return absorbing
    left = [part for part in parts if part is not neutral]
    if len(left) < 2:
        return left[0] if left else neutral
    return Expression(op, *left)


def brief(value: Any) -> str:
    """A value as errors show it, whatever it is; nothing of it is asked for its ``repr``."""
    value = plain_value(value)
    if value is None or type(value) in (bool, int, float, str):
        return shown(value)
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
