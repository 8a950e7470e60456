"""The base of SQL dialects, held against SQLite in every style of parameters that it reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from vecstore import ConfigurationError, F, UnsupportedFilterError, parse
from vecstore.authoring import Bound, Capabilities, Expression, Op, SqlDialect, SqlPart

ROWS = {
    "plain": {"a": 1, "b": "x"},
    "percent": {"a": 2, "b": "100%s %(p0)s"},
    "colon": {"a": 3, "b": ":p0 ?1"},
}


@dataclass(frozen=True, slots=True)
class Columns(SqlDialect):
    """A key is a column; enough of a dialect to run what the base writes."""

    name: ClassVar[str] = "columns"
    match_all: ClassVar[str] = "1"
    match_none: ClassVar[str] = "0"
    max_parameters: ClassVar[int] = 3

    paramstyle: str = "qmark"
    cast: str = ""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def order(self, atom: Expression) -> SqlPart:
        return [self.identifier(atom.key.path[0]), " > ", Bound(atom.value.value, self.cast)]

    def member(self, atom: Expression) -> SqlPart:
        bound = Bound(atom.value.items[0], self.cast)
        column = self.identifier(atom.key.path[0])
        # One value in two places, and a sign that means a parameter to some drivers.
        equal: SqlPart = [f"({column} = ", bound, " AND '%' <> ", bound, ")"]
        return equal if atom.op in (Op.EQ, Op.IN) else ["NOT ", *equal]

    def null(self, atom: Expression) -> SqlPart:
        return [f"{self.identifier(atom.key.path[0])} IS NULL"]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (id, a, b)")
    for id, row in ROWS.items():
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", [id, row["a"], row["b"]])
    yield connection
    connection.close()


@pytest.mark.parametrize("style", ["qmark", "named"])
def test_sqlite_finds_the_rows(database: sqlite3.Connection, style: str) -> None:
    dialect = Columns(paramstyle=style)
    for id, row in ROWS.items():
        for filter in (F.b == row["b"], (F.a == row["a"]) | (F.a > 90)):
            compiled = dialect.compile(filter)
            sql = f"SELECT id FROM rows WHERE {compiled.query}"
            assert database.execute(sql, compiled.params).fetchall() == [(id,)]


@pytest.mark.parametrize(
    ("style", "query", "params"),
    [
        ("qmark", "(\"a\" = ? AND '%' <> ?)", (1, 1)),
        ("named", "(\"a\" = :p0 AND '%' <> :p0)", {"p0": 1}),
        ("format", "(\"a\" = %s AND '%%' <> %s)", (1, 1)),
        ("pyformat", "(\"a\" = %(p0)s AND '%%' <> %(p0)s)", {"p0": 1}),
        ("numeric_dollar", "(\"a\" = $1 AND '%' <> $1)", (1,)),
    ],
)
def test_the_styles(style: str, query: str, params: Any) -> None:
    compiled = Columns(paramstyle=style).compile(F.a == 1)
    assert (compiled.query, compiled.params) == (query, params)


@pytest.mark.parametrize(
    ("style", "written"),
    [
        ("qmark", "CAST(CAST(? AS text) AS int)"),
        ("named", "CAST(CAST(:p0 AS text) AS int)"),
        ("format", "%s::text::int"),
        ("pyformat", "%(p0)s::text::int"),
        ("numeric_dollar", "$1::text::int"),
    ],
)
def test_casts(style: str, written: str) -> None:
    dialect = Columns(paramstyle=style, cast="text::int")
    assert dialect.compile(F.a > 1).query == f'"a" > {written}'


def test_constants_bring_parameters_of_the_style() -> None:
    for style, params in (("qmark", ()), ("pyformat", {})):
        dialect = Columns(paramstyle=style)
        everything, nothing = dialect.compile("a NOT IN []"), dialect.compile("a IN []")
        assert (everything.query, everything.params, everything.matches_all) == ("1", params, True)
        assert (nothing.query, nothing.params, nothing.matches_nothing) == ("0", params, True)


def test_parameters_are_counted_as_the_driver_gets_them() -> None:
    text = "a > 1 AND b > 1 AND c == 1"
    assert len(Columns(paramstyle="named").compile(text).params) == 3
    with pytest.raises(UnsupportedFilterError, match="at most 3 parameters, not 4"):
        Columns(paramstyle="qmark").compile(parse(text))


@pytest.mark.parametrize("name", ["", 5, None, "a\0b"])
def test_names_that_sql_cannot_hold(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="a column name is non-empty text"):
        Columns().identifier(name)
    with pytest.raises(ConfigurationError, match="a column name is non-empty text"):
        Columns().identifier()


def test_names_with_a_colon_need_another_style() -> None:
    assert Columns(paramstyle="pyformat").identifier("t", 'a:"b') == '"t"."a:""b"'
    with pytest.raises(ConfigurationError, match="would read as a parameter"):
        Columns(paramstyle="named").identifier("a:b")


def test_a_dialect_without_order_refuses_it() -> None:
    @dataclass(frozen=True)
    class Unordered(Columns):
        order = SqlDialect.order

    with pytest.raises(UnsupportedFilterError, match="it has no such operator"):
        Unordered().compile("a > 1")
    assert Unordered().compile("a == 1").params == (1, 1)
