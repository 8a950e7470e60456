"""Filters as SQL over one column of JSON text, whoever wrote it; every key and value is bound."""

from __future__ import annotations

import json
from typing import ClassVar, Final, Literal, get_args

from vecstore.dialects.base import check_choice
from vecstore.dialects.declared import Declaration, declared_keys
from vecstore.dialects.sql import Bound, SqlDialect, SqlPart
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import Capabilities
from vecstore.filter.tree import Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field, frozen

ParamStyle = Literal["qmark", "named"]

_ORDER: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
# Of a list, vecstore_item is each element in turn; of anything else it has no row.
_ELEMENTS: Final = (
    " LEFT JOIN json_each(CASE vecstore_leaf.type WHEN 'array' THEN vecstore_leaf.value END)"
    " AS vecstore_item"
)
_TYPE: Final = "coalesce(vecstore_item.type, vecstore_leaf.type)"
_VALUE: Final = "coalesce(vecstore_item.atom, vecstore_leaf.atom)"
# By kind: how json_each tells it, and what is compared; true and false are types to it.
_KINDS: Final = {
    Kind.STRING: f"{_TYPE} = 'text' AND {_VALUE}",
    Kind.NUMBER: f"{_TYPE} IN ('integer', 'real') AND {_VALUE}",
    Kind.BOOL: _TYPE,
}
_JSON_EACH: Final = frozenset("key value type atom id parent fullkey path json root".split())
_LONGEST_PATH: Final = 60
# Integers past 64 bits are floats to its JSON; its parser has a stack of 100, and its expressions a
# depth of 1,000.
_CAPABILITIES: Final = Capabilities(max_number=2**63 - 1, max_depth=16, max_atoms=800)


@frozen
class SQLite(SqlDialect):
    """SQLite 3.38 and later, metadata as JSON text.

    What is no JSON counts as no metadata. Texts are in order by code point in a database whose
    encoding is UTF-8, as it is by default.

    Args:
        column: Name of the column; a tuple qualifies it: ``("docs", "metadata")``.
        paramstyle: ``"qmark"`` writes ``?`` and gives a tuple, ``"named"`` ``:p0`` and a dict.
        schema: What the keys hold, a :class:`~vecstore.Schema`. JSON needs no telling: it changes
            nothing.

    Raises:
        ConfigurationError: For a column name that SQL cannot hold, or that is one of the columns of
            ``json_each`` and not qualified; an unknown paramstyle, or a schema that is none.

    Example:
        >>> compiled = SQLite().compile("year > 2020")
        >>> compiled.params
        ('year', 2020)
    """

    name: ClassVar[str] = "sqlite"
    match_all: ClassVar[str] = "1"
    match_none: ClassVar[str] = "0"
    max_parameters: ClassVar[int] = 32_700

    column: str | tuple[str, ...] = "metadata"
    paramstyle: ParamStyle = "qmark"
    schema: Declaration | None = None
    _json: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        declared_keys(self.schema)  # refuses what is no schema
        if isinstance(self.column, list):
            put(self, "column", tuple(self.column))
        check_choice("paramstyle", self.paramstyle, get_args(ParamStyle))
        names = self.column if isinstance(self.column, tuple) else (self.column,)
        put(self, "_json", self.identifier(*names))
        if len(names) == 1 and names[0].lower() in _JSON_EACH:
            # Unqualified, the name would mean the column of json_each in the conditions below.
            raise ConfigurationError(
                f"qualify the column by its table: column=('docs', {names[0]!r})"
            )

    @property
    def capabilities(self) -> Capabilities:
        """Everything, as far as 64 bits hold integers."""
        return _CAPABILITIES

    def check(self, atom: Expression) -> None:
        """Refuse a path that is too long."""
        if len(atom.key.path) > _LONGEST_PATH:
            raise self.refuse(
                atom,
                f"it steps into at most {_LONGEST_PATH} objects, for which it joins as many tables",
                "store the value under a shorter path",
            )

    def order(self, atom: Expression) -> SqlPart:
        """A comparison that is guarded by the type of the value."""
        literal = atom.value.items[0]
        types = "('text')" if isinstance(literal, str) else "('integer', 'real')"
        ordered = f"vecstore_leaf.type IN {types} AND vecstore_leaf.atom {_ORDER[atom.op]} "
        return self._exists(atom, [ordered, Bound(literal)])

    def member(self, atom: Expression) -> SqlPart:
        """The value at the key, or an element of the list there, is one of the literals."""
        by_kind: dict[Kind, list[Scalar]] = {}
        for item in atom.value.items:
            kind = kind_of(item)
            by_kind.setdefault(kind, []).append(_flag(item) if kind is Kind.BOOL else item)
        condition: SqlPart = []
        for kind, literals in by_kind.items():
            condition += [" OR " if condition else "(", f"{_KINDS[kind]} IN (SELECT value FROM "]
            condition += ["json_each(", Bound(json.dumps(literals)), "))"]
        equal = self._exists(atom, [*condition, ")"], _ELEMENTS)
        return equal if atom.op in (Op.EQ, Op.IN) else ["NOT ", *equal]

    def null(self, atom: Expression) -> SqlPart:
        """Missing, null and ``[]`` are one thing."""
        length = "json_array_length(vecstore_leaf.value)"
        filled = f"CASE vecstore_leaf.type WHEN 'null' THEN 0 WHEN 'array' THEN {length} ELSE 1 END"
        present = self._exists(atom, [filled])
        return present if atom.op is Op.ISNOTNULL else ["NOT ", *present]

    def _exists(self, atom: Expression, condition: SqlPart, more: str = "") -> SqlPart:
        """Whether a condition holds of ``vecstore_leaf``, the value at the key.

        ``json_each`` has a row for each key of an object, whose value it does not parse as JSON
        unless it is an object itself: hence the CASE. Names of keys are compared, never spelled in
        a path, so that every key works.
        """
        path = atom.key.path
        names = [*[f"vecstore_step{number}" for number in range(1, len(path))], "vecstore_leaf"]
        inner = f"CASE WHEN json_valid({self._json}) THEN {self._json} END"
        tables = []
        keys: SqlPart = []
        for name, segment in zip(names, path, strict=True):
            tables.append(f"json_each({inner}) AS {name}")
            inner = f"CASE {name}.type WHEN 'object' THEN {name}.value END"
            keys += [f"{name}.key = ", Bound(segment), " AND "]
        found = f"EXISTS (SELECT 1 FROM {' JOIN '.join(tables)}{more} WHERE "
        return [found, *keys, *condition, ")"]


def _flag(item: Scalar) -> str:
    return "true" if item else "false"
