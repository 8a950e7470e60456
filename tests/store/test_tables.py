"""Tables that others make, change and drop while a store is open on them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from vecstore import Document, DocumentError, SchemaMismatchError
from vecstore.dialects.duckdb import DuckDBStore
from vecstore.dialects.sqlite import SQLiteStore
from vecstore.store.tables import TableStore


class Others(NamedTuple):
    """A store without a table yet, and how others write to its database."""

    store: TableStore
    again: Callable[[], TableStore]
    run: Callable[[str], Any]
    old: list[str]
    """Makes the table that this library made before there were extras."""


@pytest.fixture(params=["sqlite", "duckdb"])
def others(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Others]:
    if request.param == "sqlite":
        connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        old = [
            "CREATE TABLE documents (id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, "
            "metadata TEXT NOT NULL, embedding BLOB)",
            "CREATE TABLE IF NOT EXISTS vecstore_tables (name TEXT PRIMARY KEY COLLATE NOCASE, "
            "layout INTEGER NOT NULL, metric TEXT NOT NULL, dimension INTEGER NOT NULL)",
            "INSERT OR REPLACE INTO vecstore_tables VALUES ('documents', 1, 'cosine', 2)",
        ]

        def again() -> TableStore:
            return SQLiteStore(tmp_path / "a.db")

    else:
        connection = duckdb.connect()  # type: ignore[assignment]
        old = [
            "CREATE TABLE documents (id VARCHAR PRIMARY KEY, text VARCHAR NOT NULL, "
            "metadata JSON NOT NULL, embedding FLOAT[2])",
            "COMMENT ON TABLE documents IS 'vecstore layout 1, metric cosine'",
        ]

        def again() -> TableStore:
            return DuckDBStore(connection=connection)  # type: ignore[arg-type]

    with again() as store:
        yield Others(store, again, connection.execute, old)
    connection.close()


def one(id: str, extra: Any = None) -> Document:
    return Document("text", {"n": 1}, id, [1, 0], extra=extra)


def held(store: TableStore) -> dict[str, Any]:
    found = {document.id: document.extra for document in store.get()}
    assert found == {document.id: document.extra for document in store.scan()}
    assert found == {document.id: document.extra for document in store.search(vector=[1, 0])}
    assert store.count() == len(found)
    return found


def test_no_extra_is_lost_in_a_table_that_others_made_meanwhile(others: Others) -> None:
    store, again, run, old = others
    for statement in old:
        run(statement)
    with pytest.raises(DocumentError, match="'b' has an extra, and the table") as caught:
        store.add([one("a"), one("b", [1])])
    assert (caught.value.document_id, held(store)) == ("b", {})
    store.add([one("a")])
    (line,) = re.findall("run (ALTER .*?);", str(caught.value))
    run(line)
    with again() as other:
        other.add([one("a", "theirs"), one("b", "theirs")])
        # The store that found no column leaves nothing behind of what it replaces.
        store.add([one("a")])
        assert held(other) == held(store) == {"a": None, "b": "theirs"}
        store.add([one("c", 3)])
        assert held(other)["c"] == 3


def test_no_extra_is_lost_in_a_table_that_others_made_anew(others: Others) -> None:
    store, _, run, old = others
    store.add([one("a", "ours")])
    run("DROP TABLE documents")
    for statement in old:
        run(statement)
    with pytest.raises(DocumentError, match=r"run ALTER TABLE .* ADD COLUMN"):
        store.add([one("b", [1])])
    assert held(store) == {}


@pytest.mark.parametrize("first", ["get", "scan", "search", "count", "update", "delete", "add"])
def test_every_call_finds_a_table_that_was_made_anew(others: Others, first: str) -> None:
    store, _, run, old = others
    store.add([one("a", "ours")])
    run("DROP TABLE documents")
    for statement in old:
        run(statement)
    run("INSERT INTO documents (id, text, metadata) VALUES ('x', 'theirs', '{\"n\": 7}')")
    calls: dict[str, Callable[[], Any]] = {
        "get": lambda: [(found.id, found.extra) for found in store.get()] == [("x", None)],
        "scan": lambda: [(found.id, found.extra) for found in store.scan()] == [("x", None)],
        "search": lambda: store.search(vector=[1, 0]) == [],
        "count": lambda: store.count(filter="n == 7") == 1,
        "update": lambda: store.update_metadata(["x"], set={"m": 1}) == 1,
        "delete": lambda: store.delete(["x"]) == 1,
        "add": lambda: store.add([one("b")]) == ["b"],
    }
    assert calls[first]()


def test_a_table_that_was_dropped_is_told(others: Others) -> None:
    store, again, run, _ = others
    store.add([one("a", "ours")])
    assert held(store) == {"a": "ours"}
    run("DROP TABLE documents")
    for call in (
        store.get,
        store.count,
        store.clear,
        lambda: list(store.scan()),
        lambda: store.search(vector=[1, 0]),
        lambda: store.delete(["a"]),
        lambda: store.update_metadata(["a"], set={"n": 2}),
        lambda: store.add([one("b")]),
    ):
        with pytest.raises(SchemaMismatchError, match="somebody dropped it; open the store again"):
            call()
    with again() as other:
        other.add([one("c", 3)])
        assert held(store) == {"c": 3}
