"""Tables that others made and write to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import duckdb
import numpy as np
import pytest

from vecstore import (
    ConfigurationError,
    Document,
    DocumentError,
    F,
    ForeignRecordWarning,
    SchemaMismatchError,
)
from vecstore.dialects.duckdb import DuckDBStore

NAMES = {
    "id_column": "key",
    "text_column": 'the "body"',
    "metadata_column": "meta data",
    "embedding_column": "vec",
}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def test_any_names_of_columns_and_more_columns(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        'CREATE TABLE "my docs" (made TIMESTAMP DEFAULT now(), vec FLOAT[2], note VARCHAR, '
        '"the ""body""" VARCHAR, "meta data" JSON, "Key" VARCHAR PRIMARY KEY)'
    )
    connection.execute(
        """INSERT INTO "my docs" VALUES (now(), [1, 0], 'kept', 'one', '{"n": 1}', 'a')"""
    )
    with DuckDBStore(connection=connection, table="my docs", **NAMES) as store:  # type: ignore[arg-type]
        store.add([Document("two", {"n": 2}, "b", [0, 1]), Document("new", {"n": 3}, "a", [1, 1])])
        assert [found.text for found in store.search(vector=[1, 1], filter="n >= 2")] == [
            "new",
            "two",
        ]
        assert store.update_metadata(filter="n == 3", set={"x": True}) == 1
        assert store.get(["a"])[0].metadata == {"n": 3, "x": True}
    assert connection.execute("""SELECT note FROM "my docs" WHERE key = 'a'""").fetchall() == [
        ("kept",)
    ]


FAULTS = {
    "id BIGINT PRIMARY KEY, text VARCHAR, metadata JSON, embedding FLOAT[2]": "ALTER \"id\" TYPE VARCHAR",
    "id VARCHAR PRIMARY KEY, text VARCHAR, metadata VARCHAR, embedding FLOAT[2]": "ALTER \"metadata\" TYPE JSON",
    "id VARCHAR PRIMARY KEY, text VARCHAR, metadata JSON, embedding FLOAT[]": "is FLOAT[], not FLOAT[n]",
    "id VARCHAR PRIMARY KEY, text VARCHAR, metadata JSON, embedding DOUBLE[2]": "is DOUBLE[2], not FLOAT[n]",
    "id VARCHAR PRIMARY KEY, metadata JSON, embedding FLOAT[2]": "no column 'text'",
    "id VARCHAR, text VARCHAR, metadata JSON, embedding FLOAT[2]": "CREATE UNIQUE INDEX",
    "id VARCHAR PRIMARY KEY, text VARCHAR, metadata JSON, embedding FLOAT[2], more INT NOT NULL": "required column 'more'",
}  # fmt: skip


@pytest.mark.parametrize("columns", FAULTS)
def test_a_table_that_does_not_fit(connection: duckdb.DuckDBPyConnection, columns: str) -> None:
    connection.execute(f"CREATE TABLE documents ({columns})")
    with pytest.raises(SchemaMismatchError) as caught:
        DuckDBStore(connection=connection)
    assert FAULTS[columns] in str(caught.value)


def test_a_table_that_takes_no_row_without_a_vector(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE documents (id VARCHAR PRIMARY KEY, text VARCHAR, metadata JSON, "
        "embedding FLOAT[2] NOT NULL)"
    )
    with DuckDBStore(connection=connection) as store:
        assert not store.capabilities.vectorless
        with pytest.raises(DocumentError, match="is NOT NULL") as caught:
            store.add([Document("bare", {}, "a")], embed=False)
        assert store.count() == 0
    (command,) = re.findall("run (ALTER .*? DROP NOT NULL)", str(caught.value))
    connection.execute(command)
    with DuckDBStore(connection=connection) as store:
        store.add([Document("bare", {}, "a")], embed=False)
        assert [found.embedding for found in store.get(include_embedding=True)] == [None]


def test_the_commands_that_are_told_mend_the_table(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE documents (id BIGINT, text JSON, metadata VARCHAR, embedding FLOAT[])"
    )
    connection.execute("""INSERT INTO documents VALUES (1, '"x"', '{"n": 1}', [1, 0])""")
    with pytest.raises(SchemaMismatchError) as caught:
        DuckDBStore(connection=connection)
    commands = re.findall(r"\(((?:ALTER|CREATE) .*?)\)(?=;|$)", str(caught.value))
    assert len(commands) == 5
    for command in commands:
        connection.execute(command.replace("FLOAT[n]", "FLOAT[2]"))
    with DuckDBStore(connection=connection) as store:
        assert [found.id for found in store.search(vector=[1, 0], filter="n == 1")] == ["1"]
        with pytest.raises(SchemaMismatchError, match="2 dimensions, not 3"):
            DuckDBStore(connection=connection, dimension=3)


def test_tables_of_another_metric_or_layout(connection: duckdb.DuckDBPyConnection) -> None:
    with DuckDBStore(connection=connection, metric="dot", dimension=2):
        pass
    with DuckDBStore(connection=connection) as store:
        assert store.metric == "dot"
    with pytest.raises(SchemaMismatchError, match="metric is dot, not cosine"):
        DuckDBStore(connection=connection, metric="cosine")
    connection.execute("COMMENT ON TABLE documents IS 'vecstore layout 9, metric dot'")
    with pytest.raises(SchemaMismatchError, match="layout 9"):
        DuckDBStore(connection=connection)
    connection.execute("COMMENT ON TABLE documents IS 'what our team has read'")
    with DuckDBStore(connection=connection, metric="euclidean") as store:
        assert store.metric == "euclidean"


def test_rows_without_a_vector_or_a_direction_are_near_nothing(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute(
        "CREATE TABLE documents (id VARCHAR UNIQUE, text VARCHAR, metadata JSON, embedding FLOAT[2])"
    )
    with DuckDBStore(connection=connection) as store:
        store.add([Document("", {"n": n}, f"{n}", [1, n]) for n in range(3)])
        connection.execute("INSERT INTO documents (id) VALUES ('none')")
        connection.execute("INSERT INTO documents VALUES ('zero', NULL, '{}', [0, 0])")
        assert [found.id for found in store.search(vector=[1, 0], top_k=9)] == ["0", "1", "2"]
        assert [found.id for found in store.search(vector=[1, 0], top_k=3)] == ["0", "1", "2"]
        assert {found.id for found in store.get(filter="n IS NULL")} == {"none", "zero"}
        assert store.get(["none"])[0].metadata == {}
        connection.execute("INSERT INTO documents (text) VALUES ('nobody')")
        with pytest.warns(ForeignRecordWarning, match="it has no id"):
            assert len(store.get()) == 5
        with pytest.warns(ForeignRecordWarning):
            assert store.delete(filter="n IS NULL") == 2
        assert len(list(store.scan())) == 3


def test_lists_that_are_no_list_of_one_kind_stop_no_filter(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    held = [[1, "a"], ["a", 1], [[1]], [{"k": 1}], [None], {"k": 1}, 10**40, "1", 1e300, [True, 2]]
    with DuckDBStore(connection=connection, dimension=1) as store:
        for number, value in enumerate(held):
            row = [f"{number}", json.dumps({"k": value})]
            connection.execute(
                "INSERT INTO documents (id, text, metadata, embedding) VALUES (?, '', ?, [1])", row
            )
        store.add([Document("", {"k": [1, 2]}, "fine", [1])])
        for filter in (F.k == 2, F.k.in_([2, "b", False]), F.k["k"] == 2, (F.k > 1) & (F.k < 3)):
            found = {one.id for one in store.get(filter=filter)}
            assert found in ({"fine"}, set())
        assert store.count("k != 7") == len(held) + 1


def test_what_the_engine_alone_takes_for_json_is_no_document(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    with DuckDBStore(connection=connection, dimension=1) as store:
        store.add([Document("", {"a": 1}, "ours", [1])])
        connection.execute(
            "INSERT INTO documents (id, text, metadata, embedding) VALUES ('lax', '', '{\"a\": 1,}', [1])"
        )
        with pytest.warns(ForeignRecordWarning, match="'lax'"):
            assert [found.id for found in store.get(filter="a == 1")] == ["ours"]
        assert store.update_metadata(filter="a == 1", set={"b": 2}) == 1
        assert store.count("b == 2") == 1
        connection.execute("DELETE FROM documents WHERE id = 'lax'")
        connection.execute(
            """INSERT INTO documents (id, text, metadata, embedding) VALUES ('twice', '', '{"a": 1, "a": 2}', [1])"""
        )
        assert store.count("a == 1") == 2


def test_odd_texts_survive_large_and_small_batches() -> None:
    odd = ["", "\x01", "ß\u2028\U0010ffff", "'; DROP TABLE documents; --", '"{}"', "$1 ?", "[1"]
    for many in (1, 30):
        with DuckDBStore(dimension=2) as store:
            documents = [
                Document(text, {"k": text, text or "k": [text]}, f"{turn}{text}x", [turn + 1, n])
                for turn in range(many)
                for n, text in enumerate(odd)
            ]  # fmt: skip
            store.add(documents)
            kept = {found.id: found for found in store.scan(include_embedding=True)}
            assert len(kept) == len(documents)
            for document in documents:
                found = kept[document.id]
                assert (found.text, found.metadata) == (document.text, document.metadata)
                assert np.array_equal(found.embedding, document.embedding)


@pytest.mark.parametrize("bad", ["", "a\0b", 7])
def test_names_that_are_none(bad: object) -> None:
    for option in ("table", "namespace", "id_column"):
        with pytest.raises(ConfigurationError, match="has a name"):
            DuckDBStore(**{option: bad})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="name of its own"):
        DuckDBStore(id_column="text")


def test_a_scan_goes_on_behind_the_ids_that_it_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vecstore.dialects.duckdb.store._IDS_AT_ONCE", 7)
    monkeypatch.setattr("vecstore.store.tables.CHANGED_AT_ONCE", 5)
    with DuckDBStore(dimension=1) as store:
        store.add([Document("", {"n": n}, f"{n:03}", [1]) for n in range(30)])
        for size in (1, 3, 7, 8, 100):
            assert [found.id for found in store.scan(batch_size=size)] == [
                f"{n:03}" for n in range(30)
            ]
        assert store.update_metadata(filter="n >= 0", set={"m": 1}) == 30
        assert store.count("m == 1") == 30
