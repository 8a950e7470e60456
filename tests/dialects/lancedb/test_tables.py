"""Tables of the store on LanceDB: how they are found, checked, shared, kept small and lost."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    LanceDBStore,
    SchemaMismatchError,
    StoreClosedError,
    StoreFileError,
    open_store,
)
from vecstore.dialects.lancedb import client as clients
from vecstore.dialects.lancedb import rows
from vecstore.dialects.lancedb.schema import table_schema
from vecstore.testing.store_suite.children import in_a_child

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def document(id: str, **metadata: Any) -> Document:
    return Document(f"text of {id}", metadata, id, [1.0, float(len(metadata))])


# --- how a table is found -----------------------------------------------------------------------


def test_addresses(tmp_path: Path) -> None:
    with open_store(f"lancedb://{tmp_path}/tables?table=docs&exact=no", dimension=2) as store:
        assert store.add([document("a", n=1)]) == ["a"]
        assert not store.capabilities.exact_topk
    with open_store(f"lancedb:{tmp_path}/tables?table=docs&create=false") as again:
        assert again.count("n == 1") == 1
        assert again.dimension == 2
    with open_store("lancedb:?table=docs") as one, open_store("lancedb:?table=docs") as other:
        one.add([document("a")])
        assert (one.count(), other.count()) == (1, 0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"table": "a/b"}, "a name of letters, digits"),
        ({"table": ""}, "a name of letters, digits"),
        ({"table": "docs", "path": "s3://bucket/folder"}, "client=lancedb.connect"),
        ({"table": "docs", "path": "x", "client": object()}, "by path or by client"),
        ({"table": "docs", "client": object()}, "what lancedb.connect"),
        ({"table": "docs", "exact": "yes"}, "exact is True or False"),
        ({"table": "docs", "timeout": 0}, "a number of seconds above 0"),
        ({"table": "docs", "metric": "hamming"}, "has the metrics"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        LanceDBStore(**options)


def test_an_address_without_a_table() -> None:
    with pytest.raises(ConfigurationError, match="name the table: lancedb:///folder"):
        open_store("lancedb:///folder")


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatchError, match="create=False is not to make it"):
        LanceDBStore("docs", path=tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("text")
    with pytest.raises(ConfigurationError, match="is a file"):
        LanceDBStore("docs", path=tmp_path / "file")
    with pytest.raises(SchemaMismatchError, match="create=True"):
        LanceDBStore("docs", path=tmp_path, create=False)
    with pytest.raises((StoreFileError, ConfigurationError)):
        LanceDBStore("docs", path=tmp_path / "file" / "below")


def test_a_connection_of_the_callers_own(tmp_path: Path) -> None:
    client = lancedb.connect(tmp_path)  # which by itself never looks for what others wrote
    with LanceDBStore("docs", client=client) as one, LanceDBStore("docs", path=tmp_path) as other:
        assert one.native is client
        one.add([document("a")])
        other.add([document("b")])
        assert one.count() == other.count() == 2
        assert one.capabilities.conflict_atomic
    assert client.open_table("docs").count_rows() == 2


def test_two_stores_on_one_connection_to_memory() -> None:
    client = lancedb.connect("memory://")
    with LanceDBStore("docs", client=client) as one, LanceDBStore("docs", client=client) as other:
        one.add([document("a")])
        assert other.count() == 1


def test_ids_that_are_read_in_parts_come_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_IDS_READ", 3)
    names = [f"it's {n}" for n in range(10)]
    with LanceDBStore("docs", path=tmp_path, dimension=2) as store:
        store.add([document(name, n=n) for n, name in enumerate(names)])
        assert sorted(one.id for one in store.scan()) == names
        assert sorted(one.id for one in store.scan("n != 4", text=False)) == names[:4] + names[5:]


# --- how a table is checked ---------------------------------------------------------------------


def made(folder: Path, schema: pa.Schema) -> None:
    lancedb.connect(folder).create_table("docs", schema=schema)


def test_tables_of_others_are_refused_when_the_store_opens(tmp_path: Path) -> None:
    made(tmp_path, pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), 2))]))
    with pytest.raises(SchemaMismatchError, match=r"no column text, metadata.*LanceDB\(schema="):
        LanceDBStore("docs", path=tmp_path)


def test_every_difference_is_named(tmp_path: Path) -> None:
    wanted = table_schema(3, "cosine", extra=False)
    other = wanted.set(0, pa.field("id", pa.int64(), nullable=False))
    other = other.set(1, pa.field("text", pa.string()))
    other = other.append(pa.field("more", pa.int64(), nullable=False))
    made(tmp_path, other)
    with pytest.raises(SchemaMismatchError) as caught:
        LanceDBStore("docs", path=tmp_path, dimension=2, metric="dot")
    for told in (
        "the column id is int64, not string",
        "the column text can be null",
        "the column more is none of ours and cannot be null",
        "its vectors have 3 numbers, not 2",
        "it compares by cosine, not by dot",
    ):
        assert told in str(caught.value)


def test_columns_of_others_beside_ours(tmp_path: Path) -> None:
    made(tmp_path, table_schema(2, "cosine", extra=False).append(pa.field("more", pa.int64())))
    with LanceDBStore("docs", path=tmp_path) as store:
        store.add([document("a", n=1)])
        store.native.open_table("docs").update(values={"more": 7})
        store.update_metadata(["a"], set={"n": 2})
        assert store.native.open_table("docs").to_arrow()["more"].to_pylist() == [7]
        assert store.count("n == 2") == 1


def test_a_table_from_before_extras_takes_them_once_it_has_the_column(tmp_path: Path) -> None:
    made(tmp_path, table_schema(2, "cosine", extra=False))
    with LanceDBStore("docs", path=tmp_path) as store, LanceDBStore("docs", path=tmp_path) as old:
        store.add([document("a")])
        with pytest.raises(DocumentError, match="keeps_extra") as caught:
            store.add([document("b").replace(extra=[1]), document("c")])
        assert [one.id for one in store.scan()] == ["a"]
        line = re.search(
            r"store\.native\.open_table\((.+?)\)\.add_columns\(\{(.+?): (.+?)\}\)",
            str(caught.value),
        )
        assert line is not None
        # What the error says to run.
        table, column, made_of = map(ast.literal_eval, line.groups())
        store.native.open_table(table).add_columns({column: made_of})
        with LanceDBStore("docs", path=tmp_path) as again:
            again.add([document(id).replace(extra={"of": id}) for id in "ab"])
            assert again.update_metadata(["a"], set={"n": 1}) == 1
            assert [one.extra for one in again.get(["a", "b"])] == [{"of": "a"}, {"of": "b"}]
            # A store that was open before reads as ever, and replaces whole documents.
            assert old.get(["a"])[0].metadata == {"n": 1}
            assert old.update_metadata(["a"], set={"n": 2}) == 1
            old.add([document("b")])
            assert [one.extra for one in again.get(["a", "b"])] == [{"of": "a"}, None]
            assert [one.extra for one in old.get(["a", "b"])] == [{"of": "a"}, None]
            old.add([document("c").replace(extra=0)])
            assert again.get(["c"])[0].extra == 0


def test_a_table_that_is_dropped_is_told(tmp_path: Path) -> None:
    with LanceDBStore("docs", path=tmp_path) as store:
        store.add([document("a")])
        lancedb.connect(tmp_path).drop_table("docs")
        calls: list[Any] = [
            store.count,
            lambda: store.get(["a"]),
            lambda: store.search(vector=[1, 0]),
            lambda: store.add([document("b")]),
            lambda: store.delete(["a"]),
            lambda: store.update_metadata(["a"], set={"n": 1}),
            store.clear,
        ]
        for call in calls:
            with pytest.raises(SchemaMismatchError, match="somebody dropped it"):
                call()


@pytest.mark.parametrize("column", ["id", "vector", "vecstore_tokens", "vecstore_extra"])
def test_a_table_made_anew_without_a_column_is_told(tmp_path: Path, column: str) -> None:
    with LanceDBStore("docs", path=tmp_path) as store:
        store.add([document("a").replace(extra=[1])])
        others = lancedb.connect(tmp_path)
        rows = others.open_table("docs").to_arrow().drop_columns([column])
        others.drop_table("docs")
        others.create_table("docs", rows)
        with pytest.raises(SchemaMismatchError, match=f"no column {column} any more.*open the"):
            store.search(vector=[1, 0], filter="n == 1")


def test_tables_have_a_primary_key(tmp_path: Path) -> None:
    """Without it two merges that meet insert one id twice."""
    with LanceDBStore("docs", path=tmp_path, dimension=2) as store:
        field = store.native.open_table("docs").schema.field("id")
        assert b"lance-schema:unenforced-primary-key:position" in field.metadata


# --- how it is written --------------------------------------------------------------------------


def test_an_interrupted_write_is_whole_or_not_there(tmp_path: Path) -> None:
    """Signals at all times of a write: nothing hangs, nothing is there by half or twice."""
    # What a shell starts in the background is deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    try:
        with LanceDBStore("docs", path=tmp_path, dimension=2) as store:
            interrupted = 0
            for turn in range(12):
                timer = threading.Timer(0.002 * turn, signal.pthread_kill, [main, signal.SIGINT])
                batch = [document(f"{turn}-{n}", turn=turn) for n in range(50)]
                try:
                    timer.start()
                    store.add(batch)
                    timer.join()
                except KeyboardInterrupt:
                    interrupted += 1
                assert store.count(f"turn == {turn}") in (0, 50)
            assert interrupted
            assert store.add([document("after")]) == ["after"]
            assert len({one.id for one in store.scan()}) == store.count()
    finally:
        signal.signal(signal.SIGINT, before)


def test_whoever_waits_too_long_is_told_and_has_changed_nothing(tmp_path: Path) -> None:
    holder = textwrap.dedent(
        f"""
        import sys
        from vecstore.dialects.lancedb.turns import Turns
        with Turns({str(tmp_path / "docs.vecstore-lock")!r}).taken("test", 5):
            print("held", flush=True)
            sys.stdin.read()
        """
    )
    with LanceDBStore("docs", path=tmp_path, dimension=2, timeout=0.2) as store:
        store.add([document("a")])
        with subprocess.Popen(
            [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            assert store.count() == 1  # reading waits for nobody
            with pytest.raises(BackendError, match="another process has been writing") as caught:
                store.add([document("b")])
            assert caught.value.retryable
            other.communicate()
        assert store.add([document("b")]) == ["b"]


def test_many_writes_leave_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are joined and old versions go, whichever store wrote them."""
    monkeypatch.setattr("vecstore.dialects.lancedb.store._KEPT", timedelta(seconds=0.05))
    monkeypatch.setattr("vecstore.dialects.lancedb.store._WRITES_BETWEEN", 8)
    for number in range(40):
        with LanceDBStore("docs", path=tmp_path, dimension=2) as store:
            store.add([document(f"{number}")])
            time.sleep(0.01)
    with LanceDBStore("docs", path=tmp_path) as store:
        table = store.native.open_table("docs")
        assert store.count() == 40
        assert len(table.list_versions()) < 30
        assert table.stats()["fragment_stats"]["num_fragments"] < 12


def test_indexes_are_made_when_a_table_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vecstore.dialects.lancedb.store._INDEXED_FROM", 300)
    with LanceDBStore("docs", path=tmp_path) as store:
        store.add([document(f"{n}", n=n) for n in range(200)])
        table = store.native.open_table("docs")
        store.add([document(f"more {n}", n=n) for n in range(2_300)])
        table.checkout_latest()
        assert {column for index in table.list_indices() for column in index.columns} == {
            "id",
            "vecstore_tokens",
        }
        # Rows that the index knows, some that it does not, and some that are gone.
        store.add([document("late", n=1)])
        store.delete(["1"])
        assert sorted(one.id for one in store.get(filter="n == 1")) == ["late", "more 1"]
        assert store.count("n NOT IN [1, 2]") == store.count() - 4


# --- processes ----------------------------------------------------------------------------------


@fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:lancedb fork support:RuntimeWarning")
def test_a_store_is_not_opened_in_a_forked_child_where_calls_may_hang(tmp_path: Path) -> None:
    with LanceDBStore("docs", path=tmp_path, dimension=2) as store:

        def work() -> None:
            with pytest.raises(StoreClosedError, match="spawn or forkserver"):
                LanceDBStore("docs", path=tmp_path)
            with pytest.raises(StoreClosedError, match="spawn or forkserver"):
                store.count()

        in_a_child(work)
        assert store.add([document("a")]) == ["a"]


def test_errors_tell_no_place_in_the_engines_source(tmp_path: Path) -> None:
    told = clients._told(
        RuntimeError("lance error: Not found: x, /build/.cargo/registry/src/a/b.rs:653:26")
    )
    assert told == "Not found: x"


@pytest.mark.wide
def test_two_processes_write_one_id_once(tmp_path: Path) -> None:
    with LanceDBStore("docs", path=tmp_path, dimension=2):
        pass
    writer = textwrap.dedent(
        f"""
        import sys
        from vecstore import Document, LanceDBStore
        with LanceDBStore("docs", path={str(tmp_path)!r}) as store:
            sys.stdin.readline()
            won = []
            for number in range(15):
                one = Document("text", {{"by": sys.argv[1]}}, f"{{number}}", [1.0, 2.0])
                won += store.add([one], on_conflict="skip").written
                store.update_metadata([f"{{number}}"], set={{f"seen by {{sys.argv[1]}}": True}})
            print(len(won))
        """
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", writer, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    won = [int(one.communicate("\n", timeout=120)[0]) for one in writers]
    assert sum(won) == 15
    with LanceDBStore("docs", path=tmp_path) as store:
        assert store.count() == 15
        assert store.count('"seen by a" == true AND "seen by b" == true') == 15


def test_a_table_that_others_made_meanwhile_without_the_column_is_told(tmp_path: Path) -> None:
    with LanceDBStore("docs", path=tmp_path, dimension=None) as store:
        made(tmp_path, table_schema(2, "cosine", extra=False))
        with pytest.raises(DocumentError, match="'b' has an extra, and the table 'docs'") as caught:
            store.add([document("a"), document("b").replace(extra=[1])])
        assert "add_columns(" in str(caught.value)
        assert store.count() == 0
        store.add([document("a")])
        assert [one.extra for one in store.get()] == [None]
