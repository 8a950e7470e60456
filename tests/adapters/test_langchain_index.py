"""LangChain's own suites of document indexes over each store, and what they do not ask for."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.conftest import Opener
from vecstore import ConfigurationError, DocumentError, F, SimpleVectorStore

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.indexing import index as langchain_index
from langchain_core.structured_query import Comparator, Comparison

from vecstore.adapters.langchain_index import VecstoreDocumentIndex

SIZE = 6
EMBEDDER = DeterministicFakeEmbedding(size=SIZE)


@pytest.fixture
def index() -> VecstoreDocumentIndex:
    made = VecstoreDocumentIndex(SimpleVectorStore(EMBEDDER))
    texts = ["foo", "bar", "baz", "foo"]
    made.upsert([Document(text, metadata={"n": n}, id="abcd"[n]) for n, text in enumerate(texts)])
    return made


def ids(found: list[Document]) -> list[str | None]:
    return [one.id for one in found]


def test_it_is_a_retriever(index: VecstoreDocumentIndex) -> None:
    assert ids(index.invoke("foo"))[:2] == ["a", "d"]
    assert ids(index.invoke("foo", k=1)) == ["a"]
    for filter in (
        "n >= 2",
        F.n >= 2,
        {"n": {"$gte": 2}},
        Comparison(comparator=Comparator.GTE, attribute="n", value=2),
    ):
        assert {*ids(index.invoke("foo", filter=filter))} == {"c", "d"}
        other = VecstoreDocumentIndex(index.store, k=1, filter=filter, tags=["ours"])
        assert ids(other.invoke("foo")) == ["d"]
        assert other.tags == ["ours"]
    varied = VecstoreDocumentIndex(index.store, k=2, search_kwargs={"diversity": 1.0})
    assert ids(varied.invoke("foo"))[0] == "a"
    assert ids(varied.invoke("foo"))[1] in ("b", "c")
    assert ids(varied.invoke("foo", diversity=0.0)) == ["a", "d"]
    assert ids(index.invoke("foo", threshold=0.999)) == ["a", "d"]
    with pytest.raises(TypeError, match="top_k"):
        index.invoke("foo", limit=3)


def test_the_awaited_half(index: VecstoreDocumentIndex) -> None:
    inside = VecstoreDocumentIndex(index.store.scoped(F.n < 2), k=10)

    async def main() -> None:
        assert {*ids(await inside.ainvoke("foo"))} == {"a", "b"}
        made = await inside.aupsert([Document("new", metadata={"n": 0}, id="e")])
        assert made == {"succeeded": ["e"], "failed": []}
        assert ids(await inside.aget(["c", "e", "a"])) == ["e", "a"]
        assert (await inside.adelete(["c", "e"]))["num_deleted"] == 1
        assert (await inside.adelete(filter={"n": 1}))["num_deleted"] == 1

    asyncio.run(main())
    assert {*ids(index.get(list("abcde")))} == {"a", "c", "d"}


def test_deleting(index: VecstoreDocumentIndex) -> None:
    assert index.delete(["a", "none"]) == {"num_deleted": 1, "failed": [], "num_failed": 0}
    assert index.delete(filter="n >= 2")["num_deleted"] == 2
    with pytest.raises(ValueError, match=r"clear\(\)"):
        index.delete()
    assert ids(index.get(list("abcd"))) == ["b"]


def test_what_is_refused(index: VecstoreDocumentIndex) -> None:
    with pytest.raises(ConfigurationError, match="takes a store, not a str"):
        VecstoreDocumentIndex("memory:")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="embedder"):
        VecstoreDocumentIndex(SimpleVectorStore()).invoke("foo")
    anything: Any = index
    with pytest.raises(TypeError):
        anything.upsert([Document("x")], ids=["a"])
    with pytest.raises(DocumentError, match="'y'"):
        index.upsert([Document("x", id="x"), Document("y", id="y", metadata={"a": object()})])
    assert index.get(["x", "y"]) == []


def test_under_langchains_record_manager() -> None:
    ours = VecstoreDocumentIndex(SimpleVectorStore(EMBEDDER))
    records = InMemoryRecordManager("ours")
    records.create_schema()

    def indexed(*texts: str) -> dict[str, int]:
        documents = [Document(text, metadata={"source": text}) for text in texts]
        given: Any = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
        return dict(langchain_index(documents, records, ours, **given))

    assert indexed("foo", "bar")["num_added"] == 2
    assert indexed("foo", "bar")["num_skipped"] == 2
    changed = indexed("foo", "baz")
    assert (changed["num_added"], changed["num_deleted"]) == (1, 1)
    assert {one.text for one in ours.store.get()} == {"foo", "baz"}


def test_it_is_made_without_a_warning() -> None:
    """LangChain calls the interface itself a beta, and says so to whoever makes one directly."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VecstoreDocumentIndex(SimpleVectorStore(EMBEDDER))


# --- LangChain's own suites -----------------------------------------------------------------------

suites = pytest.importorskip("langchain_tests.integration_tests.indexer")


class OverEachStore:
    @pytest.fixture
    def index(self, opener: Opener) -> Iterator[VecstoreDocumentIndex]:
        with opener(embedder=EMBEDDER, dimension=SIZE) as store:
            yield VecstoreDocumentIndex(store)
            store.clear()


class TestSuite(OverEachStore, suites.DocumentIndexerTestSuite):  # type: ignore[misc]
    pass


class TestAwaitedSuite(OverEachStore, suites.AsyncDocumentIndexTestSuite):  # type: ignore[misc]
    pass
