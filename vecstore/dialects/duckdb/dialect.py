"""Filters as SQL over one JSON column, whoever wrote it; every key and value is bound."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, get_args

from vecstore.dialects.base import check_choice
from vecstore.dialects.declared import Declaration, declared_keys
from vecstore.dialects.sql import Bound, SqlDialect, SqlPart, joined
from vecstore.filter.convert import SAFE_DOUBLE, Capabilities
from vecstore.filter.tree import Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field, frozen

ParamStyle = Literal["qmark", "numeric_dollar"]

_ORDER: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
# One text: IN of so many constants becomes a join, and hundreds of comparisons take seconds then.
_NUMBERS: Final = "contains('UBIGINT BIGINT DOUBLE HUGEINT UHUGEINT DECIMAL', {})"
# By kind: how json_type tells it, and the type that it is compared as.
_KINDS: Final = {
    Kind.STRING: ("{} = 'VARCHAR'", "VARCHAR"),
    Kind.NUMBER: (_NUMBERS, "DOUBLE"),
    Kind.BOOL: ("{} = 'BOOLEAN'", "BOOLEAN"),
}
# Hundreds of conditions on one key, joined by AND one by one, keep DuckDB's optimizer busy for
# minutes (400 of them 13 seconds, 1,000 over 80). In groups they take it two seconds at most, and
# rows that a group leaves out are not looked at by the next one.
_GROUP: Final = 32
_CAPABILITIES: Final = Capabilities(max_number=SAFE_DOUBLE, max_depth=100, max_atoms=1_000)


@frozen
class DuckDB(SqlDialect):
    """DuckDB 1.4 and later, metadata in a JSON column.

    Args:
        column: Name of the column; a tuple qualifies it: ``("d", "metadata")``.
        paramstyle: ``"qmark"`` writes ``?`` and gives a tuple, ``"numeric_dollar"`` ``$1`` and a
            tuple, in which a value that stands in several places is bound once.
        schema: What the keys hold, a :class:`~vecstore.Schema`. JSON needs no telling: it changes
            nothing.

    Raises:
        ConfigurationError: For a column name that SQL cannot hold, an unknown paramstyle, or
            a schema that is none.

    Example:
        >>> compiled = DuckDB(paramstyle="numeric_dollar").compile("year >= 2020")
        >>> compiled.params
        ('/year', 2020.0)
    """

    name: ClassVar[str] = "duckdb"

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

    @property
    def capabilities(self) -> Capabilities:
        """Everything, as far as doubles tell numbers apart."""
        return _CAPABILITIES

    def all_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a AND b ...)``; many of them in groups."""
        if len(parts) <= _GROUP:
            return joined(parts, " AND ")
        # A list's NULLs would be passed over.
        decided: list[SqlPart] = [["(", *part, ") IS TRUE"] for part in parts]
        groups = (decided[at : at + _GROUP] for at in range(0, len(parts), _GROUP))
        anded = [["list_bool_and(list_value", *joined(group, ", "), ")"] for group in groups]
        return joined(anded, " AND ")

    def order(self, atom: Expression) -> SqlPart:
        """A comparison that is guarded by the type of the value."""
        at, literal = self._at(atom), atom.value.items[0]
        symbol = _ORDER[atom.op]
        if isinstance(literal, str):
            return ["(json_type", *at, " = 'VARCHAR' AND json_extract_string", *at, f" {symbol} ",
                    Bound(literal, "VARCHAR"), ")"]  # fmt: skip
        # TRY_CAST: the engine may try the second condition where the first does not hold.
        return ["(", *_told(_NUMBERS, at), " AND TRY_CAST(json_extract", *at,
                f" AS DOUBLE) {symbol} ", Bound(float(literal), "DOUBLE"), ")"]  # fmt: skip

    def member(self, atom: Expression) -> SqlPart:
        """The value at the key, or an element of the list there, is one of the literals."""
        by_kind: dict[Kind, list[Scalar]] = {}
        for item in atom.value.items:
            by_kind.setdefault(kind_of(item), []).append(item)
        found = [self._holds(atom, kind, items) for kind, items in by_kind.items()]
        verdict = "IS TRUE" if atom.op in (Op.EQ, Op.IN) else "IS NOT TRUE"
        return ["(", *joined(found, " OR "), f" {verdict})"]

    def null(self, atom: Expression) -> SqlPart:
        """Missing, null and ``[]`` are one thing."""
        at = self._at(atom)
        absent: SqlPart = ["(coalesce(json_type", *at, ", 'NULL') = 'NULL' OR (json_type", *at,
                           " = 'ARRAY' AND json_array_length", *at, " = 0))"]  # fmt: skip
        return absent if atom.op is Op.ISNULL else ["(NOT ", *absent, ")"]

    def _holds(self, atom: Expression, kind: Kind, items: list[Scalar]) -> SqlPart:
        """The value, or a list whose first element is of that kind, has one of the literals."""
        at, first = self._at(atom), self._at(atom, first=True)
        told, type = _KINDS[kind]
        scalar: SqlPart = ["TRY_CAST(json_extract", *at, f" AS {type})"]
        if kind is Kind.STRING:
            scalar = ["json_extract_string", *at]
        several: SqlPart = ["TRY_CAST(json_extract", *at, f" AS {type}[])"]
        literals = [float(item) for item in items] if kind is Kind.NUMBER else items
        whether: SqlPart = ["CASE WHEN ", *_told(told, at), " THEN "]
        is_list: SqlPart = [
            " WHEN json_type",
            *at,
            " = 'ARRAY' AND ",
            *_told(told, first),
            " THEN ",
        ]
        # list_has_any would look up all literals anew for each row.
        return ["(len(list_filter(", *whether, "[", *scalar, "]", *is_list, *several,
                " END, lambda held: list_contains(", Bound(literals, f"{type}[]"),
                ", held))) > 0)"]  # fmt: skip

    def _at(self, atom: Expression, *, first: bool = False) -> SqlPart:
        """The arguments of a JSON function: the column, and where in it."""
        return [f"({self._json}, ", Bound(json_path(atom.key.path, first=first), "VARCHAR"), ")"]


def _told(condition: str, at: SqlPart) -> SqlPart:
    """A condition on the type of what is there."""
    before, _, after = condition.partition("{}")
    return [f"{before}json_type", *at, after]


def json_path(path: tuple[str, ...], *, first: bool = False) -> str:
    """Where a key's value is, as DuckDB's JSON functions read it from a parameter.

    A JSON pointer names every key, but its numbers reach into lists as well, where the quoted names
    of a JSONPath mean keys alone.

    Args:
        path: Names of keys, none of them empty.
        first: Whether the first element of the list there is meant.

    Example:
        >>> json_path(("a/b", "~")), json_path(("t", "0"), first=True)
        ('/a~1b/~0', '$."t"."0"[0]')
    """
    if any(segment.isdecimal() for segment in path):
        quoted = [segment.replace("\\", "\\\\").replace('"', '\\"') for segment in path]
        return "$" + "".join([f'."{segment}"' for segment in quoted]) + ("[0]" if first else "")
    steps = [segment.replace("~", "~0").replace("/", "~1") for segment in path]
    return "".join(["/" + step for step in [*steps, *(["0"] if first else [])]])
