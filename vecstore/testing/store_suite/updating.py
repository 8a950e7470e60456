"""``update_metadata``: the keys named change, and nothing else about a document does."""

from __future__ import annotations

import math
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import DocumentError
from vecstore.store.base import VectorStore
from vecstore.testing.samples import HOSTILE_TEXTS, LISTS, SCALARS
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of


class Updating(StoreSuiteBase):
    """Tests of ``update_metadata``."""

    def test_set_and_unset(self, store: VectorStore) -> None:
        """``_update_metadata`` counts ids twice, touches other keys, or adds documents.

        It returns how many documents there were among ids that may be unknown or repeated.
        """
        documents = [self.document(name, {"keep": 1, "go": 2, "turn": 3}) for name in "abc"]
        store.add(documents)
        self.embedder.forget()
        changed = store.update_metadata(
            self.ids("a", "b", "a", "nobody"), set={"turn": "now text", "new": [1, 2]}, unset=["go"]
        )
        assert changed == 2
        assert self.embedder.calls == 0
        new = {"keep": 1, "turn": "now text", "new": [1, 2]}
        self.check_holds(
            store,
            [documents[0].replace(metadata=new), documents[1].replace(metadata=new), documents[2]],
        )
        assert store.update_metadata(self.ids("c"), unset=["go", "never there", "go"]) == 1
        assert store.update_metadata(self.ids("c"), set={"one": 1}) == 1
        (found,) = store.get(self.ids("c"))
        self.check_metadata(found.metadata, {"keep": 1, "turn": 3, "one": 1}, "c")
        assert store.count("go IS NULL") == 3

    def test_by_filter_and_by_both(self, store: VectorStore) -> None:
        """Of ids and filter one was left out, or the filter was asked again after the change."""
        store.add(self.documents(10))
        assert store.update_metadata(filter="n >= 7", set={"big": True}) == 3
        assert (
            store.update_metadata(self.ids("doc-1", "doc-8"), filter="n < 5", set={"big": False})
            == 1
        )
        assert store.update_metadata(filter="n == 99", set={"big": 1}) == 0
        assert store.count("big == true") == 3
        assert store.count("big == false") == 1
        # The filter decides before the change, also where the change would alter its answer.
        assert store.update_metadata(filter="n >= 5", set={"n": 0}) == 5
        assert store.count("n == 0") == 6

    def test_a_filter_that_matches_everything_may_change_everything(
        self, store: VectorStore
    ) -> None:
        """A filter that matches everything was taken for an empty selection."""
        store.add(self.documents(4))
        assert store.update_metadata(filter="n NOT IN []", set={"x": 1}) == 4
        assert store.count("x == 1") == 4

    def test_texts_and_vectors_stay(self, store: VectorStore) -> None:
        """The update wrote vectors back, in another length or precision: change metadata alone.

        The default ``_update_metadata`` reads and writes whole documents, which needs
        ``keeps_norm``.
        """
        documents = [
            self.document(f"doc-{number}", {"n": number}, embedding=3 * vector_of(f"{number}"))
            for number in range(6)
        ]
        store.add(documents)
        before = store.search("query", top_k=6)
        for _ in range(3):
            store.update_metadata([one.id for one in documents], set={"n": 7}, unset=["none"])
            store.update_metadata(filter="n == 7", set={"m": "x"})
        after = store.search("query", top_k=6)
        assert [(one.id, one.text) for one in after] == [(one.id, one.text) for one in before]
        for old, new in zip(before, after, strict=True):
            assert new.score == pytest.approx(old.score, abs=1e-5)
        self.check_vectors(
            store, {one.id: one.embedding for one in documents if one.embedding is not None}
        )

    def test_names_that_stores_use_themselves_are_only_metadata(self, store: VectorStore) -> None:
        """A user's key changed a column of the store's own: set keys below the metadata field."""
        document = self.document("a", {"n": 1})
        store.add([document])
        names = ("id", "text", "content", "metadata", "vector", "embedding", "score", "document")
        new = self.held_domain.fit(dict.fromkeys(names, "mine"))
        assert store.update_metadata([document.id], set=new) == 1
        self.check_holds(store, [document.replace(metadata={"n": 1, **new})])
        self.check_vectors(store, {document.id: vector_of(document.text)})
        assert store.update_metadata([document.id], unset=names) == 1
        self.check_holds(store, [document])

    def test_a_name_is_a_name_at_the_top_and_an_object_is_replaced_whole(
        self, store: VectorStore
    ) -> None:
        """The engine takes ``a.b`` for a path, or merges objects.

        Quote names, replace values whole.
        """
        old = self.held_domain.fit({"a": {"b": 1, "c": 2}, "a.b": 3, "n": 1})
        store.add([self.document("x", old)])
        changes: list[dict[str, Any]]
        changes = [{"a": {"b": 9}}, {"a.b": 4}, {"a": "text now"}, {"a": {}}]
        for new in changes:
            if self.held_domain.fit(new) != new:
                continue
            old.update(new)
            assert store.update_metadata(self.ids("x"), set=new) == 1
            self.check_metadata(store.get(self.ids("x"))[0].metadata, old, "x")
        old.pop("a.b", None)
        assert store.update_metadata(self.ids("x"), unset=["a.b"]) == 1
        self.check_metadata(store.get(self.ids("x"))[0].metadata, old, "x")

    def test_values_and_names_of_every_kind(self, store: VectorStore) -> None:
        """The engine's update language read a name or a value as code, or changed its type."""
        expected: dict[str, Any] = {"n": 1}
        store.add([self.document("a", expected), self.document("b", expected)])
        changes: list[dict[str, Any]] = [{"k": value} for value in (*SCALARS[::4], *LISTS)]
        changes += [{text: text} for text in HOSTILE_TEXTS]
        for new in changes:
            if self.held_domain.fit(new) == new:
                expected.update(new)
                store.update_metadata(self.ids("a"), set=new)
                (found,) = store.get(self.ids("a"))
                self.check_metadata(found.metadata, expected, "a")
            else:
                with pytest.raises(DocumentError):
                    store.update_metadata(self.ids("a"), set=new)
        for name in list(expected):
            store.update_metadata(self.ids("a"), unset=[name])
        self.check_holds(store, [self.document("a"), self.document("b", {"n": 1})])

    def test_null_and_empty_list_are_set_as_declared(self, store: VectorStore) -> None:
        """A null that is not kept takes the key away, as it does in ``add``.

        Usually: null is kept by ``_add`` and dropped by ``_update_metadata``, or the other way
        round.
        """
        store.add([self.document("a", {"none": 1, "empty": 1, "n": 1})])
        store.update_metadata(self.ids("a"), set={"none": None, "empty": []})
        (found,) = store.get(self.ids("a"))
        self.check_metadata(found.metadata, {"none": None, "empty": [], "n": 1}, "a")
        assert store.count("none IS NULL AND empty IS NULL AND n == 1") == 1

    def test_what_cannot_be_stored_is_refused(self, store: VectorStore) -> None:
        """An ``update_metadata`` of the store's own checks less than ``add`` does, or later."""
        documents = self.documents(3)
        store.add(documents)
        anything: Any = store
        ids = [documents[0].id]
        with self.no_call(store):
            for value in (math.nan, math.inf, object(), b"bytes", [1, "a"], [None], [[1]]):
                with pytest.raises(DocumentError):
                    anything.update_metadata(ids, set={"bad": value})
            for name in ("", "a\0b", "__vecstore_tags"):
                with pytest.raises(DocumentError):
                    anything.update_metadata(ids, set={name: 1})
            with pytest.raises(DocumentError):
                anything.update_metadata(ids, set={"a": 1}, unset=["a"])
            with pytest.raises(ValueError, match="set="):
                anything.update_metadata(ids)
            with pytest.raises(ValueError, match="ids or a filter"):
                anything.update_metadata(set={"a": 1})
            for wrong in ("doc-1", 5, [5]):
                with pytest.raises(TypeError):
                    anything.update_metadata(wrong, set={"a": 1})
            for options in ({"set": [("a", 1)]}, {"unset": "a"}, {"set": {"a": 1}, "merge": True}):
                with pytest.raises(TypeError):
                    anything.update_metadata(ids, **options)
            assert store.update_metadata([], set={"a": 1}) == 0
            assert store.update_metadata(filter="n IN []", set={"a": 1}) == 0
        self.check_holds(store, documents)

    def test_update_many(self, store: VectorStore) -> None:
        """More ids or rows than one call of the engine takes.

        Split them, or declare ``max_batch``.
        """
        documents = self.documents(1_100, embedded=True)
        store.add(documents)
        ids = [one.id for one in documents]
        assert store.update_metadata(ids[:1_050], set={"m": 1}) == 1_050
        assert store.update_metadata(filter="m == 1", set={"m": 2}) == 1_050
        assert store.count("m == 2") == 1_050
        wanted: list[Document] = [
            one.replace(metadata={"n": number, "m": 2}) if number < 1_050 else one
            for number, one in enumerate(documents)
        ]
        self.check_documents(store.get(ids), wanted)
        some = documents[::100]
        self.check_vectors(
            store, {one.id: one.embedding for one in some if one.embedding is not None}
        )
