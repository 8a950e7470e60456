"""Filters as conditions on a column of JSON text; keys and values are bound parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from vecstore.authoring import (
    Bound,
    Capabilities,
    ConfigurationError,
    Expression,
    Op,
    SqlDialect,
    SqlPart,
)

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
class Lite(SqlDialect):
    """SQLite 3.38 and later, metadata as JSON text.

    Args:
        column: The column; qualified, ``"docs.metadata"``, where the query needs it to be.

    Raises:
        ConfigurationError: For a name that would have to be quoted, or that is one of the columns
            of ``json_each`` and not qualified.

    Example:
        >>> compiled = Lite().compile("year > 2020")
        >>> compiled.params
        ('year', 2020)
    """

    name: ClassVar[str] = "lite"
    match_all: ClassVar[str] = "1"
    match_none: ClassVar[str] = "0"

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

    def order(self, atom: Expression) -> SqlPart:
        literal = atom.value.items[0]
        types = "('text')" if isinstance(literal, str) else "('integer', 'real')"
        ordered = f"json_leaf.type IN {types} AND json_leaf.atom {_ORDER[atom.op]} "
        return self._exists(atom, [ordered, Bound(literal)])

    def member(self, atom: Expression) -> SqlPart:
        items = atom.value.items
        numbers = [item for item in items if not isinstance(item, str | bool)]
        # true and false are types to json_each; as a value, true is 1.
        flags = ["true" if item else "false" for item in items if isinstance(item, bool)]
        found = [
            (f"{_TYPE} = 'text' AND {_VALUE}", [item for item in items if isinstance(item, str)]),
            (f"{_TYPE} IN ('integer', 'real') AND {_VALUE}", numbers),
            (_TYPE, flags),
        ]
        condition: SqlPart = []
        for subject, literals in found:
            if literals:
                condition += [" OR " if condition else "(", f"{subject} IN (SELECT value FROM "]
                condition += ["json_each(", Bound(json.dumps(literals)), "))"]
        equal = self._exists(atom, [*condition, ")"], _ELEMENTS)
        return equal if atom.op in (Op.EQ, Op.IN) else ["NOT ", *equal]

    def null(self, atom: Expression) -> SqlPart:
        length = "json_array_length(json_leaf.value)"
        filled = f"CASE json_leaf.type WHEN 'null' THEN 0 WHEN 'array' THEN {length} ELSE 1 END"
        present = self._exists(atom, [filled])
        return present if atom.op is Op.ISNOTNULL else ["NOT ", *present]

    def _exists(self, atom: Expression, condition: SqlPart, more: str = "") -> SqlPart:
        """Whether a condition holds of ``json_leaf``, the value at the key.

        ``json_each`` has a row for each key of an object, whose value it does not parse as JSON
        unless it is an object itself: hence the CASE. Names of keys are compared, never spelled in
        a path, so that every key works.
        """
        path = atom.key.path
        names = [*[f"json_step{number}" for number in range(1, len(path))], "json_leaf"]
        inner = self.column
        tables = []
        keys: SqlPart = []
        for name, segment in zip(names, path, strict=True):
            tables.append(f"json_each({inner}) AS {name}")
            inner = f"CASE {name}.type WHEN 'object' THEN {name}.value END"
            keys += [f"{name}.key = ", Bound(segment), " AND "]
        found = f"EXISTS (SELECT 1 FROM {' JOIN '.join(tables)}{more} WHERE "
        return [found, *keys, *condition, ")"]
