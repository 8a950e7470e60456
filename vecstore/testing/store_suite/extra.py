"""``Document.extra``: any JSON beside the metadata, which no filter sees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import DocumentError
from vecstore.extra import MAX_EXTRA_DEPTH
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of

_DEEP: Any = "the end"
for _ in range(MAX_EXTRA_DEPTH):
    _DEEP = [_DEEP]

_LARGE = 300_000

_VALUES: dict[str, Any] = {
    "objects": {"zeta": [{"n": 1}, {"n": None}, {}], "alpha": [[1, [2, []]], "x"]},
    "numbers": [2**53 + 1, -(2**63) - 1, 10**40, 1.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308],
    "texts": ["\0\x1f", "\"\\'", "é𝄞\u2028", "x" * 5_000, {"": {" ": 1, "a.b": True}}],
    "deep": _DEEP,
    "a text": "null",
    "an empty text": "",
    "zero": 0,
    "false": False,
    "an empty list": [],
    "an empty object": {},
}


class Extra(StoreSuiteBase):
    """Tests of what stands beside metadata: kept as it was given; or refused by name."""

    def test_an_extra_is_kept_or_refused_by_name(self, store: VectorStore) -> None:
        """What is declared as ``keeps_extra`` is true, and what is not is refused before a write.

        Usually: ``_add`` leaves ``batch.extras`` aside, or the capability is declared for all
        places of the store, and this one has no column for it.
        """
        plain = self.document("plain", {"n": 1}, embedding=vector_of("plain"))
        with_one = self._with("one", {"lines": [{"price": 3}]})
        if not self.capabilities.keeps_extra:
            with self.no_call(store), pytest.raises(DocumentError, match="keeps_extra") as caught:
                store.add([plain, with_one])
            assert caught.value.faulty_ids == [with_one.id]
            return
        store.add([plain, with_one])
        assert self._held(store) == {plain.id: None, with_one.id: {"lines": [{"price": 3}]}}

    def test_an_extra_comes_back_as_it_was_given(self, store: VectorStore) -> None:
        """To the digit, and in the order of its keys, whichever call reads it.

        Usually: it goes through numbers of the engine's, or through a type such as ``jsonb`` that
        sorts keys; or one of the hooks that read documents leaves it out.
        """
        if not self.capabilities.keeps_extra:
            return
        documents = [self._with(name, value) for name, value in _VALUES.items()]
        documents.append(self.document("none", embedding=vector_of("none")))
        store.add(documents)
        wanted = {one.id: _written(one.extra) for one in documents}
        ids, size = list(wanted), len(wanted)
        for found in (
            store.get(ids),
            store.get(include_embedding=True),
            store.get(order_by="n", limit=size),
            list(store.scan(batch_size=4)),
            list(store.scan(include_embedding=True)),
            store.search("query", top_k=size),
            store.search("query", top_k=size, ids=ids, include_embedding=True),
            store.search("query", top_k=size, exclude_ids=self.ids("nobody"), diversity=0.5),
            store.search_many(["query"], top_k=size)[0],
        ):
            assert {one.id: _written(one.extra) for one in found} == wanted
        for vectors in (False, True):
            bare = {one.id: one.extra for one in store.scan(text=False, include_embedding=vectors)}
            assert bare == dict.fromkeys(ids)
        store.add(store.get(ids, include_embedding=True))
        assert {id: _written(extra) for id, extra in self._held(store).items()} == wanted

    def test_an_extra_goes_with_its_document(self, store: VectorStore) -> None:
        """Updates leave it, replacing replaces it, and skipping skips it.

        Usually: an upsert leaves columns alone that are not named, or ``_update_metadata`` writes
        documents again without it.
        """
        if not self.capabilities.keeps_extra:
            return
        first, second = self._with("first", [1, {"a": None}]), self._with("second", {"b": [2]})
        store.add([first, second])
        assert store.update_metadata([first.id], set={"n": 2, "extra": "mine"}) == 1
        assert store.update_metadata(filter="n == 2", set={"m": 1}, unset=["extra"]) == 1
        assert self._held(store) == {first.id: first.extra, second.id: second.extra}
        store.add([first.replace(extra="other"), self._with("third", 3)], on_conflict="skip")
        assert self._held(store)[first.id] == first.extra
        assert self._held(store)[self.id("third")] == 3
        store.add([first.replace(extra={"new": 1}), second.replace(extra=None)])
        store.delete([self.id("third")])
        assert self._held(store) == {first.id: {"new": 1}, second.id: None}

    def test_max_extra_bytes(self, store: VectorStore) -> None:
        """The engine cuts or refuses a long extra: declare ``max_extra_bytes``, in UTF-8.

        Usually: the limit is that of a field, or of all that a record holds.
        """
        if not self.capabilities.keeps_extra:
            return
        limit = self.capabilities.max_extra_bytes
        size = _LARGE if limit is None else limit
        # As JSON a text has two bytes more.
        held = [self._with("long", "x" * (size - 2)), self._with("wide", "é" * (size // 2 - 1))]
        store.add(held)
        assert self._held(store) == {one.id: one.extra for one in held}
        if limit is None:
            return
        for value in ("x" * (limit - 1), "é" * (limit // 2)):
            first, beyond = self._with("one", 1), self._with("beyond", value)
            with self.no_call(store), pytest.raises(DocumentError, match="max_extra_bytes") as told:
                store.add([first, beyond])
            assert told.value.document_id == beyond.id
            assert f"{limit:,}" in str(told.value)
        assert self._held(store) == {one.id: one.extra for one in held}

    def test_no_filter_sees_an_extra(self, store: VectorStore) -> None:
        """It is no metadata, whatever its keys are.

        Usually: it is kept inside the metadata, or in the same object.
        """
        if not self.capabilities.keeps_extra:
            return
        store.add([self._with("one", {"n": 7, "only": 7}, {"n": 1})])
        [found] = store.get(filter="n == 1")
        assert (found.metadata["n"], found.extra) == (1, {"n": 7, "only": 7})
        assert "only" not in found.metadata
        assert store.count("n == 7") == 0
        assert "only" not in store.fields()

    def test_changing_an_extra_changes_no_store(self, store: VectorStore) -> None:
        """What was given and what was found are their owners' alone."""
        if not self.capabilities.keeps_extra:
            return
        document = self._with("one", {"list": [1]})
        store.add([document])
        document.extra["list"].append(2)
        [found] = store.get([document.id])
        found.extra["list"].append(3)
        assert self._held(store) == {document.id: {"list": [1]}}
        store.add([document])
        assert self._held(store) == {document.id: {"list": [1, 2]}}

    def _with(self, name: str, extra: Any, metadata: dict[str, Any] | None = None) -> Document:
        bare = self.document(name, metadata or {"n": 0}, embedding=vector_of(name))
        return bare.replace(extra=extra)

    def _held(self, store: VectorStore) -> dict[str, Any]:
        return {one.id: one.extra for one in store.scan()}


def _written(value: Any) -> str:
    """With the types of numbers, the order of keys, and signs of zeros."""
    return json.dumps(value)
