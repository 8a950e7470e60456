"""``add(..., embed=False)``: documents without a vector, which every call finds but a search."""

from __future__ import annotations

from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import DocumentError, DuplicateDocumentError, VecstoreError
from vecstore.store.adding import SkippedDocumentsWarning
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import check_ranking, ids_of

_BARE, _FULL = 90, 7
"""Documents without a vector, and with one: whoever takes the first for near finds them first."""


class Vectorless(StoreSuiteBase):
    """Tests of documents without a vector: kept, and not found; or refused by name."""

    def test_without_a_vector_they_are_kept_or_refused_by_name(self, store: VectorStore) -> None:
        """What is declared as ``vectorless`` is true, and what is not is refused before a write.

        Usually: ``_add`` leaves ``batch.vectorless`` aside, or the capability is declared for all
        places of the store, and this one has a column that takes no null.
        """
        bare, full = self.document("bare", {"n": 1}), self._full("full")
        if self._kept:
            added = store.add([bare, full], embed=False)
            assert (added, added.written) == ([bare.id, full.id], (bare.id, full.id))
            self.check_holds(store, [bare, full])
        else:
            with self.no_call(store), pytest.raises(DocumentError, match="vectorless") as caught:
                store.add([full, bare], embed=False)
            assert caught.value.faulty_ids == [bare.id]
            with pytest.warns(SkippedDocumentsWarning) as told:
                assert store.add([bare, full], embed=False, on_error="skip") == [full.id]
            assert [one.message.ids for one in told] == [[bare.id]]  # type: ignore[union-attr]
            self.check_holds(store, [full])
        assert self.embedder.calls == 0

    def test_they_are_read_like_any_other(self, store: VectorStore) -> None:
        """Reading joins documents and vectors, and loses those that have none.

        Or makes a vector of zeros for them.
        """
        documents = self._mixed(store)
        self.check_documents(store.get([one.id for one in documents]), documents)
        with_vectors = {one.id for one in documents if one.embedding is not None}
        for found in (
            store.get([one.id for one in documents], include_embedding=True),
            store.get(filter="n >= 0", include_embedding=True),
            list(store.scan(include_embedding=True)),
            list(store.scan(text=False, include_embedding=True)),
            store.get(order_by="n", include_embedding=True),
        ):
            assert len(found) == len(documents)
            assert {one.id for one in found if one.embedding is not None} == with_vectors
        self.check_vectors(store, {id: vector_of(id) for id in with_vectors})
        assert store.count("kind == 'bare'") == len(documents) - len(with_vectors)
        assert len(list(store.scan("kind == 'bare'"))) == len(documents) - len(with_vectors)
        counts = {one.value: one.count for one in store.distinct("kind")}
        assert counts.get("full", 0) == len(with_vectors)
        assert sum(counts.values()) == len(documents)
        assert store.minmax("n").max == len(documents) - 1

    def test_no_search_finds_them(self, store: VectorStore) -> None:
        """Whatever is asked for, and however many there are, only documents with a vector come.

        Usually: the engine keeps a vector of zeros for them, or nulls that it takes for nearest, or
        the search counts them in ``top_k`` and comes back short.
        """
        documents = self._mixed(store)
        query = vector_of("the query")
        vectors = {one.id: vector_of(one.id) for one in documents if one.embedding is not None}
        bare = [one.id for one in documents if one.embedding is None]
        exact = self.scores(query, vectors)
        for top_k in (1, len(vectors), self.most_found):
            found = store.search(vector=query, top_k=top_k)
            check_ranking(found, exact, top_k, exact_ties=False)
            (many,) = store.search_many(vectors=[query], top_k=top_k)
            assert ids_of(many) == ids_of(found)
            filtered = store.search(vector=query, top_k=top_k, filter="n >= 0")
            assert ids_of(filtered) == ids_of(found)
            evaluated = store.search(vector=query, top_k=top_k, filter="n < 95 OR n > 95",
                                     residual="evaluate")  # fmt: skip
            assert not set(ids_of(evaluated)) - vectors.keys()
            among = store.search(vector=query, top_k=top_k, ids=[*bare, *vectors])
            check_ranking(among, exact, top_k, exact_ties=False)
            besides = store.search(vector=query, top_k=top_k, exclude_ids=self.ids("nobody"))
            check_ranking(besides, exact, top_k, exact_ties=False)
        if bare:
            assert store.search(vector=query, top_k=5, filter="kind == 'bare'") == []
            assert store.search(vector=query, top_k=5, ids=bare) == []
        diverse = store.search(vector=query, top_k=len(vectors), diversity=0.5)
        assert set(ids_of(diverse)) == vectors.keys()

    def test_a_store_of_nothing_else(self) -> None:
        """The table or collection is made when the first vector comes, or a search fails without.

        The dimension is what the store was made with.
        """
        store = self.new_store()
        bare = [self.document(f"doc-{number}", {"n": number}) for number in range(3)]
        if not self._kept:
            with pytest.raises(DocumentError, match="vectorless"):
                store.add(bare, embed=False)
            self.check_holds(store, [])
            return
        store.add(bare, embed=False)
        self.check_holds(store, bare)
        query = vector_of("the query")
        assert store.search(vector=query) == store.search(vector=query, ids=[bare[0].id]) == []
        assert store.search_many(vectors=[query, query]) == [[], []]
        full = self._full("full")
        store.add([full])
        assert ids_of(store.search(vector=query)) == [full.id]
        assert store.delete([full.id]) == 1
        assert store.search(vector=query) == []
        self.check_holds(store, bare)

    def test_a_vector_comes_and_goes_with_the_document(self, store: VectorStore) -> None:
        """``"replace"`` merges: the old vector stays, or the new one is not found.

        Adding replaces the whole document, so that one without a vector has none afterwards.
        """
        if not self._kept:
            full = self._full("x")
            store.add([full])
            with pytest.raises(DocumentError, match="vectorless"):
                store.add([self.document("x")], embed=False)
            self.check_vectors(store, {full.id: vector_of(full.id)})
            return
        query = vector_of("the query")
        others = [self.document(f"other-{number}") for number in range(70)]
        for bare in ([self.document("x", {"n": 2})], [self.document("x", {"n": 3}), *others]):
            full = self._full("x")
            store.add([full])
            assert ids_of(store.search(vector=query)) == [full.id]
            store.add(bare, embed=False)
            assert store.search(vector=query) == []
            self.check_holds(store, bare)
            store.add([full])
            assert ids_of(store.search(vector=query)) == [full.id]
            self.check_vectors(store, {full.id: vector_of(full.id)})
            assert store.delete([one.id for one in bare]) == len(bare)

    def test_conflicts_of_documents_without_a_vector(self, store: VectorStore) -> None:
        """``on_conflict`` is about ids alone, whichever of the two has a vector."""
        first, second = self._full("first"), self.document("second", {"n": 1})
        if not self._kept:
            store.add([first])
            for policy in ("skip", "error"):
                options: dict[str, Any] = {"on_conflict": policy, "embed": False}
                with self.no_call(store), pytest.raises(DocumentError, match="vectorless"):
                    store.add([self.document("first"), second], **options)
            return
        store.add([first, second], embed=False)
        again = [self.document("first", {"n": 9}), self._full("second"), self.document("third")]
        with pytest.raises(DuplicateDocumentError) as caught:
            store.add(again, on_conflict="error", embed=False)
        assert set(caught.value.ids) == {first.id, second.id}
        self.check_holds(store, [first, second])
        added = store.add(again, on_conflict="skip", embed=False)
        assert (added.written, added.skipped) == ((again[2].id,), (first.id, second.id))
        self.check_holds(store, [first, second, again[2]])
        assert ids_of(store.search(vector=vector_of("the query"))) == [first.id]
        twice = [self.document("twice", {"n": 1}), self.document("twice", {"n": 2})]
        store.add(twice, embed=False)
        self.check_metadata(store.get(self.ids("twice"))[0].metadata, {"n": 2}, "twice")

    def test_they_are_changed_and_deleted(self, store: VectorStore) -> None:
        """``_update_metadata`` writes documents again as they were read, and fails on no vector.

        Or gives them one.
        """
        documents = self._mixed(store)
        expected = [one.replace(metadata={**one.metadata, "new": True}) for one in documents]
        half = len(documents) // 2
        assert (
            store.update_metadata([one.id for one in documents[:half]], set={"new": True}) == half
        )
        rest = store.update_metadata(filter=f"n >= {half}", set={"new": True})
        assert rest == len(documents) - half
        self.check_holds(store, expected)
        for one in store.scan(include_embedding=True):
            assert (one.embedding is None) is (one.metadata["kind"] == "bare")
        bare = [one for one in expected if one.embedding is None]
        full = [one for one in expected if one.embedding is not None]
        if bare:
            assert store.delete([bare[0].id], return_ids=True) == [bare[0].id]
            assert store.delete(filter="kind == 'bare'") == len(bare) - 1
        self.check_holds(store, full)
        found = store.search(vector=vector_of("the query"), top_k=self.most_found)
        assert set(ids_of(found)) == {one.id for one in full}

    def test_embedding_is_left_out_only_where_it_was_asked_for(self, store: VectorStore) -> None:
        """``embed=False`` is for one call, and no document that has a vector loses it."""
        one = self.document("one")
        assert store.add([one]) == [one.id]
        assert self.embedder.calls == 1
        full = self._full("full")
        store.add([full], embed=False)
        assert self.embedder.calls == 1
        self.check_vectors(store, {one.id: vector_of(one.text), full.id: vector_of(full.id)})
        alone: Any = self.new_store()
        with pytest.raises(VecstoreError, match="no embedder"):
            alone.add([one])
        with pytest.raises(TypeError, match="embed"):
            alone.add([one], embed=None)

    # --- documents --------------------------------------------------------------------------

    @property
    def _kept(self) -> bool:
        return self.capabilities.vectorless

    def _full(self, name: str) -> Document:
        return self.document(name, {"n": 0, "kind": "full"}, embedding=vector_of(self.id(name)))

    def _mixed(self, store: VectorStore) -> list[Document]:
        """Documents that the store holds now, most without a vector where it keeps such ones."""
        documents: list[Document] = []
        for number in range(_BARE + _FULL):
            full = number % (_BARE // _FULL + 1) == 3
            if full or self._kept:
                name, metadata = f"doc-{number}", {"kind": "full" if full else "bare"}
                vector = vector_of(self.id(name)) if full else None
                documents.append(
                    self.document(name, {"n": len(documents), **metadata}, embedding=vector)
                )
        assert store.add(documents, embed=False) == [one.id for one in documents]
        assert self.embedder.calls == 0
        return documents
