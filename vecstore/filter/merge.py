"""Atoms of one key that stand side by side in an AND or OR, put together where that is exact.

Under OR, ``a == 1`` and ``a == 2`` are ``a IN [1, 2]``; under AND, ``a != 1`` and ``a != 2`` are
``a NOT IN [1, 2]``. Of ranges in one direction, over literals of one kind, the widest is left under
OR and the tightest under AND. Null tests take in what they imply, and two atoms of which one is the
negation of the other decide the whole.

Each rule keeps the three-valued verdict on every document: lists, whose elements are asked one by
one; values of another type, to which a range is UNKNOWN; and keys that are absent. So there is
nothing here for ``a == 1 AND a == 2`` (the list ``[1, 2]`` matches), for ``a < 5 OR a >= 5`` (a
text does not match), or for ``a > 5 AND a IS NULL`` (UNKNOWN, and so is its negation).

AND and OR are each other's mirror, and so are the rules: one set of them, written for OR, is read
through :class:`_Side`. The time taken is linear in the atoms and their literals.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from vecstore.filter.tree import (
    LOGICAL,
    MEMBERSHIPS,
    NULL_TESTS,
    ORDERINGS,
    Expression,
    Op,
    Span,
    Value,
    trusted,
)
from vecstore.filter.values import Kind, literal_key
from vecstore.frozen import frozen


@frozen
class _Side:
    """What the operators are to an OR, or mirrored to an AND.

    Attributes:
        scalar, listed: Equality with a literal, and with one of several: they merge.
        opposites: Their negations, which do not.
        implied_null: The null test that takes the merging atoms in. The other one is taken in by
            the opposites.
        widest: Of two ranges in one direction, that with the smaller (-1) or larger (1) literal
            stays; at one literal, the operator named.
    """

    scalar: Op
    listed: Op
    opposites: frozenset[Op]
    implied_null: Op
    widest: dict[Op, tuple[int, Op]]


_UP, _DOWN = (Op.GT, Op.GTE), (Op.LT, Op.LTE)
_SIDES = {
    Op.OR: _Side(
        Op.EQ,
        Op.IN,
        frozenset({Op.NE, Op.NIN}),
        Op.ISNOTNULL,
        {**dict.fromkeys(_UP, (-1, Op.GTE)), **dict.fromkeys(_DOWN, (1, Op.LTE))},
    ),
    Op.AND: _Side(
        Op.NE,
        Op.NIN,
        frozenset({Op.EQ, Op.IN}),
        Op.ISNULL,
        {**dict.fromkeys(_UP, (1, Op.GT)), **dict.fromkeys(_DOWN, (-1, Op.LT))},
    ),
}


def merge(op: Op, parts: Iterable[Expression]) -> list[Expression] | None:
    """What the parts of an AND or OR come to.

    Args:
        op: AND or OR.
        parts: Its operands, of which none has that operator itself.

    Returns:
        The parts that are left, in the order of the first atom of each; or None where the whole is
        decided, TRUE for OR and FALSE for AND.
    """
    given = list(parts)
    paths = {part.key.path for part in given if part.op not in LOGICAL}
    combined = [part for part in given if part.op in LOGICAL]
    if len(paths) + len(set(map(_outline, combined))) == len(given):
        return given  # nothing stands beside its own kind
    keys: dict[tuple[str, ...], list[int]] = {}
    combinations: dict[Expression, int] = {}
    for place, part in enumerate(given):
        if part.op in LOGICAL:
            combinations.setdefault(part, place)
        else:
            keys.setdefault(part.operands[0].path, []).append(place)
    if len(keys) + len(combinations) == len(given):
        return given
    left = [(place, part) for part, place in combinations.items()]
    for places in keys.values():
        if len(places) == 1:
            left.append((places[0], given[places[0]]))
            continue
        one = _OneKey(op)
        for place in places:
            one.take(place, given[place])
        atoms = one.left()
        if atoms is None:
            return None
        left.extend(atoms)
    left.sort(key=itemgetter(0))
    return [part for _, part in left]


def _outline(part: Expression) -> tuple[Any, ...]:
    """The same for equal combinations, and sooner had than their hash."""
    operands = part.operands
    first, last = operands[0], operands[-1]
    return (
        len(operands),
        first.op,
        last.op,
        None if first.op in LOGICAL else first.key.path,
        None if last.op in LOGICAL else last.key.path,
    )


_Placed = tuple[int, Expression]


class _OneKey:
    """The atoms of one key, each with its place among the operands."""

    __slots__ = ("_equal", "_nulls", "_opposite", "_ranges", "_side")

    def __init__(self, op: Op) -> None:
        self._side = _SIDES[op]
        self._equal: list[_Placed] = []
        self._opposite: list[_Placed] = []
        self._nulls: dict[Op, _Placed] = {}
        self._ranges: dict[tuple[Kind, bool], _Placed] = {}

    def take(self, place: int, atom: Expression) -> None:
        op, side = atom.op, self._side
        if op in ORDERINGS:
            direction = (atom.value.kind, op in _UP)
            kept = self._ranges.get(direction)
            if kept is None or _stays(atom, kept[1], side.widest[op]):
                self._ranges[direction] = (place, atom)
        elif op in NULL_TESTS:
            self._nulls.setdefault(op, (place, atom))
        elif op in side.opposites:
            self._opposite.append((place, atom))
        else:
            self._equal.append((place, atom))

    def left(self) -> list[_Placed] | None:
        """What is left of them; None where they decide the whole."""
        implied = self._side.implied_null in self._nulls
        if len(self._nulls) == 2 or (implied and self._opposite):
            return None
        atoms: list[_Placed] = []
        if self._equal and not implied:
            union = _union(self._equal)
            if self._opposite and self._is_decided(union):
                return None
            atoms.append((self._equal[0][0], _listed(self._equal, union, self._side)))
        if self._opposite:
            atoms += self._distinct_opposites()
        else:
            atoms += self._nulls.values()
        atoms += self._ranges.values()
        return atoms

    def _is_decided(self, union: dict[str, Any]) -> bool:
        """Whether an opposite says no more than that none of these literals is there."""
        return any(
            all(literal_key(item) in union for item in atom.value.items)
            for _, atom in self._opposite
        )

    def _distinct_opposites(self) -> list[_Placed]:
        kept: dict[frozenset[str], _Placed] = {}
        for place, atom in self._opposite:
            kept.setdefault(frozenset(map(literal_key, atom.value.items)), (place, atom))
        return list(kept.values())


def _stays(atom: Expression, kept: Expression, rule: tuple[int, Op]) -> bool:
    """Whether a range takes the place of another one in the same direction."""
    sign, at_one_literal = rule
    new, old = atom.value.value, kept.value.value
    if new == old:
        return atom.op is at_one_literal and kept.op is not at_one_literal
    return (new > old) is (sign > 0)  # type: ignore[operator]


def _union(atoms: list[_Placed]) -> dict[str, Any]:
    """Each literal once, in the order in which they were written."""
    union: dict[str, Any] = {}
    for _, atom in atoms:
        for item in atom.value.items:
            union.setdefault(literal_key(item), item)
    return union


def _listed(placed: list[_Placed], union: dict[str, Any], side: _Side) -> Expression:
    """One atom for all the literals."""
    atoms = [atom for _, atom in placed]
    first = atoms[0]
    if len(atoms) == 1:
        return first
    if len(union) == 1:
        return next((atom for atom in atoms if atom.op is side.scalar), first)
    for atom in atoms:
        if atom.op in MEMBERSHIPS and len(set(map(literal_key, atom.value.items))) == len(union):
            return atom  # it says all that the others say
    return trusted(
        side.listed,
        (first.key, Value.of_scalars(tuple(union.values()))),
        _covering(first.span, atoms[-1].span),
        first.written_op,
        from_outside=any(atom.from_outside for atom in atoms),
        merged=tuple(source for atom in atoms for source in (atom.merged or (atom,))),
    )


def _covering(first: Span | None, last: Span | None) -> Span | None:
    if first is None or last is None or first.source is not last.source:
        return first
    return Span(first.source, min(first.start, last.start), max(first.end, last.end))
