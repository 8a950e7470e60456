"""LangChain's own suite over each store, and what it does not ask for.

Without langchain-core all of it is skipped, without langchain-tests the suite. That package brings
plug-ins for pytest along, and so has an environment of its own: ``make test-adapters``.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.conftest import Opener
from vecstore import ConfigurationError, F, SimpleVectorStore, UnsupportedFilterError, open_store

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.load import dumpd
from langchain_core.structured_query import Comparator, Comparison

from vecstore.adapters.langchain import VecstoreVectorStore

SIZE = 6
EMBEDDER = DeterministicFakeEmbedding(size=SIZE)
TEXTS = ["foo", "bar", "baz", "foo bar"]


@pytest.fixture
def adapter() -> VecstoreVectorStore:
    made = VecstoreVectorStore(SimpleVectorStore(EMBEDDER))
    made.add_texts(TEXTS, [{"n": n, "lang": "de"} for n in range(4)], ids=list("abcd"))
    return made


@pytest.mark.parametrize(
    "filter",
    [
        "n >= 2",
        F.n >= 2,
        {"n": {"$gte": 2}},
        {"n": {"$gte": 2}, "lang": "de"},
        Comparison(comparator=Comparator.GTE, attribute="n", value=2),
    ],
)
def test_filters_of_every_kind(adapter: VecstoreVectorStore, filter: Any) -> None:
    found = adapter.similarity_search("foo", k=10, filter=filter)
    assert {one.id for one in found} == {"c", "d"}
    retriever = adapter.as_retriever(search_kwargs={"k": 10, "filter": filter})
    assert {one.id for one in retriever.invoke("foo")} == {"c", "d"}
    vector = EMBEDDER.embed_query("foo")
    assert adapter.similarity_search_by_vector(vector, 10, filter=filter) == found
    assert adapter.delete(filter=filter)
    assert {one.id for one in adapter.store.get()} == {"a", "b"}


def test_documents_are_what_langchain_makes_of_them(adapter: VecstoreVectorStore) -> None:
    metadata = {"n": 1, "deep": {"a": [True]}}
    adapter.add_texts(["x"], [metadata], ids=["made"])
    [found] = adapter.get_by_ids(["made"])
    expected = Document("x", id="made", metadata=metadata)
    assert found == expected
    assert (repr(found), str(found)) == (repr(expected), str(expected))
    assert found.model_dump_json() == expected.model_dump_json()
    assert found.model_fields_set == expected.model_fields_set
    assert dumpd(found) == dumpd(expected)
    assert pickle.loads(pickle.dumps(found)) == expected.model_copy(deep=True)
    found.metadata["deep"]["a"].append(0)
    found.page_content = "y"
    found.model_fields_set.clear()
    [again] = adapter.get_by_ids(["made"])
    assert again == expected
    assert again.model_fields_set == expected.model_fields_set


def test_equal_dicts_of_other_types_are_other_filters(adapter: VecstoreVectorStore) -> None:
    adapter.add_texts(["one", "true"], [{"x": 1}, {"x": True}], ids=["one", "true"])
    for _ in range(2):
        for value, id in ((1, "one"), (True, "true"), (1.0, "one")):
            assert [one.id for one in adapter.similarity_search("a", filter={"x": value})] == [id]
        for value in ([1], [True]):
            found = adapter.similarity_search("a", filter={"x": {"$in": value}})
            assert [one.id for one in found] == ["one" if value[0] is not True else "true"]
    deep: Any = {"n": 3}
    for _ in range(20):
        deep = {"$and": [deep]}
    assert [one.id for one in adapter.similarity_search("a", filter=deep)] == ["d"]
    filter: dict[str, Any] = {"n": {"$gte": 3}}
    assert [one.id for one in adapter.similarity_search("a", filter=filter)] == ["d"]
    filter["n"]["$gte"] = 2
    assert {one.id for one in adapter.similarity_search("a", filter=filter)} == {"c", "d"}
    for number in range(300):
        assert len(adapter.similarity_search("a", filter={"n": {"$lt": -number}})) == 0
    assert {one.id for one in adapter.similarity_search("a", filter=filter)} == {"c", "d"}


def test_scores_and_relevance() -> None:
    for metric in ("cosine", "dot", "euclidean"):
        made = VecstoreVectorStore.from_texts(TEXTS, EMBEDDER, ids=list("abcd"), metric=metric)
        scored = made.similarity_search_with_score("foo", k=4)
        assert scored[0][0].id == "a"
        assert [score for _, score in scored] == sorted((s for _, s in scored), reverse=True)
        relevant = made.similarity_search_with_relevance_scores("foo", k=4)
        assert all(0.0 <= relevance <= 1.0 for _, relevance in relevant)
        assert [one for _, one in relevant] == [made.store.relevance(one) for _, one in scored]
        least = relevant[0][1] - 1e-6
        few = made.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": least}
        )
        assert [one.id for one in few.invoke("foo")][:1] == ["a"]


def test_variety(adapter: VecstoreVectorStore) -> None:
    adapter.add_texts(["foo"], [{"n": 9}], ids=["again"])
    assert [one.id for one in adapter.similarity_search("foo", k=2)] == ["a", "again"]
    found = adapter.max_marginal_relevance_search("foo", k=2, lambda_mult=0.1)
    assert found[0].id == "a"
    assert found[1].id != "again"
    assert adapter.max_marginal_relevance_search("foo", filter="n > 100") == []
    vector = EMBEDDER.embed_query("foo")
    options: dict[str, Any] = {"k": 3, "fetch_k": 4, "lambda_mult": 0.1, "filter": "n != 3"}
    varied = adapter.max_marginal_relevance_search("foo", **options)
    stored = adapter.store.search("foo", top_k=3, fetch_k=4, diversity=0.9, filter="n != 3")
    assert [one.id for one in varied] == [one.id for one in stored]
    assert adapter.max_marginal_relevance_search_by_vector(vector, **options) == varied
    assert asyncio.run(adapter.amax_marginal_relevance_search("foo", **options)) == varied
    awaited = adapter.amax_marginal_relevance_search_by_vector(vector, **options)
    assert asyncio.run(awaited) == varied
    assert len(adapter.max_marginal_relevance_search("foo", k=9, fetch_k=2)) == 2
    alike = adapter.max_marginal_relevance_search("foo", k=2, lambda_mult=1)
    assert alike == adapter.similarity_search("foo", k=2)
    with pytest.raises(ValueError, match="lambda_mult is from 0"):
        adapter.max_marginal_relevance_search("foo", lambda_mult=1.5)
    retriever = adapter.as_retriever(search_type="mmr", search_kwargs={"k": 2, "filter": "n < 2"})
    assert {one.id for one in retriever.invoke("foo")} == {"a", "b"}


def test_further_arguments_of_a_search(adapter: VecstoreVectorStore) -> None:
    vector = EMBEDDER.embed_query("foo")

    async def awaited(**search: Any) -> list[list[Any]]:
        return [
            await adapter.asimilarity_search("foo", **search),
            [one for one, _ in await adapter.asimilarity_search_with_score("foo", **search)],
            await adapter.asimilarity_search_by_vector(vector, **search),
            await adapter.amax_marginal_relevance_search("foo", **search),
        ]

    for search, wanted in (
        ({"ids": ["b", "c", "none"]}, {"b", "c"}),
        ({"exclude_ids": ["b", "c"]}, {"a", "d"}),
        ({"ids": ["b", "c"], "filter": {"n": 1}}, {"b"}),
        ({"threshold": 0.999}, {"a"}),
    ):
        options: dict[str, Any] = search  # type: ignore[assignment]
        for found in (
            adapter.similarity_search("foo", **options),
            [one for one, _ in adapter.similarity_search_with_score("foo", **options)],
            adapter.similarity_search_by_vector(vector, **options),
            adapter.max_marginal_relevance_search("foo", **options),
            adapter.max_marginal_relevance_search_by_vector(vector, **options),
            adapter.as_retriever(search_kwargs=options).invoke("foo"),
            adapter.as_retriever(search_type="mmr", search_kwargs=options).invoke("foo"),
            *asyncio.run(awaited(**options)),
        ):
            assert {one.id for one in found} == wanted
    with pytest.raises(TypeError, match="write diversity="):
        adapter.similarity_search("foo", lambda_mult=0.5)


def test_ids_and_documents(adapter: VecstoreVectorStore) -> None:
    assert [one.id for one in adapter.get_by_ids(["c", "none", "a"])] == ["c", "a"]
    drawn = adapter.add_documents([Document("x"), Document("y", id="own")])
    assert drawn[1] == "own"
    assert len(drawn[0]) == 36
    with pytest.raises(ValueError, match="1 documents, and 2 ids"):
        adapter.add_documents([Document("x")], ids=["a", "b"])
    with pytest.raises(ValueError, match=r"clear\(\)"):
        adapter.delete()
    assert adapter.embeddings is EMBEDDER
    with pytest.raises(ConfigurationError, match="takes a store, not a str"):
        VecstoreVectorStore("memory:")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="embedder"):
        VecstoreVectorStore(SimpleVectorStore()).max_marginal_relevance_search("x")


def test_under_langchains_record_manager() -> None:
    ours = VecstoreVectorStore(SimpleVectorStore(EMBEDDER))
    records = InMemoryRecordManager("ours")
    records.create_schema()
    given: Any = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}

    def documents(*texts: str) -> list[Document]:
        return [Document(text, metadata={"source": text}) for text in texts]

    assert index(documents("foo", "bar"), records, ours, **given)["num_added"] == 2
    assert index(documents("foo", "bar"), records, ours, **given)["num_skipped"] == 2
    changed = asyncio.run(aindex(documents("foo", "baz"), records, ours, **given))
    assert (changed["num_added"], changed["num_deleted"]) == (1, 1)
    assert {one.text for one in ours.store.get()} == {"foo", "baz"}


def test_scopes_and_awaited_calls(adapter: VecstoreVectorStore) -> None:
    inside = VecstoreVectorStore(adapter.store.scoped(F.n < 2))

    async def main() -> list[str | None]:
        await inside.aadd_texts(["new"], [{"n": 0}], ids=["e"])
        found = await inside.asimilarity_search("foo", k=10, filter={"lang": "de"})
        scored = await inside.asimilarity_search_with_score("foo", k=10)
        assert len(scored) == 3
        assert await inside.aget_by_ids(["c"]) == []
        await inside.adelete(["c", "e"])
        retriever = inside.as_retriever(search_type="mmr")
        assert len(await retriever.ainvoke("foo")) == 2
        return [one.id for one in found]

    assert set(asyncio.run(main())) == {"a", "b"}
    assert adapter.store.count() == 4


def test_what_a_store_cannot_answer_is_refused() -> None:
    pytest.importorskip("qdrant_client")
    with open_store("qdrant:?collection=docs", embedder=EMBEDDER, dimension=SIZE) as store:
        adapter = VecstoreVectorStore(store)
        adapter.add_texts(["foo"])
        with pytest.raises(UnsupportedFilterError):
            adapter.similarity_search("foo", filter={"title": {"$gt": "M"}})


# --- LangChain's own suite ------------------------------------------------------------------------

suites = pytest.importorskip("langchain_tests.integration_tests")


class TestSuite(suites.VectorStoreIntegrationTests):  # type: ignore[misc]
    @pytest.fixture
    def vectorstore(self, opener: Opener) -> Iterator[VecstoreVectorStore]:
        with opener(embedder=EMBEDDER, dimension=SIZE) as store:
            yield VecstoreVectorStore(store)
            store.clear()
