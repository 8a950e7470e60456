"""Mistakes in what evaluates the part of a filter that an engine cannot answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.store.conformance.broken.registry import Inside, caught_by
from vecstore import Document, Selection, SimpleVectorStore


@caught_by("test_what_is_evaluated_selects_the_same")
class CountsTextsForNumbers(SimpleVectorStore):
    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for id, metadata in super()._scan_metadata(filter, batch_size=batch_size):
            yield id, {key: str(value) for key, value in metadata.items()}


@caught_by("test_a_search_goes_on_until_enough_match")
class FindsNoMoreThanForty(SimpleVectorStore):
    def _search(self, vector: Any, *, top_k: int, **options: Any) -> Iterable[Document]:
        return super()._search(vector, top_k=min(top_k, 40), **options)


@caught_by("test_what_is_deleted_and_changed_by_evaluating")
class DeletesWithoutJudging(SimpleVectorStore):
    def _delete_judged(self, selection: Selection, judge: Any) -> int:
        return self._delete(selection)


@caught_by("test_what_is_deleted_and_changed_by_evaluating")
class TellsWithoutJudging(SimpleVectorStore):
    def _delete_ids(self, selection: Selection, judge: Any = None) -> list[str]:
        return super()._delete_ids(selection)


@caught_by("test_what_is_deleted_and_changed_by_evaluating")
class ChangesWithoutJudging(SimpleVectorStore):
    def _update_judged(self, selection: Selection, judge: Any, **options: Any) -> int:
        return self._update_metadata(selection, **options)


@caught_by("test_by_itself_a_filter_is_refused")
class EvaluatesUnasked(SimpleVectorStore):
    def count(self, filter: Any = None, **options: Any) -> int:
        return super().count(filter, **{"residual": "evaluate", **options})


@caught_by("test_how_many_documents_are_looked_at")
class KnowsNoLimit(SimpleVectorStore):
    def count(self, filter: Any = None, **options: Any) -> int:
        options.pop("residual_limit", None)
        return super().count(filter, **options)


@caught_by("test_a_scope_goes_to_the_engine_as_it_is")
class ScansEveryTenant(SimpleVectorStore):
    def _scan(self, filter: Any, **options: Any) -> Iterable[Document]:
        return super()._scan(None, **options)


@caught_by("test_evaluating_is_told_once")
class TellsNobody(SimpleVectorStore):
    def count(self, filter: Any = None, **options: Any) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().count(filter, **options)


@caught_by("test_explain_says_who_answers_what")
class CountsEverything(Inside):
    def _count(self, filter: Any) -> int:
        return super()._count(None)
