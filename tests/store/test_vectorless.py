"""``add(..., embed=False)``: what becomes of documents without an embedding."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.store.embedders import Counting, letters, never
from tests.store.minimal import MinimalStore
from vecstore import (
    ConfigurationError,
    Document,
    DocumentError,
    F,
    SimpleVectorStore,
    SkippedDocumentsWarning,
    StoreCapabilities,
)
from vecstore.store import url
from vecstore.store.backend import KEEPING_VECTORLESS

Make = Callable[..., Any]

A, B = Document("a", {"n": 1}, id="a"), Document("b", {"n": 2}, id="b")
WITH_VECTOR = Document("c", {"n": 3}, id="c", embedding=[0, 0, 1, 0])
NOTHING_KEPT = StoreCapabilities()


def test_nothing_is_embedded(make: Make) -> None:
    store = make(never)
    assert store.add([A, WITH_VECTOR, B], embed=False).written == ("a", "c", "b")
    assert [one.id for one in store.search(vector=[1, 1, 1, 1], top_k=9)] == ["c"]
    assert store.add(iter([A, B]), embed=False, on_conflict="skip").skipped == ("a", "b")
    assert store.count() == 3


def test_skipping_what_is_not_embedded_is_left_to_the_store() -> None:
    """What costs nothing is not asked for before: one call, and not two."""
    store = MinimalStore(never)
    store.add([A], embed=False)
    before = len(store.calls)
    assert store.add([A, B], embed=False, on_conflict="skip").skipped == ("a",)
    assert store.calls[before:] == [("add", 2)]


def test_progress_and_batches(make: Make) -> None:
    store = make()
    seen: list[Any] = []
    many = [Document("", id=f"{n}") for n in range(2_500)]
    store.add(many, embed=False, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1_024, 2_500), (2_048, 2_500), (2_500, 2_500)]
    assert store.count() == 2_500
    assert store.delete(filter="n IS NULL") == 2_500


def test_without_an_embedder_the_error_names_the_way(make: Make) -> None:
    with pytest.raises(ConfigurationError, match=r"add\(\.\.\., embed=False\)"):
        make().add([A])
    refusing = MinimalStore(capabilities=NOTHING_KEPT)
    with pytest.raises(ConfigurationError, match="no embedder") as caught:
        refusing.add([A])
    assert "embed=False" not in str(caught.value)


def test_a_store_that_keeps_none_refuses_them_before_anything_is_written() -> None:
    store = MinimalStore(letters, capabilities=NOTHING_KEPT)
    with pytest.raises(DocumentError) as caught:
        store.add([WITH_VECTOR, A, B], embed=False)
    told = str(caught.value)
    assert told.startswith("2 of 3 documents cannot be stored: 'a' and 'b'; the first: document")
    assert "minimal cannot store it without a vector (vectorless): the stores memory" in told
    assert told.count(" keep such ones") == 1
    assert all(name in told for name in KEEPING_VECTORLESS)
    assert (caught.value.faulty_ids, caught.value.stored_ids) == (["a", "b"], [])
    assert (store.calls, store.rows) == ([], {})
    with pytest.warns(SkippedDocumentsWarning, match="without a vector"):
        assert store.add([A, WITH_VECTOR], embed=False, on_error="skip") == ["c"]
    assert store.add([A]) == ["a"]  # embedded


def test_the_error_names_the_stores_that_declare_it() -> None:
    keeping = set()
    for place in set(url._BUILT_IN.values()):
        module, _, name = place.partition(":")
        store = getattr(importlib.import_module(module), name)
        if store.capabilities.vectorless:
            keeping.add(store.name)
    assert keeping == set(KEEPING_VECTORLESS)


def test_what_changes_metadata_by_writing_documents_again_keeps_them_so() -> None:
    store = MinimalStore()
    store.add([A, WITH_VECTOR, B], embed=False)
    assert store.update_metadata(filter="n >= 1", set={"k": "x"}) == 3
    assert store.update_metadata(["a"], unset=["k"]) == 1
    found = {one.id: one for one in store.scan(include_embedding=True)}
    assert {id: one.embedding is None for id, one in found.items()} == {
        "a": True,
        "b": True,
        "c": False,
    }
    assert [found[id].metadata for id in "abc"] == [
        {"n": 1},
        {"n": 2, "k": "x"},
        {"n": 3, "k": "x"},
    ]


def test_views_and_awaited_calls(make: Make) -> None:
    counting = Counting()
    store = make(counting)
    view = store.scoped(F.tenant == "x")
    assert view.add([A], embed=False) == ["a"]
    assert store.get(["a"])[0].metadata == {"n": 1, "tenant": "x"}
    assert asyncio.run(store.aio.add([B, WITH_VECTOR], embed=False)) == ["b", "c"]
    assert asyncio.run(view.aio.add([Document("d", id="d")], embed=False)) == ["d"]
    assert counting.calls == 0
    assert (view.count(), store.count()) == (2, 4)
    assert view.search(vector=[1, 1, 1, 1]) == []


def test_embed_is_a_flag(make: Make) -> None:
    store = make(letters)
    for wrong in (None, 0, "no"):
        with pytest.raises(TypeError, match="embed"):
            store.add([A], embed=wrong)


def test_it_becomes_searchable_when_it_is_embedded() -> None:
    store = SimpleVectorStore(letters)
    store.add([A], embed=False)
    assert store.search("a") == []
    (held,) = store.get(["a"], include_embedding=True)
    assert held.embedding is None
    store.add([held])
    assert [one.id for one in store.search("a")] == ["a"]
    store.add([held], embed=False)
    assert store.search("a") == []
