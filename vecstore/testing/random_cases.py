"""Random filters and documents from a seed: fast, for runs over thousands of trees."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

from vecstore.filter.normalize import NEGATION
from vecstore.filter.tree import (
    LOGICAL,
    MEMBERSHIPS,
    NULL_TESTS,
    ORDERINGS,
    Expression,
    Key,
    Op,
    Value,
)
from vecstore.filter.values import Scalar, kind_of
from vecstore.testing.rows import ANYTHING, Domain
from vecstore.testing.samples import (
    KEYS,
    LISTS,
    NUMBERS,
    OBJECTS,
    ODD_KEYS,
    ODD_PATHS,
    PATHS,
    SCALARS,
    TEXTS,
)

_ATOM_OPS = tuple(op for op in Op if op not in LOGICAL)
# Most values come from here, so that filters and documents meet.
_FREQUENT: tuple[Scalar, ...] = (True, False, 0, 1, 1.5, "a", "b", "A", "1", "it's")
_LEAF = 0.25
_MOST_TRIES = 2_000


class Cases(ABC):
    """A source of filters and documents from a seed; subclasses say what these are about.

    Args:
        seed: The same seed gives the same cases, in the order in which they are asked for.
        allows: Judges each comparison and null test, as it is after NOT is pushed down; those
            it is False for do not appear.
        domain: What documents may hold.
    """

    _named: ClassVar[str]
    """What ids of documents begin with."""
    _widths: ClassVar[tuple[int, ...]]
    """How many operands AND and OR have, each as often as it stands here."""

    def __init__(
        self,
        seed: int,
        *,
        allows: Callable[[Expression], bool] | None = None,
        domain: Domain = ANYTHING,
    ) -> None:
        self._random = Random(seed)
        self._allows = allows
        self._domain = domain

    def filter(self, depth: int = 6) -> Expression:
        """A tree of at most ``depth`` levels of AND, OR and NOT.

        Raises:
            ValueError: If ``allows`` turns down every comparison it is shown.
        """
        return self._tree(depth, negated=False)

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The metadata of one document."""

    def rows(self, count: int = 150) -> dict[str, dict[str, Any]]:
        """As many documents, by id."""
        return {f"{self._named}-{number}": self.document() for number in range(count)}

    @abstractmethod
    def _any_atom(self) -> Expression:
        """A comparison or a null test, whether or not it is allowed."""

    def _tree(self, depth: int, *, negated: bool) -> Expression:
        random = self._random
        if depth <= 0 or random.random() < _LEAF:
            return self._atom(negated)
        if random.random() < 0.25:
            return Expression(Op.NOT, self._tree(depth - 1, negated=not negated))
        children = [
            self._tree(depth - 1, negated=negated) for _ in range(random.choice(self._widths))
        ]
        return Expression(random.choice((Op.AND, Op.OR)), *children)

    def _atom(self, negated: bool) -> Expression:
        for _ in range(_MOST_TRIES):
            atom = self._any_atom()
            if self._allows is None or self._allows(emitted(atom, negated)):
                return atom
        raise ValueError(
            f"none of {_MOST_TRIES:,} random comparisons is allowed; what does the dialect answer?"
        )


def emitted(atom: Expression, negated: bool) -> Expression:
    """What is left of an atom when the NOT around it, if there is one, is pushed down."""
    return Expression(NEGATION[atom.op], *atom.operands) if negated else atom


def atom_of(
    op: Op, path: tuple[str, ...], literal: Callable[[], Scalar], count: Callable[[], int]
) -> Expression:
    """An atom with literals from a source.

    Args:
        op: Its operator.
        path: Its key.
        literal: Gives a literal; one that cannot be ordered is passed over where that matters.
        count: Gives the number of literals of a list.
    """
    key = Key(*path)
    if op in NULL_TESTS:
        return Expression(op, key)
    if op in MEMBERSHIPS:
        return Expression(op, key, Value([literal() for _ in range(count())]))
    value = literal()
    while op in ORDERINGS and isinstance(value, bool):
        value = literal()
    return Expression(op, key, Value(value))


class RandomCases(Cases):
    """An endless source of filters and documents over the same few keys and values.

    Args:
        seed: The same seed gives the same cases, in the order in which they are asked for.
        allows: Judges each comparison and null test, as it is after NOT is pushed down; those
            it is False for do not appear.
        domain: What documents may hold.

    Example:
        >>> cases = RandomCases(seed=7)
        >>> filter, rows = cases.filter(depth=3), cases.rows(100)
        >>> again = RandomCases(seed=7)
        >>> again.filter(depth=3) == filter, again.rows(100) == rows
        (True, True)
    """

    _named = "random"
    _widths = (2, 2, 2, 3)

    def document(self) -> dict[str, Any]:
        """The metadata of one document."""
        random = self._random
        metadata: dict[str, Any] = {}
        for key in KEYS:
            if random.random() < 0.8:
                metadata[key] = self._value()
        if random.random() < 0.5:
            metadata["n"] = self._value() if random.random() < 0.2 else self._inner_object()
        for _ in range(random.choice((0, 0, 1, 2))):
            metadata[random.choice(ODD_KEYS)] = self._value()
        if random.random() < 0.2:
            outer, *inner = random.choice(ODD_PATHS)
            value = self._value()
            for segment in reversed(inner):
                value = {segment: value}
            metadata[outer] = value
        return self._domain.fit(metadata)

    def _any_atom(self) -> Expression:
        return atom_of(
            self._random.choice(_ATOM_OPS), self._path(), self._literal, self._list_length
        )

    def _list_length(self) -> int:
        random = self._random
        return 0 if random.random() < 0.03 else random.choice((1, 2, 2, 3, 5, 8))

    def _path(self) -> tuple[str, ...]:
        random = self._random
        dice = random.random()
        if dice < 0.75:
            return (random.choice(KEYS),)
        if dice < 0.9:
            return random.choice(PATHS)
        return (random.choice(ODD_KEYS),) if dice < 0.97 else random.choice(ODD_PATHS)

    def _literal(self) -> Scalar:
        random = self._random
        dice = random.random()
        if dice < 0.6:
            return random.choice(_FREQUENT)
        if dice < 0.92:
            return random.choice(SCALARS)
        return self._near(random.choice(SCALARS))

    def _near(self, value: Scalar) -> Scalar:
        """A value that is easily taken for another one."""
        random = self._random
        if isinstance(value, bool):
            return random.choice((int(value), str(value).lower()))
        if isinstance(value, str):
            return random.choice(
                (value + " ", " " + value, value.upper(), value + value, value[1:])
            )
        if isinstance(value, int):
            return random.choice((value + 1, value - 1, str(value)))
        larger, smaller = math.nextafter(value, math.inf), math.nextafter(value, -math.inf)
        return random.choice([near for near in (larger, smaller) if math.isfinite(near)])

    def _value(self) -> Any:
        random = self._random
        dice = random.random()
        if dice < 0.65:
            return self._literal()
        if dice < 0.8:
            return random.choice(LISTS)
        if dice < 0.9:
            return self._list()
        if dice < 0.93:
            return random.choice(OBJECTS)
        return random.choice((None, []))

    def _list(self) -> list[Scalar]:
        random = self._random
        pool: tuple[Scalar, ...] = random.choice(((True, False), NUMBERS, TEXTS, _FREQUENT))
        first = random.choice(pool)
        fellows = [item for item in pool if kind_of(item) is kind_of(first)]
        return [first, *random.choices(fellows, k=random.choice((0, 1, 2)))]

    def _inner_object(self) -> dict[str, Any]:
        random = self._random
        inner: dict[str, Any] = {}
        for key in ("k", "y"):
            if random.random() < 0.7:
                inner[key] = self._value()
        if random.random() < 0.5:
            inner["x"] = {"k": self._value()}
        return inner
