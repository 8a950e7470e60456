"""Tables that others made and write to, and what the engine does to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import (
    ConfigurationError,
    Document,
    DocumentError,
    Expression,
    F,
    ForeignRecordWarning,
    Key,
    Op,
    SchemaMismatchError,
    UnsupportedFilterError,
    Value,
    compile_filter,
)
from vecstore.dialects.sqlite import SQLite, SQLiteStore
from vecstore.dialects.sqlite.dialect import _LONGEST_PATH
from vecstore.dialects.sqlite.store import _VECTORS_AT_ONCE

NAMES: dict[str, Any] = {
    "id_column": "key",
    "text_column": 'the "body"',
    "metadata_column": "meta data",
    "embedding_column": "vec",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def database(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def floats(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f4").tobytes()


def test_any_names_of_columns_and_more_columns(database: sqlite3.Connection, path: Path) -> None:
    database.execute(
        "CREATE TABLE \"my docs\" (made TEXT DEFAULT 'now', vec BLOB, note TEXT, "
        '"the ""body""" TEXT, "meta data" JSON, "Key" VARCHAR(9) PRIMARY KEY)'
    )
    row = ["kept", "one", '{"n": 1}', "a", floats(1, 0)]
    database.execute(
        'INSERT INTO "my docs" (note, "the ""body""", "meta data", "Key", vec) '
        "VALUES (?, ?, ?, ?, ?)",
        row,
    )
    with SQLiteStore(path, table="my docs", **NAMES) as store:
        assert store.dimension == 2
        store.add([Document("two", {"n": 2}, "b", [0, 1]), Document("new", {"n": 3}, "a", [1, 1])])
        found = store.search(vector=[1, 1], filter="n >= 2")
        assert [one.text for one in found] == ["new", "two"]
        assert store.update_metadata(filter="n == 3", set={"x": True}) == 1
        assert store.get(["a"])[0].metadata == {"n": 3, "x": True}
    assert database.execute("SELECT note FROM \"my docs\" WHERE key = 'a'").fetchall() == [
        ("kept",)
    ]


FAULTS = {
    "id INTEGER PRIMARY KEY, text TEXT, metadata TEXT, embedding BLOB": "'id' is INTEGER, not TEXT",
    "id TEXT PRIMARY KEY, text TEXT, metadata INT, embedding BLOB": "'metadata' is INT, not TEXT",
    "id TEXT PRIMARY KEY, text TEXT, metadata TEXT, embedding TEXT": "'embedding' is TEXT, not BLOB",
    "id TEXT PRIMARY KEY, metadata TEXT, embedding BLOB": "no column 'text'",
    "id TEXT, text TEXT, metadata TEXT, embedding BLOB": "CREATE UNIQUE INDEX",
    "id TEXT COLLATE NOCASE PRIMARY KEY, text TEXT, metadata TEXT, embedding BLOB": "byte by byte",
    "id TEXT PRIMARY KEY, text TEXT, metadata TEXT, embedding BLOB, more INT NOT NULL": "required column 'more'",
}  # fmt: skip


@pytest.mark.parametrize("columns", FAULTS)
def test_a_table_that_does_not_fit(database: sqlite3.Connection, path: Path, columns: str) -> None:
    database.execute(f"CREATE TABLE documents ({columns})")
    with pytest.raises(SchemaMismatchError) as caught:
        SQLiteStore(path)
    assert FAULTS[columns] in str(caught.value)


def test_an_index_of_some_rows_keeps_no_ids_unique(
    database: sqlite3.Connection, path: Path
) -> None:
    database.execute("CREATE TABLE documents (id TEXT, text TEXT, metadata TEXT, embedding BLOB)")
    database.execute("CREATE UNIQUE INDEX some ON documents (id) WHERE text <> ''")
    with pytest.raises(SchemaMismatchError, match="nothing keeps its ids unique"):
        SQLiteStore(path)
    database.execute("CREATE UNIQUE INDEX every ON documents (id)")
    with SQLiteStore(path, dimension=2) as store:
        assert store.add([Document("", {}, "a", [1, 0])]) == ["a"]


def test_equal_scores_are_in_order_by_id_wherever_their_rows_lie() -> None:
    count = 3 * _VECTORS_AT_ONCE // 2  # the search compares them in two steps
    with SQLiteStore(dimension=2) as store:
        store.add(Document("", {}, f"{n:05}", [1, 0]) for n in reversed(range(count)))
        found = store.search(vector=[1, 0], top_k=3)
        assert [one.id for one in found] == ["00000", "00001", "00002"]


def test_a_path_steps_into_as_many_objects_as_there_are_tables() -> None:
    names = [f"k{n}" for n in range(_LONGEST_PATH)]
    metadata: Any = 1
    for name in reversed(names):
        metadata = {name: metadata}
    with SQLiteStore(dimension=2) as store:
        store.add([Document("", metadata, "a", [1, 0])])
        assert store.count(F[names[0]] == 1) == 0
        assert store.count(Expression(Op.EQ, Key(*names), Value(1))) == 1
        with pytest.raises(UnsupportedFilterError, match="at most 60 objects"):
            store.count(Expression(Op.EQ, Key(*names, "k"), Value(1)))


def test_other_layouts_metrics_dimensions_and_encodings(
    database: sqlite3.Connection, path: Path, tmp_path: Path
) -> None:
    with SQLiteStore(path, metric="dot", dimension=2):
        pass
    with SQLiteStore(path) as store:
        assert store.metric == "dot"
    with pytest.raises(SchemaMismatchError, match="metric is dot, not cosine"):
        SQLiteStore(path, metric="cosine")
    with pytest.raises(SchemaMismatchError, match="2 dimensions, not 3"):
        SQLiteStore(path, dimension=3)
    database.execute("UPDATE vecstore_tables SET layout = 9")
    with pytest.raises(SchemaMismatchError, match="layout 9"):
        SQLiteStore(path)
    other = sqlite3.connect(tmp_path / "b.db")
    other.execute("PRAGMA encoding = 'UTF-16'")
    other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(SchemaMismatchError, match=r"encoding is UTF-16.* another order"):
        SQLiteStore(tmp_path / "b.db")
    for name in ("", "a\0b", "vecstore_tables", "VECSTORE_tables", "sqlite_master", "json_each"):
        with pytest.raises(ConfigurationError):
            SQLiteStore(table=name)


def test_why_texts_of_other_encodings_are_refused() -> None:
    """The order of the bytes is no order of code points there."""
    for encoding, ordered in (("UTF-8", 1), ("UTF-16le", 0)):
        database = sqlite3.connect(":memory:")
        database.execute(f"PRAGMA encoding = '{encoding}'")
        database.execute("CREATE TABLE t (a TEXT)")
        database.execute("INSERT INTO t VALUES ('\u0100')")
        assert database.execute("SELECT a > '\u00ff' FROM t").fetchone() == (ordered,)
        database.close()


def test_rows_without_a_vector_or_a_direction_are_near_nothing(
    database: sqlite3.Connection, path: Path
) -> None:
    database.execute("CREATE TABLE documents (id TEXT UNIQUE, text TEXT, metadata TEXT, embedding)")
    with SQLiteStore(path) as store:
        store.add([Document("", {"n": n}, f"{n}", [1, n]) for n in range(3)])
        database.execute("INSERT INTO documents (id) VALUES ('none')")
        for id, vector in (("zero", floats(0, 0)), ("long", floats(1, 2, 3)), ("text", "[1, 2]")):
            database.execute("INSERT INTO documents VALUES (?, NULL, '{}', ?)", [id, vector])
        for top_k in (9, 3):
            found = store.search(vector=[1, 0], top_k=top_k)
            assert [one.id for one in found] == ["0", "1", "2"]
        absent = {one.id: one for one in store.get(filter="n IS NULL", include_embedding=True)}
        assert set(absent) == {"none", "zero", "long", "text"}
        assert absent["long"].embedding is None
        database.execute("INSERT INTO documents (text) VALUES ('nobody')")
        with pytest.warns(ForeignRecordWarning, match="it has no id"):
            assert len(store.get()) == 7
        with pytest.warns(ForeignRecordWarning):
            assert store.delete(filter="n IS NULL") == 4
        assert len(list(store.scan())) == 3


def test_what_is_no_json_stops_no_call_and_is_left_alone(
    database: sqlite3.Connection, path: Path
) -> None:
    with SQLiteStore(path, dimension=1) as store:
        store.add([Document("", {"a": 1}, "ours", [1])])
        for number, text in enumerate(['{"a": 1,}', "{'a': 1}", "text", "", '{"a": NaN}', "7"]):
            database.execute(
                "INSERT INTO documents (id, text, metadata, embedding) VALUES (?, '', ?, ?)",
                [f"{number}", text, floats(1)],
            )
        with pytest.warns(ForeignRecordWarning, match="no document"):
            assert [one.id for one in store.get(filter=F.a != 7)] == ["ours"]
        assert [one.id for one in store.get(filter="a == 1")] == ["ours"]
        with pytest.warns(ForeignRecordWarning):
            assert store.update_metadata(filter="a != 7", set={"b": 2}) == 1
        assert store.count("b == 2") == 1
        with pytest.warns(ForeignRecordWarning):
            assert store.delete(filter="a != 7") == 1
        assert database.execute("SELECT count(*) FROM documents").fetchone() == (6,)


def test_a_table_that_takes_no_row_without_a_vector(
    database: sqlite3.Connection, path: Path
) -> None:
    database.execute(
        "CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT, metadata TEXT, "
        "embedding BLOB NOT NULL)"
    )
    with SQLiteStore(path, dimension=2) as store:
        with pytest.raises(DocumentError, match="is NOT NULL, which SQLite cannot change"):
            store.add([Document("bare", {}, "a")], embed=False)
        assert store.count() == 0


def test_the_first_vector_of_any_process_settles_the_length(
    database: sqlite3.Connection, path: Path
) -> None:
    database.execute(
        "CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT, metadata TEXT, embedding BLOB)"
    )
    with SQLiteStore(path) as first, SQLiteStore(path) as second:
        assert second.search(vector=[1, 2]) == []
        first.add([Document("", {}, "a", [1, 2])])
        assert [one.id for one in second.search(vector=[1, 2])] == ["a"]
        assert second.dimension == 2


def test_every_float_that_json_holds_is_the_one_that_was_written() -> None:
    """Else a filter would take a number for its neighbour."""
    bits = np.random.default_rng(5).integers(0, 2**64, 20_000, dtype=np.uint64)
    drawn = [float(one) for one in bits.view(np.float64) if np.isfinite(one)]
    near = [
        *drawn,
        *np.random.default_rng(6).random(20_000).tolist(),
        5e-324,
        1.7976931348623157e308,
    ]
    database = sqlite3.connect(":memory:")
    read = [row[0] for row in database.execute("SELECT atom FROM json_each(?)", [json.dumps(near)])]
    database.close()
    assert read == near


def test_nothing_of_a_filter_is_in_the_statement() -> None:
    hostile = ["a' OR 1=1 --", '"; DROP TABLE documents; --', "?", ":p0", "$.a", "/a/0", "%s", "\\"]
    harmless = compile_filter((F.k == "k") & (F.k > "k") & F.j.is_null(), "sqlite").query
    for text in hostile:
        compiled = compile_filter(
            (F[text] == text) & (F[text] > text) & F["j" + text].is_null(), "sqlite"
        )
        assert compiled.query == harmless
        assert compiled.query.count("?") == len(compiled.params)


def test_the_name_of_a_column_of_json_each_is_qualified() -> None:
    with pytest.raises(ConfigurationError, match=r"column=\('docs', 'value'\)"):
        SQLite(column="value")
    with SQLiteStore(table="json", metadata_column="value", dimension=1) as store:
        store.add([Document("", {"key": n}, f"{n}", [1]) for n in range(3)])
        assert store.count("key >= 1 AND value IS NULL") == 2
