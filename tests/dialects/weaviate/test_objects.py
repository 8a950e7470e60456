"""Documents as objects and back, and filters as the client sends them; without a server."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filter.strategies import documents, paths, trees
from tests.filter.strategies import names as keys
from vecstore import Expression, Schema, UnsupportedFilterError
from vecstore.dialects.weaviate import Compound, Condition, Weaviate
from vecstore.dialects.weaviate.filters import (
    IS_DOCUMENT,
    IS_THERE,
    KeyRange,
    among,
    client_filter,
    matching,
)
from vecstore.dialects.weaviate.layout import ID, METADATA, TEXT, TOKENS
from vecstore.dialects.weaviate.plain import PlainNames, plain_objects
from vecstore.dialects.weaviate.records import (
    ExactObjects,
    Record,
    Records,
    Wanted,
    object_id,
    object_properties,
)
from vecstore.dialects.weaviate.where import Operand
from vecstore.dialects.weaviate.writing import Row, properties_bytes

ALL = 1 << 128
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
ordered = st.frozensets(paths.map(tuple), max_size=3)
extras = st.none() | documents.map(json.dumps) | texts.map(json.dumps)


def held(properties: Any, key: str, vector: Any = None) -> Any:
    """An object as the client returns it."""
    return SimpleNamespace(
        properties=properties, uuid=UUID(key), vector=vector or {}, metadata=None
    )


# --- documents ------------------------------------------------------------------------------------


@given(texts.filter(bool), texts, documents, ordered, ordered, extras)
def test_a_document_comes_back_as_it_was(
    id: str, text: str, metadata: dict[str, Any], numbers: Any, strings: Any, extra: str | None
) -> None:
    properties = object_properties(id, text, metadata, numbers, strings, extra)
    record = Record.read(
        held(properties, object_id(id), {"default": [1.5, -2.0]}), None, ExactObjects()
    )
    assert record.fault is None
    document = record.document(0.5)
    assert (document.id, document.text, document.score) == (id, text, 0.5)
    assert json.dumps(document.metadata) == json.dumps(metadata)  # types, and the order of keys
    assert document.embedding is not None
    assert list(document.embedding) == [1.5, -2.0]
    assert document.extra == (None if extra is None else json.loads(extra))


@given(texts.filter(bool), texts, documents, ordered, ordered, st.integers(0, 9), extras)
def test_no_request_is_larger_than_it_is_taken_for(
    id: str,
    text: str,
    metadata: dict[str, Any],
    numbers: Any,
    strings: Any,
    dimension: int,
    extra: str | None,
) -> None:
    """Held against the client's own message."""
    from weaviate.collections.batch.grpc_batch import _BatchGRPC
    from weaviate.collections.classes.batch import _BatchObject
    from weaviate.util import _ServerVersion

    properties = object_properties(id, text, metadata, numbers, strings, extra)
    ones = np.ones(dimension, np.float32) if dimension else None
    row = Row(id, object_id(id), text, metadata, extra, properties, ones)
    vector = None if row.vector is None else {"default": row.vector.tolist()}
    made = _BatchObject(
        collection="Docs",
        vector=vector,
        uuid=object_id(id),
        properties=properties,
        tenant="t" * 64,
        references=None,
        index=0,
    )
    message = _BatchGRPC(_ServerVersion(1, 37, 4), None, None).grpc_object(made)
    assert message.ByteSize() <= row.size
    assert properties_bytes(properties) <= row.size


def test_ids_of_objects_are_uuids_and_each_its_own() -> None:
    ids = ["a", "A", "a ", " a", "é", "e\u0301", "", object_id("a"), "0" * 36, "x" * 5_000]
    made = [object_id(one) for one in ids]
    assert len({*made}) == len(ids)
    assert [str(UUID(one)) for one in made] == made
    assert object_id("readme#3") == "7b1dbb69-5d7a-5953-ba89-520e012d7139"  # as they are stored


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({ID: None}, "it has no id"),
        ({METADATA: "[1]"}, "its metadata is a list"),
        ({METADATA: '"text"'}, "its metadata is a text"),
        ({METADATA: "{"}, "its metadata is a text"),
        ({METADATA: "[" * 50_000}, "its metadata is a text"),
        ({ID: "other"}, "its id is 'other', which is stored elsewhere"),
    ],
)
def test_objects_that_hold_no_document(change: dict[str, Any], fault: str) -> None:
    properties = object_properties("a", "t", {"n": 1}, frozenset(), frozenset())
    record = Record.read(held({**properties, **change}, object_id("a")), None, ExactObjects())
    assert record.fault is not None
    assert fault in record.fault


@pytest.mark.parametrize("missing", [TEXT, METADATA, TOKENS])
def test_what_is_missing_is_empty(missing: str) -> None:
    properties = object_properties("a", "t", {"n": 1}, frozenset(), frozenset())
    del properties[missing]
    record = Record.read(held(properties, object_id("a")), "body", ExactObjects())
    assert record.fault is None
    assert (record.text == "") is (missing == TEXT)
    assert (record.metadata == {}) is (missing == METADATA)
    assert record.vector is None


# --- filters --------------------------------------------------------------------------------------


def spelled(query: Operand) -> Any:
    """A query as the client has to send it."""
    if isinstance(query, Compound):
        return query.operator, [spelled(one) for one in query.operands]
    value = list(query.value) if isinstance(query.value, tuple) else query.value
    return query.path, query.operator, value


def read(filter: Any) -> Any:
    """What the client sends, told in the same way."""
    operator = filter.operator.value
    if operator in ("And", "Or"):
        return operator, [read(one) for one in filter.filters]
    return filter.target, operator, filter.value


@given(trees, st.sets(st.sampled_from(["a", "b", "in"]), min_size=1))
def test_the_client_sends_what_was_compiled(tree: Expression, declared: set[str]) -> None:
    schema = Schema(dict.fromkeys(sorted(declared), Any), others="allow")
    try:
        compiled = Weaviate(layout="exact", schema=schema).compile(tree)
    except UnsupportedFilterError:
        return
    if compiled.matches_all:
        return
    sent = read(client_filter(compiled.query))
    assert sent == spelled(compiled.query)
    # A NOT alone would find and count what was deleted.
    assert read(matching(compiled, IS_DOCUMENT)) == ("And", [spelled(IS_DOCUMENT), sent])


@given(st.dictionaries(keys, texts, max_size=3))
def test_texts_are_values_and_nothing_else(metadata: dict[str, str]) -> None:
    sent = client_filter(Condition(TOKENS, "Equal", "text", json.dumps(metadata)))
    assert sent.value == json.dumps(metadata)


def test_everything_that_is_there() -> None:
    assert read(matching(None, IS_THERE)) == ("_id", "GreaterThanEqual", str(UUID(int=0)))
    keys = [object_id("b"), object_id("a")]
    assert read(among(keys)) == ("_id", "ContainsAny", keys)


@given(st.integers(0, 6), st.integers(0, ALL - 1))
def test_ranges_of_ids_leave_no_id_out_and_have_none_twice(bits: int, number: int) -> None:
    parts = KeyRange().parts(bits)
    halves = [half for part in parts for half in part.halves()]
    for ranges in (parts, halves):
        starts = [UUID(one.first).int for one in ranges]
        assert starts == sorted(starts)
        assert starts[0] == 0
        held_by = [one for one in ranges if has(one, str(UUID(int=number)))]
        assert len(held_by) == 1


def has(range: KeyRange, key: str) -> bool:
    """Whether the filter of a range finds an id; ids are ordered as their texts are."""
    sent = read(range.filter())
    conditions = sent[1] if sent[0] == "And" else [sent]
    tests = {"GreaterThanEqual": key.__ge__, "LessThan": key.__lt__}
    return all(target == "_id" and tests[operator](bound) for target, operator, bound in conditions)


# --- collections of others ------------------------------------------------------------------------


def collection(**properties: Any) -> Any:
    """What the client tells of a collection: each property's type, or its settings besides."""
    made = []
    for name, told in properties.items():
        kind, more = (told, {}) if isinstance(told, str) else told
        settings = {"tokenization": "field" if kind == "text" else None, "index_filterable": True}
        made.append(SimpleNamespace(name=name, data_type=kind, **(settings | more)))
    return SimpleNamespace(
        properties=made,
        references=[],
        inverted_index_config=SimpleNamespace(index_null_state=True),
    )


@pytest.mark.parametrize("settings", [{"tokenization": "word"}, {"index_filterable": False}])
def test_ids_stand_in_a_property_that_is_looked_up_exactly(settings: dict[str, Any]) -> None:
    def faults(more: dict[str, Any]) -> list[str]:
        found: list[str] = []
        config = collection(body="text", ref=("text", more))
        plain_objects(config, PlainNames("body", "ref"), None, lambda: "1.33.0", found)
        return found

    assert faults({}) == []
    [fault] = faults(settings)
    assert "leave id_property=... out" in fault


@pytest.mark.parametrize("version", ["1.32.27", "1.9.0", "1.33.0-rc.1", "1.33.0", "2.0"])
def test_old_servers_are_not_asked_what_is_absent(version: str) -> None:
    """Before 1.33 an object that is older than a property counts as one that has it."""
    schema = Schema({"n": int})
    config = collection(body="text", n="int")
    objects = plain_objects(config, PlainNames("body", None), schema, lambda: version, [])
    dialect = objects.dialect(schema)
    assert dialect.compile("n IS NOT NULL AND n > 1").query
    if version.startswith(("1.32", "1.9")):
        with pytest.raises(UnsupportedFilterError, match="older than a property"):
            dialect.compile("n IS NULL")
    else:
        assert dialect.compile("n IS NULL").query


def test_texts_that_nobody_asked_for_are_left_out() -> None:
    """All properties of another program's objects are asked for, and one of them is the text."""
    objects = plain_objects(
        collection(body="text", n="int"), PlainNames("body", None), None, lambda: "1.37.4", []
    )
    key = str(UUID(int=7))
    answer = SimpleNamespace(objects=[held({"body": "Hello", "n": 1}, key)])
    unasked: Any = None
    records = Records(call=unasked, plan=unasked, objects=objects)
    records.call = lambda operation, call, deadline=None: answer  # type: ignore[assignment]
    for text, told in ((True, "Hello"), (False, "")):
        [read] = records.by_key("scan", [key], Wanted(text=text))
        assert (read.document_id, read.text, read.metadata) == (key, told, {"n": 1})
        [pages] = records.pages_of("scan", None, Wanted(text=text), 9)
        assert [one.text for one in pages] == [told]
