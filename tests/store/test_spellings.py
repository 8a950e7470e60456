"""Names of other libraries: the error says what to write here."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.store.embedders import letters, never
from tests.store.minimal import MinimalStore
from vecstore import AsyncVectorStore, Document, F, SearchRequest, SimpleVectorStore, VectorStore
from vecstore.filter.builder import _METHODS as FIELD_METHODS
from vecstore.spellings import _KNOWN, KEYWORDS, METHODS, in_the_language, unknown_keyword

PASSED = {"a": 1, "b": {"$gt": 2}}


@pytest.fixture
def store() -> Any:
    return SimpleVectorStore(never)


KEYWORD_CASES: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda s: s.search("a", k=3),
        "search() got an unexpected keyword argument 'k'; write top_k=3",
    ),
    (lambda s: s.search("a", n_results=3), "write top_k=3"),
    (lambda s: s.search("a", limit=3), "write top_k=3"),
    (lambda s: s.search("a", where=PASSED), "write filter='a == 1 AND b > 2'"),
    (lambda s: s.search("a", filters={"x": ["a", "b"]}), "write filter=\"x IN ['a', 'b']\""),
    (lambda s: s.search("a", filters="a == 1"), "write filter='a == 1'"),
    (lambda s: s.search("a", filters=object()), "filter=\"country == 'BG' AND year >= 2020\""),
    (lambda s: s.search("a", score_threshold=0.5), "write threshold=0.5"),
    (lambda s: s.search(query_vector=[1, 2]), "write vector=[...]"),
    (lambda s: s.search("a", doc_ids=["b"]), "write ids=[...]"),
    (lambda s: s.search_many(["a"], excluded_ids=["b"]), "write exclude_ids=[...]"),
    (lambda s: s.search("a", treshold=1), "did you mean threshold=?"),
    (lambda s: s.search("a", zzz=1), "argument 'zzz'"),
    (lambda s: s.add([], metadatas=[{}]), "write Document(text, metadata) for each"),
    (lambda s: s.add([], ids=["a"]), "Document(text, metadata, id=...)"),
    (lambda s: s.add(texts=["a"]), "missing 1 required"),
    (lambda s: s.add([], batch_size=9), "batching=CountBatching(9) where the store is made"),
    (lambda s: s.get(id="a"), "write ['a'], a list of ids"),
    (lambda s: s.get(where=PASSED), "write filter='a == 1 AND b > 2'"),
    (lambda s: s.delete(where="a == 1"), "write filter='a == 1'"),
    (lambda s: s.delete(delete_all=True), "write clear()"),
    (lambda s: s.count(where={"a": 1}), "write filter='a == 1'"),
    (lambda s: s.scan(limit=7), "itertools.islice(store.scan(), 7)"),
    (lambda s: s.update_metadata(["a"], metadata={}), "write set={'key': value}"),
    (lambda s: Document(page_content="a text"), "write Document('a text', ...)"),
    (lambda s: Document("x", doc_id="a"), "write id='a'"),
    (lambda s: Document(), "write Document(text, metadata)"),
    (lambda s: SimpleVectorStore(embedding_function=1), "write embedder=..."),
    (lambda s: MinimalStore(dim=3), "MinimalStore() got an unexpected keyword argument 'dim'"),
    (lambda s: MinimalStore(dim=3), "write dimension=3"),
]


@pytest.mark.parametrize(("call", "message"), KEYWORD_CASES)
def test_keywords_of_others(store: Any, call: Callable[[Any], Any], message: str) -> None:
    for one in (store, store.scoped(F.tenant == "a")):
        with pytest.raises(TypeError) as caught:
            call(one)
        assert message in str(caught.value)


def test_awaited_calls_say_the_same(store: Any) -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="write top_k=3"):
            await store.aio.search("a", k=3)
        with pytest.raises(TypeError, match="write filter='a == 1'"):
            await store.aio.delete(where="a == 1")
        with pytest.raises(AttributeError, match=r"write await add\("):
            store.aio.upsert([])

    asyncio.run(main())


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_others(store: Any, name: str) -> None:
    for one in (store, store.scoped(F.tenant == "a"), SimpleVectorStore, VectorStore):
        with pytest.raises(AttributeError, match=r"has no attribute .*; write ") as caught:
            getattr(one, name)
        assert "{" not in str(caught.value).replace("{'key': value}", "")
        assert not hasattr(one, name)
        assert getattr(one, name, None) is None


def test_awaited_methods_of_others(store: Any) -> None:
    with pytest.raises(AttributeError, match=r"write await store\.aio\.search\('a text'"):
        store.asimilarity_search("a")
    with pytest.raises(AttributeError, match=r"write await store\.aio\.delete\("):
        store.adelete(["a"])


def test_an_unknown_name_is_pythons_own_error(store: Any) -> None:
    for one in (store, store.aio, store.scoped(F.a == 1)):
        with pytest.raises(AttributeError) as caught:
            _ = one.no_such_thing
        assert (
            str(caught.value) == f"{type(one).__name__!r} object has no attribute 'no_such_thing'"
        )
        assert caught.value.name == "no_such_thing"
        with pytest.raises(AttributeError):
            _ = one.__no_such_protocol__


def test_what_python_looks_for_itself_is_not_disturbed(store: Any) -> None:
    with pytest.raises(TypeError):
        copy.copy(store)
    with pytest.raises(TypeError):
        pickle.dumps(store)
    with pytest.raises(TypeError):
        VectorStore()  # type: ignore[abstract]
    assert not hasattr(store, "__len__")


def test_the_tables_hold_only_what_there_is_not(store: Any) -> None:
    for method, known in _KNOWN.items():
        owner: Any = {"Document": Document, "store": VectorStore}.get(method)
        function = owner.__init__ if owner is not None else getattr(VectorStore, method)
        names = {
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        }
        assert names.issuperset(known), method
        assert names - {*known} <= {"self", "query", "queries", "documents", "ids"}, method
        assert not names.intersection(KEYWORDS[method]), method
    for name in METHODS:
        assert name not in dir(store)
        assert name not in dir(AsyncVectorStore)
    for name in FIELD_METHODS:
        assert name not in dir(type(F.a))


def test_every_hint_of_a_keyword_can_be_shown() -> None:
    for method, names in KEYWORDS.items():
        for name in names:
            for value in (1, "a == 1", {"a": 1}, None, "x" * 5_000, object()):
                text = str(unknown_keyword(method, {name: value}))
                assert "; write " in text
                assert len(text) < 400


FILTER_CASES: list[tuple[Any, str | None]] = [
    ({"a": 1}, "a == 1"),
    ({"a": True, "b": "x"}, "a == true AND b == 'x'"),
    ({"a": {"$gte": 1, "$lt": 3}}, "a >= 1 AND a < 3"),
    ({"$or": [{"a": 1}, {"b": {"$nin": [1, 2]}}]}, "a == 1 OR b NOT IN [1, 2]"),
    ({"$and": [{"a": 1}]}, "a == 1"),
    ({"a.b": {"$exists": False}}, "a.b IS NULL"),
    ({"a": ["x", "y"]}, "a IN ['x', 'y']"),
    ({"op": "eq", "key": "a", "value": 1}, "a == 1"),
    ({"must": [{"key": "a"}]}, None),
    ({"$near": 1}, None),
    ({"a": {"$regex": "x"}}, None),
    ({"a": None}, None),
    ({"a": object()}, None),
    ({"a": []}, None),
    ({}, None),
    ({"a": "x" * 1_000}, None),
    ({f"k{n}": 1 for n in range(100)}, None),
    ([{"a": 1}], None),
    ({1: 2}, None),
]


@pytest.mark.parametrize(("passed", "text"), FILTER_CASES)
def test_small_filters_of_others_are_shown_in_the_language(passed: Any, text: str | None) -> None:
    assert in_the_language(passed) == text


def test_filters_that_go_deep_are_not_followed() -> None:
    deep: Any = {"a": 1}
    for _ in range(100_000):
        deep = {"$and": [deep]}
    assert in_the_language(deep) is None
    loop: dict[str, Any] = {}
    loop["$and"] = [loop]
    assert in_the_language(loop) is None
    while isinstance(deep, dict) and "$and" in deep:
        deep = deep["$and"][0]


def test_a_dict_as_a_filter_is_shown_in_the_language() -> None:
    store: Any = SimpleVectorStore(letters)
    for call in (
        lambda: store.search("a", filter=PASSED),
        lambda: store.count(PASSED),
        lambda: SearchRequest("a", filter=PASSED),  # type: ignore[arg-type]
        lambda: store.delete(filter=PASSED),
    ):
        with pytest.raises(TypeError, match="not a dict; write filter='a == 1 AND b > 2'"):
            call()
    with pytest.raises(TypeError, match="such as filter=\"country == 'BG'"):
        store.count({"must": []})
    with pytest.raises(TypeError, match="from_dict"):
        store.count({"op": "eq", "key": "a", "value": 1})


def test_filter_objects_of_other_libraries_are_named() -> None:
    models = pytest.importorskip("qdrant_client.models")
    store: Any = SimpleVectorStore(letters)
    with pytest.raises(TypeError, match=r"a filter of qdrant_client .* write its text"):
        store.search("a", filter=models.Filter(must=[]))


FIELD_CASES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: F.tags.contains("a"),
        "'contains' is taken as a key, not a method; write F.tags == 'a'",
    ),
    (lambda: F["odd key"].has(1), "write F['odd key'] == 1"),
    (lambda: F.a.b.contains_any([1]), "write F.a.b.in_([1])"),
    (lambda: F.title.like("a%"), "texts are compared whole"),
    (lambda: F.title.startswith("a"), "texts are compared whole"),
    (lambda: F.year.between(1, 2), "write (F.year >= 1) & (F.year <= 2)"),
    (lambda: F.year.between(1), "write (F.year >= 1) & (F.year <= ...)"),
    (lambda: F.year.eq(1), "write F.year == 1"),
    (lambda: F.year.isNull(), "write F.year.is_null()"),
    (lambda: F.contains("a"), "write F.key == 'a'"),
    (lambda: F.year.foo(1), "a field has in_, not_in, is_null and is_not_null"),
]


@pytest.mark.parametrize(("call", "message"), FIELD_CASES)
def test_methods_of_other_fields(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("name", FIELD_METHODS)
def test_such_names_are_still_keys(name: str) -> None:
    assert (F[name] == 1).matches({name: 1})
    assert (getattr(F.outer, name) == 1).matches({"outer": {name: 1}})
    with pytest.raises(TypeError, match="taken as a key") as caught:
        getattr(F.outer, name)("{first}", "{key}")
    assert "F." in str(caught.value) or "texts are compared" in str(caught.value)
