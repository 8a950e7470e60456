"""Mistakes in reading, deleting and updating, in limits and among threads."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.store.conformance.broken.registry import Inside, caught_by
from vecstore import (
    BackendError,
    Batch,
    Document,
    DuplicateDocumentError,
    Selection,
    SimpleVectorStore,
    StoreCapabilities,
)
from vecstore.simple.table import Table

# --- get, scan, delete, update_metadata -------------------------------------------------------


@caught_by("test_get_keeps_the_order_asked_for")
class GetsInItsOwnOrder(SimpleVectorStore):
    def get(self, *arguments: Any, **options: Any) -> list[Document]:
        return sorted(super().get(*arguments, **options), key=lambda one: one.id)


@caught_by("test_a_document_asked_for_twice_is_two_objects")
class GivesOneObjectTwice(SimpleVectorStore):
    def get(self, *arguments: Any, **options: Any) -> list[Document]:
        found = super().get(*arguments, **options)
        by_id = {one.id: one for one in found}
        return [by_id[one.id] for one in found]


@caught_by("test_get_never_embeds")
class EmbedsToGet(SimpleVectorStore):
    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        if self.embedder is not None:
            self._embed_queries(["anything"])
        return super()._get(selection, **options)


@caught_by("test_clear_keeps_the_dimension")
class ClearForgetsTheDimension(SimpleVectorStore):
    def _clear(self) -> None:
        self._table = Table(self.metric, self._dimension)


@caught_by("test_scan_while_others_write")
class ScansByOffset(SimpleVectorStore):
    def _scan(self, filter: Any, *, batch_size: int, **options: Any) -> Iterator[Document]:
        start = 0
        while page := list(super()._scan(filter, batch_size=batch_size, **options))[start:][
            :batch_size
        ]:
            yield from page
            start += batch_size


@caught_by("test_scan_without_texts")
class ScansTextsAllTheSame(SimpleVectorStore):
    def _scan_textless(self, filter: Any, **options: Any) -> Iterable[Document]:
        return self._scan(filter, **options)


@caught_by("test_scan_without_texts")
class ScansNoVectorsWithoutTexts(SimpleVectorStore):
    def _scan_textless(
        self, filter: Any, *, include_embedding: bool, **options: Any
    ) -> Iterable[Document]:
        return super()._scan_textless(filter, include_embedding=False, **options)


@caught_by("test_scan_without_texts")
class ScansAllWithoutTexts(SimpleVectorStore):
    def _scan_textless(self, filter: Any, **options: Any) -> Iterable[Document]:
        return super()._scan_textless(None, **options)


@caught_by("test_scan_may_be_left_early")
class LocksWhileItScans(SimpleVectorStore):
    def _scan(self, filter: Any, **options: Any) -> Iterator[Document]:
        if not self._table.lock.acquire(timeout=0.2):
            raise BackendError("locked", operation="scan")
        try:
            yield from list(super()._scan(filter, **options))
        finally:
            self._table.lock.release()

    def _add(self, batch: Batch) -> Iterable[str]:
        if not self._table.lock.acquire(timeout=0.2):
            raise BackendError("locked", operation="add")
        try:
            return super()._add(batch)
        finally:
            self._table.lock.release()


@caught_by("test_ten_thousand_documents")
class ReadsOnePage(SimpleVectorStore):
    def _scan(self, filter: Any, **options: Any) -> Iterable[Document]:
        return list(super()._scan(filter, **options))[:1_000]


@caught_by("test_ten_thousand_documents")
class DeletesOnePage(SimpleVectorStore):
    def _delete_filtered(self, filter: Any) -> int:
        ids = [one.id for one in self.get(filter=filter, limit=1_000)]
        return self._delete(Selection(ids=tuple(ids)))


@caught_by("test_deleting_one_leaves_the_others")
class DeletesByPrefix(SimpleVectorStore):
    def _delete(self, selection: Selection) -> int:
        ids = [one.id for one in self.scan() if one.id.startswith(selection.ids or ())]
        return super()._delete(replace(selection, ids=tuple(ids)))


@caught_by("test_delete_by_ids")
class CountsIdsNotDocuments(SimpleVectorStore):
    def _delete(self, selection: Selection) -> int:
        super()._delete(selection)
        return len(selection.ids or ())


@caught_by("test_delete_by_filter_and_by_both")
class DeletesWithoutTheFilter(SimpleVectorStore):
    def _delete(self, selection: Selection) -> int:
        return super()._delete(replace(selection, filter=None))


@caught_by("test_deleting_everything_is_refused")
class DeletesEverything(SimpleVectorStore):
    def delete(self, ids: Any = None, *, filter: Any = None) -> int:
        if ids is None and not filter:
            count = self.count()
            self.clear()
            return count
        return super().delete(ids, filter=filter)


@caught_by("test_delete_nothing")
class NoIdsAreAllIds(SimpleVectorStore):
    def delete(self, ids: Any = None, *, filter: Any = None) -> int:
        if ids is not None and not list(ids):
            self.clear()
            return 0
        return super().delete(ids, filter=filter)


@caught_by("test_clear")
class ClearsAllButOne(SimpleVectorStore):
    def _clear(self) -> None:
        kept = self.get(limit=1, include_embedding=True)
        super()._clear()
        if kept:
            self.add(kept)


@caught_by("test_set_and_unset")
class UpdateReplacesAll(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, *, set: Any, unset: Any) -> int:
        names = {name for one in self.get(selection.ids) for name in one.metadata}
        return super()._update_metadata(selection, set=set, unset=tuple(names - {*set}))


@caught_by("test_set_and_unset")
class UpdateNeverUnsets(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, *, set: Any, unset: Any) -> int:
        return super()._update_metadata(selection, set=set, unset=())


@caught_by("test_a_name_is_a_name_at_the_top_and_an_object_is_replaced_whole")
class UpdateMergesObjects(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, *, set: Any, unset: Any) -> int:
        count = 0
        for one in list(self.get(selection.ids, filter=selection.filter)):
            new = {
                name: {**one.metadata[name], **value}
                if isinstance(value, dict) and isinstance(one.metadata.get(name), dict)
                else value
                for name, value in set.items()
            }
            count += super()._update_metadata(Selection(ids=(one.id,)), set=new, unset=unset)
        return count


@caught_by("test_texts_and_vectors_stay")
class UpdateEmbedsAgain(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, *, set: Any, unset: Any) -> int:
        count = super()._update_metadata(selection, set=set, unset=unset)
        embedder: Any = self.embedder
        changed = self.get(selection.ids, filter=selection.filter)
        vectors = embedder.embed_documents([one.text for one in changed])
        self.add([one.replace(embedding=v) for one, v in zip(changed, vectors, strict=True)])
        return count


# --- limits, life, threads --------------------------------------------------------------------


@caught_by("test_filtered_count")
class CountsByReading(SimpleVectorStore):
    def _count(self, filter: Any) -> int:
        return len(list(self._scan(filter, batch_size=100, include_embedding=False)))


@caught_by("test_max_batch")
class SendsTooMuch(Inside):
    capabilities = StoreCapabilities(max_batch=10)

    def _parts(self, ids: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield ids


@caught_by("test_max_dimension")
class RefusesWhatItDeclares(SimpleVectorStore):
    capabilities = StoreCapabilities(max_dimension=2_000)

    def _add(self, batch: Batch) -> Iterable[str]:
        assert batch.vectors.shape[1] < 2_000
        return super()._add(batch)


@caught_by("test_integers")
class HoldsIntegersAsFloats(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def rounded(old: dict[str, Any]) -> dict[str, Any]:
            return {k: int(float(v)) if type(v) is int else v for k, v in old.items()}

        return super()._add(replace(batch, metadata=[rounded(old) for old in batch.metadata]))


@caught_by("test_max_id_bytes")
class CutsIds(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, ids=[id[:1_024] for id in batch.ids]))


@caught_by("test_max_top_k")
class FindsLessThanDeclared(SimpleVectorStore):
    capabilities = StoreCapabilities(max_top_k=100)

    def _search(self, vector: Any, *, top_k: int, **options: Any) -> Iterable[Document]:
        return [] if top_k > 99 else super()._search(vector, top_k=top_k, **options)


@caught_by("test_max_cost")
class HasNoBudgetForLists(SimpleVectorStore):
    capabilities = StoreCapabilities(max_cost=20)


@caught_by("test_max_metadata_bytes")
class CountsMetadataWrongly(SimpleVectorStore):
    capabilities = StoreCapabilities(max_metadata_bytes=2_000)

    def _add(self, batch: Batch) -> Iterable[str]:
        if any(len(str(metadata)) > 2_000 for metadata in batch.metadata):
            raise BackendError("the record is too large", operation="add")
        return super()._add(batch)


@caught_by("test_options_that_no_store_takes")
class SwallowsOptions(SimpleVectorStore):
    def __init__(self, embedder: Any = None, **options: Any) -> None:
        options.pop("no_such_option", None)
        super().__init__(embedder, **options)


@caught_by("test_native")
class HasNothingBehindIt(SimpleVectorStore):
    def _native(self) -> Any:
        return None


@caught_by("test_two_stores_share_nothing")
class OneTableForAll(SimpleVectorStore):
    tables: dict[int | None, Table] = {}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = self.tables.setdefault(self.dimension, self._table)


@caught_by("test_a_closed_store_refuses_every_call")
class NeverCloses(SimpleVectorStore):
    def close(self) -> None:
        pass


@caught_by("test_a_store_shows_no_secret")
class ShowsItsEmbedder(SimpleVectorStore):
    def __repr__(self) -> str:
        return f"<ShowsItsEmbedder {self.embedder} {'closed' if self._closed else ''}>"


@caught_by("test_eight_threads[usual]")
class ReplacesInTwoSteps(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        half = replace(batch, texts=["" for _ in batch.texts])
        super()._add(half)
        time.sleep(0.001)
        return super()._add(batch)


@caught_by("test_what_was_written_and_what_was_skipped")
class TellsMoreThanItWrote(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        super()._add(batch)
        return batch.ids


@caught_by("test_what_was_written_and_what_was_skipped")
class ForgetsWhatItReplaced(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, replaced=[]))


@caught_by("test_which_documents_were_deleted")
class TellsWhatItWasAsked(SimpleVectorStore):
    def _delete_ids(self, selection: Selection, judge: Any = None) -> list[str]:
        told = super()._delete_ids(selection, judge)
        return told if selection.ids is None else list(selection.ids)


@caught_by("test_clear")
class CountsAfterClearing(SimpleVectorStore):
    def _clear_counted(self) -> int:
        self._clear()
        return self._count(None)


@caught_by("test_one_of_many_writers_wins[error]")
class LooksBeforeItWrites(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        known = [one.id for one in self.get(batch.ids)]
        time.sleep(0.001)
        if known and batch.on_conflict == "error":
            raise DuplicateDocumentError("taken", ids=known)
        return super()._add(replace(batch, on_conflict="replace"))


@caught_by("test_batches_are_seen_whole")
class WritesOneByOne(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        for row in range(len(batch)):
            time.sleep(0.0005)
            super()._add(
                Batch(
                    ids=batch.ids[row : row + 1],
                    texts=batch.texts[row : row + 1],
                    metadata=batch.metadata[row : row + 1],
                    vectors=batch.vectors[row : row + 1],
                    on_conflict=batch.on_conflict,
                )
            )
        return batch.ids


@caught_by("test_a_random_life[usual]")
class ForgetsEveryFortiethWrite(SimpleVectorStore):
    writes = 0

    def _add(self, batch: Batch) -> Iterable[str]:
        self.writes += 1
        if self.writes % 40 == 0:
            return batch.ids
        return super()._add(batch)
