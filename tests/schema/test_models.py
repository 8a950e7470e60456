"""What a schema tells models and forms: JSON Schema of filters, words, and its file."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecstore import Expression, FilterTypeError, Schema, parse

SCHEMA = Schema(
    {
        "year": int,
        "lang": Literal["en", "de"],
        "open": bool,
        "tags": list[str],
        "created": datetime,
        "author": {"name": str},
    }
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA.json_schema())


def test_it_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.json_schema())


@pytest.mark.parametrize(
    "text",
    [
        "year >= 2020",
        "year IN [1, 2] AND NOT (lang == 'en' OR tags == 'x')",
        "tags NOT IN ['a'] OR tags IS NULL",
        "author.name != 'x' AND author.name IS NOT NULL",
        "created < TIMESTAMP '2024-01-01'",
        "open == true",
    ],
)
def test_filters_that_fit_are_valid(text: str) -> None:
    VALIDATOR.validate(parse(text, schema=SCHEMA).to_dict())


@pytest.mark.parametrize(
    "form",
    [
        {"op": "eq", "key": "yaer", "value": 2020},
        {"op": "eq", "key": "year", "value": "2020"},
        {"op": "gt", "key": "open", "value": True},
        {"op": "gt", "key": "tags", "value": "a"},
        {"op": "eq", "key": "lang", "value": "fr"},
        {"op": "eq", "key": "created", "value": "yesterday"},
        {"op": "in", "key": "year", "value": 2020},
        {"op": "eq", "key": "year", "value": 2020, "more": 1},
        {"op": "and", "operands": [{"op": "isnull", "key": "year"}]},
        {"op": "not", "operands": []},
        {"op": "like", "key": "lang", "value": "e"},
        {"op": "eq", "key": "author", "value": "x"},
    ],
)
def test_filters_that_do_not_fit_are_invalid(form: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(form)
    with pytest.raises(FilterTypeError):
        SCHEMA.check(Expression.from_dict(form))


ATOMS = [
    atom for atom in SCHEMA.json_schema()["$defs"]["filter"]["anyOf"] if "key" in atom["properties"]
]
LITERALS = st.one_of(
    st.sampled_from(["en", "de", "x", "2024-01-01T00:00:00.000000Z", 2020, 1.5, True, False]),
    st.lists(st.sampled_from(["en", "x", 1, True, "2024-01-01T00:00:00.000000Z"]), max_size=3),
)


@settings(max_examples=400, deadline=None)
@given(
    key=st.sampled_from(["year", "lang", "open", "tags", "created", ["author", "name"], "other"]),
    op=st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "isnull", "isnotnull"]),
    value=LITERALS,
)
def test_both_say_the_same(key: Any, op: str, value: Any) -> None:
    """What the JSON Schema admits is read and checked without an error, and nothing else is."""
    form = {"op": op, "key": key}
    if op not in ("isnull", "isnotnull"):
        form["value"] = value
    try:
        SCHEMA.check(Expression.from_dict(form))
        fits = True
    except FilterTypeError:
        fits = False
    assert VALIDATOR.is_valid(form) is fits


def test_its_words_name_every_key_and_their_examples_fit() -> None:
    words = SCHEMA.describe()
    for key in ["year", "lang", "open", "tags", "created", "author.name"]:
        assert f"- {key}: " in words
    assert "'en', 'de'" in words
    assert "no other keys" in words
    examples = words.partition("Examples:")[2].split("\n- ")[1:]
    assert len(examples) == 2
    for example in examples:
        parse(example, schema=SCHEMA)
    for kinds in ({"a": bool}, {"a": list[int]}, {"a": Any}, {"a": Literal[1, 2], "b": bool}):
        schema = Schema(kinds)
        for example in schema.describe().partition("Examples:")[2].split("\n- ")[1:]:
            parse(example, schema=schema)
