"""Filters as the JSON of Qdrant's REST interface; the client's own models read it as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from vecstore.dialects.base import Dialect
from vecstore.dialects.declared import (
    Declaration,
    DeclaredKey,
    Path,
    as_membership,
    decided,
    declared_keys,
    literals_held,
)
from vecstore.dialects.floats import DIGITS, REMEDY, keeps_float
from vecstore.dialects.qdrant.conditions import (
    ADDRESSABLE,
    Condition,
    encode_bound,
    encode_day_bound,
    encode_key,
    encode_values,
    is_date,
)
from vecstore.dialects.qdrant.layout import is_timestamp
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
from vecstore.filter.tree import ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, Scalar
from vecstore.frozen import field, frozen

_ORDERED_TEXTS: Final = frozenset({"datetime", "date"})
_BRANCHES: Final = frozenset({"must", "should", "must_not"})
_QUOTES: Final = Refusal(
    "its filters have no way to name a key that is empty or holds a double quote or a backslash",
    "rename the key",
)
_TEXT_ORDER: Final = Refusal(
    "it orders numbers and timestamps, not texts",
    "store a number to order by; where the key holds timestamps, dates, or a few texts that are "
    "known, declare it: schema=Schema({'key': datetime})",
)
_MOMENTS: Final = Refusal(
    "a key declared a datetime or a date is ordered by timestamps and dates only",
    "write TIMESTAMP '2024-01-31T12:00:00Z' or DATE '2024-01-31'",
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
        schema: What the keys hold, a :class:`~vecstore.Schema`: those that hold timestamps, dates,
            or a few texts that are known, can be ordered. Stores refuse other values there; whoever
            only compiles vouches for the data.

    Raises:
        ConfigurationError: For a prefix that Qdrant cannot address.

    Example:
        >>> Qdrant().compile("country == 'BG' AND city != 'Sofia'").query
        {'must': [{'key': 'country', 'match': {'value': 'BG'}}],
         'must_not': [{'key': 'city', 'match': {'value': 'Sofia'}}]}
    """

    name: ClassVar[str] = "qdrant"
    former_options: ClassVar[Mapping[str, str]] = {
        "datetimes": "a schema says which keys hold timestamps; write "
        "schema=Schema({'created': datetime}, others='allow')"
    }

    prefix: str | tuple[str, ...] = ""
    schema: Declaration | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            own = (self.prefix,) if isinstance(self.prefix, str) else tuple(self.prefix)
            prefix = own if self.prefix else ()
        except TypeError:
            raise ConfigurationError("prefix is a key, or a tuple of names for a path") from None
        object.__setattr__(self, "prefix", prefix)
        object.__setattr__(self, "_declared", declared_keys(self.schema))
        for name in prefix:
            if not isinstance(name, str) or not ADDRESSABLE.fullmatch(name):
                raise ConfigurationError(f"qdrant has no key {name!r}: {_QUOTES.reason}")

    @property
    def capabilities(self) -> Capabilities:
        """All but the ordering of texts that are not declared."""
        return _CAPABILITIES

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible.

        To a datetime index, the number 5 would be a moment of 1970.
        """
        return decided(self._declared.get(atom.key.path), atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if atom.op in ORDERINGS:
            declared = self._declared.get(atom.key.path)
            if declared is not None and (declared.choices or declared.kind in _ORDERED_TEXTS):
                return ALL_LITERALS[atom.op]
        return _CAPABILITIES.literals.get(atom.op)

    def check(self, atom: Expression) -> None:
        if atom.op not in ORDERINGS or atom.value.kind is not Kind.STRING:
            return
        text, declared = str(atom.value.value), self._declared.get(atom.key.path)
        if declared is None or declared.choices is None:
            if not (is_timestamp(text) or is_date(text)):
                raise self.refuse(atom, _MOMENTS.reason, _MOMENTS.remedy)

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
        declared = self._declared.get(atom.key.path)
        literal = atom.value.items[0]
        if declared is not None and declared.choices and isinstance(literal, str):
            return self.member(as_membership(declared, atom))
        key = self._key(atom)
        by_day = declared is not None and declared.kind == "date"
        bound = (encode_day_bound if by_day else encode_bound)(atom.op, literal)
        return {"must": [{"key": key, "range": bound}, {"is_empty": {"key": f"{key}[]"}}]}

    def member(self, atom: Expression) -> Condition:
        """Some literal equals the value, or an element of the list that is the value."""
        declared = self._declared.get(atom.key.path)
        literals = atom.value.items if declared is None else literals_held(declared, atom)
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
