"""For stores whose documents outlive them: what a store opened anew finds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from vecstore.errors import (
    DimensionMismatchError,
    DocumentError,
    SchemaMismatchError,
    StoreClosedError,
    StoreFileError,
)
from vecstore.store.base import VectorStore
from vecstore.testing.rows import oracle_rows
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of
from vecstore.testing.store_suite.ranking import (
    check_ranking,
    check_same_results,
    reference_scores,
)

_NO_FIT = (SchemaMismatchError, DimensionMismatchError, StoreFileError)


class PersistentStoreTests(StoreSuiteBase):
    """Beside :class:`~vecstore.testing.StoreSuite`, for a store that is more than memory.

    Attributes:
        live: Whether two stores that are open on the same documents see what the other writes.

    Example:
        A store in a file::

            class TestMyStore(PersistentStoreTests, StoreSuite):
                def make_store(self, **options):
                    return MyStore(self.folder / uuid4().hex, **options)

                def open_again(self, store, **options):
                    return MyStore(store.path, **options)
    """

    live: ClassVar[bool] = True

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        """The same documents through a new store.

        Args:
            store: What ``make_store`` made; closed, or still open.
            **options: As for ``make_store``; without ``metric`` and ``dimension`` those that the
                documents are stored with count.
        """
        raise NotImplementedError(
            "say how a store is opened again: def open_again(self, store, **options)"
        )

    def test_what_was_acknowledged_before_closing_is_there(self) -> None:
        """Threads add while the store is closed: each id that came back is stored.

        Usually: an ``add`` that returned was not yet written when the store closed: flush in
        ``_add``.
        """
        store = self.new_store()
        made = self.behind(store)
        acknowledged: list[str] = []
        refused = threading.Event()

        def work(thread: int) -> None:
            for number in range(200):
                one = self.documents(1, prefix=f"kept-{thread}-{number}", embedded=True)
                try:
                    acknowledged.extend(store.add(one))
                except StoreClosedError as error:
                    acknowledged.extend(error.stored_ids)
                    refused.set()
                    return

        with ThreadPoolExecutor(5) as pool:
            futures = [pool.submit(work, thread) for thread in range(4)]
            while len(acknowledged) < 8 and not all(one.done() for one in futures):
                refused.wait(0.001)
            made.close()
            for future in futures:
                future.result(120)
        again = self._for_one_test(self.open_again(made))
        assert {one.id for one in again.get(acknowledged)} == set(acknowledged)

    def test_documents_without_a_vector_outlive_their_store(self) -> None:
        """That a document has none is kept in memory only, and read as a vector of zeros."""
        store = self.new_store()
        if not self.capabilities.vectorless:
            with pytest.raises(DocumentError, match="vectorless"):
                store.add([self.document("bare")], embed=False)
            return
        bare = [self.document(f"bare-{number}", {"n": number}) for number in range(5)]
        store.add(bare[:1], embed=False)
        store.close()
        again = self._again(store)
        self.check_holds(again, bare[:1])
        full = self.document("full", {"n": 9}, embedding=vector_of("full"))
        again.add([*bare, full], embed=False)
        again.close()
        last = self._again(store)
        self.check_holds(last, [*bare, full])
        assert [one.id for one in last.search(vector=vector_of("q"), top_k=9)] == [full.id]
        held = {one.id: one.embedding is None for one in last.scan(include_embedding=True)}
        assert held == {**{one.id: True for one in bare}, full.id: False}

    def test_documents_outlive_their_store(self) -> None:
        """Something was kept in memory only: a text, a vector, the metric, an update."""
        store = self.new_store(embedder=TextEmbedder())
        rows = [row for row in oracle_rows(self.held_domain).values() if row]
        documents = [self.document(f"doc-{number}", row) for number, row in enumerate(rows[::5])]
        store.add(documents)
        store.update_metadata(self.ids("doc-1"), set={"later": 1})
        store.delete(self.ids("doc-2"))
        left = [one for one in documents if one.id != self.id("doc-2")]
        changed = self.id("doc-1")
        expected = [
            one.replace(metadata={**one.metadata, "later": 1}) if one.id == changed else one
            for one in left
        ]
        before = store.search("query", top_k=self.most_found)
        store.close()

        again = self._again(store, embedder=TextEmbedder())
        self.check_holds(again, expected)
        self.check_vectors(again, {one.id: vector_of(one.text) for one in expected})
        after = again.search("query", top_k=self.most_found)
        check_same_results(after, before)
        assert (again.dimension, again.metric) == (DIMENSION, self.metric)
        assert again.add(documents[2:3], on_conflict="error") == [documents[2].id]
        again.clear()
        again.close()
        self.check_holds(self._again(store), [])

    def test_another_dimension_does_not_fit(self) -> None:
        """The stored dimension is not compared on opening, or the error lacks one of the two."""
        store = self._one_document()
        store.close()
        with pytest.raises(_NO_FIT) as caught:
            self._again(store, dimension=DIMENSION + 1).count()
        assert str(DIMENSION) in str(caught.value)
        assert str(DIMENSION + 1) in str(caught.value)
        self._check_one_document(self._again(store, dimension=DIMENSION))

    def test_another_metric_does_not_fit_or_is_taken(self) -> None:
        """Where the engine keeps no metric, a store may compare by any.

        Usually: the stored metric silently replaced the one asked for: scores mean another thing.
        """
        store = self._one_document()
        store.close()
        for metric in sorted(self.capabilities.metrics - {self.metric}):
            try:
                other = self._again(store, metric=metric)
                found = other.search(vector=vector_of("query"))
            except _NO_FIT as error:
                assert metric in str(error)
                assert self.metric in str(error)
            else:
                exact = reference_scores(metric, vector_of("query"), {self.id("a"): _VECTOR})
                check_ranking(found, exact, 4, exact_ties=False)
                other.close()
        self._check_one_document(self._again(store, metric=self.metric))

    def test_two_stores_on_the_same_documents_see_each_other(self) -> None:
        """A store answers from what it read when it was opened.

        Say ``live = False``, or ask anew.
        """
        if not self.live:
            return  # declared: each sees what was there when it was opened
        store = self._one_document()
        other = self._again(store)
        self._check_one_document(other)
        other.add([self.document("b", {"n": 2}, embedding=vector_of("b"))])
        assert store.count() == 2
        assert store.update_metadata(self.ids("b"), set={"n": 3}) == 1
        assert other.count("n == 3") == 1
        store.delete(self.ids("a"))
        assert other.get(self.ids("a")) == []
        store.clear()
        assert other.search(vector=_VECTOR) == []

    def _again(self, store: VectorStore, **options: Any) -> VectorStore:
        return self._for_one_test(self.open_again(self.behind(store), **options))

    def _one_document(self) -> VectorStore:
        store = self.new_store()
        store.add([self.document("a", {"n": 1}, embedding=_VECTOR)])
        return store

    def _check_one_document(self, store: VectorStore) -> None:
        self.check_holds(store, [self.document("a", {"n": 1})])
        self.check_vectors(store, {self.id("a"): _VECTOR})


_VECTOR = vector_of("a")
