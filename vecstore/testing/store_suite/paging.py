"""Pages of a search, ties at the cut, and scores at the end of their range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document
from vecstore.store.arguments import SearchRequest
from vecstore.store.base import VectorStore
from vecstore.store.ranking import THRESHOLD_SLACK
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import check_same_results, ids_of

_COMMON_LENGTH = 384


class Paging(StoreSuiteBase):
    """Tests of ``offset``, of equal scores at the edge of a result, and of thresholds there."""

    def test_pages_follow_each_other(self, store: VectorStore) -> None:
        """Page after page they are the whole result, without overlap and without a gap.

        Usually: scores differ from call to call, so that pages overlap: work them out with one
        precision. Or ``_search`` gave fewer than ``top_k`` documents although there were more.
        """
        store.add(self.documents(23))
        every = store.search("query", top_k=23)
        for size in (1, 5, 23, 30):
            paged: list[Document] = []
            for offset in range(0, 30, size):
                page = store.search("query", top_k=size, offset=offset)
                assert len(page) == max(0, min(size, 23 - offset))
                paged += page
            assert len(set(ids_of(paged))) == 23, "pages overlap"
            check_same_results(paged, every)
        assert store.search("query", top_k=5, offset=23) == []
        assert store.search("query", top_k=0, offset=3) == []
        request = SearchRequest("query", top_k=5, offset=7, filter="n >= 3")
        among = store.search("query", top_k=20, filter="n >= 3")
        check_same_results(store.search(request), among[7:12])
        lowest = among[9].score
        assert lowest is not None
        rest = store.search("query", top_k=20, offset=7, filter="n >= 3", threshold=lowest)
        check_same_results(rest, among[7:10])

    def test_pages_of_equal_scores(self, store: VectorStore) -> None:
        """Whatever was stored first, and however many are equal at the edge of a page.

        Usually: ``exact_topk`` is declared, but ties at the cut are taken in another order than of
        ids.
        """
        if not self.capabilities.exact_topk:
            pytest.skip("equal scores at the cut are ordered by stores that declare exact_topk")
        names = [f"same-{number:02d}" for number in range(40)]
        shuffled = [names[(7 * place) % 40] for place in range(40)]
        nearer = [self.document(name, embedding=vector_of("query")) for name in ("x", "y")]
        tied = [self.document(name, embedding=vector_of("same")) for name in shuffled]
        store.add([*tied[:20], *nearer, *tied[20:]])
        wanted = [*sorted(self.ids("x", "y")), *sorted(self.ids(*names))]
        for top_k in (1, 2, 3, 5, 41, 42, 43):
            assert ids_of(store.search("query", top_k=top_k)) == wanted[:top_k]
        for size in (1, 4, 15):
            paged: list[str] = []
            for offset in range(0, 42, size):
                paged += ids_of(store.search("query", top_k=size, offset=offset))
            assert paged == wanted

    def test_a_vector_reaches_its_own_score(self) -> None:
        """Under every metric, with vectors of a common length: the engines round differently.

        Usually: scores are off by more than the slack: work them out in float64, or from stored
        vectors.
        """
        count = 200
        dimension = min(_COMMON_LENGTH, self.capabilities.max_dimension or _COMMON_LENGTH)
        vectors = np.random.default_rng(self.seed).normal(size=(count, dimension))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        ids = [self.id(f"{number}") for number in range(count)]
        for metric in sorted(self.capabilities.metrics):
            store = self.new_store(metric=metric, dimension=dimension)
            store.add([Document("text", {}, id, row) for id, row in zip(ids, vectors, strict=True)])
            searches = 60 if metric == self.metric else 20
            for id, row in list(zip(ids, vectors, strict=True))[:searches]:
                wide = row.astype(np.float64)
                own = {"cosine": 1.0, "euclidean": 0.0, "dot": float(wide @ wide)}[metric]
                found = store.search(vector=row, top_k=1, threshold=own)
                assert ids_of(found) == [id], f"{metric}: the threshold {own!r} hides {id!r} itself"
                score = found[0].score
                assert score is not None and abs(score - own) <= THRESHOLD_SLACK
                if metric == "cosine":
                    assert score <= 1.0

    def test_cosines_end_at_one(self) -> None:
        """Also those of vectors in the same and in the opposite direction, at any length.

        Usually: a cosine past 1 or -1 hides its document behind a threshold: clip scores.
        """
        if "cosine" not in self.capabilities.metrics:
            pytest.skip("the store does not compare by cosine")
        store = self.new_store(metric="cosine")
        vectors: dict[str, Any] = {}
        for number in range(30):
            vectors[self.id(f"{number}")] = (0.1 + number) * vector_of("axis")
            vectors[self.id(f"-{number}")] = -(0.1 + number) * vector_of("axis")
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        found = store.search(vector=vector_of("axis"), top_k=60)
        assert len(found) == 60
        for document in found:
            assert document.score is not None and -1.0 <= document.score <= 1.0
        assert len(store.search(vector=vector_of("axis"), top_k=60, threshold=1.0)) == 30
        assert len(store.search(vector=vector_of("axis"), top_k=60, threshold=-1.0)) == 60

    def test_the_slack_of_a_threshold_is_small(self, store: VectorStore) -> None:
        """The store applies a threshold by itself, and a looser one: leave it to the base."""
        axis = np.eye(len(vector_of("axis")), dtype=np.float32)
        store.add([self.document("same", embedding=2 * axis[0])])
        (found,) = store.search(vector=axis[1] + axis[0])
        score = found.score
        assert score is not None
        step = THRESHOLD_SLACK * (1.0 if self.metric == "cosine" else abs(score))
        reached = store.search(vector=axis[1] + axis[0], threshold=score + 0.5 * step)
        check_same_results(reached, [found])
        assert store.search(vector=axis[1] + axis[0], threshold=score + 3 * step) == []
        assert store.search(vector=axis[1] + axis[0], threshold=math.inf) == []

    def test_what_is_no_offset_is_refused(self, store: VectorStore) -> None:
        """A ``search`` of the store's own reads ``offset``, or leaves it out of ``max_top_k``."""
        anything: Any = store
        most = self.capabilities.max_top_k
        with self.no_call(store):
            for wrong in ("3", True, 2.5, None):
                with pytest.raises(TypeError, match="offset"):
                    anything.search("a", offset=wrong)
            with pytest.raises(ValueError, match="offset"):
                store.search("a", offset=-1)
            if most is not None:
                with pytest.raises(ValueError, match="max_top_k"):
                    store.search("a", top_k=most - 3, offset=4)
        if most is not None:
            assert store.search("a", top_k=most - 3, offset=3) == []
