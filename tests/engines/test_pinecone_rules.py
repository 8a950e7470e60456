from __future__ import annotations

from typing import Any

import pytest

from tests.engines.pinecone_rules import PineconeRejected, PineconeRules

RECORDS: dict[str, dict[str, Any]] = {
    "none": {},
    "one": {"k": 1},
    "one-and-a-half": {"k": 1.5},
    "true": {"k": True},
    "a": {"k": "a"},
    "digit": {"k": "1"},
    "ab": {"k": ["a", "b"]},
    "empty": {"k": []},
}
ALL = set(RECORDS)


def filled(**switches: bool) -> PineconeRules:
    rules = PineconeRules(**switches)
    for id, metadata in RECORDS.items():
        rules.upsert(id, metadata)
    return rules


def selected(filter: Any, **switches: bool) -> set[str]:
    return filled(**switches).query(filter)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (1, {"one"}),
        ({"$eq": 1}, {"one"}),
        ({"$eq": 1.0}, {"one"}),
        ({"$eq": True}, {"true"}),
        ({"$eq": "1"}, {"digit"}),
        ({"$eq": "a"}, {"a", "ab"}),
        ({"$in": ["b", "1"]}, {"digit", "ab"}),
        ({"$in": [1, 2]}, {"one"}),
        ({"$ne": "a"}, ALL - {"none", "a", "ab"}),
        ({"$nin": ["b", "1"]}, ALL - {"none", "digit", "ab"}),
        ({"$gt": 1}, {"one-and-a-half"}),
        ({"$gte": 1}, {"one", "one-and-a-half"}),
        ({"$lt": 1.5}, {"one"}),
        ({"$lte": 1.5}, {"one", "one-and-a-half"}),
        ({"$exists": True}, ALL - {"none"}),
        ({"$exists": False}, {"none"}),
    ],
)
def test_each_operator(condition: Any, expected: set[str]) -> None:
    assert selected({"k": condition}) == expected


def test_clauses() -> None:
    assert selected(None) == ALL
    assert selected({"$and": [{"k": "a"}, {"k": "b"}]}) == {"ab"}
    assert selected({"$or": [{"k": "b"}, {"k": {"$gt": 1}}]}) == {"ab", "one-and-a-half"}
    assert selected({"$or": [{"k": 1}]}) == {"one"}
    assert selected({"k": "a", "other": {"$exists": False}}) == {"a", "ab"}
    assert selected({"$and": [{"$or": [{"k": 1}, {"k": "a"}]}, {"k": {"$ne": 1}}]}) == {"a", "ab"}


def test_numbers_are_64_bit_floats() -> None:
    rules = PineconeRules()
    rules.upsert("odd", {"k": 2**53 + 1})
    assert rules.query({"k": 2**53}) == {"odd"}
    assert rules.query({"k": {"$gt": 2**53}}) == set()


def test_a_record_is_replaced_whole() -> None:
    rules = filled()
    rules.upsert("one", {"other": 1})
    assert "one" not in rules.query({"k": {"$exists": True}})


def test_missing_matches_ne() -> None:
    assert "none" in selected({"k": {"$ne": 1}}, missing_matches_ne=True)
    assert "none" in selected({"k": {"$nin": [1]}}, missing_matches_ne=True)
    assert "none" not in selected({"k": {"$eq": 1}}, missing_matches_ne=True)


def test_other_types_match_ne() -> None:
    assert selected({"k": {"$ne": 1}}, other_types_match_ne=False) == {"one-and-a-half"}
    assert selected({"k": {"$nin": ["a"]}}, other_types_match_ne=False) == {"digit", "empty"}


def test_or_needs_every_field() -> None:
    rules = PineconeRules(or_needs_every_field=True)
    rules.upsert("both", {"x": 1, "y": 2})
    rules.upsert("only x", {"x": 1})
    clause = {"$or": [{"x": 1}, {"$and": [{"y": 1}, {"x": 2}]}]}
    assert rules.query(clause) == {"both"}
    rules.or_needs_every_field = False
    assert rules.query(clause) == {"both", "only x"}


def test_empty_list_exists() -> None:
    assert "empty" not in selected({"k": {"$exists": True}}, empty_list_exists=False)
    assert "empty" in selected({"k": {"$exists": False}}, empty_list_exists=False)


@pytest.mark.parametrize("members", [[], [True], ["a", 1]])
def test_lenient_members(members: list[Any]) -> None:
    for operator in ("$in", "$nin"):
        with pytest.raises(PineconeRejected, match="strings or numbers"):
            selected({"k": {operator: members}})
    found = selected({"k": {"$in": members}}, lenient_members=True)
    assert found == {
        id for id in RECORDS if any(id in selected({"k": member}) for member in members)
    }


def test_accepts_not() -> None:
    with pytest.raises(PineconeRejected, match="unknown operator"):
        selected({"k": {"$not": {"$eq": 1}}})
    assert selected({"k": {"$not": {"$eq": 1}}}, accepts_not=True) == ALL - {"one"}
    with pytest.raises(PineconeRejected, match="operator is expected"):
        selected({"k": {"$not": 1}}, accepts_not=True)


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ({}, "empty clause"),
        ([], "a clause is an object"),
        ("k == 1", "a clause is an object"),
        ({1: 1}, "field names are strings"),
        ({"$gt": 1}, "where a field is expected"),
        ({"$not": {"k": 1}}, "where a field is expected"),
        ({"$and": []}, "at least one clause"),
        ({"$or": []}, "at least one clause"),
        ({"$or": {"k": 1}}, "at least one clause"),
        ({"$or": [{"k": 1}, {}]}, r"\$or\[1\]: an empty clause"),
        ({"$and": [{"k": 1}], "k": 1}, "beside other keys"),
        ({"k": None}, "got None"),
        ({"k": ["a"]}, "got \\['a'\\]"),
        ({"k": {}}, "exactly one operator"),
        ({"k": {"$gt": 1, "$lt": 2}}, "exactly one operator"),
        ({"k": {"nested": 1}}, "unknown operator"),
        ({"k": {"$regex": "a"}}, "unknown operator"),
        ({"k": {"$eq": ["a"]}}, "got \\['a'\\]"),
        ({"k": {"$eq": None}}, "got None"),
        ({"k": {"$ne": {"$eq": 1}}}, "got"),
        ({"k": {"$gt": "a"}}, "a number is expected"),
        ({"k": {"$gte": True}}, "a number is expected"),
        ({"k": {"$lt": None}}, "a number is expected"),
        ({"k": {"$lte": float("nan")}}, "64-bit float"),
        ({"k": {"$eq": 10**400}}, "64-bit float"),
        ({"k": {"$in": "a"}}, "a list is expected"),
        ({"k": {"$in": [None]}}, "got None"),
        ({"k": {"$in": [["a"]]}}, "got \\['a'\\]"),
        ({"k": {"$exists": 1}}, "true or false"),
        ({"k": "\ud800"}, "not text"),
    ],
)
def test_what_a_filter_may_not_be(filter: Any, reason: str) -> None:
    with pytest.raises(PineconeRejected, match=reason):
        selected(filter)


def test_a_fault_is_found_behind_any_record() -> None:
    with pytest.raises(PineconeRejected):
        PineconeRules().query({"$or": [{"k": 1}, {"k": {"$gt": "a"}}]})


def test_the_limit_of_members() -> None:
    selected({"k": {"$in": list(range(10_000))}})
    # Each operator has the limit to itself.
    selected({"$or": [{"k": {"$in": list(range(10_000))}}, {"k": {"$nin": list(range(10_000))}}]})
    with pytest.raises(PineconeRejected, match="more than 10000"):
        selected({"k": {"$nin": list(range(10_001))}})


@pytest.mark.parametrize(
    "metadata",
    [
        {"k": None},
        {"k": {"nested": 1}},
        {"k": [1, 2]},
        {"k": [True]},
        {"k": ["a", 1]},
        {"k": ["a", None]},
        {"k": [["a"]]},
        {"k": float("inf")},
        {"k": 10**400},
        {"k": b"bytes"},
        {"$k": 1},
        {1: 1},
        {"k": "\ud800"},
    ],
)
def test_what_metadata_may_not_be(metadata: Any) -> None:
    with pytest.raises(PineconeRejected):
        PineconeRules().upsert("id", metadata)


def test_the_size_of_metadata_is_counted_in_bytes() -> None:
    room = 40_960 - len('{"k":""}')
    rules = PineconeRules()
    for text in ("a" * room, "é" * (room // 2)):
        rules.upsert("fits", {"k": text})
    for text in ("a" * (room + 1), "é" * (room // 2 + 1)):
        with pytest.raises(PineconeRejected, match="more than 40960"):
            rules.upsert("does not", {"k": text})


@pytest.mark.parametrize("id", ["", "x" * 513, "é", "a\0"])
def test_what_an_id_may_not_be(id: str) -> None:
    with pytest.raises(PineconeRejected, match="cannot be an id"):
        PineconeRules().upsert(id, {})
