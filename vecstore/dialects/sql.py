"""The base of dialects that write SQL: pieces of text, bound parameters, and their styles.

A hook of such a dialect returns a list of pieces, each of them the dialect's own SQL text or a
:class:`Bound` value. What a user wrote is in no text: keys and literals are bound, and names of
columns go through :meth:`SqlDialect.identifier`. The markers of the parameters are written last,
when their order is known.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

from vecstore.dialects.base import Dialect
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import Compiled, check_own_names


class Bound(NamedTuple):
    """A parameter on its way into the SQL text.

    Attributes:
        value: What the driver gets.
        type: What it is cast to; several, one after the other, are joined by ``::``. Empty where
            the engine needs no cast.

    Example:
        >>> Bound(["1"], "text[]::jsonb[]").type
        'text[]::jsonb[]'
    """

    value: Any
    type: str = ""


SqlPart = list[str | Bound]
"""A condition, in pieces."""

# How a parameter is written from its number, counted from 0 or from 1, and how it is cast.
_STYLES: dict[str, tuple[str, int, str]] = {
    "qmark": ("?", 0, "CAST({} AS {})"),
    # A colon right behind a named parameter would be read as part of it.
    "named": (":p{}", 0, "CAST({} AS {})"),
    "format": ("%s", 0, "{}::{}"),
    "pyformat": ("%(p{})s", 0, "{}::{}"),
    "numeric_dollar": ("${}", 1, "{}::{}"),
}
_BY_NAME = frozenset({"named", "pyformat"})
_BY_PLACE = frozenset({"qmark", "format"})
_PERCENT = frozenset({"format", "pyformat"})


class SqlDialect(Dialect[SqlPart]):
    """Base of dialects that write one condition of SQL.

    It joins parts, numbers the parameters in the order in which they stand, and quotes names. What
    is left to write are ``capabilities``, ``member``, ``order`` and ``null``. A class names the
    style of its parameters in ``paramstyle``, or has an option of that name:

    ================== ================ =========== ===========================
    ``paramstyle``     marker           ``.params`` drivers
    ================== ================ =========== ===========================
    ``qmark``          ``?``            tuple       sqlite3, duckdb
    ``named``          ``:p0``          dict        sqlite3, SQLAlchemy's text
    ``format``         ``%s``           tuple       psycopg
    ``pyformat``       ``%(p0)s``       dict        psycopg
    ``numeric_dollar`` ``$1``           tuple       asyncpg, duckdb
    ================== ================ =========== ===========================

    Example:
        >>> from dataclasses import dataclass
        >>> from vecstore import Capabilities
        >>> @dataclass(frozen=True)
        ... class Flags(SqlDialect):
        ...     name = "flags"
        ...     capabilities = Capabilities()
        ...
        ...     def member(self, atom):
        ...         return ["flag IN (", Bound(atom.value.items[0]), ")"]
        ...
        ...     def null(self, atom):
        ...         return ["flag IS NULL"]
        >>> Flags().compile("a == 1 AND b IS NULL")
        Compiled(dialect='flags', native='(flag IN (?) AND flag IS NULL)', params=(1,), ...)
    """

    paramstyle: str = "qmark"
    match_all: ClassVar[str] = "TRUE"
    match_none: ClassVar[str] = "FALSE"
    """Conditions that hold of every row, and of none."""
    max_parameters: ClassVar[int | None] = None
    """Parameters in one statement; a filter that binds more is refused."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_own_names(cls, vars(SqlDialect))

    def all_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a AND b ...)``."""
        return joined(parts, " AND ")

    def any_of(self, parts: list[SqlPart]) -> SqlPart:
        """``(a OR b ...)``."""
        return joined(parts, " OR ")

    def finish(self, part: SqlPart) -> Compiled:
        """Number the parameters in the order in which they stand, and write them into the text.

        A value that stands in several places is one parameter, where the style can say so.
        """
        style = self.paramstyle
        first = _STYLES[style][1]
        by_place, percent = style in _BY_PLACE, style in _PERCENT
        numbers: dict[int, int] = {}
        values: list[Any] = []
        sql: list[str] = []
        for piece in part:
            if isinstance(piece, str):
                sql.append(piece.replace("%", "%%") if percent and "%" in piece else piece)
                continue
            value, cast = piece
            number = None if by_place else numbers.get(id(piece))
            if number is None:
                number = numbers[id(piece)] = len(values)
                values.append(value)
            before, after = _around(style, cast)
            sql.append(before + after if by_place else f"{before}{number + first}{after}")
        if self.max_parameters is not None and len(values) > self.max_parameters:
            raise self.refuse(
                None,
                f"it binds at most {self.max_parameters:,} parameters, not {len(values):,}",
                "use IN for many values of one key",
            )
        return Compiled(self.name, "".join(sql), self._params(values))

    def everything(self) -> Compiled:
        """``match_all``, without parameters."""
        return Compiled(self.name, self.match_all, self._params([]), matches_all=True)

    def nothing(self) -> Compiled:
        """``match_none``, without parameters."""
        return Compiled(self.name, self.match_none, self._params([]), matches_nothing=True)

    def identifier(self, *names: Any) -> str:
        """A column, or a column qualified by a table, quoted so that it holds any character.

        Raises:
            ConfigurationError: For a name that is no text, is empty or holds NUL, or that the style
                of the parameters cannot tell from a parameter.

        Example:
            >>> from vecstore.dialects.pgvector import Pgvector
            >>> print(Pgvector().identifier("docs", 'the "meta" data'))
            "docs"."the ""meta"" data"
        """
        for name in names or ("",):
            if not isinstance(name, str) or not name or "\0" in name:
                raise ConfigurationError(f"a column name is non-empty text, not {name!r}")
            if self.paramstyle == "named" and (":" in name or "\\" in name):
                raise ConfigurationError(
                    f"the column name {name!r} holds a character that paramstyle 'named' would "
                    "read as a parameter; use another paramstyle"
                )
        return quoted(*names)

    def _params(self, values: list[Any]) -> Any:
        if self.paramstyle in _BY_NAME:
            return {f"p{number}": value for number, value in enumerate(values)}
        return tuple(values)


def joined(parts: list[SqlPart], joint: str) -> SqlPart:
    """Parts in one pair of parentheses, with ``joint`` between them."""
    result: SqlPart = ["("]
    for number, part in enumerate(parts):
        if number:
            result.append(joint)
        result += part
    result.append(")")
    return result


def quoted(*names: str) -> str:
    """Names of a column or table, each quoted so that it can hold any character.

    Example:
        >>> print(quoted("docs", "my table"))
        "docs"."my table"
    """
    return ".".join(['"' + name.replace('"', '""') + '"' for name in names])


@cache
def _around(style: str, types: str) -> tuple[str, str]:
    """What stands before and after the number of a parameter of that type."""
    marker, _, cast = _STYLES[style]
    for type in types.split("::") if types else ():
        marker = cast.format(marker, type)
    before, _, after = marker.replace("{}", "\0").partition("\0")
    return before, after
