"""Ids are any text: each is kept as it is, and none is taken for another one or for a query."""

from __future__ import annotations

import pytest

from vecstore.document import Document
from vecstore.errors import DocumentError
from vecstore.store.base import VectorStore
from vecstore.store.limits import is_in_charset
from vecstore.testing.samples import HOSTILE_TEXTS
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of

_UUID = "123e4567-e89b-12d3-a456-426614174000"

IDS: tuple[str, ...] = (
    "a",
    "A",
    "a ",
    " a",
    "aa",
    "1",
    "01",
    "1.0",
    "-1",
    "1e3",
    "0x10",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "true",
    "null",
    "None",
    "nan",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567-E89B-12D3-A456-426614174000",
    "123e4567e89b12d3a456426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "agent:knowledge:7",
    "https://example.org/a?b=c&d#e",
    "folder/file.txt",
    "../up",
    "C:\\docs\\",
    "*",
    "a%",
    "a_",
    "[1]",
    '{"a": 1}',
    " ",
    "\t",
    "\r\n",
    "\ufeff",
    "é",
    "e\u0301",
    "ß",
    "SS",
    "İ",
    "日本",
    "😀",
    "\uffff",
    "\u200b",
    "x" * 1_000,
    "x" * 999 + "y",
    "é" * 400,
    *HOSTILE_TEXTS,
    "' OR '1'='1",
    "a' OR id != '",
    "a'] or id in ['b",
    'a"] or id != "',
    "a') --",
    "__vecstore_id",
)


class Ids(StoreSuiteBase):
    """Tests of ids of every shape."""

    def test_each_is_its_own(self, store: VectorStore) -> None:
        """The engine folds ids together (case, blanks, numbers, unicode), or cuts them.

        Store ids as exact text, compare them bytewise; what the engine cannot tell apart belongs in
        ``id_charset`` or ``max_id_bytes``.
        """
        documents = self._documents()
        ids = [document.id for document in documents]
        assert store.add(documents) == ids
        self.check_holds(store, documents)
        self.check_documents(store.get(ids), documents)
        for document in documents:
            self.check_documents(store.get([document.id]), [document])
        found = store.search("anything", top_k=min(len(ids), self.most_found))
        assert {document.id for document in found} <= set(ids)
        assert len({document.id for document in found}) == min(len(ids), self.most_found)

    def test_each_can_be_replaced_and_changed(self, store: VectorStore) -> None:
        """An id is quoted one way in ``_add`` and another way in ``_update_metadata``."""
        documents = self._documents()
        store.add(documents)
        changed = []
        for number, document in enumerate(documents):
            if number % 2:
                changed.append(document.replace(metadata={"n": number, "new": True}))
                assert store.update_metadata([document.id], set={"new": True}) == 1
            else:
                changed.append(document.replace(metadata={"replaced": number}))
                store.add(changed[-1:])
        self.check_holds(store, changed)

    def test_deleting_one_leaves_the_others(self, store: VectorStore) -> None:
        """``_delete`` read an id as a pattern or a query, or two ids are one to the engine."""
        documents = self._documents()
        store.add(documents)
        left = {document.id: document for document in documents}
        for document in documents:
            assert store.delete([document.id]) == 1, f"{document.id!r}"
            del left[document.id]
            if len(left) % 8 == 0:
                self.check_holds(store, list(left.values()))
        assert store.count() == 0

    def test_each_can_be_looked_among(self, store: VectorStore) -> None:
        """A search among ids reads one as a pattern or a query, or folds two together.

        Usually: ``_search_selected`` writes ids into a query itself; bind them.
        """
        documents = self._documents()
        store.add(documents)
        ids = [document.id for document in documents]
        query = vector_of("query")
        for id in ids:
            assert [one.id for one in store.search(vector=query, ids=[id])] == [id]
        half, others = ids[::2], set(ids[1::2])
        near = ["nobody", *[id + "?" for id in ids[:3]]]
        most = min(len(ids), self.most_found)
        found = store.search(vector=query, top_k=most, ids=[*near, *half])
        assert {one.id for one in found} <= set(half)
        assert len(found) == min(len(half), most)
        found = store.search(vector=query, top_k=most, exclude_ids=[*half, *near])
        assert {one.id for one in found} <= others
        assert len(found) == min(len(others), most)

    def test_unknown_ids_are_unknown(self, store: VectorStore) -> None:
        """Neither an id that is close to a stored one, nor one that reads like a query.

        Usually: an id that is close to a stored one, or reads like a query, found it: bind ids. Ids
        that no store takes are merely unknown when they are read: no error of the engine.
        """
        stored = self.documents(3)
        store.add(stored)
        for id in [*self._possible(IDS), "", "a\0b", "\ud800"]:
            assert store.get([id]) == []
            assert store.delete([id]) == 0
            assert store.update_metadata([id], set={"x": 1}) == 0
        self.check_holds(store, stored)

    def test_ids_that_no_store_takes(self, store: VectorStore) -> None:
        """An ``add`` of the store's own goes past the base, which refuses these ids."""
        for id in ("", "a\0b", "\ud800"):
            with self.no_call(store), pytest.raises(DocumentError):
                store.add([Document("text", id=id)])

    def test_ids_past_what_is_declared_are_refused(self, store: VectorStore) -> None:
        """``id_charset`` or ``max_id_bytes`` says more than the store checks.

        Set it on the instance.
        """
        possible = set(self._possible(IDS))
        for id in IDS:
            if id in possible:
                continue
            document = Document("text", id=id)
            with self.no_call(store), pytest.raises(DocumentError) as caught:
                store.add([*self.documents(2), document])
            assert caught.value.document_id == id
            assert "id_charset" in str(caught.value) or "max_id_bytes" in str(caught.value)
        assert store.count() == 0

    def _possible(self, ids: tuple[str, ...]) -> list[str]:
        limits = self.capabilities
        longest = limits.max_id_bytes or 1_000_000
        if limits.id_charset == "any":
            return [id for id in ids if len(id.encode()) <= longest]
        if limits.id_charset == "ascii":
            return [id for id in ids if id.isascii() and len(id) <= longest]
        if limits.id_charset == "uuid":
            return [_UUID]
        if limits.id_charset == "uuid_or_number":
            numbers = [id for id in ids if is_in_charset(id, "uuid_or_number")]
            return [*dict.fromkeys([*numbers, "0", "7", "18446744073709551615", _UUID])]
        return ["1", "-1", "9223372036854775807"]

    def _documents(self) -> list[Document]:
        return [
            Document(f"text {number}", {"n": number}, id, vector_of(id))
            for number, id in enumerate(self._possible(IDS))
        ]
