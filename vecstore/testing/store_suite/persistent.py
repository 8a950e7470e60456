"""For stores whose documents outlive them: what a store opened anew finds."""

from __future__ import annotations

from typing import Any

import pytest

from vecstore.errors import DimensionMismatchError, SchemaMismatchError
from vecstore.store import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of


class PersistentStoreTests(StoreSuiteBase):
    """Beside :class:`~vecstore.testing.StoreSuite`, for a store that is more than memory.

    Example:
        A store in a file::

            class TestMyStore(PersistentStoreTests, StoreSuite):
                def make_store(self, **options):
                    return MyStore(self.folder / uuid4().hex, **options)

                def open_again(self, store, **options):
                    return MyStore(store.path, **options)
    """

    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        """The same documents through a new store; the old one may be closed or open.

        Args:
            store: What ``make_store`` made.
            **options: As for ``make_store``.
        """
        raise NotImplementedError(
            "say how a store is opened: def open_again(self, store, **options)"
        )

    def _again(self, store: VectorStore, **options: Any) -> VectorStore:
        made = self.open_again(self.behind(store), **{"metric": self.metric, **options})
        self._made.append(made)
        return made

    def test_documents_outlive_their_store(self) -> None:
        store = self.new_store(embedder=TextEmbedder())
        documents = [
            self.document(f"doc-{number}", row)
            for number, (_, row) in zip(range(40), self._rows(), strict=False)
        ]
        store.add(documents)
        store.update_metadata(self.ids("doc-1"), set={"later": True})
        store.delete(self.ids("doc-2"))
        before = store.search("query", top_k=50)
        store.close()
        again = self._again(store, embedder=TextEmbedder())
        found = {one.id: one for one in again.scan()}
        assert len(found) == again.count() == len(documents) - 1
        for one in (document for document in documents if document.id in found):
            more = {"later": True} if one.id == self.id("doc-1") else {}
            assert found[one.id].text == one.text
            self.check_metadata(found[one.id].metadata, {**one.metadata, **more}, one.id)
        after = again.search("query", top_k=50)
        assert [one.id for one in after] == [one.id for one in before]
        assert again.dimension == DIMENSION
        assert again.add([self.document("doc-2", {"new": 1})], on_conflict="error")
        again.clear()
        assert again.count() == 0

    def test_another_dimension_or_metric_does_not_fit(self) -> None:
        store = self.new_store()
        store.add([self.document("a", {"n": 1}, embedding=vector_of("a"))])
        store.close()
        for options in ({"dimension": DIMENSION + 1}, self._another_metric()):
            with pytest.raises((SchemaMismatchError, DimensionMismatchError)):
                other = self._again(store, **options)
                other.search(vector=vector_of("a", DIMENSION + 1))
        again = self._again(store, dimension=DIMENSION)
        assert [one.metadata for one in again.get()] == [self.stored({"n": 1})]

    def test_two_stores_on_the_same_documents_see_each_other(self) -> None:
        store = self.new_store()
        store.add([self.document("a", {"n": 1}, embedding=vector_of("a"))])
        other = self._again(store)
        assert other.count() == 1
        other.add([self.document("b", {"n": 2}, embedding=vector_of("b"))])
        assert store.count() == 2
        store.delete(self.ids("a"))
        assert other.get(self.ids("a")) == []

    def _rows(self) -> list[tuple[str, dict[str, Any]]]:
        return [(name, row) for name, row in self._fixed() if row]

    def _another_metric(self) -> dict[str, Any]:
        others = sorted(self.capabilities.metrics - {self.metric})
        return {"metric": others[0]} if others else {"dimension": DIMENSION + 2}

    def _fixed(self) -> list[tuple[str, dict[str, Any]]]:
        from vecstore.testing.rows import oracle_rows

        return list(oracle_rows(self.held_domain).items())
