"""``search(ids=, exclude_ids=)``: among documents that are chosen by their ids."""

from __future__ import annotations

from random import Random

import pytest

from vecstore.document import Document
from vecstore.store.arguments import SearchRequest
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.hooks import watched_hooks
from vecstore.testing.store_suite.ranking import check_same_results, ids_of

_COUNT = 60


class Chosen(StoreSuiteBase):
    """Tests of searches among some ids, and besides some."""

    def test_a_search_among_ids(self, store: VectorStore) -> None:
        """What a search finds of these documents alone, in its order and with its scores.

        Usually: ``_search_selected`` cuts to ``top_k`` before it chooses by ids, or leaves out the
        filter.
        """
        store.add(self.documents(_COUNT))
        every = store.search("query", top_k=_COUNT)
        random = Random(self.seed)
        for size in (1, 7, 40, _COUNT):
            names = [f"doc-{number}" for number in random.sample(range(_COUNT), size)]
            ids = self.ids(*names)
            among = [one for one in every if one.id in ids]
            unknown = self.ids("nobody", "no-one")
            given = [*ids, *unknown, ids[0]]
            for top_k, offset in ((1, 0), (5, 0), (5, 3), (_COUNT, 0)):
                found = store.search("query", top_k=top_k, offset=offset, ids=iter(given))
                check_same_results(found, among[offset : offset + top_k])
            filtered = [one for one in among if one.metadata["n"] >= 20]
            check_same_results(
                store.search("query", top_k=9, ids=given, filter="n >= 20"), filtered[:9]
            )
        assert store.search("query", ids=self.ids("nobody")) == []

    def test_who_answers_a_search_among_ids(self, store: VectorStore) -> None:
        """What is declared as ``native_ids`` is true: no document is read to be compared here.

        Usually: ``_search_selected`` is the default, or calls it for what it cannot ask.
        """
        store.add(self.documents(100))
        ids = self.ids(*[f"doc-{number}" for number in range(0, 100, 2)], "doc-1", "doc-3")
        ids += self.ids(*[f"unknown-{number}" for number in range(40)])
        with watched_hooks(store) as called:
            assert len(store.search("query", top_k=5, ids=ids)) == 5
        assert "_get" not in called or not self.capabilities.native_ids

    def test_a_search_besides_ids(self, store: VectorStore) -> None:
        """As many documents as were asked for, when enough are left.

        Usually: ``_search_selected`` finds ``top_k`` documents first and leaves ids out after that.
        """
        store.add(self.documents(_COUNT))
        every = store.search("query", top_k=_COUNT)
        random = Random(self.seed)
        for size in (1, 7, 40, _COUNT):
            names = [f"doc-{number}" for number in random.sample(range(_COUNT), size)]
            out = self.ids(*names)
            left = [one for one in every if one.id not in out]
            given = [*out, *self.ids("nobody"), out[0]]
            for top_k, offset in ((1, 0), (5, 0), (5, 3), (_COUNT, 0)):
                found = store.search("query", top_k=top_k, offset=offset, exclude_ids=iter(given))
                check_same_results(found, left[offset : offset + top_k])
            among = self.ids(*[f"doc-{number}" for number in range(0, _COUNT, 2)])
            both = [one for one in left if one.id in among]
            found = store.search("query", top_k=9, ids=among, exclude_ids=out)
            check_same_results(found, both[:9])
            filtered = [one for one in left if one.metadata["n"] < 30]
            found = store.search("query", top_k=9, exclude_ids=out, filter="n < 30")
            check_same_results(found, filtered[:9])

    def test_several_searches_among_ids(self, store: VectorStore) -> None:
        """Each query with ids of its own, or all with the same.

        Usually: ``_search_selected`` answers for the first vector only, or in another order.
        """
        store.add(self.documents(20))
        few = self.ids("doc-3", "doc-9", "doc-11")
        requests = [
            SearchRequest("first", top_k=5, ids=few),
            SearchRequest("second", top_k=5),
            SearchRequest("third", top_k=5, exclude_ids=few),
            SearchRequest("fourth", top_k=5, ids=few),
            SearchRequest("fifth", top_k=5, ids=[]),
        ]
        for found, request in zip(store.search_many(requests), requests, strict=True):
            check_same_results(found, store.search(request))
        both = store.search_many(["first", "second"], top_k=2, ids=few, include_embedding=True)
        for query, found in zip(("first", "second"), both, strict=True):
            alone = store.search(query, top_k=2, ids=few, include_embedding=True)
            check_same_results(found, alone)
            assert all(one.embedding is not None for one in found)

    def test_many_ids(self, store: VectorStore) -> None:
        """Thousands of ids in one search, most of which nobody has.

        Usually: more ids than one call of the engine takes, in ``_search_selected``; at most
        ``max_batch`` ids come at once, but any number that is left out.
        """
        store.add(self.documents(30, embedded=True))
        known = self.ids(*[f"doc-{number}" for number in range(0, 30, 3)])
        many = self.ids(*[f"unknown-{number}" for number in range(5_000)])
        for place, one in enumerate(known):  # some in each part, and the last at the end
            many.insert(500 * (place + 1) + place, one)
        query = vector_of("query")
        every = store.search(vector=query, top_k=30)
        found = store.search(vector=query, top_k=30, ids=many)
        check_same_results(found, [one for one in every if one.id in known])
        found = store.search(vector=query, top_k=2, offset=3, ids=many, filter="n >= 6")
        among = [one for one in every if one.id in known and one.metadata["n"] >= 6]
        check_same_results(found, among[3:5])
        found = store.search(vector=query, top_k=30, exclude_ids=many)
        check_same_results(found, [one for one in every if one.id not in known])

    def test_ids_outside_a_scope_are_unknown(self, store: VectorStore) -> None:
        """A search by ids never leaves its scope.

        Usually: ``_search_selected`` passes over the filter when it is given ids.
        """
        documents = [
            Document("text", {"tenant": "ab"[n % 2], "n": n}, self.id(f"{n}"), vector_of(f"{n}"))
            for n in range(12)
        ]
        store.add(documents)
        mine = store.scoped("tenant == 'a'")
        own = {one.id for one in documents if one.metadata["tenant"] == "a"}
        ids = [one.id for one in documents]
        assert set(ids_of(mine.search("query", top_k=12, ids=ids))) == own
        assert set(ids_of(mine.search("query", top_k=12, exclude_ids=ids[:1]))) == own - {ids[0]}
        assert mine.search("query", ids=ids[1::2]) == []

    def test_no_ids_find_nothing(self, store: VectorStore) -> None:
        """An empty list of ids is no restriction that is left out; it is known without a call.

        Usually: a ``search`` of the store's own takes [] for None.
        """
        store.add(self.documents(3))
        before = self.embedder.calls
        with self.no_call(store):
            assert store.search("query", ids=[]) == []
            assert store.search("query", ids=iter([])) == []
            gone = self.ids("doc-1")
            assert store.search("query", ids=gone, exclude_ids=gone) == []
            assert store.search_many(["one", "two"], ids=[]) == [[], []]
        assert self.embedder.calls == before
        assert len(store.search("query", exclude_ids=[])) == 3

    def test_ids_that_are_none(self, store: VectorStore) -> None:
        """A ``search`` of the store's own takes anything for a list of ids."""
        with self.no_call(store):
            for wrong in ("doc-1", b"doc-1", {"doc-1": 1}, 7, [7], [None]):
                with pytest.raises(TypeError):
                    store.search("query", ids=wrong)  # type: ignore[arg-type]
                with pytest.raises(TypeError):
                    store.search_many(["query"], exclude_ids=wrong)  # type: ignore[arg-type]
