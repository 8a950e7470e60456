"""The Pinecone dialect, held against Pinecone's documented rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given

from tests.dialects.corpus import answered, corpus
from tests.dialects.test_tokens import keys, wild_paths
from tests.engines.pinecone_rules import PineconeRejected, PineconeRules
from vecstore import Compiled, ConfigurationError, Expression, F, UnsupportedFilterError
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.pinecone.layout import TOKENS, filter_fields, number_field

EXACT = Pinecone(layout="exact")
PLAIN = Pinecone()
FALSE = {"$and": [{TOKENS: {"$eq": "[]"}}, {TOKENS: {"$ne": "[]"}}]}


def absent_or(*clauses: Any, key: str = "k") -> Any:
    present = clauses[0] if len(clauses) == 1 else {"$and": list(clauses)}
    return {"$or": [present, {key: {"$exists": False}}]}


PLAIN_SPEC: list[tuple[Expression, Any]] = [
    (F.k == "a", {"k": {"$eq": "a"}}),
    (F.k == 1, {"k": {"$eq": 1}}),
    (F.k == True, {"k": {"$eq": True}}),  # noqa: E712
    (F.k != "a", absent_or({"k": {"$ne": "a"}})),
    (~(F.k == "a"), absent_or({"k": {"$ne": "a"}})),
    (F.k > 1.5, {"k": {"$gt": 1.5}}),
    (~(F.k > 1.5), {"k": {"$lte": 1.5}}),
    (F.k >= 1, {"k": {"$gte": 1}}),
    (F.k < 1, {"k": {"$lt": 1}}),
    (F.k.in_(["a", "b"]), {"k": {"$in": ["a", "b"]}}),
    (F.k.in_([1, "a", True, 2]), {"$or": [{"k": {"$eq": True}}, {"k": {"$in": [1, 2]}}, {"k": {"$in": ["a"]}}]}),
    (F.k.not_in(["a"]), absent_or({"k": {"$nin": ["a"]}})),
    (F.k.not_in([False, 1]), absent_or({"k": {"$ne": False}}, {"k": {"$nin": [1]}})),
    (F.k.is_null(), {"k": {"$exists": False}}),
    (F.k.is_not_null(), {"k": {"$exists": True}}),
    (F["a.b"] == 1, {"a.b": {"$eq": 1}}),
    ((F.a == 1) & (F.b == 2), {"$and": [{"a": {"$eq": 1}}, {"b": {"$eq": 2}}]}),
    (
        (F.a == 1) | ((F.b == 2) & (F.k != 3)),
        {"$or": [{"a": {"$eq": 1}}, {"$and": [{"b": {"$eq": 2}}, absent_or({"k": {"$ne": 3}})]}]},
    ),
    ((F.a == 1) | (F.k != 3), {"$or": [{"a": {"$eq": 1}}, {"k": {"$ne": 3}}, {"k": {"$exists": False}}]}),
    (F.k.in_([]), FALSE),
]  # fmt: skip

EXACT_SPEC: list[tuple[Expression, Any]] = [
    (F.k == "a", {TOKENS: {"$eq": '["k"]="a"'}}),
    (F.k == 1.0, {TOKENS: {"$eq": '["k"]=1'}}),
    (F.k == True, {TOKENS: {"$eq": '["k"]=true'}}),  # noqa: E712
    (F.a.b != "x y", {TOKENS: {"$ne": '["a","b"]="x\\u0020y"'}}),
    (F.k == 2**60, {TOKENS: {"$eq": '["k"]=1152921504606846976'}}),
    (F.a.b > 1, {"__vecstore_number/a/b": {"$gt": 1}}),
    (F["$x y"] <= -1, {"__vecstore_number/%24x%20y": {"$lte": -1}}),
    (F.k.in_([1, "a", True, 1.0]), {TOKENS: {"$in": ['["k"]=1', '["k"]="a"', '["k"]=true']}}),
    (F.k.not_in(["a"]), {TOKENS: {"$nin": ['["k"]="a"']}}),
    (F.k.is_null(), {TOKENS: {"$ne": '["k"]'}}),
    (F.k.is_not_null(), {TOKENS: {"$eq": '["k"]'}}),
    (F.k.in_([]), FALSE),
]


@pytest.mark.parametrize(("filter", "query"), PLAIN_SPEC, ids=str)
def test_plain_queries(filter: Expression, query: Any) -> None:
    compiled = PLAIN.compile(filter)
    assert repr(compiled.query) == repr(query)
    assert json.loads(str(compiled)) == query
    assert compiled.params == ()


@pytest.mark.parametrize(("filter", "query"), EXACT_SPEC, ids=str)
def test_exact_queries(filter: Expression, query: Any) -> None:
    compiled = EXACT.compile(filter)
    assert repr(compiled.query) == repr(query)
    assert json.loads(str(compiled)) == query


@pytest.mark.parametrize("dialect", [EXACT, PLAIN], ids=repr)
def test_constants(dialect: Pinecone) -> None:
    rules = PineconeRules()
    for number, metadata in enumerate([{}, {"k": 1}, {TOKENS: ["[]"]}, {TOKENS: ["x"]}]):
        rules.upsert(f"r{number}", metadata)
    nothing = dialect.compile(F.k.in_([]) & (F.a == 1))
    assert nothing.matches_nothing
    assert rules.query(nothing.query) == set()
    for everything in (dialect.compile(None), dialect.compile(F.k.not_in([]))):
        assert everything.matches_all
        assert everything.query is None
        assert str(everything) == "(no filter)"
        assert len(rules.query(everything.query)) == 4


def selecting(rules: PineconeRules) -> Any:
    def select(compiled: Compiled) -> set[str]:
        return rules.query(compiled.query)

    return select


@pytest.mark.parametrize(
    "switches",
    [{}, {"missing_matches_ne": True, "other_types_match_ne": False, "empty_list_exists": False}],
    ids=["documented", "other readings"],
)
def test_exact_layout_selects_what_the_rules_say(switches: dict[str, bool]) -> None:
    rows = corpus()[1]
    rules = PineconeRules(**switches)
    for name, metadata in rows.items():
        rules.upsert(name, filter_fields(metadata))
    assert answered(EXACT, rows, selecting(rules)) == 466


@pytest.mark.parametrize("missing_matches_ne", [False, True])
def test_plain_layout_selects_what_the_rules_say(missing_matches_ne: bool) -> None:
    rules = PineconeRules(missing_matches_ne=missing_matches_ne)
    rows: dict[str, dict[str, Any]] = {}
    for name, metadata in corpus()[1].items():
        present = {key: value for key, value in metadata.items() if value not in (None, [])}
        try:
            rules.upsert(name, present)
        except PineconeRejected:
            continue
        rows[name] = present
    assert len(rows) > 500
    assert answered(PLAIN, rows, selecting(rules)) == 434


@given(wild_paths | keys, wild_paths | keys)
@example(("a", "b"), ("a/b",))
@example(("a", "b"), ("a.b",))
@example(("a%2Fb",), ("a/b",))
@example(("a" * 400,), ("a" * 401,))
@example(("A",), ("a",))
def test_every_path_has_a_field_of_its_own(one: Any, other: Any) -> None:
    assert (number_field(one) == number_field(other)) is (one == other)
    name = number_field(one)
    assert name != TOKENS
    assert name.startswith("__vecstore")
    assert name.isascii()
    assert name.split() == [name]
    assert "." not in name
    assert len(name) <= 200


def test_numbers_of_any_size_can_be_ordered() -> None:
    rules = PineconeRules()
    rows = {"big": 10**400, "low": -(10**400), "near": 2**53 + 1, "zero": -0.0, "text": "9"}
    for name, value in rows.items():
        rules.upsert(name, filter_fields({"a": {"b": value}, "list": [value]}))
    assert rules.query(EXACT.compile(F.a.b > 2**53 - 1).query) == {"big", "near"}
    assert rules.query(EXACT.compile(F.a.b < 0).query) == {"low"}
    assert rules.query(EXACT.compile(F.list >= 0).query) == set()
    assert rules.query(EXACT.compile(F.a.b == 10**400).query) == {"big"}
    assert rules.query(EXACT.compile(F.a.b == 2**53).query) == set()


def refusal(dialect: Pinecone, text: str) -> UnsupportedFilterError:
    with pytest.raises(UnsupportedFilterError) as caught:
        dialect.compile(text)
    error = caught.value
    assert error.dialect == "pinecone"
    assert error.remedy
    return error


def test_refusals_name_the_place_the_reason_and_the_way_out() -> None:
    error = refusal(PLAIN, "a == 1 AND author.name == 'x'")
    assert (error.key, error.op.symbol) == ("author.name", "==")  # type: ignore[union-attr]
    assert "flat" in error.reason
    assert 'layout="exact"' in str(error.remedy)
    assert "column 12" in str(error)
    assert "cannot start with $" in refusal(PLAIN, "\"$where\" == 'x'").reason
    for dialect in (PLAIN, EXACT):
        error = refusal(dialect, "NOT (created >= '2024-01-01')")
        assert "not texts" in error.reason
        assert error.op.symbol == ">="  # type: ignore[union-attr]
        assert "number" in str(error.remedy)


def test_limits_on_both_sides() -> None:
    names = [f"v{number}" for number in range(10_001)]
    rules = PineconeRules()
    for dialect in (PLAIN, EXACT):
        query = dialect.compile(F.k.in_(names[:10_000])).query
        assert rules.query(query) == set()
        # A request may have 2 MB.
        assert len(json.dumps(query)) < 1_000_000
        with pytest.raises(UnsupportedFilterError, match="max_list"):
            dialect.compile(F.k.in_(names), limits=None)
    assert "max_number" in refusal(PLAIN, "k == 9007199254740992").reason
    assert "max_number" in refusal(PLAIN, "k > 1e16").reason
    assert "max_ordered_number" in refusal(EXACT, "k > 9007199254740992").reason
    PLAIN.compile("k == 9007199254740991")
    EXACT.compile("k > -9007199254740991 AND k != 9007199254740993")


def nested(levels: int) -> Expression:
    filter: Expression = (F.k == "x") & F.k.not_in([1, "a"])
    for level in range(levels - 1):
        filter = (filter & (F.k == level)) if level % 2 else (filter | (F.k == level))
    return filter


def test_the_deepest_filter_still_fits_into_a_protobuf_message() -> None:
    from google.protobuf.struct_pb2 import Struct

    for dialect in (PLAIN, EXACT):
        message = Struct()
        message.update(dialect.compile(nested(16)).query)
        assert Struct.FromString(message.SerializeToString()) == message
        with pytest.raises(UnsupportedFilterError, match="max_depth"):
            dialect.compile(nested(17))


def test_options() -> None:
    with pytest.raises(ConfigurationError, match="one of plain, exact"):
        Pinecone(layout="native")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="its options are: layout"):
        Pinecone(tokens=True)  # type: ignore[call-arg]
    assert Pinecone(layout="exact") == EXACT != PLAIN
    assert len({EXACT, PLAIN, Pinecone()}) == 2


# --- from reports of users of other libraries -------------------------------------------------


def test_ne_finds_documents_without_the_key_on_old_and_new_servers() -> None:
    """$ne selected records without the field until 2024, and has not since."""
    query = PLAIN.compile(F.k != 1).query
    assert query == {"$or": [{"k": {"$ne": 1}}, {"k": {"$exists": False}}]}
    for missing_matches_ne in (False, True):
        rules = PineconeRules(missing_matches_ne=missing_matches_ne)
        for name, metadata in {"one": {"k": 1}, "two": {"k": 2}, "none": {}}.items():
            rules.upsert(name, metadata)
        assert rules.query(query) == {"two", "none"}
        assert rules.query(PLAIN.compile(F.k.not_in([1, 3])).query) == {"two", "none"}


def test_integers_that_come_back_as_floats_are_still_found() -> None:
    rules = PineconeRules()
    rules.upsert("x", {"chapter": 1.0})
    for filter in (F.chapter == 1, F.chapter == 1.0, F.chapter.in_([1]), F.chapter.in_([True, 1])):
        assert rules.query(PLAIN.compile(filter).query) == {"x"}
    assert rules.query(PLAIN.compile(F.chapter == "1").query) == set()


@pytest.mark.parametrize("value", [0, 0.0, False, ""])
@pytest.mark.parametrize("dialect", [EXACT, PLAIN], ids=repr)
def test_falsy_values_are_values(dialect: Pinecone, value: Any) -> None:
    compiled = dialect.compile(F.n == value)
    assert not compiled.matches_all
    rules = PineconeRules()
    for name, metadata in {"same": {"n": value}, "other": {"n": 7}, "none": {}}.items():
        rules.upsert(name, filter_fields(metadata) if dialect is EXACT else metadata)
    assert rules.query(compiled.query) == {"same"}


@pytest.mark.parametrize(
    "key",
    [
        'a"] == 1 or m["b', "a' OR 1=1 --", "a}) RETURN n //", "x:1 OR y", "$where", "a`b", "$or", "$and",
        "$exists", "__proto__", '["k"]', '"},"$or":[{}],"x":{"',
    ],
)  # fmt: skip
def test_a_key_from_a_stranger_never_becomes_an_operator(key: str) -> None:
    rules = PineconeRules()
    for name, metadata in {"hit": {key: 1}, "miss": {"k": 1}}.items():
        rules.upsert(name, filter_fields(metadata))
    assert rules.query(EXACT.compile(F[key] == 1).query) == {"hit"}
    assert rules.query(EXACT.compile(F[key] >= 1).query) == {"hit"}
    if key.startswith("$"):
        with pytest.raises(UnsupportedFilterError, match="start with"):
            PLAIN.compile(F[key] == 1)
    else:
        assert PLAIN.compile(F[key] == 1).query == {key: {"$eq": 1}}


def test_values_from_a_stranger_stay_values() -> None:
    rules = PineconeRules()
    hostile = [
        'x" || $.tenant == "t2',
        "C:\\docs\\",
        "line\nbreak\t\r",
        "\u2028",
        '"}]}',
        "{$ne: 1}",
    ]
    for number, value in enumerate(hostile):
        rules.upsert(f"r{number}", filter_fields({"k": value}))
    for number, value in enumerate(hostile):
        assert rules.query(EXACT.compile(F.k == value).query) == {f"r{number}"}
        assert PLAIN.compile(F.k == value).query == {"k": {"$eq": value}}


def test_list_elements_are_matched_whole() -> None:
    rules = PineconeRules()
    for name, roles in {"both": ["hr", "it"], "other": ["audit"]}.items():
        rules.upsert(name, filter_fields({"roles": roles, "ids": [len(roles), 7]}))
    assert rules.query(EXACT.compile(F.roles == "it").query) == {"both"}
    assert rules.query(EXACT.compile(F.roles != "it").query) == {"other"}
    assert rules.query(EXACT.compile(F.ids.in_([2, 3])).query) == {"both"}


# --- texts in order ---------------------------------------------------------------------------


def test_texts_of_declared_keys_are_ordered() -> None:
    dialect = Pinecone(layout="exact", texts=["created", "author.name"])
    assert dialect.texts == {("created",), ("author", "name")}
    rules = PineconeRules()
    rows: dict[str, dict[str, Any]] = {
        "january": {"created": "2024-01-31"},
        "february": {"created": "2024-02"},
        "long": {"created": "2024-02" + "x" * 100},
        "empty": {"created": ""},
        "number": {"created": 2024},
        "list": {"created": ["2024-02"]},
        "none": {},
    }
    for name, metadata in rows.items():
        rules.upsert(name, filter_fields(metadata, dialect.texts))  # type: ignore[arg-type]
    for literal in ("", "2", "2024-01-31", "2024-02", "2024-02x", "é" * 14):
        for filter in (
            F.created > literal,
            F.created >= literal,
            F.created < literal,
            F.created <= literal,
            ~(F.created < literal),
        ):
            expected = {name for name, metadata in rows.items() if filter.matches(metadata)}
            assert rules.query(dialect.compile(filter).query) == expected, filter
    with pytest.raises(UnsupportedFilterError, match="first 29 bytes, not by 30"):
        dialect.compile(F.created > "x" * 30)
    with pytest.raises(UnsupportedFilterError, match="not texts"):
        dialect.compile(F.other > "x")
    with pytest.raises(ConfigurationError, match="no list of keys"):
        Pinecone(layout="exact", texts="created")
