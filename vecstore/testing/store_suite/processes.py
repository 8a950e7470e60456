"""A store and the processes that a program makes: forked children, and pickles for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

import pytest

from vecstore.errors import BackendError, StoreClosedError
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.children import can_fork, in_a_child
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of


class Processes(StoreSuiteBase):
    """Tests of a store in more than one process.

    Attributes:
        forks: Whether a forked child can go on with a store: True, False where it is refused, or
            None where either will do.
    """

    forks: ClassVar[bool | None] = None

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_child_finds_its_own_documents_or_is_refused(self) -> None:
        """Whatever the child does, nobody's answers get mixed up, and the parent goes on."""
        if not can_fork():
            return
        store = self.new_store(embedder=TextEmbedder())
        made = self.behind(store)
        documents = self.documents(6)
        store.add(documents)
        ids = [one.id for one in documents]
        expected = made.count(), self._nearest(made, "0")
        asyncio.run(made.aio.count())  # its threads exist before the fork

        def work() -> None:
            refused = self._refused_or(made, lambda: self._nearest(made, "0"), expected[1])
            again = self._refused_or(made, made.count, expected[0])
            awaited = self._refused_or(made, lambda: asyncio.run(made.aio.count()), expected[0])
            assert refused == again == awaited, "refused by one call and answered by another"
            if self.forks is not None:
                assert refused is not self.forks
            if not refused:
                assert {one.id for one in made.get(ids)} == set(ids)
            made.close()

        for _ in range(2):
            in_a_child(work)
        assert (made.count(), self._nearest(made, "0")) == expected
        store.update_metadata(ids[:1], set={"later": 1})
        assert store.count("later == 1") == 1

    def test_a_pickle_shows_no_secret_and_says_why_there_is_none(self) -> None:
        store = self.behind(self.new_store(embedder=TextEmbedder()))
        try:
            _, parts = store.__reduce__()
        except TypeError as error:
            assert "open_store" in str(error)
            return
        shown = repr([part for part in parts if part is not store.embedder])
        for secret in (TextEmbedder.api_key, *self.secrets):
            assert secret not in shown

    def _nearest(self, store: VectorStore, name: str) -> list[str]:
        return [one.id for one in store.search(vector=vector_of(name), top_k=3)]

    def _refused_or(self, store: VectorStore, call: Callable[[], object], expected: object) -> bool:
        try:
            answer = call()
        except (StoreClosedError, BackendError) as error:
            assert str(error)
            return True
        assert answer == expected, "a child was given another answer"
        return False
