"""Local mode in a folder: shared in one process, by nobody else, and never left half-written."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from tests.engines.loopback import json_service
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DuplicateDocumentError,
    SchemaMismatchError,
    ScopeError,
    StoreClosedError,
    StoreFileError,
    VecstoreError,
    open_store,
)
from vecstore.dialects.qdrant.layout import point_id
from vecstore.dialects.qdrant.store import QdrantStore

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
needs_rights = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="every folder is open to root"
)


def document(id: str, metadata: dict[str, Any] | None = None) -> Document:
    return Document("text", metadata, id=id, embedding=[3, 4])


def together(*calls: Callable[[], Any]) -> list[Any]:
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def in_child(work: Callable[[], str]) -> str:
    """What a forked child says."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def opened_elsewhere(path: Path) -> str:
    """What another process finds when it opens the folder."""
    program = f"""
        from vecstore.dialects.qdrant.store import QdrantStore
        try:
            with QdrantStore("docs", path={str(path)!r}) as store:
                print(store.count())
        except Exception as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class TestSharing:
    def test_two_collections_in_one_folder(self, tmp_path: Path) -> None:
        first = QdrantStore("first", path=str(tmp_path / "kb"))
        (tmp_path / "link").symlink_to(tmp_path / "kb")
        second = QdrantStore("second", path=str(tmp_path / "link"), dimension=2)
        again = QdrantStore("first", path=f"{tmp_path}/./kb")
        assert first.native is second.native
        first.add([document("a")])
        second.add([document("b")])
        assert [one.id for one in again.scan()] == ["a"]
        first.close()
        again.close()
        again.close()
        assert [one.id for one in second.scan()] == ["b"]
        second.close()
        # Nobody has it any more.
        client = QdrantClient(path=str(tmp_path / "kb"))
        assert sorted(one.name for one in client.get_collections().collections) == [
            "first",
            "second",
        ]
        client.close()

    def test_threads_that_open_write_and_close(self, tmp_path: Path) -> None:
        def work(name: str) -> None:
            for number in range(4):
                with QdrantStore(name, path=str(tmp_path), dimension=2) as store:
                    store.add([document(f"{name}-{number}")])

        together(*(lambda name=name: work(name) for name in "aabbccdd"))  # type: ignore[misc]
        for name in "abcd":
            with QdrantStore(name, path=str(tmp_path)) as store:
                assert store.count() == 4

    def test_a_folder_made_anew_is_another_one(self, tmp_path: Path) -> None:
        path = tmp_path / "kb"
        old = QdrantStore("docs", path=str(path), dimension=2)
        old.add([document("old")])
        path.rename(tmp_path / "moved")
        with QdrantStore("docs", path=str(path), dimension=2) as new:
            assert new.count() == 0
        old.close()

    def test_a_client_of_the_callers_own_has_the_folder(self, tmp_path: Path) -> None:
        client = QdrantClient(path=str(tmp_path))
        with pytest.raises(BackendError, match="another client") as caught:
            QdrantStore("docs", path=str(tmp_path))
        assert str(tmp_path) in str(caught.value)
        with QdrantStore("docs", client=client, dimension=2) as store:
            assert store.count() == 0
        client.close()

    def test_stores_of_one_client_have_one_lock(self, tmp_path: Path) -> None:
        with QdrantStore("a", path=str(tmp_path)) as own:
            given = QdrantStore("b", client=own.native)
            assert given._call._engine is own._call._engine
            given.close()
            assert own.count() == 0
        with pytest.raises(RuntimeError, match="closed"):
            own._call.client.get_collection("a")


class TestOpening:
    @pytest.mark.parametrize(
        "options",
        [
            {"async_threads": 0},
            {"observers": 5},
            {"observe_content": 1},
            {"metric": "x"},
            {"dimension": 0},
            {"indexes": {"a": "text"}},
            {"exact": "no"},
            {"create": "x"},
            {"vector_name": 5},
            {"timeout": 0},
            {"embedder": 5},
            {"exakt": True},
        ],
    )
    def test_bad_options_make_no_folder(self, tmp_path: Path, options: dict[str, Any]) -> None:
        with pytest.raises((ConfigurationError, TypeError)):
            open_store(f"qdrant://{tmp_path}/kb?collection=docs", **options)
        assert not (tmp_path / "kb").exists()

    def test_a_missing_folder_that_is_not_to_be_made(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaMismatchError, match="no folder"):
            QdrantStore("docs", path=str(tmp_path / "kb"), create=False)
        assert not (tmp_path / "kb").exists()

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "kb").write_text("not a folder")
        with pytest.raises(ConfigurationError, match="is a file"):
            QdrantStore("docs", path=str(tmp_path / "kb"))
        with pytest.raises(ConfigurationError, match="no folder"):
            QdrantStore("docs", path=str(tmp_path / "kb" / "deeper"))

    @needs_rights
    def test_a_folder_that_is_read_only(self, tmp_path: Path) -> None:
        QdrantStore("docs", path=str(tmp_path / "kb"), dimension=2).close()
        (tmp_path / "kb").chmod(0o500)
        with pytest.raises(StoreFileError, match="cannot be written to"):
            QdrantStore("docs", path=str(tmp_path / "kb"))

    @pytest.mark.parametrize("name", ["meta.json", "collection/docs/storage.sqlite"])
    def test_a_folder_that_is_broken(self, tmp_path: Path, name: str) -> None:
        with QdrantStore("docs", path=str(tmp_path), dimension=2) as store:
            store.add([document("a")])
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(b"?" * 64 + whole[64:])
        with pytest.raises(StoreFileError, match=r"does not hold what .* can read"):
            QdrantStore("docs", path=str(tmp_path))
        (tmp_path / name).write_bytes(whole)
        with QdrantStore("docs", path=str(tmp_path)) as store:
            assert store.count() == 1


class TestThreads:
    @pytest.mark.parametrize("null", [False, True])
    def test_eight_threads_set_forty_keys(self, null: bool) -> None:
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            store.add([document("a")])

            def work(first: int) -> None:
                for number in range(first, first + 5):
                    extra = {"null": None} if null else {}
                    assert store.update_metadata(["a"], set={f"k{number}": number, **extra}) == 1

            together(*(lambda first=first: work(first) for first in range(0, 40, 5)))  # type: ignore[misc]
            [found] = store.get(["a"])
            assert {f"k{number}": number for number in range(40)}.items() <= found.metadata.items()

    def test_what_is_deleted_does_not_come_back(self) -> None:
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            ids = [str(number) for number in range(60)]
            store.add([document(id, {"n": 1}) for id in ids])

            def change() -> None:
                for value in range(10):
                    store.update_metadata(ids, set={"x": None if value % 2 else value})
                    store.update_metadata(filter="n == 1", set={"y": value})

            def delete() -> int:
                return sum(store.delete([id]) for id in ids)

            deleted = together(change, delete, change, delete)
            assert deleted[1] + deleted[3] == 60
            assert store.count() == 0

    def test_one_of_eight_wins(self) -> None:
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            assert store.capabilities.conflict_atomic

            def work() -> bool:
                try:
                    store.add([document("a")], on_conflict="error")
                except DuplicateDocumentError:
                    return False
                return True

            assert sum(together(*[work] * 8)) == 1

    def test_an_id_outside_of_a_scope(self) -> None:
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            assert store.capabilities.scoped_add_atomic
            store.add([document("a", {"tenant": "x"})])
            with pytest.raises(ScopeError):
                store.scoped("tenant == 'y'").add([document("b"), document("a")])
            assert [one.id for one in store.scan()] == ["a"]


class TestFailures:
    @pytest.mark.parametrize("on_conflict", ["replace", "skip", "error"])
    def test_stored_ids_tell_what_is_stored(self, tmp_path: Path, on_conflict: Any) -> None:
        with QdrantStore("docs", path=str(tmp_path), dimension=2) as store:
            store.add([document("old", {"n": 0})])
            collection = store.native._client.collections["docs"]
            persist = collection.storage.persist
            left = iter(range(7))

            def full(point: Any) -> None:
                if next(left, None) is None:
                    raise OSError(28, "No space left on device")
                persist(point)

            collection.storage.persist = full
            ids = [f"new-{number}" for number in range(20)]
            with pytest.raises(BackendError, match="No space left") as caught:
                store.add([document(id, {"n": 1}) for id in ids], on_conflict=on_conflict)
            assert caught.value.stored_ids == ids[:7]
            assert caught.value.failed_ids == ids[7:]
            assert sorted(one.id for one in store.scan()) == sorted(["old", *ids[:7]])
        with QdrantStore("docs", path=str(tmp_path)) as store:
            assert sorted(one.id for one in store.scan()) == sorted(["old", *ids[:7]])

    def test_documents_replaced_half_way(self) -> None:
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            ids = [f"{number}" for number in range(9)]
            store.add([document(id, {"n": 0}) for id in ids])
            collection = store.native._client.collections["docs"]
            upsert = collection._upsert_point

            def broken(point: Any, **options: Any) -> None:
                if str(point.id) == point_id("5"):
                    raise RuntimeError("broken")
                upsert(point, **options)

            collection._upsert_point = broken
            with pytest.raises(BackendError) as caught:
                store.add([document(id, {"n": 1}) for id in ids])
            assert caught.value.stored_ids == ids[:5]

    @pytest.mark.parametrize("first", [True, False])
    def test_vectors_that_came_or_went_half_way(self, first: bool) -> None:
        """What differs from what is there may be nothing but that it has a vector, or has none."""
        with QdrantStore("docs", location=":memory:", dimension=2) as store:
            ids = [f"{number}" for number in range(9)]
            full = [document(id) for id in ids]
            bare = [one.replace(embedding=None) for one in full]
            before, after = (bare, full) if first else (full, bare)
            store.add(before, embed=False)
            collection = store.native._client.collections["docs"]
            upsert = collection._upsert_point

            def broken(point: Any, **options: Any) -> None:
                if str(point.id) == point_id("5"):
                    raise RuntimeError("broken")
                upsert(point, **options)

            collection._upsert_point = broken
            with pytest.raises(BackendError, match="broken") as caught:
                store.add(after, embed=False)
            assert caught.value.stored_ids == ids[:5]
            held = {one.id: one.embedding is not None for one in store.scan(include_embedding=True)}
            assert held == {id: (id in ids[:5]) is first for id in ids}


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
class TestForks:
    @pytest.mark.wide
    def test_a_folder_stays_the_parents(self, tmp_path: Path) -> None:
        store = QdrantStore("docs", path=str(tmp_path), dimension=2)
        store.add([document("a")])

        def child() -> str:
            client = store._call.client
            try:
                store.count()
            except StoreClosedError as error:
                said = f"closed: {error}"
            try:
                QdrantStore("docs", path=str(tmp_path))
            except VecstoreError as error:
                said += f" opened: {error}"
            client.close()
            return said

        said = in_child(child)
        assert "closed: this process was forked" in said
        assert "already accessed by another client" in said
        store.add([document("b")])
        assert store.count() == 2
        # The lock of the folder outlives the child.
        assert "already accessed" in opened_elsewhere(tmp_path)
        store.close()
        assert opened_elsewhere(tmp_path) == "2"

    def test_a_child_of_a_parent_that_closed(self, tmp_path: Path) -> None:
        QdrantStore("docs", path=str(tmp_path), dimension=2).close()

        def child() -> str:
            with QdrantStore("docs", path=str(tmp_path)) as store:
                return f"{store.add([document('a')])}"

        assert in_child(child) == "['a']"

    def test_memory_is_copied(self) -> None:
        store = QdrantStore("docs", location=":memory:", dimension=2)
        store.add([document("a")])

        def child() -> str:
            store.add([document("b")])
            return str(store.count())

        assert in_child(child) == "2"
        assert store.count() == 1

    def test_a_child_connects_to_the_server_anew(self) -> None:
        def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
            return 200, {"result": {"exists": False}, "status": "ok", "time": 0.0}

        with json_service(answer) as url, QdrantStore("docs", url=url, create=True) as store:
            client = store.native

            def child() -> str:
                return f"{store.count()} {store.native is client}"

            assert in_child(child) == "0 False"
            assert store.native is client
            given = QdrantStore("docs", client=client, create=True)

            def child_of_given() -> str:
                return str(given.count())

            assert "make a client and a store in the child" in in_child(child_of_given)

    def test_memory_in_the_middle_of_a_call(self) -> None:
        store = QdrantStore("docs", location=":memory:", dimension=2)
        inside, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with store._call.exclusive:
                inside.set()
                leave.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()

        def child() -> str:
            store.count()
            return "works"

        said = in_child(child)
        leave.set()
        thread.join()
        assert "StoreClosedError" in said
        assert store.count() == 0


def test_memory_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match='location=":memory:"'):
        open_store("qdrant::memory:?collection=docs", dimension=2)
    assert not list(tmp_path.iterdir())
