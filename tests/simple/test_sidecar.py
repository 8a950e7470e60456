"""Vectors in a file of their own: one state with the JSON file, whatever happens in between."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import (
    ConfigurationError,
    Document,
    SimpleVectorStore,
    StoreFileError,
    open_store,
)
from vecstore.simple import persistence, sidecar
from vecstore.vectors import Matrix

NAME = re.compile(r"kb\.json\.[0-9a-f]{20}\.npy")


def filled(mark: int = 1, count: int = 50) -> SimpleVectorStore:
    store = SimpleVectorStore()
    vectors = np.random.default_rng(mark).standard_normal((count, 8)).astype(np.float32)
    store.add(
        Document(f"text {mark}", {"mark": mark, "n": n}, id=f"{n} {mark}", embedding=row)
        for n, row in enumerate(vectors)
    )
    return store


def everything(store: Any) -> list[Any]:
    return [
        (one.id, one.text, one.metadata, one.embedding.tobytes())
        for one in store.scan(include_embedding=True)
    ]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kb.json"


def sidecar_at(path: Path) -> Path:
    (name,) = [name for name in names(path.parent) if name.endswith(".npy")]
    assert NAME.fullmatch(name)
    return path.with_name(name)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("streamed", [True, False])
def test_there_and_back(
    path: Path, mmap: bool, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled()
    store.delete([f"{n} 1" for n in range(0, 50, 3)])  # and rows that are none
    store.save(path, sidecar=True)
    if not streamed:
        # A file that somebody has laid out otherwise.
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=1), "utf-8")
    again = SimpleVectorStore().load(path, mmap=mmap)
    assert everything(again) == everything(store)
    query = np.ones(8, np.float32)
    assert again.search(vector=query, top_k=9) == store.search(vector=query, top_k=9)
    matrix = again._table.snapshot.matrix
    assert isinstance(_owner_of(matrix), np.memmap) is mmap
    # What is written goes into memory, and not into the file.
    before = sidecar_at(path).read_bytes()
    for one in (store, again):
        one.add([Document("new", id="new", embedding=query)], on_conflict="replace")
        one.update_metadata(["1 1"], set={"n": -1})
        one.delete(["2 1"])
    assert everything(again) == everything(store)
    assert sidecar_at(path).read_bytes() == before


def _owner_of(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_the_vectors_are_a_plain_npy_file(path: Path) -> None:
    store = filled()
    store.save(path, sidecar=True)
    beside = sidecar_at(path)
    assert np.array_equal(np.load(beside), store.native[1])
    assert np.load(beside).dtype == "<f4"
    assert json.loads(path.read_text("utf-8"))["vectors"] == {"file": beside.name}
    assert json.loads(path.read_text("utf-8"))["version"] == 2


def test_an_empty_store(path: Path) -> None:
    for store in (SimpleVectorStore(), SimpleVectorStore(dimension=3)):
        store.save(path, sidecar=True)
        for mmap in (False, True):
            again = SimpleVectorStore().load(path, mmap=mmap)
            assert (again.count(), again.dimension) == (0, store.dimension)


def test_the_next_save_removes_the_last_sidecar(path: Path) -> None:
    filled(1).save(path, sidecar=True)
    first = sidecar_at(path).name
    mapped = SimpleVectorStore().load(path, mmap=True)
    filled(2).save(path, sidecar=True)
    assert len(names(path.parent)) == 2
    assert sidecar_at(path).name != first
    assert everything(mapped) == everything(filled(1))  # its file has no name any more
    filled(3).save(path)
    assert names(path.parent) == ["kb.json"]
    assert everything(SimpleVectorStore().load(path)) == everything(filled(3))


@pytest.mark.parametrize("moved", [True, False])
def test_a_file_that_was_renamed_or_copied_keeps_its_vectors(path: Path, moved: bool) -> None:
    former = filled(1)
    former.save(path, sidecar=True)
    kept = sidecar_at(path)
    other = path.with_name("kb of last year.json")
    if moved:
        path.rename(other)
    else:
        other.write_bytes(path.read_bytes())
    for mark in (2, 3):
        filled(mark).save(path, sidecar=True)
        assert everything(SimpleVectorStore().load(other)) == everything(former)
    assert len(names(path.parent)) == 4
    other.unlink()
    filled(4).save(path, sidecar=True)
    assert not kept.exists()
    assert len(names(path.parent)) == 2


@pytest.mark.parametrize("laid_out_again", [True, False])
@pytest.mark.parametrize("name", ["copy.json", ".copy.json", "copy"])
def test_a_copy_of_any_name_and_layout_keeps_its_vectors(
    path: Path, name: str, laid_out_again: bool
) -> None:
    former = filled(1)
    former.save(path, sidecar=True)
    text = path.read_text("utf-8")
    if laid_out_again:
        text = json.dumps(json.loads(text), indent=2, sort_keys=True)
    path.with_name(name).write_text(text, "utf-8")
    filled(2).save(path, sidecar=True)
    assert everything(SimpleVectorStore().load(path.with_name(name))) == everything(former)


@pytest.mark.parametrize(
    "name", ['a"b', "a\\b", "a\nb", "a\x01b", os.fsdecode(b"a\xff"), "é", "é" * 100]
)
def test_any_name_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for mark in (1, 2):
        try:
            filled(mark).save(path, sidecar=True)
        except StoreFileError as error:  # not every system has every name
            pytest.skip(str(error))
        assert len(names(tmp_path)) == 2
        beside = json.loads(path.read_text("utf-8"))["vectors"]["file"]
        assert (tmp_path / beside).exists()
        assert everything(SimpleVectorStore().load(path)) == everything(filled(mark))


def test_a_file_system_without_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def none(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    for mark in (1, 2, 3):
        filled(mark).save(path, sidecar=True)
        assert len(names(path.parent)) == 2


def test_files_of_others_stay(path: Path) -> None:
    filled(1).save(path, sidecar=True)
    of_others = [
        path.with_name(f"kb.json.{'0' * 19}.npy"),
        path.with_name(f"other.json.{'0' * 20}.npy"),
        path.with_name("vectors.npy"),
    ]
    for one in of_others:
        one.write_bytes(b"")
    filled(2).save(path)
    assert names(path.parent) == sorted(["kb.json", *[one.name for one in of_others]])


def test_a_sidecar_that_somebody_writes_stays(path: Path) -> None:
    filled(1).save(path)
    beside = path.with_name(f"kb.json.{'1' * 20}.npy")
    beside.write_bytes(b"")
    writer = sidecar.LockedFile(str(beside), os.O_RDONLY)
    filled(1).save(path)
    assert beside.exists()
    writer.close()
    filled(1).save(path)
    assert not beside.exists()


def test_a_file_that_cannot_be_read_decides_nothing(path: Path) -> None:
    beside = path.with_name(f"kb.json.{'1' * 20}.npy")
    beside.write_bytes(b"")
    for text in (b"", b"[]", b'{"vectors":{"file":"x"}}'):
        path.write_bytes(text)
        sidecar.remove_unnamed(str(path))
        assert beside.exists()
    path.unlink()
    sidecar.remove_unnamed(str(path))
    assert beside.exists()


def test_a_store_keeps_the_form_of_its_file(path: Path) -> None:
    with open_store(f"memory:{path}?sidecar=true") as store:
        store.add([Document("a", id="a", embedding=[1, 2])])
    first = sidecar_at(path).name
    with open_store(f"memory:{path}") as store:
        store.add([Document("b", id="b", embedding=[2, 1])])
        store.save(path)
        assert store.count() == 2
    assert sidecar_at(path).name != first
    with open_store(f"memory:{path}") as store:
        store.save(path, sidecar=False)
        assert names(path.parent) == [".kb.json.lock", "kb.json"]
        store.delete(["a"])
    assert names(path.parent) == ["kb.json"]
    assert [one.id for one in SimpleVectorStore().load(path).scan()] == ["b"]


def test_an_opened_store_removes_what_nobody_names(path: Path) -> None:
    filled().save(path)
    path.with_name(f"kb.json.{'1' * 20}.npy").write_bytes(b"")
    with open_store(f"memory:{path}"):
        pass
    assert names(path.parent) == ["kb.json"]


def test_a_reader_whose_file_is_replaced_reads_the_next_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(1).save(path, sidecar=True)
    read, turns = persistence.sidecar.read_sidecar, iter([2, 3])

    def replaced(*arguments: Any, **options: Any) -> Matrix:
        mark = next(turns, None)
        if mark is not None:
            filled(mark).save(path, sidecar=mark == 2)
        return read(*arguments, **options)

    monkeypatch.setattr(persistence.sidecar, "read_sidecar", replaced)
    assert everything(SimpleVectorStore().load(path)) == everything(filled(3))


def test_what_is_wrong_is_said(path: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(StoreFileError, match=match) as caught:
            SimpleVectorStore().load(path, **options)
        assert "Traceback" not in str(caught.value)

    store = filled()
    store.save(path)
    refused(r"holds its vectors itself.*save\(path, sidecar=True\)", mmap=True)
    store.save(path, sidecar=True)
    beside, text = sidecar_at(path), path.read_text("utf-8")
    whole = beside.read_bytes()
    with pytest.raises(StoreFileError, match="load it by its path"):
        SimpleVectorStore.from_json(text)
    with pytest.raises(StoreFileError, match="load it by its path"):
        SimpleVectorStore().load(io.StringIO(text))
    for mmap in (False, True):
        beside.unlink()
        refused("vectors belong to it and are missing", mmap=mmap)
        for spoiled in (b"", b"nonsense", whole[:60], whole[:-4], whole + b"more"):
            beside.write_bytes(spoiled)
            refused("its vectors in .* cannot be read", mmap=mmap)
        header = io.BytesIO()
        fields = {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)}
        np.lib.format.write_array_header_1_0(header, fields)
        beside.write_bytes(header.getvalue())
        refused("does not hold 50 vectors of 8 dimensions", mmap=mmap)
        np.save(beside, np.zeros((50, 9), np.float32))
        refused("does not hold 50 vectors of 8 dimensions", mmap=mmap)
        np.save(beside, np.zeros((50, 8), np.float64))
        refused("does not hold 50 vectors of 8 dimensions", mmap=mmap)
        np.save(beside, np.full((50, 8), np.nan, np.float32))
        refused("holds NaN or an infinity", mmap=mmap)
        with beside.open("wb") as file:
            np.savez(file, np.zeros((50, 8), np.float32))
        refused("cannot be read", mmap=mmap)
        np.save(beside, np.array([{}] * 50), allow_pickle=True)
        refused("cannot be read", mmap=mmap)
    secret = path.parent / "secret.npy"
    np.save(secret, np.zeros((50, 8), np.float32))
    for name in ("secret.npy", f"../x.{'1' * 20}.npy", str(secret), "", f"/x.{'1' * 20}.npy"):
        path.write_text(text.replace(beside.name, name), "utf-8")
        refused("no name of a sidecar")
    path.write_text(text.replace('{"file":', '{"path":'), "utf-8")
    refused("an object in place of the name of the file with its vectors")
    path.write_text(text.replace('"version":2', '"version":5'), "utf-8")
    refused("reads up to 4")
    with pytest.raises(ValueError, match="beside a path"):
        store.save(io.BytesIO(), sidecar=True)
    with pytest.raises(ConfigurationError, match=r"sidecar is of a file"):
        open_store("memory:?sidecar=true")


def test_a_save_that_fails_leaves_the_old_pair(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(1).save(path, sidecar=True)
    before = names(path.parent)
    real = os.replace
    for failing in (1, 2):
        calls = iter(range(1, 9))

        def replace(source: str, target: str, failing: int = failing, calls: Any = calls) -> None:
            if next(calls) == failing:
                raise OSError(28, "No space left on device")
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            with pytest.raises(StoreFileError, match=r"No space left on device.*is unchanged"):
                filled(2).save(path, sidecar=True)
        assert names(path.parent) == before
        assert everything(SimpleVectorStore().load(path)) == everything(filled(1))


@pytest.mark.parametrize("step", [1, 2])
def test_a_save_that_is_broken_off_right_after_a_step(
    path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C, whose handler runs when a call of the system returns."""
    filled(1).save(path, sidecar=True)
    real, calls = os.replace, iter(range(1, 9))

    def replace(source: str, target: str) -> None:
        real(source, target)
        if next(calls) == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            filled(2).save(path, sidecar=True)
    assert everything(SimpleVectorStore().load(path)) == everything(filled(step))
    filled(3).save(path, sidecar=True)
    assert len(names(path.parent)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill")
@pytest.mark.wide
def test_killed_at_every_step(path: Path) -> None:
    """Of each call of the system: the old pair or the new one, and nothing is left for long."""
    versions = [filled(mark, count) for mark, count in ((1, 50), (2, 70))]
    expected = [everything(version) for version in versions]
    step, seen = 0, []
    while True:
        step += 1
        versions[0].save(path, sidecar=True)
        pid = os.fork()
        if not pid:
            left = iter(range(step))
            try:
                for name in ("write", "fsync", "replace", "unlink", "open", "stat"):
                    setattr(os, name, _killing(getattr(os, name), left))
                versions[1].save(path, sidecar=True)
            finally:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        found = everything(SimpleVectorStore().load(path, mmap=bool(step % 2)))
        seen.append(expected.index(found))
        if not os.WIFSIGNALED(status):
            break
        versions[0].save(path, sidecar=True)
        assert len(names(path.parent)) == 2
    assert seen == sorted(seen)  # once the new one is there, it stays
    assert seen.count(0) > 5
    assert seen.count(1) > 2


def _killing(call: Any, left: Any) -> Any:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)

    return wrapped
