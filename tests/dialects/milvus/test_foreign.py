"""Rows that others wrote: what is no document stops no call, and what is not named stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vecstore import Document, ForeignRecordWarning, Schema, UnsupportedFilterError
from vecstore.dialects.milvus.store import MilvusStore

Open = Callable[..., MilvusStore]


@pytest.fixture
def client(file: str) -> Iterator[Any]:
    """A client with the collection "others": nullable fields, dynamic ones, a second vector."""
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(file)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.VARCHAR, max_length=100, is_primary=True)
    schema.add_field("text", DataType.VARCHAR, max_length=100, nullable=True)
    schema.add_field("metadata", DataType.JSON, nullable=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    schema.add_field("second", DataType.FLOAT_VECTOR, dim=3)
    index = client.prepare_index_params()
    for field in ("vector", "second"):
        index.add_index(field, index_type="FLAT", metric_type="COSINE")
    client.create_collection("others", schema=schema, index_params=index)
    yield client
    client.drop_collection("others")
    client.close()


def row(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "vector": [1.0, 0.0], "second": [1.0, 2.0, 3.0], **fields}


def test_rows_without_a_text_or_metadata_are_documents(client: Any, open_milvus: Open) -> None:
    client.insert("others", [row("a"), row("b", text=None, metadata=None), row("c", text="c")])
    store = open_milvus("others", layout="plain")
    assert sorted(store.scan(), key=lambda one: one.id) == [
        Document("", {}, "a"),
        Document("", {}, "b"),
        Document("c", {}, "c"),
    ]
    assert store.count("n == 2") == 0
    assert store.update_metadata(["b"], set={"n": 2}) == 1
    [found] = store.get(filter="n == 2")
    assert (found.id, found.text, found.metadata) == ("b", "", {"n": 2})


def test_a_schema_tells_what_the_keys_of_others_hold(client: Any, open_milvus: Open) -> None:
    client.insert("others", [row("null", metadata=None), row("empty", metadata={"n": [], "t": []})])
    client.insert("others", [row("a", metadata={"n": 1, "on": True, "lang": "[]", "t": ["x"]})])
    client.insert("others", [row("b", metadata={"n": 0, "on": False, "lang": "", "t": ["y"]})])
    schema = Schema({"n": int, "on": bool, "lang": str, "t": list[str], "free": "any"})
    store = open_milvus("others", layout="plain", schema=schema)
    for filter, expected in {
        "n == 1": "a",
        "n > 0": "a",
        "n != 1": "b empty null",
        "n IS NULL": "empty null",
        "n IS NOT NULL": "a b",
        "on == true": "a",
        "on != true": "b empty null",
        "lang IS NULL": "empty null",
        "lang NOT IN ['', 'x']": "a empty null",
        "t != 'x'": "b empty null",
        "NOT (t IS NULL OR on == false)": "a",
    }.items():
        assert " ".join(sorted(one.id for one in store.scan(filter))) == expected, filter
    with pytest.raises(UnsupportedFilterError, match="declare what the key holds"):
        store.count("free != 1")


def test_rows_whose_metadata_is_no_object_are_left_out(client: Any, open_milvus: Open) -> None:
    strange = {"list": [1, 2], "text": '"text"', "mixed": [1, "a", None]}
    for key, value in strange.items():
        client.insert("others", [row(key, metadata=value)])
    client.insert("others", [row("a", metadata={"n": 2, "odd": [1, "a", None, {}]})])
    store = open_milvus("others", layout="plain")
    for call in (
        lambda: list(store.scan()),
        lambda: store.get([*strange, "a"]),
        lambda: store.search(vector=[1, 0], top_k=1),
    ):
        with pytest.warns(ForeignRecordWarning, match="'others' holds a record"):
            assert [one.id for one in call()] == ["a"]
    # Of such a list the engine alone says what matches, also of what it is not asked otherwise.
    many = [f"x{number}" for number in range(100)]
    for filter in ("odd == 'a'", f"odd IN {['a', *many]}"):
        assert [one.id for one in store.scan(filter)] == ["a"]
        assert store.count(filter) == 1
        assert [one.id for one in store.get(["a", "list"], filter=filter)] == ["a"]
    assert list(store.scan(f"odd IN {many}")) == []
    with pytest.warns(ForeignRecordWarning):
        assert store.update_metadata([*strange, "a"], set={"seen": "yes"}) == 1
    for key in ("list", "mixed"):
        [found] = client.query("others", filter=f'id == "{key}"')
        assert found["metadata"] == strange[key]
    store.clear()
    assert store.count() == 0


def test_an_update_changes_what_it_names(client: Any, open_milvus: Open) -> None:
    client.insert("others", [row("a", text="t", metadata={"n": 2}, color="red", deep={"x": [1]})])
    store = open_milvus("others", layout="plain")
    for selection in ({"ids": ["a"]}, {"filter": "n == 2"}):
        assert store.update_metadata(**selection, set={"seen": "yes"}) == 1  # type: ignore[arg-type]
        [found] = client.query("others", filter='id == "a"', output_fields=["*"])
        assert found["metadata"] == {"n": 2, "seen": "yes"}
        assert (found["text"], found["color"], found["deep"]) == ("t", "red", {"x": [1]})
        assert [list(found[name]) for name in ("vector", "second")] == [[1, 0], [1, 2, 3]]


def test_fields_that_others_added_to_our_collection_stay(open_milvus: Open, file: str) -> None:
    from pymilvus import DataType, MilvusClient

    from vecstore.dialects.milvus.layout import TAGS, FieldLayout

    client = MilvusClient(file)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    for name in ("id", "vecstore_original_id", "text"):
        schema.add_field(name, DataType.VARCHAR, max_length=65_535, is_primary=name == "id")
    schema.add_field("metadata", DataType.JSON)
    array: dict[str, Any] = {"element_type": DataType.VARCHAR, "max_capacity": 4_096}
    schema.add_field(TAGS, DataType.ARRAY, max_length=128, **array)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    schema.add_field("owner", DataType.VARCHAR, max_length=50, nullable=True)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection("widened", schema=schema, index_params=index)
    row = FieldLayout(beside=False).write("a", "text", {"n": 1})
    mine = {**row, "vector": [1.0, 0.0], "owner": "them"}
    client.insert("widened", [mine])
    store = open_milvus("widened")
    assert store.update_metadata(filter="n == 1", set={"n": 2}) == 1
    assert store.count("n == 2") == 1
    [found] = client.query("widened", filter='id == "a"', output_fields=["*"])
    assert found["owner"] == "them"
    client.close()


def test_metadata_that_may_be_null_is_no_reason_to_believe_a_server(
    client: Any, open_milvus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To some servers it is unknown whether a key exists in null; milvus-lite knows."""
    store = open_milvus("others", layout="plain", schema=Schema({"n": int}))
    assert store.count("n != 1") == 0
    monkeypatch.setattr(store._call, "lite", False)
    store._look("open")
    with pytest.raises(UnsupportedFilterError, match="differs between versions"):
        store.count("n != 1")
    assert store.count("n == 2") == 0


def test_an_id_that_a_server_misreads_is_left_out_all_the_same(
    client: Any, open_milvus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ["a", "\U00020010", "\U00020011", "b"]
    client.insert("others", [row(id, vector=[1.0, n]) for n, id in enumerate(ids)])
    store = open_milvus("others", layout="plain")
    monkeypatch.setattr(store._call, "lite", False)  # a server is asked to leave ids out
    for out in ([ids[1]], [ids[0], ids[2]], ids):
        found = store.search(vector=[1, 0], top_k=3, exclude_ids=out)
        assert [one.id for one in found] == [id for id in ids if id not in out][:3]
