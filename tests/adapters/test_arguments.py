"""What the adapters read alike of their frameworks' arguments."""

from __future__ import annotations

from typing import Any

import pytest

from vecstore import Expression, F, FilterError
from vecstore.adapters.arguments import FilterCache, diversity_of
from vecstore.interop import from_mongo

ALIKE: list[Any] = [
    *({"a": value} for value in (1, 1.0, True, "1", None, "None")),
    *({"a": {"$in": value}} for value in ([1], [True], ["1"], [1, 1])),
    {"a": ["$gt", 1]},
    {"a": {"$gt": 1}},
    {"b": {"$gt": 1}},
    {"a": {"$gt": 1}, "b": 1},
    {"a": {"$gt": 1, "$lt": 1}},
]


def test_filters_that_look_alike_are_told_apart() -> None:
    cached = FilterCache(repr)  # type: ignore[arg-type]
    for _ in range(2):
        assert [cached(written) for written in ALIKE] == [repr(written) for written in ALIKE]


def test_a_dict_that_was_read_is_read_once_and_one_that_was_changed_again() -> None:
    cached = FilterCache(from_mongo)
    written: dict[str, Any] = {"$or": [{"a": {"$gte": 1}}, {"b": None}]}
    first = cached(written)
    assert cached({"$or": [{"a": {"$gte": 1}}, {"b": None}]}) is first
    written["$or"][0]["a"]["$gte"] = 2
    assert cached(written) == (F.a >= 2) | F.b.is_null()


def test_what_is_kept_has_a_bound() -> None:
    read: list[Any] = []

    def reader(written: Any) -> Expression:
        read.append(written)
        return F.a == 1

    cached = FilterCache(reader)
    for number in range(1_000):
        cached({"a": number})
    assert len(cached._found) < 200
    for large in ({"a": "x" * 10_000}, {"a": {"$in": list(range(10_000))}}):
        before = len(cached._found), len(read)
        cached(large)
        cached(large)
        assert (len(cached._found), len(read)) == (before[0], before[1] + 2)


def test_what_is_refused_is_refused_again() -> None:
    cached = FilterCache(from_mongo)
    circular: dict[str, Any] = {}
    circular["$and"] = [circular]
    for wrong in ({"a": {"$no": 1}}, {"a": {1, 2}}, circular):
        for _ in range(2):
            with pytest.raises(FilterError):
                cached(wrong)


def test_diversity() -> None:
    assert [diversity_of("x", likeness) for likeness in (0, 0.25, 1)] == [1.0, 0.75, 0.0]
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="lambda_mult is from 0, for variety alone"):
            diversity_of("lambda_mult", wrong)
    for kind in ("0.5", True, None):
        with pytest.raises(TypeError, match="lambda_mult is a number from 0 to 1, not a"):
            diversity_of("lambda_mult", kind)
