"""A store and the processes that a program makes: forked children, and pickles for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from vecstore.errors import BackendError, DuplicateDocumentError, StoreClosedError
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.children import Meeting, can_fork, in_a_child
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of

_PARENT, _CHILD = 0, 1
_REFUSED, _WRITTEN = 2, 3
_NOWHERE, _THERE = 4, 5
_ROUNDS = 10


class Processes(StoreSuiteBase):
    """Tests of a store in more than one process.

    Attributes:
        forks: Whether a forked child can go on with a store: True, False where it is refused, or
            None where either will do.
    """

    forks: ClassVar[bool | None] = None

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_child_finds_its_own_documents_or_is_refused(self) -> None:
        """Whatever the child does, nobody's answers get mixed up, and the parent goes on.

        Usually: the child used the parent's connection: drop it in ``_after_fork``, and make a new
        one. A hang is mostly a lock or a thread pool that was inherited at the fork.
        """
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
        """``__reduce__`` carries a password, or refuses without naming ``open_store``."""
        store = self.behind(self.new_store(embedder=TextEmbedder()))
        try:
            _, parts = store.__reduce__()
        except TypeError as error:
            assert "open_store" in str(error)
            return
        shown = repr([part for part in parts if part is not store.embedder])
        for secret in (TextEmbedder.api_key, *self.secrets):
            assert secret not in shown

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    @pytest.mark.parametrize("mode", ["error", "skip"])
    def test_one_of_two_processes_wins(self, mode: Any) -> None:
        """Where conflicts are decided in the step that writes, also those with other processes.

        Usually: ``conflict_atomic`` is declared, but a lock of this process stands for the step.
        Let the engine decide (a unique key, a transaction that locks before it looks), or do not
        declare it. Stores that no other process can open are left out.
        """
        made = self.behind(self.new_store())
        if not (can_fork() and made.capabilities.conflict_atomic):
            return  # declared: two writers may both see an id as free
        address = self._address(made)
        meeting = Meeting()
        written_since = self.document("since", embedding=vector_of("since"))

        def compete(process: int, store: VectorStore) -> None:
            # As it looked before the other one came: `_add` decides.
            store._stored_ids = lambda ids: set()  # type: ignore[method-assign]
            for round in range(_ROUNDS):
                name = f"contested-{round}"
                document = self.document(name, {"process": process}, embedding=vector_of(name))
                meeting.exchange(_THERE)
                try:
                    store.add([document], on_conflict=mode)
                    outcome = _WRITTEN
                except DuplicateDocumentError as error:
                    assert list(error.ids) == [document.id]
                    outcome = _REFUSED
                (read,) = store.get([document.id])
                others = meeting.exchange(outcome)
                meeting.exchange(_THERE)  # whatever the other has still to write is written
                (kept,) = store.get([document.id])
                assert kept.metadata == read.metadata, f"{name}: written by both processes"
                winner = kept.metadata["process"]
                if mode == "skip":
                    assert outcome == others == _WRITTEN
                else:
                    assert {outcome, others} == {_WRITTEN, _REFUSED}, f"{name}: two winners or none"
                    assert (outcome == _WRITTEN) == (process == winner)

        def in_the_child() -> None:
            meeting.join(child=True)
            store = self._reached(made, address)
            meeting.exchange(_THERE)
            if store is not None and not store.get([written_since.id]):
                store = None  # the documents of its own that it got by the fork
            meeting.exchange(_NOWHERE if store is None else _THERE)
            if store is not None:
                compete(_CHILD, store)

        def here() -> None:
            meeting.join(child=False)
            try:
                made.add([written_since])
                meeting.exchange(_THERE)
                if meeting.exchange(_THERE) == _THERE:
                    compete(_PARENT, made)
            finally:
                meeting.close()

        in_a_child(in_the_child, beside=here)

    def _address(self, made: VectorStore) -> tuple[Any, ...] | None:
        """What a pickle of the store holds, where there is one."""
        try:
            return made.__reduce__()
        except TypeError:
            return None

    def _reached(self, made: VectorStore, address: tuple[Any, ...] | None) -> VectorStore | None:
        """The store in a child: itself after the fork, or opened by its address."""
        try:
            made.count()
            return made
        except (StoreClosedError, BackendError):
            if address is None:
                return None
            opened: VectorStore = address[0](*address[1])
            return opened

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
