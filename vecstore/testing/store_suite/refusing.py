"""``add`` of documents that cannot be stored: all are named at once, or left out and told of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.embedding import CountBatching
from vecstore.errors import DimensionMismatchError, EmbeddingError, ScopeError, VecstoreError
from vecstore.filter.builder import F
from vecstore.store.adding import SkippedDocumentsWarning
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of

_BLANK = ("", " ", "\n\t ")


def _fail(vectors: list[Any]) -> Any:
    raise RuntimeError("400: the input is empty")


_BLANK_ANSWERS: dict[str, Callable[[list[Any]], Any]] = {
    "it fails": _fail,
    "NaN": lambda vectors: [[math.nan] * DIMENSION for _ in vectors],
    "nothing": lambda vectors: [],
    "None": lambda vectors: [None for _ in vectors],
}


class _NoBlanks(TextEmbedder):
    """Has no vector for a text without a word."""

    def __init__(self, answer: Callable[[list[Any]], Any]) -> None:
        super().__init__()
        self._answer = answer

    def embed_documents(self, texts: list[str]) -> Any:
        right = super().embed_documents(texts)
        return self._answer(right) if any(not text.strip() for text in texts) else right


class Refusing(StoreSuiteBase):
    """Tests of documents that cannot be stored."""

    def _some_too_long(self) -> tuple[list[Document], list[str]]:
        """Documents, some with a vector that is too long, and the ids of these."""
        documents = self.documents(20, embedded=True)
        for number in (3, 4, 11, 17, 19):
            long = vector_of("long", DIMENSION + number)
            documents[number] = documents[number].replace(embedding=long)
        return documents, [documents[number].id for number in (3, 4, 11, 17, 19)]

    @pytest.mark.parametrize("as_iterator", [False, True], ids=["list", "iterator"])
    def test_all_that_cannot_be_stored_are_named_at_once(
        self, store: VectorStore, as_iterator: bool
    ) -> None:
        """An ``add`` of the store's own stops at the first faulty document."""
        documents, faulty = self._some_too_long()
        argument = iter(documents) if as_iterator else documents
        with self.no_call(store), pytest.raises(DimensionMismatchError) as caught:
            store.add(argument)
        message = str(caught.value)
        assert message.startswith("5 of 20 documents cannot be stored")
        assert all(id in message for id in faulty[:3])
        assert "2 more" in message
        assert 'on_error="skip"' in message
        assert list(caught.value.faulty_ids) == faulty
        assert caught.value.actual == DIMENSION + 3
        assert len(caught.value.failed_ids) == 20
        with self.no_call(store), pytest.raises(DimensionMismatchError) as alone:
            store.add(documents[:4])
        assert list(alone.value.faulty_ids) == faulty[:1]
        self.check_holds(store, [])

    @pytest.mark.parametrize("as_iterator", [False, True], ids=["list", "iterator"])
    def test_skip_stores_the_others_and_tells(self, store: VectorStore, as_iterator: bool) -> None:
        """Rows moved up where a document was left out.

        Look at how ``_add`` brings ``Batch.vectors`` and ``Batch.ids`` together.
        """
        documents, faulty = self._some_too_long()
        argument = iter(documents) if as_iterator else documents
        with pytest.warns(SkippedDocumentsWarning, match="5 of 20 documents left out") as told:
            added = store.add(argument, on_error="skip")
        others = [one for one in documents if one.id not in faulty]
        assert added == [one.id for one in others]
        self.check_holds(store, others)
        (warning,) = [one.message for one in told]
        assert isinstance(warning, SkippedDocumentsWarning)
        assert warning.ids == faulty
        assert [type(error) for error in warning.errors] == [DimensionMismatchError] * 5

    def test_where_warnings_are_errors_skipping_ends_with_one_of_the_library(
        self, store: VectorStore
    ) -> None:
        """A hook turns warnings into errors of another kind, or catches them."""
        documents, faulty = self._some_too_long()
        with warnings.catch_warnings(), pytest.raises(VecstoreError) as caught:
            warnings.simplefilter("error")
            store.add(documents, on_error="skip")
        assert list(caught.value.faulty_ids) == list(caught.value.failed_ids) == faulty
        assert len(caught.value.stored_ids) == 15

    @pytest.mark.parametrize("answer", _BLANK_ANSWERS)
    def test_blank_texts_that_the_embedder_cannot_take(self, answer: str) -> None:
        """An ``add`` of the store's own embeds by itself, without looking for blank texts."""
        embedder = _NoBlanks(_BLANK_ANSWERS[answer])
        store = self.new_store(embedder=embedder, batching=CountBatching(4))
        blank = [self.document(f"blank-{n}", text=text) for n, text in enumerate(_BLANK)]
        good = self.documents(10)
        given = [*good[:6], blank[0], *good[6:9], *blank[1:], good[9]]
        with self.no_call(store), pytest.raises(EmbeddingError) as caught:
            store.add(given)
        assert list(caught.value.faulty_ids) == [one.id for one in blank]
        assert list(caught.value.stored_ids) == []
        if answer == "it fails":
            assert isinstance(caught.value.__cause__, RuntimeError)
        with pytest.warns(SkippedDocumentsWarning, match="3 of 13") as told:
            assert store.add(given, on_error="skip") == [one.id for one in good]
        (warning,) = [one.message for one in told]
        assert isinstance(warning, SkippedDocumentsWarning)
        assert warning.ids == [one.id for one in blank]
        self.check_holds(store, good)

    def test_blank_texts_are_stored_where_the_embedder_has_vectors_for_them(
        self, store: VectorStore
    ) -> None:
        """The engine trims texts, or takes an empty one for null.

        Look at ``_add``, and at how rows are read.
        """
        documents = [self.document("a"), self.document("b", text=" "), self.document("c", text="")]
        store.add(documents)
        self.check_holds(store, documents)
        self.check_vectors(store, {one.id: vector_of(one.text) for one in documents})

    def test_a_vector_that_is_none_leaves_its_document_out(self) -> None:
        """Rows moved up where a document was left out.

        Look at how ``_add`` brings ``Batch.vectors`` and ``Batch.ids`` together.
        """

        class SomeNaN(TextEmbedder):
            def embed_documents(self, texts: list[str]) -> Any:
                right = super().embed_documents(texts)
                return [
                    [math.nan] * DIMENSION if text.endswith(("-2", "-5")) else vector
                    for text, vector in zip(texts, right, strict=True)
                ]

        store = self.new_store(embedder=SomeNaN(), batching=CountBatching(3))
        documents = self.documents(8)
        steps: list[tuple[int, int | None]] = []
        with pytest.warns(SkippedDocumentsWarning, match="2 of 8"):
            added = store.add(
                documents,
                on_error="skip",
                progress=lambda done, of: steps.append((done, of)),
            )
        others = [one for number, one in enumerate(documents) if number not in (2, 5)]
        assert added == [one.id for one in others]
        assert steps == [(3, 8), (6, 8), (8, 8)]
        self.check_holds(store, others)
        self.check_vectors(store, {one.id: vector_of(one.text) for one in others})

    def test_skipping_does_not_pass_over_an_embedder_that_fails(self) -> None:
        """An ``add`` of the store's own takes any error for one of a document."""

        class Failing(TextEmbedder):
            def embed_documents(self, texts: list[str]) -> Any:
                raise RuntimeError("503")

        store = self.new_store(embedder=Failing())
        with pytest.raises(EmbeddingError):
            store.add(self.documents(3), on_error="skip")
        self.check_holds(store, [])

    def test_skipping_does_not_pass_over_the_scope(self, store: VectorStore) -> None:
        """A view's ``add`` goes past the base: ``scoped`` is not for stores to override."""
        view = store.scoped(F.tenant == "a")
        documents = [
            self.document("a", {"tenant": "a"}),
            self.document("b", {"tenant": "b"}),
            self.document("c", {"tenant": "c"}),
        ]
        with self.no_call(store), pytest.raises(ScopeError, match="2 of 3") as caught:
            view.add(documents, on_error="skip")
        assert list(caught.value.faulty_ids) == self.ids("b", "c")

    def test_on_error_is_raise_or_skip(self, store: VectorStore) -> None:
        """An ``add`` of the store's own does not check ``on_error``."""
        anything: Any = store
        with self.no_call(store), pytest.raises(ValueError, match='"raise" or "skip"'):
            anything.add(self.documents(1), on_error="ignore")

    @pytest.mark.parametrize("query", _BLANK, ids=["empty", "a space", "lines"])
    def test_a_blank_query_is_refused(self, store: VectorStore, query: str) -> None:
        """A ``search`` of the store's own embeds before it checks."""
        store.add(self.documents(2))
        self.embedder.forget()
        with self.no_call(store), pytest.raises(ValueError, match="the query is blank"):
            store.search(query)
