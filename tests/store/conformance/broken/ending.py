"""Broken stores: closing, forks, pickles, and errors."""

from __future__ import annotations

import time
from typing import Any

from tests.store.conformance.broken.registry import caught_by
from vecstore import Selection, SimpleVectorStore


@caught_by("test_no_hook_is_at_work_when_a_store_gives_back_what_it_holds")
class ClosesUnderOthers(SimpleVectorStore):
    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._close()


@caught_by("test_closing_while_others_are_at_work")
class LosesItsTable(SimpleVectorStore):
    def close(self) -> None:
        self._table = None  # type: ignore[assignment]
        time.sleep(0.2)  # in which somebody asks, however busy the machine is
        self._closed = True


@caught_by("test_no_bare_error_leaves_a_store")
class CallsItsHooksItself(SimpleVectorStore):
    def get(self, ids: Any = None, **options: Any) -> Any:
        if ids is None:
            return super().get(ids, **options)
        return self._get(Selection(ids=tuple(ids)), limit=None, include_embedding=False)


@caught_by("test_a_forked_child_finds_its_own_documents_or_is_refused")
class MixesUpChildren(SimpleVectorStore):
    def _after_fork(self) -> None:
        super()._after_fork()
        self._table.clear()


@caught_by("test_a_pickle_shows_no_secret_and_says_why_there_is_none")
class PicklesItsKey(SimpleVectorStore):
    def __reduce__(self) -> Any:
        return PicklesItsKey, (getattr(self.embedder, "api_key", None),)
