"""Mistakes in adding: ids, conflicts, metadata, texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.store.conformance.broken.registry import Inside, caught_by
from tests.store.conformance.limited import FLAT, check_flat
from vecstore import (
    Batch,
    DimensionMismatchError,
    Document,
    DuplicateDocumentError,
    ScopeError,
    Selection,
    SimpleVectorStore,
    SkippedDocumentsWarning,
)
from vecstore.document import stored_document


def _with_metadata(batch: Batch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Batch:
    return replace(batch, metadata=[change(metadata) for metadata in batch.metadata])


# --- add --------------------------------------------------------------------------------------


@caught_by("test_ids_stay_with_their_documents_across_batches")
class ReturnsIdsSorted(SimpleVectorStore):
    def add(self, *arguments: Any, **options: Any) -> list[str]:
        return sorted(super().add(*arguments, **options))


@caught_by("test_ids_stay_with_their_documents_across_batches")
class ShiftsTextsAfterTheFirstBatch(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        if self.count():
            batch = replace(batch, texts=[*batch.texts[1:], batch.texts[0]])
        return super()._add(batch)


@caught_by("test_replace_changes_the_whole_document")
class ReplaceMergesMetadata(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        old = {one.id: one.metadata for one in self.get(batch.ids)}
        merged = [
            {**old.get(id, {}), **new} for id, new in zip(batch.ids, batch.metadata, strict=True)
        ]
        return super()._add(replace(batch, metadata=merged))


@caught_by("test_skip_leaves_what_is_there")
class SkipOverwrites(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        mode: Any = "replace" if batch.on_conflict == "skip" else batch.on_conflict
        return super()._add(replace(batch, on_conflict=mode))


@caught_by("test_what_others_wrote_in_between_is_decided_by_the_engine")
class ErrorWritesTheFreeOnes(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        if batch.on_conflict == "error":
            known = {one.id for one in self.get(batch.ids)}
            super()._add(replace(batch, on_conflict="skip"))
            if known:
                raise DuplicateDocumentError("taken", ids=sorted(known))
            return batch.ids
        return super()._add(batch)


@caught_by("test_one_id_twice_in_a_call[list-replace]")
class FirstOfTwoWins(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        given = list(documents)
        first = {one.id: one for one in reversed(given)}
        super().add(list(first.values()), **options)
        return [one.id for one in given]


@caught_by("test_one_id_twice_in_a_call[list-skip]")
class LastOfTwoWins(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        given = list(documents)
        super().add(list({one.id: one for one in given}.values()), **options)
        return [one.id for one in given]


@caught_by("test_one_id_twice_in_a_call[iterator-error]")
class ForgetsTheWindowsBefore(SimpleVectorStore):
    def add(self, documents: Any, *, on_conflict: Any = "replace", **options: Any) -> list[str]:
        if on_conflict == "error" and isinstance(documents, Iterator):
            on_conflict = "replace"
        return super().add(documents, on_conflict=on_conflict, **options)


@caught_by("test_skip_embeds_only_what_is_free")
class SeesNothingBeforeItWrites(SimpleVectorStore):
    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        return set()


@caught_by("test_error_is_raised_before_anything_is_embedded_or_written")
class LooksOnlyWhenItWrites(SeesNothingBeforeItWrites):
    pass


@caught_by("test_skip_leaves_what_is_there")
class TakesEveryIdForStored(SimpleVectorStore):
    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        return set(ids)


@caught_by("test_what_others_wrote_in_between_is_decided_by_the_engine")
class TrustsItsFirstLook(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, on_conflict="replace"))


@caught_by("test_what_callers_hold_is_not_what_is_stored")
class SharesMetadata(SimpleVectorStore):
    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        for one in super()._get(selection, **options):
            yield stored_document(one.id, one.text, one._metadata, one.embedding)


@caught_by("test_what_another_store_has_read_is_checked")
class TrustsWhatWasRead(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        given = list(documents)
        for one in given:
            object.__setattr__(one, "_state", 0)
        return super().add(given, **options)


@caught_by("test_given_embeddings_are_taken_as_they_are")
class EmbedsAgain(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        embedder: Any = self.embedder
        if embedder is not None:
            vectors = np.array(embedder.embed_documents(batch.texts), np.float32)
            batch = replace(batch, vectors=vectors)
        return super()._add(batch)


@caught_by("test_everything_is_checked_before_the_first_write")
class ChecksOneByOne(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        return [id for one in documents for id in super(ChecksOneByOne, self).add([one], **options)]


@caught_by("test_a_backend_that_fails_half_way")
class ForgetsWhatWasStored(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        try:
            return super().add(documents, **options)
        except Exception as error:
            error.stored_ids = []  # type: ignore[attr-defined]
            raise


@caught_by("test_nothing_of_a_wrong_answer_is_stored[one too few]")
class StoresWhatCame(Inside):
    def _embed_documents(self, documents: Sequence[Any], dimension: int | None) -> Any:
        embedder: Any = self.embedder
        vectors = embedder.embed_documents([one.text for one in documents])
        missing = len(documents) - len(vectors)
        return np.array([*vectors, *vectors[:1] * missing], np.float32)


@caught_by("test_nothing_of_a_wrong_answer_is_stored[it fails]")
class QuotesTheProvider(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        try:
            return super().add(documents, **options)
        except Exception as error:
            error.args = (f"{error}: {error.__cause__}",)
            raise


# --- documents that cannot be stored ----------------------------------------------------------


@caught_by("test_all_that_cannot_be_stored_are_named_at_once[list]")
class NamesOnlyTheFirst(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        try:
            return super().add(documents, **options)
        except Exception as error:
            error.faulty_ids = error.faulty_ids[:1]  # type: ignore[attr-defined]
            raise


@caught_by("test_skip_stores_the_others_and_tells[list]")
class SkipsInSilence(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().add(documents, **options)


@caught_by("test_where_warnings_are_errors_skipping_ends_with_one_of_the_library")
class LetsItsWarningOut(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        try:
            return super().add(documents, **options)
        except DimensionMismatchError as error:
            raise SkippedDocumentsWarning(str(error)) from None


@caught_by("test_blank_texts_that_the_embedder_cannot_take[NaN]")
class EmbedsInTheOrderGiven(SimpleVectorStore):
    def add(self, documents: Any, **options: Any) -> list[str]:
        given = list(documents)
        added: list[str] = []
        for start in range(0, len(given), 4):
            added += super().add(given[start : start + 4], **options)
        return added


@caught_by("test_a_vector_that_is_none_leaves_its_document_out")
class LeavesTheBatchOut(Inside):
    def _embed_documents(self, documents: Sequence[Any], dimension: int | None) -> Any:
        vectors = super()._embed_documents(documents, dimension)
        if not np.isfinite(vectors).all():
            vectors[:] = np.nan
        return vectors


@caught_by("test_skipping_does_not_pass_over_the_scope")
class SkipsWhatBelongsToOthers(SimpleVectorStore):
    def scoped(self, scope: Any) -> Any:
        view = super().scoped(scope)
        inner = view.add

        def add(documents: Any, **options: Any) -> list[str]:
            try:
                return inner(documents, **options)
            except ScopeError:
                return []

        view.add = add  # type: ignore[method-assign,assignment]
        return view


@caught_by("test_a_blank_query_is_refused[a space]")
class FindsNothingForABlankQuery(SimpleVectorStore):
    def search(self, query: Any = None, **options: Any) -> list[Document]:
        if isinstance(query, str) and not query.strip():
            return []
        return super().search(query, **options)


# --- metadata, texts, ids ---------------------------------------------------------------------


@caught_by("test_null_and_empty_list_come_back_as_declared")
class DropsNulls(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(
            _with_metadata(batch, lambda old: {k: v for k, v in old.items() if v is not None})
        )


@caught_by("test_every_value_comes_back_with_its_type")
class TurnsIntegersIntoFloats(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def floats(old: dict[str, Any]) -> dict[str, Any]:
            return {k: float(v) if type(v) is int and abs(v) < 2**53 else v for k, v in old.items()}

        return super()._add(_with_metadata(batch, floats))


@caught_by("test_every_value_comes_back_with_its_type")
class TurnsBoolsIntoIntegers(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def integers(old: dict[str, Any]) -> dict[str, Any]:
            return {k: int(v) if type(v) is bool else v for k, v in old.items()}

        return super()._add(_with_metadata(batch, integers))


@caught_by("test_odd_keys_come_back")
class ReadsDotsAsPaths(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def nested(old: dict[str, Any]) -> dict[str, Any]:
            new: dict[str, Any] = {}
            for key, value in old.items():
                first, _, rest = key.partition(".")
                new[first if first and rest else key] = {rest: value} if first and rest else value
            return new

        return super()._add(_with_metadata(batch, nested))


@caught_by("test_names_that_stores_use_themselves")
class KeepsItsTextInMetadata(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(
            _with_metadata(batch, lambda old: {k: v for k, v in old.items() if k != "text"})
        )


@caught_by("test_odd_keys_come_back", domain=FLAT)
class RefusesTooLate(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        for id, metadata in zip(batch.ids, batch.metadata, strict=True):
            check_flat(metadata, id)
        return super()._add(batch)


@caught_by("test_max_text_bytes")
class CutsTexts(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, texts=[text[:65_535] for text in batch.texts]))


@caught_by("test_each_is_its_own")
class FoldsCaseOfIds(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, ids=[id.lower() for id in batch.ids]))


@caught_by("test_unknown_ids_are_unknown")
class ReadsIdsAsNumbers(SimpleVectorStore):
    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        yield from super()._get(selection, **options)
        for id in selection.ids or ():
            if id.strip() == "1":
                yield stored_document(id, "not asked for", {})


# --- embed_as -----------------------------------------------------------------------------------


@caught_by("test_what_is_embedded_is_not_what_is_stored")
class StoresWhatIsEmbedded(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        if self.embed_as is None:
            return super()._add(batch)
        documents = map(Document, batch.texts, batch.metadata, batch.ids)
        return super()._add(replace(batch, texts=[self.embed_as(one) for one in documents]))


@caught_by("test_what_is_embedded_is_not_what_is_stored")
@caught_by("test_batches_are_cut_by_what_is_embedded")
class TakesNoNotice(SimpleVectorStore):
    embed_as = None


@caught_by("test_what_is_no_function_is_refused")
class KeepsItFromTheBase(SimpleVectorStore):
    def __init__(self, *arguments: Any, embed_as: Any = None, **options: Any) -> None:
        super().__init__(*arguments, **options)


@caught_by("test_embed_as_sees_what_is_stored")
class AsksWithWhatItStores(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        if self.embed_as is not None:
            for id, text, metadata in zip(batch.ids, batch.texts, batch.metadata, strict=True):
                self.embed_as(stored_document(id, text, metadata))
        return super()._add(batch)


@caught_by("test_nothing_is_stored_where_embed_as_fails[it fails]")
class EmbedsWhileItChecks(SimpleVectorStore):
    def _check_documents(self, documents: Sequence[Any]) -> None:
        self.embedder.embed_documents([one.text for one in documents])  # type: ignore[union-attr]
