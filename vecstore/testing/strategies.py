"""Hypothesis strategies: filters and documents that meet, for property tests of anyone's code."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from hypothesis import strategies as st

from vecstore.filter.convert import Capabilities
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, NULL_TESTS, Expression, Key, Op, Value
from vecstore.filter.values import RESERVED_PREFIX, Kind, Scalar
from vecstore.schema.schema import Schema
from vecstore.testing.declared import atom_refusal
from vecstore.testing.of_schema import drawn_documents, drawn_filters, drawn_trees
from vecstore.testing.random_cases import emitted
from vecstore.testing.rows import ANYTHING, Domain
from vecstore.testing.samples import (
    KEYS,
    LISTS,
    NUMBERS,
    OBJECTS,
    ODD_KEYS,
    ODD_PATHS,
    PATHS,
    TEXTS,
)

Drawn = TypeVar("Drawn")

_EVERYTHING = Capabilities()
_ATOM_OPS = tuple(op for op in Op if op not in LOGICAL)

_texts = st.one_of(
    st.sampled_from(TEXTS),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
)
_numbers: st.SearchStrategy[int | float] = st.one_of(
    st.integers(-2, 2),
    st.sampled_from(NUMBERS),
    st.integers(2**53 - 2, 2**53 + 2),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
)
_BY_KIND: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.NUMBER: _numbers,
    Kind.STRING: _texts,
}
_segments = st.one_of(st.sampled_from(KEYS), st.sampled_from(ODD_KEYS), _texts).filter(
    lambda text: bool(text) and not text.startswith(RESERVED_PREFIX)
)
_paths: st.SearchStrategy[tuple[str, ...]] = st.one_of(
    st.sampled_from([(key,) for key in KEYS]),
    st.sampled_from([(key,) for key in KEYS]),
    st.sampled_from(PATHS),
    st.sampled_from(ODD_PATHS),
    st.lists(_segments, min_size=1, max_size=2).map(tuple),
)


def filters(
    capabilities: Capabilities | None = None, *, max_depth: int = 6, schema: Schema | None = None
) -> st.SearchStrategy[Expression]:
    """Filters with every operator, hostile and odd keys and values, near misses, any nesting.

    They use few keys, the same as :func:`metadata`, so that they hit its documents.

    Args:
        capabilities: What the filters may use; a dialect's own, so that it refuses none of them.
            By default everything.
        max_depth: Most levels of AND, OR and NOT.
        schema: Draw filters that a schema takes, on its keys.

    Example:
        >>> from hypothesis import given, settings
        >>> from vecstore import parse
        >>> @settings(max_examples=10, database=None)
        ... @given(filters())
        ... def test_text_round_trip(filter):
        ...     assert parse(filter.to_text(), limits=None) == filter
        >>> test_text_round_trip()
    """
    declared = capabilities or _EVERYTHING
    if schema is not None:
        allows = partial(_allowed, declared)
        return _ready(drawn_filters(schema, allows, max_depth))
    choices = [
        (op, kind)
        for op in _ATOM_OPS
        if declared.literals.get(op) is not None
        for kind in (None, *_BY_KIND)
        if (kind is None) is (op in NULL_TESTS) and (kind is None or kind in declared.literals[op])
    ]
    if not choices:
        raise ValueError("these capabilities allow no operator at all")
    return _ready(_trees(declared, choices, max_depth))


def _allowed(declared: Capabilities, atom: Expression) -> bool:
    return atom_refusal(declared, atom) is None


def _trees(
    declared: Capabilities, choices: list[tuple[Op, Kind | None]], max_depth: int
) -> st.SearchStrategy[Expression]:
    def atoms(negated: bool) -> st.SearchStrategy[Expression]:
        allowed = st.sampled_from(choices).flatmap(_atoms).filter(partial(_allowed, declared))
        # The choices speak of what is left when NOT has been pushed down.
        return allowed.map(lambda atom: emitted(atom, negated))

    def _atoms(choice: tuple[Op, Kind | None]) -> st.SearchStrategy[Expression]:
        op, kind = choice
        keys = _paths.map(lambda path: Key(*path))
        if kind is None:
            return keys.map(lambda key: Expression(op, key))
        literals = _BY_KIND[kind]
        if op in MEMBERSHIPS:
            others = st.one_of(*[_BY_KIND[other] for op_, other in choices if op_ is op and other])
            literals = st.lists(st.one_of(literals, others), max_size=4)
        return st.builds(lambda key, literal: Expression(op, key, Value(literal)), keys, literals)

    return drawn_trees(atoms, max_depth)


def metadata(
    domain: Domain = ANYTHING, *, schema: Schema | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    """Metadata of documents with every type of value, lists, nulls and nested objects.

    Args:
        domain: What the documents may hold; by default everything.
        schema: Draw documents that fit a schema.

    Example:
        >>> from hypothesis import given, settings
        >>> from vecstore import parse
        >>> @settings(max_examples=10, database=None)
        ... @given(metadata())
        ... def test_a_value_is_null_or_not(document):
        ...     assert parse("k IS NULL OR k IS NOT NULL").matches(document)
        >>> test_a_value_is_null_or_not()
    """
    if schema is not None:
        return _ready(drawn_documents(schema, domain))
    lists: st.SearchStrategy[list[Scalar]] = st.one_of(
        st.sampled_from(LISTS), *[st.lists(values, max_size=3) for values in _BY_KIND.values()]
    )
    values = st.one_of(*_BY_KIND.values(), lists, st.none(), st.sampled_from(OBJECTS))
    inner = st.fixed_dictionaries(
        {},
        optional={"k": values, "y": values, "x": st.fixed_dictionaries({}, optional={"k": values})},
    )
    known = st.fixed_dictionaries(
        {}, optional={**dict.fromkeys(KEYS, values), "n": st.one_of(inner, values)}
    )
    odd = st.dictionaries(_segments, st.one_of(values, inner), max_size=2)
    return _ready(st.builds(lambda few, more: domain.fit({**more, **few}), known, odd))


def _ready(strategy: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """A strategy that has its tables already.

    Hypothesis makes those of Unicode when they are first needed, which takes most of a second on a
    busy machine. While an example is drawn, that would count as drawing slowly.
    """
    for part in (_texts, _paths, _segments, strategy):
        part.validate()
    return strategy
