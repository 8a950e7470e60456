"""``Document.extra``: what it takes, and where it is kept."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import vecstore
from vecstore import Document, SchemaMismatchError, SimpleVectorStore, SQLiteStore, StoreFileError
from vecstore.errors import DocumentError
from vecstore.extra import MAX_EXTRA_DEPTH
from vecstore.simple import persistence

EXTRA = {"z": [{"n": 2**60 + 1}, None, [[]]], "a": "\0é"}


class Colour(StrEnum):
    RED = "red"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class TestValues:
    def test_it_is_normalised_and_copied(self) -> None:
        given = {"t": (1, Colour.RED), "d": {"x": [True]}}
        document = Document("a", extra=given)
        given["d"]["x"].append(False)  # type: ignore[index]
        assert document.extra == {"t": [1, "red"], "d": {"x": [True]}}
        assert type(document.extra["t"][1]) is str
        assert document.extra is document.extra

    @pytest.mark.parametrize(
        ("value", "place"),
        [
            ({"a": [0, {"b": float("nan")}]}, "extra['a'][1]['b']: JSON has no nan"),
            ({"a": {1: 2}}, "extra['a']: the keys of an object are texts, not 1"),
            ([b"x"], "extra[0]: JSON has no bytes"),
            ({"\ud800": 1}, "extra: a text holds half of a character"),
            (10**4_300, "extra: an integer has at most"),
            (nested(MAX_EXTRA_DEPTH + 1), "nested more than 100 deep"),
        ],
        ids=["nan", "key", "bytes", "surrogate", "integer", "depth"],
    )
    def test_what_is_no_json_is_refused_with_its_place(self, value: Any, place: str) -> None:
        with pytest.raises(DocumentError) as caught:
            Document("a", id="one", extra=value)
        assert place in str(caught.value)
        assert "'one'" in str(caught.value)
        assert caught.value.document_id == "one"

    def test_what_holds_itself_and_what_is_too_large(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        with pytest.raises(DocumentError, match="holds itself"):
            Document("a", extra=loop)
        with pytest.raises(DocumentError, match=r"16,777,\d+ bytes as JSON"):
            Document("a", extra="x" * 16 * 1024 * 1024)

    def test_what_a_caller_makes_of_it_is_checked_when_it_is_added(self) -> None:
        store = SimpleVectorStore()
        document = Document("a", id="a", embedding=[1], extra={"n": 1})
        document.extra["n"] = {2}
        with pytest.raises(DocumentError, match=r"extra\['n'\]: JSON has no set"):
            store.add([document])
        assert store.count() == 0

    def test_copies_equality_and_repr(self) -> None:
        store = SimpleVectorStore()
        store.add([Document("a", {"m": 1}, "a", [1], extra=EXTRA)])
        for one in (Document("a", {"m": 1}, "a", extra=EXTRA), *store.get()):
            for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
                assert other == one
                assert other.extra == EXTRA
                assert other.extra is not one.extra
            assert one.metadata == {"m": 1}
            assert one.extra == EXTRA
            assert one != one.replace(extra=None)
            assert one.replace(text="b").extra == EXTRA
        assert repr(Document("a", id="a", extra=[1])) == "Document('a', id='a', extra=[1])"
        assert len(repr(Document("a", id="a", extra="x" * 1_000))) < 120


class TestFiles:
    @pytest.mark.parametrize("sidecar", [False, True])
    @pytest.mark.parametrize("fast", [False, True])
    def test_a_file_keeps_it(
        self, tmp_path: Path, sidecar: bool, fast: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not fast:
            monkeypatch.setattr(persistence, "orjson", None)
        path = tmp_path / "kb.json"
        store = SimpleVectorStore()
        store.add([Document(f"{n}", id=f"{n}", embedding=[1, n]) for n in range(3)])
        store.save(path, sidecar=sidecar)
        assert f'"version":{2 if sidecar else 1},' in path.read_text()
        store.add([Document("1", id="1", embedding=[1, 1], extra=EXTRA)])
        store.delete(["0"])
        store.add([Document("9", id="9", extra=[])], embed=False)
        store.save(path, sidecar=sidecar)
        assert '"version":4,' in path.read_text()
        loaded = SimpleVectorStore().load(path)
        assert {one.id: one.extra for one in loaded.get()} == {"1": EXTRA, "2": None, "9": []}
        assert list(loaded.get(["1"])[0].extra) == ["z", "a"]
        assert loaded.get(["9"], include_embedding=True)[0].embedding is None
        store.add([Document("1", id="1", embedding=[1, 1])])
        store.delete(["9"])
        store.save(path, sidecar=sidecar)
        assert f'"version":{2 if sidecar else 1},' in path.read_text()

    def test_a_file_with_a_wrong_one_is_refused(self) -> None:
        store = SimpleVectorStore()
        store.add([Document("a", id="a", embedding=[1], extra={"n": 1})])
        text = store.to_json()
        written = '"extra":"{\\"n\\":1}"'
        assert written in text
        with pytest.raises(StoreFileError, match="extra of document 0 is an object, not JSON"):
            SimpleVectorStore.from_json(text.replace(written, '"extra":{"n":1}'))
        with pytest.raises(StoreFileError, match="document 0 is not an object with id"):
            SimpleVectorStore.from_json(text.replace('"version":4', '"version":3'))

    def test_rows_that_died_take_theirs_with_them(self) -> None:
        store = SimpleVectorStore()
        for turn in range(4):  # more than are dropped at once
            store.add(
                Document("t", id=f"{n}", embedding=[1], extra=[turn, n] if n % 2 else None)
                for n in range(700)
            )
        assert {one.id: one.extra for one in store.scan()} == {
            f"{n}": [3, n] if n % 2 else None for n in range(700)
        }

    @pytest.mark.parametrize("name", ["kb.jsonl", "kb.parquet"])
    def test_it_is_copied(self, tmp_path: Path, name: str) -> None:
        source, target = SimpleVectorStore(), SQLiteStore(dimension=1)
        source.add([Document("a", id="a", embedding=[1], extra=EXTRA)])
        source.add([Document("b", id="b", embedding=[2])])
        vecstore.copy(source, tmp_path / name)
        vecstore.copy(tmp_path / name, target)
        assert {one.id: one.extra for one in target.get()} == {"a": EXTRA, "b": None}
        if name.endswith("jsonl"):
            lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
            assert [line.get("extra") for line in lines] == [EXTRA, None]
            assert "extra" not in lines[1]


class TestTables:
    """Of SQLite; the suites of other stores and ``tests/dialects/pgvector`` have the rest."""

    def make(self, path: Path, *, comment: bool, extra: str = "") -> None:
        with SQLiteStore(path, dimension=1) as store:
            store.add([Document("old", {"n": 1}, "old", [1])])
        with sqlite3.connect(path) as database:
            database.execute("ALTER TABLE documents DROP COLUMN extra")
            if extra:
                database.execute(f"ALTER TABLE documents ADD COLUMN {extra}")
            if not comment:
                database.execute("DROP TABLE vecstore_tables")
        database.close()

    def test_a_table_without_the_column_works_and_says_how_to_add_it(self, tmp_path: Path) -> None:
        path = tmp_path / "kb.db"
        self.make(path, comment=True)
        new = Document("new", id="new", embedding=[1], extra=[1])
        with SQLiteStore(path) as store:
            assert not store.capabilities.keeps_extra
            store.add([new.replace(extra=None)])
            assert [one.extra for one in store.search(vector=[1])] == [None, None]
            with pytest.raises(DocumentError, match="keeps_extra") as caught:
                store.add([new])
        line = str(caught.value).partition("run ")[2].partition(";")[0]
        with sqlite3.connect(path) as database:
            database.execute(line)
        database.close()
        with SQLiteStore(path) as store:
            store.add([new])
            assert [one.extra for one in store.get(["old", "new"])] == [None, [1]]

    def test_a_column_of_others_is_left_alone_unless_it_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "kb.db"
        self.make(path, comment=False, extra="extra TEXT DEFAULT 'theirs'")
        with SQLiteStore(path) as store:
            store.add([Document("old", id="old", embedding=[2])])
            assert store.get(["old"])[0].extra is None
            with pytest.raises(DocumentError, match="extra_column"):
                store.add([Document("old", id="old", embedding=[2], extra=1)])
        with SQLiteStore(path, extra_column="extra") as store:
            assert store.get(["old"])[0].extra == "theirs"  # no JSON, and given back as it is
            store.add([Document("old", id="old", embedding=[2], extra={"ours": 1})])
            assert store.get(["old"])[0].extra == {"ours": 1}
        with pytest.raises(SchemaMismatchError, match="no column 'more'"):
            SQLiteStore(path, extra_column="more")

    def test_metadata_in_a_column_of_that_name(self) -> None:
        with SQLiteStore(metadata_column="extra", dimension=1) as store:
            store.add([Document("a", {"n": 1}, "a", [1])])
            assert store.get(filter="n == 1")[0].extra is None
            with pytest.raises(DocumentError, match="keeps_extra"):
                store.add([Document("a", id="a", embedding=[1], extra=1)])
