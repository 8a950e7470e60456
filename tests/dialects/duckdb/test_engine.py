"""What DuckDB does that the dialect and the store count on, or get around: told when it changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import duckdb
import pytest

from vecstore import Document, Expression, F, Op, compile_filter
from vecstore.dialects.duckdb import DuckDB, DuckDBStore
from vecstore.dialects.duckdb.dialect import json_path


def value(statement: str, *params: Any) -> Any:
    with duckdb.connect() as connection:
        row = connection.execute(statement, params).fetchone()
    assert row is not None
    return row[0]


def test_the_numbers_of_a_pointer_reach_into_lists_and_those_of_a_path_do_not() -> None:
    held = '{"t": ["a"], "o": {"0": "b"}}'
    assert value("SELECT json_extract_string(?::JSON, ?)", held, "/t/0") == "a"
    assert value("SELECT json_extract_string(?::JSON, ?)", held, '$."t"."0"') is None
    assert value("SELECT json_extract_string(?::JSON, ?)", held, '$."o"."0"') == "b"


def test_a_key_of_digits_is_no_place_in_a_list() -> None:
    compiled = DuckDB(paramstyle="numeric_dollar").compile(F.t["0"] > 1)
    assert compiled.params == ('$."t"."0"', 1.0)
    assert compiled.query == (
        "(contains('UBIGINT BIGINT DOUBLE HUGEINT UHUGEINT DECIMAL', "
        'json_type("metadata", $1::VARCHAR)) AND '
        'TRY_CAST(json_extract("metadata", $1::VARCHAR) AS DOUBLE) > $2::DOUBLE)'
    )


@pytest.mark.parametrize("key", ["~", "~1", "a~1b", "a~0b", "a/b", "~01"])
def test_what_pointers_write_otherwise_is_part_of_a_key(key: str) -> None:
    for path in (json_path((key,)), json_path(("o", key))):
        held = {key: "mine", "a/b~": "other", "o": {key: "mine", "/": "other", "a/b~": "other"}}
        assert value("SELECT json_extract_string(?::JSON, ?)", json.dumps(held), path) == "mine"


def test_nothing_of_a_filter_is_in_the_statement() -> None:
    hostile = [
        "a' OR 1=1 --",
        '"; DROP TABLE documents; --',
        "?",
        "$1",
        "$.a[*]",
        "/a/0",
        "%s",
        "\\",
    ]
    harmless = compile_filter((F.k == "k") & (F.k > "k") & F.j.is_null(), "duckdb").query
    for text in hostile:
        compiled = compile_filter(
            (F[text] == text) & (F[text] > text) & F["j" + text].is_null(), "duckdb"
        )
        assert compiled.query == harmless
        assert compiled.query.count("?") == len(compiled.params)


def test_it_has_no_order_of_numbers_past_doubles() -> None:
    """Hence the bound of 2^53 - 1 on the numbers of a filter."""
    assert value("SELECT CAST(json_extract('[9007199254740993]'::JSON, '/0') AS DOUBLE)") == 2.0**53


def test_a_list_of_constants_becomes_a_join() -> None:
    """Hence types are looked for in one text: each join is planned against all others."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'BIGINT' AS a")
        types = "('UBIGINT', 'BIGINT', 'DOUBLE', 'HUGEINT', 'UHUGEINT', 'DECIMAL')"
        (plan,) = connection.execute(
            f"EXPLAIN SELECT * FROM t WHERE a IN {types} AND TRY_CAST(a AS DOUBLE) > 1"
        ).fetchall()
        assert "Join" in plan[1]
        compiled = DuckDB(column="a").compile((F.k != 1) & (F.k > 1))
        (plan,) = connection.execute(
            f"EXPLAIN SELECT * FROM t WHERE {compiled.query}", list(compiled.params)
        ).fetchall()
        assert "Join" not in plan[1]


def test_of_a_vector_of_zeros_the_cosine_is_no_number_and_comes_first() -> None:
    assert value(
        "SELECT id FROM (VALUES ('zero', [0, 0]::FLOAT[2]), ('one', [1, 0]::FLOAT[2])) t(id, e) "
        "ORDER BY array_cosine_similarity(e, [1, 0]::FLOAT[2]) DESC"
    ) == "zero"  # fmt: skip


INHERITED = """
import os, sys, duckdb
kept = duckdb.connect(sys.argv[1])
if not os.fork():
    print(duckdb.connect(sys.argv[1]).execute("SELECT 1").fetchone()[0], flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_is_handed_the_database_of_its_parent_as_its_own(tmp_path: Any) -> None:
    """Hence the store knows which files were open at the fork."""
    run = subprocess.run(
        [sys.executable, "-c", INHERITED, str(tmp_path / "a.db")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert run.stdout == "1\n"


def test_many_conditions_are_joined_in_groups_and_what_is_unknown_is_no_match() -> None:
    # A thousand of them on one key took the optimizer minutes, one by one.
    one_key = Expression(Op.AND, *[F.k == f"v{n}" for n in range(1_000)])
    assert DuckDB().compile(one_key).query.count("list_bool_and(") == 32
    assert "list_bool_and(" not in DuckDB().compile("a > 1 AND b > 1").query
    keys = [f"k{n}" for n in range(100)]
    with DuckDBStore(dimension=1) as store:
        whole = dict.fromkeys(keys, 1)
        others = {"none": {}, "one is less": {**whole, "k99": 0}, "one is missing": dict(whole)}
        del others["one is missing"]["k50"]
        documents = {"whole": whole, **others}
        store.add(Document("", one, id, [1]) for id, one in documents.items())
        asked = Expression(Op.AND, *[F[key] > 0 for key in keys])
        assert [one.id for one in store.get(filter=asked)] == ["whole"]
