"""Stores that fail beside another process: on a file, for memory is out of another one's reach."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from tests.store.conformance.broken.registry import BROKEN
from tests.store.conformance.test_example import example
from vecstore import Batch, Selection, VectorStore
from vecstore.store.backend import duplicates_error
from vecstore.testing import StoreSuite


class LocksOneProcess(example.LiteStore):  # type: ignore[misc]
    """Looks which ids are free, then writes: safe from other threads, not from processes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._writing = threading.Lock()

    def _add(self, batch: Batch) -> Iterable[str]:
        with self._writing:
            found = self._get(Selection(ids=tuple(batch.ids)), limit=None, include_embedding=False)
            taken = {document.id for document in found}
            threading.Event().wait(0.01)
            if taken and batch.on_conflict == "error":
                raise duplicates_error(sorted(taken))
            if taken and batch.on_conflict == "skip":
                return []  # the test adds one by one
            return list(super()._add(replace(batch, on_conflict="replace")))


class TestLocksOneProcess(StoreSuite):
    dialect = example.Lite()

    def make_store(self, **options: Any) -> VectorStore:
        return LocksOneProcess(self.folder / f"{uuid4()}.db", **options)  # type: ignore[no-any-return]


for mode in ("error", "skip"):
    BROKEN[f"TestLocksOneProcess::test_one_of_two_processes_wins[{mode}]"] = TestLocksOneProcess
