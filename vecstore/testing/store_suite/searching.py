"""``search``: scores, order, thresholds, ``top_k``, and what may be asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document
from vecstore.errors import ConfigurationError, DimensionMismatchError
from vecstore.filter.builder import F
from vecstore.store.arguments import SearchRequest
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import METRICS, Metric
from vecstore.store.ranking import THRESHOLD_SLACK
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of
from vecstore.testing.store_suite.ranking import (
    REPEATED,
    check_ranking,
    check_same_results,
    ids_of,
    reference_scores,
)

_HUGE = 10_000


class Searching(StoreSuiteBase):
    """Tests of ``search``."""

    @pytest.mark.parametrize("metric", METRICS)
    def test_scores_and_order(self, metric: Metric) -> None:
        """To 1e-4 of what numpy works out, for vectors of any length and direction.

        Usually: the engine's distance is not the score: cosine, inner product, or minus the
        distance. All off: sign or scale in ``_search``. A few off: an approximate index, a squared
        distance, or float32 where long and short vectors meet.
        """
        if metric not in self.capabilities.metrics:
            with pytest.raises(ConfigurationError, match=metric):
                self.new_store(metric=metric)
            return
        store = self.new_store(metric=metric)
        vectors = self._vectors()
        store.add([Document(id, {}, id, vector) for id, vector in vectors.items()])
        for query in (*list(vectors.values())[:4], -vector_of("0"), 100 * vector_of("other")):
            exact = reference_scores(metric, query, vectors)
            for top_k in (1, 3, len(vectors), len(vectors) + 1):
                found = store.search(vector=query, top_k=top_k)
                check_ranking(found, exact, top_k, exact_ties=self.capabilities.exact_topk)

    @pytest.mark.parametrize("metric", METRICS)
    def test_many_searches_at_once(self, metric: Metric) -> None:
        """``search_many`` gives what ``search`` gives for each query, in the order asked.

        Usually: a hook ``_search_many`` whose results stand in another order than its queries, or
        that leaves out a query without results.
        """
        if metric not in self.capabilities.metrics:
            return
        store = self.new_store(metric=metric)
        vectors = self._vectors()
        store.add([Document(id, {"n": n}, id, one) for n, (id, one) in enumerate(vectors.items())])
        asked = [*vectors.values(), vector_of("another")]
        options: list[dict[str, Any]] = [
            {"top_k": 1},
            {"top_k": 3, "offset": 2, "include_embedding": True},
            {"top_k": len(asked), "filter": "n >= 2"},
            {"top_k": 2, "filter": F.n == -1},
            {"threshold": 0.5},
        ]
        for given in options:
            found = store.search_many(vectors=asked, **given)
            check_same_results(
                [one for part in found for one in part],
                [one for vector in asked for one in store.search(vector=vector, **given)],
            )
            assert len(found) == len(asked)
        several = [
            SearchRequest(vector=asked[0], top_k=2),
            SearchRequest(vector=asked[1], top_k=1, filter="n < 3"),
            SearchRequest(vector=asked[0], top_k=2),
        ]
        for request, hits in zip(several, store.search_many(several), strict=True):
            check_same_results(hits, store.search(request))
        assert store.search_many([]) == []

    @pytest.mark.parametrize("metric", METRICS)
    def test_known_scores(self, metric: Metric) -> None:
        """Identical, at a right angle, opposite, longer: higher is better under each metric.

        Usually: a sign, a square or a ``1 - x`` too many: see which of the four is off.
        """
        if metric not in self.capabilities.metrics:
            return
        axis = np.eye(DIMENSION, dtype=np.float32)
        vectors = {
            self.id("same"): 2 * axis[0],
            self.id("right angle"): 3 * axis[1],
            self.id("opposite"): -2 * axis[0],
            self.id("longer"): 5 * axis[0],
        }
        store = self.new_store(metric=metric)
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        found = store.search(vector=2 * axis[0], top_k=4)
        expected: dict[Metric, dict[str, float]] = {
            "cosine": {"same": 1.0, "right angle": 0.0, "opposite": -1.0, "longer": 1.0},
            "dot": {"same": 4.0, "right angle": 0.0, "opposite": -4.0, "longer": 10.0},
            "euclidean": {
                "same": 0.0,
                "right angle": -math.sqrt(13),
                "opposite": -4.0,
                "longer": -3.0,
            },
        }
        exact = {self.id(name): score for name, score in expected[metric].items()}
        check_ranking(found, exact, 4, exact_ties=False)

    def test_equal_scores_are_ordered_by_id(self, store: VectorStore) -> None:
        """Equal vectors got unequal scores, or a tie at the cut fell to another id.

        Where the engine settles such ties by itself, ``exact_topk`` is not to be declared.
        """
        names = ["m", "b", "z", "a", "y", "c", "Z", "10", "9"]
        same = {self.id(name): vector_of("same") for name in names}
        others = {self.id(name): vector_of(name) for name in ("o1", "o2", "o3")}
        vectors = {**same, **others}
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        found = store.search(vector=vector_of("same"), top_k=len(vectors))
        exact = self.scores(vector_of("same"), vectors)
        check_ranking(found, exact, len(vectors), exact_ties=False)
        tied = [document for document in found if document.id in same]
        assert ids_of(tied) == sorted(same)
        assert len({document.score for document in tied}) == 1, "equal vectors, different scores"
        few = store.search(vector=vector_of("same"), top_k=4)
        check_ranking(few, exact, 4, exact_ties=self.capabilities.exact_topk)

    def test_top_k(self, store: VectorStore) -> None:
        """``_search`` gave fewer than ``top_k`` although there were more.

        An approximate index needs a larger search list than ``top_k``; a hard limit of the engine
        is ``max_top_k``.
        """
        documents = self.documents(12)
        store.add(documents)
        exact = self.scores(vector_of("query"), {d.id: vector_of(d.text) for d in documents})
        most = self.capabilities.max_top_k or _HUGE
        for top_k in (1, 2, 11, 12, 13, 50, min(_HUGE, most)):
            found = store.search("query", top_k=top_k)
            check_ranking(found, exact, top_k, exact_ties=False)
        check_ranking(store.search("query"), exact, 4, exact_ties=False)
        with self.no_call(store):
            assert store.search("query", top_k=0) == []

    def test_threshold(self, store: VectorStore) -> None:
        """The store applies a threshold by itself.

        Leave it to the base, which is given the scores.
        """
        documents = self.documents(20)
        store.add(documents)
        every = store.search("query", top_k=20)
        check_same_results(store.search("query", top_k=20, threshold=-math.inf), every)
        assert store.search("query", top_k=20, threshold=math.inf) == []
        for place in (0, 7, 19):
            score = every[place].score
            assert score is not None
            reached = store.search("query", top_k=20, threshold=score - 2 * REPEATED)
            check_same_results(reached, every[: place + 1])
            above = store.search("query", top_k=20, threshold=score + 2 * REPEATED)
            check_same_results(above, every[:place])
        # Together with top_k: the best of those that reach the threshold.
        middle = every[9].score
        check_same_results(store.search("query", top_k=3, threshold=middle), every[:3])

    def test_threshold_is_inclusive(self, store: VectorStore) -> None:
        """On a score without rounding: one number in each vector is not zero.

        Usually: one document, two searches, two scores: the engine's rounding depends on ``top_k``.
        """
        axis = np.eye(DIMENSION, dtype=np.float32)[0]
        store.add([self.document("same", embedding=axis)])
        (found,) = store.search(vector=axis)
        assert found.score is not None
        assert store.search(vector=axis, threshold=found.score) == [found]
        above = found.score + 3 * THRESHOLD_SLACK
        assert store.search(vector=axis, threshold=above) == []

    def test_no_threshold_hides_nothing(self, store: VectorStore) -> None:
        """Scores below zero are scores like any other; 0 is a threshold, None is none.

        Usually: scores below zero are cut off, or 0 is taken for no threshold: a truth test on a
        number.
        """
        opposite = self.document("opposite", embedding=-vector_of("query"))
        store.add([opposite, self.document("same", embedding=vector_of("query"))])
        assert ids_of(store.search("query", top_k=2)) == self.ids("same", "opposite")
        smallest = -0.01 if self.metric == "euclidean" else 0
        assert ids_of(store.search("query", top_k=2, threshold=smallest)) == self.ids("same")

    def test_a_text_finds_what_its_vector_finds(self, store: VectorStore) -> None:
        """A ``search`` of the store's own embeds otherwise: ``embed_query``, once."""
        documents = self.documents(8)
        store.add(documents)
        self.embedder.forget()
        by_text = store.search("text of doc-3", top_k=8)
        assert self.embedder.queries == ["text of doc-3"]
        by_vector = store.search(vector=vector_of("text of doc-3"), top_k=8)
        by_list = store.search(vector=vector_of("text of doc-3").tolist(), top_k=8)
        check_same_results(by_vector, by_text)
        check_same_results(by_list, by_text)
        assert self.embedder.calls == 1
        self.check_documents(
            sorted(by_text, key=lambda document: document.id),
            sorted(documents, key=lambda document: document.id),
        )

    def test_a_request_finds_what_its_parts_find(self, store: VectorStore) -> None:
        """A ``search`` of the store's own does not read a ``SearchRequest``."""
        store.add(self.documents(8))
        filter = F.n < 6
        request = SearchRequest("query", top_k=3, threshold=-100.0, filter=filter)
        parts = store.search("query", top_k=3, threshold=-100.0, filter=filter)
        check_same_results(store.search(request), parts)
        assert len(parts) == 3
        anything: Any = store
        with self.no_call(store), pytest.raises(TypeError):
            anything.search(request, top_k=2)

    def test_embeddings_come_on_request(self, store: VectorStore) -> None:
        """``_search`` forgets ``include_embedding``, or gives vectors in the engine's form."""
        store.add(self.documents(3))
        assert all(document.embedding is None for document in store.search("query"))
        for document in store.search("query", include_embedding=True):
            assert document.embedding is not None
            right = vector_of(document.text)
            if not self.capabilities.keeps_norm:
                right /= np.linalg.norm(right)
            assert np.allclose(document.embedding, right, rtol=1e-5, atol=1e-6)

    def test_an_empty_store_finds_nothing(self, store: VectorStore) -> None:
        """The engine fails where there is nothing yet, or nothing any more.

        Answer [] in ``_search``.
        """
        assert store.search("query") == []
        assert store.search(vector=vector_of("query"), top_k=10, filter="a == 1") == []
        store.add(self.documents(2))
        assert store.search("query", filter="n == 7") == []
        store.delete(self.ids("doc-0", "doc-1"))
        assert store.search("query") == []

    def test_what_is_no_search_is_refused(self, store: VectorStore) -> None:
        """A ``search`` of the store's own reads its arguments more loosely than the base does."""
        anything: Any = store
        wrong: dict[str, Any]
        with self.no_call(store):
            with pytest.raises(TypeError, match="get"):
                anything.search()
            for wrong in (
                {"query": "a", "vector": [1.0] * DIMENSION},
                {"query": 5},
                {"query": "a", "top_k": "3"},
                {"query": "a", "top_k": True},
                {"query": "a", "top_k": 2.5},
                {"query": "a", "threshold": "0.5"},
                {"query": "a", "include_embedding": 1},
                {"query": "a", "filters": "a == 1"},
                {"query": "a", "k": 3},
            ):
                with pytest.raises(TypeError):
                    anything.search(**wrong)
            for wrong in (
                {"query": "a", "top_k": -1},
                {"query": "a", "threshold": math.nan},
                {"vector": [math.nan] * DIMENSION},
                {"vector": []},
                {"vector": [[1.0] * DIMENSION]},
                {"vector": "a text"},
            ):
                with pytest.raises(ValueError):
                    anything.search(**wrong)

    def test_a_query_of_another_dimension_is_refused(self, store: VectorStore) -> None:
        """The store does not say its ``dimension``, so that the base cannot compare."""
        store.add(self.documents(2))
        with self.no_call(store), pytest.raises(DimensionMismatchError) as caught:
            store.search(vector=[1.0] * (DIMENSION + 1))
        assert (caught.value.expected, caught.value.actual) == (DIMENSION, DIMENSION + 1)
        other = self.new_store(embedder=TextEmbedder(DIMENSION + 2))
        with self.no_call(other), pytest.raises(DimensionMismatchError):
            other.search("query")

    def test_a_query_of_zeros(self, store: VectorStore) -> None:
        """Zeros have no direction.

        Cosine refuses them; elsewhere ``_search`` divides by no length.
        """
        store.add(self.documents(2))
        if self.metric == "cosine":
            with self.no_call(store), pytest.raises(ValueError, match="zero"):
                store.search(vector=[0.0] * DIMENSION)
        else:
            assert len(store.search(vector=[0.0] * DIMENSION)) == 2

    def test_a_text_without_embedder_is_refused(self) -> None:
        """``__init__`` makes an embedder where none was given, or search always needs one."""
        store = self.new_store()
        store.add([self.document("a", embedding=vector_of("a"))])
        with self.no_call(store), pytest.raises(ConfigurationError, match="embedder"):
            store.search("query")
        assert ids_of(store.search(vector=vector_of("a"))) == self.ids("a")

    def _vectors(self) -> dict[str, Any]:
        """Forty vectors: of one length, very short, long, close together, equal, opposite."""
        vectors: dict[str, Any] = {}
        for number in range(32):
            scale = (1.0, 1.0, 1e-3, 50.0)[number % 4]
            vectors[self.id(f"{number}")] = scale * vector_of(f"{number}")
        close = vector_of("0")
        for number in range(4):
            nudge = np.zeros(DIMENSION, np.float32)
            nudge[number] = 0.01
            vectors[self.id(f"close-{number}")] = close + nudge
        vectors[self.id("equal-1")] = vectors[self.id("equal-2")] = close.copy()
        vectors[self.id("opposite")] = -close
        vectors[self.id("double")] = 2 * close
        return vectors
