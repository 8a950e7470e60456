"""What stands beside metadata: collections from before there was a place for it, and lost answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers.http import Fault
from tests.servers.weaviate import KEY, WeaviateServer
from vecstore import BackendError, Document, DocumentError, SchemaMismatchError
from vecstore.dialects.weaviate.layout import EXTRA
from vecstore.dialects.weaviate.store import WeaviateStore

Open = Callable[..., WeaviateStore]


def document(id: str, extra: Any = None, **metadata: Any) -> Document:
    return Document(f"text {id}", metadata, id, [1.0, 2.0], extra=extra)


@pytest.fixture
def older(server: WeaviateServer, open_weaviate: Open) -> WeaviateStore:
    """A store on a collection as it was made before."""
    open_weaviate()
    properties = server._described("Docs")["properties"]
    properties[:] = [one for one in properties if one["name"] != EXTRA]
    return open_weaviate()


def add_the_property(store: WeaviateStore, message: str) -> None:
    """What an error says to run, read and not evaluated."""
    from weaviate.classes.config import DataType, Property, Tokenization

    line = re.search(
        r"store\.native\.collections\.use\('(\w+)'\)\.config\.add_property\("
        r'Property\(name="(\w+)", data_type=DataType\.(\w+), tokenization=Tokenization\.(\w+), '
        r"index_filterable=(False), index_searchable=(False)\)\)",
        message,
    )
    assert line is not None
    assert "from weaviate.classes.config import DataType, Property, Tokenization;" in message
    collection, name, data_type, tokenization, *_ = line.groups()
    store.native.collections.use(collection).config.add_property(
        Property(
            name=name,
            data_type=DataType[data_type],
            tokenization=Tokenization[tokenization],
            index_filterable=False,
            index_searchable=False,
        )
    )


def test_an_older_collection_takes_extras_once_it_has_the_property(
    older: WeaviateStore, server: WeaviateServer, open_weaviate: Open
) -> None:
    assert not older.capabilities.keeps_extra
    older.add([document("a", n=1), document("b")])
    with pytest.raises(DocumentError, match="keeps_extra") as caught:
        older.add([document("c", [1]), document("d")])
    assert caught.value.faulty_ids == ["c"]
    assert older.update_metadata(filter="n == 1", set={"n": 2}) == 1
    assert [one.id for one in older.search(vector=[1, 2], filter="n == 2")] == ["a"]
    assert sorted(one.id for one in older.scan()) == ["a", "b"]

    add_the_property(older, str(caught.value))
    again = open_weaviate()
    again.add([document("a", {"of": "a"}, n=2), document("c", "mine")])
    # The store that was open before writes documents again whole, with what it knew nothing of.
    assert older.update_metadata(["a", "b"], set={"n": 3}) == 2
    expected = {"a": {"of": "a"}, "b": None, "c": "mine"}
    for store in (again, older):
        assert {one.id: one.extra for one in store.scan()} == expected
        assert store.count("n == 3") == 2
    older.add([document("b", 0)])
    assert again.get(["b"])[0].extra == 0


def test_a_property_of_another_type_in_its_place_is_told(
    server: WeaviateServer, open_weaviate: Open
) -> None:
    open_weaviate()
    [found] = [one for one in server._described("Docs")["properties"] if one["name"] == EXTRA]
    found["dataType"] = ["int"]
    with pytest.raises(SchemaMismatchError, match="the property vecstore_extra is int, not text"):
        open_weaviate()


def test_no_index_knows_it(server: WeaviateServer, open_weaviate: Open) -> None:
    """Words and whole texts of an index have a longest length, and take their room."""
    open_weaviate()
    [found] = [one for one in server._described("Docs")["properties"] if one["name"] == EXTRA]
    assert not found["indexFilterable"]
    assert not found["indexSearchable"]


def test_what_has_another_extra_is_not_what_was_written(
    server: WeaviateServer, open_weaviate: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaviate.retry.time.sleep", lambda seconds: None)
    store = open_weaviate()
    store.add([document("same", [1]), document("other", [1])])
    server.faults.add(Fault(what="cut before", path="/BatchObjects", times=99))
    with pytest.raises(BackendError) as told:
        store.add([document("same", [1]), document("other", [1.0]), document("none", [1])])
    assert told.value.stored_ids == ["same"]


def test_a_document_that_is_too_large_names_its_extra() -> None:
    with (
        WeaviateServer(message_bytes=200_000) as small,
        WeaviateStore(
            "Docs", url=small.address, grpc_port=small.grpc_port, api_key=KEY, create=True
        ) as store,
    ):
        store.add([document("fits", "x" * 190_000)])
        with pytest.raises(DocumentError, match=r"its text of 9 bytes, its extra of 200,002 and"):
            store.add([document("huge", "x" * 200_000)])
        # Several at once, each of which has room in a message.
        store.add([document(f"d{n}", "x" * 30_000, n=n) for n in range(20)])
        assert {len(one.extra) for one in store.search(vector=[1, 2], top_k=30)} == {
            190_000,
            30_000,
        }
        assert len(store.search(vector=[1, 2], filter="n IS NOT NULL", top_k=30)) == 20
        # Metadata that leave no room for the extra any more.
        with pytest.raises(DocumentError, match="its extra of 190,002"):
            store.update_metadata(["fits"], set={"k": "x" * 6_000})
