"""Mistakes with documents that have no vector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.store.conformance.broken.registry import caught_by
from vecstore import Batch, Document, SimpleVectorStore
from vecstore.authoring import Selection, stored_document
from vecstore.store.ranking import rank


def _bare(store: SimpleVectorStore, filter: Any) -> list[Document]:
    found = store._scan(filter, batch_size=100, include_embedding=True)
    return [one for one in found if one.embedding is None]


@caught_by("test_no_search_finds_them")
class TakesNoVectorForZeros(SimpleVectorStore):
    """As an engine does that fills a missing vector with zeros."""

    def _search(
        self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        options: dict[str, Any] = {"top_k": top_k, "include_embedding": include_embedding}
        found = list(super()._search(vector, filter=filter, **options))
        zeros = [
            stored_document(one.id, one.text, one.metadata, None, 0.0)
            for one in _bare(self, filter)
        ]
        return sorted([*found, *zeros], key=rank)[:top_k]


@caught_by("test_no_search_finds_them")
class CutsBeforeItLeavesThemOut(SimpleVectorStore):
    """As an engine does that puts nulls first."""

    def _search(
        self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        left = max(0, top_k - len(_bare(self, filter)))
        if not left:
            return []
        return super()._search(
            vector, top_k=left, filter=filter, include_embedding=include_embedding
        )


@caught_by("test_no_search_finds_them")
class FindsThemAmongIds(SimpleVectorStore):
    def _search_selected(self, vectors: Any, selection: Selection, **options: Any) -> Any:
        for found in super()._search_selected(vectors, selection, **options):
            held: Iterable[Document] = ()
            if selection.ids is not None:
                held = self._get(selection, limit=None, include_embedding=True)
            zeros = [
                stored_document(one.id, "", {}, None, 0.0) for one in held if one.embedding is None
            ]
            yield [*found, *zeros]


@caught_by("test_they_are_read_like_any_other")
class ReadsZeros(SimpleVectorStore):
    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        for one in super()._get(selection, **options):
            vector = one.embedding
            if vector is None and options["include_embedding"]:
                vector = np.zeros(8, np.float32)
            yield stored_document(one.id, one.text, one.metadata, vector)


@caught_by("test_they_are_read_like_any_other")
class JoinsDocumentsAndVectors(SimpleVectorStore):
    def _scan(self, *arguments: Any, **options: Any) -> Iterable[Document]:
        found = super()._scan(*arguments, **{**options, "include_embedding": True})
        return (one for one in found if one.embedding is not None)


@caught_by("test_a_vector_comes_and_goes_with_the_document")
class KeepsTheOldVector(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        if batch.vectorless and len(batch) == 1:
            wanted = Selection(ids=(batch.ids[0],))
            for held in self._get(wanted, limit=None, include_embedding=True):
                if held.embedding is not None:
                    batch = replace(batch, vectors=held.embedding[None])
        return super()._add(batch)


@caught_by("test_they_are_changed_and_deleted")
class GivesThemAVectorWhenTheyChange(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, **options: Any) -> int:
        count = super()._update_metadata(selection, **options)
        for one in _bare(self, None)[:1]:
            super()._add(
                Batch(
                    ids=[one.id],
                    texts=[one.text],
                    metadata=[one.metadata],
                    vectors=np.ones((1, 8), np.float32),
                )
            )
        return count


@caught_by("test_a_store_of_nothing_else")
@caught_by("test_without_a_vector_they_are_kept_or_refused_by_name")
class DeclaresWhatItDoesNotKeep(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return batch.ids if batch.vectorless else super()._add(batch)


@caught_by("test_conflicts_of_documents_without_a_vector")
class ReplacesWhateverHasNoVector(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, on_conflict="replace") if batch.vectorless else batch)
