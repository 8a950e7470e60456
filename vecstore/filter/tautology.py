"""Whether a filter is TRUE on every document there could be, as far as bounded work can tell.

``x IS NULL OR x == 1 OR (x IS NOT NULL AND x != 1)`` selects everything, though no two of its atoms
decide it. Over one key, the values that a document may hold fall into a few classes that a filter
can tell apart: absent; an object; each literal; the numbers and texts between, below and above the
literals; both truth values; and lists, of which only the set of literals among the elements counts.
One value of each class is asked of the reference evaluator, so that what an atom means is said in
one place.

A filter without NOT stays TRUE while more of its atoms are. So of the classes of a key only those
matter that make the fewest atoms TRUE; where that is one, as it is for most keys, its atoms are
replaced by their verdicts. Other keys are tried class by class. Keys are taken to be independent of
each other, which can only add documents that do not exist (one with both a number under ``x`` and a
value under ``x.y``): what is called a tautology is one. Past a fixed amount of work nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, zip_longest
from typing import Any, Final

from vecstore.filter.evaluate import stored_matcher
from vecstore.filter.normalize import TRUE_WHERE_ABSENT, simplified, simplify
from vecstore.filter.tree import LOGICAL, NULL_TESTS, Expression, Op, rule, trusted
from vecstore.filter.values import Kind, Scalar, kind_of

WORK: Final = 50_000
"""Verdicts of atoms that are asked for before the search is given up."""
_DEEPEST_CALL: Final = 50
_WHOLE: Final = 2**53
"""From here on all floats are whole numbers."""

Path = tuple[str, ...]


@rule("is_true")
def is_true(expression: Expression) -> bool:
    """Whether a filter selects every document, as far as bounded work can tell."""
    return matches_everything(simplified(expression))


@rule("is_false")
def is_false(expression: Expression) -> bool:
    """Whether a filter selects no document, as far as rewriting it can tell."""
    return simplified(expression) is False


def matches_everything(simple: Expression | bool) -> bool:
    """Whether a filter is TRUE on every document.

    Args:
        simple: What :func:`~vecstore.filter.normalize.simplify` returned.

    Returns:
        True only where it is; False where it is not, or where more work than :data:`WORK` would be
        needed to find out.

    Example:
        >>> from vecstore import parse
        >>> from vecstore.filter.normalize import simplify
        >>> matches_everything(simplify(parse("x IS NULL OR x == 1 OR (x > 0 AND x != 1)")))
        False
        >>> matches_everything(simplify(parse("x IS NULL OR x == 1 OR (x IS NOT NULL AND x != 1)")))
        True
    """
    if isinstance(simple, bool):
        return simple
    # The document without any key settles most filters that programs write.
    if not simplify(simple, lambda atom: atom.op in TRUE_WHERE_ABSENT):
        return False
    try:
        return _Search().holds(simple)
    except _TooMuch:
        return False


class _TooMuch(Exception):
    """The work is used up."""


class _Search:
    """One search for documents on which a filter is not TRUE."""

    def __init__(self) -> None:
        self._left = WORK

    def holds(self, simple: Expression, depth: int = 0) -> bool:
        """Whether no class of documents escapes the filter."""
        if depth == _DEEPEST_CALL:
            raise _TooMuch
        to_hold: list[Expression | bool] = [simple]
        while to_hold:
            part = to_hold.pop()
            if part is True:
                continue
            if part is False or part.op not in LOGICAL:
                return False  # there is a value for each atom on which it is not TRUE
            if part.op is Op.AND:
                to_hold.extend(part.operands)
                continue
            independent = self._independent(part)
            if len(independent) == 1:
                to_hold.extend(self._residuals(part))
            elif not any(self.holds(one, depth + 1) for one in independent):
                return False
        return True

    def _independent(self, either: Expression) -> list[Expression]:
        """An OR cut into ORs without a common key: one of them has to hold for the whole to."""
        leader: dict[Path, Path] = {}

        def found(path: Path) -> Path:
            while (above := leader.setdefault(path, path)) != path:
                leader[path] = path = leader[above]
            return path

        for operand in either.operands:
            first, *others = self._keys(operand)
            for path in others:
                leader[found(path)] = found(first)
        groups: dict[Path, list[Expression]] = {}
        for operand in either.operands:
            groups.setdefault(found(next(iter(self._keys(operand)))), []).append(operand)
        return [
            trusted(Op.OR, tuple(group)) if len(group) > 1 else group[0]
            for group in groups.values()
        ]

    def _residuals(self, either: Expression) -> list[Expression | bool]:
        """What the filter comes to, for each class of values of a key that matters."""
        decided: dict[int, bool] = {}
        branches: list[dict[int, bool]] = []
        for path, atoms in self._keys(either).items():
            verdicts = [
                {id(atom): bool(bits >> place & 1) for place, atom in enumerate(atoms)}
                for bits in self._classes(path, atoms)
            ]
            if len(verdicts) == 1:
                decided |= verdicts[0]
            elif not branches or len(verdicts) < len(branches):
                branches = verdicts
        return [
            simplify(either, lambda atom, known=known: known.get(id(atom)))  # type: ignore[misc]
            for known in ([decided] if decided else branches)
        ]

    def _keys(self, part: Expression) -> dict[Path, list[Expression]]:
        """The atoms of each key."""
        keys: dict[Path, list[Expression]] = {}
        for node in part.walk():
            self._spend(1)
            if node.op not in LOGICAL:
                keys.setdefault(node.key.path, []).append(node)
        return keys

    def _classes(self, path: Path, atoms: list[Expression]) -> list[int]:
        """What the values of a key make TRUE, where no other value makes less TRUE.

        Returns:
            Integers with a bit for each atom, in their order.
        """
        tests = [stored_matcher(atom) for atom in atoms]

        def asked(value: Any) -> int:
            self._spend(len(tests))
            document = value
            for name in reversed(path):
                document = {name: document}
            return sum(test(document) << place for place, test in enumerate(tests))

        seen = {asked(None), asked({})}
        for scalars in _scalars(atoms):
            if 0 in seen:
                return [0]
            elements: dict[int, Scalar] = {}
            for scalar in scalars:
                seen.add(asked(scalar))
                elements.setdefault(asked([scalar]), scalar)
            seen |= elements.keys()
            if len(tests) << len(elements) > self._left:
                raise _TooMuch
            for count in range(2, len(elements) + 1):
                seen |= {asked(list(chosen)) for chosen in combinations(elements.values(), count)}
        return _least(seen)

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise _TooMuch


def _least(seen: set[int]) -> list[int]:
    """Those that have no other one's bits and more."""
    least: list[int] = []
    for bits in sorted(seen, key=int.bit_count):
        if not any(bits & less == less for less in least):
            least.append(bits)
    return least


def _scalars(atoms: list[Expression]) -> Iterator[Iterable[Scalar]]:
    """Of each kind, a value of each class that the atoms can tell apart."""
    literals: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    for atom in atoms:
        if atom.op not in NULL_TESTS:
            for item in atom.value.items:
                literals[kind_of(item)].append(item)
    yield (True, False)
    yield _texts(_distinct(literals[Kind.STRING]))
    yield _numbers(_distinct(literals[Kind.NUMBER]))


def _distinct(literals: list[Any]) -> list[Any]:
    """In order, each once, without a set: whoever writes the filter could choose the hashes."""
    ordered = sorted(literals)
    return [item for place, item in enumerate(ordered) if not place or item != ordered[place - 1]]


def _texts(literals: list[str]) -> Iterator[str]:
    """The literals and what lies around them; next to each text comes the one with U+0001 added."""
    if not literals or literals[0]:
        yield ""
    for text, after in zip_longest(literals, literals[1:]):
        yield text
        if text + "\x01" != after:
            yield text + "\x01"


def _numbers(literals: list[int | float]) -> Iterator[int | float]:
    """The literals and what lies around them."""
    yield math.floor(literals[0]) - 1 if literals else 0
    for number, after in zip_longest(literals, literals[1:]):
        yield number
        above = math.floor(number) + 1
        if after is None or above < after:
            yield above
        elif abs(number) < _WHOLE and math.nextafter(number, math.inf) < after:
            yield math.nextafter(number, math.inf)
