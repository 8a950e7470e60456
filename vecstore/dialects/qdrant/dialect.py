"""Filters as the JSON of Qdrant's REST interface; the client's own models read it as it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import Any, ClassVar, Final

from vecstore.dialects.base import Dialect
from vecstore.dialects.qdrant.floats import DIGITS, REMEDY, keeps_float
from vecstore.dialects.qdrant.layout import as_path, is_timestamp
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import (
    ALL_LITERALS,
    SAFE_DOUBLE,
    Capabilities,
    Compiled,
    FloatRule,
    KeyRule,
    Refusal,
)
from vecstore.filter.normalize import fold_empty_list
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of

Condition = dict[str, Any]

_RANGE = {Op.GT: "gt", Op.GTE: "gte", Op.LT: "lt", Op.LTE: "lte"}
_BARE = re.compile("[A-Za-z0-9_-]+")
_GROUP = 22
_DEEPEST = 128
"""Objects in objects that a server reads; the metadata of documents ends at half of it."""

_FIRST_MOMENT = "T00:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Qdrant(Dialect[Condition]):
    """Qdrant: servers over REST and gRPC, the client's local mode, and the embedded engine.

    Args:
        prefix: Where the metadata stands in the payload: ``""`` for the payload itself, one key, or
            a tuple of keys for a path. Our own store and LangChain's have it under ``"metadata"``.
        datetimes: Keys that hold timestamps or nothing, and can therefore be ordered as such: a
            key as in a filter (``"author.born"``), or a tuple of names. Stores refuse other
            values there; whoever only compiles vouches for the data.

    Raises:
        ConfigurationError: For a prefix or key that Qdrant cannot address.

    Example:
        >>> Qdrant().compile("country == 'BG' AND city != 'Sofia'").query
        {'must': [{'key': 'country', 'match': {'value': 'BG'}}],
         'must_not': [{'key': 'city', 'match': {'value': 'Sofia'}}]}
    """

    name: ClassVar[str] = "qdrant"

    prefix: str | tuple[str, ...] = ""
    datetimes: Collection[str | tuple[str, ...]] = frozenset()

    def __post_init__(self) -> None:
        if isinstance(self.datetimes, str):
            raise ConfigurationError(
                f"datetimes is a set of keys; write datetimes={{{self.datetimes!r}}}"
            )
        try:
            paths = frozenset([as_path(key) for key in self.datetimes])
            own = (self.prefix,) if isinstance(self.prefix, str) else tuple(self.prefix)
            prefix = own if self.prefix else ()
        except TypeError:
            raise ConfigurationError(
                "prefix is a key, datetimes a set of keys; a key is its name, or a tuple of names "
                "for a path"
            ) from None
        object.__setattr__(self, "datetimes", paths)
        object.__setattr__(self, "prefix", prefix)
        for path in (prefix, *[path or ("",) for path in paths]):
            for name in path:
                if not isinstance(name, str) or not _ADDRESSABLE.fullmatch(name):
                    raise ConfigurationError(f"qdrant has no key {name!r}: {_QUOTES.reason}")

    @property
    def capabilities(self) -> Capabilities:
        """All but the ordering of texts."""
        return _CAPABILITIES

    def fold(self, atom: Expression) -> bool | None:
        """Decide atoms that are the same on every document.

        A declared key holds no numbers: to a datetime index, 5 would be a moment of 1970. And no
        payload is so deep that it had a value at a path of hundreds of steps.
        """
        if len(atom.key.path) > _DEEPEST:
            return atom.op in (Op.NE, Op.NIN, Op.ISNULL)
        if atom.key.path in self.datetimes and atom.op not in NULL_TESTS:
            if not any(isinstance(literal, str) for literal in atom.value.items):
                return atom.op in (Op.NE, Op.NIN)
        return fold_empty_list(atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if atom.op in ORDERINGS and atom.key.path in self.datetimes:
            return ALL_LITERALS[atom.op]
        return _CAPABILITIES.literals.get(atom.op)

    def check(self, atom: Expression) -> None:
        if atom.op not in ORDERINGS or not isinstance(atom.value.value, str):
            return
        if not (is_timestamp(atom.value.value) or _is_date(atom.value.value)):
            raise self.refuse(
                atom,
                "a key declared a datetime is ordered by timestamps and dates only",
                "write TIMESTAMP '2024-01-31T12:00:00Z' or DATE '2024-01-31'",
            )

    def all_of(self, parts: list[Condition]) -> Condition:
        """One ``must`` and one ``must_not``; what has a ``should`` stays a filter of its own."""
        together: Condition = {"must": [], "must_not": []}
        for part in parts:
            if part.keys() <= together.keys():
                for branch, conditions in part.items():
                    together[branch] += conditions
            else:
                together["must"].append(part)
        return {branch: conditions for branch, conditions in together.items() if conditions}

    def any_of(self, parts: list[Condition]) -> Condition:
        """One ``should``; an empty one would match everything and is never written."""
        flat = [part["should"] if part.keys() == {"should"} else [part] for part in parts]
        return {"should": [condition for conditions in flat for condition in conditions]}

    def compare(self, atom: Expression) -> Condition:
        """A range for an ordering; its second half keeps lists out, of which one element would do.

        The path ``key[]`` yields the elements of a list and nothing else.
        """
        if atom.op not in ORDERINGS:
            return self.member(atom)
        key = self._key(atom)
        bound = encode_bound(atom.op, atom.value.items[0])
        return {"must": [{"key": key, "range": bound}, {"is_empty": {"key": f"{key}[]"}}]}

    def member(self, atom: Expression) -> Condition:
        """Some literal equals the value, or an element of the list that is the value."""
        literals: Iterable[Scalar] = atom.value.items
        if atom.key.path in self.datetimes:
            literals = [literal for literal in literals if isinstance(literal, str)]
        conditions = self.values(self._key(atom), [*literals])
        if atom.op in (Op.NE, Op.NIN):
            return {"must_not": conditions}
        return conditions[0] if len(conditions) == 1 else {"should": conditions}

    def values(self, key: str, literals: Sequence[Scalar]) -> list[Condition]:
        """Conditions of which one holds where the value equals one of the literals."""
        return encode_values(key, literals)

    def null(self, atom: Expression) -> Condition:
        """``is_empty`` is missing, null or ``[]``; ``is_null`` would be another thing."""
        empty = {"is_empty": {"key": self._key(atom)}}
        return empty if atom.op is Op.ISNULL else {"must_not": [empty]}

    def finish(self, part: Condition) -> Compiled:
        return Compiled(self.name, part if part.keys() <= _BRANCHES else {"must": [part]})

    def everything(self) -> Compiled:
        return Compiled(self.name, {}, matches_all=True)

    def nothing(self) -> Compiled:
        """Not everything: an empty ``must`` is true."""
        return Compiled(self.name, {"must_not": [{"must": []}]}, matches_nothing=True)

    def _key(self, atom: Expression) -> str:
        return encode_key((*self.prefix, *atom.key.path))


def encode_key(path: tuple[str, ...]) -> str:
    """The one way a key gets into a filter.

    Qdrant reads dots and brackets outside quotes as steps, and knows no escape inside them.

    Example:
        >>> encode_key(("metadata", "author", "e.mail"))
        'metadata.author."e.mail"'
    """
    return ".".join([name if _BARE.fullmatch(name) else f'"{name}"' for name in path])


def is_addressable(name: str) -> bool:
    """Whether a path can name a key.

    Example:
        >>> is_addressable("a.b"), is_addressable('say "hi"')
        (True, False)
    """
    return _ADDRESSABLE.fullmatch(name) is not None


def encode_values(key: str, literals: Iterable[Scalar]) -> list[Condition]:
    """Conditions of which one holds where the value equals one of the literals.

    A number is a range of one point: ``match`` takes no floats, and tells 1 from 1.0.
    """
    sorted_out: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    for literal in literals:
        sorted_out[kind_of(literal)].append(literal)
    texts, numbers = sorted_out[Kind.STRING], sorted_out[Kind.NUMBER]
    conditions: list[Condition] = []
    if texts:
        match = {"value": texts[0]} if len(texts) == 1 else {"any": texts}
        conditions.append({"key": key, "match": match})
    conditions += [{"key": key, "match": {"value": truth}} for truth in sorted_out[Kind.BOOL]]
    return conditions + _among(key, sorted(numbers))


def _among(key: str, numbers: list[Any]) -> list[Condition]:
    """Ranges of one point, in groups of groups.

    Each group starts with the range that it is in: of ten thousand points that would be tried one
    by one, some thirty ranges are left for a value to be compared with. The range and the points
    stand in one ``must``, for the engine looks at the ``should`` of a filter before its ``must``.
    """
    if len(numbers) <= _GROUP:
        return [_between(key, number, number) for number in numbers]
    levels = 2
    while _GROUP**levels < len(numbers):
        levels += 1
    size = ceil(len(numbers) / ceil(len(numbers) ** (1 / levels)))
    groups = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return [
        {"must": [_between(key, group[0], group[-1]), {"should": _among(key, group)}]}
        for group in groups
    ]


def _between(key: str, lowest: float, highest: float) -> Condition:
    return {"key": key, "range": {"gte": lowest, "lte": highest}}


def encode_bound(op: Op, literal: Scalar) -> dict[str, Scalar]:
    """The range that an ordering stands for.

    A timestamp is longer than the date it starts with, and so comes after it as a text: past a
    date means from its first moment on, whether the date itself is included or not.
    """
    if isinstance(literal, str) and not is_timestamp(literal):
        return {"gte" if op in (Op.GT, Op.GTE) else "lt": literal + _FIRST_MOMENT}
    return {_RANGE[op]: literal}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_BRANCHES = frozenset({"must", "should", "must_not"})
_ADDRESSABLE = re.compile(r'[^"\\]+')
_QUOTES: Final = Refusal(
    "its filters have no way to name a key that is empty or holds a double quote or a backslash",
    "rename the key",
)
_TEXT_ORDER: Final = Refusal(
    "it orders numbers and timestamps, not texts",
    "store a number to order by; where the key holds timestamps, declare it: datetimes={...}",
)

_CAPABILITIES = Capabilities(
    literals={**ALL_LITERALS, **dict.fromkeys(ORDERINGS, frozenset({Kind.NUMBER}))},
    refusals=dict.fromkeys([(op, Kind.STRING) for op in ORDERINGS], _TEXT_ORDER),
    key_rule=KeyRule(_ADDRESSABLE, _QUOTES),
    # Numbers are compared as float64.
    max_number=SAFE_DOUBLE,
    float_rule=FloatRule(keeps_float, DIGITS, REMEDY),
    # A gRPC server reads 100 nested messages, of which a level takes two and the request with its
    # innermost condition up to ten; a REST server reads 128 levels of JSON, of two as well.
    max_depth=40,
)
