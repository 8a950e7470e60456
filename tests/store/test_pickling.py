"""How a store gets into another process: as its address."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.store.embedders import letters
from tests.store.minimal import MinimalStore
from vecstore import CountBatching, Document, Expression, F, SimpleVectorStore, open_store
from vecstore.errors import StoreClosedError, StoreFileError
from vecstore.store.base import VectorStore
from vecstore.store.url import Origin, StoreURL

ROOT = Path(__file__).resolve().parents[2]


def tenant_of_the_worker() -> Expression:
    return F.tenant == "a"


def filled(path: Path) -> str:
    url = f"memory://{path}/kb.json"
    with open_store(url, embedder=letters) as store:
        store.add([Document(f"{n}", {"n": n, "tenant": "ab"[n % 2]}, f"{n}") for n in range(4)])
    return url


def handed_over(store: VectorStore) -> Any:
    """The store as another process gets it, after this one let go of the place."""
    data = pickle.dumps(store)
    store.close()
    return pickle.loads(data)


def test_a_store_is_opened_again_by_its_address(tmp_path: Path) -> None:
    store = open_store(
        filled(tmp_path) + "?dimension=4",
        embedder=letters,
        batching=CountBatching(7),
        async_threads=3,
    )
    with handed_over(store) as again:
        assert again.count() == 4
        assert again.embedder is letters
        assert repr(again.batching) == "CountBatching(7)"
        assert again.async_threads == 3
        assert again.search("1", top_k=1)


def test_a_relative_path_means_the_same_file_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    monkeypatch.chdir(tmp_path)
    store = open_store("memory:kb.json")
    data = pickle.dumps(store)
    store.close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pickle.loads(data) as again:
        assert again.count() == 4


def test_views_take_their_scope_along(tmp_path: Path) -> None:
    url = filled(tmp_path)
    scopes: list[Any] = [F.tenant == "a", "tenant == 'a'", tenant_of_the_worker]
    for scope in scopes:
        store = open_store(url)
        view = store.scoped("n IS NOT NULL").scoped(scope)
        data = pickle.dumps((view, view.aio))
        store.close()
        again, awaited = pickle.loads(data)
        assert again.count() == 2
        assert awaited.store is again
        again._root.close()


WORKER = """
import pickle, sys
with pickle.load(sys.stdin.buffer) as store:
    print(store.count(), sorted(one.id for one in store.search("1", filter="n < 2")))
"""


def test_in_a_process_that_shares_nothing(tmp_path: Path) -> None:
    store = open_store(filled(tmp_path), embedder=letters)
    data = pickle.dumps(store)
    store.close()
    run = subprocess.run(
        [sys.executable, "-c", WORKER], cwd=ROOT, input=data, capture_output=True, timeout=60
    )
    assert run.stdout.decode().split(maxsplit=1) == ["4", "['0', '1']\n"], run.stderr.decode()


def test_what_cannot_be_reached_from_another_process_says_why(tmp_path: Path) -> None:
    closed = open_store(filled(tmp_path))
    closed.close()
    for store, words in (
        (open_store("memory:"), "memory of this one"),
        (SimpleVectorStore(), "not made by open_store"),
        (MinimalStore(), "not made by open_store"),
        (closed, "is closed"),
    ):
        with pytest.raises(TypeError, match=words) as caught:
            pickle.dumps(store)
        assert "open_store(url" in str(caught.value)
    with pytest.raises(TypeError, match="memory of this one"):
        pickle.dumps(open_store("memory:").scoped(F.n == 1))


def test_no_secret_is_pickled() -> None:
    url = StoreURL.read("qdrant://user:S3cr3t@host:6333/docs?metric=dot")
    options = {"api_key": "S3cr3t", "headers": {"authorization": "S3cr3t", "x": 1}, "dimension": 3}
    origin = Origin.of(url, options)
    assert b"S3cr3t" not in pickle.dumps(origin)
    assert "S3cr3t" not in repr(origin)
    assert origin.options == {"headers": {"x": 1}, "dimension": 3}
    assert origin.left_out == ("api_key", "headers.authorization", "password")
    assert StoreURL.read(origin.address) == StoreURL.read("qdrant://user@host:6333/docs?metric=dot")


def test_opening_again_without_the_secret_says_what_is_missing(tmp_path: Path) -> None:
    from vecstore.store.url import open_again

    (tmp_path / "kb.json").write_text("no store")
    with pytest.raises(StoreFileError) as caught:
        open_again(f"memory:{tmp_path}/kb.json", None, {}, ("password",))
    assert "does not carry password" in caught.value.__notes__[0]


def test_a_view_of_a_closed_store(tmp_path: Path) -> None:
    store = open_store(filled(tmp_path))
    view = store.scoped(F.n == 1)
    store.close()
    with pytest.raises((TypeError, StoreClosedError)):
        pickle.dumps(view)
