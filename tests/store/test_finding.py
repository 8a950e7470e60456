"""Searches among ids and besides some, where the base and not the engine chooses."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from tests.store.refusing import on_key, refusing
from vecstore import Document, SimpleVectorStore, StoreCapabilities
from vecstore.authoring import Selection

COUNT = 60


def filled(store: Any) -> Any:
    random = Random(7)
    places = random.sample(range(COUNT), COUNT)
    store.add(
        [
            Document(f"text {n}", {"n": n}, f"d{n:02d}", [1.0, float(places[n])])
            for n in range(COUNT)
        ]
    )
    return store


@pytest.mark.parametrize("make", [SimpleVectorStore, MinimalStore])
def test_of_what_is_evaluated_ids_are_chosen(make: Any) -> None:
    """The engine knows nothing of ``n``: filter and ids are both decided here."""
    plain, store = filled(make()), refusing(filled(make()), on_key("n"))
    random = Random(11)
    for size in (1, 7, 30, COUNT):
        ids = [f"d{n:02d}" for n in random.sample(range(COUNT), size)]
        for given in ({"ids": ids}, {"exclude_ids": ids}):
            for top_k in (1, 5, COUNT):
                asked: dict[str, Any] = {"top_k": top_k, "filter": "n < 40", **given}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    one = store.search(vector=[1, 30], residual="evaluate", **asked)
                    [many, _] = store.search_many(
                        vectors=[[1, 30], [1, 0]], residual="evaluate", **asked
                    )
                right = plain.search(vector=[1, 30], **asked)
                among = [n for n in range(40) if (f"d{n:02d}" in ids) is ("ids" in given)]
                assert len(right) == min(top_k, len(among))
                assert [found.id for found in one] == [found.id for found in right]
                assert [found.id for found in many] == [found.id for found in right]


def test_more_left_out_than_a_search_returns() -> None:
    """Past ``max_top_k`` everything is read; the result is that of a store without the limit."""

    class Limited(MinimalStore):
        def _search(self, vector: Any, *, top_k: int, **options: Any) -> Iterable[Document]:
            assert top_k <= 8
            return super()._search(vector, top_k=top_k, **options)

    limited = filled(Limited(capabilities=StoreCapabilities(max_top_k=8)))
    plain = filled(MinimalStore())
    for size in (2, 20, COUNT - 3):
        out = [f"d{n:02d}" for n in range(size)]
        found = limited.search(vector=[1, 30], top_k=6, exclude_ids=out)
        right = plain.search(vector=[1, 30], top_k=6, exclude_ids=out)
        assert len(right) == min(6, COUNT - size)
        assert [one.id for one in found] == [one.id for one in right]
        assert [one.score for one in found] == pytest.approx([one.score for one in right])


def test_what_could_not_be_deleted_is_not_told() -> None:
    """Another writer changes a document between the look and the deletion."""

    class ChangedMeanwhile(MinimalStore):
        def _delete(self, selection: Selection) -> int:
            self.rows["d03"] = ("text", {"n": 1_000}, self.rows["d03"][2])
            return super()._delete(selection)

    store = filled(ChangedMeanwhile())
    assert store.delete(["d02", "d03", "d04"], filter="n < 40", return_ids=True) == ["d02", "d04"]
    assert [one.id for one in store.get(["d02", "d03", "d04"])] == ["d03"]
