"""Embedders that fail: nothing is stored half, and the error says what was stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from vecstore.embedding import CountBatching
from vecstore.errors import (
    ConfigurationError,
    DimensionMismatchError,
    EmbeddingError,
    VecstoreError,
)
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import (
    DIMENSION,
    TextEmbedder,
    WrongEmbedder,
    vector_of,
)

_SECRET = "sk-do-not-tell"


def _fails(right: list[Any]) -> Any:
    raise RuntimeError(f"401 for key {_SECRET}")


def _with_one(value: Any) -> Callable[[list[Any]], Any]:
    """The right answer with one number of the last vector changed."""

    def spoil(right: list[Any]) -> Any:
        last = list(right[-1])
        last[1] = value
        return [*right[:-1], last]

    return spoil


def _shorter(right: list[Any]) -> Any:
    return [*right[:-1], right[-1][:-1]]


_WRONG: dict[str, Callable[[list[Any]], Any]] = {
    "it fails": _fails,
    "one too few": lambda right: right[:-1],
    "none at all": lambda right: [],
    "one too many": lambda right: [*right, right[0]],
    "None": lambda right: None,
    "a number": lambda right: 3.0,
    "a text": lambda right: "vectors",
    "texts": lambda right: ["vector"] * len(right),
    "one is None": lambda right: [*right[:-1], None],
    "one is empty": lambda right: [*right[:-1], []],
    "one is shorter": _shorter,
    "all are longer": lambda right: [[*vector, 1.0] for vector in right],
    "all are flat": lambda right: [1.0] * len(right),
    "NaN": _with_one(math.nan),
    "infinity": _with_one(math.inf),
}


class Embedding(StoreSuiteBase):
    """Tests of embedders that do not keep their word."""

    @pytest.mark.parametrize("wrong", _WRONG)
    def test_nothing_of_a_wrong_answer_is_stored(self, wrong: str) -> None:
        """The batches before are; the error carries the ids on both sides.

        Usually: batches before a failed one are missing, or ``_add`` was given less than it should
        write.
        """
        embedder = WrongEmbedder(_WRONG[wrong], after=2)
        store = self.new_store(embedder=embedder, batching=CountBatching(3))
        documents = self.documents(11)
        with pytest.raises((EmbeddingError, DimensionMismatchError)) as caught:
            store.add(documents)
        ids = [document.id for document in documents]
        assert list(caught.value.stored_ids) == ids[:6]
        assert list(caught.value.failed_ids) == ids[6:]
        assert _SECRET not in str(caught.value)
        self.check_holds(store, documents[:6])
        self.check_vectors(store, {one.id: vector_of(one.text) for one in documents[:6]})

    @pytest.mark.parametrize("wrong", _WRONG)
    def test_a_wrong_answer_for_a_query_is_refused(self, wrong: str) -> None:
        """A ``search`` of the store's own passes the embedder's answer on without checking it."""
        store = self.new_store(embedder=WrongEmbedder(_WRONG[wrong]))
        store.add([self.document("a", embedding=vector_of("a"))])
        with self.no_call(store), pytest.raises((EmbeddingError, DimensionMismatchError)) as caught:
            store.search("query")
        assert _SECRET not in str(caught.value)

    def test_the_embedders_own_error_is_the_cause(self) -> None:
        """An ``add`` or ``search`` of the store's own calls the embedder past the base."""
        store = self.new_store(embedder=WrongEmbedder(_fails))
        for call in (lambda: store.add(self.documents(1)), lambda: store.search("query")):
            with pytest.raises(EmbeddingError) as caught:
                call()
            assert isinstance(caught.value.__cause__, RuntimeError)
        assert store.count() == 0

    def test_an_embedder_that_returns_zeros(self) -> None:
        """Zeros have no direction: under cosine they are refused, elsewhere they are found."""
        zeros = WrongEmbedder(lambda right: [[0.0] * DIMENSION for _ in right])
        store = self.new_store(embedder=zeros)
        if self.metric == "cosine":
            with self.no_call(store):
                with pytest.raises(EmbeddingError, match="zero"):
                    store.add(self.documents(2))
                with pytest.raises(EmbeddingError, match="zero"):
                    store.search("query")
        else:
            store.add(self.documents(2))
            assert len(store.search("query")) == 2

    def test_a_dimension_that_changes_between_batches(self) -> None:
        """Where the store takes its dimension from the first vector, that one stands.

        Usually: the store does not know its dimension after its first ``_add``, or takes that of
        the last.
        """
        longer = WrongEmbedder(lambda right: [[*vector, 1.0] for vector in right], after=1)
        try:
            store = self.new_store(dimension=None, embedder=longer, batching=CountBatching(2))
        except ConfigurationError:
            return  # such a store knows its dimension from the start
        documents = self.documents(4)
        with pytest.raises(DimensionMismatchError) as caught:
            store.add(documents)
        assert list(caught.value.stored_ids) == [one.id for one in documents[:2]]
        self.check_holds(store, documents[:2])

    def test_a_function_is_an_embedder(self) -> None:
        """``__init__`` looks for methods of the embedder; pass it on to the base as it is."""
        store = self.new_store(embedder=lambda texts: [vector_of(text) for text in texts])
        documents = self.documents(3)
        store.add(documents)
        assert store.search("text of doc-2", top_k=3)[0].text or self.metric == "dot"
        self.check_vectors(store, {one.id: vector_of(one.text) for one in documents})

    def test_what_is_no_embedder_is_refused(self) -> None:
        """``__init__`` keeps ``embedder`` from the base, which looks at what it is given."""
        wrong: Any
        for wrong in (5, "text-embedding", object(), TextEmbedder):
            with pytest.raises(ConfigurationError, match="embedder"):
                self.new_store(embedder=wrong)

    def test_errors_of_the_library_keep_their_kind(self, store: VectorStore) -> None:
        """An ``except`` around a hook wraps errors of the library in ``BackendError`` again."""

        def refuse(right: list[Any]) -> Any:
            raise ConfigurationError("the model is not there")

        other = self.new_store(embedder=WrongEmbedder(refuse))
        with pytest.raises(VecstoreError, match="not there") as caught:
            other.add(self.documents(2))
        assert list(caught.value.failed_ids) == self.ids("doc-0", "doc-1")
        assert store.count() == 0
