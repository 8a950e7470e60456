"""What others build on a search: ``diversity``, ``relevance`` and ``embed_query``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from vecstore.document import Document
from vecstore.errors import ConfigurationError, DimensionMismatchError, EmbeddingError
from vecstore.store.arguments import SearchRequest
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import METRICS, Metric
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, WrongEmbedder, vector_of
from vecstore.testing.store_suite.ranking import (
    TOLERANCE,
    check_same_results,
    ids_of,
    reference_scores,
)


class Diverse(StoreSuiteBase):
    """Tests of what integrations need of a search besides its results."""

    @pytest.mark.parametrize("metric", METRICS)
    def test_diverse_results(self, metric: Metric) -> None:
        """Each document has the highest value of those that are left, worked out one by one.

        Usually: ``_search`` gives no vectors, or those of other documents, when it is asked for
        them; or a ``search`` of the store's own passes over ``diversity``.
        """
        if metric not in self.capabilities.metrics:
            return
        store = self.new_store(metric=metric)
        vectors = {self.id(f"{n}"): (1.0, 3.0)[n % 2] * vector_of(f"{n}") for n in range(14)}
        for n in range(10):  # near each other, so that the nearest alone say the same
            nudge = np.eye(DIMENSION, dtype=np.float32)[n % DIMENSION]
            vectors[self.id(f"near-{n}")] = vector_of("0") + 0.05 * (1 + n) * nudge
        store.add([Document(id, {}, id, vector) for id, vector in vectors.items()])
        query = vector_of("0")
        for diversity, top_k in ((0.3, 6), (0.7, 24), (1.0, 5)):
            found = store.search(vector=query, top_k=top_k, diversity=diversity, fetch_k=24)
            assert len(found) == top_k
            check_diverse(found, metric, query, vectors, diversity)
            exact = reference_scores(metric, query, vectors)
            for document in found:
                assert document.embedding is None
                assert document.score is not None
                right = exact[document.id]
                assert abs(document.score - right) <= TOLERANCE * max(1.0, abs(right))

    def test_no_diversity_is_a_search(self, store: VectorStore) -> None:
        """With ``diversity=0`` the results are those of a search without it, scores included.

        Usually: a ``search`` of the store's own takes 0 for a wish, or None for one.
        """
        store.add(self.documents(23))
        for options in ({"top_k": 7}, {"top_k": 3, "offset": 4, "threshold": -100.0}, {"top_k": 0}):
            plain = store.search("query", **options)
            for diversity in (0, 0.0, None):
                found = store.search("query", diversity=diversity, **options)
                check_same_results(found, plain)
        found = store.search("query", top_k=7, diversity=0, fetch_k=20, include_embedding=True)
        check_same_results(found, store.search("query", top_k=7, include_embedding=True))
        one = store.search("query", top_k=1, diversity=1)
        check_same_results(one, store.search("query", top_k=1))

    def test_what_diverse_results_are_chosen_from(self, store: VectorStore) -> None:
        """The best ``fetch_k`` that match and reach the threshold; ``offset`` passes over chosen.

        Usually: the filter or the threshold is applied after documents were chosen.
        """
        store.add(self.documents(30))
        vectors = {self.id(f"doc-{n}"): vector_of(f"text of doc-{n}") for n in range(30)}
        query = vector_of("query")
        every = store.search("query", top_k=30, filter="n >= 4")
        for fetch_k in (5, 12):
            among = {one.id: vectors[one.id] for one in every[:fetch_k]}
            found = store.search("query", top_k=5, diversity=0.6, fetch_k=fetch_k, filter="n >= 4")
            check_diverse(found, self.metric, query, among, 0.6)
            paged = [
                one
                for offset in range(5)
                for one in store.search(
                    "query", top_k=1, offset=offset, diversity=0.6, fetch_k=fetch_k, filter="n >= 4"
                )
            ]
            check_same_results(paged, found)
        least = every[7].score
        assert least is not None
        found = store.search("query", top_k=6, diversity=1, threshold=least, filter="n >= 4")
        among = {one.id: vectors[one.id] for one in every[:8]}
        check_diverse(found, self.metric, query, among, 1.0)
        some = [one.id for one in every[3:11]]
        found = store.search("query", top_k=4, diversity=0.6, ids=some, exclude_ids=some[:2])
        check_diverse(found, self.metric, query, {id: vectors[id] for id in some[2:]}, 0.6)
        # By default of five times as many, and of 20 at least.
        found = store.search("query", top_k=2, diversity=1, filter="n >= 4")
        among = {one.id: vectors[one.id] for one in every[:20]}
        check_diverse(found, self.metric, query, among, 1.0)
        assert store.search("query", diversity=0.5, filter="n == -1") == []

    def test_diverse_searches_of_every_kind(self, store: VectorStore) -> None:
        """With vectors, as a request, and several at once: the same documents.

        Usually: ``_search_many`` of the store gives no vectors when it is asked for them.
        """
        store.add(self.documents(20))
        found = store.search("query", top_k=5, diversity=0.8, include_embedding=True)
        for document in found:
            assert document.embedding is not None
            right = vector_of(document.text)
            if not self.capabilities.keeps_norm:
                right = right / np.linalg.norm(right)
            assert np.allclose(document.embedding, right, rtol=1e-5, atol=1e-6)
        bare = [one.replace(embedding=None) for one in found]
        check_same_results(store.search("query", top_k=5, diversity=0.8), bare)
        request = SearchRequest("query", top_k=5, diversity=0.8)
        check_same_results(store.search(request), bare)
        plain = store.search("query", top_k=5)
        several = store.search_many([request, SearchRequest("query", top_k=5), request])
        for one, expected in zip(several, (bare, plain, bare), strict=True):
            check_same_results(one, expected)
        [alone] = store.search_many(["query"], top_k=5, diversity=0.8, include_embedding=True)
        assert all(one.embedding is not None for one in alone)
        check_same_results([one.replace(embedding=None) for one in alone], bare)

    def test_what_is_no_diversity_is_refused(self, store: VectorStore) -> None:
        """A ``search`` of the store's own reads its arguments more loosely than the base does."""
        anything: Any = store
        wrong: Any
        with self.no_call(store):
            for wrong in ("0.5", True, [0.5]):
                with pytest.raises(TypeError, match="diversity"):
                    anything.search("a", diversity=wrong)
            for wrong in (-0.1, 1.1, math.nan, math.inf):
                with pytest.raises(ValueError, match="diversity"):
                    anything.search("a", diversity=wrong)
            for wrong in ("20", True, 20.5):
                with pytest.raises(TypeError, match="fetch_k"):
                    anything.search("a", diversity=0.5, fetch_k=wrong)
            for options in (
                {"diversity": 0.5, "fetch_k": 3},
                {"diversity": 0.5, "fetch_k": -1},
                {"diversity": 0.5, "fetch_k": 6, "offset": 3},
                {"diversity": 0.5, "offset": 17},
                {"fetch_k": 20},
            ):
                with pytest.raises(ValueError, match="fetch_k"):
                    anything.search("a", **options)
            most = self.capabilities.max_top_k
            if most is not None:
                with pytest.raises(ValueError, match=r"max_top_k.*fetch_k"):
                    store.search("a", diversity=0.5, fetch_k=most + 1)

    def test_relevance_keeps_the_order(self, store: VectorStore) -> None:
        """A score as a number from 0 to 1, higher for a higher score.

        Usually: ``relevance`` of the store's own, or the scores of another metric than it says.
        """
        store.add(self.documents(12))
        scores = [one.score for one in store.search("query", top_k=12) if one.score is not None]
        relevant = [store.relevance(score) for score in scores]
        assert relevant == sorted(relevant, reverse=True)
        assert len(set(relevant)) == len(set(scores)) == 12
        assert all(0.0 <= one <= 1.0 for one in relevant)
        assert store.relevance(math.inf) == 1.0
        assert store.relevance(-math.inf) == 0.0
        with pytest.raises(ValueError, match="NaN"):
            store.relevance(math.nan)

    def test_embed_query_gives_what_a_search_uses(self, store: VectorStore) -> None:
        """The store's embedder is asked once, for a query, and its answer is checked.

        Usually: an ``embed_query`` of the store's own asks for a document's vector, or checks
        nothing.
        """
        store.add(self.documents(5))
        self.embedder.forget()
        vector = store.embed_query("text of doc-3")
        assert (self.embedder.batches, self.embedder.queries) == ([], ["text of doc-3"])
        assert vector.dtype == np.float32
        assert vector.tolist() == vector_of("text of doc-3").tolist()
        check_same_results(
            store.search(vector=vector, top_k=5), store.search("text of doc-3", top_k=5)
        )
        anything: Any = store
        with self.no_call(store):
            for wrong in (None, 5, ["text"]):
                with pytest.raises(TypeError, match="text"):
                    anything.embed_query(wrong)
            with pytest.raises(ValueError, match="blank"):
                store.embed_query(" ")
        bare = self.new_store()
        with self.no_call(bare), pytest.raises(ConfigurationError, match="embedder"):
            bare.embed_query("query")
        for spoil in (lambda right: [[math.nan] * DIMENSION], lambda right: [right[0][:-1]]):
            other = self.new_store(embedder=WrongEmbedder(spoil))
            refused = pytest.raises((EmbeddingError, DimensionMismatchError))
            with self.no_call(other), refused:
                other.embed_query("query")


def check_diverse(
    found: Sequence[Document],
    metric: Metric,
    query: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    diversity: float,
) -> None:
    """Fail unless each document has the highest value of those that were left.

    Args:
        found: The documents, in the order they were chosen.
        metric: How vectors are compared.
        query: What was searched for.
        vectors: What was to be chosen from, by id.
        diversity: Of the search.
    """
    __tracebackhide__ = True
    relevant = reference_scores(metric, query, vectors)
    assert ids_of(found) == list(dict.fromkeys(ids_of(found))), "a document was chosen twice"
    assert relevant.keys() >= set(ids_of(found)), "chosen, but not to be chosen from"
    for place, document in enumerate(found):
        earlier = found[:place]
        against = [reference_scores(metric, vectors[one.id], vectors) for one in earlier]
        left = vectors.keys() - set(ids_of(earlier))
        values = {
            id: (1 - diversity) * relevant[id] - diversity * max(one[id] for one in against)
            if against
            else relevant[id]
            for id in left
        }
        best = max(values, key=lambda id: values[id])
        slack = TOLERANCE * max(1.0, abs(values[best]))
        assert values[document.id] >= values[best] - slack, (
            f"place {place} holds {document.id!r} with {values[document.id]}, where {best!r} has "
            f"{values[best]}"
        )
