"""Filters as SQL over one JSONB column; every key and value is a bound parameter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Final, Literal, get_args

from vecstore.dialects.base import check_choice
from vecstore.dialects.declared import Declaration, declared_keys
from vecstore.dialects.pgvector.columns import Column, read_columns
from vecstore.dialects.pgvector.conditions import (
    MOST_CONTAINED,
    MOST_WITHOUT_INDEX,
    Combination,
    Read,
    among,
    contains,
    with_few_reads,
    with_few_scans,
)
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.sql import Bound, SqlDialect, SqlPart
from vecstore.filter.convert import Capabilities, Compiled
from vecstore.filter.normalize import fold_empty_list
from vecstore.filter.tree import NULL_TESTS, Expression, Op
from vecstore.frozen import field, frozen

ParamStyle = Literal["pyformat", "format", "named", "numeric_dollar"]

_STEPS: Final = {"->": " -> ", "->>": " ->> "}
_ORDER: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_CAPABILITIES: Final = Capabilities(max_depth=1_000)


@frozen
class Pgvector(SqlDialect):
    """PostgreSQL 13 and later, metadata in a JSONB column.

    Args:
        column: Name of the JSONB column; a tuple qualifies it: ``("d", "metadata")``.
        paramstyle: ``"pyformat"`` writes ``%(p0)s`` and gives a dict (psycopg), ``"format"``
            ``%s`` and a tuple (psycopg), ``"named"`` ``:p0`` and a dict (SQLAlchemy ``text``),
            ``"numeric_dollar"`` ``$1`` and a tuple (asyncpg).
        columns: Keys at the top of metadata that have a typed column of their own, as ``["year"]``
            or, with the names of the columns, ``{"year": "published"}``; the schema says of which
            type. It is a contract: whoever only compiles vouches for the rows. The filter reads the
            column, which must be computed as :meth:`Column.generated` says, and NULL where the key
            is absent.
        indexed: Whether a GIN index serves the column. It answers short lists; without one they
            are looked up row by row like long ones, which selects the same rows.
        schema: What the keys hold, a :class:`~vecstore.Schema`. JSONB needs no telling: it says of
            which types the ``columns`` are, and nothing else.

    Raises:
        ConfigurationError: For a column name that SQL cannot hold, an unknown paramstyle, or a key
            in ``columns`` that the schema does not declare.

    Example:
        >>> compiled = Pgvector(column="meta").compile("country == 'BG'")
        >>> compiled.query
        '"meta" @> ANY(%(p0)s::text[]::jsonb[])'
        >>> compiled.params
        {'p0': ['{"country":"BG"}', '{"country":["BG"]}']}
    """

    name: ClassVar[str] = "pgvector"
    max_parameters: ClassVar[int] = 65_535

    column: str | tuple[str, ...] = "metadata"
    paramstyle: ParamStyle = "pyformat"
    columns: Mapping[str, str] | Collection[str] | tuple[tuple[str, Column], ...] = ()
    indexed: bool = True
    schema: Declaration | None = None
    _json: Read = field(init=False, repr=False, compare=False)
    _typed: dict[str, tuple[str, Column]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        declared_keys(self.schema)  # refuses what is no schema
        columns = read_columns(self.columns or (), self.schema)
        put(self, "columns", columns)
        if isinstance(self.column, list):
            put(self, "column", tuple(self.column))
        check_choice("paramstyle", self.paramstyle, get_args(ParamStyle))
        names = self.column if isinstance(self.column, tuple) else (self.column,)
        put(self, "_json", Read(self.identifier(*names)))
        typed = {
            key: (self.identifier(*names[:-1], column.name), column) for key, column in columns
        }
        put(self, "_typed", typed)

    @property
    def capabilities(self) -> Capabilities:
        """Everything, within the sizes that the server takes."""
        return _CAPABILITIES

    @property
    def folds(self) -> bool:
        return bool(self._typed)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declared type of a key makes impossible."""
        verdict = fold_empty_list(atom)
        declared = self._declared(atom)
        if verdict is not None or declared is None or atom.op in NULL_TESTS:
            return verdict
        return declared[1].decided(atom.op, atom.value.items)

    def all_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a AND b ...)``."""
        return Combination("AND", with_few_scans(parts), self.indexed)

    def any_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a OR b ...)``."""
        return Combination("OR", parts, self.indexed)

    def finish(self, part: SqlPart) -> Compiled:
        """Metadata is unpacked a few times a row, however long the condition is."""
        most = self.max_parameters if self.paramstyle == "format" else None
        return SqlDialect.finish(self, with_few_reads(part, most))

    def order(self, atom: Expression) -> SqlPart:
        """A comparison that is guarded by the type of the value."""
        symbol, literal = _ORDER[atom.op], atom.value.items[0]
        declared = self._declared(atom)
        if declared is not None:
            name, column = declared
            return column.order(name, atom.op, literal)
        guard: SqlPart = ["(jsonb_typeof(", *self._at(atom), ") = "]
        if isinstance(literal, str):
            # COLLATE "C" compares by code point whatever the database's own collation is.
            return [*guard, "'string' AND (", *self._at(atom, "->>"), f') COLLATE "C" {symbol} ',
                    Bound(literal, "text"), ")"]  # fmt: skip
        return [*guard, "'number' AND (", *self._at(atom), f") {symbol} ",
                Bound(encode_json(literal), "jsonb"), ")"]  # fmt: skip

    def member(self, atom: Expression) -> SqlPart:
        """The document contains the value at the key, or a list that holds it."""
        op, items = atom.op, atom.value.items
        declared = self._declared(atom)
        # Containment is cheap by an index alone, which serves no negation.
        most = MOST_CONTAINED if op is Op.IN and self.indexed else MOST_WITHOUT_INDEX
        if declared is not None:
            name, column = declared
            contained = column.equal(name, items)
        elif len(items) > most:
            contained = among(self._at(atom), self._at(atom, "->>"), items)
        else:
            contained = contains(self._json, atom)
        if op is Op.EQ or op is Op.IN:
            return contained
        # IS NOT TRUE rather than NOT: a NULL column is a document without the key.
        return ["(", *contained, ") IS NOT TRUE"]

    def null(self, atom: Expression) -> SqlPart:
        """Missing, null and ``[]`` are one thing."""
        negation = "" if atom.op is Op.ISNULL else "NOT "
        declared = self._declared(atom)
        if declared is not None:
            return [f"{declared[0]} IS {negation}NULL"]
        return ["coalesce(", *self._at(atom), ", 'null'::jsonb) ",
                f"{negation}IN ('null'::jsonb, '[]'::jsonb)"]  # fmt: skip

    def _declared(self, atom: Expression) -> tuple[str, Column] | None:
        """The typed column of the atom's key with its quoted name, if the key is declared."""
        path = atom.key.path
        return self._typed.get(path[0]) if self._typed and len(path) == 1 else None

    def _at(self, atom: Expression, last: str = "->") -> SqlPart:
        """Step into objects one key at a time; a path operator would also enter lists."""
        path = atom.key.path
        if len(path) == 1:
            return [self._json, _STEPS[last], Bound(path[0], "text")]
        *outer, final = path
        steps: SqlPart = [self._json]
        for segment in outer:
            steps += [" -> ", Bound(segment, "text")]
        return [*steps, _STEPS[last], Bound(final, "text")]
