"""``get``, ``count`` and ``scan``: reading without searching, and so without embedding."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import pytest

from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import ids_of


class Reading(StoreSuiteBase):
    """Tests of ``get``, ``count`` and ``scan``."""

    # --- get --------------------------------------------------------------------------------

    def test_get_keeps_the_order_asked_for(self, store: VectorStore) -> None:
        """A ``get`` of the store's own returns the engine's order; ``_get`` may use any."""
        store.add(self.documents(12))
        wanted = [self.id(f"doc-{number}") for number in (7, 0, 11, 3, 7, 7, 5)]
        assert ids_of(store.get(wanted)) == wanted
        assert ids_of(store.get(iter(wanted))) == wanted
        unknown = self.ids("nobody", "doc-99")
        assert ids_of(store.get([unknown[0], *wanted, unknown[1]])) == wanted
        assert store.get(unknown) == []

    def test_a_document_asked_for_twice_is_two_objects(self, store: VectorStore) -> None:
        """Documents share lists, dicts or vectors with each other or a cache: copy what is read."""
        source = self.held_domain.fit({"list": ["a"], "object": {"inner": ["b"]}, "n": 1})
        document = self.document("a", source)
        store.add([document])
        first, second, third = store.get([document.id] * 3, include_embedding=True)
        self.check_documents([first, second, third], [document] * 3)
        assert first.embedding is not None
        first_embedding = list(first.embedding)
        first.metadata["n"] = 2
        for value in first.metadata.values():
            if isinstance(value, list):
                value.append("z")
            elif isinstance(value, dict):
                value["inner"].append("z")
        for other in (second, third):
            self.check_documents([other], [document])
            assert other.embedding is not None
            assert list(other.embedding) == first_embedding

    def test_get_never_embeds(self, store: VectorStore) -> None:
        """A hook embeds, or gives documents a score: reading by id or filter needs neither."""
        documents = self.documents(3)
        store.add(documents)
        self.embedder.forget()
        found = store.get([document.id for document in documents])
        self.check_documents(found, documents)
        assert [(one.score, one.embedding) for one in found] == [(None, None)] * 3
        store.get(filter="n == 1")
        store.count()
        list(store.scan())
        assert self.embedder.calls == 0

    def test_get_nothing(self, store: VectorStore) -> None:
        """An empty list of ids reached the engine, where it often means everything."""
        store.add(self.documents(3))
        with self.no_call(store):
            assert store.get([]) == []
            assert store.get(limit=0) == []
            assert store.get(self.ids("doc-1"), limit=0) == []

    def test_get_by_filter_and_by_both(self, store: VectorStore) -> None:
        """Of ids and filter one was left out: ``_get`` takes what meets both of ``Selection``."""
        store.add(self.documents(10))
        assert sorted(ids_of(store.get(filter="n >= 7"))) == sorted(
            self.ids("doc-7", "doc-8", "doc-9")
        )
        asked = self.ids("doc-8", "doc-1", "doc-9", "doc-8")
        assert ids_of(store.get(asked, filter="n >= 7")) == self.ids("doc-8", "doc-9", "doc-8")
        assert store.get(asked, filter="n >= 70") == []
        assert len(store.get()) == 10

    def test_get_limit(self, store: VectorStore) -> None:
        """``limit`` was applied before the filter, or taken for a page's size: ``_get``."""
        store.add(self.documents(10))
        for limit, count in ((1, 1), (9, 9), (10, 10), (50, 10)):
            found = ids_of(store.get(limit=limit))
            assert len(set(found)) == len(found) == count
        matching = set(self.ids(*(f"doc-{number}" for number in range(5))))
        found = ids_of(store.get(filter="n < 5", limit=3))
        assert len(set(found)) == 3
        assert set(found) <= matching
        # With ids, the first of those that there are.
        asked = self.ids("nobody", "doc-9", "doc-2", "doc-5")
        assert ids_of(store.get(asked, limit=2)) == self.ids("doc-9", "doc-2")
        assert ids_of(store.get(asked, filter="n < 9", limit=1)) == self.ids("doc-2")

    def test_get_many_ids(self, store: VectorStore) -> None:
        """More ids than one call of the engine takes or gives back.

        Split, or declare ``max_batch``.
        """
        documents = self.documents(1_100, embedded=True)
        store.add(documents)
        wanted = [document.id for document in reversed(documents)]
        assert ids_of(store.get(wanted)) == wanted

    def test_get_refuses_what_are_no_ids(self, store: VectorStore) -> None:
        """A ``get`` of the store's own takes a text for a list of its letters."""
        anything: Any = store
        with self.no_call(store):
            for wrong in ("doc-1", b"doc-1", 5, [1], ["a", None], {"a": 1}, True):
                with pytest.raises(TypeError):
                    anything.get(wrong)
            with pytest.raises(TypeError):
                anything.get(["a"], where="n == 1")
            with pytest.raises(TypeError):
                anything.get(limit="1")
            with pytest.raises(ValueError, match="limit"):
                anything.get(limit=-1)

    def test_embeddings_come_on_request_only(self, store: VectorStore) -> None:
        """``include_embedding`` is left out by a hook, or vectors are fetched when nobody asked."""
        documents = self.documents(4)
        store.add(documents)
        ids = [document.id for document in documents]
        self.check_vectors(store, {one.id: vector_of(one.text) for one in documents})
        assert all(one.embedding is not None for one in store.scan(include_embedding=True))
        assert all(one.embedding is None for one in (*store.get(ids), *store.scan()))

    # --- count ------------------------------------------------------------------------------

    def test_count(self, store: VectorStore) -> None:
        """The engine's count is an estimate, or lags behind deletions: ``_count``."""
        assert store.count() == 0
        assert store.count("n > 2") == 0
        store.add(self.documents(10))
        assert store.count() == 10
        assert store.count("n > 2") == store.count(filter="n > 2") == 7
        assert store.count("n == 70") == 0
        store.delete(self.ids("doc-9", "doc-0"))
        assert (store.count(), store.count("n > 2")) == (8, 6)
        store.add(self.documents(4))
        assert store.count() == 9

    # --- scan -------------------------------------------------------------------------------

    @pytest.mark.parametrize("batch_size", [1, 3, 23, 24, 25, 256, 5_000])
    def test_scan_sees_every_document_once(self, store: VectorStore, batch_size: int) -> None:
        """Paging by offset over an unsteady order, or an off-by-one at a page's end: ``_scan``.

        Page by a cursor, or by the last id in the order of the ids.
        """
        documents = self.documents(24)
        store.add(documents)
        found = list(store.scan(batch_size=batch_size))
        by_id = sorted(found, key=lambda document: document.id)
        self.check_documents(by_id, sorted(documents, key=lambda document: document.id))
        assert all(document.score is None for document in found)
        odd = list(store.scan("n IN [1, 3, 5, 7, 9, 11, 13]", batch_size=batch_size))
        assert len(ids_of(odd)) == len(set(ids_of(odd))) == 7

    def test_scan_without_texts(self, store: VectorStore) -> None:
        """``_scan_textless`` gives texts, or leaves out more than these.

        It yields what ``_scan`` does, every text ``""``, with vectors where they are asked for.
        """
        documents = self.documents(9)
        store.add(documents)
        texts = {one.id: one.text for one in store.scan()}
        for vectors in (False, True):
            wanted = {one.id: one for one in store.scan(include_embedding=vectors)}
            found = list(store.scan(batch_size=4, text=False, include_embedding=vectors))
            assert len(found) == len(wanted) == 9
            for one in found:
                whole = wanted[one.id]
                assert (one.text, one.score, one.metadata) == ("", None, whole.metadata)
                assert (one.embedding is None) is (whole.embedding is None) is not vectors
                if one.embedding is not None and whole.embedding is not None:
                    assert one.embedding.tolist() == whole.embedding.tolist()
            odd = store.scan("n IN [1, 3, 5]", text=False, include_embedding=vectors)
            assert sorted(one.metadata["n"] for one in odd) == [1, 3, 5]
            scoped = store.scoped("n IN [2, 4]").scan(text=False, include_embedding=vectors)
            assert sorted((one.metadata["n"], one.text) for one in scoped) == [(2, ""), (4, "")]
            # What a reader does to its metadata is its own affair.
            found[0].metadata["n"] = 77
            assert store.get([found[0].id])[0].metadata == wanted[found[0].id].metadata
        assert {one.id: one.text for one in store.scan()} == texts

    def test_scan_while_others_write(self, store: VectorStore) -> None:
        """What is there throughout is seen once; the rest once or not at all.

        Usually: pages moved while others wrote: go on from a cursor or the last id, not from a
        number.
        """
        documents = self.documents(60, embedded=True)
        store.add(documents)
        seen: list[str] = []
        for number, document in enumerate(store.scan(batch_size=5)):
            seen.append(document.id)
            if number == 10:
                unseen = [one for one in documents[:50] if one.id not in seen]
                deleted = [one.id for one in unseen[:5]]
                store.delete(deleted)
                store.add([self.document("new", {}, embedding=vector_of("new"))])
                # Replacing or changing a document must not bring it up a second time.
                store.add([one.replace(text="replaced") for one in documents[:20:2]])
                store.update_metadata([one.id for one in documents[1:20:2]], set={"n": -1})
        assert len(seen) == len(set(seen)), "a document twice"
        untouched = {one.id for one in documents} - set(deleted)
        assert untouched <= set(seen)
        assert set(seen) <= {one.id for one in documents} | {self.id("new")}

    def test_scan_may_be_left_early(self, store: VectorStore) -> None:
        """What was not read to its end holds nobody up, in no thread.

        Usually: a scan that is left open holds a lock, a transaction or the only connection:
        ``_scan``. Read a page, give back what it needed, then yield.
        """
        store.add(self.documents(30, embedded=True))
        for _ in range(30):
            assert next(iter(store.scan(batch_size=2))).id
        scan = store.scan(batch_size=2)
        try:
            next(scan)
            assert len(list(store.scan(batch_size=3))) == 30
            failures: list[Exception] = []

            def write() -> None:
                try:
                    store.add([self.document("new", embedding=vector_of("new"))])
                except Exception as error:
                    failures.append(error)

            writer = threading.Thread(target=write, daemon=True)
            writer.start()
            writer.join(timeout=60)
            assert not writer.is_alive(), "a writer waits for a scan that is left open"
            assert not failures, "a writer fails while a scan is left open"
            seen = [one.id for one in scan]
            assert len(seen) == len(set(seen))
            assert len(seen) in (29, 30)
            assert store.count() == 31
        finally:
            # A traceback keeps it, and whoever collects that later may be another thread.
            if isinstance(scan, Generator):
                scan.close()

    def test_scan_refuses_what_is_no_batch_size(self, store: VectorStore) -> None:
        """A ``scan`` of the store's own checks late: only when the first document is asked for."""
        anything: Any = store
        with self.no_call(store):
            for wrong in ("5", 2.5, None, True):
                with pytest.raises(TypeError):
                    list(anything.scan(batch_size=wrong))
            for number in (0, -1):
                with pytest.raises(ValueError, match="batch_size"):
                    list(anything.scan(batch_size=number))
            with pytest.raises(TypeError):
                list(anything.scan(filters="n == 1"))
