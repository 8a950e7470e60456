"""Copies between stores and files: exact, resumed, and refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import (
    BackendError,
    ConfigurationError,
    Copied,
    DimensionMismatchError,
    Document,
    DocumentError,
    DuplicateDocumentError,
    F,
    SchemaMismatchError,
    SimpleVectorStore,
    StoreFileError,
    VecstoreError,
    copy,
    open_store,
)

ROOT = Path(__file__).resolve().parent.parent.parent

METADATA: list[dict[str, Any]] = [
    {},
    {"n": 1, "f": 1.0, "b": True, "s": "é😀\n", "t": "2024-01-31T00:00:00.000000Z"},
    {"none": None, "empty": [], "tags": ["a", "b"], "numbers": [1, 2.5]},
    {"author": {"name": "Ada", "e.mail": {"x": None}}, "big": 2**80, "small": -0.0},
]


def documents(count: int = 40) -> list[Document]:
    random = np.random.default_rng(7)
    vectors = random.standard_normal((count, 3)).astype(np.float32)
    vectors[0] = (1e-30, -3e37, 0.1)
    return [
        Document(f"text {n}\u2028", {**METADATA[n % 4], "no": n}, f"id {n}", vectors[n])
        for n in range(count)
    ]


def filled(found: list[Document] | None = None, **options: Any) -> SimpleVectorStore:
    store = SimpleVectorStore(**options)
    store.add(documents() if found is None else found)
    return store


def content(store: Any) -> list[Document]:
    return sorted(store.scan(include_embedding=True), key=lambda one: one.id)


FILES = ["docs.jsonl", "docs.parquet"]


# --- stores -------------------------------------------------------------------------------------


def test_documents_come_as_they_are() -> None:
    source, destination = filled(metric="dot"), SimpleVectorStore(metric="dot")
    done = copy(source, destination, batch_size=7)
    assert done == Copied(documents=40, written=40, replaced=0, skipped=0, compared=40)
    assert content(destination) == content(source)
    for text in ("a", "b"):
        vector = [len(text), 1, 2]
        assert destination.search(vector=vector) == source.search(vector=vector)


def test_a_filter_and_a_second_copy() -> None:
    source, destination = filled(), SimpleVectorStore()
    assert copy(source, destination, filter="no < 15").written == 15
    done = copy(source, destination, filter=F.no < 20, batch_size=6)
    assert (done.documents, done.written, done.skipped) == (20, 5, 15)
    assert copy(source, destination, filter="no > 100").documents == 0
    assert content(destination) == content(source.scoped(F.no < 20))


def test_what_changed_in_between() -> None:
    source, destination = filled(), SimpleVectorStore()
    copy(source, destination)
    source.update_metadata(["id 3"], set={"no": 300})
    source.delete(["id 4"])
    source.add([Document("new", {}, "id 99", [1, 2, 3])])
    done = copy(source, destination)
    assert (done.written, done.skipped, done.differing) == (1, 39, ("id 3",))
    done = copy(source, destination, on_conflict="replace")
    assert (done.written, done.replaced, done.differing) == (0, 40, ())
    assert destination.get(["id 3"])[0].metadata["no"] == 300
    assert destination.count() == 41  # nothing is deleted there


def test_ids_that_are_there_may_be_an_error() -> None:
    source, destination = filled(), filled(documents()[30:])
    with pytest.raises(DuplicateDocumentError, match=r"holds .* of these ids already") as caught:
        copy(source, destination, on_conflict="error")
    assert len(caught.value.ids) == 10
    assert destination.count() == 10


def test_vectors_that_do_not_fit_are_told_before_anything_is_read() -> None:
    source = filled()
    with pytest.raises(DimensionMismatchError, match="3 dimensions, and the destination of 2"):
        copy(source, SimpleVectorStore(dimension=2))
    destination = SimpleVectorStore(metric="dot")
    with pytest.raises(SchemaMismatchError, match="by cosine, and the destination by dot"):
        copy(source, destination)
    assert destination.count() == 0
    assert copy(source, destination, any_metric=True).written == 40


def test_scopes_are_kept() -> None:
    source = SimpleVectorStore()
    for tenant in ("a", "b"):
        source.add(
            [Document(tenant, {"tenant": tenant, "n": n}, f"{tenant}{n}", [n, 1]) for n in range(5)]
        )
    destination = SimpleVectorStore()
    assert copy(source.scoped(F.tenant == "a"), destination).written == 5
    assert {one.metadata["tenant"] for one in destination.scan()} == {"a"}

    bare = filled([Document("x", {"n": n}, f"x{n}", [n, 1]) for n in range(3)])
    done = copy(bare, destination.scoped(F.tenant == "c"))
    assert (done.written, done.differing) == (3, ())
    assert destination.count("tenant == 'c'") == 3
    with pytest.raises(Exception, match=r"does not belong to the scope|another value under tenant"):
        copy(source.scoped(F.tenant == "b"), destination.scoped(F.tenant == "c"))
    assert destination.count("tenant == 'b'") == 0


def test_addresses(tmp_path: Path) -> None:
    with open_store(f"memory:{tmp_path}/a.json?metric=dot") as store:
        store.add(documents())
    progress: list[tuple[int, int | None]] = []
    done = copy(
        f"memory:{tmp_path}/a.json?metric=dot",
        f"memory:{tmp_path}/b.json",
        batch_size=25,
        progress=lambda done, total: progress.append((done, total)),
    )
    assert done.written == 40
    assert progress == [(25, 40), (40, 40)]
    with open_store(f"memory:{tmp_path}/b.json?metric=dot") as store:  # it took the metric
        assert store.count() == 40
    for same in (f"memory:{tmp_path}/b.json", tmp_path / "b.jsonl"):
        with pytest.raises(ConfigurationError, match="are one place"):
            copy(same, same)


def test_options_of_addresses(tmp_path: Path) -> None:
    there = f"memory:{tmp_path}/a.json"
    dot = {"metric": "dot"}
    copy(filled(metric="dot"), there, destination_options=dot)
    with pytest.raises(SchemaMismatchError, match="dot"):
        copy(there, SimpleVectorStore(), source_options=dot)
    for options in ({"source_options": dot}, {"destination_options": dot}):
        with pytest.raises(ConfigurationError, match="_options are those of an address"):
            copy(filled(), tmp_path / "docs.jsonl", **options)
    with pytest.raises(TypeError, match="no option 'api_key'"):
        copy(filled(), f"memory:{tmp_path}/b.json", destination_options={"api_key": "x"})


def test_a_file_is_not_copied_over_itself_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    copy(filled(), path)
    whole = path.read_bytes()
    linked = tmp_path / "linked.jsonl"
    linked.symlink_to(path)
    for source, destination in [
        (path, linked),
        (linked, path),
        (str(path), tmp_path / "elsewhere" / ".." / "docs.jsonl"),
    ]:
        with pytest.raises(ConfigurationError, match="are one place"):
            copy(source, destination, filter="no_key == 1", on_conflict="replace")
    assert path.read_bytes() == whole


def test_a_source_that_is_missing_is_no_source_without_documents(tmp_path: Path) -> None:
    backup = tmp_path / "backup.jsonl"
    copy(filled(), backup)
    whole = backup.read_bytes()
    for address, error in [
        (f"memory:{tmp_path}/typo.json", "there is no file"),
        (f"qdrant:{tmp_path}/typo?collection=docs", "there is no folder"),
    ]:
        with pytest.raises(VecstoreError, match=error):
            copy(address, backup, on_conflict="replace")
    assert backup.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["backup.jsonl"]


class Forgetful(SimpleVectorStore):
    def count(self, filter: Any = None) -> int:  # type: ignore[override]
        return min(super().count(filter), 39)


class Mangling(SimpleVectorStore):
    def get(self, ids: Any = None, **options: Any) -> list[Document]:  # type: ignore[override]
        return [one.replace(text=one.text.upper()) for one in super().get(ids, **options)]


def test_what_is_not_there_in_the_end_is_told() -> None:
    with pytest.raises(BackendError, match=r"holds 39 documents, .* 40 have been written"):
        copy(filled(), Forgetful())
    with pytest.raises(BackendError, match="40 of 40 documents that were compared differ"):
        copy(filled(), Mangling())


def test_metadata_in_a_scope_is_compared_but_for_what_the_scope_fills_in() -> None:
    source = filled([Document("x", {"a": {"n": 1}, "none": None}, "1", [1, 1])])
    scope = (F.a.tenant == "t") & (F.none == "filled")
    kept = SimpleVectorStore()
    done = copy(source, kept.scoped(scope))
    assert (done.compared, done.differing) == (1, ())
    assert kept.get()[0].metadata == {"a": {"n": 1, "tenant": "t"}, "none": "filled"}

    def change(*_: Any) -> None:
        kept.update_metadata(["1"], set={"a": {"n": 2, "tenant": "t"}})

    kept.clear()
    with pytest.raises(BackendError, match="1 of 1 documents that were compared differ"):
        copy(source, kept.scoped(scope), progress=change)


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_files_hold_documents_exactly(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    source, destination = filled(metric="dot"), SimpleVectorStore(metric="dot")
    file = tmp_path / name
    assert copy(source, file, batch_size=7).written == 40
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert copy(str(file), destination, batch_size=11).written == 40
    assert content(destination) == content(source)
    for one in content(destination):
        assert [type(value) for value in one.metadata.values()] == [
            type(value) for value in source.get([one.id])[0].metadata.values()
        ]
    some = SimpleVectorStore(metric="dot")
    assert copy(file, some, filter="no < 10").written == 10
    with pytest.raises(ConfigurationError, match="is there, and whole"):
        copy(source, file)
    assert copy(source, file, filter="no < 3", on_conflict="replace").written == 3
    assert copy(file, SimpleVectorStore(metric="dot")).documents == 3


@pytest.mark.parametrize("name", FILES)
def test_no_documents_make_a_file_without_any(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    file = tmp_path / name
    assert copy(filled(), file, filter="no > 100").documents == 0
    assert copy(file, SimpleVectorStore()).documents == 0


def test_between_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = filled()
    copy(source, tmp_path / "a.jsonl")
    copy(tmp_path / "a.jsonl", tmp_path / "b.parquet", batch_size=9)
    copy(tmp_path / "b.parquet", tmp_path / "c.jsonl", batch_size=9)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_whole_is_gone_on_with(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    source, file = filled(), tmp_path / name

    def stop(done: int, total: int | None) -> None:
        if done >= 20:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        copy(source, file, batch_size=10, progress=stop)
    partial = tmp_path / f"{name}.partial"
    assert partial.exists()
    with pytest.raises(ConfigurationError, match="it is not whole yet"):
        copy(file, SimpleVectorStore())
    # What the end of the process may have left half written.
    if partial.is_dir():
        (partial / "000000002.unfinished").write_bytes(b"PAR1")
        (partial / "whole").write_bytes(b"PAR1")
    else:
        with partial.open("ab") as stream:
            stream.write(b'{"id":"id 33","text":"to')
    done = copy(source, file, batch_size=10)
    assert (done.written, done.skipped) == (20, 20)
    destination = SimpleVectorStore()
    assert copy(file, destination).documents == 40
    assert content(destination) == content(source)


def test_what_is_left_of_a_whole_file_is_no_remainder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "docs.parquet"
    with monkeypatch.context() as patched:
        patched.setattr("vecstore.copying.files.shutil.rmtree", stop)
        with pytest.raises(KeyboardInterrupt):
            copy(filled(), path)
    assert copy(path, SimpleVectorStore()).written == 40
    changed = filled([one.replace(text="changed") for one in documents(10)])
    assert copy(changed, path, on_conflict="replace").written == 10
    read = SimpleVectorStore()
    copy(path, read)
    assert {one.text for one in read.scan()} == {"changed"}
    assert list(tmp_path.iterdir()) == [path]


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def row(id: str, text: str = "x", **others: Any) -> dict[str, Any]:
    return {"id": id, "text": text, "metadata": {}, "embedding": [1, 0], **others}


@pytest.mark.parametrize(("batch_size", "expected"), [(1, "x"), (10, "x")])
def test_an_id_that_a_file_holds_twice(tmp_path: Path, batch_size: int, expected: str) -> None:
    file = write_lines(tmp_path / "a.jsonl", [row("a"), row("b"), row("a", "later")])
    store = SimpleVectorStore()
    done = copy(file, store, batch_size=batch_size)
    assert (done.documents, done.written, done.skipped) == (3, 2, 1)
    assert store.get(["a"])[0].text == "x"
    store = SimpleVectorStore()
    done = copy(file, store, batch_size=batch_size, on_conflict="replace")
    assert done.written == 2
    assert store.get(["a"])[0].text == "later"
    with pytest.raises(DuplicateDocumentError):
        copy(file, SimpleVectorStore(), batch_size=batch_size, on_conflict="error")
    assert copy(file, tmp_path / "b.jsonl", batch_size=batch_size).written == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2: a document is an object"),
        ("{", "line 2: this is not JSON"),
        ("[" * 100_000, "line 2: the JSON is nested too deep"),
        ('{"id": ' + "9" * 5_000 + "}", "line 2: it holds an integer that is too long"),
        ('{"id": "b"}', "line 2: a document has an id and a text"),
        ('{"id": "b", "text": "x"}', "line 2: the document has no embedding"),
        ('{"id": "b", "text": "x", "embedding": [1], "metadata": 3}', "metadata is an object"),
        ('{"id": "b", "text": "x", "embedding": ["a"]}', "line 2: the embedding of document 'b'"),
        ('{"id": "b", "text": "x", "embedding": [1, NaN]}', "line 2: the embedding of"),
        ('{"id": "b", "text": "x", "embedding": [1, 2], "metadata": {"": 1}}', "line 2: document"),
    ],
)
def test_lines_that_are_no_documents(tmp_path: Path, line: str, message: str) -> None:
    file = write_lines(tmp_path / "a.jsonl", [row("a")])
    with file.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(DocumentError) as caught:
        copy(file, SimpleVectorStore())
    assert message in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_text("no")
    store = SimpleVectorStore()
    for place, message in [
        (tmp_path / "none.jsonl", "there is no file"),
        (tmp_path / "a.csv", "ends in none of"),
        (tmp_path / "a.parquet", "is no Parquet file"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            copy(place, store)
    with pytest.raises(TypeError, match="a place is a store"):
        copy(3, store)  # type: ignore[arg-type]
    for options in ({"on_conflict": "merge"}, {"batch_size": 0}):
        with pytest.raises(ValueError):
            copy(filled(), store, **options)  # type: ignore[arg-type]


def test_a_mark_of_the_byte_order_is_read_over(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(row("a")) + "\n", "utf-8-sig")
    assert copy(file, SimpleVectorStore()).written == 1


def test_files_that_cannot_be_read_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "part.jsonl.partial").mkdir()
    (tmp_path / "file").touch()

    def refused(source: Any, target: Any, match: str) -> None:
        with pytest.raises(StoreFileError, match=match) as caught:
            copy(source, target, on_conflict="replace")
        assert isinstance(caught.value.__cause__, OSError)

    refused(tmp_path / "folder.jsonl", SimpleVectorStore(), "cannot be read: .* is a folder")
    refused(filled(), tmp_path / "folder.jsonl", "cannot be written: .* is a folder")
    refused(filled(), tmp_path / "part.jsonl", "partial' is a folder")
    refused(filled(), tmp_path / "none" / "a.jsonl", "make the folder")
    refused(filled(), tmp_path / "file" / "a.jsonl", "in the place of a folder")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        refused(filled(), tmp_path / "a.jsonl", "the disk is full; make room and run the copy")
    assert copy(filled(), tmp_path / "a.jsonl").documents == 40


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    part = tmp_path / "a.parquet.partial" / "000000000.parquet"
    part.parent.mkdir()
    part.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(StoreFileError, match=r"000000000\.parquet.*delete it, and run") as caught:
        copy(filled(), tmp_path / "a.parquet")
    assert caught.value.__cause__ is not None
    part.unlink()
    assert copy(filled(), tmp_path / "a.parquet").written == 40


@pytest.mark.parametrize("name", FILES)
def test_one_copy_at_a_time_writes_a_file(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    file = tmp_path / name
    other = filled([one.replace(text="other") for one in documents()])
    refused = []

    def second(done: int, total: int | None) -> None:
        with pytest.raises(StoreFileError, match="is being written by another copy"):
            copy(other, file, on_conflict="replace")
        refused.append(done)

    assert copy(filled(), file, batch_size=20, progress=second).written == 40
    assert refused == [20, 40]
    destination = SimpleVectorStore()
    copy(file, destination)
    assert content(destination) == content(filled())
    assert [path.name for path in tmp_path.iterdir()] == [name]


# --- a process that is killed -------------------------------------------------------------------

KILLED = """
import os, signal, sys
from vecstore import copy

def stop(done, total):
    if done >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

copy(sys.argv[1], sys.argv[2], batch_size=int(sys.argv[4]), progress=stop)
"""


def killed(source: str, destination: str, after: int, batch_size: int) -> None:
    """A copy in a process of its own, which is killed without warning."""
    run = subprocess.run(
        [sys.executable, "-c", KILLED, source, destination, str(after), str(batch_size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    source = f"memory:{tmp_path}/a.json"
    with open_store(source) as store:
        store.add(documents())
    file = tmp_path / "b.jsonl"
    for after in (10, 20):
        killed(source, str(file), after, 10)
    done = copy(source, file, batch_size=10)
    assert done.written + done.skipped == 40
    assert done.skipped >= 20
    destination = SimpleVectorStore()
    copy(file, destination)
    assert content(destination) == content(filled())


@pytest.mark.wide
def test_a_table_is_made_for_a_file(tmp_path: Path, postgres_dsn: str) -> None:
    source = filled(documents()[1:], metric="dot")
    copy(source, tmp_path / "a.jsonl")
    table = f"copied_{tmp_path.name.replace('-', '_')}"
    address = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}table={table}"
    with pytest.raises(SchemaMismatchError, match="there is no table"):
        copy(tmp_path / "a.jsonl", f"{address}&metric=dot&create=false")
    for written in (39, 0):
        assert copy(tmp_path / "a.jsonl", f"{address}&metric=dot").written == written
    with open_store(address, metric="dot") as store:
        assert content(store) == content(source)
        store.clear()
    assert copy(source, address).written == 39


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Local mode is not recommended")
def test_a_hundred_thousand_from_qdrant_to_postgresql_killed_twice(
    tmp_path: Path, postgres_dsn: str
) -> None:
    pytest.importorskip("qdrant_client")
    count, dimension = 100_000, 32
    random = np.random.default_rng(1)
    vectors = random.standard_normal((count, dimension)).astype(np.float32)
    source = f"qdrant:///{tmp_path}/qdrant?collection=docs&metric=dot"
    with open_store(source) as store:
        for start in range(0, count, 5_000):
            store.add(
                [
                    Document(f"text {n}", {"n": n, "tags": [f"t{n % 7}"]}, f"id {n}", vectors[n])
                    for n in range(start, start + 5_000)
                ]
            )
    separator = "&" if "?" in postgres_dsn else "?"
    destination = f"{postgres_dsn}{separator}table=copied_{tmp_path.name.replace('-', '_')}"
    # With an index its searches would be approximate.
    exact: dict[str, Any] = {"index": None, "metric": "dot"}
    open_store(destination, create=True, dimension=dimension, **exact).close()
    for after in (30_000, 70_000):
        # Local mode goes through all points for each page of a scan.
        killed(source, destination, after, 10_000)
    done = copy(source, destination, batch_size=10_000)
    assert done.documents == count
    assert done.written + done.skipped == count
    assert done.skipped >= 70_000
    with open_store(source) as given, open_store(destination, **exact) as target:
        assert target.count() == count
        for start in range(0, count, 10_000):
            numbers = range(start, start + 10_000)
            found = target.get([f"id {n}" for n in numbers], include_embedding=True)
            for one, n in zip(found, numbers, strict=True):
                assert (one.id, one.text) == (f"id {n}", f"text {n}")
                assert one.metadata == {"n": n, "tags": [f"t{n % 7}"]}
                assert np.array_equal(one.embedding, vectors[n])
        for n in range(20):
            theirs = given.search(vector=vectors[n], top_k=10)
            ours = target.search(vector=vectors[n], top_k=10)
            assert [one.id for one in ours] == [one.id for one in theirs]
            assert np.allclose(
                [one.score for one in ours], [one.score for one in theirs], rtol=1e-5
            )
        target.clear()


# --- documents without a vector ---------------------------------------------------------------


def with_bare() -> SimpleVectorStore:
    store = filled(
        [Document("a vector", {"no": n}, id=f"id {n}", embedding=[n, 1]) for n in range(6)]
    )
    store.add([Document("no vector", {"no": 9}, id=f"bare {n}") for n in range(3)], embed=False)
    return store


@pytest.mark.parametrize(
    "place", ["a.jsonl", "a.parquet", "memory:a.json", "qdrant:a?collection=a"]
)
def test_documents_without_a_vector_come_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = with_bare()
    assert copy(source, place, any_metric=True).written == 9
    back = SimpleVectorStore(lambda texts: pytest.fail("nothing is embedded while copying"))
    copy(place, back)
    held = {one.id: one.embedding is None for one in back.scan(include_embedding=True)}
    assert held == {one.id: one.id.startswith("bare") for one in source.scan()}
    if place.startswith("a."):
        assert content(back) == content(source)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_file_of_nothing_but_documents_without_a_vector(tmp_path: Path, name: str) -> None:
    source = SimpleVectorStore()
    source.add([Document("no vector", {"no": n}, id=f"bare {n}") for n in range(3)], embed=False)
    copy(source, tmp_path / name)
    back = SimpleVectorStore()
    assert copy(tmp_path / name, back).written == 3
    assert (content(back), back.dimension) == (content(source), None)


class KeepsNone(SimpleVectorStore):
    capabilities = replace(SimpleVectorStore.capabilities, vectorless=False)


def test_a_destination_that_keeps_none_refuses_them(tmp_path: Path) -> None:
    copy(with_bare(), tmp_path / "a.jsonl")
    for source in (with_bare(), tmp_path / "a.jsonl"):
        destination = KeepsNone()
        with pytest.raises(DocumentError, match=r"'bare 0'.*without a vector \(vectorless\)"):
            copy(source, destination)
        assert destination.count() == 0
        assert copy(source, destination, filter="no < 9").written == 6
