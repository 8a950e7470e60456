from __future__ import annotations

from typing import Any

import pytest

from tests.engines.weaviate_rules import WeaviateRejected, WeaviateRules
from tests.engines.weaviate_text import STOPWORDS, tokens_of

OBJECTS: dict[str, dict[str, Any]] = {
    "bare": {},
    "nulls": {"tags": None, "year": None},
    "empty": {"tags": [], "title": "", "years": []},
    "first": {"tags": ["a", "b"], "title": "Hello, World", "year": 2020, "years": [2019, 2021]},
    "second": {"tags": ["b c"], "title": "world", "year": 2021, "open": True, "score": 0.5},
    "third": {"title": " padded ", "score": 2, "open": False, "day": "2024-01-01T01:00:00+01:00"},
}
ALL = set(OBJECTS)


def filled(**switches: bool) -> WeaviateRules:
    rules = WeaviateRules(**{"index_null_state": True, **switches})
    rules.add_property("tags", "text[]", tokenization="field")
    rules.add_property("title", "text")
    rules.add_property("exact", "text", tokenization="field")
    rules.add_property("year", "int")
    rules.add_property("years", "int[]")
    rules.add_property("score", "number")
    rules.add_property("scores", "number[]")
    rules.add_property("open", "boolean")
    rules.add_property("flags", "boolean[]")
    rules.add_property("day", "date")
    rules.add_property("hidden", "text", index_filterable=False)
    for id, properties in OBJECTS.items():
        rules.insert(id, properties)
    return rules


def where(operator: str, name: str, **value: Any) -> dict[str, Any]:
    return {"operator": operator, "path": [name], **value}


def selected(tree: Any, **switches: bool) -> set[str]:
    return filled(**switches).query(tree)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (where("Equal", "year", valueInt=2020), {"first"}),
        (where("NotEqual", "year", valueInt=2020), ALL - {"first"}),
        (where("GreaterThan", "year", valueInt=2020), {"second"}),
        (where("GreaterThanEqual", "year", valueInt=2020), {"first", "second"}),
        (where("LessThan", "year", valueInt=2021), {"first"}),
        (where("LessThanEqual", "year", valueInt=2021), {"first", "second"}),
        # An array is compared by its elements: 2019 and 2021 lie on both sides of 2020.
        (where("GreaterThan", "years", valueInt=2020), {"first"}),
        (where("LessThan", "years", valueInt=2020), {"first"}),
        (where("Equal", "years", valueInt=2021), {"first"}),
        (where("Equal", "score", valueNumber=2), {"third"}),
        (where("LessThan", "score", valueNumber=1.5), {"second"}),
        (where("Equal", "open", valueBoolean=False), {"third"}),
        (where("NotEqual", "open", valueBoolean=False), ALL - {"third"}),
        (where("Equal", "day", valueDate="2024-01-01T00:00:00Z"), {"third"}),
        (where("GreaterThan", "day", valueDate="2024-01-01T00:00:00.000000001Z"), set()),
        (where("LessThan", "day", valueDate="2024-01-01T00:00:00.000000001Z"), {"third"}),
        (where("Equal", "tags", valueText="b"), {"first"}),
        (where("Equal", "tags", valueText=" b c "), {"second"}),
        (where("ContainsAny", "tags", valueTextArray=["a", "b c"]), {"first", "second"}),
        (where("ContainsAny", "tags", valueText=["a", "b c"]), {"first", "second"}),
        (where("ContainsAll", "tags", valueTextArray=["a", "b"]), {"first"}),
        (where("ContainsNone", "tags", valueTextArray=["a", "x"]), ALL - {"first"}),
        (where("ContainsAny", "years", valueIntArray=[2019, 1]), {"first"}),
        (where("ContainsNone", "years", valueIntArray=[2019, 1]), ALL - {"first"}),
        (where("IsNull", "tags", valueBoolean=True), ALL - {"first", "second"}),
        (where("IsNull", "tags", valueBoolean=False), {"first", "second"}),
        (where("IsNull", "title", valueBoolean=False), {"first", "second", "third"}),
        (where("IsNull", "score", valueBoolean=False), {"second", "third"}),
    ],
)
def test_each_operator(tree: dict[str, Any], expected: set[str]) -> None:
    assert selected(tree) == expected


def test_operands() -> None:
    recent = where("GreaterThan", "year", valueInt=2020)
    tagged = where("Equal", "tags", valueText="a")
    assert selected(None) == ALL
    assert selected({"operator": "And", "operands": [recent, tagged]}) == set()
    assert selected({"operator": "Or", "operands": [recent, tagged]}) == {"first", "second"}
    assert selected({"operator": "Not", "operands": [recent]}) == ALL - {"second"}
    assert selected({"operator": "And", "operands": [recent]}) == {"second"}
    twice = {"operator": "Not", "operands": [{"operator": "Not", "operands": [tagged]}]}
    assert selected(twice) == {"first"}


def test_words_are_looked_up_one_by_one() -> None:
    assert selected(where("Equal", "title", valueText="WORLD!")) == {"first", "second"}
    assert selected(where("Equal", "title", valueText="world hello")) == {"first"}
    assert selected(where("Equal", "title", valueText="the world")) == {"first", "second"}
    # Neither word may be there, which is less than the complement of both being there.
    assert selected(where("NotEqual", "title", valueText="world hello")) == ALL - {
        "first",
        "second",
    }


@pytest.mark.parametrize("text", ["the", "To be or not", "", " ", "!?"])
def test_a_literal_without_words(text: str) -> None:
    for tree in (
        where("Equal", "title", valueText=text),
        where("ContainsAny", "title", valueTextArray=["hello", text]),
    ):
        with pytest.raises(WeaviateRejected, match="only stopwords"):
            selected(tree)


def test_a_whole_field_has_no_stopwords() -> None:
    tree = where("Equal", "tags", valueText="the")
    assert selected(tree) == set()
    with pytest.raises(WeaviateRejected, match="only stopwords"):
        selected(tree, stopwords_everywhere=True)


def test_white_space_around_a_whole_field_is_lost() -> None:
    rules = filled()
    rules.insert("spaced", {"exact": "\u00a0x y\n"})
    rules.insert("blank", {"exact": " "})
    assert rules.query(where("Equal", "exact", valueText="x y")) == {"spaced"}
    # Blank is no empty text: it is trimmed only as a term, and not for the null state.
    assert "blank" in rules.query(where("IsNull", "exact", valueBoolean=False))
    assert rules.query(where("Equal", "exact", valueText="")) == {"blank"}


def test_empty_text_is_a_term() -> None:
    rules = filled(empty_text_is_a_term=False)
    rules.insert("blank", {"exact": " "})
    assert rules.query(where("Equal", "exact", valueText="")) == set()


def test_texts_are_ordered_by_bytes() -> None:
    rules = filled()
    for id, text in {
        "upper": "Z",
        "lower": "a",
        "accent": "é",
        "emoji": "😀",
        "high": "\uffee",
    }.items():
        rules.insert(id, {"exact": text})
    assert rules.query(where("LessThan", "exact", valueText="a")) == {"upper"}
    assert rules.query(where("GreaterThan", "exact", valueText="é")) == {"emoji", "high"}
    assert rules.query(where("GreaterThanEqual", "exact", valueText="😀")) == {"emoji"}


@pytest.mark.parametrize(
    ("tokenization", "tokens"),
    [
        ("word", ["hello", "beautiful", "world", "ünï", "42"]),
        ("lowercase", ["hello,", "(beautiful)", "world", "ünï", "42"]),
        ("whitespace", ["Hello,", "(beautiful)", "world", "Ünï", "42"]),
        ("field", ["Hello, (beautiful)  world Ünï 42"]),
    ],
)
def test_tokenization(tokenization: str, tokens: list[str]) -> None:
    assert tokens_of(tokenization, " Hello, (beautiful)  world Ünï 42\t") == tokens


def test_only_what_go_calls_white_space() -> None:
    assert tokens_of("field", "\u3000\x1cx\x1c\u3000") == ["\x1cx\x1c"]
    assert tokens_of("whitespace", "a\x1cb\u2028c") == ["a\x1cb", "c"]
    assert len(STOPWORDS) == 33


def test_fractions_of_a_second() -> None:
    rules = filled()
    for fraction in ("", ".25", ".3", ".300000001"):
        rules.insert(f"at{fraction}", {"day": f"2020-01-01T00:00:00{fraction}Z"})
    before = {
        ".25": {"at"},
        ".3": {"at", "at.25"},
        ".30": {"at", "at.25"},
        ".4": {"at", "at.25", "at.3", "at.300000001"},
    }
    for literal, expected in before.items():
        tree = where("LessThan", "day", valueDate=f"2020-01-01T00:00:00{literal}z")
        assert rules.query(tree) == expected
    tree = where("GreaterThan", "day", valueDate="2020-01-01t00:00:00.3+00:00")
    assert rules.query(tree) == {"at.300000001", "third"}


def test_integers_have_64_bits_and_numbers_are_floats() -> None:
    odd = 2**53 + 1
    rules = filled()
    rules.insert("odd", {"year": odd, "score": odd})
    assert rules.query(where("Equal", "year", valueInt=odd)) == {"odd"}
    assert rules.query(where("Equal", "year", valueInt=2**53)) == set()
    assert rules.query(where("Equal", "score", valueNumber=2**53)) == {"odd"}
    rules = filled(ints_pass_through_doubles=True)
    rules.insert("odd", {"year": odd})
    assert rules.query(where("Equal", "year", valueInt=odd)) == set()
    assert rules.query(where("Equal", "year", valueInt=2**53)) == {"odd"}


def test_a_property_added_later_is_not_indexed_for_what_is_there() -> None:
    rules = filled()
    rules.add_property("later", "text", tokenization="field")
    rules.insert("new", {})
    assert rules.query(where("IsNull", "later", valueBoolean=True)) == {"new"}
    assert rules.query(where("IsNull", "later", valueBoolean=False)) == set()
    assert rules.query(where("NotEqual", "later", valueText="x")) == ALL | {"new"}
    rules.insert("first", {})
    assert rules.query(where("IsNull", "later", valueBoolean=True)) == {"new", "first"}


def test_an_object_is_replaced_whole() -> None:
    rules = filled()
    rules.insert("first", {"year": 1})
    assert rules.query(where("Equal", "year", valueInt=2020)) == set()
    assert rules.query(where("Equal", "tags", valueText="a")) == set()
    assert "first" in rules.query(where("IsNull", "tags", valueBoolean=True))
    assert "first" not in rules.query(where("IsNull", "tags", valueBoolean=False))


def test_null_state_has_to_be_asked_for() -> None:
    with pytest.raises(WeaviateRejected, match="indexNullState"):
        selected(where("IsNull", "tags", valueBoolean=True), index_null_state=False)


def test_negation_needs_a_server_that_knows_it() -> None:
    tree = where("ContainsNone", "tags", valueTextArray=["a"])
    for negative in (tree, {"operator": "Not", "operands": [tree]}):
        with pytest.raises(WeaviateRejected, match=r"1\.33"):
            selected(negative, negation=False)


def test_contains_on_scalars() -> None:
    tree = where("ContainsAny", "year", valueIntArray=[2020, 1])
    with pytest.raises(WeaviateRejected, match="only for texts and arrays"):
        selected(tree)
    assert selected(tree, contains_on_scalars=True) == {"first"}


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({}, "unrecognized operator"),
        ([], "an object is expected"),
        (where("Is", "year", valueInt=1), "unrecognized operator"),
        (where("equal", "year", valueInt=1), "unrecognized operator"),
        (where("Like", "title", valueText="a*"), "unrecognized operator"),
        (where("Equal", "year", valueInt=1, note=""), "unknown fields"),
        (where("Equal", "year", valueString="1"), "unknown fields"),
        (where("Equal", "year"), "no value<Type> field"),
        (where("Equal", "year", valueInt=None), "no value<Type> field"),
        (where("ContainsAny", "tags", valueTextArray=[]), "no value<Type> field"),
        (where("ContainsNone", "tags", valueText=[]), "no value<Type> field"),
        (where("Equal", "year", valueInt=1, valueText="1"), "more than one value"),
        (where("Equal", "year", valueNumber=1.0), "cannot use valueNumber on type int"),
        (where("Equal", "year", valueText="1"), "cannot use valueText on type int"),
        (where("Equal", "score", valueInt=1), "cannot use valueInt on type number"),
        (where("Equal", "open", valueInt=1), "cannot use valueInt on type boolean"),
        (where("Equal", "tags", valueBoolean=True), r"on type text\[\]"),
        (where("Equal", "day", valueText="2024-01-01T00:00:00Z"), "on type date"),
        (where("Equal", "year", valueInt=True), "int is expected"),
        (where("Equal", "year", valueInt=1.0), "int is expected"),
        (where("Equal", "year", valueInt=2**63), "64 bits"),
        (where("Equal", "score", valueNumber=True), "number is expected"),
        (where("Equal", "score", valueNumber=float("nan")), "64-bit float"),
        (where("Equal", "open", valueBoolean=1), "boolean is expected"),
        (where("Equal", "title", valueText=1), "text is expected"),
        (where("Equal", "exact", valueText="\ud800"), "not text"),
        (where("Equal", "day", valueDate="2024-01-01"), "RFC 3339"),
        (where("Equal", "day", valueDate="2024-01-01T00:00:00"), "RFC 3339"),
        (
            where("Equal", "day", valueDate="2024-02-30T00:00:00Z"),
            "out of range|must be in range|day is",
        ),
        (where("Equal", "tags", valueTextArray=["a"]), "a single value"),
        (where("GreaterThan", "years", valueIntArray=[1]), "a single value"),
        (where("ContainsAny", "tags", valueText="a"), "a list of values"),
        (where("ContainsAny", "tags", valueTextArray="a"), "takes a list"),
        (where("ContainsAny", "tags", valueTextArray=["a", 1]), "text is expected"),
        (where("ContainsAny", "years", valueIntArray=[1, True]), "int is expected"),
        (where("LessThan", "open", valueBoolean=True), "order of booleans"),
        (where("LessThan", "flags", valueBoolean=True), "order of booleans"),
        (where("IsNull", "tags", valueText="true"), "valueBoolean is expected"),
        (where("IsNull", "tags"), "no value<Type> field"),
        (where("Equal", "missing", valueInt=1), "no such property"),
        # The server lower-cases the first letter of a name when it is made, and not in a path.
        (where("Equal", "Year", valueInt=1), "no such property"),
        (where("Equal", "hidden", valueText="a"), "no filterable index"),
        ({"operator": "Equal", "valueInt": 1}, "a path of one property"),
        ({"operator": "Equal", "path": [], "valueInt": 1}, "a path of one property"),
        ({"operator": "Equal", "path": ["a", "B", "c"], "valueInt": 1}, "a path of one property"),
        ({"operator": "Equal", "path": "year", "valueInt": 1}, "a path of one property"),
        ({"operator": "And"}, "no operands"),
        ({"operator": "And", "operands": []}, "no operands"),
        ({"operator": "Or", "operands": []}, "no operands"),
        ({"operator": "Or", "operands": [{}]}, r"Or\[0\]: unrecognized"),
        ({"operator": "Not", "operands": []}, "no operands"),
        ({"operator": "And", "operands": [{}], "path": ["year"]}, "not compatible"),
        ({"operator": "And", "operands": [{}], "valueInt": 1}, "not compatible"),
        (where("Equal", "year", valueInt=1, operands=[]), "not compatible"),
    ],
)
def test_what_a_filter_may_not_be(tree: Any, reason: str) -> None:
    with pytest.raises(WeaviateRejected, match=reason):
        selected(tree)


def test_not_takes_one_operand() -> None:
    operand = where("Equal", "year", valueInt=1)
    with pytest.raises(WeaviateRejected, match="given 2"):
        selected({"operator": "Not", "operands": [operand, operand]})


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a.b", "é", "a b", "x" * 232, "id", "_id", "Id"])
def test_what_a_property_may_not_be_called(name: str) -> None:
    with pytest.raises(WeaviateRejected):
        WeaviateRules().add_property(name, "text")


def test_names() -> None:
    rules = WeaviateRules()
    rules.add_property("Title", "text", tokenization="field")
    rules.add_property("x" * 231, "int")
    for same in ("title", "Title", "TITLE", "tiTle"):
        with pytest.raises(WeaviateRejected, match="already in use"):
            rules.add_property(same, "text")
    rules.insert("a", {"Title": "x"})
    assert rules.query(where("Equal", "title", valueText="x")) == {"a"}
    with pytest.raises(WeaviateRejected, match="given twice"):
        rules.insert("a", {"Title": "x", "title": "y"})


@pytest.mark.parametrize(
    ("data_type", "tokenization"),
    [
        ("string", None),
        ("object", None),
        ("text", "trigrams"),
        ("int", "field"),
        ("text[][]", None),
    ],
)
def test_what_a_property_may_not_hold(data_type: str, tokenization: str | None) -> None:
    with pytest.raises(WeaviateRejected):
        WeaviateRules().add_property("p", data_type, tokenization=tokenization)


@pytest.mark.parametrize(
    "properties",
    [
        {"unknown": 1},
        {"year": 1.0},
        {"year": True},
        {"year": "1"},
        {"year": 2**63},
        {"score": "1"},
        {"score": float("inf")},
        {"score": 10**400},
        {"open": 1},
        {"title": 1},
        {"title": ["a"]},
        {"title": {"a": 1}},
        {"title": "\ud800"},
        {"tags": "a"},
        {"tags": ["a", None]},
        {"tags": ["a", 1]},
        {"years": [1, 2.5]},
        {"day": "yesterday"},
    ],
)
def test_what_an_object_may_not_hold(properties: dict[str, Any]) -> None:
    rules = filled()
    with pytest.raises(WeaviateRejected):
        rules.insert("refused", properties)
    assert rules.query(None) == ALL
