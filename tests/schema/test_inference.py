"""A schema proposed from documents is one that all of them fit."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecstore import ConfigurationError, Document, Schema, SimpleVectorStore
from vecstore.filter.values import UnusableValue, to_metadata
from vecstore.schema.inference import Inference

ROWS: list[dict[str, Any]] = [
    {"n": 1, "x": 1, "tags": ["a"], "when": datetime(2024, 1, 1, tzinfo=UTC), "mixed": 1},
    {"n": 2, "x": 1.5, "tags": [], "day": date(2024, 1, 1), "mixed": "a", "some": ["a"]},
    {"n": None, "id": uuid.UUID(int=1), "author": {"name": "x"}, "some": "a"},
]


def test_each_key_is_what_all_of_its_values_are() -> None:
    schema = Schema.infer(ROWS)
    assert repr(schema) == (
        "Schema({'n': 'int', 'x': 'float', 'tags': 'list[str]', 'when': 'datetime', "
        "'mixed': 'any', 'day': 'date', 'some': 'any', 'id': 'uuid', 'author.name': 'str'})"
    )


def test_the_report_says_what_was_seen() -> None:
    report = Inference.of(ROWS).report()
    assert report.startswith("3 documents\n")
    lines = {line.split()[0]: line for line in report.splitlines()[1:]}
    assert "in 67 %" in lines["n"]
    assert "such as 1, 2" in lines["n"]
    assert "mixed: values of int (1), str (1)" in lines["mixed"]
    assert "mixed: a list in 1 documents, one value in 1" in lines["some"]


def test_an_object_in_some_documents_is_not_declared() -> None:
    schema = Schema.infer([{"a": {"b": 1}, "n": 1}, {"a": 5}])
    assert schema == Schema({"n": int}, others="allow")


def test_a_store_and_documents_are_looked_at_alike() -> None:
    store = SimpleVectorStore()
    documents = [Document("t", row, embedding=[1.0]) for row in ROWS]
    store.add(documents)
    wanted = Schema.infer(ROWS)
    assert Schema.infer(store) == wanted
    assert Schema.infer(documents) == wanted


def test_what_no_store_holds_is_left_out_and_told() -> None:
    found = Inference.of([{"a": [1, "x"]}, {"b": 1}, 5])
    assert list(found.keys) == [("b",)]
    assert "2 left out" in found.report()
    assert "a: a list holds values of one type" in found.report()


@pytest.mark.parametrize("source", [5, "text", {"a": 1}, [], [{}]])
def test_nothing_to_infer_from(source: Any) -> None:
    with pytest.raises(ConfigurationError):
        Schema.infer(source)


def test_a_key_that_is_always_null_may_hold_anything() -> None:
    found = Inference.of([{"a": None, "b": 1}, {"a": []}])
    assert Schema.infer(found) == Schema({"a": Any, "b": int})
    assert "mixed: null in every document" in found.report()


def test_keys_that_are_data_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="more than 10,000 different keys"):
        Inference.of({f"k{n}": 1} for n in range(10_001))


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["a", "2024-01-01", "12:30:00.000000", str(uuid.UUID(int=7))]),
        st.datetimes(),
        st.lists(st.integers(), max_size=2),
        st.lists(st.sampled_from(["a", "2024-01-01"]), max_size=2),
    ),
    lambda inner: st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), min_size=1, max_size=5
    )
)
def test_every_document_fits_what_was_inferred_from_it(rows: list[dict[str, Any]]) -> None:
    try:
        schema = Schema.infer(rows)
    except ConfigurationError:
        return  # nothing but nulls
    for row in rows:
        try:
            metadata = to_metadata(row)
        except UnusableValue:
            continue
        checked = schema.check_metadata(metadata)
        assert checked == metadata
