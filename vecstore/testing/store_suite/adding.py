"""``add``: ids, conflicts, duplicates, batches, and what is checked before the first write."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document, stored_document
from vecstore.embedding import CountBatching, TokenBatching
from vecstore.errors import (
    BackendError,
    ConfigurationError,
    DimensionMismatchError,
    DocumentError,
    DuplicateDocumentError,
)
from vecstore.store.backend import Batch
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import OnConflict
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of

MODES: tuple[OnConflict, ...] = ("replace", "skip", "error")


class Adding(StoreSuiteBase):
    """Tests of ``add``."""

    def test_ids_stay_with_their_documents_across_batches(self) -> None:
        """Rows of a batch went to each other's ids, or batches came back in another order.

        Look at how ``_add`` zips ``Batch.ids``, ``texts``, ``metadata`` and ``vectors``, and
        whether the engine's answer keeps the order of what it was sent.
        """
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder, batching=CountBatching(5))
        documents = self.documents(12)
        assert store.add(documents) == [document.id for document in documents]
        assert [len(texts) for texts in embedder.batches] == [5, 5, 2]
        self.check_documents(store.get([document.id for document in documents]), documents)
        self.check_vectors(store, {d.id: vector_of(d.text) for d in documents})

    def test_add_nothing(self, store: VectorStore) -> None:
        """An empty call reached the engine, many of which refuse one: an ``add`` of its own?"""
        with self.no_call(store):
            assert store.add([]) == []
            assert store.add(iter(())) == []
        assert store.count() == 0

    def test_what_was_written_and_what_was_skipped(self, store: VectorStore) -> None:
        """``_add`` gives back every id of a batch where it wrote some, or names what it skipped.

        ``Added`` says of each id what became of it, with a vector and without.
        """
        first, second, third = self.documents(3)
        embedded = [one.replace(embedding=vector_of(one.text)) for one in (first, second, third)]
        added = store.add([first, second])
        ids = [first.id, second.id, third.id]
        assert (added, added.written, added.skipped) == (ids[:2], (ids[0], ids[1]), ())
        for documents in ([second, third, third], embedded):
            added = store.add(documents, on_conflict="skip")
            assert added == [one.id for one in documents]
            new = (third.id,) if documents[0] is second else ()
            assert (added.written, added.replaced) == (new, ())
            assert added.skipped == tuple([id for id in dict.fromkeys(added) if id not in new])
        store.delete([first.id])
        added = store.add([first], on_conflict="error")
        assert (added, added.written, added.skipped, added.replaced) == (
            [ids[0]],
            (ids[0],),
            (),
            (),
        )
        store.delete([first.id])
        added = store.add(embedded[::-1])
        assert (added, added.written, added.skipped) == (ids[::-1], tuple(ids[::-1]), ())
        known = (ids[2], ids[1]) if self.capabilities.tells_replaced else None
        assert added.replaced == known

    def test_an_iterator_is_taken_in_windows(self, store: VectorStore) -> None:
        """A document was lost or met twice where one ``_add`` ends and the next begins.

        Look at state that a batch leaves behind, and at writes that are not visible yet when
        ``count`` is asked.
        """
        documents = self.documents(1_500, embedded=True)

        def stream() -> Iterator[Document]:
            yield from documents

        assert store.add(stream()) == [document.id for document in documents]
        assert store.count() == 1_500

    def test_a_document_without_id_gets_one(self, store: VectorStore) -> None:
        """The id that ``add`` drew is not the one stored: ``_add`` wrote one of the engine's."""
        if self.capabilities.id_charset == "integer":
            return  # a drawn id is a UUID, which such a store cannot have
        (id,) = store.add([Document("no id")])
        assert [document.text for document in store.get([id])] == ["no id"]

    def test_replace_changes_the_whole_document(self, store: VectorStore) -> None:
        """An old key, text or vector survived: ``_add`` merged where it had to replace.

        Engines whose upsert keeps fields that are not named need a delete before, or an overwrite;
        text, metadata and vector change in one step.
        """
        before = self.held_domain.fit({"old": 1, "both": {"x": 1, "y": 1}, "n": 1})
        after = self.held_domain.fit({"new": 2, "both": {"x": 2}, "n": 2})
        old = self.document("a", before, text="old text")
        new = self.document("a", after, text="new text")
        store.add([old, self.document("b")])
        assert store.add([new]) == [new.id]
        self.check_holds(store, [new, self.document("b")])
        self.check_vectors(store, {new.id: vector_of("new text")})

    def test_skip_leaves_what_is_there(self, store: VectorStore) -> None:
        """``_add`` overwrote a document in spite of ``"skip"``, or left out an id that was free."""
        old, new = self.document("a", {"old": 1}), self.document("a", {"new": 2}, text="new")
        store.add([old])
        added = store.add([new, self.document("b")], on_conflict="skip")
        assert added == self.ids("a", "b")
        self.check_holds(store, [old, self.document("b")])
        # Documents that bring their vectors go to the engine without a look before.
        given = self.document("a", {"new": 3}, embedding=vector_of("new"))
        assert store.add([given], on_conflict="skip") == [old.id]
        self.check_holds(store, [old, self.document("b")])
        self.check_vectors(store, {old.id: vector_of(old.text)})

    def test_error_names_the_ids_and_writes_nothing_of_the_batch(self, store: VectorStore) -> None:
        """A part of a refused batch was written, or taken ids are missing in the error: ``_add``.

        Look for taken ids before the first write, all of them, and raise ``duplicates_error``.
        """
        old = [self.document("a", {"old": 1}), self.document("c", {"old": 3})]
        store.add(old)
        new = [self.document(name, {"new": 1}, text="new") for name in ("b", "a", "d", "c")]
        with pytest.raises(DuplicateDocumentError) as caught:
            store.add(new, on_conflict="error")
        assert sorted(caught.value.ids) == sorted(self.ids("a", "c"))
        assert list(caught.value.stored_ids) == []
        assert sorted(caught.value.failed_ids) == sorted(self.ids("a", "b", "c", "d"))
        self.check_holds(store, old)
        assert store.add([self.document("e")], on_conflict="error") == self.ids("e")

    def test_skip_embeds_only_what_is_free(self) -> None:
        """``_stored_ids`` missed a stored id, whose text was embedded (and paid for) again."""
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder)
        store.add([self.document("a"), self.document("c")])
        embedder.forget()
        new = [self.document(name, {"new": 1}, text=f"new {name}") for name in "abcd"]
        steps: list[tuple[int, int | None]] = []

        def note(done: int, of: int | None) -> None:
            steps.append((done, of))

        assert store.add(new, on_conflict="skip", progress=note) == self.ids(*"abcd")
        assert embedder.batches == [["new b", "new d"]]
        assert steps == [(4, 4)]
        self.check_holds(store, [self.document("a"), new[1], self.document("c"), new[3]])
        embedder.forget()
        with self.hooked(store) as called:
            assert store.add(new, on_conflict="skip", progress=note) == self.ids(*"abcd")
        assert embedder.calls == 0
        assert "_add" not in called
        assert steps[1:] == [(4, 4)]

    def test_error_is_raised_before_anything_is_embedded_or_written(self) -> None:
        """``_stored_ids`` missed a stored id: the conflict came to light only in ``_add``."""
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder, batching=CountBatching(2))
        taken = self.document("taken")
        store.add([taken])
        embedder.forget()
        new = [self.document(name) for name in ("a", "b", "c", "taken", "d")]
        with self.hooked(store) as called, pytest.raises(DuplicateDocumentError) as caught:
            store.add(new, on_conflict="error")
        assert caught.value.ids == [taken.id]
        assert taken.id in str(caught.value)
        assert list(caught.value.stored_ids) == []
        assert list(caught.value.failed_ids) == [document.id for document in new]
        assert embedder.calls == 0
        assert "_add" not in called
        self.check_holds(store, [taken])

    def test_what_others_wrote_in_between_is_decided_by_the_engine(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """``_add`` trusted the look before it, which others may have made untrue.

        It decides about ``Batch.on_conflict`` once more, by itself; ``_stored_ids`` only saves
        embedding.
        """
        store = self.new_store(embedder=TextEmbedder(), batching=CountBatching(2))
        taken = self.document("taken", {"old": 1})
        store.add([taken])
        # As it looked before the other writer came.
        monkeypatch.setattr(self.behind(store), "_stored_ids", lambda ids: set())
        new = [self.document(name) for name in ("a", "b", "c", "taken", "d")]
        with pytest.raises(DuplicateDocumentError) as caught:
            store.add(new, on_conflict="error")
        assert caught.value.ids == [taken.id]
        assert list(caught.value.stored_ids) == self.ids("a", "b")
        assert list(caught.value.failed_ids) == self.ids("c", "taken", "d")
        self.check_holds(store, [taken, *new[:2]])
        store.add(new, on_conflict="skip")
        self.check_holds(store, [taken, *new[:3], new[4]])

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("as_iterator", [False, True], ids=["list", "iterator"])
    def test_one_id_twice_in_a_call(
        self, store: VectorStore, mode: OnConflict, as_iterator: bool
    ) -> None:
        """The wrong one of two documents with one id is kept, across batches too: ``on_conflict``.

        Within a batch ids are distinct; a failure here is mostly an ``_add`` that does not see what
        the batch before it has written.
        """
        # Past the window of 1,024 in which an iterator is taken.
        count = 1_200 if as_iterator else 4
        first, last = (
            self.document("twice", {"n": 1}),
            self.document("twice", {"n": 2}, text="last"),
        )
        between = self.documents(count, embedded=True)
        given = [first, *between, last]
        argument = iter(given) if as_iterator else given
        if mode == "error":
            with pytest.raises(DuplicateDocumentError) as caught:
                store.add(argument, on_conflict=mode)
            assert caught.value.ids == [first.id]
            written = [document.id for document in store.scan()]
            assert sorted(caught.value.stored_ids) == sorted(written)
            assert len(written) == (1_024 if as_iterator else 0)
            return
        assert store.add(argument, on_conflict=mode) == [document.id for document in given]
        assert store.count() == count + 1
        kept = last if mode == "replace" else first
        self.check_documents(store.get([kept.id]), [kept])
        self.check_vectors(store, {kept.id: vector_of(kept.text)})

    def test_given_embeddings_are_taken_as_they_are(self, store: VectorStore) -> None:
        """Rows of given and of embedded vectors were mixed up.

        Look at how ``_add`` brings ``Batch.vectors`` and ``Batch.ids`` together.
        """
        given = self.document("given", embedding=vector_of("of its own"))
        store.add([self.document("first"), given, self.document("last")])
        assert self.embedder.batches == [["text of first", "text of last"]]
        self.check_vectors(
            store,
            {
                given.id: vector_of("of its own"),
                self.id("first"): vector_of("text of first"),
                self.id("last"): vector_of("text of last"),
            },
        )

    def test_without_embedder_a_text_is_refused_before_any_write(self) -> None:
        """A batch was written before all documents were checked: an ``add`` of the store's own?"""
        store = self.new_store()
        documents = [self.document("a", embedding=vector_of("a")), self.document("b")]
        with self.no_call(store), pytest.raises(ConfigurationError, match="embedder"):
            store.add(documents)
        assert store.add(documents[:1]) == self.ids("a")

    def test_everything_is_checked_before_the_first_write(self, store: VectorStore) -> None:
        """Something was written before the last document was checked, or the error names another.

        ``_check_documents`` sees all documents before ``_add`` sees the first; the dimension counts
        once the store says it.
        """
        good = self.documents(6)
        spoiled = self.document("spoiled", {"fine": 1})
        spoiled.metadata["odd key"] = {"inner": float("nan")}
        with self.no_call(store), pytest.raises(DocumentError) as caught:
            store.add([*good, spoiled])
        assert caught.value.document_id == spoiled.id
        assert "odd key" in (caught.value.key or "")
        assert list(caught.value.stored_ids) == []

        longer = self.document("longer", embedding=vector_of("x", DIMENSION + 1))
        with self.no_call(store), pytest.raises(DimensionMismatchError, match=longer.id) as odd:
            store.add([*good, longer])
        assert (odd.value.expected, odd.value.actual) == (DIMENSION, DIMENSION + 1)
        self.check_holds(store, [])

    def test_what_another_store_has_read_is_checked(self, store: VectorStore) -> None:
        """Others may have written there what no document of this library can hold.

        Usually: metadata that no document can hold got in by way of another store's documents:
        ``_add``.
        """
        store.add([self.document("a", {"p": [1, 2]})])
        id, vector = self.id("foreign"), np.array(vector_of("foreign"), np.float32)
        odd: tuple[dict[str, Any], ...] = (
            {"p": [1, None]},
            {"p": [1, "b"]},
            {"p": [[1]]},
            {"p": [{"n": 1}]},
            {"p": math.inf},
        )
        for metadata in odd:
            read = stored_document(id, "as it was read", metadata, vector)
            with self.no_call(store), pytest.raises(DocumentError) as caught:
                store.add([*self.documents(3), read])
            assert (caught.value.document_id, caught.value.key) == (id, "p")
        for read in (
            stored_document(id, "x", {}, np.full(DIMENSION, math.nan, np.float32)),
            stored_document(id, "a lone \ud800", {}, vector),
            stored_document("", "x", {}, vector),
        ):
            with self.no_call(store), pytest.raises(DocumentError):
                store.add([read])
        assert store.count("p == 1") == 1
        fine = stored_document(id, "x", {"p": [1, 3]}, vector)
        assert store.add([fine]) == [id]
        assert sorted(one.id for one in store.get(filter="p == 1")) == sorted([self.id("a"), id])

    def test_a_given_vector_of_zeros(self, store: VectorStore) -> None:
        """Zeros have no direction: refused under cosine, stored like any vector elsewhere.

        Look at a score that divides by a length, and at an engine that normalises whatever the
        metric is.
        """
        zeros = self.document("zeros", embedding=[0.0] * DIMENSION)
        if self.metric == "cosine":
            with self.no_call(store), pytest.raises(DocumentError, match="zeros") as caught:
                store.add([*self.documents(3), zeros])
            assert caught.value.document_id == zeros.id
            return
        store.add([zeros, self.document("other", embedding=vector_of("other"))])
        query = vector_of("query")
        exact = self.scores(
            query, {zeros.id: [0.0] * DIMENSION, self.id("other"): vector_of("other")}
        )
        for found in store.search(vector=query, top_k=2):
            assert found.score == pytest.approx(exact[found.id], abs=1e-4)
        assert len(store.search(vector=[0.0] * DIMENSION, top_k=2)) == 2

    def test_arguments_of_other_kinds_are_refused(self, store: VectorStore) -> None:
        """An ``add`` of the store's own reads its arguments more loosely than the base does."""
        anything: Any = store
        with self.no_call(store):
            for wrong in (self.document("a"), "a text", {"a": 1}, None, 3, ["a text"], [None]):
                with pytest.raises(TypeError):
                    anything.add(wrong)
            with pytest.raises(TypeError):
                anything.add([], conflict="skip")
            with pytest.raises(ValueError, match="on_conflict"):
                anything.add([], on_conflict="merge")

    def test_progress(self) -> None:
        """``progress`` counts documents of written batches: ``_add`` must have returned by then."""
        store = self.new_store(embedder=TextEmbedder(), batching=CountBatching(4))
        steps: list[tuple[int, int | None]] = []
        store.add(self.documents(10), progress=lambda done, of: steps.append((done, of)))
        assert steps == [(4, 10), (8, 10), (10, 10)]

    def test_a_text_with_too_many_tokens_is_named_before_any_write(self) -> None:
        """The store's own ``batching`` was used, not the one it was given: see its ``__init__``."""
        counting = TokenBatching(8, reserve=0, count_tokens=lambda text: len(text.split()))
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder, batching=counting)
        long = self.document("long", text="word " * 9)
        with self.no_call(store), pytest.raises(DocumentError, match="tokens") as caught:
            store.add([*self.documents(5), long])
        assert caught.value.document_id == long.id
        assert embedder.calls == 0
        # Three words each: two fit into a batch.
        store.add(self.documents(5))
        assert [len(texts) for texts in embedder.batches] == [2, 2, 1]

    def test_what_callers_hold_is_not_what_is_stored(self, store: VectorStore) -> None:
        """A caller's dict or list is the stored one: copy in ``_add``, and whatever is read."""
        source = self.held_domain.fit({"list": ["a"], "object": {"inner": ["b"]}, "n": 1})
        document = self.document("a", source)
        store.add([document])
        expected = self.document("a", copy.deepcopy(source))

        def spoil(metadata: dict[str, Any]) -> None:
            for value in metadata.values():
                if isinstance(value, list):
                    value.append("z")
                elif isinstance(value, dict):
                    value["inner"].append("z")
            metadata["n"] = 2
            metadata["new"] = 1

        for metadata in (source, document.metadata):
            spoil(metadata)
            self.check_holds(store, [expected])
        reads: list[Callable[[], Document]] = [
            lambda: store.get([document.id])[0],
            lambda: next(iter(store.scan())),
            lambda: store.search("anything", top_k=1)[0],
        ]
        for read in reads:
            spoil(read().metadata)
            self.check_holds(store, [expected])

    def test_a_backend_that_fails_half_way(self) -> None:
        """A failed ``_add`` took back what was told to be stored, or left rows of its own.

        Batches before the failing one stay: look for a transaction around all of them, or a buffer
        that is flushed later.
        """
        store = self.new_store(embedder=TextEmbedder(), batching=CountBatching(3))
        documents = self.documents(10)
        written = 0

        def fail_at_the_third(batch: Batch) -> None:
            nonlocal written
            if written == 2:
                raise BackendError("the connection is gone", operation="add", retryable=True)
            written += 1

        failing = self.hooked(store, {"_add": fail_at_the_third})
        with failing, pytest.raises(BackendError) as caught:
            store.add(documents)
        assert list(caught.value.stored_ids) == [document.id for document in documents[:6]]
        assert list(caught.value.failed_ids) == [document.id for document in documents[6:]]
        self.check_holds(store, documents[:6])
        store.add([d for d in documents if d.id in caught.value.failed_ids])
        self.check_holds(store, documents)

    def test_an_empty_text(self, store: VectorStore) -> None:
        """An empty text came back as null, or as no text at all: ``_add`` and how rows are read."""
        document = self.document("a", {"n": 1}, text="", embedding=vector_of("a"))
        store.add([document])
        self.check_holds(store, [document])
        assert store.search("anything")[0].text == ""
