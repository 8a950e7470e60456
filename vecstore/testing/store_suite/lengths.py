"""Very long and very short vectors: compared as float64 would, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vecstore.document import Document
from vecstore.errors import DocumentError, EmbeddingError
from vecstore.store.capabilities import METRICS, Metric, StoreCapabilities
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import DIMENSION, vector_of
from vecstore.testing.store_suite.ranking import TOLERANCE, reference_scores

_UNLIMITED = 1e30
_WITHIN, _PAST = 1.001, 10.0


class Lengths(StoreSuiteBase):
    """Tests of vectors at the ends of what float32 holds."""

    @pytest.mark.parametrize("metric", METRICS)
    def test_very_long_and_very_short_vectors(self, metric: Metric) -> None:
        """From the shortest that the store declares to the longest, all in one store.

        Usually: squares of float32 overflow or vanish: work in float64, or declare
        ``max_vector_length``. Where only the shortest or the longest fail, the engine rounds there:
        declare the range in which it compares exactly.
        """
        if metric not in self.capabilities.metrics:
            pytest.skip(f"the store does not compare by {metric}")
        store = self.new_store(metric=metric)
        vectors: dict[str, Any] = {}
        lengths = _tried(self.behind(store).capabilities)
        for length in lengths:
            for name in ("one", "another"):
                vectors[self.id(f"{name} of {length:g}")] = _scaled(name, length)
        mixed = vectors[self.id("mixed")] = _scaled("mixed", lengths[-1])
        mixed[::2] = 1e-38  # alone too small to be squared, and nothing beside the others
        store.add([Document("text", {}, id, vector) for id, vector in vectors.items()])
        for id, query in vectors.items():
            exact = reference_scores(metric, query, vectors)
            found = store.search(vector=query, top_k=len(vectors))
            assert len(found) == len(vectors)
            for document in found:
                scale = _scale(metric, query, vectors[document.id])
                right = exact[document.id]
                assert document.score is not None
                assert abs(document.score - right) <= TOLERANCE * scale, (
                    f"{metric} of {id!r} and {document.id!r}: the score is {document.score}, by "
                    f"numpy in float64 it is {right}"
                )
            if metric == "cosine":
                own = store.search(vector=query, top_k=len(vectors), threshold=1.0)
                assert id in {one.id for one in own}
        self.check_directions(store, vectors)

    def test_lengths_past_the_limit_are_refused(self) -> None:
        """On add, given or embedded, and as a query, before anything is written.

        Usually: a limit that depends on the metric is declared on the class, not on the instance.
        ``min_vector_length`` and ``max_vector_length`` are looked at by the base: on add, and of a
        query.
        """
        for metric in sorted(self.capabilities.metrics):
            declared = self.new_store(metric=metric).capabilities
            limits: list[tuple[str, float]] = []
            if declared.max_vector_length is not None:
                limits.append(("max_vector_length", declared.max_vector_length * _PAST))
            if declared.min_vector_length is not None:
                limits.append(("min_vector_length", declared.min_vector_length / _PAST))
            for name, length in limits:
                past = _scaled("past", length)
                store = self.new_store(metric=metric, embedder=_always(past))
                fine = self.document("fine", embedding=vector_of("fine"))
                with self.no_call(store):
                    with pytest.raises(DocumentError, match=name) as caught:
                        store.add([fine, self.document("past", embedding=past)])
                    assert caught.value.document_id == self.id("past")
                    if metric != "cosine":
                        with pytest.raises(ValueError, match=name):
                            store.search(vector=past)
                        with pytest.raises(EmbeddingError, match=name):
                            store.search("a text")
                with pytest.raises(EmbeddingError, match=name):
                    store.add([self.document("embedded")])
                assert store.count() == 0
                if metric == "cosine":  # of a query only the direction counts
                    store.add([self.document("within", embedding=_scaled("past", 1.0))])
                    (found,) = store.search(vector=past, threshold=1.0)
                    assert found.id == self.id("within")

    def check_directions(self, store: Any, vectors: dict[str, Any]) -> None:
        """Fail unless each vector came back, in its length where that is kept."""
        __tracebackhide__ = True
        for document in store.get(list(vectors), include_embedding=True):
            right = np.asarray(vectors[document.id], np.float64)
            got = np.asarray(document.embedding, np.float64)
            if not self.capabilities.keeps_norm:
                right, got = right / np.linalg.norm(right), got / np.linalg.norm(got)
            size = float(np.abs(right).max())
            assert np.abs(got - right).max() <= 1e-5 * size, f"{document.id!r}: another vector"


def _tried(declared: StoreCapabilities) -> list[float]:
    low, high = declared.min_vector_length, declared.max_vector_length
    shortest = 1 / _UNLIMITED if low is None else low * _WITHIN
    longest = _UNLIMITED if high is None else high / _WITHIN
    between = [length for length in (1e-6, 1.0, 1e6) if shortest < length < longest]
    return [shortest, *between, longest]


def _always(vector: Any) -> Callable[[list[str]], Any]:
    return lambda texts: [vector.tolist() for _ in texts]


def _scaled(name: str, length: float) -> Any:
    vector = np.asarray(vector_of(name, DIMENSION), np.float64)
    return (length / np.linalg.norm(vector) * vector).astype(np.float32)


def _scale(metric: Metric, one: Any, other: Any) -> float:
    """What the rounding of a score is in proportion to."""
    lengths = [float(np.linalg.norm(np.asarray(v, np.float64))) for v in (one, other)]
    if metric == "cosine":
        return 1.0
    return lengths[0] * lengths[1] if metric == "dot" else lengths[0] + lengths[1]
