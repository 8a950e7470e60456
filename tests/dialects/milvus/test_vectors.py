"""Vectors at the ends of what 32-bit floats square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vecstore import Document, DocumentError
from vecstore.dialects.milvus.store import MilvusStore

Open = Callable[..., MilvusStore]


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e19, 1e-19])
def test_what_would_be_scored_wrong_is_refused(open_milvus: Open, scale: float) -> None:
    store = open_milvus(dimension=3)
    store.clear()
    good = Document("", {}, "good", [1, 2, 3])
    with pytest.raises(DocumentError, match=r"document 'far' has a length of .*scale the vectors"):
        store.add([good, Document("", {}, "far", [scale, 2 * scale, 3 * scale])])
    assert store.count() == 0
    store.add([good])
    [found] = store.search(vector=[scale, 2 * scale, 3 * scale])
    assert found.score == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e17, 1e-15, 1.0])
@pytest.mark.parametrize("query", [1e17, 1e-14, 1.0])
def test_within_the_bounds_directions_are_compared(
    open_milvus: Open, scale: float, query: float
) -> None:
    store = open_milvus(dimension=2)
    store.clear()
    ends = {"same": [3.0, 4.0], "across": [4.0, -3.0], "opposite": [-3.0, -4.0]}
    store.add([Document("", {}, id, [scale * one for one in end]) for id, end in ends.items()])
    found = store.search(vector=[3 * query, 4 * query])
    assert [one.id for one in found] == ["same", "across", "opposite"]
    assert [one.score for one in found] == pytest.approx([1, 0, -1], abs=1e-6)


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_products_and_distances_stay_finite(open_milvus: Open, metric: Any) -> None:
    store = open_milvus(dimension=2, metric=metric)
    store.add([Document("", {}, "long", [9e17, 0]), Document("", {}, "tiny", [1e-14, 0])])
    long, tiny = _scores(store)
    if metric == "dot":
        assert long == pytest.approx(8.1e35)
        assert tiny == pytest.approx(9e17 * 1e-14)
    else:
        assert long == pytest.approx(0)
        assert tiny == pytest.approx(-9e17)
    for vector in ([1e30, 0], [1e19, 1e19], [1e-30, 0]):
        with pytest.raises(DocumentError, match="scale the vectors"):
            store.add([Document("", {}, "far", vector)])
        with pytest.raises(ValueError, match=r"query vector has a length of .*scale the vectors"):
            store.search(vector=vector)


def _scores(store: MilvusStore) -> list[float | None]:
    found = {one.id: one.score for one in store.search(vector=[9e17, 0])}
    return [found["long"], found["tiny"]]
