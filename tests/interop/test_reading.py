"""What each importer makes of a filter, and what it says of one that has no meaning here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest

from vecstore import (
    FALSE,
    TRUE,
    Expression,
    FilterError,
    FilterSyntaxError,
    FilterTypeError,
    Limits,
    compile_filter,
)
from vecstore.interop import (
    from_chroma,
    from_haystack,
    from_langchain,
    from_llama_index,
    from_mongo,
    from_pinecone,
    from_qdrant,
    from_sql,
)

Importer = Callable[..., Expression]


def haystack(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


READ: list[tuple[Importer, Any, str]] = [
    # Several keys, and several operators of one, are joined by AND.
    (from_mongo, {"a": 1, "b": "x"}, "a == 1 AND b == 'x'"),
    (from_mongo, {"a": {"$gt": 1, "$lte": 5}}, "a > 1 AND a <= 5"),
    (from_mongo, {"a.b": True}, "a.b == true"),
    (from_mongo, {"a": None}, "a IS NULL"),
    (from_mongo, {"a": {"$ne": None}}, "a IS NOT NULL"),
    (from_mongo, {"a": {"$exists": True}}, "a IS NOT NULL"),
    (from_mongo, {"a": {"$in": [1, "x", True, None]}}, "a IN [1, 'x', true] OR a IS NULL"),
    (from_mongo, {"a": {"$nin": ["x", None]}}, "a NOT IN ['x'] AND a IS NOT NULL"),
    (from_mongo, {"a": {"$not": {"$gt": 1}}}, "NOT a > 1"),
    (from_mongo, {"$nor": [{"a": 1}, {"b": 2}]}, "NOT (a == 1 OR b == 2)"),
    (from_mongo, {"a": {"$all": ["x", "y"]}}, "a == 'x' AND a == 'y'"),
    (from_mongo, {"$and": [{"$or": [{"a": 1}]}, {}]}, "a == 1"),
    (
        from_mongo,
        {"a": {"$gte": datetime(2024, 1, 1, tzinfo=UTC)}},
        "a >= '2024-01-01T00:00:00.000000Z'",
    ),
    (from_pinecone, {"a.b": 1}, '"a.b" == 1'),
    (from_pinecone, {"a": {"$ne": 1}}, "a != 1 AND a IS NOT NULL"),
    (from_pinecone, {"a": {"$nin": ["x"]}}, "a NOT IN ['x'] AND a IS NOT NULL"),
    (from_pinecone, {"a": {"$exists": False}}, "a IS NULL"),
    (from_pinecone, {"a": {"$not": {"$eq": 1}}}, "NOT a == 1"),
    (from_chroma, {"a": {"$ne": 1}}, "a != 1"),
    (from_chroma, {"a": {"$contains": "x"}}, "a == 'x'"),
    (from_chroma, {"a": {"$not_contains": "x"}}, "a != 'x'"),
    (from_langchain, {"a": {"$between": [1, 5]}}, "a >= 1 AND a <= 5"),
    (from_langchain, {"$not": {"a": 1}}, "NOT a == 1"),
    (from_langchain, {"$not": [{"a": 1}, {"b": 2}]}, "NOT a == 1 AND NOT b == 2"),
    (from_haystack, haystack("meta.a.b", ">", 1), "a.b > 1"),
    (from_haystack, haystack("a", "==", 1), "a == 1"),
    (from_haystack, haystack("meta.a", "==", None), "a IS NULL"),
    (from_haystack, haystack("meta.a", "not in", [1, None]), "a NOT IN [1] AND a IS NOT NULL"),
    (from_haystack, haystack("meta.a", ">", "2024-01-31"), "a > '2024-01-31'"),
    (
        from_haystack,
        {"operator": "NOT", "conditions": [haystack("a", "==", 1), haystack("b", "<", 2)]},
        "NOT (a == 1 AND b < 2)",
    ),
    (from_llama_index, {"key": "a.b", "value": 1}, '"a.b" == 1'),
    (from_llama_index, [{"key": "a", "value": 1}, {"key": "b", "value": 2}], "a == 1 AND b == 2"),
    (from_llama_index, {"key": "a", "operator": "any", "value": ["x"]}, "a IN ['x']"),
    (
        from_llama_index,
        {"key": "a", "operator": "all", "value": ["x", "y"]},
        "a == 'x' AND a == 'y'",
    ),
    (from_llama_index, {"key": "a", "operator": "contains", "value": "x"}, "a == 'x'"),
    (from_llama_index, {"key": "a", "operator": "is_empty", "value": None}, "a IS NULL"),
    (
        from_llama_index,
        {
            "condition": "not",
            "filters": [
                {"key": "a", "value": 1},
                {"condition": "or", "filters": [{"key": "b", "value": 2}]},
            ],
        },
        "NOT (a == 1 OR b == 2)",
    ),
    (from_qdrant, {"should": [], "must_not": []}, "always NOT IN []"),
    (from_qdrant, {"must_not": [{"must": []}]}, "never IN []"),
    (from_qdrant, {"key": 'a."b.c"', "match": {"value": "x"}}, "a.\"b.c\" == 'x'"),
    (from_qdrant, {"must": {"key": "a", "range": {"gt": 1, "lt": None}}}, "a > 1"),
    (from_qdrant, {"key": "a", "match": {"except": ["x"]}}, "a NOT IN ['x'] AND a IS NOT NULL"),
    (from_qdrant, {"key": "a", "is_empty": False}, "a IS NOT NULL"),
    (
        from_qdrant,
        {"min_should": {"min_count": 1, "conditions": [{"is_empty": {"key": "a"}}] * 2}},
        "a IS NULL OR a IS NULL",
    ),
    (from_sql, "WHERE a.b = 1 AND flag", "a.b == 1 AND flag == true"),
    (from_sql, "5 < a OR NOT b", "a > 5 OR b == false"),
    (from_sql, "a <> 1", "a != 1 AND a IS NOT NULL"),
    (from_sql, "NOT (a = 1 OR b > 2)", "a != 1 AND a IS NOT NULL AND b <= 2"),
    (from_sql, "a NOT IN (1, NULL)", "never IN []"),
    (from_sql, "a NOT BETWEEN 1 AND 5", "a < 1 OR a > 5"),
    (from_sql, "a IS NOT TRUE", "a != true"),
    (from_sql, "a IS DISTINCT FROM 'x'", "a != 'x'"),
    (from_sql, "day < DATE '2024-01-31'", "day < '2024-01-31'"),
    (from_sql, "at > TIMESTAMP '2024-01-31 12:00:00'", "at > '2024-01-31T12:00:00.000000Z'"),
    (from_sql, "\"odd key\" = 'it''s' -- so", "\"odd key\" == 'it\\'s'"),
]


@pytest.mark.parametrize(("importer", "filter", "text"), READ)
def test_a_filter_is_read(importer: Importer, filter: Any, text: str) -> None:
    assert importer(filter).to_text() == text


REFUSED: list[tuple[Importer, Any, str, str]] = [
    (from_mongo, {"$and": [{"a": 1}, {"b": {"$regex": "x"}}]}, "at $and[1].b.$regex:", "whole"),
    (from_mongo, {"a": {"$gtt": 1}}, "unknown operator '$gtt'", "did you mean $gt?"),
    (from_mongo, {"a": {"b": 1}}, "at a: an object is compared", "'a.b'"),
    (from_mongo, {"a": {"b": 1, "$gt": 1}}, "at a: an object is compared", "'a.b'"),
    (from_mongo, {"a": ["x"]}, "a whole list", '{"$in": [...]}'),
    (from_mongo, {"a": {"$eq": ["x"]}}, "at a.$eq: a whole list", '{"$in": [...]}'),
    (from_mongo, {"tags.0": "x"}, "steps into a list", "'tags'"),
    (from_mongo, {"a..b": "x"}, "an empty key", "name"),
    (from_mongo, {"$gt": 1}, "where a key is expected", '{"year": {"$gt": ...}}'),
    (from_mongo, {"$and": []}, "at $and: $and takes a list of filters", '{"$and": [...]}'),
    (from_mongo, {"$and": {"a": 1}}, "not an object", '{"$and": [...]}'),
    (from_mongo, {"a": {"$exists": 1}}, "takes true or false", "true"),
    (from_mongo, {"a": {"$gt": True}}, "not a bool", "=="),
    (from_mongo, {"a": {"$in": [["x"]]}}, "at a.$in: a list of literals holds a list", "texts"),
    (from_mongo, {"a": {"$in": "x"}}, "a list is needed, not 'x'", "[...]"),
    (from_mongo, {1: "x"}, "a key is text, not 1", "text"),
    (from_mongo, '{"a": 1}', "an object is needed", "json.loads(text)"),
    (from_mongo, {"$where": "sleep(1)"}, "has no meaning here", "no code"),
    (from_pinecone, {"a": None}, "null is no value", '{"$exists": false}'),
    (from_pinecone, {"$nor": [{"a": 1}]}, "'$nor' has no meaning here", "$and"),
    (from_pinecone, {"$and": [{}]}, "at $and[0]: an empty object", "leave it out"),
    (from_pinecone, {"__vecstore_tokens": "x"}, "reserved", "rename"),
    (from_chroma, {"a": 1, "b": 2}, "one key or operator", '{"$and": ['),
    (from_chroma, {"a": {"$gt": 1, "$lt": 2}}, "one operator beside a key", '{"$and": ['),
    (from_chroma, {"a": {"$exists": True}}, "has no meaning here", "no missing key"),
    (from_langchain, {"a b": 1}, "its keys are identifiers", "F['odd key']"),
    (from_langchain, {"a": {"$ilike": "x%"}}, "has no meaning here", "whole values"),
    (from_langchain, {"a": {"$between": [1]}}, "two bounds", "[low, high]"),
    (from_langchain, "a == 1", "a StructuredQuery", "Comparison("),
    (from_haystack, haystack("content", "==", "x"), "the document's own", "search(query)"),
    (from_haystack, haystack("author.name", "==", "x"), "no document of Haystack", "meta.author"),
    (from_haystack, haystack("meta.a", ">", "M"), "orders numbers and ISO dates", "F.title"),
    (from_haystack, haystack("meta.a", "==", ["x"]), "a whole list", '"in"'),
    (from_haystack, haystack("meta.a", "eq", "x"), "unknown operator 'eq'", "==, !="),
    (from_haystack, {"operator": "and", "conditions": []}, "at operator:", '"AND"'),
    (from_haystack, {"field": "meta.a", "operator": "=="}, "'value' is missing", "field, operator"),
    (from_haystack, {"$and": {"a": 1}}, "Haystack 1", '"conditions"'),
    (from_haystack, {"operator": "OR", "conditions": [1]}, "at conditions[0]:", "field"),
    (
        from_llama_index,
        {"filters": [{"key": "a", "operator": "text_match", "value": "x"}]},
        "at filters[0].operator:",
        "whole values",
    ),
    (from_llama_index, {"key": "a", "value": None}, "None is no value", '"is_empty"'),
    (from_llama_index, {"key": "a", "val": 1}, "unknown name 'val'", "key, value, operator"),
    (from_llama_index, {"filters": [], "condition": "xor"}, "unknown condition", "or"),
    (from_qdrant, {"must": [{"key": "a[]", "match": {"value": 1}}]}, "at must[0].key:", "brackets"),
    (from_qdrant, {"key": "a", "match": {"text": "x"}}, "'text' has no meaning", "whole values"),
    (from_qdrant, {"key": "a", "match": {"value": 1.5}}, "no floats", '"gte": 1.5'),
    (from_qdrant, {"must": [{"has_id": [1]}]}, "at must[0]:", "get(ids)"),
    (from_qdrant, {"must": [{"is_null": {"key": "a"}}]}, "'is_null' has no meaning", "is_empty"),
    (from_qdrant, {"must": {"key": "a", "range": {"lt": None}}}, "a range has a bound", "gte"),
    (from_qdrant, {"must": [{"is_empty": {"key": "a[]"}}]}, "steps into a list", "brackets"),
    (from_qdrant, {"key": "a", "match": {"value": 1}, "range": {"gt": 1}}, "one condition", "must"),
    (from_qdrant, {"musst": []}, "unknown condition 'musst'", "did you mean must?"),
    (from_sql, "a LIKE 'x%'", "no meaning in a filter", "whole values"),
    (from_sql, "a = b", "not with another key", "'b'"),
    (from_sql, "a = NULL", "never true", "a IS NULL"),
    (from_sql, "a <> NULL", "never true", "a IS NOT NULL"),
    (from_sql, "a = 1; DROP TABLE t", "';' has no meaning", "one condition"),
    (from_sql, "a IN (SELECT 1)", "'SELECT' has no meaning", "IN ('a', 'b')"),
    (from_sql, "a >", "cannot be read", "year >= 2020"),
    (from_sql, "a = 'x", "split into words", "quote"),
    (from_sql, "a = :p", "no literal", "into the text"),
    (from_sql, "m->>'a' = 'x'", "no key", "author.name"),
    (from_sql, "", "there is no condition", "year >= 2020"),
    (from_sql, "a = 1e999", "not a finite number", ""),
    (from_sql, "a = DATE '2024-99-01'", "no date or time", "2024-01-31"),
    (from_sql, "__vecstore = 1", "reserved", "rename"),
]


@pytest.mark.parametrize(("importer", "filter", "message", "hint"), REFUSED)
def test_what_has_no_meaning_here_is_refused_with_its_place(
    importer: Importer, filter: Any, message: str, hint: str
) -> None:
    with pytest.raises(FilterError) as caught:
        importer(filter)
    assert type(caught.value) is (FilterSyntaxError if importer is from_sql else FilterTypeError)
    assert message in str(caught.value.message)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("operator", ["$in", "$nin"])
@pytest.mark.parametrize(
    "within",
    [
        lambda inner: {"$not": inner},
        lambda inner: {"$and": [{"b": 1}, {"$not": [{"c": 2}, {"$or": [inner, {"d": 3}]}]}]},
    ],
)
def test_langchains_in_is_unknown_of_a_missing_value_under_not(
    operator: str, within: Callable[[Any], Any]
) -> None:
    # Its PostgreSQL store writes IN of SQL for these, and a JSON path for every other operator.
    opposite = {"$in": "$nin", "$nin": "$in"}[operator]
    with pytest.raises(FilterTypeError, match="selects nothing there that has no 'a'") as caught:
        from_langchain(within({"a": {operator: [1, 2]}}))
    assert str(caught.value.hint).endswith(f"write {opposite}")
    read = from_langchain({"$and": [{"$not": {"b": 1}}, {"a": {operator: [1, 2]}}]})
    assert not read.matches({})


def test_an_error_in_sql_points_at_its_place() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        from_sql("year >= 2020\n  AND title LIKE 'A%'")
    assert (caught.value.line, caught.value.column) == (2, 7)
    assert caught.value.span is not None
    assert caught.value.span.text == "title LIKE 'A%'"
    with pytest.raises(FilterError) as refused:
        compile_filter(from_sql("year >= 2020 AND title > 'A'"), "qdrant")
    assert refused.value.span is not None
    assert refused.value.span.text == "title > 'A'"


def test_sql_of_one_dialect() -> None:
    assert from_sql("`odd key` = 1", dialect="mysql").to_text() == '"odd key" == 1'
    with pytest.raises(Exception, match="sqlglot"):
        from_sql("a = 1", dialect="nosuchsql")


@pytest.mark.parametrize("dialect", [None, "postgres", "redshift", "mysql", "sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("a IS NOT NULL", "a IS NOT NULL"),
        ("NOT a IS NOT NULL", "a IS NULL"),
        ("NOT a IS NULL", "a IS NOT NULL"),
        ("a IS NOT TRUE", "a != true"),
        ("NOT a IS NOT TRUE", "a == true"),
    ],
)
def test_is_not_is_read_alike_in_every_dialect_of_sql(
    dialect: str | None, condition: str, read: str
) -> None:
    # sqlglot's tree has a NOT around the IS, but in some dialects a flag at the IS instead.
    assert from_sql(condition, dialect=dialect).to_text() == read


def test_the_other_words_of_postgresql_for_null() -> None:
    assert from_sql("a NOTNULL", dialect="postgres").to_text() == "a IS NOT NULL"
    assert from_sql("a ISNULL", dialect="postgres").to_text() == "a IS NULL"
    assert from_sql("a IS NOT UNKNOWN", dialect="postgres").to_text() == "a IS NOT NULL"


@pytest.mark.parametrize(
    ("dialect", "condition", "message"),
    [
        ("mysql", "a = 1 /*! AND b = 2 */", "MySQL and MariaDB execute"),
        ("mysql", "/*!50000 b = 2 AND */ a = 1", "MySQL and MariaDB execute"),
        ("oracle", "a(+) = 1", "outer join"),
        ("postgres", "a < '2024-01-01 10:00:00.7'::timestamp(0)", "precision"),
        ("postgres", "a = '2024-01-01 10:00+02'::timestamp", "without a zone"),
    ],
)
def test_what_a_database_would_not_ignore_is_not_ignored(
    dialect: str, condition: str, message: str
) -> None:
    with pytest.raises(FilterSyntaxError, match=message) as caught:
        from_sql(condition, dialect=dialect)
    assert caught.value.span is not None


def test_a_comment_of_sql_says_nothing() -> None:
    assert from_sql("a = '/*! b */' /* c */ -- ! d", dialect="mysql").to_text() == "a == '/*! b */'"


@pytest.mark.parametrize(
    "importer",
    [from_mongo, from_pinecone, from_chroma, from_haystack, from_qdrant, from_langchain],
)
def test_no_filter_is_true(importer: Importer) -> None:
    assert importer({}) is TRUE


def test_no_filter_in_objects_is_true() -> None:
    assert from_llama_index({"filters": []}) is TRUE
    assert from_llama_index([]) is TRUE
    assert from_langchain(Query("x", None)) is TRUE
    assert from_mongo({"a": {"$in": []}}).is_false
    assert from_haystack({"operator": "OR", "conditions": []}) is FALSE


def test_the_prefix_of_a_payload_goes() -> None:
    filter = {"key": "metadata.author.name", "match": {"value": "x"}}
    assert from_qdrant(filter, prefix="metadata").to_text() == "author.name == 'x'"
    assert from_qdrant(filter, prefix=("metadata", "author")).to_text() == "name == 'x'"
    for key in ("metadata", "author.name"):
        with pytest.raises(FilterTypeError, match="is not under 'metadata'"):
            from_qdrant({"key": key, "match": {"value": "x"}}, prefix="metadata")


# --- objects of other libraries, by what they look like ------------------------------------------


class Name(Enum):
    AND = "and"
    NOT = "not"
    GTE = "gte"
    IN = "in"
    CONTAIN = "contain"


@dataclass
class Comparison:
    comparator: Any
    attribute: Any
    value: Any


@dataclass
class Operation:
    operator: Any
    arguments: Any


@dataclass
class Query:
    query: str
    filter: Any
    limit: int | None = None


def test_structured_queries() -> None:
    day = {"type": "date", "date": "2024-01-31"}
    query = Query(
        "dogs",
        Operation(
            Name.AND,
            [
                Comparison(Name.GTE, "author.born", 1900),
                Operation("not", [Comparison(Name.IN, "day", [day])]),
            ],
        ),
    )
    assert from_langchain(query).to_text() == "author.born >= 1900 AND NOT day IN ['2024-01-31']"
    moment = {"type": "datetime", "datetime": "2024-01-31T12:00:00+02:00"}
    assert (
        from_langchain(Comparison("lt", "at", moment)).to_text()
        == "at < '2024-01-31T10:00:00.000000Z'"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Comparison(Name.CONTAIN, "tags", "x"), "'contain' has no meaning here"),
        (Operation("xor", [Comparison("eq", "a", 1)]), "unknown operator 'xor'"),
        (Operation("not", [Comparison("eq", "a", 1)] * 2), "takes one argument"),
        (Operation("and", []), "needs arguments"),
        (Comparison("eq", "a", {"type": "date", "date": "soon"}), "'soon' is no date"),
        (Comparison("eq", "a", {"x": 1}), "an object is compared with nothing"),
        (Comparison("eq", "a", None), "None is no value"),
        (Comparison("eq", "a", ["x"]), "a whole list"),
        (Comparison("eq", 1, "x"), "a key is text, not 1"),
        (Query("x", Operation("and", [Comparison("eq", "a", 1), 2])), "at filter.arguments[1]:"),
    ],
)
def test_structured_queries_without_meaning(query: Any, message: str) -> None:
    with pytest.raises(FilterTypeError) as caught:
        from_langchain(query)
    assert message in caught.value.message


def test_the_models_of_libraries_that_are_installed() -> None:
    models = pytest.importorskip("qdrant_client.models")
    filter = models.Filter(
        must=[
            models.FieldCondition(key="a", match=models.MatchAny(any=["x", "y"])),
            models.FieldCondition(
                key="at", range=models.DatetimeRange(gte=datetime(2024, 1, 1, tzinfo=UTC))
            ),
        ],
        must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key="b"))],
    )
    assert from_qdrant(filter).to_text() == (
        "a IN ['x', 'y'] AND at >= '2024-01-01T00:00:00.000000Z' AND NOT b IS NULL"
    )


def test_langchain_itself() -> None:
    own = pytest.importorskip("langchain_core.structured_query")
    query = own.StructuredQuery(
        query="dogs",
        filter=own.Operation(
            operator=own.Operator.AND,
            arguments=[
                own.Comparison(comparator=own.Comparator.GTE, attribute="year", value=2020),
                own.Comparison(comparator=own.Comparator.NIN, attribute="lang", value=["de"]),
            ],
        ),
        limit=None,
    )
    assert from_langchain(query).to_text() == "year >= 2020 AND lang NOT IN ['de']"


def test_llama_index_itself() -> None:
    own = pytest.importorskip("llama_index.core.vector_stores")
    filters = own.MetadataFilters(
        filters=[
            own.MetadataFilters(
                filters=[own.MetadataFilter(key="year", operator=">=", value=2020)],
                condition="not",
            ),
            own.ExactMatchFilter(key="lang", value="de"),
        ],
        condition=own.FilterCondition.OR,
    )
    assert from_llama_index(filters).to_text() == "NOT year >= 2020 OR lang == 'de'"


# --- limits ---------------------------------------------------------------------------------------


def test_limits_are_those_of_the_language() -> None:
    for filter in ({"a": {"$in": [1, 2, 3]}}, {"a": {"$not": {"$in": [1, 2, 3]}}}):
        with pytest.raises(FilterError, match="limit in_values"):
            from_mongo(filter, limits=Limits(in_values=2))
    with pytest.raises(FilterError, match="limit nodes"):
        from_mongo({"$or": [{"a": n} for n in range(20)]}, limits=Limits(nodes=10))
    with pytest.raises(FilterError, match="limit text"):
        from_sql("a = 1", limits=Limits(text=3))
    with pytest.raises(FilterError, match="limit nesting"):
        from_sql("((a = 1))", limits=Limits(nesting=1))
    with pytest.raises(TypeError, match="Limits"):
        from_mongo({}, limits=10)  # type: ignore[arg-type]


def test_what_is_read_counts_as_a_strangers() -> None:
    for filter in (from_mongo({"a": 1, "b": None}), from_sql("a = 1 OR NOT b IS NULL")):
        assert all(node.from_outside for node in filter.operands)
