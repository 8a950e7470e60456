"""Where a store on Chroma can be, who else may be there, and what it finds that others left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from chromadb import EphemeralClient, PersistentClient
from chromadb.config import Settings

from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    Document,
    DocumentError,
    F,
    ResidualWarning,
    Schema,
    SchemaMismatchError,
    StoreClosedError,
    UnsupportedFilterError,
    open_store,
)
from vecstore.dialects.chroma import engine
from vecstore.dialects.chroma import records as module
from vecstore.dialects.chroma.store import ChromaStore

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
QUIET = Settings(anonymized_telemetry=False)


def document(id: str, **metadata: Any) -> Document:
    return Document(f"text of {id}", metadata, id=id, embedding=[3, 4])


def ids(store: Any, filter: Any = None) -> list[str]:
    return sorted([found.id for found in store.scan(filter)])


@pytest.fixture
def client() -> Iterator[Any]:
    client = EphemeralClient(QUIET)
    yield client
    for collection in client.list_collections():
        if held := collection.get(include=[])["ids"]:
            collection.delete(ids=held)
        client.delete_collection(collection.name)
    client.close()


def elsewhere(program: str, *arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode in (0, -signal.SIGKILL), run.stderr[-3000:]
    return run.stdout.strip()


OPEN = """
    import os, signal, sys
    from vecstore import Document
    from vecstore.dialects.chroma.store import ChromaStore
    try:
        store = ChromaStore("docs", path=sys.argv[1])
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit()
    print(sorted(found.id for found in store.scan()), flush=True)
    store.add([Document("", {"n": [9]}, id="elsewhere", embedding=[1, 0])])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.wide
def test_one_process_at_a_time_has_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with ChromaStore("docs", path=folder, dimension=2) as store:
        store.add([document("a", n=1)])
        with ChromaStore("docs", path=folder) as other:  # of this process
            other.add([document("b", n=2)])
            assert ids(store) == ids(other) == ["a", "b"]
        told = elsewhere(OPEN, str(folder))
        assert told.startswith("BackendError")
        assert "open in another process" in told
        assert "chroma run --path" in told
        assert ids(store) == ["a", "b"]
    # That one is killed in the midst of things: nothing stays locked, and what it wrote is there.
    assert elsewhere(OPEN, str(folder)) == "['a', 'b']"
    with open_store(f"chroma://{folder}?collection=docs") as again:
        assert ids(again) == ["a", "b", "elsewhere"]
        assert ids(again, "n == 9") == ["elsewhere"]
        [nearest] = again.search(vector=[1, 0], top_k=1)
        assert nearest.id == "elsewhere"


INTERRUPTED = """
    import os, random, signal, sys, threading
    from vecstore import Document
    from vecstore.dialects.chroma.store import ChromaStore

    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = ChromaStore("docs", path=sys.argv[1], dimension=2)
    store.add([Document("", {"n": n}, str(n), [1, n]) for n in range(100)])
    dice, interrupted = random.Random(1), 0
    for turn in range(int(sys.argv[2])):
        timer = threading.Timer(dice.random() * 0.03, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while timer.is_alive():
                store.update_metadata(filter="n >= 0", set={"turn": turn})
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        counts = []  # from another thread: this one may hold a lock that it takes twice
        other = threading.Thread(target=lambda: counts.append(store.count()), daemon=True)
        other.start()
        other.join(60)
        assert counts == [100], f"after {turn} interruptions: {counts}"
        assert store.count("n >= 0") == 100
    # On a busy machine each of them may have been broken off before it wrote anything.
    store.update_metadata(filter="n >= 0", set={"turn": 100})
    store.close()
    with ChromaStore("docs", path=sys.argv[1]) as store:
        assert store.count("turn >= 0") == 100
    print(interrupted)
"""


@pytest.mark.wide
def test_calls_after_an_interruption_work(tmp_path: Path) -> None:
    assert int(elsewhere(INTERRUPTED, str(tmp_path / "kb"), "8")) >= 4


@needs_fork
def test_a_forked_child_is_told_and_ends(tmp_path: Path) -> None:
    with ChromaStore("docs", path=tmp_path / "kb", dimension=2) as store:
        store.add([document("a")])
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                store.count()
                said = "counted"
            except StoreClosedError as error:
                said = str(error)
            os.write(writing, said.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        assert "open the store in the child alone" in said
        assert ids(store) == ["a"]


def test_a_client_stays_open(client: Any) -> None:
    with ChromaStore("docs", client=client, dimension=2) as store:
        store.add([document("a")])
        assert store.native is client
    assert client.get_collection("docs", embedding_function=None).count() == 1
    with ChromaStore("docs", client=client) as store:
        assert ids(store) == ["a"]


def test_a_cleared_collection_is_the_same_and_holds_nothing(client: Any) -> None:
    with ChromaStore("docs", client=client, dimension=2) as store:
        store.add([document(f"{n}", tags=["x"]) for n in range(1_100)])
        before = client.get_collection("docs", embedding_function=None).id
        assert store.clear() == 1_100
        assert client.get_collection("docs", embedding_function=None).id == before
        store.add([document("new", z=3)])
        assert store.count() == 1
        assert ids(store, "tags == 'x'") == []
        assert store.dimension == 2


def test_a_store_in_memory_leaves_nothing_to_the_next() -> None:
    for _ in range(3):
        with ChromaStore("docs", memory=True, layout="plain", dimension=2) as store:
            assert store.count() == 0
            store.add([document("a", l=["x"]) if store.count() else document("b", z=1)])
            assert ids(store, "l == 'x'") == []
            store.update_metadata(["b"], set={"l": ["x"]})
            assert ids(store, "l == 'x'") == ["b"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "say where Chroma is"),
        ({"path": "a", "memory": True}, "in one way"),
        ({"memory": True, "port": 8000}, "port is for a server"),
        ({"memory": True, "api_key": "k"}, "api_key is for a server"),
        ({"memory": True, "database": "d"}, "database of its own"),
        ({"memory": True, "layout": "flat"}, "layout is"),
        ({"memory": True, "target": "server"}, "target is"),
        ({"memory": True, "target": "cloud", "layout": "plain"}, "32 bits"),
        ({"memory": True, "candidates": 0}, "candidates is"),
        ({"client": "http://localhost"}, "not a str"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ChromaStore("docs", **options)


@pytest.mark.parametrize("name", ["a", "", "-docs", "docs-", "a b c", "d" * 600, "docs\n"])
def test_names_that_no_collection_has(name: str) -> None:
    with pytest.raises(ConfigurationError, match="has no collection"):
        ChromaStore(name, memory=True)


def test_what_does_not_fit_is_told_and_gives_the_folder_back(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with pytest.raises(SchemaMismatchError, match="there is no folder"):
        ChromaStore("docs", path=folder, create=False)
    assert not folder.exists()
    with ChromaStore("docs", path=folder, dimension=2, metric="dot"):
        pass
    with pytest.raises(SchemaMismatchError, match="by dot and not by cosine") as told:
        ChromaStore("docs", path=folder, dimension=3, layout="plain")
    assert "2 dimensions and not 3" in str(told.value)
    assert 'layout="exact"' in str(told.value)
    with pytest.raises(SchemaMismatchError, match="create=True"):
        ChromaStore("other", path=folder, create=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="is a file"):
        ChromaStore("docs", path=tmp_path / "file")
    assert not engine._engines


def test_a_server_that_is_not_there_shows_no_key() -> None:
    with pytest.raises(BackendError) as told:
        ChromaStore("docs", host="127.0.0.1", port=9, api_key="s3cret-key")
    assert "s3cret-key" not in f"{told.value!r} {told.value.__cause__!r}"


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="api_key") as told:
        open_store("chroma://me:s3cret@localhost/docs")
    assert "s3cret" not in str(told.value)


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb.api.client", None)
    with pytest.raises(BackendNotInstalledError, match="chroma"):
        ChromaStore("docs", memory=True)


# --- layouts ----------------------------------------------------------------------------------


def test_texts_of_declared_keys_are_ordered(tmp_path: Path) -> None:
    moments = Schema({"made": datetime, "title": str}, others="allow")
    with ChromaStore("docs", path=tmp_path, dimension=2, schema=moments) as store:
        store.add(
            [
                document("a", made=datetime(2024, 1, 1, tzinfo=UTC), title="b"),
                document("b", made=datetime(2025, 1, 1, tzinfo=UTC), title="ba"),
            ]
        )
        assert ids(store, "made < TIMESTAMP '2024-06-01'") == ["a"]
        assert ids(store, "title > 'b'") == ["b"]
        # An upsert adds to what is there; what is gone is not found by what it left behind.
        store.add([document("b", title="a"), document("a", other=1)])
        assert ids(store, "made < TIMESTAMP '2030-01-01'") == []
        assert ids(store, "title > 'b'") == []
        assert ids(store, "title >= 'a'") == ["b"]
        # Of longer texts the engine sees a beginning, and a literal of that length is refused.
        store.add([document("c", title="x" * 62), document("d", title="x" * 62 + "y" * 9)])
        assert ids(store, F.title > "x" * 62) == ["d"]
        assert ids(store, F.title <= "x" * 62) == ["b", "c"]
        with pytest.raises(UnsupportedFilterError, match="first 62 bytes"):
            ids(store, F.title > "x" * 63)
        store.delete(["c", "d"])
    # What was written without them is not ordered by keys that are declared later.
    later = Schema({"made": datetime, "title": str, "other": str}, others="allow")
    with ChromaStore("docs", path=tmp_path, schema=later) as store:
        assert ids(store, "title <= 'a'") == ["b"]
        with pytest.raises(UnsupportedFilterError, match="not texts"):
            ids(store, "other > 'a'")
    with ChromaStore("docs", path=tmp_path) as store:  # the collection remembers
        assert ids(store, "title <= 'a'") == ["b"]
        store.add([document("c", title="Z")])
        assert ids(store, "title <= 'a'") == ["b", "c"]


def test_the_layout_of_the_cloud_works_on_this_engine() -> None:
    schema = Schema({"n": float, "title": str}, others="allow")
    with ChromaStore("docs", memory=True, target="cloud", schema=schema) as store:
        store.add([document(f"{n}", n=n / 4, title=f"t{n:03}", m=n) for n in range(250)])
        assert store.count("n < 0.75") == 3
        assert store.count("title >= 't240'") == 10
        assert store.count("m IN [5, 6, 700]") == 2
        assert len(ids(store)) == store.count() == 250  # three pages
        assert len(store.search(vector=[3, 4], top_k=9, filter="n > 10")) == 9
        assert store.update_metadata(filter="n >= 0", set={"m": -1}) == 250
        assert store.count("m == -1") == 250
        with pytest.raises(UnsupportedFilterError, match="32 bits"):
            store.count("m > 5")
        assert store.delete(filter="n < 60") == 240
        assert store.clear() == 10


def test_a_plain_collection_of_others(client: Any) -> None:
    theirs = client.create_collection("theirs", embedding_function=None)
    theirs.add(
        ids=["a", "b", "c", "d"],
        embeddings=[[3.0, 4.0]] * 4,
        documents=["one", None, "three", "four"],
        metadatas=[{"n": 1, "tags": ["x"]}, {"n": 2.5}, {"n": "1"}, None],
    )
    with ChromaStore("theirs", client=client, layout="plain", metric="euclidean") as store:
        assert ids(store, "n == 1") == ["a"]
        assert ids(store, "n < 3") == ["a", "b"]
        assert ids(store, "tags == 'x'") == ["a"]
        assert ids(store, "n != 1") == ["b", "c", "d"]
        assert [one.text for one in store.get(["b"])] == [""]
        store.add([document("a", other=1, absent=None, empty=[])])  # replaces the whole document
        assert store.get(["a"])[0].metadata == {"other": 1}
        for metadata in ({"n": [0, 0.5]}, {"a": {"b": 1}}, {"$k": 1}, {"f": 0.9999999999999999}):
            with pytest.raises(DocumentError):
                store.add([document("e", **metadata)])
        with pytest.raises(DocumentError, match="at most 4,800 values"):
            store.add([document("e", tags=[f"{n}" for n in range(4_801)])])
        assert ids(store) == ["a", "b", "c", "d"]
    with pytest.raises(SchemaMismatchError, match='layout="plain"'):
        ChromaStore("theirs", client=client, metric="euclidean")


def test_more_than_the_engine_takes_is_refused_before_anything_is_written() -> None:
    with ChromaStore("docs", memory=True, dimension=2) as store:
        long = document("long", tags=[f"{n}" for n in range(4_800)])
        with pytest.raises(DocumentError, match="tokens"):
            store.add([document("a"), long])
        assert store.count() == 0
        store.add([document("most", tags=[f"{n}" for n in range(4_700)])])
        assert ids(store, "tags == '4699'") == ["most"]
        many = [f"{n}" for n in range(901)]
        with pytest.raises(UnsupportedFilterError, match="900 values"):
            store.count(F.tags.in_(many))


def test_a_record_that_matches_no_longer_is_not_deleted() -> None:
    """On servers, others may change it after it was found; in this process they wait."""
    with ChromaStore("docs", memory=True, dimension=2) as store:
        store.add([document("a", n=1), document("b", n=2)])
        store._records.delete("delete", ["a", "b"], store._compile_filter(F.n == 1))
        assert ids(store) == ["b"]


def test_a_write_in_parts_tells_of_those_that_got_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChromaStore("docs", memory=True, dimension=2) as store:
        records, calls = store._records, 0
        upsert = records.collection.upsert

        def failing(**columns: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise RuntimeError("no more")
            upsert(**columns)

        with monkeypatch.context() as patch, pytest.raises(BackendError) as caught:
            patch.setattr(records.call, "local", False)
            patch.setattr(module, "MAX_REQUEST_BYTES", 1)  # each document by itself
            patch.setattr(type(records.collection), "upsert", staticmethod(failing))
            store.add([document(name) for name in "abcd"])
        assert caught.value.stored_ids == ["a", "b"]
        assert ids(store) == ["a", "b"]


def test_a_long_list_is_evaluated_where_that_is_allowed() -> None:
    many = ", ".join(f"{n}" for n in range(2_000))
    with ChromaStore("docs", memory=True, dimension=2, residual="evaluate", max_cost=None) as store:
        store.add([document(f"{n}", n=n) for n in range(1_990, 2_010)])
        with pytest.warns(ResidualWarning):
            assert len(ids(store, f"n IN [{many}]")) == 10
        assert len(store.search(vector=[3, 4], top_k=20, filter=f"n IN [{many}]")) == 10


def test_a_layout_of_another_version_is_refused(client: Any) -> None:
    with ChromaStore("docs", client=client, dimension=2):
        pass
    collection = client.get_collection("docs", embedding_function=None)
    note = json.loads(collection.metadata["vecstore"])
    del note["texts"]
    collection.modify(metadata={"vecstore": json.dumps(note)})
    with pytest.raises(SchemaMismatchError, match="another version"):
        ChromaStore("docs", client=client)


def test_a_folder_that_a_client_has_open_is_taken_from_it(tmp_path: Path) -> None:
    theirs = PersistentClient(str(tmp_path))  # with settings of its own
    try:
        with pytest.raises(ConfigurationError, match="client="):
            ChromaStore("docs", path=tmp_path, dimension=2)
        with ChromaStore("docs", client=theirs, dimension=2) as store:
            store.add([document("a")])
            assert ids(store) == ["a"]
    finally:
        theirs.close()


def test_a_filtered_search_is_whole() -> None:
    whole(2_000, "farthest", [100, 10])


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("position", ["nearest", "farthest", "random"])
def test_a_filtered_search_among_many_is_whole(position: str) -> None:
    whole(100_000, position, [1_000, 100, 10])


def whole(count: int, position: str, matching: list[int]) -> None:
    """Fail unless the ten nearest that match are found, of so many documents, wherever they lie."""
    import numpy as np

    dimension = 32
    dice = np.random.default_rng(4)
    vectors = dice.standard_normal((count, dimension)).astype(np.float32)
    query = dice.standard_normal(dimension).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(-(vectors @ query), kind="stable")
    if position == "farthest":
        order = order[::-1]
    elif position == "random":
        order = dice.permutation(order)
    place = np.empty(count, dtype=int)
    place[order] = np.arange(count)
    with ChromaStore("docs", memory=True, dimension=dimension) as store:
        for start in range(0, count, 10_000):
            rows = range(start, min(count, start + 10_000))
            store.add(
                [
                    Document("", {"place": int(place[row])}, id=f"{row}", embedding=vectors[row])
                    for row in rows
                ]
            )
        for size in matching:
            chosen = order[:size]
            nearest = chosen[np.argsort(-(vectors[chosen] @ query), kind="stable")][:10]
            found = store.search(vector=query, top_k=10, filter=f"place < {size}")
            assert [one.id for one in found] == [f"{row}" for row in nearest], f"{size} match"
