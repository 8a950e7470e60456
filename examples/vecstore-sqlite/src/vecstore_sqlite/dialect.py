"""Filters as conditions on a column of JSON text; keys and values are bound parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from vecstore.authoring import Capabilities, Compiled, ConfigurationError, Dialect, Expression, Op

# A piece of SQL with the parameters for the question marks in it, in order.
Sql = tuple[str, list[Any]]

# Of a list, json_item is each element in turn; of anything else it has no row.
_ELEMENTS = (
    " LEFT JOIN json_each(CASE json_leaf.type WHEN 'array' THEN json_leaf.value END) AS json_item"
)
_TYPE = "coalesce(json_item.type, json_leaf.type)"
_VALUE = "coalesce(json_item.atom, json_leaf.atom)"
_ORDER = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_JSON_EACH = frozenset("key value type atom id parent fullkey path json root".split())
_LONGEST_PATH = 60


@dataclass(frozen=True, slots=True)
class Sqlite(Dialect[Sql]):
    """SQLite 3.38 and later, metadata as JSON text.

    Args:
        column: The column; qualified, ``"docs.metadata"``, where the query needs it to be.

    Raises:
        ConfigurationError: For a name that would have to be quoted, or that is one of the columns
            of ``json_each`` and not qualified.

    Example:
        >>> compiled = Sqlite().compile("year > 2020")
        >>> compiled.params
        ('year', 2020)
    """

    name: ClassVar[str] = "sqlite"

    column: str = "metadata"

    def __post_init__(self) -> None:
        if not all(name.isidentifier() for name in self.column.split(".")):
            raise ConfigurationError(f"a column has a plain name, not {self.column!r}")
        if self.column.lower() in _JSON_EACH:
            # Unqualified, the name would mean the column of json_each in the conditions below.
            raise ConfigurationError(f'qualify the column: "docs.{self.column}"')

    @property
    def capabilities(self) -> Capabilities:
        """All operators on all types; larger integers are floats to SQLite."""
        return Capabilities(max_number=2**63 - 1, max_depth=16, max_atoms=800)

    def check(self, atom: Expression) -> None:
        if len(atom.key.path) > _LONGEST_PATH:
            raise self.refuse(
                atom,
                f"it steps into at most {_LONGEST_PATH} objects, for which it joins as many tables",
                "store the value under a shorter path",
            )

    def all_of(self, parts: list[Sql]) -> Sql:
        return _joined(parts, " AND ")

    def any_of(self, parts: list[Sql]) -> Sql:
        return _joined(parts, " OR ")

    def compare(self, atom: Expression) -> Sql:
        symbol = _ORDER.get(atom.op)
        if symbol is None:
            return self.member(atom)
        literal = atom.value.items[0]
        types = "('text')" if isinstance(literal, str) else "('integer', 'real')"
        ordered = f"json_leaf.type IN {types} AND json_leaf.atom {symbol} ?"
        return self._exists(atom, ordered, [literal])

    def member(self, atom: Expression) -> Sql:
        items = atom.value.items
        numbers = [item for item in items if not isinstance(item, str | bool)]
        # true and false are types to json_each; as a value, true is 1.
        flags = ["true" if item else "false" for item in items if isinstance(item, bool)]
        found = [
            (f"{_TYPE} = 'text' AND {_VALUE}", [item for item in items if isinstance(item, str)]),
            (f"{_TYPE} IN ('integer', 'real') AND {_VALUE}", numbers),
            (_TYPE, flags),
        ]
        among = "IN (SELECT value FROM json_each(?))"
        conditions = [f"{subject} {among}" for subject, literals in found if literals]
        params = [json.dumps(literals) for _, literals in found if literals]
        equal = self._exists(atom, f"({' OR '.join(conditions)})", params, _ELEMENTS)
        return equal if atom.op in (Op.EQ, Op.IN) else _not(equal)

    def null(self, atom: Expression) -> Sql:
        length = "json_array_length(json_leaf.value)"
        filled = f"CASE json_leaf.type WHEN 'null' THEN 0 WHEN 'array' THEN {length} ELSE 1 END"
        present = self._exists(atom, filled, [])
        return present if atom.op is Op.ISNOTNULL else _not(present)

    def finish(self, part: Sql) -> Compiled:
        sql, params = part
        return Compiled(self.name, sql, tuple(params))

    def everything(self) -> Compiled:
        return Compiled(self.name, "1", matches_all=True)

    def nothing(self) -> Compiled:
        return Compiled(self.name, "0", matches_nothing=True)

    def _exists(self, atom: Expression, condition: str, params: list[Any], more: str = "") -> Sql:
        """Whether a condition holds of ``json_leaf``, the value at the key.

        ``json_each`` has a row for each key of an object, whose value it does not parse as JSON
        unless it is an object itself: hence the CASE. Names of keys are compared, never spelled in
        a path, so that every key works.
        """
        path = atom.key.path
        names = [*[f"json_step{number}" for number in range(1, len(path))], "json_leaf"]
        inner = self.column
        tables = []
        for name in names:
            tables.append(f"json_each({inner}) AS {name}")
            inner = f"CASE {name}.type WHEN 'object' THEN {name}.value END"
        keys = " AND ".join([f"{name}.key = ?" for name in names])
        sql = f"EXISTS (SELECT 1 FROM {' JOIN '.join(tables)}{more} WHERE {keys} AND {condition})"
        return sql, [*path, *params]


def _not(part: Sql) -> Sql:
    return f"NOT {part[0]}", part[1]


def _joined(parts: list[Sql], joint: str) -> Sql:
    texts = [sql for sql, _ in parts]
    return f"({joint.join(texts)})", [value for _, params in parts for value in params]
