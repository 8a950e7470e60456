"""Metadata keys promoted to typed columns: what is stored, and how a filter reads it.

A declared key is a contract. Documents keep to it (the store refuses those that do not), so a
literal of another type can be decided without looking, and a comparison runs on the plain column,
where an ordinary index serves it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from vecstore.dialects.declared import Declaration
from vecstore.dialects.pgvector.conditions import MOST_CONTAINED, among_texts
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.sql import Bound, SqlPart
from vecstore.errors import ConfigurationError
from vecstore.filter.keys import read_key
from vecstore.filter.text import key_text
from vecstore.filter.tree import Op
from vecstore.filter.values import Kind, Scalar, UnusableValue, kind_of, shown
from vecstore.frozen import frozen

FORMER_TYPES: Final = {
    **{name: name for name in ("bool", "int", "float", "str", "datetime")},
    "list[str]": "list[str]",
}
_COLUMN_OF: Final = {"bool": "bool", "int": "int", "float": "float", "datetime": "datetime"}
INT64: Final = (-(2**63), 2**63 - 1)

_SYMBOLS = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


@frozen
class _Type:
    kind: Kind
    sql: str
    # How the column is computed from the JSON value, written {value}; NULL is "absent".
    generated: str


_TYPES: Final[dict[str, _Type]] = {
    "bool": _Type(
        Kind.BOOL,
        "boolean",
        "CASE jsonb_typeof({value}) WHEN 'boolean' THEN ({value})::boolean END",
    ),
    "int": _Type(
        Kind.NUMBER, "bigint", "CASE jsonb_typeof({value}) WHEN 'number' THEN ({value})::bigint END"
    ),
    "float": _Type(
        Kind.NUMBER,
        "double precision",
        "CASE jsonb_typeof({value}) WHEN 'number' THEN ({value})::double precision END",
    ),
    "str": _Type(
        Kind.STRING,
        'text COLLATE "C"',
        "CASE jsonb_typeof({value}) WHEN 'string' THEN {value} #>> '{{}}' END",
    ),
    # The canonical text of a timestamp sorts like time.
    "datetime": _Type(
        Kind.STRING,
        'text COLLATE "C"',
        "CASE jsonb_typeof({value}) WHEN 'string' THEN {value} #>> '{{}}' END",
    ),
    "list[str]": _Type(
        Kind.STRING,
        "jsonb",
        "CASE WHEN jsonb_typeof({value}) = 'array' AND {value} <> '[]' THEN {value} END",
    ),
}


@frozen
class Column:
    """One promoted key.

    Args:
        type: One of ``bool``, ``int``, ``float``, ``str``, ``list[str]``, ``datetime``.
        name: Name of the column; the key's own name when left out.

    Example:
        >>> Column("int", name="publication_year").sql_type
        'bigint'
    """

    type: str
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.type, str) or self.type not in _TYPES:
            raise ConfigurationError(
                f"a column's type is one of {', '.join(_TYPES)}, not {self.type!r}"
            )

    @property
    def sql_type(self) -> str:
        """The type of the column in SQL, with its collation."""
        return _TYPES[self.type].sql

    def generated(self, value: str) -> str:
        """The SQL expression that computes the column from the JSON expression ``value``."""
        return _TYPES[self.type].generated.format(value=value)

    def fault(self, value: Any) -> str | None:
        """Why a document's value cannot stand in this column, or None when it can."""
        if value is None or value == []:
            return None
        if self.type == "list[str]":
            fits = isinstance(value, list) and isinstance(value[0], str)
        elif isinstance(value, list | dict) or kind_of(value) is not _TYPES[self.type].kind:
            fits = False
        elif self.type == "int":
            fits = value == math.floor(value) and INT64[0] <= value <= INT64[1]
        elif self.type == "float":
            fits = isinstance(value, float) or _as_double(value) == value
        elif self.type == "datetime":
            fits = re.fullmatch(_TIMESTAMP, value) is not None
        else:
            fits = True
        if fits:
            return None
        wanted = "a datetime" if self.type == "datetime" else f"of type {self.type}"
        return f"the key is declared as {wanted}, which cannot hold {shown(value, 40)} exactly"

    def decided(self, op: Op, literals: tuple[Scalar, ...]) -> bool | None:
        """The verdict that the declared type forces on a comparison, or None."""
        if op in (Op.EQ, Op.IN):
            return None if self._usable(literals) else False
        if op in (Op.NE, Op.NIN):
            return None if self._usable(literals) else True
        if self.type == "list[str]" or kind_of(literals[0]) is not _TYPES[self.type].kind:
            return False  # unknown on every document, hence true on none
        return False if self._bound(op, literals[0]) is False else None

    def equal(self, column: str, literals: tuple[Scalar, ...]) -> SqlPart:
        """The column equals, or holds, one of the literals."""
        usable = self._usable(literals)
        if self.type == "list[str]" and len(usable) > MOST_CONTAINED:
            return among_texts(column, [str(item) for item in usable])
        if self.type == "list[str]":
            wanted = [encode_json([item]) for item in usable]
            return [f"{column} @> ANY(", Bound(wanted, "text[]::jsonb[]"), ")"]
        cast = _TYPES[self.type].sql.split(" COLLATE")[0]
        if len(usable) == 1:
            return [f"{column} = ", Bound(usable[0], cast)]
        return [
            f"{column} = ANY(",
            Bound([_text(item) for item in usable], f"text[]::{cast}[]"),
            ")",
        ]

    def order(self, column: str, op: Op, literal: Scalar) -> SqlPart:
        """The column stands in that order to the literal."""
        bound = self._bound(op, literal)
        if bound is True:
            return [f"{column} IS NOT NULL"]
        assert not isinstance(bound, bool)
        symbol, value = bound
        if isinstance(value, str):
            return [f'{column} COLLATE "C" {symbol} ', Bound(value, "text")]
        return [f"{column} {symbol} ", Bound(value, _TYPES[self.type].sql)]

    def _usable(self, literals: tuple[Scalar, ...]) -> list[Scalar]:
        """The literals that a value of this type can equal, as values of this type."""
        kind = _TYPES[self.type].kind
        same = [item for item in literals if kind_of(item) is kind]
        if self.type == "int":
            return [
                int(item)
                for item in same
                if not isinstance(item, str)
                and item == math.floor(item)
                and INT64[0] <= item <= INT64[1]
            ]
        if self.type == "float":
            doubles = [(_as_double(item), item) for item in same if not isinstance(item, str)]
            return [double for double, item in doubles if double == item]
        return same

    def _bound(self, op: Op, literal: Scalar) -> tuple[str, Scalar] | bool:
        """The comparison in values of this type, or what it is for every value."""
        if isinstance(literal, str):
            return _SYMBOLS[op], literal
        upwards = op in (Op.GT, Op.GTE)
        if self.type == "int":
            # Between two integers the nearest one on the right side says the same.
            whole = math.floor(literal) if op in (Op.GT, Op.LTE) else math.ceil(literal)
            if whole > INT64[1]:
                return not upwards
            if whole < INT64[0]:
                return upwards
            return _SYMBOLS[op], whole
        double = _as_double(literal)
        if math.isinf(double):
            return upwards if double < 0 else not upwards
        if double == literal:
            return _SYMBOLS[op], double
        # The literal lies strictly between two doubles; `double` is its neighbour on one side.
        if double > literal:
            return (">=" if upwards else "<"), double
        return (">" if upwards else "<="), double


def read_columns(columns: Any, schema: Declaration | None = None) -> tuple[tuple[str, Column], ...]:
    """Promoted keys with their columns, in the form that a frozen dialect keeps.

    Args:
        columns: Keys, or a mapping of keys to names of columns; or what has been read before.
        schema: What the keys hold.

    Raises:
        ConfigurationError: For a key that the schema does not declare, or that has no column, and a
            column used twice.
    """
    pairs: list[tuple[str, Column]] = []
    names: set[str] = set()
    for key, given in _listed(columns):
        if isinstance(given, Column) and not isinstance(columns, Mapping):
            segment, column = key, given  # what has been read before
        else:
            segment = _read_segment(key)
            column = Column(_column_type(segment, given, schema), given or segment)
        if column.name in names:
            raise ConfigurationError(f"columns: the column {column.name!r} is used for two keys")
        names.add(column.name)
        pairs.append((segment, column))
    return tuple(pairs)


def _listed(columns: Any) -> list[tuple[Any, Any]]:
    if isinstance(columns, Mapping):
        return list(columns.items())
    if isinstance(columns, str) or not isinstance(columns, Collection):
        raise ConfigurationError(
            "columns names keys, as in columns=['year'], or maps them to the names of their "
            f"columns; it is no {shown(columns, 40)}"
        )
    read = [one for one in columns if isinstance(one, tuple) and isinstance(one[-1], Column)]
    return read if len(read) == len(columns) else [(key, None) for key in columns]


def _read_segment(key: Any) -> str:
    try:
        path = read_key(key)
    except UnusableValue as error:
        raise ConfigurationError(f"columns: {error.reason}; {error.remedy}") from None
    if len(path) > 1:
        raise ConfigurationError(
            f"columns: {key!r} steps into an object, and only keys at the top of metadata have "
            f"columns; for one name with dots in it write {key_text((key,))!r}"
            if isinstance(key, str)
            else f"columns: {key!r} steps into an object, and only keys at the top have columns"
        )
    return path[0]


def _column_type(segment: str, given: Any, schema: Declaration | None) -> str:
    """The type of the column of a key, by what the schema says of it."""
    key = key_text((segment,))
    if isinstance(given, Column) or (isinstance(given, str) and given in FORMER_TYPES):
        held = given.type if isinstance(given, Column) else given
        raise ConfigurationError(
            f"columns: what keys hold is declared by a schema; write columns=[{segment!r}], "
            f"schema=Schema({{{key!r}: {FORMER_TYPES[held]}}}, others='allow')"
        )
    if given is not None and not isinstance(given, str):
        raise ConfigurationError(
            f"columns: the column of {segment!r} has a name, not a {type(given).__name__}"
        )
    declared = None if schema is None else schema.keys.get((segment,))
    if declared is None:
        raise ConfigurationError(
            f"columns: the key {key} needs a declaration: schema=Schema({{{key!r}: ...}})"
        )
    text = declared.filter_kind is Kind.STRING
    found = ("list[str]" if text else "") if declared.many else _COLUMN_OF.get(declared.kind, "")
    if not found and text:
        found = "str"
    if not found:
        many = "list[...]" if declared.many else declared.kind
        raise ConfigurationError(
            f"columns: {key} is declared as {many}, and a column holds bool, int, float, texts, or "
            "a list of texts; leave it in the metadata, where every filter is answered as well"
        )
    return found


def _as_double(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
