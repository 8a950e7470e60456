"""``delete`` and ``clear``: what was asked for goes, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from vecstore.errors import DimensionMismatchError
from vecstore.filter.builder import F
from vecstore.store.base import VectorStore
from vecstore.testing.samples import HOSTILE_TEXTS
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, vector_of


class Deleting(StoreSuiteBase):
    """Tests of ``delete`` and ``clear``."""

    def test_delete_by_ids(self, store: VectorStore) -> None:
        """``_delete`` counts ids that it was asked for in place of documents that there were.

        Or a deleted document is still found: search reads an index that lags behind.
        """
        documents = self.documents(8)
        store.add(documents)
        asked = self.ids("doc-2", "nobody", "doc-5", "doc-2")
        assert store.delete(asked) == 2
        self.check_holds(store, [one for one in documents if one.id not in asked])
        assert store.delete(asked) == 0
        assert store.delete(iter(self.ids("doc-0"))) == 1
        found = {one.id for one in store.search("text of doc-2", top_k=8)}
        assert found == set(self.ids("doc-1", "doc-3", "doc-4", "doc-6", "doc-7"))

    def test_delete_by_filter_and_by_both(self, store: VectorStore) -> None:
        """``_delete`` left out the ids or the filter: it takes what meets both of ``Selection``."""
        documents = self.documents(10)
        store.add(documents)
        assert store.delete(filter="n >= 7") == 3
        self.check_holds(store, documents[:7])
        assert store.delete(filter=F.n == 99) == 0
        assert store.delete(self.ids("doc-1", "doc-2", "doc-6"), filter="n < 3") == 2
        self.check_holds(store, [documents[number] for number in (0, 3, 4, 5, 6)])
        assert store.delete(self.ids("doc-0"), filter="n > 3") == 0
        # A filter beside ids may match everything: the ids are the limit.
        assert store.delete(self.ids("doc-0"), filter="n NOT IN []") == 1
        assert store.count() == 4

    def test_which_documents_were_deleted(self, store: VectorStore) -> None:
        """The ids asked for came back in place of those that there were; or others went with them.

        ``_delete_ids`` takes what meets ids and filter, and tells what it deleted.
        """
        documents = self.documents(12)
        store.add(documents)
        asked = self.ids("doc-5", "nobody", "doc-2", "doc-5")
        assert store.delete(asked, return_ids=True) == self.ids("doc-5", "doc-2")
        assert store.delete(asked, return_ids=True) == []
        some = self.ids("doc-8", "doc-1", "doc-9")
        assert store.delete(some, filter="n > 2", return_ids=True) == self.ids("doc-8", "doc-9")
        told = store.delete(filter="n >= 10", return_ids=True)
        assert sorted(told) == sorted(self.ids("doc-10", "doc-11"))
        assert store.delete(filter="n >= 10", return_ids=True) == []
        with self.no_call(store):
            assert store.delete([], return_ids=True) == []
        ours = store.scoped("n <= 3")
        assert ours.delete(self.ids("doc-6", "doc-3"), return_ids=True) == self.ids("doc-3")
        assert ours.delete(filter="n >= 1", return_ids=True) == self.ids("doc-1")
        left = [documents[number] for number in (0, 4, 6, 7)]
        self.check_holds(store, left)
        assert ours.clear() == 1
        self.check_holds(store, left[1:])

    def test_delete_many_ids(self, store: VectorStore) -> None:
        """More ids than one call of the engine takes: split them, or declare ``max_batch``."""
        documents = self.documents(1_100, embedded=True)
        store.add(documents)
        assert store.delete([one.id for one in documents[50:]]) == 1_050
        self.check_holds(store, documents[:50])

    def test_delete_nothing(self, store: VectorStore) -> None:
        """An empty selection reached the engine, where it often means everything."""
        store.add(self.documents(3))
        with self.no_call(store):
            assert store.delete([]) == 0
            assert store.delete(iter(())) == 0
            assert store.delete([], filter="n >= 0") == 0
            assert store.delete(filter="n IN []") == 0
            assert store.delete(self.ids("doc-1"), filter="n IN []") == 0
        assert store.count() == 3

    def test_deleting_everything_is_refused(self, store: VectorStore) -> None:
        """A ``delete`` of the store's own let a filter through that matches every document."""
        documents = self.documents(3)
        store.add(documents)
        anything: Any = store
        with self.no_call(store):
            with pytest.raises(ValueError, match=r"clear\(\)"):
                store.delete()
            for nothing in (None, "", "  "):
                with pytest.raises(ValueError, match=r"clear\(\)"):
                    anything.delete(filter=nothing)
            for everything in (
                F.n.not_in([]),
                "n NOT IN []",
                "NOT (n IN [])",
                "n == 1 OR n NOT IN []",
                ~(F.n.in_([]) & (F.n == 1)),
                "n IS NULL OR n IS NOT NULL",
                "n == 1 OR n != 1",
                "n IN [1, 'x'] OR n > 5 OR n NOT IN ['x', 1.0]",
                "n != 1 OR n IS NOT NULL",
                ~((F.n == 1) & (F.n != 1)),
                "(n IS NOT NULL AND n != 1) OR n IS NULL OR n == 1",
                "n == 1 OR (m != 'a' AND m IS NOT NULL) OR m IN ['a', 'b'] OR m IS NULL",
                "(n != 1 OR n != 'x') AND (m IS NULL OR m == 1 OR (m IS NOT NULL AND m != 1))",
            ):
                with pytest.raises(ValueError, match=r"clear\(\)"):
                    store.delete(filter=everything)
        self.check_holds(store, documents)

    def test_a_text_in_place_of_ids_is_refused(self, store: VectorStore) -> None:
        """A ``delete`` of the store's own takes a text for a list of its letters or a filter."""
        documents = self.documents(3)
        store.add(documents)
        anything: Any = store
        with self.no_call(store):
            with pytest.raises(TypeError, match="filter="):
                anything.delete("n == 1")
            for wrong in (F.n == 1, 5, [5], [None], b"doc-1", {"doc-1": 1}, True):
                with pytest.raises(TypeError):
                    anything.delete(wrong)
            for options in ({"where": "n == 1"}, {"filters": "n == 1"}, {"delete_all": True}):
                with pytest.raises(TypeError):
                    anything.delete(**options)
        self.check_holds(store, documents)

    def test_hostile_texts_never_widen_a_deletion(self, store: VectorStore) -> None:
        """A value reached the engine unquoted: bind it, or use the dialect's one quoting function.

        Documents that had to stay are gone, so nothing else matters until this passes:
        ``_compile_filter``, ``_delete_filtered``.
        """
        documents = [
            self.document(f"doc-{number}", {"source": text}, embedding=vector_of("a"))
            for number, text in enumerate(HOSTILE_TEXTS)
            if self.held_domain.fit({"source": text})
        ]
        bystander = self.document("bystander", {"source": "x"}, embedding=vector_of("a"))
        store.add([*documents, bystander])
        for place, document in enumerate(documents):
            filter = F.source == document.metadata["source"]
            if not self.answers(filter):
                continue
            never = F.source == document.metadata["source"] + "' or '1'=='1"
            if self.answers(never):
                assert store.delete(filter=never) == 0
            assert store.delete(filter=filter) == 1
            assert store.count() == len(documents) - place
        assert store.get([bystander.id])

    def test_what_was_deleted_can_be_added_again(self, store: VectorStore) -> None:
        """A deleted id still counts as taken.

        Look for a tombstone, or for a table of ids that ``_delete`` forgot.
        """
        old, new = self.document("a", {"n": 1}), self.document("a", {"m": 2}, text="new")
        store.add([old])
        store.delete([old.id])
        assert store.add([new], on_conflict="error") == [new.id]
        self.check_holds(store, [new])
        self.check_vectors(store, {new.id: vector_of("new")})

    def test_clear(self, store: VectorStore) -> None:
        """``_clear`` left documents, or took more than them: its index or settings are to stay."""
        store.clear()
        documents = self.documents(5)
        store.add(documents)
        assert store.clear() == 5
        self.check_holds(store, [])
        assert store.get([documents[0].id]) == []
        assert store.search("query", top_k=5) == []
        assert store.add(documents, on_conflict="error") == [one.id for one in documents]
        self.check_holds(store, documents)
        assert (store.clear(), store.clear()) == (5, 0)
        assert store.count() == 0

    def test_clear_keeps_the_dimension(self) -> None:
        """What was made for vectors of one length stays so, declared or not.

        Usually: ``_clear`` made the place anew and forgot the dimension, or ``dimension`` is read
        too late.
        """
        for options in ({}, {"dimension": None}):
            store = self.new_store(**options)
            store.add([self.document("a", embedding=vector_of("a"))])
            store.clear()
            assert store.dimension == DIMENSION
            with self.no_call(store), pytest.raises(DimensionMismatchError) as caught:
                store.add([self.document("b", embedding=[1.0] * (DIMENSION + 1))])
            assert (caught.value.expected, caught.value.actual) == (DIMENSION, DIMENSION + 1)
            store.add([self.document("c", embedding=vector_of("c"))])
            assert store.count() == 1
