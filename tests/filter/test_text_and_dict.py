from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.filter.strategies import keys, trees
from vecstore import (
    Expression,
    F,
    FilterError,
    FilterLimitError,
    FilterTypeError,
    Key,
    Limits,
    compile_filter,
    parse,
)
from vecstore.filter.keys import key_form, read_key


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ((F.a == 1) | (F.b == 2) & (F.c == 3), "a == 1 OR b == 2 AND c == 3"),
        (((F.a == 1) | (F.b == 2)) & (F.c == 3), "(a == 1 OR b == 2) AND c == 3"),
        (~((F.a == 1) & (F.b == 2)), "NOT (a == 1 AND b == 2)"),
        (~(F.a == 1) & (F.b == 2), "NOT a == 1 AND b == 2"),
        (~~(F.a.is_null()), "NOT NOT a IS NULL"),
        (F.a.not_in(["x", 1, True, 0.5]), "a NOT IN ['x', 1, true, 0.5]"),
        (F.a.in_([]), "a IN []"),
        (F["a.b"].c == "it's", "\"a.b\".c == 'it\\'s'"),
        (F["in"] == 1, '"in" == 1'),
        (F["WhErE"] == 1, '"WhErE" == 1'),
        (F["date"] == 1, "date == 1"),
        (F["ﬁ"] == 1, "ﬁ == 1"),
        (F["1a"] == 1, '"1a" == 1'),
        (
            F['say "hi"\\'] == "\n\t\r\x07\u2028\U000e0001",
            '"say \\"hi\\"\\\\" == \'\\n\\t\\r\\u0007\\u2028\\U000e0001\'',
        ),
        (F.a == -0.0, "a == -0.0"),
        (F.a == 10**30, f"a == {10**30}"),
        (F.a == 1e300, "a == 1e+300"),
        (F.a.is_not_null(), "a IS NOT NULL"),
    ],
)
def test_canonical_text(tree: Expression, text: str) -> None:
    assert tree.to_text() == str(tree) == text


@given(trees)
def test_dict_round_trip_through_json(tree: Expression) -> None:
    again = Expression.from_dict(json.loads(json.dumps(tree.to_dict())), limits=None)
    assert again == tree
    assert again.to_dict() == tree.to_dict()


@given(trees)
def test_text_round_trip(tree: Expression) -> None:
    from vecstore import parse

    text = tree.to_text()
    assert parse(text, limits=None) == tree
    assert parse(text, limits=None).to_text() == text


def test_dict_form() -> None:
    tree = (F.country == "BG") & F.author.name.in_(["x"]) & ~F.z.is_null()
    assert tree.to_dict() == {
        "op": "and",
        "operands": [
            {"op": "eq", "key": "country", "value": "BG"},
            {"op": "in", "key": ["author", "name"], "value": ["x"]},
            {"op": "not", "operands": [{"op": "isnull", "key": "z"}]},
        ],
    }


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "object"),
        ([], "object"),
        ("a == 1", "object"),
        ({}, '"op"'),
        ({"op": "like", "key": "a", "value": 1}, "unknown operator 'like'"),
        ({"op": "== 1) OR (1", "key": "a", "value": 1}, "unknown operator"),
        ({"op": ["eq"], "key": "a", "value": 1}, "unknown operator"),
        ({"op": "EQUALISH", "key": "a", "value": 1}, "unknown operator"),
        ({"op": 10**5000}, "unknown operator 0x"),
        ({"op": "eq", 10**5000: 1, "key": "a", "value": 1}, "unknown field 0x"),
        ({"op": "eq", "key": [10**5000], "value": 1}, "a key is text"),
        ({"year": {"gte": 2022}}, '"op"'),
        ({"op": "eq", "key": "a"}, "missing field 'value'"),
        ({"op": "eq", "value": 1}, "missing field 'key'"),
        ({"op": "eq", "key": "a", "value": 1, "extra": 2}, "unknown field 'extra'"),
        ({"op": "isnull", "key": "a", "value": 1}, "unknown field 'value'"),
        ({"op": "eq", "key": 5, "value": 1}, '"key" is text'),
        ({"op": "eq", "key": [], "value": 1}, "at least one segment"),
        ({"op": "eq", "key": ["a", ""], "value": 1}, "empty"),
        ({"op": "eq", "key": "__vecstore", "value": 1}, "reserved"),
        ({"op": "eq", "key": "a", "value": None}, 'write {"op": "isnull", "key": "a"}'),
        ({"op": "eq", "key": "a", "value": {"$gt": 1}}, "object"),
        ({"op": "eq", "key": "a", "value": [1]}, 'write {"op": "in", "key": "a", "value": [1]}'),
        ({"op": "in", "key": "a", "value": "x"}, "list"),
        ({"op": "gt", "key": "a", "value": True}, "order"),
        ({"op": "and", "operands": [{"op": "isnull", "key": "a"}]}, "at least two"),
        ({"op": "and", "operands": {"op": "isnull", "key": "a"}}, "is a list"),
        ({"op": "not", "operands": []}, "one expression"),
        ({"op": "and", "operands": [1, 2]}, "object"),
        ({"op": "and"}, "missing field 'operands'"),
    ],
)
def test_dicts_that_are_no_filter(data: object, says: str) -> None:
    with pytest.raises(FilterTypeError) as caught:
        Expression.from_dict(data)  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_limits_of_the_dict_form() -> None:
    atom = {"op": "eq", "key": "a", "value": 1}
    deep = atom
    for _ in range(64):
        deep = {"op": "not", "operands": [deep]}
    Expression.from_dict(deep)
    with pytest.raises(FilterLimitError, match="64 levels") as caught:
        Expression.from_dict({"op": "not", "operands": [deep]})
    assert caught.value.limit == "depth"
    with pytest.raises(FilterLimitError, match="10,000 expressions"):
        Expression.from_dict({"op": "and", "operands": [atom] * 10_000})
    Expression.from_dict({"op": "and", "operands": [atom] * 9_999})
    with pytest.raises(FilterLimitError, match="10,000 values"):
        Expression.from_dict({"op": "in", "key": "a", "value": list(range(10_001))})
    Expression.from_dict({"op": "in", "key": "a", "value": list(range(10_000))})
    with pytest.raises(FilterLimitError, match="limit in_values"):
        Expression.from_dict({"op": "in", "key": "a", "value": [1, 2]}, limits=Limits(in_values=1))


def test_what_is_no_filter_is_shown_in_short() -> None:
    for data in ({"op": "x" * 10_000}, {"op": "isnull", "key": "a", "y" * 10_000: 1}):
        with pytest.raises(FilterTypeError) as caught:
            Expression.from_dict(data)
        assert len(str(caught.value)) < 250


def test_limits_are_limits() -> None:
    for attempt in (
        lambda: Expression.from_dict({"op": "isnull", "key": "a"}, limits=100),  # type: ignore[arg-type]
        lambda: compile_filter(F.a.is_null(), "qdrant", limits=100),  # type: ignore[arg-type]
        lambda: parse("a IS NULL", limits=100),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="limits is a Limits or None, not a int"):
            attempt()


def test_a_dict_that_holds_itself_is_stopped_by_the_limits() -> None:
    loop: dict[str, object] = {"op": "and"}
    loop["operands"] = [loop, loop]
    with pytest.raises(FilterError):
        Expression.from_dict(loop)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("country", ("country",)),
        ("author.name", ("author", "name")),
        (" author . 'first name' ", ("author", "first name")),
        ('"a.b"', ("a.b",)),
        ("a.\"b.c\".'d\\'e'", ("a", "b.c", "d'e")),
        ('"tab\\t\\u00e9\\U0001f600"', ("tab\té\U0001f600",)),
        ("date.timestamp", ("date", "timestamp")),
        (["a.b"], ("a.b",)),
        (["author", "name"], ("author", "name")),
        (["in"], ("in",)),
        (["it's", '"'], ("it's", '"')),
    ],
)
def test_keys_of_the_dict_form_are_read_as_in_a_text(given: Any, path: tuple[str, ...]) -> None:
    tree = Expression.from_dict({"op": "eq", "key": given, "value": 1})
    assert tree.key.path == path
    if isinstance(given, str):
        assert parse(f"{given} == 1") == tree
    assert Expression.from_dict(tree.to_dict()) == tree
    assert read_key(key_form(path)) == path


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("odd.key 2", "write ['odd.key 2'] or '\"odd.key 2\"'"),
        ("page.no-1", "page.no-1"),
        ("a.NOT", "no key"),
        ("a.", "no key"),
        (".a", "no key"),
        ("a..b", "no key"),
        ("a.b c", "no key"),
        (" ", "no key"),
        ('"a', "no key"),
        ('"a\\q"', "no key"),
        ('"\\ud83d"', "surrogate"),
        ("", "empty"),
        ("a.'__vecstore'", "reserved"),
    ],
)
def test_keys_that_cannot_be_read_are_refused(given: str, says: str) -> None:
    with pytest.raises(FilterTypeError, match="key") as caught:
        Expression.from_dict({"op": "isnull", "key": given})
    assert says in str(caught.value)


@given(keys)
def test_keys_read_back_in_every_form(key: Key) -> None:
    assert read_key(key_form(key.path)) == read_key(str(key)) == read_key(key.path) == key.path


@pytest.mark.parametrize(
    "name", ["odd key", "page-number", "in", "NULL", "0", "a[0]", "$where", "it's"]
)
def test_a_text_without_dots_is_one_name(name: str) -> None:
    tree = Expression.from_dict({"op": "isnull", "key": name})
    assert tree.key.path == (name,)
    assert tree.to_dict()["key"] == ([name] if "'" in name else name)
