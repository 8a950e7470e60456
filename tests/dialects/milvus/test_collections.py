"""Collections: our own, those of others, and what a row may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    SchemaMismatchError,
    UnsupportedFilterError,
    compile_filter,
)
from vecstore.dialects.milvus import rows, schema
from vecstore.dialects.milvus.layout import EXTRA, ORIGINAL_ID
from vecstore.dialects.milvus.store import MilvusStore
from vecstore.testing.store_suite.hooks import watched_hooks

Open = Callable[..., MilvusStore]


def document(id: str, metadata: dict[str, Any] | None = None, text: str = "text") -> Document:
    return Document(text, metadata, id=id, embedding=[3, 4])


class TestOurOwn:
    def test_a_missing_collection_is_made_by_the_first_documents_alone(
        self, open_milvus: Open
    ) -> None:
        store = open_milvus()
        assert store.search(vector=[1, 0]) == []
        assert (store.count(), store.get(["a"]), list(store.scan())) == (0, [], [])
        assert store.delete(["a"]) == store.delete(filter="n == 1") == 0
        store.clear()
        assert not store.native.has_collection(store._plan.name)
        store.add([document("a")])
        assert store.dimension == 2
        assert open_milvus().get(["a"], include_embedding=True) == [document("a")]

    def test_without_create_it_has_to_be_there(self, open_milvus: Open) -> None:
        with pytest.raises(SchemaMismatchError, match=r"no collection 'c_test.*create=True"):
            open_milvus(create=False)

    def test_every_difference_is_named(self, open_milvus: Open) -> None:
        open_milvus(dimension=2, metric="dot").close()
        with pytest.raises(SchemaMismatchError) as caught:
            open_milvus(dimension=3, metric="euclidean")
        for words in ("2 dimensions, not 3", "dot (IP), not euclidean (L2)"):
            assert words in str(caught.value)

    def test_collections_of_others_lead_to_the_plain_layout(
        self, open_milvus: Open, foreign: str
    ) -> None:
        with pytest.raises(SchemaMismatchError) as caught:
            open_milvus(foreign)
        for words in ("no field id", "no field vecstore_tags", "layout='plain'"):
            assert words in str(caught.value)

    @pytest.mark.parametrize("index", ["FLAT", "AUTOINDEX", "HNSW"])
    def test_index_types(self, open_milvus: Open, index: str) -> None:
        store = open_milvus(
            index=index,
            index_options={"M": 8, "efConstruction": 40} if index == "HNSW" else None,
            search_options={"ef": 10} if index == "HNSW" else None,
        )
        dice = np.random.default_rng(1)
        vectors = dice.normal(size=(40, 2)).astype(np.float32)
        store.add(
            [Document("", {"n": n}, str(n), vector) for n, vector in enumerate(vectors.tolist())]
        )
        described = store.native.describe_index(store._plan.name, "vector")
        assert (described["index_type"], described["metric_type"]) == (index, "COSINE")
        found = store.search(vector=vectors[7], top_k=40)
        assert found[0].id == "7"
        assert len(found) == 40
        assert [one.id for one in store.search(vector=vectors[7], filter="n >= 39")] == ["39"]

    def test_bad_options(self, open_milvus: Open) -> None:
        for options, words in [
            ({"layout": "langchain"}, '"exact" or "plain"'),
            ({"consistency": "strong"}, "Strong, Session, Bounded, Eventually"),
            ({"client": object()}, "MilvusClient, not a object"),
            ({"metadata_field": "a b"}, "'a b'"),
        ]:
            with pytest.raises(ConfigurationError, match=words):
                open_milvus(**options)
        with pytest.raises(ConfigurationError, match="an address or a client"):
            MilvusStore("docs")

    def test_unknown_index_types_are_refused_before_they_are_stored(
        self, open_milvus: Open
    ) -> None:
        """milvus-lite would take any name, and fail when it first writes a segment."""
        for index, words in [("NONSENSE", "AUTOINDEX, "), ("DISKANN", "milvus-lite .*HNSW")]:
            with pytest.raises(ConfigurationError, match=words):
                open_milvus(index=index, dimension=2)


class TestLimits:
    @pytest.fixture
    def store(self, open_milvus: Open) -> MilvusStore:
        return open_milvus("limits", dimension=2)

    def refused(self, store: MilvusStore, one: Document, words: str) -> None:
        with watched_hooks(store, passing=False) as called, pytest.raises(DocumentError) as caught:
            store.add([document("good"), one])
        assert not called
        assert words in str(caught.value)
        assert repr(one.id)[:20] in str(caught.value)

    def test_texts_in_bytes(self, store: MilvusStore) -> None:
        store.add([document("long", text="x" * 65_535), document("wide", text="é" * 32_767)])
        assert [len(one.text) for one in store.get(["long", "wide"])] == [65_535, 32_767]
        # milvus-lite itself would count characters, and take this one.
        self.refused(store, document("over", text="é" * 32_768), "65,535 (max_text_bytes)")

    def test_ids(self, store: MilvusStore) -> None:
        longest = "i" * 65_535
        store.add([document(longest)])
        assert store.get([longest])[0].id == longest
        assert store.delete([longest]) == 1
        self.refused(store, document("i" * 65_536), "65,535 (max_id_bytes)")

    def test_metadata(self, store: MilvusStore) -> None:
        fits = {"k": "x" * (65_536 - len('{"k":""}'))}
        store.add([document("fits", fits)])
        assert store.get(["fits"])[0].metadata == fits
        over = {"k": fits["k"] + "x"}
        self.refused(store, document("over", over), "65,536 (max_metadata_bytes)")
        with pytest.raises(DocumentError, match=r"'fits' has 65,5.*max_metadata_bytes"):
            store.update_metadata(["fits"], set={"m": 1})
        assert store.get(["fits"])[0].metadata == fits

    def test_tags(self, store: MilvusStore) -> None:
        most = 4_096 - 2  # the document's own, and that of the key
        store.add([document("most", {"l": list(range(most))})])
        assert store.count(f"l == {most - 1}") == 1
        self.refused(store, document("over", {"l": list(range(most + 1))}), "4,097 tags")
        with pytest.raises(DocumentError, match="document 'most': this metadata needs"):
            store.update_metadata(["most"], set={"n": 1})
        assert store.get(["most"])[0].metadata == {"l": list(range(most))}

    def test_integers(self, store: MilvusStore) -> None:
        edges = [-(2**63), 2**63 - 1, 2**53 + 1]
        store.add([document("edges", {"l": edges, "f": 1e300, "z": -0.0})])
        assert store.get(["edges"])[0].metadata == {"l": edges, "f": 1e300, "z": 0.0}
        assert store.count(f"l == {2**53 + 1}") == 1
        assert store.count(f"l == {2**53}") == 0
        self.refused(store, document("over", {"n": 2**63}), "max_integer")

    def test_large_batches_travel_in_parts(
        self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rows, "MAX_REQUEST_BYTES", 1_000_000)
        sizes: list[int] = []
        upsert = store.native.upsert
        monkeypatch.setattr(
            store.native,
            "upsert",
            lambda name, part, **more: (sizes.append(len(part)), upsert(name, part, **more))[1],
        )
        several = [document(f"p{number}", text="x" * 60_000) for number in range(20)]
        store.add(several)
        assert sizes == [7, 7, 6]
        assert store.get([one.id for one in several], include_embedding=True) == several

        def fail_second(name: str, part: list[Any], **more: Any) -> Any:
            sizes.append(len(part))
            if len(sizes) == 2:
                raise RuntimeError("out of luck")
            return upsert(name, part, **more)

        sizes.clear()
        monkeypatch.setattr(store.native, "upsert", fail_second)
        with pytest.raises(BackendError, match="out of luck") as caught:
            store.add(several)
        assert caught.value.stored_ids == [one.id for one in several[:7]]
        assert caught.value.failed_ids == [one.id for one in several[7:]]


@pytest.fixture(scope="module")
def foreign(file: str) -> Iterator[str]:
    """A collection as other programs make them: VARCHAR keys, names of its own, one field more."""
    yield from _foreign(file, "foreign", number=False)


@pytest.fixture(scope="module")
def numbered(file: str) -> Iterator[str]:
    """The same with INT64 keys."""
    yield from _foreign(file, "numbered", number=True)


def _foreign(file: str, name: str, *, number: bool) -> Iterator[str]:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(file)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    key_type: dict[str, Any] = (
        {"datatype": DataType.INT64}
        if number
        else {"datatype": DataType.VARCHAR, "max_length": 100}
    )
    schema.add_field("pk", is_primary=True, **key_type)
    schema.add_field("body", DataType.VARCHAR, max_length=200)
    schema.add_field("meta", DataType.JSON)
    schema.add_field("emb", DataType.FLOAT_VECTOR, dim=2)
    schema.add_field("owner", DataType.VARCHAR, max_length=50, nullable=True)
    index = client.prepare_index_params()
    index.add_index("emb", index_type="FLAT", metric_type="IP")
    client.create_collection(name, schema=schema, index_params=index)
    client.insert(
        name,
        [
            {
                "pk": n if number else f"key {n}",
                "body": f"text {n}",
                "meta": {"n": n, "tag": "it's"},
                "emb": [float(n), 1.0],
                "owner": "them",
            }
            for n in range(5)
        ],
    )
    yield name
    client.close()


PLAIN = {
    "layout": "plain",
    "metric": "dot",
    "id_field": "pk",
    "text_field": "body",
    "metadata_field": "meta",
    "vector_field": "emb",
}


class TestPlain:
    def test_read_search_and_count(self, open_milvus: Open, foreign: str) -> None:
        store = open_milvus(foreign, **PLAIN)
        [found] = store.search(vector=[1, 0], top_k=1, filter="tag == 'it\\'s' AND n IN [2, 3]")
        assert (found.id, found.text, found.score) == ("key 3", "text 3", 3.0)
        assert found.metadata == {"n": 3, "tag": "it's"}
        assert store.get(["key 2", "none"])[0].id == "key 2"
        assert store.count() == len(list(store.scan(batch_size=2))) == 5
        assert store.capabilities.max_id_bytes == 100
        assert store.capabilities.max_text_bytes == 200

    def test_what_a_json_field_cannot_answer_is_refused(
        self, open_milvus: Open, foreign: str
    ) -> None:
        store = open_milvus(foreign, **PLAIN)
        with pytest.raises(UnsupportedFilterError, match="tags"):
            store.count("n != 3")

    def test_write_and_keep_fields_of_others(self, open_milvus: Open, foreign: str) -> None:
        store = open_milvus(foreign, **PLAIN)
        store.add([document("new", {"n": 9})])
        assert store.update_metadata(["key 1"], set={"seen": True}) == 1
        rows = store.native.query(foreign, filter='pk in ["key 1", "new"]', output_fields=["*"])
        assert {row["pk"]: (row["owner"], row["meta"]) for row in rows} == {
            "key 1": ("them", {"n": 1, "tag": "it's", "seen": True}),
            "new": (None, {"n": 9}),
        }
        assert store.delete(["new", "none"]) == 1
        with pytest.raises(DocumentError, match="max_id_bytes"):
            store.add([document("i" * 101)])
        with pytest.raises(DocumentError, match="Han character"):
            store.add([document("\U00020000")])
        assert store.get(["\U00020000"]) == []

    def test_integer_keys(self, open_milvus: Open, numbered: str) -> None:
        store = open_milvus(numbered, **PLAIN)
        assert store.capabilities.id_charset == "integer"
        assert [one.id for one in store.get(["4", "0", "x", "007", str(2**70)])] == ["4", "0"]
        store.add([document("-7", {"n": -7})])
        assert store.delete(["-7", "x"]) == 1
        assert store.delete(filter="n >= 3") == 2
        with pytest.raises(DocumentError, match="integer"):
            store.add([document("x")])
        store.clear()
        assert store.count() == 0

    def test_required_fields_of_others_and_drawn_ids(self, open_milvus: Open, file: str) -> None:
        from pymilvus import DataType, MilvusClient

        client = MilvusClient(file)
        for name, auto, nullable in (("drawn", True, True), ("required", False, False)):
            schema = client.create_schema(auto_id=auto, enable_dynamic_field=False)
            schema.add_field("id", DataType.INT64, is_primary=True)
            schema.add_field("text", DataType.VARCHAR, max_length=200)
            schema.add_field("metadata", DataType.JSON)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
            schema.add_field("owner", DataType.VARCHAR, max_length=50, nullable=nullable)
            index = client.prepare_index_params()
            index.add_index("vector", index_type="FLAT", metric_type="COSINE")
            client.create_collection(name, schema=schema, index_params=index)
        client.insert(
            "drawn", [{"text": "a", "metadata": {"n": 1}, "vector": [1.0, 0.0], "owner": None}]
        )
        client.close()
        store = open_milvus("drawn", layout="plain")
        assert [one.text for one in store.search(vector=[1, 0])] == ["a"]
        with pytest.raises(ConfigurationError, match="draws the values of id itself"):
            store.add([document("1")])
        with pytest.raises(ConfigurationError, match="required fields owner"):
            open_milvus("required", layout="plain").add([document("1")])


class TestVersions:
    def test_a_collection_says_of_which_layout_it_is(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        described = store.native.describe_collection(store._plan.name)
        assert described["properties"] == {"vecstore.layout": "2"}

    def test_the_layout_before_is_refused_and_its_documents_can_be_moved(
        self, open_milvus: Open, file: str
    ) -> None:
        from pymilvus import DataType, MilvusClient

        client = MilvusClient(file)
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        for name in ("id", "original_id", "text"):
            schema.add_field(name, DataType.VARCHAR, max_length=65_535, is_primary=name == "id")
        schema.add_field("metadata", DataType.JSON)
        schema.add_field(
            "tags",
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_capacity=4_096,
            max_length=128,
        )
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        client.create_collection("first", schema=schema, index_params=index)
        row = {"id": "a", "original_id": "", "text": "text", "metadata": {"n": 1}, "tags": ["[]"]}
        client.insert("first", [{**row, "vector": [3.0, 4.0]}])
        client.close()
        with pytest.raises(SchemaMismatchError, match=r"'first' is of layout 1, .*layout 2; move"):
            open_milvus("first")
        new, old = open_milvus("second"), open_milvus("first", layout="plain")
        new.add(old.scan(include_embedding=True))
        assert new.get(["a"], include_embedding=True) == [document("a", {"n": 1})]
        assert new.count("n == 1") == 1

    def test_a_collection_from_before_extras_goes_on_without_them(
        self, open_milvus: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as before:
            before.setattr(schema, "_OWN_TEXTS", (ORIGINAL_ID,))
            old = open_milvus("before", dimension=2)
        assert not old.capabilities.keeps_extra
        old.add([document("a", {"n": 1}), document("b")])
        with pytest.raises(DocumentError, match=r"keeps_extra.*new\.add\(store\.scan\(") as caught:
            old.add([document("a").replace(extra=[1]), document("c")])
        assert caught.value.faulty_ids == ["a"]
        assert old.update_metadata(filter="n == 1", set={"n": 2}) == 1
        assert [one.id for one in old.search(vector=[1, 0], filter="n == 2")] == ["a"]
        new = open_milvus("after")
        new.add(old.scan(include_embedding=True))
        new.add([document("a").replace(extra=[1])])
        assert {one.id: one.extra for one in new.scan()} == {"a": [1], "b": None}

    def test_a_field_of_another_type_in_its_place_is_told(
        self, open_milvus: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pymilvus import DataType

        store = open_milvus("odd", dimension=2)
        described = store.native.describe_collection("odd")
        for field in described["fields"]:
            if field["name"] == EXTRA:
                field["type"] = DataType.JSON
        monkeypatch.setattr(store.native, "describe_collection", lambda *_, **__: described)
        with pytest.raises(
            SchemaMismatchError, match="vecstore_extra is of type JSON, not VARCHAR"
        ):
            MilvusStore("odd", client=store.native)

    def test_a_layout_to_come_is_refused(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        store.native.alter_collection_properties(store._plan.name, {"vecstore.layout": "3"})
        with pytest.raises(SchemaMismatchError, match="is of layout 3, and this version"):
            open_milvus()

    def test_what_is_there_is_compared_with_what_is_wanted(self, open_milvus: Open) -> None:
        open_milvus(dimension=2, index="HNSW")
        open_milvus(index="HNSW")
        open_milvus()
        with pytest.raises(SchemaMismatchError, match="its index is HNSW, not IVF_FLAT"):
            open_milvus(index="IVF_FLAT")


class TestFieldsOfTheSameName:
    def test_a_field_tags_of_others_decides_nothing(self, open_milvus: Open, file: str) -> None:
        """Compiled with the defaults, a filter asks for data as others write it."""
        from pymilvus import DataType, MilvusClient

        client = MilvusClient(file)
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, max_length=100, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=100)
        schema.add_field("metadata", DataType.JSON)
        schema.add_field(
            "tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=9, max_length=9
        )
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        client.create_collection("tagged", schema=schema, index_params=index)
        row = {"text": "", "metadata": {"country": "BG"}, "tags": ["theirs"], "vector": [1.0, 0.0]}
        client.insert("tagged", [{"id": "a", **row}, {"id": "b", **row, "metadata": {}}])
        query = compile_filter("country == 'BG'", "milvus").query
        assert [one["id"] for one in client.query("tagged", filter=query)] == ["a"]
        store = open_milvus("tagged", layout="plain")
        assert [one.id for one in store.scan("country == 'BG'")] == ["a"]
        assert store.update_metadata(["a"], set={"seen": True}) == 1
        assert client.get("tagged", ["a"])[0]["tags"] == ["theirs"]
        client.close()

    def test_keys_of_documents_may_be_called_like_our_fields(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        metadata = {"vecstore_tags": ["x"], "vecstore_original_id": 1, "tags": "t", "id": "other"}
        store.add([document("a", metadata)])
        assert store.get(filter="vecstore_tags == 'x' AND tags == 't' AND id == 'other'") == [
            Document("text", metadata, "a")
        ]


@pytest.mark.parametrize("include_embedding", [False, True])
def test_a_scan_without_texts_has_the_engine_send_none(
    open_milvus: Callable[..., MilvusStore],
    monkeypatch: pytest.MonkeyPatch,
    include_embedding: bool,
) -> None:
    store = open_milvus("without_texts", dimension=2)
    store.add([Document("a long text", {"n": 1}, "a", [1, 2])])
    sent: list[Any] = []
    documents = store._records.documents

    def noted(rows: Any, foreign: Any) -> Any:
        page = list(rows)
        sent.extend(page)
        return documents(page, foreign)

    monkeypatch.setattr(type(store._records), "documents", lambda _, *given: noted(*given))
    for text in (True, False):
        sent.clear()
        [found] = store.scan(text=text, include_embedding=include_embedding)
        assert found.metadata == {"n": 1}
        [row] = sent
        assert ("a long text" in list(row.values())) is text
