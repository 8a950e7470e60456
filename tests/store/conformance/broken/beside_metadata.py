"""Mistakes with what stands beside metadata: it is lost, rewritten, cut, mixed up or shared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.store.conformance.broken.registry import caught_by
from vecstore import Batch, Document, Selection, SimpleVectorStore
from vecstore.document import stored_document, stored_extra


def _changed(batch: Batch, change: Any) -> Batch:
    return replace(batch, extras=[extra and change(extra) for extra in batch.extras])


@caught_by("test_an_extra_is_kept_or_refused_by_name")
class DeclaresExtrasAndLeavesThemAside(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, extras=()))


@caught_by("test_an_extra_is_kept_or_refused_by_name")
class ShiftsExtras(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(replace(batch, extras=[*batch.extras[1:], *batch.extras[:1]]))


@caught_by("test_an_extra_comes_back_as_it_was_given")
class SortsTheKeysOfExtras(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def resorted(extra: str) -> str:
            return json.dumps(json.loads(extra), sort_keys=True)

        return super()._add(_changed(batch, resorted))


@caught_by("test_an_extra_comes_back_as_it_was_given")
class RoundsIntegersOfExtras(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        def rounded(extra: str) -> str:
            return json.dumps(json.loads(extra, parse_int=lambda digits: int(float(digits))))

        return super()._add(_changed(batch, rounded))


@caught_by("test_an_extra_comes_back_as_it_was_given")
class FindsWithoutExtras(SimpleVectorStore):
    def _search(self, *arguments: Any, **options: Any) -> Iterable[Document]:
        for one in super()._search(*arguments, **options):
            yield stored_document(one.id, one.text, one._metadata, one.embedding, one.score)


@caught_by("test_an_extra_comes_back_as_it_was_given")
class ReadsExtrasWithoutTexts(SimpleVectorStore):
    def _scan_textless(self, filter: Any, **options: Any) -> Iterator[Document]:
        for one in self._scan(filter, **options):
            yield stored_document(one.id, "", one._metadata, one.embedding, extra=stored_extra(one))


@caught_by("test_an_extra_goes_with_its_document")
class UpdatesWithoutTheExtra(SimpleVectorStore):
    def _update_metadata(self, selection: Selection, **change: Any) -> int:
        changed = super()._update_metadata(selection, **change)
        whole = list(self._scan(None, batch_size=100, include_embedding=True))
        self.add([one.replace(extra=None) for one in whole])
        return changed


@caught_by("test_an_extra_goes_with_its_document")
class ReplacingLeavesTheOldExtra(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        old = {one.id: stored_extra(one) for one in self.get(batch.ids)}
        extras = batch.extras or [None] * len(batch)
        kept = [extra or old.get(id) for id, extra in zip(batch.ids, extras, strict=True)]
        return super()._add(replace(batch, extras=kept))


@caught_by("test_max_extra_bytes")
class CutsLongExtras(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        return super()._add(_changed(batch, lambda extra: extra[:65_535]))


@caught_by("test_max_extra_bytes")
class DeclaresMoreThanItsFieldHolds(SimpleVectorStore):
    """By one byte."""

    capabilities = replace(SimpleVectorStore.capabilities, max_extra_bytes=9_000)

    def _add(self, batch: Batch) -> Iterable[str]:
        def held(extra: str) -> str:
            return extra if len(extra.encode()) < 9_000 else json.dumps("too long")

        return super()._add(_changed(batch, held))


@caught_by("test_no_filter_sees_an_extra")
class KeepsExtrasInTheMetadata(SimpleVectorStore):
    def _add(self, batch: Batch) -> Iterable[str]:
        found = [json.loads(extra) if extra else None for extra in batch.extras]
        mixed = [
            {**one, **extra} if isinstance(extra, dict) else one
            for one, extra in zip(batch.metadata, found or [None] * len(batch), strict=True)
        ]
        return super()._add(replace(batch, metadata=mixed))


@caught_by("test_changing_an_extra_changes_no_store")
class GivesTheDocumentThatItKeeps(SimpleVectorStore):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._shown: dict[str, Document] = {}

    def _add(self, batch: Batch) -> Iterable[str]:
        self._shown.clear()
        return super()._add(batch)

    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        for one in super()._get(selection, **options):
            yield self._shown.setdefault(one.id, one)

    def _scan(self, filter: Any, **options: Any) -> Iterator[Document]:
        for one in super()._scan(filter, **options):
            yield self._shown.setdefault(one.id, one)
