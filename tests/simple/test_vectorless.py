"""Documents without a vector in memory: beside int8 codes, in files, and next to a broken write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import Document, SimpleVectorStore, StoreFileError, open_store
from vecstore.simple import persistence
from vecstore.simple.table import Table


def mixed(count: int = 40, dimension: int = 6, **options: Any) -> SimpleVectorStore:
    """Every third document has a vector."""
    store = SimpleVectorStore(**options)
    vectors = np.random.default_rng(3).standard_normal((count, dimension)).astype(np.float32)
    store.add(
        [
            Document(f"text {n}", {"n": n}, id=f"{n:05}", embedding=None if n % 3 else vectors[n])
            for n in range(count)
        ],
        embed=False,
    )
    return store


def everything(store: SimpleVectorStore) -> list[Any]:
    return [
        (one.id, one.text, one.metadata, None if one.embedding is None else one.embedding.tolist())
        for one in sorted(store.scan(include_embedding=True), key=lambda one: one.id)
    ]


def ids(documents: Sequence[Document]) -> list[str]:
    return [one.id for one in documents]


# --- searches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("quantize", [None, "int8"])
def test_searches_are_those_of_a_store_without_them(metric: Any, quantize: Any) -> None:
    """Among so many that rows are chosen before they are scored, by int8 and by a product."""
    count, dimension = 6_000, 64
    store = mixed(count, dimension, metric=metric, quantize=quantize)
    store.delete([f"{n:05}" for n in range(0, count, 30)])  # rows that are dead besides
    alone = SimpleVectorStore(metric=metric)
    alone.add(one for one in store.scan(include_embedding=True) if one.embedding is not None)
    queries = np.random.default_rng(4).standard_normal((20, dimension)).astype(np.float32)
    few = [f"{n:05}" for n in range(500)]
    for options in ({}, {"filter": "n < 4000"}, {"ids": few}, {"exclude_ids": few}):
        wanted = alone.search_many(vectors=queries, top_k=7, **options)
        assert store.search_many(vectors=queries, top_k=7, **options) == wanted
        assert [store.search(vector=one, top_k=7, **options) for one in queries] == wanted
        assert all(len(found) == 7 for found in wanted)
    assert len(store.search(vector=queries[0], top_k=count)) == alone.count()
    names, matrix = store.native
    assert (sorted(names), len(matrix)) == (sorted(ids(alone.get())), alone.count())


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_the_first_vector_comes_late(quantize: Any) -> None:
    store = SimpleVectorStore(quantize=quantize)
    for start in range(0, 300, 100):  # so that columns grow before there is one
        bare = [Document("", {"n": n}, id=f"bare {n}") for n in range(start, start + 100)]
        store.add(bare, embed=False)
        assert (store.dimension, store.search(vector=[1, 2])) == (None, [])
    store.update_metadata(filter="n < 10", set={"k": 1})
    store.delete(["bare 5"])
    store.add([Document("", id="first", embedding=[1, 2, 3])])
    assert store.dimension == 3
    assert ids(store.search(vector=[1, 2, 3], top_k=999)) == ["first"]
    assert (store.count(), store.count("k == 1")) == (300, 9)
    vectors = np.random.default_rng(1).standard_normal((2_000, 3))
    store.add(Document("", id=f"{n}", embedding=one) for n, one in enumerate(vectors))
    assert len(store.search(vector=[1, 2, 3], top_k=9_999)) == 2_001
    store.delete(filter="n >= 0")
    assert len(store.search(vector=[1, 2, 3], top_k=9_999)) == store.count() == 2_001
    store.clear()
    store.add(bare, embed=False)
    assert (store.dimension, store.search(vector=[1, 2, 3])) == (3, [])


def test_what_has_a_vector_is_so_after_changes_and_without_dead_rows() -> None:
    store = mixed(6_000)
    kept = {one[0]: one for one in everything(store)}
    store.update_metadata(filter="n < 2000", set={"changed": True})
    store.delete([f"{n:05}" for n in range(1_000, 5_000)])  # many enough for new columns
    assert len(store._table.snapshot.ids) == store.count() == 2_000
    found = everything(store)
    assert [(one[0], one[1], one[3]) for one in found] == [
        (id, kept[id][1], kept[id][3]) for id in (one[0] for one in found)
    ]
    assert store.count("changed == true") == 1_000
    with_vector = {id for id, _, _, vector in found if vector is not None}
    assert set(ids(store.search(vector=[1] * 6, top_k=6_000))) == with_vector
    assert len(with_vector) == 667


def test_a_broken_off_write_leaves_no_mark() -> None:
    class Broken(list[Any]):
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

    store = mixed()
    before = everything(store)
    table: Table = store._table
    with pytest.raises(KeyboardInterrupt):
        table.put(["00000", "new"], ["", ""], Broken(), np.empty((2, 0), np.float32))
    assert everything(store) == before
    assert len(store.search(vector=[1] * 6, top_k=99)) == 14
    store.add([Document("", id="new", embedding=[1] * 6)])
    assert len(store.search(vector=[1] * 6, top_k=99)) == 15


# --- files ------------------------------------------------------------------------------------


def test_the_format() -> None:
    store = SimpleVectorStore()
    store.add(
        [Document("a", {"n": 1}, id="a"), Document("b", id="b", embedding=[1, 2])], embed=False
    )
    content = json.loads(store.to_json())
    content.pop("vectors")
    assert content == {
        "format": "vecstore-simple",
        "version": 3,
        "metric": "cosine",
        "dimension": 2,
        "count": 2,
        "documents": [
            {"id": "b", "text": "b", "metadata": {}},
            {"id": "a", "text": "a", "metadata": {"n": 1}, "vector": None},
        ],
    }
    store.delete(["a"])  # with the last of them, the file is as it was without
    assert json.loads(store.to_json())["version"] == 1


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("bare", ["some", "all", "all of a dimension"])
def test_there_and_back(tmp_path: Path, sidecar: bool, streamed: bool, bare: str) -> None:
    store = mixed(3_000)
    if bare != "some":
        alone = SimpleVectorStore(dimension=6 if bare == "all of a dimension" else None)
        alone.add([one for one in store.scan() if one.metadata["n"] % 3], embed=False)
        store = alone
    path = tmp_path / "kb.json"
    store.save(path, sidecar=sidecar)
    if not streamed:
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=1), "utf-8")
    for mmap in {False, sidecar}:
        again = SimpleVectorStore().load(path, mmap=mmap)
        assert everything(again) == everything(store)
        assert again.dimension == store.dimension
        query = [1.0] * 6
        assert again.search(vector=query, top_k=9) == store.search(vector=query, top_k=9)
        again.add([Document("", id="new", embedding=query)])
        assert ids(again.search(vector=query, top_k=1)) == ["new"]
        assert everything(SimpleVectorStore.from_json(again.to_json())) == everything(again)
    assert SimpleVectorStore(quantize="int8", dimension=6).load(path).count() == store.count()


def test_a_file_is_read_as_it_was_written_and_not_document_by_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb.json"
    store = mixed(3_000)
    for sidecar in (False, True):
        store.save(path, sidecar=sidecar)
        with monkeypatch.context() as patched:
            patched.setattr(persistence, "decoded", None)
            patched.setattr(persistence, "_checked", None)
            assert everything(SimpleVectorStore().load(path)) == everything(store)


def test_what_a_file_cannot_say() -> None:
    whole = mixed(4).to_json()

    def refused(old: str, new: str, match: str) -> None:
        assert old in whole
        with pytest.raises(StoreFileError, match=match):
            SimpleVectorStore.from_json(whole.replace(old, new, 1))

    refused('"version":3', '"version":1', "document 2 is not an object with id")
    refused('"vector":null', '"vector":[1]', "document 2 is not an object with id")
    refused('"dimension":6', '"dimension":null', "the dimension None")
    # Behind a document that says so, there is a vector.
    refused('"metadata":{"n":0}', '"metadata":{"n":0},"vector":null', "'00000', of which it says")


KILLED = """
import os, signal, sys
from vecstore import Document, open_store
store = open_store("memory:" + sys.argv[1], dimension=2)
store.add([Document("bare", {"n": 1}, id="bare"), Document("", id="full", embedding=[1, 2])], embed=False)
store.save(sys.argv[1])
store.add([Document("lost", id="lost")], embed=False)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed like that here")
def test_what_was_saved_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert run.returncode == -signal.SIGKILL
    with open_store(f"memory:{path}") as store:
        held = {one.id: one.embedding is None for one in store.scan(include_embedding=True)}
        assert held == {"bare": True, "full": False}
        assert ids(store.search(vector=[1, 2])) == ["full"]
