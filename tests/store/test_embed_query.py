"""``embed_query``: who is asked, who is told, and what stands around it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from tests.store.embedders import letters
from vecstore import (
    ConfigurationError,
    Document,
    EmbeddingError,
    F,
    ScopeError,
    SimpleVectorStore,
    StoreClosedError,
)


class Model:
    """Has a coroutine function for queries; notes which of the two is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(f"called {text}")
        return [2.0, float(len(text))]

    async def aembed_query(self, text: str) -> list[float]:
        assert threading.current_thread() is threading.main_thread()
        self.asked.append(f"awaited {text}")
        return [3.0, float(len(text))]


class Watching:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.errors: list[str] = []

    def start(self, operation: str, attributes: Any) -> None:
        self.told.append((operation, dict(attributes)))

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        if error is not None:
            self.errors.append(type(error).__name__)


def test_the_embedder_is_asked_for_a_query_as_a_search_asks_it() -> None:
    model = Model()
    store = SimpleVectorStore(model)
    vector = store.embed_query("text")
    assert vector.tolist() == [2.0, 4.0]
    assert vector.dtype == np.float32
    assert not vector.flags.writeable
    assert asyncio.run(store.aio.embed_query("text")).tolist() == [3.0, 4.0]
    assert store.scoped(F.n == 1).embed_query("abc").tolist() == [2.0, 3.0]
    assert model.asked == ["called text", "awaited text", "called abc"]
    function = SimpleVectorStore(letters).embed_query("ab")
    assert function.tolist() == np.array(letters(["ab"])[0], np.float32).tolist()


def test_observers_are_told_and_no_text_without_leave() -> None:
    watching = Watching()
    store = SimpleVectorStore(Model(), observers=[watching])
    store.embed_query("a secret")
    assert [operation for operation, _ in watching.told] == ["embed_query", "embed"]
    assert "secret" not in repr(watching.told)
    with pytest.raises(ConfigurationError):
        SimpleVectorStore(observers=[watching]).embed_query("a secret")
    assert watching.errors == ["ConfigurationError"]
    telling = Watching()
    store._set_up(observers=[telling], observe_content=True)
    store.embed_query("a text")
    assert telling.told[0][1]["db.vector.query.content"] == "a text"


def test_what_cannot_be_searched_with_is_refused() -> None:
    for answer in ([0.0, 0.0], [1.0, float("nan")], []):
        with pytest.raises(EmbeddingError):
            SimpleVectorStore(lambda texts, answer=answer: [answer]).embed_query("text")
    zeros = SimpleVectorStore(lambda texts: [[0.0, 0.0]], metric="dot")
    assert zeros.embed_query("text").tolist() == [0.0, 0.0]
    anything: Any = zeros
    for wrong in (b"text", 1, None, ["text"]):
        with pytest.raises(TypeError, match="query is a text"):
            anything.embed_query(wrong)
    with pytest.raises(ValueError, match="blank"):
        zeros.embed_query("")


def test_closed_stores_and_scopes_that_fail() -> None:
    store = SimpleVectorStore(letters)
    store.add([Document("a", id="a")])
    view = store.scoped(lambda: None)
    with pytest.raises(ScopeError, match="returned None"):
        view.embed_query("a")
    store.close()
    with pytest.raises(StoreClosedError):
        store.embed_query("a")
    with pytest.raises(StoreClosedError):
        asyncio.run(store.aio.embed_query("a"))
