"""Filters as SQL over one JSONB column; every key and value is a bound parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vecstore.dialects.base import Dialect
from vecstore.dialects.pgvector.columns import Column, read_columns
from vecstore.dialects.pgvector.layout import encode_json, nested
from vecstore.dialects.pgvector.membership import MOST_CONTAINED, MOST_WITHOUT_INDEX, among
from vecstore.dialects.pgvector.reading import CONTAINS, Combination, all_of, any_of
from vecstore.dialects.pgvector.sql import Bound, Read, SqlPart, quoted
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import Capabilities, Compiled
from vecstore.filter.normalize import fold_empty_list
from vecstore.filter.tree import NULL_TESTS, Expression, Op

ParamStyle = Literal["pyformat", "format", "named", "numeric_dollar"]

_MAX_PARAMETERS = 65_535
_ORDER = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_STYLES: dict[str, tuple[str, str]] = {
    # How a parameter with its cast is written, from its position counted from 0.
    "pyformat": ("%(p{index})s", "{bound}::{type}"),
    "format": ("%s", "{bound}::{type}"),
    # A colon right behind a named parameter would be read as part of it.
    "named": (":p{index}", "CAST({bound} AS {type})"),
    "numeric_dollar": ("${number}", "{bound}::{type}"),
}


@dataclass(frozen=True, slots=True)
class Pgvector(Dialect[SqlPart]):
    """PostgreSQL 13 and later, metadata in a JSONB column.

    Args:
        column: Name of the JSONB column; a tuple qualifies it: ``("d", "metadata")``.
        paramstyle: ``"pyformat"`` writes ``%(p0)s`` and gives a dict (psycopg), ``"format"``
            ``%s`` and a tuple (psycopg), ``"named"`` ``:p0`` and a dict (SQLAlchemy ``text``),
            ``"numeric_dollar"`` ``$1`` and a tuple (asyncpg).
        columns: Keys at the top of metadata that have a typed column of their own, as
            ``{"year": "int"}`` or ``{"year": Column("int", name="published")}``. A declared key is
            a contract: whoever only compiles vouches for the rows. The filter reads the column,
            which must be computed as :meth:`Column.generated` says, and NULL where the key is
            absent.
        indexed: Whether a GIN index serves the column. It answers short lists; without one they
            are looked up row by row like long ones, which selects the same rows.

    Raises:
        ConfigurationError: For a column name that SQL cannot hold or an unknown paramstyle.

    Example:
        >>> compiled = Pgvector(column="meta").compile("country == 'BG'")
        >>> compiled.query
        '"meta" @> ANY(%(p0)s::text[]::jsonb[])'
        >>> compiled.params
        {'p0': ['{"country":"BG"}', '{"country":["BG"]}']}
    """

    name: ClassVar[str] = "pgvector"

    column: str | tuple[str, ...] = "metadata"
    paramstyle: ParamStyle = "pyformat"
    columns: Mapping[str, str | Column] | tuple[tuple[str, Column], ...] = ()
    indexed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", read_columns(self.columns or {}))
        if isinstance(self.column, list):
            object.__setattr__(self, "column", tuple(self.column))
        if not isinstance(self.paramstyle, str) or self.paramstyle not in _STYLES:
            raise ConfigurationError(
                f"unknown paramstyle {self.paramstyle!r}; one of {', '.join(_STYLES)}"
            )
        names = self.column if isinstance(self.column, tuple) else (self.column,)
        for name in [*(names or ("",)), *[column.name for _, column in self._declared]]:
            if not isinstance(name, str) or not name or "\0" in name:
                raise ConfigurationError(f"a column name is non-empty text, not {name!r}")
            if self.paramstyle == "named" and (":" in name or "\\" in name):
                raise ConfigurationError(
                    f"the column name {name!r} holds a character that paramstyle 'named' would "
                    "read as a parameter; use another paramstyle"
                )

    @property
    def capabilities(self) -> Capabilities:
        """Everything, within the sizes that the server takes."""
        return _CAPABILITIES

    @property
    def _declared(self) -> tuple[tuple[str, Column], ...]:
        assert isinstance(self.columns, tuple)
        return self.columns

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declared type of a key makes impossible."""
        verdict = fold_empty_list(atom)
        column = self._column_of(atom)
        if verdict is not None or column is None or atom.op in NULL_TESTS:
            return verdict
        return column.decided(atom.op, atom.value.items)

    def all_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a AND b ...)``."""
        return all_of(_with_few_scans(parts))

    def any_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a OR b ...)``."""
        return any_of(parts, _MAX_PARAMETERS if self.paramstyle == "format" else None)

    def compare(self, atom: Expression) -> SqlPart:
        """Containment for (in)equality, a guarded comparison for an ordering."""
        symbol = _ORDER.get(atom.op)
        if symbol is None:
            return self.member(atom)
        literal = atom.value.items[0]
        declared = self._column_of(atom)
        if declared is not None:
            return declared.order(self._quoted(declared.name), atom.op, literal)
        typed: SqlPart = ["(jsonb_typeof(", *self._step(atom), ") = "]
        if isinstance(literal, str):
            text = self._step(atom, last="->>")
            # COLLATE "C" compares by code point whatever the database's own collation is.
            return [*typed, "'string' AND (", *text, f') COLLATE "C" {symbol} ',
                    Bound(literal, "text"), ")"]  # fmt: skip
        return [*typed, "'number' AND (", *self._step(atom), f") {symbol} ",
                Bound(encode_json(literal), "jsonb"), ")"]  # fmt: skip

    def member(self, atom: Expression) -> SqlPart:
        """The document contains the value at the key, or a list that holds it."""
        declared = self._column_of(atom)
        if declared is not None:
            contained = declared.equal(self._quoted(declared.name), atom.value.items)
        elif len(atom.value.items) > self._most_contained(atom.op):
            contained = among(self._step(atom), self._step(atom, last="->>"), atom.value.items)
        else:
            candidates = [
                nested(atom.key.path, item, in_list=in_list)
                for item in atom.value.items
                for in_list in (False, True)
            ]
            contained = [self._column(), CONTAINS, Bound(candidates, "text[]::jsonb[]"), ")"]
        if atom.op in (Op.EQ, Op.IN):
            return contained
        # IS NOT TRUE rather than NOT: a NULL column is a document without the key.
        return ["(", *contained, ") IS NOT TRUE"]

    def _most_contained(self, op: Op) -> int:
        """The longest list that is compared by containment, which only an index makes cheap."""
        return MOST_CONTAINED if op is Op.IN and self.indexed else MOST_WITHOUT_INDEX

    def null(self, atom: Expression) -> SqlPart:
        """Missing, null and ``[]`` are one thing."""
        declared = self._column_of(atom)
        negation = "" if atom.op is Op.ISNULL else "NOT "
        if declared is not None:
            return [f"{self._quoted(declared.name)} IS {negation}NULL"]
        return [
            "coalesce(", *self._step(atom), ", 'null'::jsonb) ",
            f"{negation}IN ('null'::jsonb, '[]'::jsonb)",
        ]  # fmt: skip

    def finish(self, part: SqlPart) -> Compiled:
        """Number the parameters in the order in which they stand."""
        bound = [piece for piece in part if isinstance(piece, Bound)]
        if self.paramstyle != "format":
            # A list that stands in several places travels once.
            bound = list({id(piece): piece for piece in bound}.values())
        if len(bound) > _MAX_PARAMETERS:
            raise self.refuse(
                None,
                f"it binds at most {_MAX_PARAMETERS:,} parameters, not {len(bound):,}",
                "use IN for many values of one key",
            )
        numbers = {id(piece): index for index, piece in enumerate(bound)}
        marker, cast = _STYLES[self.paramstyle]
        sql: list[str] = []
        for piece in part:
            if isinstance(piece, Bound):
                index = numbers[id(piece)]
                written = marker.format(index=index, number=index + 1)
                for step in piece.type.split("::"):
                    written = cast.format(bound=written, type=step)
                sql.append(written)
            else:
                sql.append(piece)
        values = [piece.value for piece in bound]
        params: Any = tuple(values)
        if self.paramstyle in ("pyformat", "named"):
            params = {f"p{number}": value for number, value in enumerate(values)}
        return Compiled(self.name, "".join(sql), params)

    def everything(self) -> Compiled:
        """``TRUE``."""
        return Compiled(self.name, "TRUE", self._no_params(), matches_all=True)

    def nothing(self) -> Compiled:
        """``FALSE``."""
        return Compiled(self.name, "FALSE", self._no_params(), matches_nothing=True)

    def _no_params(self) -> Any:
        return {} if self.paramstyle in ("pyformat", "named") else ()

    def _column_of(self, atom: Expression) -> Column | None:
        """The typed column of the atom's key, if it is declared."""
        path = atom.key.path
        return dict(self._declared).get(path[0]) if len(path) == 1 and self.columns else None

    def _column(self) -> Read:
        names = (self.column,) if isinstance(self.column, str) else self.column
        return Read(self._escaped(quoted(*names)))

    def _quoted(self, name: str) -> str:
        """A typed column, qualified like the JSONB column."""
        qualifiers = () if isinstance(self.column, str) else self.column[:-1]
        return self._escaped(quoted(*qualifiers, name))

    def _escaped(self, name: str) -> str:
        return name.replace("%", "%%") if self.paramstyle in ("pyformat", "format") else name

    def _step(self, atom: Expression, last: str = "->") -> SqlPart:
        """Step into objects one key at a time; a path operator would also enter lists."""
        *outer, final = atom.key.path
        steps: SqlPart = [self._column()]
        for segment in outer:
            steps += [" -> ", Bound(segment, "text")]
        return [*steps, f" {last} ", Bound(final, "text")]


_CAPABILITIES = Capabilities(max_depth=1_000)
_MOST_SCANS = 64


def _with_few_scans(parts: list[SqlPart]) -> list[SqlPart]:
    """Keep the conditions of an AND from multiplying the work of a GIN index.

    PostgreSQL answers all ``@> ANY`` of an AND in one go, scanning the index once for every
    combination of their elements: 2 ** n times for n equalities. Past a few, the longer lists are
    hidden from the index by IS TRUE, and tested on the rows that the shorter ones find.
    """
    lengths = {number: _containment(part) for number, part in enumerate(parts)}
    scans, kept = 1, list(parts)
    for number in sorted((one for one in lengths if lengths[one]), key=lengths.__getitem__):
        if scans > 1 and scans * lengths[number] > _MOST_SCANS:
            kept[number] = ["(", *parts[number], ") IS TRUE"]
        else:
            scans *= lengths[number]
    return kept


def _containment(part: SqlPart) -> int:
    """How many elements the list of a plain ``@> ANY`` has; 0 for any other condition."""
    match part:
        case [*_, str(before), Bound(list(elements), _), ")"] if before.endswith(CONTAINS):
            return 0 if part[0] == "(" or isinstance(part, Combination) else len(elements)
    return 0
