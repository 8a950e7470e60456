"""What others wrote stays as it is, whatever it is, where ``update_metadata`` changes another key."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from vecstore import (
    ChromaStore,
    Document,
    DocumentError,
    DuckDBStore,
    LanceDBStore,
    RedisStore,
    SQLiteStore,
    VectorStore,
)

HELD = {
    "objects in lists": '{"n": {"a": [{"c": 1}, [2], null, "x"]}}',
    "half a character": '{"n": "\\ud800"}',
    "half a character in a list": '{"n": ["a", "\\udc80", "ü"]}',
    "half a character in a key": '{"n\\ud800": 1}',
    "more kinds than one": '{"n": [1, "a", true, null]}',
    "an empty key": '{"": 1}',
    "a key of ours": '{"__vecstore": 1}',
    "NUL": '{"n": "a\\u0000b"}',
    "an integer past all floats": '{"n": 1' + "0" * 400 + "}",
}


class Written(NamedTuple):
    """A store with the document ``a``, and how others write its metadata."""

    store: VectorStore
    write: Callable[[str], Any]


def written(engine: str, folder: Path) -> Written:
    if engine == "sqlite":
        store: Any = SQLiteStore(folder / "a.db", dimension=2)
        others = sqlite3.connect(folder / "a.db", isolation_level=None)
        return Written(
            store, lambda text: others.execute("UPDATE documents SET metadata=?", [text])
        )
    if engine == "duckdb":
        connection = duckdb.connect()
        store = DuckDBStore(connection=connection, dimension=2)
        return Written(
            store, lambda text: connection.execute("UPDATE documents SET metadata=?", [text])
        )
    if engine == "redis":
        store = RedisStore("docs", path=folder / "redis", dimension=2, texts=["n"])
        return Written(store, lambda text: store.native.hset("vecstore:docs:a", "metadata", text))
    if engine == "lancedb":
        store = LanceDBStore("docs", path=folder / "lance", dimension=2)
        return Written(
            store, lambda text: store.native.open_table("docs").update(values={"metadata": text})
        )
    store = ChromaStore("docs", path=folder / "chroma", dimension=2)

    def write(text: str) -> None:
        collection = store.native.get_collection("docs")
        held = collection.get()
        [name] = [name for name in held["metadatas"][0] if name.endswith("metadata")]
        changed = {**held["metadatas"][0], name: text}
        collection.update(ids=held["ids"], metadatas=[changed])

    return Written(store, write)


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "redis", "lancedb", "chroma"])
def others(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Written]:
    found = written(request.param, tmp_path_factory.mktemp(request.param))
    with found.store:
        yield found


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
def test_the_rest_of_it_stays(others: Written, text: str) -> None:
    store = others.store
    store.add([Document("text", {"n": 1}, "a", [1, 0])])
    if store.name == "duckdb" and "\\ud" in text:
        with pytest.raises(duckdb.ConversionException):  # its own JSON takes no such text
            others.write(text)
        return
    others.write(text)
    before = json.loads(text)
    assert store.update_metadata(["a"], set={"z": 1}) == 1
    assert store.get(["a"])[0].metadata == {**before, "z": 1}
    assert store.update_metadata(filter="z == 1", set={"z": 2}, unset=["y"]) == 1
    assert store.get(filter="z == 2")[0].metadata == {**before, "z": 2}
    assert store.update_metadata(["a"], unset=["z", "n"]) == 1
    assert store.get(["a"])[0].metadata == {key: before[key] for key in before if key != "n"}


def test_a_number_that_is_infinite_stays_or_is_named(others: Written) -> None:
    store = others.store
    store.add([Document("text", {"n": 1}, "a", [1, 0])])
    others.write('{"n": 1e400}')
    if store.name in ("redis", "chroma"):
        assert store.update_metadata(["a"], set={"z": 1}) == 1
        assert store.get(["a"])[0].metadata == {"n": float("inf"), "z": 1}
    else:
        with pytest.raises(DocumentError, match="inf is not a finite number") as caught:
            store.update_metadata(["a"], set={"z": 1})
        assert (caught.value.document_id, caught.value.key) == ("a", "n")
        assert store.get(["a"])[0].metadata == {"n": float("inf")}
    assert store.update_metadata(["a"], set={"n": 2}) == 1
    assert store.get(filter="n == 2")[0].id == "a"
