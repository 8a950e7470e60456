"""What records hold, what fits into a request, and when writes are seen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.pinecone.conftest import Open
from tests.servers.pinecone import PineconeServer
from vecstore import (
    BackendError,
    Document,
    DocumentError,
    F,
    ForeignRecordWarning,
    Schema,
    UnsupportedFilterError,
)
from vecstore.dialects.pinecone.records import (
    MOST_METADATA_BYTES,
    VERSION,
    ZEROS,
    check_size,
    record_id,
)
from vecstore.dialects.pinecone.writing import Row, Writer, _requests


def sizes(server: PineconeServer, path: str) -> list[int]:
    return [len(request.body) for request, _ in server.http.requests if request.path == path]


def one(id: str, metadata: Any = None, text: str = "") -> Document:
    return Document(text, metadata or {}, id, [1.0, 2.0])


class TestIds:
    @given(st.text(min_size=1))
    def test_a_record_can_have_each(self, id: str) -> None:
        key = record_id(id)
        assert key.isascii()
        assert key.isprintable()
        assert 1 <= len(key) <= 512

    @given(st.text(min_size=1), st.text(min_size=1))
    def test_each_has_its_own(self, one: str, other: str) -> None:
        assert (record_id(one) == record_id(other)) is (one == other)

    def test_nobody_can_choose_that_of_another(self, open_pinecone: Open) -> None:
        store = open_pinecone()
        ids = ["é", record_id("é"), "x" * 401, "a b", "a\nb", "vecstore#"]
        assert store.add([one(id, {"id": id}) for id in ids]) == ids
        assert [found.metadata["id"] for found in store.get(ids)] == ids
        assert {found.id for found in store.scan()} == set(ids)

    def test_long_ids_fit_into_addresses(self, open_pinecone: Open) -> None:
        store = open_pinecone()
        ids = [f"{n:03}" + "%" * 390 for n in range(250)]
        store.add([one(id) for id in ids])
        assert [found.id for found in store.get(ids)] == ids
        assert store.delete(ids[:200]) == 200
        assert store.count() == 50

    def test_the_longest_ids_are_deleted_by_filter(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()
        store.add([one("\x01" * 2_040 + f"{n:04}", {"n": n}) for n in range(400)])
        assert store.delete(filter="n >= 10") == 390
        assert max(sizes(server, "/vectors/delete")) < 1_500_000
        assert store.count() == 10


class TestMetadata:
    def test_types_stay(self, open_pinecone: Open, server: PineconeServer) -> None:
        metadata = {
            "int": 1,
            "float": 1.0,
            "big": 2**70,
            "bool": True,
            "numbers": [1, 2.5],
            "object": {"deep": {"er": [True, False]}, "none": None},
            "empty": [],
            "$key": "a.b",
            "a.b": {"c": -0.0},
        }
        store = open_pinecone()
        store.add([one("a", metadata)])
        (found,) = store.get(["a"])
        assert json.dumps(found.metadata) == json.dumps(metadata)
        for filter in (
            F.int == 1.0,
            F.numbers == 2.5,
            F.object.deep.er == True,  # noqa: E712
            F.big == 2**70,
            F["$key"] == "a.b",
            F.object["none"].is_null(),
            F.int > 0,
        ):
            assert store.count(filter) == 1, filter

    def test_forty_kilobytes_are_named_before_anything_is_sent(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()
        many = {f"key {n}": n for n in range(600)}
        with pytest.raises(DocumentError, match=r"'large'.*40,960 \(40 KB\)") as caught:
            store.add([one("small"), one("large", many)])
        assert caught.value.document_id == "large"
        with pytest.raises(DocumentError, match="40 KB"):
            store.add([one("both", {"text": "x" * 15_000}, "\x01" * 10_000)])
        assert server.asked("/vectors/upsert") == 0
        store.add([one("grows", dict(list(many.items())[:200]))])
        with pytest.raises(DocumentError, match=r"'grows'.*40 KB"):
            store.update_metadata(["grows"], set=many)
        assert store.get(["grows"])[0].metadata["key 199"] == 199

    def test_an_extra_takes_its_part_of_them(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()
        extra = {"rows": [{"quoted": '"' * 100, "n": n} for n in range(60)]}
        with pytest.raises(
            DocumentError, match=r"'large'.*4\d,\d+ bytes.*its extra of 1\d,"
        ) as told:
            store.add([one("small"), one("large", {}, "x" * 20_000).replace(extra=extra)])
        assert told.value.document_id == "large"
        assert server.asked("/vectors/upsert") == 0
        store.add([one("large", {}, "x" * 5_000).replace(extra=extra)])
        with pytest.raises(DocumentError, match=r"'large'.*its extra of 1"):
            store.update_metadata(["large"], set={f"key {n}": n for n in range(400)})
        assert store.update_metadata(["large"], set={"n": 1}) == 1
        (found,) = store.search(vector=[1, 2], filter="n == 1")
        assert found.extra == extra

    @given(
        st.dictionaries(
            st.text(max_size=30),
            st.none() | st.booleans() | st.integers() | st.text(max_size=300) | st.lists(st.text()),
            max_size=60,
        ),
        st.text(max_size=5_000),
        st.none() | st.lists(st.text(max_size=5_000), max_size=4).map(json.dumps),
    )
    def test_what_passes_the_check_is_taken(
        self, metadata: Any, text: str, extra: str | None
    ) -> None:
        metadata = {key: value for key, value in metadata.items() if key and "\0" not in key}
        try:
            check_size("id", text, metadata, extra=extra)
        except DocumentError:
            return
        vector = np.zeros(2, np.float32)
        [(_, [record])] = _requests([Row("id", text, metadata, vector, extra)], "0" * 16)
        size = len(json.dumps(record.metadata, ensure_ascii=False, separators=(",", ":")).encode())
        assert size <= MOST_METADATA_BYTES
        assert record.metadata[ZEROS] is True

    def test_a_vector_of_zeros(self, open_pinecone: Open) -> None:
        store = open_pinecone(metric="euclidean")
        store.add([Document("", id="zeros", embedding=[0, 0]), one("other")])
        (found,) = store.get(["zeros"], include_embedding=True)
        assert found.embedding is not None
        assert found.embedding.tolist() == [0, 0]
        assert [found.id for found in store.search(vector=[0, 0])] == ["zeros", "other"]
        store.update_metadata(["zeros"], set={"n": 1})
        (found,) = store.search(vector=[0, 0], filter="n == 1", include_embedding=True)
        assert found.embedding is not None
        assert found.embedding.tolist() == [0, 0]


class TestRequests:
    def test_upserts_keep_to_two_megabytes_and_a_thousand_records(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()
        store.add([one(f"{n}") for n in range(1_024)])
        store.add([one(f"large {n}", text="\x01" * 5_000) for n in range(100)])
        assert max(sizes(server, "/vectors/upsert")) < 2_000_000
        assert len(sizes(server, "/vectors/upsert")) == 4
        assert store.count() == 1_124

    def test_vectors_of_the_largest_dimension(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone(dimension=20_000)
        vectors = np.random.default_rng(1).standard_normal((7, 20_000)).astype(np.float32)
        store.add([Document("", id=f"{n}", embedding=row) for n, row in enumerate(vectors)])
        assert max(sizes(server, "/vectors/upsert")) < 2_000_000
        found = store.search(vector=vectors[3], top_k=2, include_embedding=True)
        assert found[0].id == "3"
        assert found[0].embedding is not None
        assert found[0].embedding.tolist() == vectors[3].tolist()

    def test_more_than_an_answer_holds_is_read_by_ids(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()
        store.add([one(f"{n:03}", {"n": n}, "x" * 30_000) for n in range(200)])
        found = store.search(vector=[1, 2], top_k=200, filter="n >= 5")
        assert len(found) == 195
        assert all(len(document.text) == 30_000 for document in found)

    def test_a_top_k_past_the_limit(self, open_pinecone: Open, server: PineconeServer) -> None:
        store = open_pinecone()
        store.add([one("a")])
        assert len(store.search(vector=[1, 0], top_k=10_000)) == 1
        asked = server.asked("/query")
        with pytest.raises(ValueError, match=r"at most 10,000 .*\(max_top_k\).*see scan\(\)"):
            store.search(vector=[1, 0], top_k=10_001)
        assert server.asked("/query") == asked

    def test_pages(self, open_pinecone: Open, server: PineconeServer) -> None:
        store = open_pinecone()
        store.add([one(f"{n:04}", {"n": n}) for n in range(450)])
        assert store.count() == 450
        assert server.asked("/vectors/list") == 5
        assert store.count("n < 300") == 300
        assert server.asked("/vectors/fetch_by_metadata") == 3
        assert sorted(found.id for found in store.scan("n >= 250")) == [
            f"{n:04}" for n in range(250, 450)
        ]
        assert store.update_metadata(filter="n >= 250", set={"n": 0}) == 200
        assert store.delete(filter="n == 0") == 201


class TestFilters:
    @pytest.mark.parametrize("deletes_by_filter", [True, False])
    def test_deletes_by_filter(
        self, open_pinecone: Open, server: PineconeServer, deletes_by_filter: bool
    ) -> None:
        server.deletes_by_filter = deletes_by_filter
        store = open_pinecone()
        store.add([one(f"{n}", {"n": n}) for n in range(1_200)])
        assert store.delete(filter="n < 1100") == 1_100
        assert store.delete(["1150", "1151"], filter="n != 1151") == 1
        assert store.count() == 99
        asked = [request.json() for request, _ in server.http.requests if "delete" in request.path]
        by_filter = sum("filter" in body for body in asked)
        assert by_filter == (3 if deletes_by_filter else 1)
        assert len(asked) == (3 if deletes_by_filter else 4)

    def test_what_was_changed_meanwhile_is_not_deleted(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store, other = open_pinecone(), open_pinecone()
        store.add([one("a", {"n": 1}), one("b", {"n": 1})])

        def change(request: Any) -> None:
            if request.path == "/vectors/delete":
                server.http.during_answer = lambda request: None
                space = server.indexes["docs"].namespaces["kb"]
                space.seen["a"] = changed

        other.update_metadata(["a"], set={"n": 2})
        changed = server.indexes["docs"].namespaces["kb"].seen["a"]
        other.update_metadata(["a"], set={"n": 1})
        server.http.during_answer = change
        store.delete(filter="n == 1")
        assert [found.id for found in store.scan()] == ["a"]

    def test_texts_that_are_all_known_are_ordered(self, open_pinecone: Open) -> None:
        store = open_pinecone(schema=Schema({"size": ["large", "medium", "small"]}))
        store.add([one(size, {"size": size}) for size in ("small", "large", "medium")])
        assert sorted(found.id for found in store.scan("size >= 'medium'")) == ["medium", "small"]
        with pytest.raises(UnsupportedFilterError, match="not texts"):
            open_pinecone().count("size >= 'medium'")

    def test_a_service_that_reads_filters_otherwise(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        """What the index finds beside is left out, and what is missing is made up for."""
        store = open_pinecone()
        store.add([one(f"{n}", {"n": n}) for n in range(40)])
        rules = server.indexes["docs"].rules
        exact = rules.reading
        rules.reading = lambda filter: exact(None)  # type: ignore[method-assign]
        assert store.count("n >= 30") == 10
        found = store.search(vector=[1, 0], filter="n >= 30", top_k=5)
        assert len(found) == 5
        assert all(document.metadata["n"] >= 30 for document in found)
        assert len(list(store.scan("n < 3"))) == 3
        assert store.update_metadata(filter="n >= 35", set={"m": 1}) == 5

    def test_an_index_that_cannot_be_asked_by_metadata(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        server.fetches_by_metadata = False
        store = open_pinecone()
        store.add([one(f"{n}", {"n": n}) for n in range(150)])
        assert store.count("n >= 30") == 120
        assert len(list(store.scan("n < 3"))) == 3
        assert server.asked("/vectors/fetch_by_metadata") == 1


class TestVisibility:
    @pytest.mark.parametrize("numbers_writes", [True, False])
    def test_calls_end_when_their_writes_are_seen(
        self, open_pinecone: Open, server: PineconeServer, numbers_writes: bool
    ) -> None:
        server.delay, server.numbers_writes = 0.05, numbers_writes
        store = open_pinecone()
        for step in range(3):
            store.add([one("a", {"n": step}), one(f"{step}")])
            if numbers_writes:  # otherwise what is replaced may be seen for a while
                assert store.get(["a"])[0].metadata == {"n": step}
            assert store.count() == step + 2
            assert store.delete([f"{step}"]) == 1
            assert store.count() == step + 1
            store.add([one(f"{step}")], on_conflict="error")
        assert store.delete(filter="n == 2") == 1
        assert store.count() == 3
        store.clear()
        assert store.count() == 0

    def test_without_waiting(self, open_pinecone: Open, server: PineconeServer) -> None:
        server.delay = 3600
        store = open_pinecone(wait_until_visible=False)
        assert store.add([one("a")]) == ["a"]
        assert store.count() == 0
        assert server.asked("/query") == 0
        server.delay = 0
        server.indexes["docs"].namespaces["kb"]._log.clear()
        store.add([one("b")])
        assert store.delete(["b"]) == 1
        store.clear()

    def test_what_is_not_seen_in_time(self, open_pinecone: Open, server: PineconeServer) -> None:
        server.delay = 3600
        store = open_pinecone(deadline=0.3)
        with pytest.raises(
            BackendError, match=r"do not see it.*wait_until_visible=False"
        ) as caught:
            store.add([one("a"), one("b")])
        assert caught.value.retryable
        assert caught.value.stored_ids == ["a", "b"]

    def test_all_requests_of_a_write_are_waited_for(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        store = open_pinecone()

        def later(request: Any) -> None:
            if request.path == "/vectors/upsert":
                server.delay += 0.2

        server.http.during_answer = later
        store.add([one(f"{n}") for n in range(1_024)])
        assert server.asked("/vectors/upsert") == 2
        assert store.count() == 1_024

    def test_writes_of_others_are_not_waited_for(
        self, open_pinecone: Open, server: PineconeServer
    ) -> None:
        """Somebody deletes what was written before it is seen, and adds what was deleted."""
        store = open_pinecone(deadline=5)
        server.delay = 0.05
        meddled: list[str] = []

        def meddle(request: Any) -> None:
            if request.path != "/query" or meddled == ["deleted", "added"]:
                return
            space = server.indexes["docs"].namespaces["kb"]
            if not meddled:
                meddled.append("deleted")
                space.write(0, lambda: space.seen.pop("a", None) and None)
            elif server.asked("/vectors/delete"):
                meddled.append("added")
                space.write(0, lambda: space.seen.update(b=theirs))

        server.http.during_answer = meddle
        store.add([one("a"), one("b")])
        assert [found.id for found in store.scan()] == ["b"]
        values, fields = server.indexes["docs"].namespaces["kb"].seen["b"]
        assert fields is not None
        theirs = (values, {**fields, VERSION: "of somebody else"})
        assert store.delete(["b"]) == 1
        assert meddled == ["deleted", "added"]
        assert [found.id for found in store.scan()] == ["b"]


def test_several_searches_at_once(open_pinecone: Open, server: PineconeServer) -> None:
    store = open_pinecone()
    store.add([Document("", {"n": n}, f"{n}", [1.0, float(n)]) for n in range(50)])
    queries = [[1.0, float(n)] for n in range(50)]
    found = store.search_many(vectors=queries, top_k=1)
    assert [documents[0].id for documents in found] == [f"{n}" for n in range(50)]
    assert server.asked("/query") == 1 + 50  # one of them for what was added
    store.native.upsert(vectors=[("alien", [1.0, 0.0], {"n": 7})], namespace="kb")
    with pytest.warns(ForeignRecordWarning):
        found = store.search_many(vectors=queries[:1], top_k=2)
    assert [document.id for document in found[0]] == ["0", "1"]
    found = store.search_many(vectors=queries[:3], top_k=200, filter="n >= 5")
    assert [len(documents) for documents in found] == [45] * 3


class TestTextsInOrder:
    def test_records_of_stores_without_the_schema_are_found(self, open_pinecone: Open) -> None:
        schema = Schema({"day": str}, others="allow")
        values = ["2024-01-01", "2024-05-01", "2024-09-01", 7, ["2024-09-01"], None]
        before = open_pinecone()
        before.add([one(f"old {n}", {"day": value}) for n, value in enumerate(values)])
        store = open_pinecone(schema=schema)
        store.add([one(f"new {n}", {"day": value}) for n, value in enumerate(values[:3])])
        later = {"old 1", "old 2", "new 1", "new 2"}
        for filter in (F.day > "2024-02", ~(F.day <= "2024-02")):
            assert store.count(filter) == 4
            assert {found.id for found in store.scan(filter=filter)} == later
            for most in (4, 9):
                found = store.search(vector=[1, 2], top_k=most, filter=filter)
                assert {one.id for one in found} == later
            assert len(store.search(vector=[1, 2], top_k=2, filter=filter)) == 2
        assert store.count((F.day > "2024-02") & (F.day < "2024-06")) == 2
        assert store.delete(filter=F.day < "2024-02") == 2
        assert {found.id for found in store.scan(filter=F.day.is_not_null())} == {
            *later,
            "old 3",
            "old 4",
        }
        store.update_metadata(["new 1"], set={"day": "2023"})
        assert store.count(F.day > "2024-02") == 3
        with pytest.raises(UnsupportedFilterError, match="not texts"):
            before.count(F.day > "2024-02")

    def test_what_was_changed_meanwhile_is_not_deleted(
        self, open_pinecone: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = open_pinecone()
        before.add([one("a", {"day": "2024"}), one("b", {"day": "2024"})])
        store = open_pinecone(schema=Schema({"day": str}))
        delete = Writer.delete

        def late(*args: Any) -> int:
            before.add([one("a", {"day": "2025"})])
            return delete(*args)

        monkeypatch.setattr(Writer, "delete", late)
        store.delete(filter=F.day < "2025")
        assert [found.id for found in before.scan()] == ["a"]

    def test_too_many_without_the_order_are_an_error(
        self, open_pinecone: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("vecstore.dialects.pinecone.store.MAX_TOP_K", 8)
        before = open_pinecone()
        before.add([one(f"{n}", {"day": "2023"}) for n in range(8)])
        before.add([Document("", {"day": "2024"}, "far", [-1.0, -2.0])])
        store = open_pinecone(schema=Schema({"day": str}))
        with pytest.raises(UnsupportedFilterError, match="under another schema"):
            store.search(vector=[1, 2], top_k=1, filter=F.day > "2023")
        store.add(list(store.scan(include_embedding=True)))
        [found] = store.search(vector=[1, 2], top_k=1, filter=F.day > "2023")
        assert found.id == "far"
