"""Our filter in their language, and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filter.strategies import documents, trees
from tests.interop import writing
from tests.interop.specs import ORDERINGS, Spec
from tests.interop.writing import expression_of, mapped, spec_of
from vecstore import Expression, Schema, UnsupportedFilterError, compile_filter, parse
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.qdrant import Qdrant
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
from vecstore.testing.strategies import filters, metadata


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


# --- languages that are no dialect of ours ------------------------------------------------------

FLAT = Schema({"n": int, "f": float, "s": str, "b": bool, "tags": list[str]})
NESTED = Schema(
    {"n": int, "author.name": str, "author.born": int, "a.b.c": float, "tags": list[str]}
)
ODD = Schema({'"a.b"': int, '"odd key"': float, '"it\'s"': str, "ключ": bool, '"$x"': str})


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)


def whole(path: tuple[str, ...]) -> str:
    (name,) = path
    return name


def quoted(path: tuple[str, ...]) -> str:
    return ".".join(f'"{name}"' for name in path)


def within(spec: Spec, *, negation: bool = True, nulls: bool = True, texts: bool = True) -> Spec:
    """The filter without what a language cannot say, which something else stands for.

    Without negation there is no NOT, without nulls no null test, without texts no order of texts.
    """
    op, *rest = spec
    if op in ("and", "or"):
        parts = [within(one, negation=negation, nulls=nulls, texts=texts) for one in rest[0]]
        return (op, tuple(parts))
    if op == "not":
        inner = within(rest[0], negation=negation, nulls=nulls, texts=texts)
        return ("not", inner) if negation else inner
    key, value = rest
    if op in ("null", "notnull") and not nulls:
        return ("eq" if op == "null" else "ne", key, "x")
    return ("eq", key, value) if op in ORDERINGS and isinstance(value, str) and not texts else spec


def null_as_literal(op: str, key: str, value: Any) -> Spec:
    return ({"null": "eq", "notnull": "ne"}.get(op, op), key, value)


def null_as_empty(op: str, key: str, value: Any) -> Spec:
    if op == "notnull":
        return ("not", ("is_empty", key, None))
    return ("is_empty" if op == "null" else op, key, value)


def classes(spec: Spec) -> Any:
    return writing.structured(spec, SimpleNamespace, SimpleNamespace)


Written = Callable[[Spec], Any]
SYSTEMS: dict[str, tuple[Schema, Any, dict[str, bool], Written, Callable[..., Expression]]] = {
    "mongo": (NESTED, dotted, {}, lambda s: writing.mongo(mapped(s, null_as_literal)), from_mongo),
    "haystack": (
        NESTED,
        dotted,
        {"texts": False},
        lambda spec: writing.haystack(mapped(spec, null_as_literal)),
        from_haystack,
    ),
    "llama_index": (
        ODD,
        whole,
        {},
        lambda spec: writing.llama_index(mapped(spec, null_as_empty)),
        from_llama_index,
    ),
    "langchain": (NESTED, dotted, {"nulls": False}, classes, from_langchain),
    "langchain_dicts": (FLAT, whole, {}, writing.langchain_dict, from_langchain),
    "chroma": (FLAT, whole, {"negation": False, "nulls": False}, writing.chroma, from_chroma),
    "sql": (
        NESTED,
        quoted,
        {},
        lambda spec: writing.sql(mapped(spec, writing.sql_where_null_is_unknown)),
        from_sql,
    ),
}


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_our_filter_in_their_language_and_back(system: str, data: st.DataObject) -> None:
    if system == "sql":
        pytest.importorskip("sqlglot")
    schema, name, limits, write, read = SYSTEMS[system]
    spec = within(spec_of(data.draw(filters(schema=schema, max_depth=3)), name), **limits)
    written = write(spec)
    back, tree = read(written, limits=None), expression_of(spec, schema, name)
    for document in data.draw(st.lists(metadata(schema=schema), min_size=1, max_size=4)):
        # What is unknown stays so, too, and may stand under any NOT; SQL's importer selects alone.
        if system != "sql":
            assert back.evaluate(document) == tree.evaluate(document), (written, back)
        assert back.matches(document) == tree.matches(document), (written, back)


@given(filters(schema=NESTED, max_depth=3))
def test_our_filter_in_the_classes_of_langchain(tree: Expression) -> None:
    theirs = pytest.importorskip("langchain_core.structured_query")
    spec = within(spec_of(tree, dotted), nulls=False)
    written = writing.structured(spec, theirs.Operation, theirs.Comparison)
    wanted = expression_of(spec, NESTED, dotted)
    assert from_langchain(written, limits=None) == wanted
    query = theirs.StructuredQuery(query="", filter=written, limit=None)
    assert from_langchain(query, limits=None) == wanted


@given(filters(schema=FLAT, max_depth=3))
def test_our_filter_in_the_models_of_llama_index(tree: Expression) -> None:
    theirs = pytest.importorskip("llama_index.core.vector_stores")
    # They take no bools, and texts for numbers.
    spec = mapped(spec_of(tree, whole), lambda *leaf: leaf if leaf[1] == "s" else ("eq", "s", "x"))
    written = writing.llama_index(("and", (mapped(spec, null_as_empty),)))
    model = theirs.MetadataFilters.model_validate(written)
    wanted = from_llama_index(written, limits=None)
    assert from_llama_index(model, limits=None) == wanted
    assert from_llama_index(model.model_dump(), limits=None) == wanted
