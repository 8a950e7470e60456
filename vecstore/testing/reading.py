"""What the rules of the language say of documents, read from a filter as it was written.

Dialects are given a filter without its NOTs, and ``matches`` decides that one, too. Who held the
one against the other would not see what is lost where NOT is pushed down. So the kit keeps the
three values of every comparison, and has NOT exchange TRUE and FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from vecstore.filter.evaluate import read_path
from vecstore.filter.tree import LOGICAL, Expression, Op

_Verdicts = tuple[int, int]
"""On which documents a filter is TRUE, and on which FALSE: a byte of 0 or 1 for each of them."""

_ORDERINGS: Final[Mapping[Op, Callable[[Any, Any], bool]]] = {
    Op.GT: lambda value, literal: value > literal,
    Op.GTE: lambda value, literal: value >= literal,
    Op.LT: lambda value, literal: value < literal,
    Op.LTE: lambda value, literal: value <= literal,
}
_Item = tuple[str | None, Any]
"""A value with its kind: to Python True is 1."""
_KINDS: Final = {bool: "bool", int: "number", float: "number", str: "text"}


class Reading:
    """Documents that filters are held against; they must not change meanwhile.

    Args:
        rows: Documents by id.

    Example:
        >>> from vecstore import parse
        >>> reading = Reading({"old": {"year": 1999}, "new": {"year": 2024}, "none": {}})
        >>> reading.selected(parse("NOT year > 2020"))
        {'old'}
        >>> reading.verdict(parse("NOT year > 2020"), "none") is None
        True
    """

    def __init__(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self.rows = rows
        self._names = list(rows)
        self._columns: dict[tuple[str, ...], _Column] = {}

    def selected(self, filter: Expression) -> set[str]:
        """The ids of the documents on which the filter is TRUE."""
        true, _ = self._verdicts(filter)
        return {name for name, one in zip(self._names, self._bytes(true), strict=True) if one}

    def verdict(self, filter: Expression, name: str) -> bool | None:
        """TRUE, FALSE, or None for UNKNOWN, on the document of that id."""
        place = self._names.index(name)
        true, false = map(self._bytes, self._verdicts(filter))
        return bool(true[place]) if true[place] or false[place] else None

    def _verdicts(self, filter: Expression) -> _Verdicts:
        done: list[_Verdicts] = []
        # Parents come first, so that from the end each one finds its operands done.
        for node in reversed(list(filter.walk())):
            if node.op not in LOGICAL:
                done.append(self._atom(node))
                continue
            count = len(node.operands)
            operands, done[-count:] = done[-count:], []
            if node.op is Op.NOT:
                ((true, false),) = operands
                done.append((false, true))
                continue
            true, false = operands[0]
            for other_true, other_false in operands[1:]:
                if node.op is Op.AND:
                    true, false = true & other_true, false | other_false
                else:
                    true, false = true | other_true, false & other_false
            done.append((true, false))
        (verdicts,) = done
        return verdicts

    def _atom(self, atom: Expression) -> _Verdicts:
        column, op = self._column(atom.key.path), atom.op
        if op in _ORDERINGS:
            (literal,) = atom.value.items
            true, decided = bytearray(len(self._names)), bytearray(len(self._names))
            for place, value in column.scalars.get(_kind(literal), ()):
                decided[place] = True
                true[place] = _ORDERINGS[op](value, literal)
            return _number(true), _number(decided) ^ _number(true)
        if op is Op.ISNULL or op is Op.ISNOTNULL:
            fails = _number(column.present)
        else:
            literals = frozenset(map(_item, atom.value.items))
            fails = _number(map(literals.isdisjoint, column.items))
        holds = fails ^ _number([True] * len(self._names))
        return (holds, fails) if op in (Op.EQ, Op.IN, Op.ISNULL) else (fails, holds)

    def _column(self, path: tuple[str, ...]) -> _Column:
        column = self._columns.get(path)
        if column is None:
            column = _Column([read_path(metadata, path) for metadata in self.rows.values()])
            self._columns[path] = column
        return column

    def _bytes(self, number: int) -> bytes:
        return number.to_bytes(len(self._names), "little")


class _Column:
    """What all documents have at one path; no comparison asks for all of it."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    @cached_property
    def present(self) -> list[bool]:
        """Whether there is anything."""
        return [value is not None and value != [] for value in self._values]

    @cached_property
    def items(self) -> list[list[_Item]]:
        """The scalar, or all elements of the list."""
        return [
            [_item(one) for one in value]
            if isinstance(value, list)
            else []
            if isinstance(value, Mapping)
            else [_item(value)]
            for value in self._values
        ]

    @cached_property
    def scalars(self) -> dict[str | None, list[tuple[int, Any]]]:
        """Documents by place, with their scalars, of each kind."""
        found: dict[str | None, list[tuple[int, Any]]] = {}
        for place, value in enumerate(self._values):
            found.setdefault(_kind(value), []).append((place, value))
        return found


def _item(value: Any) -> _Item:
    return _KINDS.get(type(value)), value


def _kind(value: Any) -> str | None:
    return _KINDS.get(type(value))


def _number(verdicts: Iterable[bool | int]) -> int:
    return int.from_bytes(bytes(verdicts), "little")
