"""Mistakes in searching and filtering."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.store.conformance.broken.registry import Inside, caught_by
from vecstore import Batch, Document, Expression, Op, SimpleVectorStore
from vecstore.authoring import Selection

# --- search -----------------------------------------------------------------------------------


@caught_by("test_top_k")
class OneTooFew(SimpleVectorStore):
    def _search(self, vector: Any, *, top_k: int, **options: Any) -> Iterable[Document]:
        return super()._search(vector, top_k=max(1, top_k - 1), **options)


@caught_by("test_a_search_among_ids")
class CutsBeforeItChooses(SimpleVectorStore):
    def _search_selected(
        self, vectors: Any, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        for vector in vectors:
            found = self._search(
                vector, top_k=top_k, filter=selection.filter, include_embedding=include_embedding
            )
            yield [
                one
                for one in found
                if one.id not in selection.excluded
                and (selection.ids is None or one.id in selection.ids)
            ]


@caught_by("test_a_search_besides_ids")
class LeavesOutOfWhatItFound(CutsBeforeItChooses):
    pass


@caught_by("test_several_searches_among_ids")
class AnswersTheFirstForAll(SimpleVectorStore):
    def _search_selected(self, vectors: Any, *rest: Any, **options: Any) -> Any:
        [first] = super()._search_selected(vectors[:1], *rest, **options)
        return [first for _ in vectors]


@caught_by("test_many_ids")
class TakesThousandIds(SimpleVectorStore):
    def _search_selected(self, vectors: Any, selection: Selection, **options: Any) -> Any:
        few = None if selection.ids is None else selection.ids[:1_000]
        selection = replace(selection, ids=few, excluded=selection.excluded[:1_000])
        return super()._search_selected(vectors, selection, **options)


@caught_by("test_each_can_be_looked_among")
class TrimsIdsItLooksAmong(SimpleVectorStore):
    def _search_selected(self, vectors: Any, selection: Selection, **options: Any) -> Any:
        if selection.ids is not None:
            trimmed = dict.fromkeys(one.strip() for one in selection.ids)
            selection = replace(selection, ids=tuple(trimmed))
        return super()._search_selected(vectors, selection, **options)


@caught_by("test_ids_outside_a_scope_are_unknown")
class ChoosesByIdsAlone(SimpleVectorStore):
    def _search_selected(self, vectors: Any, selection: Selection, **options: Any) -> Any:
        if selection.ids is not None:
            selection = replace(selection, filter=None)
        return super()._search_selected(vectors, selection, **options)


@caught_by("test_no_ids_find_nothing")
class TakesNoIdsForAll(SimpleVectorStore):
    def search(self, *arguments: Any, ids: Any = None, **options: Any) -> list[Document]:
        ids = None if ids is None else [*ids]
        return super().search(*arguments, ids=ids or None, **options)


@caught_by("test_ids_that_are_none")
class TakesAnythingForIds(SimpleVectorStore):
    def search(self, *arguments: Any, ids: Any = None, **options: Any) -> list[Document]:
        ids = None if ids is None else [str(ids)]
        return super().search(*arguments, ids=ids, **options)


@caught_by("test_known_scores[cosine]")
class ScoresFromNoughtToOne(SimpleVectorStore):
    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        found = super()._search(vector, **options)
        return [one.replace(score=(1 + (one.score or 0)) / 2) for one in found]


@caught_by("test_known_scores[euclidean]")
class SquaresDistances(SimpleVectorStore):
    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        found = list(super()._search(vector, **options))
        if self.metric != "euclidean":
            return found
        return [one.replace(score=-((one.score or 0.0) ** 2)) for one in found]


@caught_by("test_scores_and_order[cosine]")
class RoundsScores(SimpleVectorStore):
    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        found = super()._search(vector, **options)
        return [one.replace(score=round(one.score or 0.0, 2)) for one in found]


@caught_by("test_equal_scores_are_ordered_by_id")
class TiesInOrderOfArrival(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        arrival = {one.id: place for place, one in enumerate(self.scan())}
        found = super().search(*arguments, **options)
        return sorted(found, key=lambda one: (-(one.score or 0.0), arrival[one.id]))


@caught_by("test_threshold")
class ForgetsTheThreshold(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        options.pop("threshold", None)
        return super().search(*arguments, **options)


@caught_by("test_threshold_is_inclusive")
class ThresholdIsExclusive(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        threshold = options.get("threshold")
        found = super().search(*arguments, **options)
        return [one for one in found if threshold is None or (one.score or 0.0) > threshold]


@caught_by("test_very_long_and_very_short_vectors[cosine]")
class MultipliesInFloat32(SimpleVectorStore):
    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        for one in super()._search(vector, **{**options, "include_embedding": True}):
            row = np.asarray(one.embedding)
            if self.metric != "cosine":
                yield one
                continue
            with np.errstate(all="ignore"):
                score = (row @ vector) / np.sqrt((row @ row) * (vector @ vector))
            yield one.replace(score=float(np.nan_to_num(score)))


@caught_by("test_lengths_past_the_limit_are_refused")
class TakesWhatItDoesNotDeclare(Inside):
    capabilities = replace(SimpleVectorStore.capabilities, max_vector_length=1e18)

    def _check_query(self, vector: Any, error: type[Exception]) -> None:
        return


@caught_by("test_pages_follow_each_other")
class CutsBeforeItPasses(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        offset = options.pop("offset", 0)
        return super().search(*arguments, **options)[offset:]


@caught_by("test_pages_of_equal_scores")
class CutsTiesAsTheyCame(SimpleVectorStore):
    def _search(self, vector: Any, *, top_k: int, **options: Any) -> Iterable[Document]:
        found = list(super()._search(vector, top_k=10_000, **options))
        arrival = {one.id: place for place, one in enumerate(self.scan())}
        found.sort(key=lambda one: (-(one.score or 0.0), arrival[one.id]))
        return found[:top_k]


@caught_by("test_a_vector_reaches_its_own_score")
class ThresholdWithoutSlack(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        threshold = options.get("threshold")
        found = super().search(*arguments, **options)
        return [one for one in found if threshold is None or (one.score or 0.0) >= threshold]


@caught_by("test_cosines_end_at_one")
class CosinesPastOne(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        found = super().search(*arguments, **options)
        return [one.replace(score=1.0000001 * (one.score or 0.0)) for one in found]


@caught_by("test_no_threshold_hides_nothing")
class NoughtByDefault(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        return super().search(*arguments, **{"threshold": 0.0, **options})


@caught_by("test_embeddings_come_on_request")
class AlwaysShowsVectors(SimpleVectorStore):
    def _search(self, vector: Any, *, include_embedding: bool, **options: Any) -> Any:
        return super()._search(vector, include_embedding=True, **options)


@caught_by("test_keeps_norm")
class NormalisesInSilence(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        lengths = np.linalg.norm(batch.vectors, axis=1, keepdims=True)
        return super()._add(replace(batch, vectors=batch.vectors / lengths))


@caught_by("test_what_is_no_search_is_refused")
class SwallowsKeywords(SimpleVectorStore):
    def search(self, query: Any = None, **options: Any) -> list[Document]:
        known = ("vector", "top_k", "offset", "threshold", "filter", "include_embedding")
        return super().search(query, **{k: v for k, v in options.items() if k in known})


# --- what integrations need -------------------------------------------------------------------


@caught_by("test_diverse_results[cosine]")
class TakesTheNearestForDiverse(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        options.pop("diversity", None)
        options.pop("fetch_k", None)
        return super().search(*arguments, **options)


@caught_by("test_no_diversity_is_a_search")
class TakesNoughtForAWish(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        if options.get("diversity") == 0:
            options["diversity"] = 0.5
        return super().search(*arguments, **options)


@caught_by("test_what_diverse_results_are_chosen_from")
class PassesOverTheBestBeforeItChooses(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        offset = options.pop("offset", 0) if "diversity" in options else 0
        best = super().search(*arguments, **{**options, "top_k": 1 + offset, "diversity": 0})
        rest = super().search(*arguments, **options)
        return best[offset:] if offset else rest


@caught_by("test_diverse_searches_of_every_kind")
class ManyWithoutVectors(SimpleVectorStore):
    def _search_many(self, vectors: Any, *, include_embedding: bool, **options: Any) -> Any:
        return super()._search_many(vectors, include_embedding=False, **options)


@caught_by("test_what_is_no_diversity_is_refused")
class AnyNumberIsADiversity(SimpleVectorStore):
    def search(self, *arguments: Any, **options: Any) -> list[Document]:
        if isinstance(options.get("diversity"), float):
            options["diversity"] = min(1.0, max(0.0, options["diversity"]))
        return super().search(*arguments, **options)


@caught_by("test_relevance_keeps_the_order")
class ScoresForRelevance(SimpleVectorStore):
    def relevance(self, score: float) -> float:
        return max(0.0, score)


@caught_by("test_embed_query_gives_what_a_search_uses")
class EmbedsQueriesAsDocuments(SimpleVectorStore):
    def embed_query(self, text: str) -> Any:
        anything: Any = self.embedder
        return anything.embed_documents([text])[0]


# --- filters ----------------------------------------------------------------------------------


class _Wrong:
    """A filter that decides some documents wrongly."""

    def __init__(self, filter: Expression, wrong: Callable[[Expression, Any], bool | None]) -> None:
        self._filter, self._wrong = filter, wrong

    def matcher(self) -> Callable[[Any], bool]:
        def matches(metadata: Any) -> bool:
            verdict = self._wrong(self._filter, metadata)
            return self._filter.matches(metadata) if verdict is None else verdict

        return matches


@caught_by("test_every_operator")
class NotEqualWantsTheKey(SimpleVectorStore):
    def _compile_filter(self, filter: Expression) -> Any:
        def wrong(filter: Expression, metadata: Any) -> bool | None:
            return False if filter.op is Op.NE and filter.key.path[0] not in metadata else None

        return _Wrong(filter, wrong)


@caught_by("test_every_operator")
class TrueIsOne(SimpleVectorStore):
    def _compile_filter(self, filter: Expression) -> Any:
        def wrong(filter: Expression, metadata: Any) -> bool | None:
            if filter.op is Op.EQ and filter.value.items == (1,):
                return True if metadata.get(filter.key.path[0]) is True else None
            return None

        return _Wrong(filter, wrong)


@caught_by("test_the_nearest_among_those_that_match")
class FiltersTheTop(SimpleVectorStore):
    def _search(self, vector: Any, *, top_k: int, filter: Any, **options: Any) -> Any:
        found = super()._search(vector, top_k=top_k, filter=None, **options)
        return [one for one in found if filter is None or filter.matches(one.metadata)]


@caught_by("test_count")
class CountsEverything(SimpleVectorStore):
    def _count(self, filter: Any) -> int:
        return super()._count(None)


@caught_by("test_a_filter_in_any_form")
class FiltersAreTextOnly(SimpleVectorStore):
    def get(self, *arguments: Any, filter: Any = None, **options: Any) -> list[Document]:
        return super().get(
            *arguments, filter=filter if isinstance(filter, str) else None, **options
        )


@caught_by("test_what_the_dialect_does_not_answer_is_refused_before_any_call", dialect="qdrant")
class AnswersWhatItCannot(SimpleVectorStore):
    pass


@caught_by("test_a_refusal_comes_before_embedding")
class EmbedsBeforeItCompiles(SimpleVectorStore):
    def search(self, query: Any = None, **options: Any) -> list[Document]:
        if isinstance(query, str):
            return super().search(vector=self._embed_queries([query])[0], **options)
        return super().search(query, **options)
