"""What is no option of a dialect is said to be none, whatever its shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import pytest

from vecstore import (
    Capabilities,
    ConfigurationError,
    Expression,
    FilterTypeError,
    Schema,
    UnsupportedFilterError,
    compile_filter,
)
from vecstore.authoring import SqlDialect
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.registry import get_dialect

YEAR = Schema({"year": int})
MISFITS: list[tuple[str, dict[str, Any]]] = [
    ("pgvector", {"column": 5}),
    ("pgvector", {"column": None}),
    ("pgvector", {"column": []}),
    ("pgvector", {"column": ("a", 5)}),
    ("pgvector", {"paramstyle": None}),
    ("pgvector", {"paramstyle": ["format"]}),
    ("pgvector", {"columns": 5}),
    ("pgvector", {"columns": "year"}),
    ("pgvector", {"columns": ["year"]}),  # of which nothing says what it holds
    ("pgvector", {"columns": {"year": 5}}),
    ("pgvector", {"columns": {"year": "int"}}),
    ("pgvector", {"columns": {"year": "varchar"}}),
    ("duckdb", {"column": ""}),
    ("duckdb", {"column": 5}),
    ("duckdb", {"paramstyle": "named"}),
    ("sqlite", {"column": ""}),
    ("sqlite", {"column": "key"}),
    ("sqlite", {"paramstyle": "format"}),
    ("qdrant", {"prefix": 5}),
    ("qdrant", {"prefix": ("a", 5)}),
    ("redis", {"numbers": "year"}),
    ("redis", {"numbers": [5]}),
    ("redis", {"texts": 5}),
    ("lancedb", {"layout": None}),
    ("lancedb", {"layout": ["exact"]}),
    ("milvus", {"field": None}),
    ("milvus", {"tags": 5}),
    ("milvus", {"field": "t", "tags": "t"}),
    ("milvus", {"tags": "None"}),
    ("milvus", {"tags": True}),
    ("pinecone", {"layout": None}),
    ("pinecone", {"layout": ["exact"]}),
    ("weaviate", {"layout": ["exact"]}),
    ("chroma", {"layout": None}),
    ("chroma", {"target": "server"}),
    ("chroma", {"target": "cloud"}),  # whose numbers are not what was written
    ("chroma", {"texts": 5}),
    ("chroma", {"texts": "title"}),
    ("chroma", {"numbers": [[]]}),
]


@pytest.mark.parametrize(("name", "options"), MISFITS, ids=lambda value: f"{value}")
def test_a_value_that_an_option_cannot_take(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        compile_filter("year == 1", name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pgvector", {"column": ["d", "metadata"], "columns": [["year"]], "schema": YEAR}),
        ("qdrant", {"prefix": ["a", "b"]}),
        ("milvus", {"tags": None}),
        ("pinecone", {"layout": "exact"}),
        ("chroma", {"layout": "exact", "texts": ["title", ["author", "name"]]}),
    ],
)
def test_options_given_as_lists_are_kept_in_a_form_that_hashes(
    name: str, options: dict[str, Any]
) -> None:
    build: Callable[..., Any] = get_dialect(name)
    assert hash(build(**options)) == hash(build(**options))
    assert build(**options) == build(**options)


def test_a_schema_tells_the_dialect_and_checks_the_filter() -> None:
    schema = Schema({"created": datetime, "title": str}, others="allow")
    moment = "created > TIMESTAMP '2024-01-01'"
    with pytest.raises(UnsupportedFilterError):
        compile_filter(moment, "qdrant")
    expected = Qdrant(schema=schema).compile(moment)
    assert compile_filter(moment, "qdrant", schema=schema) == expected
    assert compile_filter(moment, Qdrant(), schema=schema) == expected
    prefixed = compile_filter(moment, "qdrant", schema=schema, prefix="m")
    assert prefixed == compile_filter(moment, Qdrant(prefix="m"), schema=schema) != expected
    # A dialect with a schema of its own keeps it, and the filter is held against the other.
    told = Qdrant(schema=Schema({"title": str}))
    with pytest.raises(UnsupportedFilterError):
        compile_filter(moment, told, schema=schema)
    with pytest.raises(FilterTypeError, match="no key yaer"):
        compile_filter("yaer == 1", Qdrant(schema=schema), schema=Schema({"year": int}))
    assert compile_filter(None, "qdrant", schema=schema).matches_all


@dataclass(frozen=True)
class Deaf(SqlDialect):
    """A dialect of somebody else's that takes no schema."""

    name: ClassVar[str] = "deaf"
    capabilities: ClassVar[Capabilities] = Capabilities()

    def member(self, atom: Expression) -> Any:
        return ["held"]

    def null(self, atom: Expression) -> Any:
        return ["absent"]


def test_a_schema_is_held_against_filters_of_dialects_that_take_none() -> None:
    assert compile_filter("year == 1", Deaf(), schema=Schema({"year": int})).query == "held"
    with pytest.raises(FilterTypeError):
        compile_filter("yaer == 1", Deaf(), schema=Schema({"year": int}))
