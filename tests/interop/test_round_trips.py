"""Our filter in their language, and back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given

from tests.filter.strategies import documents, trees
from vecstore import Expression, Schema, UnsupportedFilterError, compile_filter, parse
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.qdrant import Qdrant
from vecstore.interop import from_pinecone, from_qdrant


@given(trees, documents)
def test_qdrant(tree: Expression, document: dict[str, Any]) -> None:
    try:
        compiled = Qdrant(prefix="meta").compile(tree)
    except UnsupportedFilterError:
        return
    back = from_qdrant(compiled.query, prefix="meta", limits=None)
    assert back.matches(document) == tree.matches(document)
    # What an importer leaves out or adds would show here.
    again = from_qdrant(Qdrant(prefix="meta").compile(back).query, prefix="meta", limits=None)
    assert again.matches(document) == tree.matches(document)


@given(trees, documents)
def test_pinecone(tree: Expression, document: dict[str, Any]) -> None:
    try:
        compiled = Pinecone().compile(tree)
    except UnsupportedFilterError:
        return
    if compiled.matches_all or compiled.matches_nothing:
        return
    assert from_pinecone(compiled.query, limits=None).matches(document) == tree.matches(document)


@pytest.mark.parametrize("length", [1, 22, 23, 500, 10_000])
def test_long_lists_of_numbers_on_qdrant(length: int) -> None:
    filter = parse(f"n IN {list(range(0, 2 * length, 2))} AND n NOT IN [2]")
    back = from_qdrant(compile_filter(filter, "qdrant").query, limits=None)
    for value in (0, 1, 2, 2 * length - 2, 2 * length, [0], [1, 4], [2, 4], None, "0"):
        document = {"n": value}
        assert back.matches(document) == filter.matches(document), value


def test_orderings_of_declared_times_on_qdrant() -> None:
    filter = parse("created > TIMESTAMP '2024-01-31T12:00:00Z'")
    query = Qdrant(schema=Schema({"created": datetime})).compile(filter).query
    assert from_qdrant(query) == filter


def test_points_of_one_key_are_kept_apart_from_what_stands_around_them() -> None:
    point = {"key": "n", "range": {"gte": 1, "lte": 1}}
    assert from_qdrant({"must": [point, dict(point)]}).to_text() == "n == 1 AND n == 1"
    around = {"key": "n", "range": {"gte": 2, "lte": 5}}
    kept = from_qdrant({"must": [around, {"should": [point]}]})
    assert kept.to_text() == "n >= 2 AND n <= 5 AND n == 1"
    other = from_qdrant({"must": [{**around, "key": "m"}, {"should": [point]}]})
    assert other.to_text() == "m >= 2 AND m <= 5 AND n == 1"
