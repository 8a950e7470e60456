"""What a schema declares, and what it says about filters and metadata."""

from __future__ import annotations

import dataclasses
import enum
import pickle
import subprocess
import sys
import typing
import uuid
import warnings
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecstore import (
    CoercedFilterWarning,
    ConfigurationError,
    Document,
    DocumentError,
    Expression,
    F,
    FilterTypeError,
    Key,
    Op,
    Schema,
    Value,
    compile_filter,
    parse,
)
from vecstore.filter.values import to_metadata
from vecstore.schema import kinds

SCHEMA = Schema(
    {
        "year": int,
        "price": float,
        "lang": Literal["en", "de"],
        "title": str,
        "open": bool,
        "tags": list[str],
        "created": datetime,
        "day": date,
        "at": time,
        "key": uuid.UUID,
        "cost": Decimal,
        "file": Path,
        "free": Any,
        "author": {"name": str, "born": date},
        '"a.b"': int,
    }
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Inner:
    when: date


@dataclasses.dataclass
class Outer:
    number: int
    inner: Inner
    colour: Colour
    names: Annotated[list[str] | None, "note"] = None
    whole: typing.ClassVar[int] = 1
    anything: Any = None


class Typed(TypedDict):
    number: int
    tags: NotRequired[set[str]]


class Named(NamedTuple):
    number: int | float
    lang: Literal["en", "de"]


# --- what it is made of -----------------------------------------------------------------------


def test_keys_are_read_as_in_a_filter() -> None:
    assert list(SCHEMA.keys)[-3:] == [("a.b",), ("author", "name"), ("author", "born")]
    assert Schema({"author.name": str}) == Schema({"author": {"name": str}})
    assert Schema({("a", "b"): "int"}) == Schema({"a": {"b": int}})
    assert SCHEMA["author.name"].kind == "str"
    assert "author.name" in SCHEMA
    assert "author" not in SCHEMA


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        (
            Outer,
            {
                "number": int,
                "inner": {"when": date},
                "colour": Colour,
                "names": list[str],
                "anything": Any,
            },
        ),
        (Typed, {"number": int, "tags": list[str]}),
        (Named, {"number": float, "lang": Literal["en", "de"]}),
    ],
)
def test_of_a_class(model: type, keys: dict[str, Any]) -> None:
    assert Schema.of(model) == Schema(keys)


def test_of_a_pydantic_model() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Author(pydantic.BaseModel):
        name: str

    class Page(pydantic.BaseModel):
        number: int = 1
        author: Author | None = None
        tags: list[str] = pydantic.Field(default_factory=list)
        price: Annotated[float, pydantic.Field(gt=0)] = 1.0

    keys = {"number": int, "author": {"name": str}, "tags": list[str], "price": float}
    assert Schema.of(Page) == Schema(keys)
    # What pydantic itself says of the model is the same schema.
    assert Schema.from_json_schema(Page.model_json_schema()) == Schema(keys)


def test_pydantic_is_not_imported_for_others() -> None:
    code = (
        "import sys, dataclasses\nfrom vecstore import Schema\n"
        "@dataclasses.dataclass\nclass A:\n    n: int\n"
        "assert len(Schema.of(A)) == 1\nassert 'pydantic' not in sys.modules\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


class Loop:
    inner: Loop


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Schema({}), "at least one key"),
        (lambda: Schema([("a", int)]), "not a list"),  # type: ignore[arg-type]
        (lambda: Schema({"a": bytes}), "a: <class 'bytes'>"),
        (lambda: Schema({"a": "integer"}), "no kind 'integer'"),
        (lambda: Schema({"a": list[list[str]]}), "metadata can hold"),
        (lambda: Schema({"a": int | str}), "metadata can hold"),
        (lambda: Schema({"a": dict[str, int]}), "metadata can hold"),
        (lambda: Schema({"a": {}}), "object without keys"),
        (lambda: Schema({"a": Inner}), "Schema.of"),
        (lambda: Schema({"a": []}), "values there can be"),
        (lambda: Schema({"a": ["x", 1]}), "one kind"),
        (lambda: Schema({"a.b": int, "a": {"b": int}}), "twice"),
        (lambda: Schema({"a.b": int, "a": int}), "as an object"),
        (lambda: Schema({"a .. b": int}), "no key"),
        (lambda: Schema({"__vecstore_x": int}), "reserved"),
        (lambda: Schema({"a": int}, others="drop"), "others"),  # type: ignore[arg-type]
        (lambda: Schema.of(5), "class with annotations"),  # type: ignore[arg-type]
        (lambda: Schema.of(int), "annotations"),
        (lambda: Schema.from_json_schema({"type": "object"}), "properties"),
        (
            lambda: Schema.from_json_schema({"properties": {"a": {"type": "null"}}}),
            "#/properties/a",
        ),
        (
            lambda: Schema.from_json_schema({"properties": {"a": {"$ref": "#/$defs/a"}}}),
            "nothing at",
        ),
        (
            lambda: Schema.from_json_schema(
                {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
            ),
            "no end",
        ),
        (
            lambda: Schema.from_json_schema(
                {
                    "$ref": "#/$defs/a",
                    "$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}},
                }
            ),
            "no end",
        ),
    ],
)
def test_what_declares_nothing_is_refused(make: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert told in str(caught.value)


def test_a_json_schema() -> None:
    schema = Schema.from_json_schema(
        {
            "type": "object",
            "properties": {
                "year": {"type": ["integer", "null"]},
                "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "when": {"type": "string", "format": "date-time"},
                "lang": {"enum": ["en", "de"]},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
                "author": {"$ref": "#/$defs/author"},
                "free": True,
            },
            "$defs": {
                "tag": {"type": "string"},
                "author": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        }
    )
    assert schema == Schema(
        {
            "year": int,
            "price": float,
            "when": datetime,
            "lang": ["en", "de"],
            "tags": list[str],
            "free": Any,
            "author": {"name": str},
        }
    )


def test_a_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA.to_toml(), "utf-8")
    assert Schema.from_file(path) == SCHEMA
    odd = Schema({('it\'s \\ \n \u00e9 "x"',): str, "n": [1, 2]}, others="allow")
    path.write_text(odd.to_toml(), "utf-8")
    assert Schema.from_file(path) == odd
    for content, told in [
        ("keys = 1", "[keys]"),
        ("[keys]\nyear = 'int'\n[more]", "'more'"),
        ("[keys", "no TOML"),
        ("[keys]\nyear = 'whole'", "'whole'"),
    ]:
        path.write_text(content, "utf-8")
        with pytest.raises(ConfigurationError, match=told.replace("[", r"\[")):
            Schema.from_file(path)
    with pytest.raises(ConfigurationError, match="No such file"):
        Schema.from_file(tmp_path / "none.toml")


def test_equal_schemas_are_one_value() -> None:
    again = Schema(SCHEMA.keys)
    assert again == SCHEMA
    assert hash(again) == hash(SCHEMA)
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert Schema({"a": int}) != Schema({"a": int}, others="allow")
    with pytest.raises(AttributeError, match="not changed"):
        SCHEMA.others = "allow"


# --- filters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "year >= 2020 AND year IN [1, 2] OR year IS NULL",
        "year > 2020.5",
        "price < 3 AND cost == 1",
        "lang == 'en' AND lang NOT IN ['de']",
        "tags == 'a' OR tags IN ['a', 'b'] OR tags IS NOT NULL",
        "created >= TIMESTAMP '2024-01-01' AND day < DATE '2024-02-01'",
        "at < '12:30:00.000000' AND file != 'a/b'",
        "key == '123e4567-e89b-12d3-a456-426614174000'",
        "NOT (open == true OR author.name == 'x')",
        "author IS NOT NULL",
        "free > 1 OR free == 'x' OR free.inner == true",
        '"a.b" == 1',
    ],
)
def test_what_fits_passes_unchanged(text: str) -> None:
    filter = parse(text)
    assert SCHEMA.check(filter) is filter
    assert parse(text, schema=SCHEMA) == filter
    assert SCHEMA.coerced(filter) == (filter, [])


@pytest.mark.parametrize(
    ("text", "told", "place", "hint"),
    [
        ("yaer == 1", "no key yaer", (1, "yaer"), "did you mean year?"),
        ("open == true AND name == 'x'", "no key name", (18, "name"), "author.name"),
        ("author.nam == 'x'", "no key author.nam", (1, "author.nam"), "author.name"),
        ("author == 'x'", "author holds an object", (1, "author"), "author.name"),
        ("year.x == 1", "no key inside", (1, "year.x"), "write year"),
        ("year == 'x'", "year holds integers, not 'x'", (9, "'x'"), "such as 2020"),
        ("year == '2020'", "not '2020'", (9, "'2020'"), "write year == 2020"),
        ("NOT (year > '2020')", "not '2020'", (13, "'2020'"), "write year > 2020"),
        ("year == true", "not True", (9, "true"), "such as"),
        ("title == 5", "title holds texts, not 5", (10, "5"), "write title == '5'"),
        ("open > 1", "open holds true or false", (1, "open > 1"), "open == true"),
        ("open == 'true'", "not 'true'", (9, "'true'"), "write open == true"),
        ("tags > 'a'", "tags holds a list of texts", (1, "tags > 'a'"), "tags == 'text'"),
        ("tags IN ['a', 1]", "not 1", (9, "['a', 1]"), "'1'"),
        ("lang == 'dee'", "'dee' is none of these", (9, "'dee'"), "'de'"),
        ("lang == 'EN'", "'EN' is none of these", (9, "'EN'"), "lang == 'en'"),
        (
            "created > '2024-01-01'",
            "created holds timestamps",
            (11, "'2024-01-01'"),
            "TIMESTAMP '2024-01-01T00:00:00.000000Z'",
        ),
        ("day == '2024-13-01'", "day holds dates", (8, "'2024-13-01'"), "DATE '2024-01-01'"),
        (
            "key == '123E4567-E89B-12D3-A456-426614174000'",
            "key holds UUIDs",
            (8, "'123E4567-E89B-12D3-A456-426614174000'"),
            "'123e4567-e89b-12d3-a456-426614174000'",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(
    text: str, told: str, place: tuple[int, str], hint: str
) -> None:
    for check in (
        lambda: parse(text, schema=SCHEMA),
        lambda: compile_filter(text, "pgvector", schema=SCHEMA),
        lambda: SCHEMA.coerced(parse(text)) if "no key" in told else SCHEMA.check(parse(text)),
    ):
        with pytest.raises(FilterTypeError) as caught:
            check()
        error = caught.value
        assert told in error.message
        assert error.span is not None
        assert (error.column, error.span.text) == place
        assert error.hint is not None
        assert hint in error.hint


def test_hints_are_filters_that_fit() -> None:
    """What an error proposes as a whole comparison is taken."""
    for text in [
        "year == '2020'",
        "title == 5",
        "open > 1",
        "tags > 'a'",
        "created > '2024-01-01'",
    ]:
        with pytest.raises(FilterTypeError) as caught:
            parse(text, schema=SCHEMA)
        hint = str(caught.value.hint).removeprefix("write ").partition(" asks")[0]
        parse(hint, schema=SCHEMA)


def test_a_tree_without_a_text_has_no_place() -> None:
    with pytest.raises(FilterTypeError, match="no key yaer") as caught:
        SCHEMA.check(F.yaer == 1)
    assert caught.value.span is None


def test_other_keys_can_be_allowed() -> None:
    open_schema = Schema({"year": int}, others="allow")
    assert parse("other == 'x' AND year == 1", schema=open_schema).op is Op.AND
    with pytest.raises(FilterTypeError):
        parse("other == 'x' AND year == 'x'", schema=open_schema)
    assert open_schema.check_metadata({"other": [1], "year": 1}) == {"other": [1], "year": 1}


def test_coercing_reads_what_must_be_meant_and_says_so() -> None:
    text = (
        "year == ' 2020 ' AND price > '1.5e1' AND title == 5 AND open == 'TRUE' AND lang == 'DE' "
        "AND NOT created < '2024-01-01T02:00:00+02:00' AND tags IN ['a', 1]"
    )
    with pytest.warns(CoercedFilterWarning, match="and 4 more") as caught:
        read = parse(text, schema=SCHEMA, coerce=True)
    assert read.to_text() == (
        "year == 2020 AND price > 15.0 AND title == '5' AND open == true AND lang == 'de' "
        "AND NOT created < '2024-01-01T00:00:00.000000Z' AND tags IN ['a', '1']"
    )
    [warning] = [one.message for one in caught if isinstance(one.message, CoercedFilterWarning)]
    assert [(one.key, one.before, one.after) for one in warning.changes][:2] == [
        ("year", " 2020 ", 2020),
        ("price", "1.5e1", 15.0),
    ]
    # Places in the text, and who wrote the filter, are kept.
    atoms = [node for node in read.walk() if node.op is Op.EQ]
    assert atoms[0].span is not None
    assert atoms[0].span.text == "year == ' 2020 '"
    assert all(node.from_outside for node in atoms)


def test_coercing_what_fits_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse("year == 2020", schema=SCHEMA, coerce=True) == (F.year == 2020)


@pytest.mark.parametrize(
    "text",
    ["year == '20.5'", "year == 'x'", "year == '１２'", "price == 'nan'", "price == 'inf'", "open == '1'",
     "open == 1", "created > 'tomorrow'", "lang == 'fr'", "title == 1.5", "title == true"],
)  # fmt: skip
def test_coercing_guesses_nothing(text: str) -> None:
    with pytest.raises(FilterTypeError):
        parse(text, schema=SCHEMA, coerce=True)


def test_coercing_asks_for_a_schema() -> None:
    with pytest.raises(TypeError, match="pass schema="):
        parse("a == 1", coerce=True)
    with pytest.raises(TypeError, match="schema is a Schema, not a dict"):
        parse("a == 1", schema={"a": int})  # type: ignore[arg-type]


def test_a_deep_filter_is_walked_without_recursion() -> None:
    filter = F.year == "2020"
    for _ in range(20_000):
        filter = ~filter
    assert SCHEMA.coerced(filter)[1][0].after == 2020


def test_a_cached_text_is_checked_each_time() -> None:
    text = "strange == 1"
    parse(text)
    with pytest.raises(FilterTypeError):
        parse(text, schema=SCHEMA)
    assert parse(text) == (F.strange == 1)


# --- documents --------------------------------------------------------------------------------


def test_metadata_takes_the_form_that_is_stored() -> None:
    document = Document(
        "text",
        {
            "year": np.float64(2020),
            "price": 3,
            "lang": "en",
            "created": datetime(2024, 1, 1, tzinfo=UTC),
            "day": date(2024, 1, 2),
            "at": time(12, 30),
            "key": uuid.UUID(int=5),
            "cost": Decimal("0.1"),
            "file": PurePath("a/b"),
            "tags": {"b", "a"},
            "author": {"name": "x"},
            "free": {"any": [1]},
            "a.b": 1,
        },
        id="d",
    )
    with pytest.raises(DocumentError):  # an object is more than one value
        SCHEMA.check_metadata(document.metadata)
    del document.metadata["free"]
    checked = SCHEMA.check_metadata(document.metadata, "d")
    raw = {"created": datetime(2024, 1, 1, tzinfo=UTC), "cost": Decimal("0.1"), "tags": ("b",)}
    assert SCHEMA.check_metadata(raw) == {
        "created": "2024-01-01T00:00:00.000000Z",
        "cost": 0.1,
        "tags": ["b"],
    }
    with pytest.raises(
        DocumentError, match="'d' does not fit the schema: tags cannot be stored: a list"
    ):
        SCHEMA.check_metadata({"tags": [["a"]]}, "d")
    assert checked["year"] == 2020
    assert type(checked["year"]) is int
    assert type(checked["price"]) is float
    loaded = SCHEMA.load(checked)
    assert loaded["created"] == datetime(2024, 1, 1, tzinfo=UTC)
    assert loaded["day"] == date(2024, 1, 2)
    assert loaded["at"] == time(12, 30)
    assert loaded["key"] == uuid.UUID(int=5)
    assert loaded["cost"] == Decimal("0.1")
    assert loaded["file"] == PurePath("a/b")
    assert loaded["author"] == {"name": "x"}
    assert Schema({"c": Colour}).load({"c": "red"}) == {"c": Colour.RED}


@pytest.mark.parametrize(
    ("metadata", "key", "told"),
    [
        ({"yaer": 1}, "yaer", "did you mean year?"),
        ({"year": "2020"}, "year", "holds integers, not '2020'"),
        ({"year": 2020.5}, "year", "holds integers"),
        ({"year": True}, "year", "holds integers, not True"),
        ({"year": [2020]}, "year", "not a list"),
        ({"price": 2**53 + 1}, "price", "declare it as int"),
        ({"tags": "a"}, "tags", "write a list"),
        ({"tags": [1]}, "tags", "a list of texts"),
        ({"lang": "fr"}, "lang", "one of 'en', 'de'"),
        ({"created": "2024-01-01"}, "created", "pass a datetime"),
        ({"day": "2024-02-30"}, "day", "pass a date"),
        ({"author": "x"}, "author", "holds an object"),
        ({"author": {"nmae": "x"}}, "author.nmae", "author.name"),
        ({"author": {"name": {"x": 1}}}, "author.name", "not an object"),
    ],
)
def test_metadata_that_does_not_fit_is_told_with_document_and_key(
    metadata: dict[str, Any], key: str, told: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        SCHEMA.check_metadata(metadata, "the id")
    assert caught.value.key == key
    assert caught.value.document_id == "the id"
    assert "document 'the id'" in str(caught.value)
    assert told in str(caught.value)


def test_absent_values_fit_every_key() -> None:
    metadata = {"year": None, "tags": [], "author": None}
    assert SCHEMA.check_metadata(metadata) == metadata
    assert SCHEMA.load(metadata) == metadata


def test_what_others_wrote_is_loaded_as_it_is() -> None:
    strange = {"created": "yesterday", "year": [1, "x"], "tags": {"a": 1}, "unknown": 5}
    assert SCHEMA.load(strange) == {**strange, "year": [1, "x"]}


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4).filter(lambda text: "\0" not in text),
    st.sampled_from(["2024-01-01", "2024-01-01T00:00:00.000000Z", "12:30:00.000000", "en", "5"]),
    st.datetimes(),
    st.uuids(),
)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from([bool, int, float, str, datetime, date, time, uuid.UUID, Decimal, Path]),
    value=VALUES,
    literal=VALUES,
    op=st.sampled_from([Op.EQ, Op.NE, Op.GT, Op.LTE]),
)
def test_a_literal_is_refused_only_where_nothing_could_match(
    kind: type, value: Any, literal: Any, op: Op
) -> None:
    """Of documents that fit, a refused comparison can select none, or all of them."""
    schema = Schema({"x": kind})
    try:
        metadata = schema.check_metadata(to_metadata({"x": value}))
        filter = Expression(op, Key("x"), Value(literal))
    except (DocumentError, FilterTypeError, ValueError):
        return
    try:
        schema.check(filter)
    except FilterTypeError:
        if op in (Op.EQ, Op.NE):
            assert filter.matches(metadata) is (op is Op.NE)
        else:
            assert not (kind in (int, float, Decimal) and isinstance(literal, int | float)) or (
                isinstance(literal, bool)
            )


def test_what_a_stranger_writes_makes_no_error_long() -> None:
    schema = Schema({"year": int, "lang": [f"l{n}" for n in range(2_000)]})
    long = "x" * 60_000
    for filter in (F[long] == 1, F.year == long, F.lang == long, F["year"][long] == 1):
        with pytest.raises(FilterTypeError) as caught:
            schema.check(filter)
        assert len(str(caught.value)) < 2_000
    with pytest.raises(DocumentError) as refused:
        schema.check_metadata({long: 1}, long)
    assert len(str(refused.value)) < 2_000
    with pytest.raises(ConfigurationError, match="too deep"):
        deep: dict[str, Any] = {"type": "string"}
        for _ in range(5_000):
            deep = {"type": "array", "items": deep}
        Schema.from_json_schema({"properties": {"a": deep}})


def test_many_literals_beside_many_choices_take_no_product_of_both() -> None:
    """The choices are gone through once, not once for each literal."""
    schema = Schema({"code": [f"c{n}" for n in range(1_000)]})
    before = kinds._distinct.cache_info().misses
    schema.check(F.code.in_([f"c{n % 1_000}" for n in range(10_000)]))
    assert kinds._distinct.cache_info().misses - before <= 1
    with pytest.raises(FilterTypeError):
        schema.check(F.code == "c1000")
