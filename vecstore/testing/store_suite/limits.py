"""Every capability from both sides: what is declared works, and past it there is no call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document
from vecstore.errors import ConfigurationError, DimensionMismatchError, DocumentError
from vecstore.filter.builder import F
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Selection
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import METRICS, StoreCapabilities
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of
from vecstore.testing.store_suite.metadata import metadata_bytes

# Limits past these are taken at their word.
_LARGEST_TRIED = 4_000_000
_LARGE = 1_000_000
_LONGEST_TRIED = 20_000
_MOST_ROWS = 5_000


class Limits(StoreSuiteBase):
    """Tests of what ``capabilities`` declares."""

    def test_what_a_store_says_of_itself(self, store: VectorStore) -> None:
        """``name``, ``capabilities``, ``metric`` or ``dimension`` is missing or of another kind."""
        made = self.behind(store)
        assert isinstance(made.capabilities, StoreCapabilities)
        assert type(made.name) is str
        assert made.name == made.name.strip() != ""
        assert made.capabilities.metrics
        assert made.capabilities.metrics <= set(METRICS)
        assert store.metric == self.metric
        assert store.dimension == len(vector_of("any"))

    def test_max_text_bytes(self, store: VectorStore) -> None:
        """The engine cuts or refuses long texts: declare ``max_text_bytes``, counted in UTF-8."""
        limit = self.capabilities.max_text_bytes
        size = _LARGE if limit is None else min(limit, _LARGEST_TRIED)
        texts = ["x" * size, "é" * (size // 2), "日" * (size // 3), "😀" * (size // 4)]
        held = [
            self.document(f"doc-{number}", text=text, embedding=vector_of("a"))
            for number, text in enumerate(texts)
        ]
        for document in held:
            store.add([document])
            (found,) = store.get([document.id])
            assert found.text == document.text
        if limit is None or limit > _LARGEST_TRIED:
            return
        for text in ("x" * (limit + 1), "é" * (limit // 2 + 1)):
            beyond = self.document("beyond", text=text, embedding=vector_of("a"))
            self._refuses(store, beyond, "max_text_bytes")
        assert store.count() == len(held)

    def test_texts_of_every_kind(self, store: VectorStore) -> None:
        """A text was trimmed, normalised, or read as code.

        Bind it, in a type that keeps every byte.
        """
        texts = [
            "",
            " ",
            "\n\ttabs and lines\r\n",
            'it\'s "quoted" \\ back',
            "\x01\x1f\x7f\u2028\u2029\ufeff",
            "é e\u0301 ß İ 日本語 عربى 😀 \U0010ffff \uffff",
            "'; DROP TABLE documents; --",
            "%s %(p0)s {0} ${x} :p $1 ?",
            '{"id": 1}',
            "null",
            "line\n" * 5_000,
        ]
        documents = [
            self.document(f"doc-{number}", text=text, embedding=vector_of(f"{number}"))
            for number, text in enumerate(texts)
            if len(text.encode()) <= (self.capabilities.max_text_bytes or _LARGE)
        ]
        store.add(documents)
        self.check_holds(store, documents)
        for document in documents:
            assert document.embedding is not None
            (found,) = store.search(vector=document.embedding, top_k=1)
            if self.metric != "dot":
                assert found.text == document.text

    def test_max_id_bytes(self, store: VectorStore) -> None:
        """The engine cuts or refuses long ids: declare ``max_id_bytes``, counted in UTF-8."""
        limit = self.capabilities.max_id_bytes
        if self.capabilities.id_charset in ("uuid", "integer", "uuid_or_number"):
            return  # they have one length, or are tried with the ids
        size = 2_000 if limit is None else min(limit, _LARGEST_TRIED)
        # Alike up to the last character: one that is cut would be taken for the other.
        held = [
            Document("text", {}, "x" * (size - 1) + last, vector_of("a")) for last in ("a", "b")
        ]
        store.add(held)
        self.check_holds(store, held)
        assert store.delete([held[0].id]) == 1
        self.check_holds(store, held[1:])
        if limit is not None and limit <= _LARGEST_TRIED:
            beyond = Document("text", {}, "x" * (limit + 1), vector_of("a"))
            self._refuses(store, beyond, "max_id_bytes")
            if self.capabilities.id_charset == "any":
                beyond = Document("text", {}, "é" * (limit // 2 + 1), vector_of("a"))
                self._refuses(store, beyond, "max_id_bytes")

    def test_max_metadata_bytes(self, store: VectorStore) -> None:
        """The engine counts otherwise than compact JSON in UTF-8: declare the smaller number."""
        limit = self.capabilities.max_metadata_bytes
        if limit is None or limit > _LARGEST_TRIED:
            return  # large metadata has a test of its own
        # In texts that are short by themselves: their own limit is another matter.
        metadata: dict[str, Any] = {}
        while metadata_bytes({**metadata, f"k{len(metadata)}": "x" * 100}) < limit - 60:
            metadata[f"k{len(metadata)}"] = "x" * 100
        metadata["z"] = ""
        # What a variant of the suite adds takes its part.
        added = metadata_bytes(self.stored(metadata)) - metadata_bytes(metadata)
        metadata["z"] = "x" * (limit - added - metadata_bytes(metadata))
        at = self.document("at", metadata, embedding=vector_of("a"))
        store.add([at])
        self.check_documents(store.get([at.id]), [at])
        metadata["z"] += "x"
        beyond = self.document("beyond", metadata, embedding=vector_of("a"))
        self._refuses(store, beyond, "max_metadata_bytes")
        metadata["z"] += "x" * added
        with self.no_call(store), pytest.raises(DocumentError, match="max_metadata_bytes"):
            store.update_metadata([at.id], set=metadata)
        self.check_documents(store.get([at.id]), [at])

    def test_integers(self, store: VectorStore) -> None:
        """Integers went through float64, or past 64 bits.

        Declare ``min_integer``, ``max_integer``.
        """
        limits = self.capabilities
        low = -(10**30) if limits.min_integer is None else limits.min_integer
        high = 10**30 if limits.max_integer is None else limits.max_integer
        numbers = {"low": low, "above": low + 1, "high": high, "below": high - 1}
        held = self.held_domain.fit({**numbers, "list": [low, 0, high], "object": {"inner": high}})
        document = self.document("a", held, embedding=vector_of("a"))
        store.add([document])
        self.check_documents(store.get([document.id]), [document])

        for name, limit, step in (
            ("min_integer", limits.min_integer, -1),
            ("max_integer", limits.max_integer, 1),
        ):
            if limit is None:
                continue
            past: dict[str, Any]
            for past in ({"n": limit + step}, {"o": {"n": limit + step}}, {"l": [0, limit + step]}):
                beyond = self.document("beyond", past, embedding=vector_of("a"))
                self._refuses(store, beyond, name)
                with self.no_call(store), pytest.raises(DocumentError, match=name):
                    store.update_metadata([document.id], set=past)
        self.check_holds(store, [document])

    def test_max_dimension(self) -> None:
        """The engine refuses long vectors: declare ``max_dimension`` (an index may lower it)."""
        limit = self.capabilities.max_dimension
        size = 3_000 if limit is None else min(limit, _LONGEST_TRIED)
        store = self.new_store(dimension=size)
        vectors = {self.id(name): vector_of(name, size) for name in "abc"}
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        self.check_vectors(store, vectors)
        found = store.search(vector=vectors[self.id("b")], top_k=3)
        exact = self.scores(vectors[self.id("b")], vectors)
        assert [one.id for one in found] == sorted(exact, key=lambda id: -exact[id])
        if limit is not None:
            with pytest.raises(DimensionMismatchError, match="max_dimension"):
                self.new_store(dimension=limit + 1)

    def test_a_store_takes_its_dimension_from_the_first_vector(self) -> None:
        """Or says at once that it needs to know it.

        Usually: the place is made at the first ``_add``; until then reads find nothing, without an
        error. A store that cannot wait says so in ``__init__``: ``ConfigurationError`` with
        "dimension" in it.
        """
        try:
            store = self.new_store(dimension=None, embedder=TextEmbedder(5))
        except ConfigurationError as error:
            assert "dimension" in str(error)
            return
        assert store.dimension is None
        assert (store.search("query"), store.count(), store.get()) == ([], 0, [])
        store.add(self.documents(3))
        assert store.dimension == 5
        with self.no_call(store), pytest.raises(DimensionMismatchError):
            store.add([self.document("odd", embedding=vector_of("odd", 6))])
        with self.no_call(store), pytest.raises(DimensionMismatchError):
            store.search(vector=vector_of("odd", 6))

        limit = self.capabilities.max_dimension
        if limit is not None:
            store = self.new_store(dimension=None)
            beyond = self.document("beyond", embedding=[1.0] * (limit + 1))
            with self.no_call(store), pytest.raises(DimensionMismatchError, match="max_dimension"):
                store.add([beyond])

    def test_vectors_of_one_call_differ_in_length(self) -> None:
        """An ``add`` of the store's own writes before all vectors are compared."""
        try:
            store = self.new_store(dimension=None)
        except ConfigurationError:
            store = self.new_store()
        documents = [
            self.document("a", embedding=vector_of("a")),
            self.document("b", embedding=vector_of("b", 3)),
        ]
        with self.no_call(store), pytest.raises(DimensionMismatchError) as caught:
            store.add(documents)
        assert (caught.value.expected, caught.value.actual) == (len(vector_of("a")), 3)

    def test_max_top_k(self, store: VectorStore) -> None:
        """The engine gives back at most so many: declare ``max_top_k``, or read several pages."""
        limit = self.capabilities.max_top_k
        if limit is None:
            return  # 10,000 is tried with top_k
        store.add(self.documents(3))
        assert len(store.search("query", top_k=limit)) == 3
        with self.no_call(store), pytest.raises(ValueError, match="max_top_k"):
            store.search("query", top_k=limit + 1)

    def test_max_cost(self, store: VectorStore) -> None:
        """The budget for filters from outside leaves out no list that may be written.

        Usually: the budget refuses a plain list of 10,000 values, or the engine does: ``max_cost``,
        ``member``.
        """
        documents = self.documents(3)
        store.add(documents)
        numbers = list(range(10_000))
        for literals in (numbers, [f"v{number}" for number in numbers]):
            for built in (F.n.in_(literals), F.n.not_in(literals)):
                if self.answers(built):
                    read = Expression.from_dict(built.to_dict())
                    matching = sum(built.matches(one.metadata) for one in documents)
                    assert store.count(read) == matching

    def test_max_batch(self, store: VectorStore) -> None:
        """Larger work is split, not refused.

        Usually: a hook takes fewer than ``max_batch`` rows or ids, or splits them and loses the
        last part.
        """
        limit = self.capabilities.max_batch
        if limit is None or limit > _MOST_ROWS:
            return  # large calls have tests of their own
        documents = self.documents(limit + 3, embedded=True)
        ids = [document.id for document in documents]
        sizes: list[int] = []

        def note_batch(batch: Batch) -> None:
            sizes.append(len(batch))

        def note_ids(selection: Selection, **options: Any) -> None:
            sizes.append(len(selection.ids or ()))

        before: dict[str, Callable[..., object]] = {
            "_add": note_batch,
            "_get": note_ids,
            "_delete": note_ids,
            "_update_metadata": note_ids,
        }
        with self.hooked(store, before):
            assert store.add(documents) == ids
            assert [one.id for one in store.get(ids)] == ids
            assert store.update_metadata(ids, set={"m": 1}) == len(ids)
            assert store.count("m == 1") == len(ids)
            assert store.delete(ids) == len(ids)
        assert max(sizes) <= limit
        assert store.count() == 0

    def test_filtered_count(self, store: VectorStore) -> None:
        """``filtered_count`` is declared, but ``_count`` is the default, which reads documents."""
        store.add(self.documents(9))
        with self.hooked(store) as called:
            assert store.count("n > 5") == 3
        if self.capabilities.filtered_count:
            assert "_scan" not in called, "filtered_count is declared, but documents are read"

    def test_keeps_norm(self, store: VectorStore) -> None:
        """The engine normalises vectors.

        Keep the length beside them, or declare ``keeps_norm=False``.
        """
        vectors = {
            self.id(f"doc-{number}"): np.float32(10.0**number) * vector_of(f"{number}")
            for number in range(-3, 4)
        }
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        self.check_vectors(store, vectors)
        for id, vector in vectors.items():
            for found in store.search(vector=vector, top_k=7, include_embedding=True):
                assert found.embedding is not None
                if self.capabilities.keeps_norm:
                    assert np.allclose(found.embedding, vectors[found.id], rtol=1e-5, atol=1e-6)
                if found.id == id and self.metric != "dot":
                    best = 0.0 if self.metric == "euclidean" else 1.0
                    assert found.score == pytest.approx(best, abs=1e-3)

    def _refuses(self, store: VectorStore, document: Document, name: str) -> None:
        """The document, and those around it, are refused without a call, naming the limit."""
        __tracebackhide__ = True
        first, last = (self.document(one, embedding=vector_of("a")) for one in ("one", "two"))
        with self.no_call(store), pytest.raises(DocumentError, match=name) as caught:
            store.add([first, document, last])
        assert caught.value.document_id == document.id
        assert list(caught.value.stored_ids) == []
