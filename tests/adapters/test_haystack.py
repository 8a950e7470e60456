"""Haystack's own suites over each store, and what they do not ask for.

Without haystack-ai all of it is skipped: ``make test-adapters``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.adapters.conftest import Opener
from tests.servers.pinecone import KEY, PineconeServer
from vecstore import (
    ConfigurationError,
    DocumentError,
    F,
    SimpleVectorStore,
    UnsupportedFilterError,
    open_store,
)

pytest.importorskip("haystack")

from haystack import Document, Pipeline, component
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as awaited
from haystack.utils import Secret

from vecstore.adapters.haystack import VecstoreDocumentStore, VecstoreEmbeddingRetriever

SIZE = 768  # of the embeddings in the suites


def embedder(texts: Sequence[str]) -> Any:
    return np.ones((len(texts), SIZE), np.float32)


def one(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def joined(operator: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"operator": operator, "conditions": list(conditions)}


def document(id: str, vector: Sequence[float] = (1.0, 0.0), **meta: Any) -> Document:
    return Document(id=id, content=f"text of {id}", meta=meta, embedding=list(vector))


@pytest.fixture
def pages() -> VecstoreDocumentStore:
    made = VecstoreDocumentStore(SimpleVectorStore())
    made.write_documents([document(id, (1.0, at), n=at, lang="de") for at, id in enumerate("abcd")])
    return made


def found(documents: Sequence[Document]) -> list[str]:
    return [document.id for document in documents]


# --- Haystack's own suites ------------------------------------------------------------------------


class Suite:
    """What the suites leave to a document store to say."""

    @pytest.fixture
    def document_store(self, opener: Opener) -> Iterator[VecstoreDocumentStore]:
        with opener(embedder=embedder, dimension=SIZE, residual="evaluate") as store:
            yield VecstoreDocumentStore(store)
            store.clear()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """In no particular order; the embeddings as float32, of which cosine keeps directions."""
        ours, theirs = [{one.id: one for one in some} for some in (received, expected)]
        assert ours.keys() == theirs.keys()
        assert len(ours) == len(received)
        for id, one in theirs.items():
            got, wanted = ours[id].to_dict(flatten=False), one.to_dict(flatten=False)
            left, right = got.pop("embedding"), wanted.pop("embedding")
            assert got == wanted
            if right is not None:  # else the store has embedded it
                lengths = np.linalg.norm(left) * np.linalg.norm(right)
                assert np.dot(left, right) / lengths == pytest.approx(1.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")
class TestSuite(
    Suite,
    suites.DocumentStoreBaseExtendedTests,  # type: ignore[misc]
    suites.CountDocumentsByFilterTest,  # type: ignore[misc]
    suites.CountUniqueMetadataByFilterTest,  # type: ignore[misc]
    suites.GetMetadataFieldsInfoTest,  # type: ignore[misc]
    suites.GetMetadataFieldMinMaxTest,  # type: ignore[misc]
    suites.GetMetadataFieldUniqueValuesTest,  # type: ignore[misc]
):
    def test_write_documents(self, document_store: Any) -> None:
        """Haystack asks each document store to say what it does without a policy."""
        written = document("a", [1.0] * SIZE)
        assert document_store.write_documents([written]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([written])
        self.assert_documents_are_equal(document_store.filter_documents(), [written])


@pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")
class TestAwaitedSuite(
    Suite,
    awaited.CountDocumentsAsyncTest,  # type: ignore[misc]
    awaited.CountDocumentsByFilterAsyncTest,  # type: ignore[misc]
    awaited.CountUniqueMetadataByFilterAsyncTest,  # type: ignore[misc]
    awaited.DeleteAllAsyncTest,  # type: ignore[misc]
    awaited.DeleteByFilterAsyncTest,  # type: ignore[misc]
    awaited.DeleteDocumentsAsyncTest,  # type: ignore[misc]
    awaited.FilterDocumentsAsyncTest,  # type: ignore[misc]
    awaited.GetMetadataFieldMinMaxAsyncTest,  # type: ignore[misc]
    awaited.GetMetadataFieldUniqueValuesAsyncTest,  # type: ignore[misc]
    awaited.GetMetadataFieldsInfoAsyncTest,  # type: ignore[misc]
    awaited.UpdateByFilterAsyncTest,  # type: ignore[misc]
    awaited.WriteDocumentsAsyncTest,  # type: ignore[misc]
):
    async def test_write_documents_async(self, document_store: Any) -> None:
        """As its twin."""
        written = document("a", [1.0] * SIZE)
        assert await document_store.write_documents_async([written]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([written])
        received = await document_store.filter_documents_async()
        self.assert_documents_are_equal(received, [written])


def test_every_suite_is_run() -> None:
    for module, ours in ((suites, TestSuite), (awaited, TestAwaitedSuite)):
        theirs = {
            name
            for kind in vars(module).values()
            if isinstance(kind, type) and kind.__module__ == module.__name__
            for name in vars(kind)
            if name.startswith("test_")
        }
        assert theirs <= set(dir(ours))


# --- filters --------------------------------------------------------------------------------------


def _metadata(random: Random) -> dict[str, Any]:
    drawn = {
        "n": random.choice([-2, 0, 1, 3, None]),
        "f": random.choice([-1.5, 0.5, 1.0, 2.25]),
        "s": random.choice(["a", "b", "B", "é", "it's"]),
        "b": random.choice([True, False]),
    }
    return {key: value for key, value in drawn.items() if random.random() < 0.8}


def _tree(random: Random, depth: int) -> dict[str, Any]:
    if depth and random.random() < 0.7:
        inner = [_tree(random, depth - 1) for _ in range(random.randint(1, 3))]
        return joined(random.choice(["AND", "OR", "NOT"]), *inner)
    key = random.choice("nfsb")
    values: list[Any] = {
        "n": [-2, 0, 1, 2],
        "f": [-1.5, 0.5, 1.0, 2.0],
        "s": ["a", "B", "é"],
        "b": [True, False],
    }[key]
    operators = ["==", "!=", "in", "not in"] + [">", ">=", "<", "<="] * (key in "nf")
    operator = random.choice(operators)
    if operator in ("in", "not in"):
        return one(key, operator, random.sample([*values, None], random.randint(1, 3)))
    return one(key, operator, random.choice([*values, None]))


@pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")
def test_random_filters_select_what_they_do_there(opener: Opener) -> None:
    theirs = InMemoryDocumentStore()
    with opener(dimension=2, residual="evaluate") as store:
        ours = VecstoreDocumentStore(store)
        drawn = Random(7)
        for made in (ours, theirs):
            drawn = Random(7)
            made.write_documents([document(f"{at}", **_metadata(drawn)) for at in range(60)])
        random = Random(20)
        for _ in range(100):
            tree = _tree(random, 3)
            wanted = set(found(theirs.filter_documents(tree)))
            assert set(found(ours.filter_documents(tree))) == wanted, tree
            assert ours.count_documents_by_filter(tree) == len(wanted)
        store.clear()


def test_not_of_an_ordering_is_true_of_an_absent_key(pages: VecstoreDocumentStore) -> None:
    pages.write_documents([document("absent"), document("list", n=[9])])
    late = joined("NOT", one("n", "<", 2))
    assert set(found(pages.filter_documents(late))) == {"c", "d", "absent"}
    both = joined("NOT", one("n", "<", 2), one("lang", "==", "de"))
    assert "absent" in found(pages.filter_documents(both))
    assert pages.delete_by_filter(late) == 3


def test_filters_of_ours(pages: VecstoreDocumentStore) -> None:
    for filter in ("n >= 2", F.n >= 2, one("n", ">=", 2)):
        assert set(found(pages.filter_documents(filter))) == {"c", "d"}
        assert pages.count_documents_by_filter(filter) == 2
    assert pages.count_documents_by_filter({}) == 4


def test_filters_that_look_alike_are_told_apart(pages: VecstoreDocumentStore) -> None:
    values: list[Any] = [1, True, "1", "true", None, np.int64(1), np.float64(5e-324)]
    wanted = [1, 0, 0, 0, 0, 1, 0]
    for _ in range(2):
        counted = [pages.count_documents_by_filter(one("n", "==", value)) for value in values]
        assert counted == wanted
    for at in range(200):  # more than are kept
        assert pages.count_documents_by_filter(one("n", "==", at)) == (at < 4)
    assert pages.count_documents_by_filter(one("n", "in", [1])) == 1
    with pytest.raises(FilterError, match="takes a list, not a tuple"):
        pages.filter_documents(one("n", "in", (1,)))
    circular: dict[str, Any] = joined("AND")
    circular["conditions"].append(circular)
    with pytest.raises(FilterError):
        pages.filter_documents(circular)


def test_what_has_no_meaning_is_refused(pages: VecstoreDocumentStore) -> None:
    with pytest.raises(FilterError, match=r"conditions\[1\]\.operator"):
        pages.filter_documents(joined("AND", one("n", "==", 1), one("n", "~", 1)))
    with pytest.raises(FilterError, match="takes a list, not a set"):
        pages.filter_documents(one("n", "in", {1}))
    with pytest.raises(FilterError, match="document's own"):
        pages.filter_documents({"field": "content", "operator": "==", "value": "x"})
    for everything in ({}, joined("OR", one("n", "==", 1), one("n", "!=", 1))):
        with pytest.raises(ValueError, match=r"clear\(\)"):
            pages.delete_by_filter(everything)
    assert pages.count_documents() == 4


def test_what_an_engine_cannot_answer_is_refused() -> None:
    pytest.importorskip("qdrant_client")
    with open_store("qdrant:?collection=docs", dimension=2) as store:
        made = VecstoreDocumentStore(store)
        made.write_documents([document("a", date="1972-12-11T19:54:58")])
        with pytest.raises(UnsupportedFilterError):
            made.filter_documents(one("date", ">", "1969-07-21T20:17:40"))


# --- documents ------------------------------------------------------------------------------------


def test_a_document_comes_back_as_it_was(pages: VecstoreDocumentStore) -> None:
    meta = {"a.b": 1, "nested": {"list": [1, 2]}, "empty": [], "none": None, "x": 1.0}
    given = Document(id="é", content="", meta=meta, embedding=[0.5, 0.25])
    pages.write_documents([given])
    [back] = pages.filter_documents('"a.b" == 1')
    assert back == given
    assert vars(back).keys() == vars(given).keys()
    assert repr(back) == repr(given)
    back.meta["x"] = 2.0
    assert pages.filter_documents('"a.b" == 1') == [given]
    assert type(given.meta["x"]) is float


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Document(id="x", content="a", blob=ByteStream(b"a")), "'x' cannot keep its blob"),
        (
            Document(id="x", content="a", sparse_embedding=SparseEmbedding([1], [0.5])),
            "'x' cannot keep its sparse_embedding",
        ),
        (Document(id="x"), "'x' cannot keep a content of None; write content=''"),
        (document("x", n=(1, 2)), r"'x' cannot keep a tuple as meta.n; write \[1, 2\]"),
        (document("x", at=datetime(2024, 1, 31)), "a datetime as meta.at; write '2024-01-31T"),
        (document("x", a={"b": [float("nan")]}), "with the key a.b"),
        (document("a\x00", n=1), "the id"),
    ],
)
def test_what_would_not_come_back_is_refused_by_name(given: Document, told: str) -> None:
    made = VecstoreDocumentStore(SimpleVectorStore(embedder))
    for policy in DuplicatePolicy:
        with pytest.raises(DocumentError, match=told):
            made.write_documents([Document(content="fine"), given], policy)
    assert made.count_documents() == 0


def test_metadata_that_would_not_come_back_is_refused(pages: VecstoreDocumentStore) -> None:
    with pytest.raises(DocumentError, match=r"documents cannot keep a tuple as meta\.n"):
        pages.update_by_filter(one("n", "==", 1), {"n": (1, 2)})
    assert pages.count_documents_by_filter(one("n", "==", 1)) == 1


def test_policies(pages: VecstoreDocumentStore) -> None:
    new, old = document("new"), document("a", n=9)
    assert pages.write_documents([new, old, new], DuplicatePolicy.SKIP) == 1
    assert pages.count_documents_by_filter(one("n", "==", 9)) == 0
    assert pages.write_documents([old], DuplicatePolicy.OVERWRITE) == 1
    assert pages.count_documents_by_filter(one("n", "==", 9)) == 1
    for policy in (DuplicatePolicy.FAIL, DuplicatePolicy.NONE):
        with pytest.raises(DuplicateDocumentError, match="'a'"):
            pages.write_documents([document("newer"), old], policy)
    assert pages.count_documents() == 5
    assert pages.write_documents([]) == 0
    generated: Any = (document(id) for id in ("one", "two"))
    assert pages.write_documents(generated) == 2
    assert pages.count_documents() == 7


def test_awaited_calls_leave_the_loop_free() -> None:
    threads: list[int] = []

    class Watched(SimpleVectorStore):
        def _search(self, *given: Any, **asked: Any) -> Any:
            threads.append(threading.get_ident())
            return super()._search(*given, **asked)

        def _count(self, *given: Any, **asked: Any) -> Any:
            threads.append(threading.get_ident())
            return super()._count(*given, **asked)

    made = VecstoreDocumentStore(Watched())

    async def main() -> None:
        await made.write_documents_async([document("a", n=1)])
        assert await made.count_documents_async() == 1
        retriever = VecstoreEmbeddingRetriever(made)
        assert found((await retriever.run_async([1.0, 0.0]))["documents"]) == ["a"]

    asyncio.run(main())
    assert len(threads) == 2
    assert threading.get_ident() not in threads


def test_a_scoped_store() -> None:
    store = SimpleVectorStore()
    ours, theirs = [VecstoreDocumentStore(store.scoped(F.tenant == name)) for name in "ab"]
    ours.write_documents([document("1", n=1), document("2", n=2)])
    theirs.write_documents([document("3", n=1)])
    assert ours.delete_by_filter(joined("OR", one("n", "==", 1), one("tenant", "==", "b"))) == 1
    assert asyncio.run(theirs.count_documents_async()) == 1
    theirs.delete_all_documents()
    assert ours.get_metadata_fields_info() == {"n": {"type": "int"}, "tenant": {"type": "keyword"}}


def test_statistics(pages: VecstoreDocumentStore) -> None:
    more: list[Any] = [0.5, True, "x", [1, 2], [1, 2], {"a": 1}, None, []]
    pages.write_documents([document(f"m{at}", n=n, f=at * 0.5) for at, n in enumerate(more)])
    pages.write_documents([document("float", f=1)])
    values, count = pages.get_metadata_field_unique_values("meta.n", size=99)
    assert count == len(values) == 10
    assert [repr(one) for one in values] == [
        *("True", "{'a': 1}", "0.5", "0", "1", "2", "3"),
        *("[1, 2]", "[]", "'x'"),
    ]
    assert pages.get_metadata_field_unique_values("n", from_=3, size=2) == ([0, 1], 10)
    assert pages.get_metadata_field_min_max("n") == {"min": None, "max": None}
    assert pages.get_metadata_field_min_max("lang") == {"min": "de", "max": "de"}
    assert pages.get_metadata_fields_info() == {
        "n": {"type": "keyword"},
        "lang": {"type": "keyword"},
        "f": {"type": "float"},
    }
    filters = one("lang", "==", "de")
    counted = pages.count_unique_metadata_by_filter(filters, ["meta.n", "lang", "no"])
    assert counted == {"n": 4, "lang": 1, "no": 0}


# --- written down, and in a pipeline --------------------------------------------------------------


def test_a_store_is_written_down_by_its_address(tmp_path: Path) -> None:
    address = f"memory:///{tmp_path}/kb.json?metric=dot"
    made = VecstoreDocumentStore(address, dimension=2)
    made.write_documents([document("a", n=1)])
    written = made.to_dict()
    made.store.close()
    again = VecstoreDocumentStore.from_dict(json.loads(json.dumps(written)))
    assert again.store.metric == "dot"
    assert again.to_dict() == written
    assert found(again.filter_documents()) == ["a"]


def test_a_secret_is_written_down_by_its_name(
    monkeypatch: pytest.MonkeyPatch, postgres_dsn: str
) -> None:
    monkeypatch.setenv("PG_PASSWORD", "p@ss/word")
    secrets = {"password": Secret.from_env_var("PG_PASSWORD")}
    address = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}table=secretive"
    made = VecstoreDocumentStore(address, secrets=secrets, create=True, dimension=2)
    written = made.to_dict()
    made.store.close()
    assert "p@ss" not in str(written)
    assert "p%40ss" not in str(written)
    assert written["init_parameters"]["secrets"]["password"]["env_vars"] == ["PG_PASSWORD"]
    again = VecstoreDocumentStore.from_dict(written)
    assert again.to_dict() == written
    again.store.close()
    made = VecstoreDocumentStore(address, secrets={"password": Secret.from_token("p@ss")})
    with pytest.raises(ValueError, match="token-based"):
        made.to_dict()
    made.store.close()


def test_a_key_is_written_down_by_its_name(
    pinecone: PineconeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"pinecone://secretive/kb?host={pinecone.address}&create=true"
    given = open_store(address, api_key=KEY, dimension=2)
    with pytest.raises(ConfigurationError, match=r"secrets=\{'api_key': Secret") as caught:
        VecstoreDocumentStore(given).to_dict()
    assert KEY not in str(caught.value)
    monkeypatch.setenv("INDEX_KEY", KEY)
    secrets = {"api_key": Secret.from_env_var("INDEX_KEY")}
    made = VecstoreDocumentStore(address, secrets=secrets, dimension=2)
    made.write_documents([document("a", n=1)])
    written = made.to_dict()
    assert KEY not in json.dumps(written)
    again = VecstoreDocumentStore.from_dict(written)
    assert found(again.filter_documents()) == ["a"]
    for one in (given, made.store, again.store):
        one.close()


def test_what_cannot_be_written_down_is_refused() -> None:
    for store in (SimpleVectorStore(), open_store("memory:", embedder=embedder)):
        with pytest.raises(ConfigurationError, match="opened by its address"):
            VecstoreDocumentStore(store).to_dict()
    view = open_store("memory:").scoped(F.tenant == "a")
    with pytest.raises(ConfigurationError, match="opened by its address"):
        VecstoreDocumentStore(view).to_dict()


def test_misuse() -> None:
    with pytest.raises(ConfigurationError, match="takes a store, or an address"):
        VecstoreDocumentStore({"url": "memory:"})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="takes a store, or an address"):
        VecstoreDocumentStore(SimpleVectorStore(), dimension=2)
    with pytest.raises(ConfigurationError, match="VecstoreDocumentStore"):
        VecstoreEmbeddingRetriever(SimpleVectorStore())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="list of Haystack's documents"):
        VecstoreDocumentStore("memory:").write_documents([F.n == 1])


def test_documents_without_an_embedding_are_kept_and_not_retrieved(tmp_path: Path) -> None:
    later = Document(id="later", content="foo", meta={"n": 7})
    for url in ("memory:", f"qdrant:{tmp_path}?collection=a&dimension=2"):
        documents = VecstoreDocumentStore(url)
        whole = Document(id="whole", content="foo", embedding=[1.0, 0.0])
        assert documents.write_documents([later, whole]) == 2
        assert documents.filter_documents(one("n", "==", 7)) == [later]
        retriever = VecstoreEmbeddingRetriever(documents)
        assert [found.id for found in retriever.run([1.0, 1.0])["documents"]] == ["whole"]
        written = Document(id="later", content="foo", meta={"n": 7}, embedding=[0.0, 1.0])
        assert documents.write_documents([written], DuplicatePolicy.OVERWRITE) == 1
        assert len(retriever.run([1.0, 1.0])["documents"]) == 2
        documents.store.close()
    embedding = VecstoreDocumentStore(SimpleVectorStore(embedder))
    embedding.write_documents([later])
    assert len(embedding.filter_documents()[0].embedding or ()) == SIZE


def test_retriever(pages: VecstoreDocumentStore) -> None:
    made = VecstoreEmbeddingRetriever(pages, filters=one("n", ">=", 1), top_k=2)
    [best, second] = made.run([1.0, 1.0])["documents"]
    assert (best.id, second.id) == ("b", "c")
    assert best.score == pytest.approx(1.0)
    assert best.score > second.score
    assert best.embedding is None
    [back] = made.run([1.0, 1.0], one("n", "==", 0), 1, True)["documents"]
    assert (back.id, back.embedding) == ("a", [1.0, 0.0])
    awaited = asyncio.run(made.run_async([1.0, 1.0]))
    assert awaited == made.run([1.0, 1.0])
    assert made.run([1.0, 1.0], top_k=0) == {"documents": []}


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        (one("n", ">=", 1), one("n", "<", 3), "abc"),  # of one field that of the run stays
        (one("n", ">=", 1), one("lang", "==", "de"), "bcd"),
        (one("n", ">=", 1), joined("AND", one("lang", "==", "de")), "bcd"),
        (joined("AND", one("n", ">=", 1)), one("lang", "==", "de"), "bcd"),
        (joined("AND", one("n", ">=", 1)), joined("AND", one("n", "<", 3)), "bc"),
        # Of these, Haystack's function leaves out the first.
        (one("n", ">=", 1), joined("OR", one("n", "==", 0), one("n", "==", 3)), "d"),
        (joined("NOT", one("n", "==", 3)), one("lang", "==", "de"), "abc"),
        (joined("OR", one("n", "==", 0), one("n", "==", 3)), joined("AND", one("n", ">", 0)), "d"),
        (one("n", ">=", 1), None, "bcd"),
        (None, one("n", ">=", 1), "bcd"),
        ("n >= 1", "n < 3", "bc"),
        (F.n >= 1, one("n", "<", 3), "bc"),
        (one("n", ">=", 1), F.n < 3, "bc"),
        (F.n >= 1, {}, "bcd"),
        (joined("OR", one("n", "==", 0), one("n", "==", 3)), "n > 0 OR n IS NULL", "d"),
    ],
)
def test_filters_are_merged(
    pages: VecstoreDocumentStore, ours: Any, theirs: Any, wanted: str
) -> None:
    made = VecstoreEmbeddingRetriever(pages, filters=ours, filter_policy="merge")
    assert sorted(found(made.run([1.0, 1.0], filters=theirs)["documents"])) == sorted(wanted)
    replaced = VecstoreEmbeddingRetriever(pages, filters=ours).run([1.0, 1.0], filters=theirs)
    alone = pages.filter_documents(ours if theirs is None or theirs == {} else theirs)
    assert sorted(found(replaced["documents"])) == sorted(found(alone))


@component
class Embedder:
    """The number of letters and of spaces."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": [float(len(text)), float(text.count(" "))]}


def test_a_pipeline_written_down_and_read_again(tmp_path: Path) -> None:
    document_store = VecstoreDocumentStore(f"memory:///{tmp_path}/kb.json")
    document_store.write_documents([document("a", (9.0, 1.0), n=1), document("b", (1.0, 9.0), n=2)])
    filters = one("n", "<", 9)
    made = VecstoreEmbeddingRetriever(document_store, filters, 1, True, "merge")
    pipeline = Pipeline()
    pipeline.add_component("embedder", Embedder())
    pipeline.add_component("retriever", made)
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    asked = {"embedder": {"text": "a question"}}
    first = pipeline.run(asked)["retriever"]["documents"]
    assert found(first) == ["a"]
    text = pipeline.dumps()
    document_store.store.close()
    with pytest.raises(DeserializationError):
        Pipeline.loads(text)
    again = Pipeline.loads(text, allowed_modules=["vecstore.*", __name__])
    assert again.run(asked)["retriever"]["documents"] == first
    assert again.dumps() == text
    read = again.get_component("retriever")
    assert read.to_dict() == {**made.to_dict()}
    written = VecstoreEmbeddingRetriever(document_store, (F.n > 1) | (F.n < 0)).to_dict()
    assert written["init_parameters"]["filters"] == "n > 1 OR n < 0"
