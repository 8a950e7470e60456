"""What the pgvector dialect writes, and what PostgreSQL makes of it."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.engines.postgres import PostgresRows
from tests.engines.rows import Documents
from vecstore import (
    Compiled,
    ConfigurationError,
    Expression,
    F,
    Key,
    Op,
    UnsupportedFilterError,
    Value,
    parse,
)
from vecstore.dialects.pgvector import Pgvector
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.testing import RandomCases, oracle, oracle_rows
from vecstore.testing.samples import HOSTILE_TEXTS, ODD_KEYS

ROOT = Path(__file__).parents[2]
ROWS = oracle_rows()
STYLES: list[Any] = ["pyformat", "format", "named", "numeric_dollar"]


@pytest.fixture(scope="module")
def connection(postgres_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_dsn, autocommit=True, prepare_threshold=None) as opened:
        opened.execute("CREATE TEMPORARY TABLE documents (id text, metadata jsonb)")
        fill(opened, "documents", ROWS)
        yield opened


def fill(connection: psycopg.Connection[Any], table: str, rows: Documents) -> None:
    connection.execute(
        f"INSERT INTO {table} SELECT * FROM unnest(%s::text[], %s::text[]::jsonb[])",
        (list(rows), [encode_json(dict(metadata)) for metadata in rows.values()]),
    )


# --- the four ways to bind --------------------------------------------------------------------


def run_as_psycopg(connection: Any, statement: str, compiled: Compiled) -> Any:
    return connection.execute(
        statement.replace("WHERE", f"WHERE {compiled.query}"), compiled.params
    )


def run_as_sqlalchemy(connection: Any, statement: str, compiled: Compiled) -> Any:
    """What ``sqlalchemy.text`` makes of ``:name``: not after a colon, a word or a backslash."""
    sql = re.sub(r"(?<![:\w\\]):(\w+)(?!:)", r"%(\1)s", compiled.query.replace("%", "%%"))
    return connection.execute(statement.replace("WHERE", f"WHERE {sql}"), compiled.params)


def run_as_asyncpg(connection: Any, statement: str, compiled: Compiled) -> Any:
    """The server itself binds ``$1``, in a statement that it prepared."""
    cursor = psycopg.RawCursor(connection)
    sql = statement.replace("WHERE", f"WHERE {compiled.query}")
    return cursor.execute(sql, compiled.params, prepare=True)


RUN: dict[str, Callable[[Any, str, Compiled], Any]] = {
    "pyformat": run_as_psycopg,
    "format": run_as_psycopg,
    "named": run_as_sqlalchemy,
    "numeric_dollar": run_as_asyncpg,
}


@pytest.mark.parametrize("style", STYLES)
def test_every_paramstyle_selects_the_same(style: Any, connection: Any) -> None:
    dialect = Pgvector(paramstyle=style)
    source = RandomCases(seed=17)
    for filter in [source.filter(4) for _ in range(60)]:
        compiled = dialect.compile(filter)
        found = RUN[style](connection, "SELECT id FROM documents WHERE", compiled)
        assert {row[0] for row in found} == oracle(filter, ROWS), filter.to_text()


def test_the_paramstyles_side_by_side() -> None:
    filter = "country == 'BG' AND year > 2020"
    compiled = {style: Pgvector(paramstyle=style).compile(filter) for style in STYLES}
    lists = ['{"country":"BG"}', '{"country":["BG"]}']
    assert compiled["pyformat"].query == (
        '("metadata" @> ANY(%(p0)s::text[]::jsonb[]) AND '
        "(jsonb_typeof(\"metadata\" -> %(p1)s::text) = 'number' AND "
        '("metadata" -> %(p2)s::text) > %(p3)s::jsonb))'
    )
    assert compiled["pyformat"].params == {"p0": lists, "p1": "year", "p2": "year", "p3": "2020"}
    assert compiled["format"].query == (
        '("metadata" @> ANY(%s::text[]::jsonb[]) AND '
        "(jsonb_typeof(\"metadata\" -> %s::text) = 'number' AND "
        '("metadata" -> %s::text) > %s::jsonb))'
    )
    assert compiled["format"].params == (lists, "year", "year", "2020")
    assert compiled["named"].query == (
        '("metadata" @> ANY(CAST(CAST(:p0 AS text[]) AS jsonb[])) AND '
        "(jsonb_typeof(\"metadata\" -> CAST(:p1 AS text)) = 'number' AND "
        '("metadata" -> CAST(:p2 AS text)) > CAST(:p3 AS jsonb)))'
    )
    assert compiled["named"].params == {"p0": lists, "p1": "year", "p2": "year", "p3": "2020"}
    assert compiled["numeric_dollar"].query == (
        '("metadata" @> ANY($1::text[]::jsonb[]) AND '
        "(jsonb_typeof(\"metadata\" -> $2::text) = 'number' AND "
        '("metadata" -> $3::text) > $4::jsonb))'
    )
    assert compiled["numeric_dollar"].params == (lists, "year", "year", "2020")


def test_an_unknown_paramstyle_is_told_the_known() -> None:
    with pytest.raises(ConfigurationError, match="pyformat, format, named, numeric_dollar"):
        Pgvector(paramstyle="qmark")  # type: ignore[arg-type]


# --- nothing of a user's in the text ----------------------------------------------------------

WORDS = {
    *["AND", "OR", "NOT", "IN", "IS", "TRUE", "FALSE", "ANY", "CAST", "AS", "COLLATE", "C"],
    *["coalesce", "jsonb_typeof", "metadata", "string", "number", "null", "text", "jsonb"],
}
PLACEHOLDERS = {
    "pyformat": r"%\(p\d+\)s",
    "format": r"%s",
    "named": r"(?<!:):p\d+",
    "numeric_dollar": r"\$\d+",
}
WORDS |= set("CASE WHEN THEN ELSE END EXISTS SELECT FROM WHERE AS numeric boolean array".split())
WORDS |= {"element", "item", "jsonb_array_elements", "FALSE"}
WORDS |= {"vecstore_row", "vecstore_metadata", "OFFSET", "0"}
WORDS |= {f"vecstore_key_{n}" for n in range(5)}
WORDS |= {"jsonb_agg", "jsonb_build_array"}


@pytest.mark.parametrize("style", STYLES)
def test_the_text_is_ours_and_every_key_and_value_is_bound(style: Any) -> None:
    dialect = Pgvector(paramstyle=style)
    source = RandomCases(seed=23)
    hostile = [
        filter
        for text in (*HOSTILE_TEXTS, *ODD_KEYS)
        for filter in (F[text] == text, F[text] > text, F.a[text].is_null(), F[text].not_in([text]))
    ]
    many = [Expression(Op.AND, *[(F[key] == n) | (F.z[key] != n) for n in range(40)])
            for key in ODD_KEYS]  # fmt: skip
    for filter in [*hostile, *many, *[source.filter() for _ in range(100)]]:
        compiled = dialect.compile(filter)
        marks = re.findall(PLACEHOLDERS[style], compiled.query)
        if style != "format":
            marks = list(dict.fromkeys(marks))  # one parameter may stand in several places
        assert len(marks) == len(compiled.params)
        rest = re.sub(PLACEHOLDERS[style], " ", compiled.query)
        assert set(re.findall(r"\w+", rest)) <= WORDS, rest
        assert set(re.sub(r"\w", "", rest)) <= set(" ()\"'[]{}@<>=-:,.#"), rest
        values = compiled.params.values() if isinstance(compiled.params, dict) else compiled.params
        for value in values:
            listed = value if isinstance(value, list) else [value]
            assert all(type(one) is str for one in listed)
        if isinstance(compiled.params, dict):
            assert list(compiled.params) == [f"p{number}" for number in range(len(marks))]


def test_texts_are_ordered_by_code_point_whatever_the_database_does() -> None:
    for symbol in ("<", "<=", ">", ">="):
        query = Pgvector().compile(f"k {symbol} 'a'").query
        assert f'COLLATE "C" {symbol} %(p' in query
        assert "COLLATE" not in Pgvector().compile(f"k {symbol} 1").query


# --- names of columns -------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "column",
    ['a"b', "50%", "%s", "%(p0)s", "select", "a b", "Größe", "x'; DROP TABLE t; --", "$1", "?"],
)
def test_a_column_may_have_any_name(column: str, style: Any, connection: Any) -> None:
    name = '"' + column.replace('"', '""') + '"'
    connection.execute(f"CREATE TEMPORARY TABLE odd (id text, {name} jsonb)")
    try:
        fill(connection, "odd", ROWS)
        for given in (column, ("odd", column), ("o", column)):
            dialect = Pgvector(column=given, paramstyle=style)
            alias = " AS o" if given == ("o", column) else ""
            for filter in map(parse, ["k == 'a' OR x > 1", "NOT (k > 'a' OR n.k IS NULL)"]):
                compiled = dialect.compile(filter)
                found = RUN[style](connection, f"SELECT id FROM odd{alias} WHERE", compiled)
                assert {row[0] for row in found} == oracle(filter, ROWS)
    finally:
        connection.execute("DROP TABLE odd")


@pytest.mark.parametrize(
    ("column", "style"),
    [
        ("", "format"),
        ("a\0", "format"),
        ((), "format"),
        (("a", ""), "format"),
        (("a", 3), "format"),
        ("a:b", "named"),
        ("a\\b", "named"),
    ],
)
def test_a_column_that_cannot_be(column: Any, style: Any) -> None:
    with pytest.raises(ConfigurationError, match="column name"):
        Pgvector(column=column, paramstyle=style)


def test_a_null_column_is_a_document_without_keys(connection: Any) -> None:
    connection.execute("CREATE TEMPORARY TABLE bare (id text, metadata jsonb)")
    connection.execute("INSERT INTO bare VALUES ('null', NULL), ('empty', '{}')")
    source = RandomCases(seed=29)
    for filter in [
        parse("k != 1"),
        parse("k NOT IN ['a']"),
        *[source.filter() for _ in range(100)],
    ]:
        found = run_as_psycopg(connection, "SELECT id FROM bare WHERE", Pgvector().compile(filter))
        wanted = {"null", "empty"} if filter.matches({}) else set()
        assert {row[0] for row in found} == wanted, filter.to_text()


# --- sizes ------------------------------------------------------------------------------------


def comparisons(count: int) -> Expression:
    """As many orderings, of three parameters each."""
    return Expression(Op.OR, *[Expression(Op.GT, Key(f"k{n}"), Value(n)) for n in range(count)])


def test_no_more_parameters_than_the_protocol_counts() -> None:
    most = 65_535
    compiled = Pgvector().compile(comparisons(most // 3), limits=None)
    assert len(compiled.params) == most
    with pytest.raises(
        UnsupportedFilterError, match=r"binds at most 65,535 parameters, not 65,538"
    ):
        Pgvector().compile(comparisons(most // 3 + 1), limits=None)


@pytest.mark.heavy
@pytest.mark.parametrize("style", STYLES)
def test_as_many_parameters_as_the_protocol_counts(style: Any, connection: Any) -> None:
    filter = comparisons(65_535 // 3)
    compiled = Pgvector(paramstyle=style).compile(filter, limits=None)
    found = RUN[style](connection, "SELECT id FROM documents WHERE", compiled)
    assert {row[0] for row in found} == oracle(filter, ROWS)


# --- numbers ----------------------------------------------------------------------------------


def test_every_number_comes_back_as_it_was(connection: Any) -> None:
    dice = random.Random(31)
    numbers: list[Any] = [dice.uniform(-1, 1) * 10 ** dice.uniform(-320, 308) for _ in range(2_000)]
    numbers += [float(dice.randrange(10**15, 10**22)) for _ in range(1_000)]
    numbers += [float(dice.randrange(-(2**60), 2**60)) for _ in range(500)]
    numbers += [math.ldexp(dice.random(), dice.randrange(-1074, -1000)) for _ in range(500)]
    numbers += [
        0.0,
        1e15,
        1e16,
        1e22,
        1e23,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
    ]
    numbers += [0, 2**53, 2**53 + 1, 2**64, 10**22, 10**23, -(10**40), 10**300]
    connection.execute("CREATE TEMPORARY TABLE numbers (position int, document jsonb)")
    connection.cursor().executemany(
        "INSERT INTO numbers VALUES (%s, %s::jsonb)",
        [(position, encode_json({"n": number})) for position, number in enumerate(numbers)],
    )
    rows = connection.execute("SELECT document::text FROM numbers ORDER BY position").fetchall()
    for number, (text,) in zip(numbers, rows, strict=True):
        read = json.loads(text)["n"]
        assert type(read) is type(number)
        assert read == number
        assert not isinstance(number, float) or read.hex() == number.hex()
    # Zero has no sign in a decimal number; to filters it never had one.
    assert json.loads(encode_json(-0.0)) == 0


def test_a_number_equals_itself_and_not_its_neighbours(connection: Any) -> None:
    dice = random.Random(37)
    floats = [dice.uniform(-1, 1) * 10 ** dice.uniform(-300, 300) for _ in range(300)]
    floats += [1e16, 1e22, 1e23, 5e-324, float(2**53), 0.1]
    rows = {}
    for position, number in enumerate(floats):
        rows[f"{position}"] = {"k": number}
        rows[f"{position}+"] = {"k": [math.nextafter(number, math.inf)]}
    connection.execute("CREATE TEMPORARY TABLE near (id text, metadata jsonb)")
    fill(connection, "near", rows)
    for number in floats[::7]:
        for filter in (F.k == number, F.k != number, F.k > number, F.k <= number):
            compiled = Pgvector().compile(filter)
            found = run_as_psycopg(connection, "SELECT id FROM near WHERE", compiled)
            assert {row[0] for row in found} == oracle(filter, rows)


# --- speed ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_rows(postgres_dsn: str) -> Iterator[PostgresRows]:
    with PostgresRows(postgres_dsn, gin=True) as rows:
        rows.load({f"r{n}": {"k": f"v{n}", "x": n % 10, "tags": [f"t{n}"]} for n in range(20_000)})
        rows._connection.execute("ANALYZE documents")
        rows._connection.execute("SET enable_seqscan = on")
        rows._connection.execute("SET statement_timeout = '20s'")
        yield rows


@pytest.mark.parametrize(
    "filter",
    [
        "k == 'v77'",
        "tags == 't77'",
        "k IN ['v77', 'v78', 'v79']",
        "k == 'v77' OR tags == 't78'",
        "k == 'v77' AND x > 3 AND y IS NULL",
        "k == 'v77' AND x == 7 AND tags == 't77'",
    ],
)
def test_equality_uses_the_index(filter: str, many_rows: PostgresRows) -> None:
    compiled = Pgvector().compile(filter)
    plan = many_rows.explain(compiled.query, compiled.params)
    assert "Bitmap Index Scan on documents_metadata_idx" in plan, plan
    assert "Seq Scan" not in plan


@pytest.mark.parametrize(
    "filter",
    [
        Expression(Op.AND, *[F.k == f"v{n}" for n in range(400)]),
        Expression(Op.AND, *[F[f"key {n}"] == n for n in range(60)], F.k == "v7"),
        F.k.in_([f"v{n}" for n in range(300)]) & F.tags.in_([f"t{n}" for n in range(300)]),
        Expression(Op.AND, *[F.x.in_([n, n + 1, 7]) for n in range(40)]),
    ],
)
@pytest.mark.wide
def test_many_equalities_do_not_multiply_the_work_of_the_index(
    filter: Expression, many_rows: PostgresRows
) -> None:
    # A scan for every combination of their values would take longer than the universe has.
    many_rows._connection.execute("SET enable_seqscan = off")
    try:
        found = many_rows.select(Pgvector().compile(filter))
    finally:
        many_rows._connection.execute("SET enable_seqscan = on")
    rows = {f"r{n}": {"k": f"v{n}", "x": n % 10, "tags": [f"t{n}"]} for n in range(20_000)}
    assert found == oracle(filter, rows)


def test_the_shortest_lists_are_left_to_the_index() -> None:
    query = (
        Pgvector().compile("a IN [1, 2, 3, 4] AND b == 1 AND c == 2 AND d == 3 AND e == 4").query
    )
    hidden = '("metadata" @> ANY(%(p0)s::text[]::jsonb[])) IS TRUE'
    assert hidden in query
    assert query.count(" IS TRUE") == 1
    # One alone is one scan for each value, however many there are.
    assert "IS TRUE" not in Pgvector().compile(F.k.in_(range(5_000)) & (F.x > 1)).query


@pytest.mark.parametrize(
    ("op", "indexed", "most"),
    [(Op.IN, True, 16), (Op.IN, False, 2), (Op.NIN, True, 2), (Op.NIN, False, 2)],
)
def test_long_lists_are_looked_up_and_not_compared_one_by_one(
    op: Op, indexed: bool, most: int
) -> None:
    """An index serves short lists; every other one is a hash table that the server makes."""
    for count in (most, most + 1):
        listed = Expression(op, Key("k"), Value([f"v{n}" for n in range(count)]))
        query = Pgvector(indexed=indexed).compile(listed).query
        assert ("@>" in query) is (count == most)
        assert ("= ANY(" in query) is (count > most)


@pytest.mark.parametrize("gin", [False, True])
@pytest.mark.parametrize(
    ("seed", "rounds"), [(52, 12), pytest.param(53, 28, marks=pytest.mark.wide)]
)
@pytest.mark.wide
def test_long_conditions_select_the_same(
    postgres_dsn: str, gin: bool, seed: int, rounds: int
) -> None:
    source = RandomCases(seed)
    rows = {**ROWS, **source.rows(60)}
    with PostgresRows(postgres_dsn, gin=gin) as engine:
        engine.load(rows)
        for _ in range(rounds):
            parts = [source.filter(2) for _ in range(30)]
            equal = [F[f"k{number}"] == number for number in range(30)]
            for filter in (
                Expression(Op.OR, *parts),
                Expression(Op.AND, *[~part for part in parts[:20]]),
                Expression(Op.OR, *equal, parts[0]),
                parts[0] & Expression(Op.OR, *equal, *parts[1:]),
                Expression(Op.OR, *equal) | (parts[0] & Expression(Op.OR, *parts[1:])),
            ):
                compiled = Pgvector().compile(filter)
                assert engine.select(compiled) == oracle(filter, rows), filter.to_text()


@pytest.mark.parametrize("gin", [False, True])
def test_many_comparisons_of_one_key_select_the_same(postgres_dsn: str, gin: bool) -> None:
    """Past a few they are made on the value by itself, past many on what it has in common."""
    dice = random.Random(71)
    kinds = (
        [0, 1, 1.0, -1, 1.5, 2**53, 1e15, 1e23],
        ["", "1", "x", "X", "true", "ü"],
        [True, False],
    )
    literals = [literal for kind in kinds for literal in kind]
    values = [*literals, None, {}, {"a": 1}, {"1": 1}, []]
    values += [dice.choices(dice.choice(kinds), k=dice.randrange(6)) for _ in range(40)]
    rows = {str(n): {"a": value, "o": {"b": dice.choice(values)}} for n, value in enumerate(values)}
    rows |= {"none": {}, "list": {"o": [{"b": 1}]}, "text": {"o": "b"}}

    def comparison() -> Expression:
        key = dice.choice([F.a, F.a, F.o.b])
        some = dice.sample(literals, dice.choice([1, 1, 2, 5]))
        made = key.in_(some) if len(some) > 1 else key == some[0]
        return ~made if dice.random() < 0.5 else made

    with PostgresRows(postgres_dsn, gin=gin) as engine:
        engine.load(rows)
        for pairs in [10, 14, 40, 80] * 6:
            inner, outer = dice.sample([Op.AND, Op.OR], 2)
            # One that decides little, or most of such filters would hold of all rows or of none.
            parts = [Expression(inner, comparison(), comparison(), F.a.is_null(), F.a > 3)
                     if inner is Op.OR else comparison() & comparison() for _ in range(pairs)]  # fmt: skip
            for filter in (Expression(outer, *parts), comparison() & Expression(outer, *parts)):
                compiled = Pgvector().compile(filter)
                assert engine.select(compiled) == oracle(filter, rows), filter.to_text()


@pytest.mark.parametrize(
    "filter",
    [
        Expression(Op.AND, *[(F.a == n) | (F.b != n) for n in range(125)]),
        Expression(Op.AND, *[(F.a == n) | (F.b == "x") for n in range(125)]),
    ],
)
def test_a_list_is_gone_through_once_and_not_for_each_comparison(filter: Expression) -> None:
    """Its elements are looked up; where an index serves a part, only few stand outside."""
    query = Pgvector().compile(filter).query
    outside, _, inside = query.partition("(SELECT")
    assert outside.count("@>") <= 16
    # Once they are stepped to and looked up; what is left of them is compared.
    assert inside.count("jsonb_array_elements(") in (1, 2)
    assert len(re.findall(r'(vecstore_metadata|"metadata") @>', query)) <= 16


@pytest.mark.parametrize(
    ("filter", "hits"),
    [
        (Expression(Op.OR, *[F[f"k{n}"] == n for n in range(100)]), 0),
        (Expression(Op.AND, *[(F.a == n) | (F[f"k{n}"] != n) for n in range(100)]), 100),
        (Expression(Op.AND, *[(F.b == "x") | (F[f"k{n}"] == n) for n in range(100)]), 100),
        (Expression(Op.OR, *[(F.b == n) & (F[f"k{n}"] == n) for n in range(100)]), 0),
        (Expression(Op.OR, *[F[f"k{n}"] == n for n in range(99)], F.b == "x"), 100),
        (Expression(Op.AND, *[F[f"k{n}"] != n for n in range(100)]), 100),
        (Expression(Op.OR, *[F[f"k{n}"] < n for n in range(100)]), 0),
        ((F.b == "x") & Expression(Op.AND, *[F[f"k{n}"] != n for n in range(100)]), 100),
    ],
)
def test_metadata_is_unpacked_a_few_times_a_row(
    postgres_dsn: str, filter: Expression, hits: int
) -> None:
    """However many comparisons there are. Metadata that lies beside the table shows in the pages."""
    dice = random.Random(7)
    long = {f"r{n}": {"b": "x", "a": [dice.random() for _ in range(600)]} for n in range(100)}
    compiled = Pgvector().compile(filter)
    with PostgresRows(postgres_dsn) as engine:
        engine.load(long)
        assert len(engine.select(compiled)) == hits
        pages, single = (
            _pages(engine, one) for one in (compiled, Pgvector().compile(F.z.is_null()))
        )
    assert single > 150  # two pages a row: it does lie beside the table
    assert pages < 30 * single


def test_many_literals_of_one_key_are_looked_up_before_what_an_index_serves(
    postgres_dsn: str,
) -> None:
    """An OR that is false reads a row once, and not once for each of its groups."""
    dice = random.Random(7)
    long = {f"r{n}": {"a": [dice.random() for _ in range(600)]} for n in range(100)}
    with PostgresRows(postgres_dsn) as engine:
        engine.load(long)
        for either in (
            Expression(Op.OR, *[(F.a != n) & (F.b == n) for n in range(100)]),
            Expression(Op.OR, *[(F.a == n) & (F.b == n) for n in range(100)]),
        ):
            assert _pages(engine, Pgvector().compile(either)) < 5 * _pages(
                engine, Pgvector().compile(F.z.is_null())
            )


def _pages(engine: PostgresRows, compiled: Compiled) -> int:
    """How many pages a query reads."""
    (plan,) = engine._connection.execute(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT id FROM documents WHERE {compiled.query}",
        compiled.params,
    ).fetchone() or ({},)
    return int(plan[0]["Plan"]["Local Hit Blocks"])


def test_the_index_serves_a_long_or(many_rows: PostgresRows) -> None:
    pairs = Expression(Op.OR, *[(F.k == f"v{n}") & (F.tags == f"t{n}") for n in range(40)])
    many_rows._connection.execute("SET enable_seqscan = off")
    try:
        for filter in (pairs, (F.x == 7) | pairs, (F.x < 7) & pairs):
            compiled = Pgvector().compile(filter)
            plan = many_rows.explain(compiled.query, compiled.params)
            assert "Bitmap Index Scan on documents_metadata_idx" in plan, plan
            assert "Seq Scan on documents" not in plan
    finally:
        many_rows._connection.execute("SET enable_seqscan = on")


def test_the_text_grows_with_the_filter_and_not_with_its_levels() -> None:
    """A condition that is written twice is not written four times a level higher."""
    filter = Expression(Op.OR, *[F[f"k{n}"] == n for n in range(40)])
    once = len(Pgvector().compile(filter).query)
    for level in range(30):
        filter = (filter & (F.x == level)) | (F.y == level)
    assert len(Pgvector().compile(filter).query) < 5 * once
    # By position, every occurrence of a parameter counts.
    either = Expression(Op.OR, *[F[f"k{n}"] == n for n in range(40_000)])
    compiled = Pgvector(paramstyle="format").compile(either, limits=None)
    assert len(compiled.params) == 40_000
    pairs = Expression(Op.OR, *[(F.a == n) & (F.b == n) for n in range(12_000)])
    compiled = Pgvector(paramstyle="format").compile(pairs, limits=None)
    assert len(compiled.params) == 24_000


# --- what it costs to compile -----------------------------------------------------------------


def test_compiling_needs_no_client() -> None:
    code = (
        "import sys\n"
        "for name in ('psycopg', 'psycopg_pool', 'pgvector', 'numpy'): sys.modules[name] = None\n"
        "from vecstore import compile_filter\n"
        "from vecstore.dialects.pgvector import Pgvector\n"
        "print(compile_filter('NOT (a == 1)', 'pgvector', paramstyle='numeric_dollar').query)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == '("metadata" @> ANY($1::text[]::jsonb[])) IS NOT TRUE\n'
