"""Facts about the engines, shown on the engines by queries written by hand.

The dialects are built on these; when one stops being true, an engine has changed.
"""

from __future__ import annotations

import json
import math
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.milvus import MilvusRows, running_milvus_lite
from tests.engines.postgres import PostgresRows
from tests.engines.qdrant import DEEPEST, QdrantEdgeRows, QdrantLocalRows
from tests.engines.rows import EngineRefused, Rows
from tests.engines.sqlite import SqliteRows

DOCUMENTS: dict[str, dict[str, Any]] = {
    "none": {},
    "null": {"k": None},
    "empty": {"k": []},
    "int": {"k": 1},
    "float": {"k": 1.0},
    "half": {"k": 1.5},
    "true": {"k": True},
    "text": {"k": "a"},
    "digit": {"k": "1"},
    "numbers": {"k": [1, 2]},
    "texts": {"k": ["a", "b"]},
    "object": {"k": {"in": 1}},
    "dotted": {"k.in": 1},
}
ALL = set(DOCUMENTS)
ABSENT = {"none", "null", "empty", "dotted"}


# -- PostgreSQL -------------------------------------------------------------------------------


@pytest.fixture
def postgres(postgres_rows: PostgresRows) -> PostgresRows:
    postgres_rows.load(DOCUMENTS)
    return postgres_rows


@pytest.mark.parametrize(
    ("condition", "params", "expected"),
    [
        ("metadata @> %s::jsonb", ['{"k":1}'], {"int", "float"}),
        ("metadata @> %s::jsonb", ['{"k":true}'], {"true"}),
        # A scalar is not contained in a list of it, unless it comes as one.
        ("metadata @> %s::jsonb", ['{"k":[1]}'], {"numbers"}),
        (
            "metadata @> ANY(%s::text[]::jsonb[])",
            [['{"k":1}', '{"k":[1]}']],
            {"int", "float", "numbers"},
        ),
        ("metadata @> ANY(%s::text[]::jsonb[])", [[]], set()),
        (
            "coalesce(metadata -> %s::text, 'null') IN ('null', '[]')",
            ["k"],
            ABSENT,
        ),
        (
            "jsonb_typeof(metadata -> %s::text) = 'number' AND metadata -> %s::text > %s::jsonb",
            ["k", "k", "1"],
            {"half"},
        ),
        # -> steps into objects only, #> into lists as well.
        ("metadata -> 'k' -> %s::text = '1'", ["0"], set()),
        ("metadata #> '{k,0}' = '1'", [], {"numbers"}),
        ("metadata -> 'k' -> %s::text = '1'", ["in"], {"object"}),
        ("metadata -> %s::text = '1'", ["k.in"], {"dotted"}),
        # %% and % are told apart although there is nothing to bind.
        ("3 %% 2 = 1 AND metadata = '{}'", None, {"none"}),
        ("metadata @> %(p)s::jsonb", {"p": '{"k":"a"}'}, {"text"}),
    ],
)
def test_postgres(postgres: PostgresRows, condition: str, params: Any, expected: set[str]) -> None:
    assert postgres.select(condition, params) == expected
    assert postgres.select(None) == ALL


def test_postgres_compares_code_points_only_when_told(postgres_rows: PostgresRows) -> None:
    texts = ["Z", "a", "é", "\uffee", "😀", ""]
    postgres_rows.load({text: {"k": text} for text in texts})
    condition = "(metadata ->> 'k') COLLATE \"C\" < %s::text"
    for bound in texts:
        assert postgres_rows.select(condition, [bound]) == {t for t in texts if t < bound}


def test_postgres_takes_its_own_parameters(postgres_dsn: str) -> None:
    with PostgresRows(postgres_dsn, style="numeric_dollar") as rows:
        rows.load(DOCUMENTS)
        assert rows.select("metadata @> $1::jsonb", ['{"k":"a"}']) == {"text"}


def test_postgres_finds_the_same_by_index(postgres: PostgresRows, postgres_dsn: str) -> None:
    condition, params = "metadata @> ANY(%s::text[]::jsonb[])", [['{"k":1}', '{"k":[1]}']]
    with PostgresRows(postgres_dsn, gin=True) as rows:
        rows.load(DOCUMENTS)
        assert "Bitmap Index Scan" in rows.explain(condition, params)
        assert rows.select(condition, params) == postgres.select(condition, params)
    assert "Seq Scan" in postgres.explain(condition, params)


def test_postgres_keeps_numbers_as_they_are(postgres_rows: PostgresRows) -> None:
    seeded = random.Random(20)
    doubles = [struct.unpack("<d", seeded.randbytes(8))[0] for _ in range(500)]
    floats = [1e15, 1e16, 1e22, 1e23, 2.0**1023, 5e-324, *filter(math.isfinite, doubles)]
    postgres_rows.load({str(i): {"k": number} for i, number in enumerate(floats)})
    for i, number in enumerate(floats):
        same = postgres_rows.select("(metadata ->> 'k')::float8 = %s::float8", [repr(number)])
        assert same == {str(i)}, number
    integral = {str(i) for i, number in enumerate(floats) if number.is_integer()}
    assert postgres_rows.select("(metadata ->> 'k') LIKE '%%.0'") == integral
    for number in (2**53 + 1, 2**64 + 1, 10**30):
        postgres_rows.load({str(n): {"k": n} for n in (number - 1, number, number + 1)})
        assert postgres_rows.select("(metadata -> 'k')::text = %s", [str(number)]) == {str(number)}
    # What Python would have written of a float is another number to PostgreSQL.
    exact = json.dumps(1e23), format(1e23, ".1f")
    assert postgres_rows.select("%s::jsonb = %s::jsonb", exact) == set()


@pytest.mark.parametrize("value", ["\0", "\ud800", float("nan"), float("inf")])
def test_postgres_refuses(postgres_rows: PostgresRows, value: Any) -> None:
    with pytest.raises(EngineRefused):
        postgres_rows.load({"x": {"k": value}})


# -- Qdrant -----------------------------------------------------------------------------------


@pytest.fixture
def qdrant(qdrant_rows: Rows) -> Rows:
    qdrant_rows.load(DOCUMENTS)
    return qdrant_rows


def match(value: Any, key: str = "k") -> dict[str, Any]:
    return {"key": key, "match": {"value": value}}


EMPTY = {"is_empty": {"key": "k"}}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"must": [EMPTY]}, ABSENT),
        ({"must": [{"is_null": {"key": "k"}}]}, {"null"}),
        # Equality of integers misses 1.0; a range of one number finds both.
        ({"must": [match(1)]}, {"int", "numbers"}),
        ({"must": [{"key": "k", "range": {"gte": 1, "lte": 1}}]}, {"int", "float", "numbers"}),
        ({"must": [match(True)]}, {"true"}),
        ({"must": [match("a")]}, {"text", "texts"}),
        ({"must": [{"key": "k", "match": {"any": ["b", "1"]}}]}, {"texts", "digit"}),
        # One differing element is enough for `except`, an absent value is not: it is not NOT IN.
        ({"must": [{"key": "k", "match": {"except": ["a"]}}]}, ALL - ABSENT - {"text"}),
        # A negation is true of all that is absent.
        ({"must_not": [match("a")]}, ALL - {"text", "texts"}),
        # An ordering holds of a list with one such element; k[] knows the lists.
        ({"must": [{"key": "k", "range": {"gt": 1}}]}, {"half", "numbers"}),
        (
            {"must": [{"key": "k", "range": {"gt": 1}}, {"is_empty": {"key": "k[]"}}]},
            {"half"},
        ),
        ({"must": [match(1, "k.in")]}, {"object"}),
        ({"must": [match(1, '"k.in"')]}, {"dotted"}),
        ({"must": [match(1, "k[0]")]}, {"numbers"}),
        ({"must": match("a")}, {"text", "texts"}),
        ({"should": []}, ALL),
        ({}, ALL),
        ({"must_not": [{"must": []}]}, set()),
        ({"must": [{"key": "k", "range": {"gt": "2024-01-01"}}]}, set()),
        (None, ALL),
    ],
)
def test_qdrant(qdrant: Rows, query: Any, expected: set[str]) -> None:
    assert qdrant.select(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        {"must": [{"key": "k", "match": {"value": 1.0}}]},
        {"must": [{"key": "k", "match": {"any": [True]}}]},
        {"must": [{"key": "k", "match": {"any": [1, "a"]}}]},
        {"must": [{"key": "k", "rnage": {"gt": 1}}]},
        {"must": [{"is_empty": {"key": ""}}]},
        {"must": [{"is_empty": {"key": 'a"b'}}]},
        {"must": [{"is_empty": {"key": '"a"b"'}}]},
        {"must": [{"is_empty": {"key": "a\\b"}}]},
        {"or": []},
    ],
)
def test_qdrant_refuses(qdrant: Rows, query: Any) -> None:
    with pytest.raises(EngineRefused):
        qdrant.select(query)


def test_a_quoted_backslash_is_a_key_to_local_mode_alone() -> None:
    query = {"must_not": [{"is_empty": {"key": '"a\\b"'}}]}
    with QdrantLocalRows() as local, QdrantEdgeRows() as edge:
        local.load({"x": {"a\\b": 1}})
        edge.load({"x": {"a\\b": 1}})
        assert local.select(query) == {"x"}
        with pytest.raises(EngineRefused, match="invalid JSON path"):
            edge.select(query)


def test_qdrant_numbers_are_64_bit_floats_in_a_range() -> None:
    rows = {"even": {"k": 2**53}, "odd": {"k": 2**53 + 1}}
    query = {"must": [{"key": "k", "range": {"gte": 2**53, "lte": 2**53}}]}
    with QdrantLocalRows() as local, QdrantEdgeRows() as edge:
        local.load(rows)
        edge.load(rows)
        assert edge.select(query) == {"even", "odd"}
        assert local.select(query) == {"even"}
        # As an integer it is exact in both.
        assert edge.select({"must": [match(2**53)]}) == {"even"}
        assert local.select({"must": [match(2**53)]}) == {"even"}


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("keyword", {"int", "float", "half", "numbers"}),
        ("float", {"int", "float", "half", "numbers"}),
        ("bool", {"int", "float", "half", "numbers"}),
        ("integer", {"int", "float", "numbers"}),
        ("datetime", set()),
    ],
)
def test_an_index_of_the_wrong_type_changes_the_rows(kind: str, found: set[str]) -> None:
    with QdrantEdgeRows({"k": kind}) as rows:
        rows.load(DOCUMENTS)
        assert rows.select({"must": [{"key": "k", "range": {"gte": 1}}]}) == found


def test_the_binding_takes_true_for_one() -> None:
    import numpy as np
    import qdrant_edge

    assert qdrant_edge.MatchValue(True).value == 1
    assert qdrant_edge.MatchValue(True).value is not True
    assert qdrant_edge.MatchValue(np.bool_(True)).value is True


def nested(depth: int) -> dict[str, Any]:
    query: dict[str, Any] = {"must": [match(1)]}
    for _ in range(depth - 1):
        query = {"must": [query]}
    return query


def test_depth(qdrant: Rows) -> None:
    assert qdrant.select(nested(DEEPEST)) == {"int", "numbers"}
    with pytest.raises(EngineRefused, match="nested deeper"):
        qdrant.select(nested(DEEPEST + 1))


@pytest.mark.wide  # of the engine alone
def test_why_depth_has_a_limit() -> None:
    program = """
import resource, sys, tempfile
import qdrant_edge as edge

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
filter = edge.Filter(must=[edge.IsEmptyCondition("k")])
for _ in range(int(sys.argv[1])):
    filter = edge.Filter(must=[filter])
with tempfile.TemporaryDirectory() as folder:
    vectors = edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot)
    shard = edge.EdgeShard.create(folder, edge.EdgeConfig(vectors=vectors))
    shard.update(edge.UpdateOperation.upsert_points([edge.Point(0, [1.0], {})]))
    points, _ = shard.scroll(edge.ScrollRequest(filter=filter, limit=1))
    shard.close()
print(len(points))
"""

    def outcome(depth: int) -> tuple[int, str]:
        command = [sys.executable, "-c", program, str(depth)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        return done.returncode, done.stdout.strip()

    assert outcome(DEEPEST) == (0, "1")
    # Ended by a signal: the engine takes the process with it.
    returncode, _ = outcome(5_000)
    assert returncode < 0


# -- Milvus -----------------------------------------------------------------------------------


def kinds_of(metadata: Any) -> list[str]:
    """Tags enough for the facts shown here."""
    value = metadata.get("k")
    return [] if value in (None, []) else [f"{type(value).__name__}:k"]


@pytest.fixture(scope="module")
def lite() -> Iterator[MilvusRows]:
    with running_milvus_lite() as uri, MilvusRows(uri, kinds_of) as rows:
        yield rows


@pytest.fixture
def milvus(lite: MilvusRows) -> MilvusRows:
    lite.load(DOCUMENTS)
    return lite


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # True is 1 to milvus-lite, which is written in Python.
        ('metadata["k"] == 1', {"int", "float", "true"}),
        ('metadata["k"] == true', {"int", "float", "true"}),
        ('array_contains(tags, "bool:k") and metadata["k"] == true', {"true"}),
        ('array_contains_any(tags, ["int:k", "float:k"]) and metadata["k"] == 1', {"int", "float"}),
        ('metadata["k"] > 1', {"half"}),
        ('metadata["k"] == "a"', {"text"}),
        ("metadata['k'] == 'a'", {"text"}),
        ('metadata["k.in"] == 1', {"dotted"}),
        ('metadata["k"]["in"] == 1', {"object"}),
        # Lists answer to functions of their own.
        ('json_contains(metadata["k"], 1)', {"numbers"}),
        ('json_contains_any(metadata["k"], [-1, 1])', {"numbers"}),
        # Neither != nor a negation is true of what is missing or null.
        ('metadata["k"] != 1', ALL - {"none", "null", "dotted", "int", "float", "true"}),
        ('not (metadata["k"] == 1)', ALL - {"none", "null", "dotted", "int", "float", "true"}),
        ('metadata["k"] is null', ABSENT - {"empty"}),
        ('not array_contains_any(tags, ["int:k", "list:k"])', ALL - {"int", "numbers", "texts"}),
        ("false", set()),
        (None, ALL),
    ],
)
def test_milvus_lite(milvus: MilvusRows, expression: str | None, expected: set[str]) -> None:
    assert milvus.select(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        'metadata["k"] in [1]',
        'json_contains(metadata["k"], -1)',
        'metadata["k"] == "\\u0061"',
        'metadata["k"] == "a',
        'metadata["k"] == "a\nb"',
        'metadata["k"] == null',
        'array_length(metadata["k"]) == 0',
        "unknown == 1",
    ],
)
def test_milvus_lite_refuses(milvus: MilvusRows, expression: str) -> None:
    with pytest.raises(EngineRefused):
        milvus.select(expression)


def test_milvus_lite_reads_escapes(lite: MilvusRows) -> None:
    text = 'it\'s "so" \\ \n\r\t é😀{}%'
    escaped = text
    for raw, written in [("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")]:
        escaped = escaped.replace(raw, written)
    lite.load({"x": {text: text}, "y": {text: "other"}})
    assert lite.select(f'metadata["{escaped}"] == "{escaped}"') == {"x"}


@pytest.mark.parametrize("value", [2**64, 10**30, "\ud800"])
def test_milvus_refuses_documents(milvus: MilvusRows, value: Any) -> None:
    with pytest.raises(EngineRefused):
        milvus.load({"x": {"k": value}})
    milvus.load({"y": {"k": 2**63}})
    assert milvus.select(None) == {"y"}


def test_milvus_by_its_fixture(milvus_rows: MilvusRows) -> None:
    milvus_rows.load({"a": {"k": 1}, "it's": {"k": 2}, "": {"k": "2"}})
    assert milvus_rows.select('metadata["k"] > 1') == {"it's"}
    assert milvus_rows.select(None) == {"a", "it's", ""}
    milvus_rows.load({})
    assert milvus_rows.select('metadata["k"] > 1') == set()
    assert milvus_rows.select(None) == set()


# -- SQLite -----------------------------------------------------------------------------------


@pytest.fixture
def sqlite(sqlite_rows: SqliteRows) -> SqliteRows:
    sqlite_rows.load(DOCUMENTS)
    return sqlite_rows


def each(condition: str) -> str:
    return f"EXISTS (SELECT 1 FROM json_each(metadata) AS e WHERE e.key = ? AND {condition})"


@pytest.mark.parametrize(
    ("condition", "params", "expected"),
    [
        # true is 1 once it has left the JSON; json_each still knows its type.
        ("json_extract(metadata, '$.k') = 1", (), {"int", "float", "true"}),
        ("metadata ->> '$.k' = 1", (), {"int", "float", "true"}),
        (each("e.type IN ('integer', 'real') AND e.atom = ?"), ("k", 1), {"int", "float"}),
        (each("e.type = 'true'"), ("k",), {"true"}),
        (each("e.type = 'text' AND e.atom = ?"), ("k", "1"), {"digit"}),
        (each("e.type IN ('integer', 'real') AND e.atom = ?"), ("k.in", 1), {"dotted"}),
        (
            "json_extract(metadata, '$.k') <> 1",
            (),
            ALL - ABSENT - {"int", "float", "true"} | {"empty"},
        ),
        ("json_extract(metadata, '$.k') IS NULL", (), ABSENT - {"empty"}),
        (None, None, ALL),
    ],
)
def test_sqlite(sqlite: SqliteRows, condition: str | None, params: Any, expected: set[str]) -> None:
    assert sqlite.select(condition, params) == expected


def test_sqlite_finds_keys_that_no_path_can_say(sqlite_rows: SqliteRows) -> None:
    key = 'odd "key" \'.$[0]'
    sqlite_rows.load({"x": {key: 1}, "y": {}})
    assert sqlite_rows.select(each("e.atom = 1"), (key,)) == {"x"}


def test_sqlite_refuses(sqlite: SqliteRows) -> None:
    for condition, params in [("nonsense", ()), ("metadata = ?", (2**63,)), ("metadata = ?", ())]:
        with pytest.raises(EngineRefused):
            sqlite.select(condition, params)
