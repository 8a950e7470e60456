"""Two hundred filters in dict form as language models write them, right and wrong.

What is right is valid by the JSON Schema, to a validator that knows nothing of us and with formats
or without, and read as what it says. What is right but spelled otherwise is read alike. What is wrong is invalid, refused, and
answered with what to write.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any, Literal
from uuid import UUID

import jsonschema
import pytest

from vecstore import Expression, FilterTypeError, Schema, parse

SCHEMA = Schema(
    {
        "year": int,
        "price": float,
        "lang": Literal["en", "de", "fr"],
        "open": bool,
        "title": str,
        "tags": list[str],
        "scores": list[int],
        "created": datetime,
        "day": date,
        "hour": time,
        "code": UUID,
        "author": {"name": str, "born": int},
    }
)
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA.json_schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
NO_FORMATS = jsonschema.Draft202012Validator(SCHEMA.json_schema())
MOMENT = "2024-01-01T00:00:00.000000Z"


def atom(op: str, key: Any, *value: Any) -> dict[str, Any]:
    return {"op": op, "key": key, **({"value": value[0]} if value else {})}


def joined(op: str, *operands: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "operands": list(operands)}


CODE = "123e4567-e89b-12d3-a456-426614174000"
NAME, BORN = ["author", "name"], ["author", "born"]
YEAR, LANG = atom("eq", "year", 2020), atom("eq", "lang", "en")

RIGHT: list[tuple[dict[str, Any], str]] = [
    *[
        (atom(op, key, value), f"{key} {symbol} {shown}")
        for key, value, shown in [
            ("year", 2020, "2020"),
            ("year", 0, "0"),
            ("year", -5, "-5"),
            ("price", 9.5, "9.5"),
            ("price", 10, "10"),
            ("title", "a", "'a'"),
            ("title", "it's", r"'it\'s'"),
            ("title", "", "''"),
            ("created", MOMENT, f"'{MOMENT}'"),
            ("day", "2024-01-31", "'2024-01-31'"),
        ]
        for op, symbol in [
            ("eq", "=="),
            ("ne", "!="),
            ("gt", ">"),
            ("gte", ">="),
            ("lt", "<"),
            ("lte", "<="),
        ]
    ],
    (atom("ne", "lang", "de"), "lang != 'de'"),
    (atom("eq", "open", True), "open == true"),
    (atom("ne", "open", False), "open != false"),
    (atom("eq", "tags", "a"), "tags == 'a'"),
    (atom("ne", "scores", 3), "scores != 3"),
    (atom("in", "year", [2020, 2021]), "year IN [2020, 2021]"),
    (atom("nin", "year", [1]), "year NOT IN [1]"),
    (atom("in", "lang", ["en", "de"]), "lang IN ['en', 'de']"),
    (atom("in", "tags", ["a", "b", "c"]), "tags IN ['a', 'b', 'c']"),
    (atom("nin", "scores", [1, 2]), "scores NOT IN [1, 2]"),
    (atom("in", "created", [MOMENT]), f"created IN ['{MOMENT}']"),
    (atom("lt", "hour", "12:30:00.000000"), "hour < '12:30:00.000000'"),
    (atom("eq", "code", CODE), f"code == '{CODE}'"),
    (atom("isnull", "tags"), "tags IS NULL"),
    (atom("isnotnull", "year"), "year IS NOT NULL"),
    (atom("eq", NAME, "Ada"), "author.name == 'Ada'"),
    (atom("gte", BORN, 1815), "author.born >= 1815"),
    (atom("isnull", NAME), "author.name IS NULL"),
    (joined("and", YEAR, LANG), "year == 2020 AND lang == 'en'"),
    (joined("or", YEAR, LANG), "year == 2020 OR lang == 'en'"),
    (joined("not", YEAR), "NOT year == 2020"),
    (joined("not", joined("or", YEAR, LANG)), "NOT (year == 2020 OR lang == 'en')"),
    (
        joined("and", joined("or", YEAR, atom("gt", "year", 2022)), atom("isnotnull", "tags")),
        "(year == 2020 OR year > 2022) AND tags IS NOT NULL",
    ),
    (joined("and", *[YEAR] * 3), "year == 2020 AND year == 2020 AND year == 2020"),
]

SPELLED: list[tuple[dict[str, Any], str]] = [
    *[
        (atom(spelling, "year", 2020), f"year {symbol} 2020")
        for symbol, spellings in {
            "==": ["==", "=", "EQ", "$eq", "equals", "Equals"],
            "!=": ["!=", "<>", "NE", "$ne", "neq", "not_equals", "notEquals"],
            ">": [">", "GT", "$gt"],
            ">=": [">=", "GTE", "$gte", "ge"],
            "<": ["<", "LT", "$lt"],
            "<=": ["<=", "LTE", "$lte", "le"],
        }.items()
        for spelling in spellings
    ],
    *[(atom(one, "lang", ["en"]), "lang IN ['en']") for one in ["IN", "$in", "In"]],
    *[
        (atom(one, "lang", ["en"]), "lang NOT IN ['en']")
        for one in ["not_in", "NOT IN", "notIn", "$nin", "NOT_IN", "not-in"]
    ],
    *[(atom(one, "tags"), "tags IS NULL") for one in ["is_null", "IS NULL", "isNull", "IS_NULL"]],
    *[(atom(one, "tags"), "tags IS NOT NULL") for one in ["is_not_null", "IS NOT NULL"]],
    *[
        (joined(one, YEAR, LANG), "year == 2020 AND lang == 'en'")
        for one in ["AND", "$and", "&&", "And"]
    ],
    *[(joined(one, YEAR, LANG), "year == 2020 OR lang == 'en'") for one in ["OR", "$or", "||"]],
    *[(joined(one, YEAR), "NOT year == 2020") for one in ["NOT", "$not", "!"]],
    (atom("eq", "author.name", "Ada"), "author.name == 'Ada'"),
    (atom("gte", "author.born", 1815), "author.born >= 1815"),
]

# What the answer has in it: what is meant, or where it is wrong.
WRONG: list[tuple[Any, str]] = [
    (atom("eq", "yaer", 2020), "did you mean year?"),
    (atom("eq", "Year", 2020), "did you mean year?"),
    (atom("eq", "language", "en"), "lang"),
    (atom("eq", "author", "Ada"), "name a key inside it: author.name"),
    (atom("eq", "name", "Ada"), "author.name"),
    (atom("eq", ["author", "nmae"], "Ada"), "author.name"),
    (atom("eq", "title.text", "a"), "there is no key inside it"),
    (atom("eq", "year", "2020"), "year == 2020"),
    (atom("gte", "year", "2020"), "year >= 2020"),
    (atom("eq", "year", True), "holds integers"),
    (atom("eq", "price", "9.99"), "price == 9.99"),
    (atom("eq", "open", "true"), "open == true"),
    (atom("eq", "open", 1), "holds true or false"),
    (atom("gt", "open", False), "bool"),
    (atom("eq", "title", 5), "title == '5'"),
    (atom("eq", "lang", "EN"), "lang == 'en'"),
    (atom("eq", "lang", "fra"), "did you mean 'fr'?"),
    (atom("eq", "lang", "es"), "none of these"),
    (atom("in", "lang", ["en", "es"]), "none of these"),
    (atom("eq", "created", "2024-01-01"), MOMENT),
    (atom("gt", "created", "2024-01-01T00:00:00Z"), MOMENT),
    (atom("gt", "created", "yesterday"), "holds timestamps"),
    (atom("gt", "created", 1704067200), "holds timestamps"),
    (atom("eq", "day", "01/31/2024"), "holds dates"),
    (atom("eq", "day", MOMENT), "holds dates"),
    (atom("lt", "hour", "12:30"), "hour < '12:30:00.000000'"),
    (atom("eq", "code", CODE.upper()), f"code == '{CODE}'"),
    (atom("eq", "code", CODE.replace("-", "")), f"code == '{CODE}'"),
    (atom("gt", "tags", "a"), "orders one value"),
    (atom("lte", "scores", 3), "orders one value"),
    (atom("eq", "scores", "3"), "scores == 3"),
    (atom("in", "year", ["2020", 2021]), "2020"),
    (atom("in", "year", 2020), "list"),
    (atom("in", "lang", "en"), '"value": ["en"]'),
    (atom("eq", "year", [2020]), '"op": "in"'),
    (atom("eq", "tags", ["a", "b"]), '"op": "in"'),
    (atom("eq", "year", None), "isnull"),
    (atom("ne", "year", None), "isnotnull"),
    (atom("eq", "year", {"gte": 2020}), "an object is not a value"),
    (atom("eq", "year"), "value"),
    (atom("isnull", "year", True), "value"),
    (atom("like", "title", "%a%"), "unknown operator"),
    (atom("contains", "tags", "a"), "operator"),
    (atom("between", "year", [2020, 2021]), "operator"),
    (atom("", "year", 2020), "operator"),
    ({"op": "eq", "field": "year", "value": 2020}, '{"op": "eq", "key": "year", "value": 2020}'),
    ({"op": "eq", "column": "year", "value": 2020}, '"key": "year"'),
    ({"op": "eq", "key": "year", "val": 2020}, '"value": 2020'),
    ({"operator": "eq", "key": "year", "value": 2020}, '"op": "eq"'),
    ({"key": "year", "value": 2020}, "op"),
    ({"op": "eq", "value": 2020}, "key"),
    ({**YEAR, "note": "recent"}, "note"),
    (joined("and"), "at least two"),
    (joined("and", YEAR), "at least two"),
    (joined("or", LANG), "the one expression by itself"),
    (joined("not"), "takes one expression"),
    (joined("not", YEAR, LANG), "takes one expression"),
    (joined("xor", YEAR, LANG), "unknown operator"),
    ({"op": "and", "conditions": [YEAR, LANG]}, "its fields are op, operands"),
    ({"op": "and", "operands": YEAR}, "operands"),
    ({"op": "and", "operands": [YEAR, "lang == 'en'"]}, "operands[1]"),
    ({"op": "and", "operands": [YEAR, None]}, "operands[1]"),
    (joined("or", YEAR, joined("and", LANG, atom("eq", "yaer", 1))), "year"),
    ({}, "op"),
    ([YEAR, LANG], "dict"),
    ("year == 2020", "dict"),
]


def test_there_are_two_hundred() -> None:
    forms = [form for form, _ in [*RIGHT, *SPELLED, *WRONG]]
    assert len({str(form) for form in forms}) == len(forms) >= 200
    assert len(WRONG) >= 60


@pytest.mark.parametrize(("form", "text"), RIGHT, ids=lambda part: str(part)[:60])
def test_what_is_right_is_valid_and_read(form: dict[str, Any], text: str) -> None:
    VALIDATOR.validate(form)
    read = SCHEMA.check(Expression.from_dict(form))
    assert read.to_text() == text
    assert read == parse(text, schema=SCHEMA)
    VALIDATOR.validate(read.to_dict())


@pytest.mark.parametrize(("form", "text"), SPELLED, ids=lambda part: str(part)[:60])
def test_what_is_spelled_otherwise_is_read_alike(form: dict[str, Any], text: str) -> None:
    read = SCHEMA.check(Expression.from_dict(form))
    assert read.to_text() == text
    VALIDATOR.validate(read.to_dict())


@pytest.mark.parametrize(("form", "answer"), WRONG, ids=lambda part: str(part)[:60])
def test_what_is_wrong_is_invalid_and_answered(form: Any, answer: str) -> None:
    assert not VALIDATOR.is_valid(form)
    assert not NO_FORMATS.is_valid(form)
    with pytest.raises(FilterTypeError) as caught:
        SCHEMA.check(Expression.from_dict(form))
    assert answer in str(caught.value)
