"""Documents that a schema declares, and filters on them: from a seed, or drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from hypothesis import strategies as st

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
from vecstore.filter.values import Scalar, to_scalar
from vecstore.schema.kinds import KeyType, Misfit
from vecstore.schema.schema import Schema
from vecstore.testing.random_cases import Cases, atom_of, emitted
from vecstore.testing.rows import ANYTHING, Domain
from vecstore.testing.samples import NUMBERS, SCALARS, TEXTS

Path = tuple[str, ...]

_ATOM_OPS = tuple(op for op in Op if op not in LOGICAL)
_MOMENTS: Final = (
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1, 0, 0, 0, 5),
    datetime(2023, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 1, 1),
    datetime(2024, 1, 1, 0, 0, 0, 1),
    datetime(2024, 2, 29, 12),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
)
_POOLS: Final[Mapping[str, tuple[Scalar, ...]]] = {
    "bool": (True, False),
    "int": tuple([one for one in NUMBERS if type(one) is int]),
    "float": tuple([one for one in NUMBERS if type(one) is float]),
    "decimal": NUMBERS,
    "str": TEXTS,
    "path": TEXTS,
    "datetime": tuple([to_scalar(one) for one in _MOMENTS]),
    "date": tuple([to_scalar(one.date()) for one in _MOMENTS]),
    "time": tuple([to_scalar(one.time()) for one in _MOMENTS]),
    "uuid": tuple([to_scalar(UUID(int=one)) for one in (0, 1, 2**64, 2**127, 2**128 - 1)]),
    "any": SCALARS,
}
_FORMS: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "bool": st.booleans,
    "int": lambda: st.one_of(st.integers(-3, 3), st.integers(-(2**70), 2**70)),
    "float": lambda: st.floats(allow_nan=False, allow_infinity=False),
    "decimal": lambda: st.one_of(
        st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
    ),
    "datetime": st.datetimes,
    "date": st.dates,
    "time": st.times,
    "uuid": st.uuids,
}
_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
_MOST_TRIES = 2_000


def within(domain: Domain, schema: Schema) -> Domain:
    """The documents of a domain that fit a schema.

    Example:
        >>> within(ANYTHING, Schema({"year": int})).fit({"year": 2020, "yaer": 1})
        {'year': 2020}
        >>> within(ANYTHING, Schema({"year": int})).fit({"year": "2020"})
        {}
    """
    keys, others = schema.keys, schema.others
    objects = {path[:length] for path in keys for length in range(1, len(path))}
    accepts = domain.accepts

    def fits(path: Path, value: Any) -> bool:
        if accepts is not None and not accepts(path, value):
            return False
        declared = keys.get(path)
        if path in objects:
            return isinstance(value, Mapping) or value in (None, [])
        if declared is None:
            return others == "allow"
        if value is None or value == []:
            return True
        try:
            declared.settled_value(value)
        except Misfit:
            return False
        return True

    return replace(domain, accepts=fits)


def values_of(declared: KeyType) -> tuple[Scalar, ...]:
    """Values that a key can hold, or elements of its lists: those that engines get wrong."""
    return declared.choices or _POOLS[declared.kind]


class SchemaCases(Cases):
    """An endless source of documents of a schema, and of filters that may be asked of them.

    Args:
        schema: What the documents hold.
        seed: The same seed gives the same cases, in the order in which they are asked for.
        allows: Judges each comparison and null test, as it is after NOT is pushed down; those
            it is False for do not appear.
        domain: What documents may hold besides.

    Example:
        >>> schema = Schema({"year": int, "tags": list[str]})
        >>> cases = SchemaCases(schema, seed=7)
        >>> filter = cases.filter(depth=3)
        >>> schema.check(filter) is filter
        True
        >>> schema.check_metadata(cases.document()).keys() <= {"year", "tags"}
        True
    """

    _named = "fitting"
    _widths = (2, 3)

    def __init__(
        self,
        schema: Schema,
        seed: int,
        *,
        allows: Callable[[Expression], bool] | None = None,
        domain: Domain = ANYTHING,
    ) -> None:
        super().__init__(seed, allows=allows, domain=within(domain, schema))
        self._keys = list(schema.keys.items())

    def document(self) -> dict[str, Any]:
        """The metadata of one document; a third of its keys are absent, in every way there is."""
        random = self._random
        metadata: dict[str, Any] = {}
        for path, declared in self._keys:
            dice = random.random()
            if dice < 0.2:
                continue
            value = random.choice((None, [])) if dice < 0.3 else self._value(declared)
            _put(metadata, path, value)
        return self._domain.fit(metadata)

    def filter(self, depth: int = 4) -> Expression:
        """A tree of at most ``depth`` levels of AND, OR and NOT, which the schema takes.

        Raises:
            ValueError: If ``allows`` turns down every comparison it is shown.
        """
        return super().filter(depth)

    def _any_atom(self) -> Expression:
        random = self._random
        path, declared = random.choice(self._keys)
        op, count = random.choice(_ops(declared)), random.choice((1, 2, 3, 5))
        return atom_of(op, path, partial(random.choice, values_of(declared)), lambda: count)

    def _value(self, declared: KeyType) -> Any:
        random, pool = self._random, values_of(declared)
        if declared.many:
            return random.choices(pool, k=random.choice((1, 1, 2, 3)))
        value = random.choice(pool)
        return _twin(value) if random.random() < 0.2 else value


def atoms_of(schema: Schema, most: int = 12) -> list[Expression]:
    """Every operator on every declared key, with so many values of its pool."""
    atoms: list[Expression] = []
    for path, declared in schema.keys.items():
        pool = values_of(declared)
        pool = pool[:: -(-len(pool) // most)]
        for op in _ops(declared):
            if op in NULL_TESTS:
                atoms.append(Expression(op, Key(*path)))
            elif op in MEMBERSHIPS:
                atoms += [Expression(op, Key(*path), Value(pool[start : start + 3]))
                          for start in range(0, len(pool), 3)]  # fmt: skip
            else:
                atoms += [Expression(op, Key(*path), Value(one)) for one in pool]
    return atoms


def drawn_documents(schema: Schema, domain: Domain) -> st.SearchStrategy[dict[str, Any]]:
    """Documents of a schema, for :func:`vecstore.testing.metadata`."""
    keys = schema.keys
    absent: st.SearchStrategy[Any] = st.sampled_from([None, []])
    values = {path: st.one_of(_value(one), absent) for path, one in keys.items()}
    fitting = within(domain, schema)

    def built(drawn: dict[Path, Any]) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        for path, value in drawn.items():
            _put(metadata, path, value)
        return fitting.fit(metadata)

    return st.fixed_dictionaries({}, optional=values).map(built)


def drawn_filters(
    schema: Schema, allows: Callable[[Expression], bool], max_depth: int
) -> st.SearchStrategy[Expression]:
    """Filters that a schema takes, for :func:`vecstore.testing.filters`."""
    keys = list(schema.keys.items())

    def atoms(negated: bool) -> st.SearchStrategy[Expression]:
        return _drawn_atoms(keys).filter(lambda atom: allows(emitted(atom, negated)))

    return drawn_trees(atoms, max_depth)


@st.composite
def drawn_trees(
    draw: st.DrawFn, atoms: Callable[[bool], st.SearchStrategy[Expression]], max_depth: int
) -> Expression:
    """Trees of AND, OR and NOT.

    Args:
        draw: Given by hypothesis.
        atoms: What their leaves are, by whether an odd number of NOT is around these.
        max_depth: Most levels of AND, OR and NOT.
    """

    def tree(depth: int, negated: bool) -> Expression:
        shape = draw(st.integers(0, 4)) if depth > 0 else 0
        if shape <= 1:
            return draw(atoms(negated))
        if shape == 2:
            return Expression(Op.NOT, tree(depth - 1, not negated))
        children = [tree(depth - 1, negated) for _ in range(draw(st.integers(2, 3)))]
        return Expression(Op.AND if shape == 3 else Op.OR, *children)

    return tree(max_depth, False)


@st.composite
def _drawn_atoms(draw: st.DrawFn, keys: list[tuple[Path, KeyType]]) -> Expression:
    path, declared = draw(st.sampled_from(keys))
    op = draw(st.sampled_from(_ops(declared)))
    count = draw(st.integers(1, 3)) if op in MEMBERSHIPS else 1
    return atom_of(op, path, lambda: draw(_scalar(declared)), lambda: count)


def _ops(declared: KeyType) -> list[Op]:
    return [op for op in _ATOM_OPS if op not in ORDERINGS or declared.ordered]


def _scalar(declared: KeyType) -> st.SearchStrategy[Scalar]:
    pool = st.sampled_from(values_of(declared))
    if declared.choices is not None or declared.kind == "any":
        return pool
    form = _FORMS.get(declared.kind)
    return st.one_of(pool, _texts if form is None else form().map(to_scalar))


def _value(declared: KeyType) -> st.SearchStrategy[Any]:
    one = _scalar(declared)
    return st.lists(one, min_size=1, max_size=3) if declared.many else one


def _twin(value: Scalar) -> Scalar:
    """The same number as others may write it: 2020.0 for 2020, and the other way round."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is int and abs(value) < 2**53:
        return float(value)
    return value


def _put(metadata: dict[str, Any], path: Path, value: Any) -> None:
    inner = metadata
    for segment in path[:-1]:
        inner = inner.setdefault(segment, {})
    inner[path[-1]] = value
