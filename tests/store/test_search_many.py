"""Several searches in one call: what is asked of the embedder and the store, and what is refused."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import numpy as np
import pytest

from vecstore import (
    ConfigurationError,
    DimensionMismatchError,
    Document,
    EmbeddingError,
    F,
    ScopeError,
    SearchRequest,
    SimpleVectorStore,
)
from vecstore.store.arguments import read_ids
from vecstore.store.searching import QUERIES_AT_ONCE


def letters(texts: list[str]) -> list[list[float]]:
    return [[text.count("a") + 1.0, text.count("b") + 1.0] for text in texts]


class Model:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return letters(texts)

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return letters([text])[0]


def filled(**options: Any) -> SimpleVectorStore:
    store = SimpleVectorStore(**options)
    store.add(
        [Document(text, {"n": n}, id=text) for n, text in enumerate(["aaa", "bbb", "ab", "aab"])]
    )
    return store


def test_texts_are_embedded_once_each() -> None:
    model = Model()
    store = filled(embedder=model)
    found = store.search_many(["aaa", "bbb", "aaa"], top_k=1)
    assert [[one.id for one in hits] for hits in found] == [["aaa"], ["bbb"], ["aaa"]]
    assert model.asked == ["aaa", "bbb"]
    assert found[0][0] is not found[2][0]


def test_a_function_is_called_once_for_many_texts() -> None:
    calls: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        calls.append(len(texts))
        return letters(texts)

    store = filled(embedder=embed)
    calls.clear()
    texts = [f"a{n}" for n in range(QUERIES_AT_ONCE + 3)]
    assert len(store.search_many(texts, top_k=1)) == len(texts)
    assert calls == [QUERIES_AT_ONCE, 3]


def test_each_request_carries_everything() -> None:
    store = filled(embedder=letters)
    found = store.search_many(
        [
            SearchRequest("aaa", top_k=1),
            SearchRequest("aaa", top_k=2, filter="n > 0"),
            SearchRequest(vector=[1, 9], top_k=1, include_embedding=True),
            SearchRequest("aaa", top_k=0),
            SearchRequest("aaa", top_k=4, threshold=0.9),
        ]
    )
    assert [[one.id for one in hits] for hits in found] == [
        ["aaa"],
        ["aab", "ab"],
        ["bbb"],
        [],
        ["aaa", "aab"],
    ]
    assert found[2][0].embedding is not None
    with pytest.raises(TypeError, match="carries everything"):
        store.search_many([SearchRequest("aaa")], top_k=3)


def test_ids_are_read_once_for_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(ids: Any, method: str) -> Any:
        read.append(method)
        return read_ids(ids, method)

    monkeypatch.setattr("vecstore.store.arguments.read_ids", counted)
    store = filled(embedder=letters)
    found = store.search_many(vectors=[[1, 9]] * 50, ids=["aaa", "ab"], exclude_ids=["aaa"])
    assert [[one.id for one in hits] for hits in found] == [["ab"]] * 50
    assert read == ["ids", "exclude_ids"]
    request = SearchRequest(vector=[1, 9], ids=["ab", "ab"])
    hash(request)
    again = pickle.loads(pickle.dumps(request))
    assert again == request
    assert again.ids == ("ab",)
    assert "hash" not in vars(again.ids)  # texts have other hashes in another process


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({}, TypeError, "a list of queries, or vectors"),
        ({"queries": ["a"], "vectors": [[1, 0]]}, TypeError, "one of the two"),
        ({"queries": "a text"}, TypeError, "takes a list, not str"),
        ({"queries": SearchRequest("a")}, TypeError, "takes a list"),
        ({"queries": [""]}, ValueError, "blank"),
        ({"queries": [5]}, TypeError, "query is a text"),
        ({"vectors": [[1, 0, 0]]}, DimensionMismatchError, "dimension"),
        ({"vectors": [[1, 0], [0, 0]]}, ValueError, "zeros"),
        ({"vectors": [[1, 0], [float("nan"), 0]]}, ValueError, "finite"),
        ({"vectors": [[1, 0]], "filter": "n =="}, ValueError, "line 1"),
        ({"vectors": [[1, 0]], "top_k": -1}, ValueError, "top_k"),
        ({"vectors": [[1, 0]], "k": 5}, TypeError, "write top_k=5"),
        ({"embeddings": [[1, 0]]}, TypeError, "write vectors="),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        filled(embedder=letters).search_many(**arguments)


def test_texts_need_an_embedder() -> None:
    with pytest.raises(ConfigurationError, match="no embedder"):
        SimpleVectorStore().search_many(["a"])


def test_unusable_answers_of_the_embedder() -> None:
    for answer in ([[1.0, 0.0]], [[0.0, 0.0]] * 2, [[1.0, float("inf")]] * 2):
        store = SimpleVectorStore(lambda texts, answer=answer: answer)
        store.add([Document("a", id="a", embedding=[1, 0])])
        with pytest.raises(EmbeddingError):
            store.search_many(["a", "b"])


def test_queries_of_several_lengths_are_refused_by_an_empty_store() -> None:
    with pytest.raises(DimensionMismatchError, match="a query"):
        SimpleVectorStore().search_many(vectors=[[1, 0], [1, 0, 0]])
    assert SimpleVectorStore().search_many(vectors=[[1, 0], [0, 1]]) == [[], []]


def test_views_and_awaited_calls() -> None:
    store = filled(embedder=letters)
    ours = store.scoped(F.n < 2)
    found = ours.search_many(["aaa", "ab"], top_k=9)
    assert [sorted(one.id for one in hits) for hits in found] == [["aaa", "bbb"]] * 2
    with pytest.raises(ScopeError):
        ours._search_many(
            np.eye(2, dtype=np.float32), top_k=1, filter=None, include_embedding=False
        )  # type: ignore[attr-defined]

    async def awaited() -> list[list[Document]]:
        return await store.aio.search_many(["aaa", "bbb"], top_k=1)

    assert asyncio.run(awaited()) == store.search_many(["aaa", "bbb"], top_k=1)


def test_observers_are_told_once() -> None:
    told: list[tuple[str, Any]] = []

    class Observer:
        def start(self, operation: str, attributes: Any) -> None:
            told.append((operation, attributes.get("db.operation.batch.size")))

        def end(self, started: Any, **ended: Any) -> None:
            pass

    store = filled(embedder=letters, observers=[Observer()])
    told.clear()
    store.search_many(["aaa", "bbb"])
    assert told == [("search_many", 2), ("embed", None)]
