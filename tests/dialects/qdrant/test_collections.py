"""Collections: our own, those that other libraries wrote, and their payload indexes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from qdrant_client import QdrantClient, models

from tests.engines.loopback import json_service
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    DuplicateDocumentError,
    F,
    Schema,
    SchemaMismatchError,
    ScopeError,
    UnsupportedFilterError,
    open_store,
)
from vecstore.dialects.qdrant.layout import LANGCHAIN, PayloadLayout
from vecstore.dialects.qdrant.store import QdrantStore

HOSTILE = [
    "it's",
    'say "hi"',
    "back\\slash",
    "new\nline",
    '"}, "must_not": []',
    "a.b[]",
    "{0} %s",
    str(uuid4()),
    "7",
    "é" * 600,
    "x" * 70_000,
]


@pytest.mark.parametrize("include_embedding", [False, True])
def test_a_scan_without_texts_has_the_engine_send_none(
    monkeypatch: pytest.MonkeyPatch, include_embedding: bool
) -> None:
    sent: list[Any] = []
    scroll = QdrantClient.scroll

    def noted(client: QdrantClient, *arguments: Any, **options: Any) -> Any:
        found = scroll(client, *arguments, **options)
        sent.extend(point.payload for point in found[0])
        return found

    monkeypatch.setattr(QdrantClient, "scroll", noted)
    with QdrantStore("docs", location=":memory:", dimension=2) as store:
        store.add([document("a", {"n": 1})])
        for text in (True, False):
            sent.clear()
            [found] = store.scan(text=text, include_embedding=include_embedding)
            assert found.metadata == {"n": 1}
            [payload] = sent
            assert ("text" in payload.values()) is text


def document(id: str, metadata: dict[str, Any] | None = None) -> Document:
    return Document("text", metadata, id=id, embedding=[3, 4])


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    made = QdrantClient(":memory:")
    yield made
    made.close()


class TestOurOwn:
    def test_a_missing_collection_is_made_by_the_first_documents_alone(
        self, client: QdrantClient
    ) -> None:
        store = QdrantStore("docs", client=client)
        assert store.search(vector=[1, 0]) == []
        assert (store.count(), store.get(["a"]), list(store.scan())) == (0, [], [])
        assert store.delete(["a"]) == store.delete(filter="n == 1") == 0
        store.clear()
        assert not client.collection_exists("docs")
        store.add([document("a")])
        assert store.dimension == 2
        store.close()
        assert [one.id for one in QdrantStore("docs", client=client).get()] == ["a"]

    def test_without_create_it_has_to_be_there(self, client: QdrantClient) -> None:
        with pytest.raises(SchemaMismatchError, match=r"no collection 'docs'.*create=True"):
            QdrantStore("docs", client=client, create=False)

    def test_every_difference_is_named(self, client: QdrantClient) -> None:
        QdrantStore("docs", client=client, dimension=2, metric="dot")
        with pytest.raises(SchemaMismatchError) as caught:
            QdrantStore("docs", client=client, dimension=3, metric="euclidean")
        for words in ("2 dimensions, not 3", "by dot, not euclidean"):
            assert words in str(caught.value)

    def test_the_layout_is_recorded_in_the_collection(self, tmp_path: Path) -> None:
        flat = PayloadLayout(id=None, text="document", metadata="")
        with QdrantStore("flat", path=str(tmp_path), dimension=2, layout=flat) as store:
            QdrantStore("own", path=str(tmp_path), dimension=2).close()
            old = {"vecstore_layout": {"version": 0}}
            store.native.update_collection("own", metadata=old)
            size = models.VectorParams(size=2, distance=models.Distance.COSINE)
            store.native.create_collection("others", vectors_config=size, metadata={"a": 1})
        with pytest.raises(SchemaMismatchError, match=r"PayloadLayout\(id=None, text='document'"):
            QdrantStore("flat", path=str(tmp_path))
        QdrantStore("flat", path=str(tmp_path), layout=flat).close()
        with pytest.raises(SchemaMismatchError, match=r"layout version 0.* reads 1; move it"):
            QdrantStore("own", path=str(tmp_path))
        QdrantStore("others", path=str(tmp_path)).close()

    @pytest.mark.parametrize("scale", [1e-30, 1e-19, 1.0, 1e19, 1e30])
    def test_directions_of_any_length(self, client: QdrantClient, scale: float) -> None:
        store = QdrantStore("docs", client=client, dimension=2)
        store.add([Document("", id="a", embedding=[3 * scale, 4 * scale])])
        store.add([Document("", id="b", embedding=[-4 * scale, 3 * scale])])
        for probe in ([3 * scale, 4 * scale], [3, 4]):
            found = store.search(vector=probe)
            assert [(one.id, one.score) for one in found] == [
                ("a", pytest.approx(1.0)),
                ("b", pytest.approx(0.0, abs=1e-6)),
            ]

    def test_named_vectors(self, client: QdrantClient) -> None:
        size = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection("docs", vectors_config={"title": size, "body": size})
        with pytest.raises(SchemaMismatchError, match=r"vectors 'body', 'title'; .*vector_name"):
            QdrantStore("docs", client=client)
        store = QdrantStore("docs", client=client, vector_name="body")
        store.add([document("a")])
        [found] = store.get(["a"], include_embedding=True)
        assert found.embedding is not None
        assert found.embedding.tolist() == pytest.approx([0.6, 0.8])
        QdrantStore("bare", client=client, dimension=2)
        with pytest.raises(SchemaMismatchError, match="leave vector_name out"):
            QdrantStore("bare", client=client, vector_name="body")

    def test_hostile_ids_keys_and_values(self, client: QdrantClient) -> None:
        store = QdrantStore("docs", client=client)
        store.add([document(id, {"value": id[:50], "n": n}) for n, id in enumerate(HOSTILE)])
        for n, id in enumerate(HOSTILE):
            assert [one.id for one in store.get([id])] == [id]
            assert [one.id for one in store.get(filter=F.value == id[:50])] == [id]
            assert store.update_metadata([id], set={f'key "{n}".[]': n}) == 1
        assert sorted(one.id for one in store.scan(batch_size=2)) == sorted(HOSTILE)
        for left, id in enumerate(HOSTILE[::-1]):
            assert store.delete([id, id + "?"]) == 1
            assert store.count() == len(HOSTILE) - left - 1

    def test_datetimes_are_a_contract(self, client: QdrantClient) -> None:
        schema = Schema({"created": datetime, "day": date, "size": ["large", "small"]})
        store = QdrantStore("docs", client=client, schema=schema)
        with pytest.raises(DocumentError, match="created holds timestamps"):
            store.add([document("a", {"created": "yesterday"})])
        moment = datetime(2024, 1, 1, tzinfo=UTC)
        store.add([document("a", {"created": None}), document("b", {"created": moment})])
        store.add([document("c", {"day": moment.date(), "size": "small"})])
        with pytest.raises(DocumentError, match="created holds timestamps"):
            store.update_metadata(["a"], set={"created": "unknown"})
        for filter in (
            "created >= TIMESTAMP '2024-01-01'",
            "day < DATE '2024-01-02'",
            "size > 'large'",
        ):
            assert store.count(filter) == 1

    def test_the_former_option_is_answered_with_the_new_one(self, client: QdrantClient) -> None:
        for make in (
            lambda: QdrantStore("docs", client=client, datetimes=["created"]),  # type: ignore[call-arg]
            lambda: open_store("qdrant:?collection=docs", datetimes=["created"]),
        ):
            with pytest.raises(ConfigurationError, match=r"schema=Schema\(\{'created': datetime"):
                make()

    def test_eight_threads(self, client: QdrantClient) -> None:
        store = QdrantStore("docs", client=client, dimension=2)
        barrier = threading.Barrier(8)

        def work(worker: int) -> None:
            barrier.wait()
            for number in range(6):
                id = f"{worker}-{number}"
                store.add([document(id), document(f"shared-{number}")])
                assert store.get([id])[0].id == id
                assert store.search(vector=[1, 0], top_k=3)
                assert store.count() >= number
                assert store.delete([id]) == 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert sorted(one.id for one in store.scan()) == [f"shared-{number}" for number in range(6)]


class Meddling(QdrantClient):
    """Another writer changes the point between what a store reads and what it writes."""

    def batch_update_points(self, collection_name: str, *arguments: Any, **options: Any) -> Any:
        key = "metadata" if collection_name == "own" else None
        self.set_payload(collection_name, {"theirs": 2}, points=[_ID], key=key)
        return super().batch_update_points(collection_name, *arguments, **options)


@pytest.mark.parametrize("hook", ["_delete", "_clear"])
def test_nobody_comes_between_what_is_told_and_what_is_deleted(
    monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    with QdrantStore("docs", location=":memory:", dimension=2) as store:
        store.add([document("a"), document("b")])
        let_in: list[bool] = []
        delete = getattr(store, hook)
        lock: Any = store._call.exclusive

        def come() -> None:
            let_in.append(lock.acquire(blocking=False))
            if let_in[-1]:
                lock.release()

        def noted(*given: Any) -> Any:
            other = threading.Thread(target=come)
            other.start()
            other.join()
            return delete(*given)

        monkeypatch.setattr(store, hook, noted)
        if hook == "_delete":
            assert store.delete(["a"], return_ids=True) == ["a"]
        else:
            assert store.clear() == 2
        assert let_in == [False]


class Asked(QdrantClient):
    """Writes down how many points each page was to have."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.pages: list[int] = []

    def scroll(self, collection_name: str, *arguments: Any, **options: Any) -> Any:
        self.pages.append(options["limit"])
        return super().scroll(collection_name, *arguments, **options)


def test_local_mode_tries_the_filter_for_few_pages() -> None:
    """It tries every point for each, so that pages of one size would take quadratic time."""
    client = Asked()
    store = QdrantStore("docs", client=client, dimension=2)
    store.add([document(f"{n:04}", {"n": n % 2}) for n in range(4_000)])
    odd = {f"{n:04}" for n in range(1, 4_000, 2)}
    for read, last in (
        (lambda: store.get(filter="n == 1"), 2_048),
        (lambda: store.scan("n == 1", batch_size=256), 2_048),
        (lambda: store.scan("n == 1", batch_size=256, include_embedding=True), 1_024),
    ):
        client.pages.clear()
        found = [one.id for one in read()]
        assert (len(found), set(found)) == (len(odd), odd)
        assert client.pages == [256, 512, 1_024, last]
    client.pages.clear()
    assert len(store.get(filter="n == 1", limit=3)) == 3
    assert client.pages == [3]
    assert store.update_metadata(filter="n == 1", set={"n": 2}) == len(odd)
    assert store.count("n == 2") == len(odd)
    client.close()


_ID = str(uuid4())


@pytest.mark.parametrize("collection", ["own", "plain"])
def test_an_update_leaves_keys_alone_that_it_does_not_name(collection: str) -> None:
    client = Meddling(":memory:")
    client.create_collection(
        collection, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE)
    )
    metadata = {"ours": 1, "theirs": 1, "old": 1}
    payload = (
        {"text": "t", "metadata": metadata} if collection == "own" else {"text": "t", **metadata}
    )
    client.upsert(collection, [models.PointStruct(id=_ID, vector=[1.0, 0.0], payload=payload)])
    layout = PayloadLayout(id=None, text="text", metadata="metadata" if collection == "own" else "")
    store = QdrantStore(collection, client=client, layout=layout)
    assert store.update_metadata([_ID], set={"ours": 3}, unset=["old"]) == 1
    assert store.get([_ID])[0].metadata == {"ours": 3, "theirs": 2}
    client.close()


class TestOfOthers:
    """Written with the bare client, point by point as those libraries write them."""

    def test_langchain(self, client: QdrantClient) -> None:
        ids = [str(uuid4()), "7"]
        client.create_collection(
            "kb", vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE)
        )
        client.upsert(
            "kb",
            [
                models.PointStruct(
                    id=ids[0],
                    vector=[1.0, 0.0],
                    payload={"page_content": "Hello", "metadata": {"source": "a.md", "n": 1}},
                ),
                models.PointStruct(
                    id=7, vector=[0.0, 1.0], payload={"page_content": "World", "metadata": None}
                ),
            ],
        )
        store = QdrantStore("kb", client=client, layout=LANGCHAIN)
        assert store.capabilities.id_charset == "uuid_or_number"
        [found] = store.search(vector=[1, 0], filter="source == 'a.md' AND n >= 1")
        assert (found.id, found.text, found.metadata, found.score) == (
            ids[0],
            "Hello",
            {"source": "a.md", "n": 1},
            pytest.approx(1.0),
        )
        assert [one.text for one in store.get(["7", ids[0], "x", str(uuid4())])] == [
            "World",
            "Hello",
        ]
        assert store.count("n IS NULL") == 1
        added = str(uuid4())
        store.add([document(added, {"n": 2})])
        [point] = client.retrieve("kb", [added])
        assert point.payload == {"page_content": "text", "metadata": {"n": 2}}
        assert store.update_metadata(["7"], set={"n": 3}) == 1
        [point] = client.retrieve("kb", [7])
        assert point.payload == {"page_content": "World", "metadata": {"n": 3}}
        for refused in ("x", "08", "-1", str(2**64), added.upper()):
            with pytest.raises(DocumentError, match=r"UUID.*number from 0"):
                store.add([document(refused)])
        assert store.get(["9" * 5_000]) == []
        assert store.add([document("8"), document(str(2**64 - 1))]) == ["8", str(2**64 - 1)]
        assert sorted(point.id for point in client.retrieve("kb", [8, 2**64 - 1])) == [8, 2**64 - 1]
        with pytest.raises(DuplicateDocumentError):
            store.add([document("8")], on_conflict="error")
        assert store.delete(["7", "8", "x", added, "9" * 5_000]) == 3

    def test_metadata_beside_the_text(self, client: QdrantClient) -> None:
        client.create_collection(
            "kb", vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT)
        )
        one = str(uuid4())
        client.upsert(
            "kb",
            [
                models.PointStruct(
                    id=one, vector=[1.0, 0.0], payload={"document": "Hello", "n": 1, "k": "v"}
                )
            ],
        )
        layout = PayloadLayout(id=None, text="document", metadata="")
        store = QdrantStore("kb", client=client, layout=layout, metric="dot")
        assert store.get(filter="n == 1 AND k == 'v'") == [
            Document("Hello", {"n": 1, "k": "v"}, id=one)
        ]

    def test_ids_in_payloads_whose_points_are_not_ours(self, client: QdrantClient) -> None:
        size = models.VectorParams(size=2, distance=models.Distance.DOT)
        client.create_collection("kb", vectors_config=size)
        points = [
            models.PointStruct(
                id=n, vector=[1.0, n], payload={"doc": f"d{n}", "meta": {"n": n}, "x": n}
            )
            for n in range(6)
        ]
        client.upsert("kb", points)
        layout = PayloadLayout(id="doc", text="content", metadata="meta")
        store = QdrantStore("kb", client=client, layout=layout, metric="dot")
        assert [one.id for one in store.get(["d1", "no", "d0"])] == ["d1", "d0"]
        assert [one.id for one in store.get(["d1", "d2"], filter="n == 2")] == ["d2"]
        selections: list[tuple[dict[str, Any], list[str]]] = [
            ({"ids": ["d0", "no", "d1"]}, ["d1", "d0"]),
            ({"ids": ["d0", "d1"], "filter": "n < 1"}, ["d0"]),
            ({"exclude_ids": ["d5", "no", "d3"]}, ["d4", "d2", "d1"]),
            ({"exclude_ids": ["d5", "d3"], "filter": "n < 4"}, ["d2", "d1", "d0"]),
        ]
        for chosen, wanted in selections:
            found = store.search(vector=[0, 1], top_k=3, **chosen)
            assert [one.id for one in found] == wanted
        assert store.update_metadata(["d1", "no"], set={"m": 1}) == 1
        assert client.retrieve("kb", [1])[0].payload == {
            "doc": "d1",
            "meta": {"n": 1, "m": 1},
            "x": 1,
        }
        assert store.add([document("d2", {"n": 22}), document("new", {"n": 7})]) == ["d2", "new"]
        assert client.retrieve("kb", [2])[0].payload == {
            "doc": "d2",
            "content": "text",
            "meta": {"n": 22},
        }
        with pytest.raises(DuplicateDocumentError):
            store.add([document("d3")], on_conflict="error")
        assert store.count() == 7
        assert store.delete(["d0", "no"]) == 1
        assert store.delete(filter="n > 3") == 4
        assert sorted(one.id for one in store.scan()) == ["d1", "d3"]

    def test_ids_that_are_lists_or_stand_twice(self, client: QdrantClient) -> None:
        size = models.VectorParams(size=2, distance=models.Distance.DOT)
        client.create_collection("kb", vectors_config=size)
        payloads: list[dict[str, Any]] = [
            {"id": ["a", "b"], "metadata": {"t": "x"}},
            {"id": "twice", "metadata": {"t": "x"}},
            {"id": "twice", "metadata": {"t": "y"}},
            {"id": "twice", "metadata": {"t": "x"}, "more": 1},
            {"id": "once", "metadata": {"t": "y"}},
        ]
        points = [
            models.PointStruct(id=n, vector=[1.0, n], payload=payload)
            for n, payload in enumerate(payloads)
        ]
        client.upsert("kb", points)
        layout = PayloadLayout(id="id", text="content", metadata="metadata")
        store = QdrantStore("kb", client=client, layout=layout, metric="dot")
        scoped = store.scoped(F.t == "y")
        for policy in ("replace", "skip"):
            with pytest.raises(ScopeError):
                scoped.add([document("twice")], on_conflict=policy)  # type: ignore[arg-type]
        assert scoped.add([document("once", {"n": 1})]) == ["once"]
        # A list is the id of no document, though Qdrant finds it by each of its elements.
        assert store.get(["a", "b"]) == []
        assert store.delete(["a", "b"]) == 0
        assert [point.payload for point in client.retrieve("kb", range(4))] == payloads[:4]
        for policy in ("error", "skip", "replace"):
            id = f"a{policy}"
            payload = {"id": [id, "b"]}
            client.upsert("kb", [models.PointStruct(id=9, vector=[1.0, 1.0], payload=payload)])
            assert store.add([document(id)], on_conflict=policy) == [id]  # type: ignore[arg-type]
            assert client.retrieve("kb", [9])[0].payload == payload

    def test_a_layout_that_names_no_place_for_an_extra_says_how_to_name_one(
        self, client: QdrantClient
    ) -> None:
        layout = PayloadLayout(id="doc", text="content", metadata="")
        options: dict[str, Any] = {"client": client, "metric": "dot", "dimension": 2}
        store = QdrantStore("kb", layout=layout, **options)
        store.add([document("old", {"extra": "a key of metadata"})])
        with pytest.raises(DocumentError, match="keeps_extra") as caught:
            store.add([document("new").replace(extra=[1])])
        told = "layout=PayloadLayout(id='doc', text='content', metadata='', extra=\"extra\")"
        assert told in str(caught.value)
        assert store.get(["old"])[0].metadata == {"extra": "a key of metadata"}
        layout = PayloadLayout(id="doc", text="content", metadata="", extra="more")
        store = QdrantStore("kb", layout=layout, **options)
        store.add([document("new", {"n": 1}).replace(extra=[1])])
        with pytest.raises(DocumentError, match=r"more .*extra of a document"):
            store.update_metadata(["new"], set={"more": 1})
        with pytest.raises(UnsupportedFilterError, match="extra of documents"):
            store.count("more == 1")
        assert store.update_metadata(["new"], set={"n": None}) == 1
        [found] = store.get(["new"])
        assert (found.metadata, found.extra) == ({"n": None}, [1])
        for one in store.scan(text=False):
            assert one.extra is None
            assert one.text == ""

    def test_a_collection_from_before_extras_takes_them(self, client: QdrantClient) -> None:
        options: dict[str, Any] = {"client": client, "metric": "dot", "dimension": 2}
        store = QdrantStore("kb", **options)
        store.add([document("old")])
        note = client.get_collection("kb").config.metadata or {}
        assert note["vecstore_layout"] == {
            "version": 1, "id": "id", "text": "text", "metadata": "metadata",
        }  # fmt: skip
        [point] = client.scroll("kb")[0]
        assert sorted(point.payload or {}) == ["id", "metadata", "text"]
        store.add([document("old").replace(extra={"n": 1})])
        [found] = store.get(["old"])
        assert found.extra == {"n": 1}

    @pytest.mark.parametrize("id_key", [None, "key"])
    def test_keys_that_other_parts_of_the_document_have(
        self, client: QdrantClient, id_key: str | None
    ) -> None:
        layout = PayloadLayout(id=id_key, text="document", metadata="")
        store = QdrantStore("kb", client=client, layout=layout, metric="dot", dimension=2)
        store.add([document("7", {"n": 1})])
        for name, part in (("document", "text"), ("key", "id")):
            if name == "key" and id_key is None:
                continue
            with pytest.raises(DocumentError, match=f"'8'.* {name} .*{part} of a document"):
                store.add([document("8", {name: "x"})])
            with pytest.raises(DocumentError, match=f"{name} .*{part} of a document"):
                store.update_metadata(["7"], set={name: "x"})
            with pytest.raises(DocumentError, match=f"{name} .*{part} of a document"):
                store.update_metadata(["7"], unset=[name])
            with pytest.raises(UnsupportedFilterError, match=f"{part} of documents"):
                store.get(filter=f"n == 1 AND NOT {name}.x == 1")
        store.add([document("9", {"id": 1, "text": "x", "metadata": {"a": 1}})])
        assert [one.id for one in store.get(filter="metadata.a == 1 AND id == 1")] == ["9"]
        assert store.get(["7"])[0].metadata == {"n": 1}

    def test_a_vector_whose_name_is_empty_has_none(self, client: QdrantClient) -> None:
        """So LangChain makes its collections."""
        size = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection("kb", vectors_config={"": size})
        client.create_collection("two", vectors_config={"": size, "other": size})
        for name in ("kb", "two"):
            for vector_name in (None, ""):
                store = QdrantStore(name, client=client, layout=LANGCHAIN, vector_name=vector_name)
                store.add([document("7", {"n": 1})])
                [found] = store.search(vector=[3, 4], include_embedding=True)
                assert found.embedding is not None
                assert found.embedding.tolist() == pytest.approx([0.6, 0.8])
        made = QdrantStore("made", client=client, vector_name="", dimension=2)
        made.add([document("a")])
        assert len(made.search(vector=[3, 4])) == 1

    @pytest.mark.parametrize("kind", ["integer", "datetime"])
    def test_indexes_that_change_answers_are_refused(self, kind: str) -> None:
        """Local mode has no indexes: the answers are those of a server's REST interface."""
        with json_service(Server(index={"metadata.year": kind}).answer) as url:
            with pytest.raises(SchemaMismatchError, match=f"metadata.year is of type {kind}"):
                QdrantStore("docs", url=url)
            if kind == "datetime":
                QdrantStore("docs", url=url, schema=Schema({"year": datetime})).close()


class Server:
    """What a Qdrant server says about its collection; it writes down what it is asked to make."""

    def __init__(self, index: dict[str, str] | None = None, exists: bool = True) -> None:
        self.index = index or {}
        self.exists = exists
        self.made: list[tuple[str, Any]] = []

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/exists"):
            return 200, _result({"exists": self.exists})
        if method == "PUT":
            self.exists = True
            self.made.append((path.partition("?")[0], body))
            done = {"operation_id": 1, "status": "completed"}
            return 200, _result(done if "/index" in path else True)
        schema = {field: {"data_type": kind, "points": 1} for field, kind in self.index.items()}
        return 200, _result({**_INFO, "payload_schema": schema})


_INFO = {
    "status": "green",
    "optimizer_status": "ok",
    "points_count": 1,
    "indexed_vectors_count": 0,
    "segments_count": 1,
    "config": {
        "params": {"vectors": {"size": 2, "distance": "Cosine"}},
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
        "optimizer_config": {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1_000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        },
    },
}


def _result(result: Any) -> dict[str, Any]:
    return {"result": result, "status": "ok", "time": 0.0}


class TestIndexes:
    def test_asked_for_when_the_collection_is_made(self) -> None:
        server = Server(exists=False)
        with json_service(server.answer) as url:
            QdrantStore(
                "docs",
                url=url,
                create=True,
                dimension=2,
                schema=Schema({"created": datetime}, others="allow"),
                indexes={
                    "country": "keyword",
                    '"a.b"': "float",
                    "author.name": "keyword",
                    "created": "datetime",
                },
            ).close()
        assert server.made == [
            (
                "/collections/docs",
                {
                    "vectors": {"size": 2, "distance": "Cosine"},
                    "metadata": {
                        "vecstore_layout": {
                            "version": 1,
                            "id": "id",
                            "text": "text",
                            "metadata": "metadata",
                        }
                    },
                },
            ),
            *(
                ("/collections/docs/index", {"field_name": field, "field_schema": kind})
                for field, kind in [
                    ("metadata.country", "keyword"),
                    ('metadata."a.b"', "float"),
                    ("metadata.author.name", "keyword"),
                    ("metadata.created", "datetime"),
                ]
            ),
        ]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"indexes": {"year": "integer"}}, "numbers are indexed as 'float'"),
            ({"indexes": {"year": "text"}}, "one of keyword, float, bool, datetime"),
            ({"indexes": {"year": "datetime"}}, "declare the key as well"),
            ({"layout": "langchain"}, "PayloadLayout"),
            ({"client": object()}, "QdrantClient, not a object"),
        ],
    )
    def test_options_that_cannot_work(self, options: dict[str, Any], words: str) -> None:
        where = {} if "client" in options else {"location": ":memory:"}
        with pytest.raises(ConfigurationError, match=words):
            QdrantStore("docs", **where, **options)

    def test_local_mode_makes_none_and_does_not_warn(self, client: QdrantClient) -> None:
        store = QdrantStore("docs", client=client, indexes={"n": "float"})
        store.add([document("a", {"n": 1})])
        assert store.count("n == 1") == 1

    def test_documents_without_a_vector_do_not_say_how_long_vectors_are(
        self, client: QdrantClient
    ) -> None:
        store = QdrantStore("docs", client=client)
        with pytest.raises(ConfigurationError, match="dimension=") as caught:
            store.add([Document("", id="bare")], embed=False)
        assert (caught.value.stored_ids, client.collection_exists("docs")) == ([], False)
        store.add([Document("", id="bare"), Document("", id="full", embedding=[1, 2])], embed=False)
        assert (store.count(), store.dimension) == (2, 2)
        assert [one.id for one in store.search(vector=[1, 2])] == ["full"]

    def test_a_collection_dropped_behind_the_store(self, client: QdrantClient) -> None:
        store = QdrantStore("docs", client=client, dimension=2)
        client.delete_collection("docs")
        with pytest.raises(BackendError, match=r"Qdrant refused count: .*docs") as caught:
            store.count()
        assert caught.value.__cause__ is not None


class TestChangesToMetadata:
    """Only what is named changes, in whatever stands around it."""

    RICH: dict[str, Any] = {
        "page_content": {"no": "text"},
        "metadata": {"n": 1, "gone": 2, 'say "hi"': 3, "null": None, "deep": {"a": None}},
        "other": [1, None, {"x": []}],
        "empty": None,
    }

    def make(self, client: QdrantClient, payload: dict[str, Any] | None) -> str:
        size = models.VectorParams(size=2, distance=models.Distance.DOT)
        client.create_collection(
            "kb",
            vectors_config={
                "body": size,
                "title": size,
                "many": models.VectorParams(
                    size=2,
                    distance=models.Distance.DOT,
                    multivector_config=models.MultiVectorConfig(
                        comparator=models.MultiVectorComparator.MAX_SIM
                    ),
                ),
            },
            sparse_vectors_config={"words": models.SparseVectorParams()},
        )
        vector: Any = {
            "body": [1.0, 2.0],
            "title": [3.0, 4.0],
            "many": [[1.0, 0.0], [0.0, 1.0]],
            "words": models.SparseVector(indices=[1, 5], values=[0.5, 0.25]),
        }
        one = str(uuid4())
        client.upsert("kb", [models.PointStruct(id=one, vector=vector, payload=payload)])
        return one

    @pytest.mark.parametrize(
        ("set", "unset"),
        [
            ({"n": 5}, []),
            ({"n": 5, "a.b[]": {"c": None}}, ["gone", "never there"]),
            ({"n": None}, []),
            ({}, ["gone"]),
            ({}, ['say "hi"', "gone"]),
            ({"deep": {"b": 1}}, ['say "hi"']),
        ],
    )
    @pytest.mark.parametrize("nested", [True, False])
    def test_only_the_named_keys_change(
        self, client: QdrantClient, set: dict[str, Any], unset: list[str], nested: bool
    ) -> None:
        payload = dict(self.RICH)
        if not nested:
            payload |= payload.pop("metadata")
        one = self.make(client, payload)
        layout = LANGCHAIN if nested else PayloadLayout(None, "page_content", "")
        store = QdrantStore(
            "kb", client=client, layout=layout, vector_name="body", metric="dot", dimension=2
        )
        [before] = client.retrieve("kb", [one], with_vectors=True)
        assert store.update_metadata([one], set=set, unset=unset) == 1
        [after] = client.retrieve("kb", [one], with_vectors=True)
        assert after.vector == before.vector
        expected = {**payload, **({} if nested else set)}
        if nested:
            expected["metadata"] = {**payload["metadata"], **set}
        for name in unset:
            (expected["metadata"] if nested else expected).pop(name, None)
        assert after.payload == expected

    @pytest.mark.parametrize("payload", [None, {}, {"metadata": None, "x": 1}, {"metadata": {}}])
    def test_where_there_is_no_metadata_yet(
        self, client: QdrantClient, payload: dict[str, Any] | None
    ) -> None:
        one = self.make(client, payload)
        store = QdrantStore(
            "kb", client=client, layout=LANGCHAIN, vector_name="body", metric="dot", dimension=2
        )
        assert store.update_metadata([one], unset=["n"]) == 1
        assert store.update_metadata([one], set={"n": 1, "null": None}) == 1
        assert store.update_metadata([one], set={"m": 2}) == 1
        [point] = client.retrieve("kb", [one])
        assert point.payload == {
            **(payload or {}),
            "metadata": {"n": 1, "null": None, "m": 2},
        }
