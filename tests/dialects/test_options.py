"""What is no option of a dialect is said to be none, whatever its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vecstore import ConfigurationError, compile_filter
from vecstore.dialects.registry import get_dialect

MISFITS: list[tuple[str, dict[str, Any]]] = [
    ("pgvector", {"column": 5}),
    ("pgvector", {"column": None}),
    ("pgvector", {"column": []}),
    ("pgvector", {"column": ("a", 5)}),
    ("pgvector", {"paramstyle": None}),
    ("pgvector", {"paramstyle": ["format"]}),
    ("pgvector", {"columns": 5}),
    ("pgvector", {"columns": "year"}),
    ("pgvector", {"columns": ["year"]}),
    ("pgvector", {"columns": {"year": 5}}),
    ("pgvector", {"columns": {"year": "varchar"}}),
    ("qdrant", {"prefix": 5}),
    ("qdrant", {"prefix": ("a", 5)}),
    ("qdrant", {"datetimes": 5}),
    ("qdrant", {"datetimes": [5]}),
    ("qdrant", {"datetimes": [[["a"]]]}),
    ("qdrant", {"datetimes": [()]}),
    ("qdrant", {"datetimes": None}),
    ("milvus", {"field": None}),
    ("milvus", {"tags": 5}),
    ("milvus", {"field": "t", "tags": "t"}),
    ("milvus", {"tags": "None"}),
    ("milvus", {"tags": True}),
    ("pinecone", {"layout": None}),
    ("pinecone", {"layout": ["exact"]}),
    ("weaviate", {"layout": ["exact"]}),
    ("weaviate", {"layout": "exact", "numbers": 5}),
    ("weaviate", {"layout": "exact", "texts": [5]}),
    ("weaviate", {"layout": "plain", "properties": 5}),
    ("weaviate", {"layout": "plain", "properties": "year"}),
    ("weaviate", {"layout": "plain", "properties": [("year", "int", "more")]}),
    ("weaviate", {"layout": "plain", "properties": {5: "int", "year": "int"}}),
    ("weaviate", {"layout": "plain", "properties": {"year": ["int"]}}),
]


@pytest.mark.parametrize(("name", "options"), MISFITS, ids=lambda value: f"{value}")
def test_a_value_that_an_option_cannot_take(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        compile_filter("year == 1", name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pgvector", {"column": ["d", "metadata"], "columns": [("year", "int")]}),
        ("qdrant", {"prefix": ["a", "b"], "datetimes": ["created", ["a", "b"]]}),
        ("milvus", {"tags": None}),
        ("pinecone", {"layout": "exact"}),
        ("weaviate", {"layout": "exact", "numbers": ["year"], "texts": [["a", "b"]]}),
        ("weaviate", {"layout": "plain", "properties": [("year", "int")]}),
    ],
)
def test_options_given_as_lists_are_kept_in_a_form_that_hashes(
    name: str, options: dict[str, Any]
) -> None:
    build: Callable[..., Any] = get_dialect(name)
    assert hash(build(**options)) == hash(build(**options))
    assert build(**options) == build(**options)
