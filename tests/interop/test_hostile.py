"""Input made to break a reader: depth, size, cycles, odd keys and values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import Expression, FilterError, FilterLimitError, Limits
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

DEEP = 1_500
"""Levels, more than Python calls functions deep."""

Importer = Callable[..., Expression]
Around = Callable[[Any], Any]

IMPORTERS: list[Importer] = [
    from_chroma,
    from_haystack,
    from_langchain,
    from_llama_index,
    from_mongo,
    from_pinecone,
    from_qdrant,
]
NESTED: list[tuple[Importer, Any, Around]] = [
    (from_mongo, {"a": 1}, lambda inner: {"$and": [inner]}),
    (from_mongo, {"a": 1}, lambda inner: {"$nor": [inner, {"b": 1}]}),
    (from_pinecone, {"a": 1}, lambda inner: {"$or": [{"b": 1}, inner]}),
    (from_chroma, {"a": 1}, lambda inner: {"$and": [inner, inner]}),
    (from_langchain, {"a": 1}, lambda inner: {"$not": inner}),
    (
        from_haystack,
        {"field": "meta.a", "operator": "==", "value": 1},
        lambda inner: {"operator": "NOT", "conditions": [inner]},
    ),
    (
        from_llama_index,
        {"key": "a", "value": 1},
        lambda inner: {"condition": "not", "filters": [inner]},
    ),
    (
        from_qdrant,
        {"key": "a", "match": {"value": 1}},
        lambda inner: {"must_not": [inner]},
    ),
    (from_qdrant, {"key": "a", "range": {"gte": 1, "lte": 1}}, lambda inner: {"should": [inner]}),
]


@pytest.mark.parametrize(("importer", "filter", "around"), NESTED)
def test_depth_is_no_recursion(importer: Importer, filter: Any, around: Around) -> None:
    shared = around(around(filter)) == {"$and": [{"$and": [filter] * 2}] * 2}
    for _ in range(12 if shared else DEEP):  # of what is there twice, each level doubles the work
        filter = around(filter)
    # Wrappers of one are nothing, so that not all are refused.
    with suppress(FilterLimitError):
        importer(filter)
    tree = importer(filter, limits=None)
    assert isinstance(tree.matches({"a": 1}), bool)


@pytest.mark.parametrize(("importer", "filter", "around"), NESTED)
@pytest.mark.parametrize("limits", ["default", None])
def test_what_contains_itself(
    importer: Importer, filter: Any, around: Around, limits: str | None
) -> None:
    outer = around(filter)
    (name, inside), *_ = ((key, one) for key, one in outer.items() if isinstance(one, dict | list))
    if isinstance(inside, list):
        inside.append(outer)
    else:
        outer[name] = outer
    with pytest.raises(FilterError, match="contains itself"):
        importer(outer) if limits else importer(outer, limits=None)


@pytest.mark.parametrize("importer", IMPORTERS)
def test_great_width_meets_the_limit(importer: Importer) -> None:
    comparison = {
        from_haystack: {"field": "meta.a", "operator": "==", "value": 1},
        from_llama_index: {"key": "a", "value": 1},
        from_qdrant: {"key": "a", "match": {"value": 1}},
    }.get(importer, {"a": 1})
    joint = {
        from_haystack: lambda items: {"operator": "OR", "conditions": items},
        from_llama_index: lambda items: {"condition": "or", "filters": items},
        from_qdrant: lambda items: {"should": items},
    }.get(importer, lambda items: {"$or": items})
    few = Limits(nodes=500)
    with pytest.raises(FilterError, match="limit nodes"):
        importer(joint([comparison] * 20_000), limits=few)
    assert len(importer(joint([comparison] * 499), limits=few).operands) == 499


def _lists(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("not for you")


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        10**5_000,
        -(10**5_000),
        "\0",
        "\ud800",
        b"x",
        object(),
        Rude(),
        _lists(DEEP),
        {"a": _lists(DEEP)},
        [_lists(DEEP)],
        [Rude()],
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_no_filter_holds(value: Any) -> None:
    filters: list[tuple[Importer, Any]] = [
        (from_mongo, {"a": value}),
        (from_mongo, {"a": {"$gt": value}}),
        (from_mongo, {"a": {"$in": [value]}}),
        (from_mongo, {"a": {"$nin": value}}),
        (from_chroma, {"a": {"$contains": value}}),
        (from_haystack, {"field": "a", "operator": "==", "value": value}),
        (from_haystack, {"field": "a", "operator": ">", "value": value}),
        (from_llama_index, {"key": "a", "operator": "any", "value": value}),
        (from_qdrant, {"key": "a", "match": {"value": value}}),
        (from_qdrant, {"key": "a", "match": {"any": [value]}}),
        (from_qdrant, {"key": "a", "range": {"gte": value}}),
        (from_langchain, {"a": {"$between": [value, value]}}),
    ]
    for importer, filter in filters:
        with pytest.raises(FilterError):
            importer(filter)


json_like = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 5),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["$and", "==", "AND", "meta.a", "a", "a[]", "in", "not"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(
                    "$and $or $nor $not $in $eq $exists $all $between a a.b field operator value "
                    "conditions key filters condition must should must_not min_should match range "
                    "any except gte lte is_empty".split()
                ),
                st.integers(0, 2),
                st.text(max_size=2),
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=15,
)


@given(st.sampled_from(IMPORTERS), json_like)
def test_anything_at_all_is_read_or_refused(importer: Importer, filter: Any) -> None:
    try:
        tree = importer(filter)
    except FilterError as error:
        _check(error)
    else:
        tree.matches({"a": 1})


@given(
    st.lists(
        st.sampled_from(
            "a b 1 'x' = <> < AND OR NOT ( ) IN IS NULL BETWEEN , . - DATE LIKE [ ] :: $1 TRUE "
            "CASE WHEN THEN END SELECT ; /* */ -- ARRAY ANY * + || @>".split()
        ),
        max_size=12,
    ).map(" ".join)
)
def test_any_words_of_sql_are_read_or_refused(text: str) -> None:
    pytest.importorskip("sqlglot")
    try:
        from_sql(text)
    except FilterError as error:
        _check(error)


def _check(error: FilterError) -> None:
    assert error.hint, error


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "a = 1" + ")" * 5_000,
        "NOT " * 5_000 + "a = 1",
        "- " * 5_000 + "a = 1",
        "a = " + "(" * 5_000,
        "a = " + "CASE WHEN " * 1_000,
        "a = " + "ARRAY<" * 1_000,
        "a = x::" + "ARRAY<" * 1_000,
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.parametrize("limits", ["default", None])
def test_depth_in_sql_is_refused(text: str, limits: str | None) -> None:
    pytest.importorskip("sqlglot")
    with pytest.raises(FilterError):
        from_sql(text) if limits else from_sql(text, limits=None)


@pytest.mark.parametrize("depth", range(10, 64, 6))
def test_what_sqlglot_can_just_read_is_read_or_refused(depth: int) -> None:
    pytest.importorskip("sqlglot")
    with suppress(FilterLimitError):
        assert from_sql("(" * depth + "a = 1" + ")" * depth).to_text() == "a == 1"


def test_a_long_chain_in_sql() -> None:
    pytest.importorskip("sqlglot")
    tree = from_sql(" OR ".join(f"a{n}=1" for n in range(2_000)))
    assert len(tree.operands) == 2_000
