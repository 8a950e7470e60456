from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vecstore import (
    Document,
    Expression,
    F,
    FilterBuilder,
    FilterSyntaxError,
    SearchRequest,
    SimpleVectorStore,
    parse,
)
from vecstore.document import is_possible_id
from vecstore.store.arguments import read_filter, read_ids


def test_defaults() -> None:
    request = SearchRequest("q")
    assert (request.query, request.vector, request.top_k) == ("q", None, 4)
    assert (request.threshold, request.filter, request.include_embedding) == (None, None, False)


def test_a_search_looks_for_a_text_or_a_vector() -> None:
    with pytest.raises(TypeError, match=r"store\.get"):
        SearchRequest()
    with pytest.raises(TypeError, match="not both"):
        SearchRequest("q", [1, 2])
    with pytest.raises(TypeError, match="vector="):
        SearchRequest([1.0, 2.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [True, 1.0, "4", None, [4]])
def test_top_k_is_a_whole_number(top_k: Any) -> None:
    with pytest.raises(TypeError, match="top_k is a whole number"):
        SearchRequest("q", top_k=top_k)


def test_top_k_values() -> None:
    assert type(SearchRequest("q", top_k=np.int64(3)).top_k) is int  # type: ignore[arg-type]
    assert SearchRequest("q", top_k=0).top_k == 0
    assert SearchRequest("q", offset=3) != SearchRequest("q")
    assert repr(SearchRequest("q", offset=3)) == "SearchRequest(query='q', top_k=4, offset=3)"
    with pytest.raises(ValueError, match="0 or more"):
        SearchRequest("q", top_k=-1)


@pytest.mark.parametrize("threshold", [True, "0.5", [0.5], 1j])
def test_a_threshold_is_a_number(threshold: Any) -> None:
    with pytest.raises(TypeError, match="threshold is a number"):
        SearchRequest("q", threshold=threshold)


def test_threshold_values() -> None:
    assert SearchRequest("q", threshold=np.float32(0.5)).threshold == 0.5  # type: ignore[arg-type]
    assert SearchRequest("q", threshold=-1).threshold == -1.0
    with pytest.raises(ValueError, match="NaN"):
        SearchRequest("q", threshold=float("nan"))


def test_filters_in_every_form() -> None:
    wanted = F.a == 1
    assert SearchRequest("q", filter="a == 1").filter == wanted
    assert SearchRequest("q", filter=wanted).filter is wanted
    assert SearchRequest("q", filter=FilterBuilder().group(wanted)).filter == wanted
    with pytest.raises(FilterSyntaxError):
        SearchRequest("q", filter="a ==")
    with pytest.raises(FilterSyntaxError):
        SearchRequest("q", filter="")


@pytest.mark.parametrize(
    ("filter", "words"),
    [
        (True, "F on the left"),
        ({"a": 1}, "write filter='a == 1'"),
        (lambda document: True, "function"),
        (["a == 1"], "list"),
        (F.a, "Field"),
        (5, "int"),
    ],
)
def test_what_is_no_filter(filter: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        SearchRequest("q", filter=filter)


@pytest.mark.parametrize("vector", [[1, float("nan")], [], [[1, 2]], "x", ["a"], [1e40]])
def test_what_is_no_vector(vector: Any) -> None:
    with pytest.raises(ValueError, match="the query vector"):
        SearchRequest(vector=vector)


def test_requests_are_values() -> None:
    request = SearchRequest(vector=[1, 2], top_k=3, threshold=0.5, filter="a == 1")
    assert request == SearchRequest(
        vector=np.array([1.0, 2.0]), top_k=3, threshold=0.5, filter=parse("a==1")
    )
    assert hash(request) == hash(SearchRequest(None, (1, 2), 3, 0.5, F.a == 1))
    assert request != SearchRequest(vector=[1, 3], top_k=3, threshold=0.5, filter="a == 1")
    assert request != "x"
    with pytest.raises(AttributeError):
        request.top_k = 5  # type: ignore[misc]
    assert repr(request) == (
        "SearchRequest(vector=<2 dimensions>, top_k=3, threshold=0.5, filter='a == 1')"
    )


def test_unknown_keyword() -> None:
    with pytest.raises(TypeError, match="filters"):
        SearchRequest("q", filters="a == 1")  # type: ignore[call-arg]


def test_read_filter_keeps_none() -> None:
    assert read_filter(None) is None
    assert isinstance(read_filter("a == 1"), Expression)


def test_ids_come_as_a_list() -> None:
    assert read_ids(["b", "a", "b"], "get") == ("b", "a", "b")
    assert read_ids((id for id in "ab"), "get") == ("a", "b")
    assert read_ids(None, "get") is None
    assert read_ids([], "get") == ()
    for bad in ("x == 1", F.a == 1, b"x", {"a": 1}, 5, [1], [None], [b"x"]):
        with pytest.raises(TypeError, match="delete takes a list of ids"):
            read_ids(bad, "delete")  # type: ignore[arg-type]


def test_ids_that_no_document_can_have_are_unknown_ids() -> None:
    assert read_ids(["", "a\0", "\ud800", "ok"], "get") == ("ok",)


class Text(str):
    __slots__ = ()


@given(st.lists(st.text(st.characters(categories=None), max_size=3) | st.text().map(Text)))
@example(["\ud83d", "\ude00"])  # one character together, and none by themselves
@example(["a", Text("a"), "é"])
@example([""])
@example(["a", "\0"])
def test_ids_are_read_together_as_one_by_one(ids: list[str]) -> None:
    found = read_ids(ids, "get")
    assert found == tuple(id for id in ids if is_possible_id(id))
    assert {type(one) for one in found or ()} <= {str}
    for wrong in (1, None, b"a", ["a"]):
        with pytest.raises(TypeError, match=rf"item {len(ids)} is "):
            read_ids([*ids, wrong, *ids], "get")  # type: ignore[list-item]


FAR = [2**31, 2**63, 2**64, 10**30, 10**6_000]


@pytest.mark.parametrize("number", FAR, ids=["2**31", "2**63", "2**64", "10**30", "10**6000"])
@pytest.mark.parametrize("way", ["plain", "scoped", "awaited"])
def test_numbers_past_what_engines_count_are_refused_by_name(number: int, way: str) -> None:
    store = SimpleVectorStore(dimension=2)
    if way == "scoped":
        store = store.scoped("n > 0")  # type: ignore[assignment]
    target: Any = store.aio if way == "awaited" else store
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("top_k", lambda: target.search(vector=[1, 0], top_k=number)),
        ("offset", lambda: target.search(vector=[1, 0], offset=number)),
        (r"top_k \+ offset", lambda: target.search(vector=[1, 0], top_k=2**31 - 1, offset=1)),
        ("limit", lambda: target.get(limit=number)),
        ("batch_size", lambda: target.scan(batch_size=number)),
    ]
    for name, call in calls:
        with pytest.raises(ValueError, match=f"{name} is at most 2,147,483,647"):
            answer = call()
            if inspect.iscoroutine(answer):
                asyncio.run(answer)


def test_the_largest_numbers_are_taken() -> None:
    store = SimpleVectorStore(dimension=2)
    store.add([Document("", id="a", embedding=[1, 0])])
    most = 2**31 - 1
    assert len(store.search(vector=[1, 0], top_k=most)) == 1
    assert store.search(vector=[1, 0], top_k=0, offset=most) == []
    assert len(store.get(limit=most)) == 1
    assert len(list(store.scan(batch_size=most))) == 1
