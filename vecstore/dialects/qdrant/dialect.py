"""Filters as the JSON of Qdrant's REST interface; the client's own models read it as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, Final

from vecstore.dialects.base import Dialect
from vecstore.dialects.qdrant.conditions import (
    ADDRESSABLE,
    Condition,
    encode_bound,
    encode_key,
    encode_values,
    is_date,
)
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
from vecstore.filter.values import Kind, Scalar
from vecstore.frozen import frozen

_BRANCHES: Final = frozenset({"must", "should", "must_not"})
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
    key_rule=KeyRule(ADDRESSABLE, _QUOTES),
    # Numbers are compared as float64.
    max_number=SAFE_DOUBLE,
    float_rule=FloatRule(keeps_float, DIGITS, REMEDY),
    # A gRPC server reads 100 nested messages, of which a level takes two and the request with its
    # innermost condition up to ten; a REST server reads 128 levels of JSON, of two as well.
    max_depth=40,
)


@frozen
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
                if not isinstance(name, str) or not ADDRESSABLE.fullmatch(name):
                    raise ConfigurationError(f"qdrant has no key {name!r}: {_QUOTES.reason}")

    @property
    def capabilities(self) -> Capabilities:
        """All but the ordering of texts."""
        return _CAPABILITIES

    @property
    def folds(self) -> bool:
        return bool(self.datetimes)

    def fold(self, atom: Expression) -> bool | None:
        """A declared key holds no numbers: to a datetime index, 5 would be a moment of 1970."""
        if atom.key.path in self.datetimes and atom.op not in NULL_TESTS:
            if not any(isinstance(literal, str) for literal in atom.value.items):
                return atom.op in (Op.NE, Op.NIN)
        return fold_empty_list(atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if atom.op in ORDERINGS and atom.key.path in self.datetimes:
            return ALL_LITERALS[atom.op]
        return _CAPABILITIES.literals.get(atom.op)

    def check(self, atom: Expression) -> None:
        if atom.op not in ORDERINGS or atom.value.kind is not Kind.STRING:
            return
        text = str(atom.value.value)
        if not (is_timestamp(text) or is_date(text)):
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

    def order(self, atom: Expression) -> Condition:
        """A range; its second half keeps lists out, of which one element would do.

        The path ``key[]`` yields the elements of a list and nothing else.
        """
        key = self._key(atom)
        bound = encode_bound(atom.op, atom.value.items[0])
        return {"must": [{"key": key, "range": bound}, {"is_empty": {"key": f"{key}[]"}}]}

    def member(self, atom: Expression) -> Condition:
        """Some literal equals the value, or an element of the list that is the value."""
        literals: Sequence[Scalar] = atom.value.items
        if atom.key.path in self.datetimes:
            literals = [literal for literal in literals if isinstance(literal, str)]
        conditions = self.values(self._key(atom), literals)
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
