"""LlamaIndex's adapter over each store, held against LlamaIndex's own store in memory.

Without llama-index-core all of it is skipped: ``make test-adapters``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.adapters.conftest import Opener
from tests.interop.specs import SCHEMA
from vecstore import (
    ConfigurationError,
    Document,
    DocumentError,
    F,
    FilterError,
    Schema,
    SimpleVectorStore,
    VectorStore,
)

pytest.importorskip("llama_index.core")

from llama_index.core import Document as Page
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores import SimpleVectorStore as Theirs
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from vecstore.adapters.llama_index import VecstoreVectorStore

A, B, C = "aaaa", "bbbb", "cccc"


def nodes() -> list[TextNode]:
    """Three nodes of three documents, as LlamaIndex's own tests have them."""
    found = []
    for id, vector, weight, rank, quality in [
        (A, [1.0, 0.0], 1.0, "a", ["medium", "high"]),
        (B, [0.0, 1.0], 2.0, "c", ["medium"]),
        (C, [1.0, 1.0], 3.0, "c", ["low", "medium", "high"]),
    ]:
        found.append(
            TextNode(
                id_=id,
                text=f"lorem {id}",
                embedding=vector,
                metadata={"weight": weight, "rank": rank, "quality": quality},
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"of-{id}")},
            )
        )
    return found


def one(key: str, operator: str, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, operator=FilterOperator(operator), value=value)


def several(condition: str, *filters: Any) -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=condition)


def ids(made: Any, filters: Any = None, **arguments: Any) -> list[str]:
    query = VectorStoreQuery([1.0, 1.0], similarity_top_k=60, filters=filters, **arguments)
    return list(made.query(query).ids)


@pytest.fixture
def store(opener: Opener) -> Iterator[VectorStore]:
    with opener(dimension=2) as opened:
        yield opened
        opened.clear()


@pytest.fixture
def adapter(store: VectorStore) -> VecstoreVectorStore:
    made = VecstoreVectorStore(store)
    assert made.add(nodes()) == [A, B, C]
    return made


@pytest.fixture
def theirs() -> Theirs:
    made = Theirs()
    made.add(nodes())
    return made


FILTERS = [
    None,
    several("and"),
    several("and", one("rank", "==", "c")),
    several("and", one("rank", "==", "c"), one("weight", "==", 2.0)),
    several("and", one("weight", "==", 2), one("weight", "==", 3)),
    several("and", one("unknown", "==", "c")),
    several("or", one("rank", "==", "c"), one("weight", "==", 1.0)),
    several("not", one("rank", "==", "a")),
    several("not", one("rank", "==", "a"), one("weight", "==", 2)),
    several("and", one("weight", "!=", 1.0)),
    several("and", one("unknown", "!=", 1)),
    several("and", one("weight", ">", 1.5)),
    several("and", one("weight", ">=", 1.0), one("weight", "<", 2.5)),
    several("and", one("weight", "<=", 1.0)),
    several("and", one("rank", "in", ["a", "c"])),
    several("and", one("rank", "nin", ["c"])),
    several("and", one("unknown", "nin", ["c"])),
    several("and", one("quality", "contains", "high")),
    several("and", one("quality", "any", ["high", "low"])),
    several("and", one("quality", "all", ["medium", "high"])),
    several("and", one("unknown", "is_empty", None)),
    several("and", one("rank", "is_empty", None)),
    several("or", one("ref_doc_id", "==", "of-aaaa"), one("doc_id", "==", "of-bbbb")),
]


def test_filters_select_what_they_do_there(adapter: VecstoreVectorStore, theirs: Theirs) -> None:
    for filters in FILTERS:
        assert ids(adapter, filters) == ids(theirs, filters), filters
        found = {node.node_id for node in adapter.get_nodes(filters=filters)}
        assert found == set(ids(theirs, filters)), filters
    few = VectorStoreQuery([1.0, 1.0], filters=FILTERS[2], similarity_top_k=1)
    assert adapter.query(few).ids == [C]
    mine, other = (
        made.query(VectorStoreQuery([1.0, 0.5], similarity_top_k=3)) for made in (adapter, theirs)
    )
    assert mine.ids == other.ids
    assert mine.similarities == pytest.approx(other.similarities, abs=1e-5)


def test_nodes_come_back_whole(adapter: VecstoreVectorStore) -> None:
    assert adapter.get_nodes([B, "none", A]) == [nodes()[1], nodes()[0]]
    found = adapter.query(VectorStoreQuery([1.0, 0.0], similarity_top_k=1)).nodes
    assert found == [nodes()[0].model_copy(update={"embedding": None})]
    query = VectorStoreQuery([1.0, 0.0], similarity_top_k=1, output_fields=["embedding"])
    assert adapter.query(query).nodes == nodes()[:1]

    linked = TextNode(
        id_="linked",
        text="",
        embedding=[0.0, -1.0],
        metadata={"nested": {"deep": [1, 2]}, "a.b": 1, "doc_id": "own", "none": None},
        excluded_embed_metadata_keys=["a.b"],
        relationships={
            NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d", metadata={"x": [1]}, hash="h"),
            NodeRelationship.NEXT: RelatedNodeInfo(node_id=A),
            NodeRelationship.CHILD: [RelatedNodeInfo(node_id=B), RelatedNodeInfo(node_id=C)],
        },
        start_char_idx=3,
        end_char_idx=9,
    )
    others = [
        linked,
        IndexNode(id_="index", text="to another", index_id="there", embedding=[1.0, 0.0]),
        ImageNode(id_="image", text="a cat", image_url="cat.png", embedding=[0.0, 1.0]),
    ]
    adapter.add(others)
    assert adapter.get_nodes(["linked", "index", "image"]) == others
    assert ids(adapter, several("and", one("a.b", "==", 1))) == ["linked"]


def test_what_was_changed_or_written_without_llama_index_is_seen(
    adapter: VecstoreVectorStore,
) -> None:
    adapter.store.update_metadata([A], set={"rank": "z"}, unset=["weight"])
    [node] = adapter.get_nodes([A])
    assert node.metadata == {"rank": "z", "quality": ["medium", "high"]}
    assert node.ref_doc_id == "of-aaaa"
    adapter.store.add([Document("plain", {"rank": "q"}, id="plain", embedding=[1, 0])])
    [node] = adapter.get_nodes(filters=several("and", one("rank", "==", "q")))
    assert node == TextNode(id_="plain", text="plain", metadata={"rank": "q"}, embedding=[1.0, 0.0])


def test_nodes_are_what_llama_index_makes_of_them(in_memory: VecstoreVectorStore) -> None:
    linked = {
        NodeRelationship.SOURCE: RelatedNodeInfo(
            node_id="d", metadata={"x": [1.5, None]}, hash="h"
        ),
        NodeRelationship.CHILD: [RelatedNodeInfo(node_id=B, node_type="1")],
    }
    made = [
        TextNode(id_="plain", text="a", metadata={"n": 1, "f": 1.0, "b": True, "deep": {"a": []}}),
        TextNode(id_="linked", text="é", relationships=linked, metadata={"doc_id": "own", "n": 2}),
        TextNode(id_="cut", text="", start_char_idx=3, excluded_llm_metadata_keys=["n"]),
        IndexNode(id_="index", text="x", index_id="there"),
        ImageNode(id_="image", text="y", image_path="cat.png"),
        Page(id_="page", text="z", metadata={"n": 3}),
    ]
    for node in made:
        vector = [0.5, -1.0]
        in_memory.add([node.model_copy(update={"embedding": vector})])
        [document] = in_memory.store.get([node.node_id])
        theirs = node_to_metadata_dict(node, remove_text=True)
        for held in (theirs, document.metadata):
            held["_node_content"] = json.loads(held["_node_content"])
        assert document.metadata == theirs
        [document] = in_memory.store.get([node.node_id])
        expected = metadata_dict_to_node(document.metadata, document.text)
        expected.embedding = vector
        [found] = in_memory.get_nodes([node.node_id])
        assert type(found) is type(expected)
        assert found == expected
        assert found.model_dump_json() == expected.model_dump_json()
        assert found.model_fields_set == expected.model_fields_set
        assert found.hash == expected.hash
        assert [*map(type, found.metadata.values())] == [*map(type, node.metadata.values())]
        with pytest.raises(ValueError, match="text"):
            found.metadata = "no longer a text's"
        found.metadata["n"] = 0
        assert in_memory.get_nodes([node.node_id]) == [expected]


def test_metadata_is_written_as_llama_index_writes_it(in_memory: VecstoreVectorStore) -> None:
    day = datetime(2024, 1, 31, tzinfo=UTC)
    odd = {"day": day, "tuple": (1, 2), "path": Path("a/b"), "doc_id": "own"}
    node = TextNode(id_="odd", text="x", metadata=odd, embedding=[0.0, 1.0])
    in_memory.add([node])
    [document] = in_memory.store.get(["odd"])
    expected = Document("x", node_to_metadata_dict(node, remove_text=True)).metadata
    for held in (expected, document.metadata):
        held["_node_content"] = json.loads(held["_node_content"])
    assert document.metadata == expected
    broken = TextNode(id_="broken", text="x", metadata={"s": "\ud800"}, embedding=[0.0, 1.0])
    with pytest.raises(DocumentError, match=r"'broken' cannot be stored with the key"):
        in_memory.add([broken])


def test_content_of_other_writers_is_read_as_llama_index_reads_it(
    in_memory: VecstoreVectorStore,
) -> None:
    def stored(content: str) -> None:
        theirs = {"_node_content": content, "_node_type": "TextNode"}
        in_memory.store.add([Document("new", theirs, "theirs", [1.0, 0.0])])

    stored('{"id_": "theirs", "text_resource": {"text": "old"}}')
    assert in_memory.get_nodes(["theirs"])[0].text == "new"
    for broken in ("{", '{"id_": 3}', '{"id_": "theirs", "relationships": {"1": "no node"}}'):
        stored(broken)
        with pytest.raises(ValueError, match=r"."):
            in_memory.get_nodes(["theirs"])


def test_filters_that_come_again_are_read_once(in_memory: VecstoreVectorStore) -> None:
    def wanted(value: Any, operator: str = "==", condition: str = "and") -> Any:
        inner = several(condition, one("weight", operator, value), one("rank", "!=", "z"))
        return in_memory._filter(several("and", inner))

    assert wanted(2) is wanted(2)
    others = [wanted(2.0), wanted("2"), wanted([2], "in"), wanted(2, "!="), wanted(2, "==", "or")]
    assert not any(one is wanted(2) for one in others)
    assert len({one.to_text() for one in [wanted(2), *others]}) == 6
    for _ in range(2):
        with pytest.raises(FilterError, match="text_match"):
            wanted("a", "text_match")


def test_ids_of_nodes_and_documents(adapter: VecstoreVectorStore, theirs: Theirs) -> None:
    rank = several("and", one("rank", "==", "c"))
    assert ids(adapter, rank, node_ids=[C, A]) == ids(theirs, rank, node_ids=[C, A]) == [C]
    assert ids(adapter, node_ids=[B, A, "none", B]) == [A, B]
    assert ids(adapter, node_ids=[]) == [C, A, B]  # what retrievers pass for "all"
    assert ids(adapter, doc_ids=["of-aaaa", "of-bbbb"], node_ids=[B, C]) == [B]
    assert ids(adapter, rank, doc_ids=["of-aaaa", "of-bbbb"]) == [B]
    both = VectorStoreQuery([1.0, 1.0], similarity_top_k=3, node_ids=[A, C])
    assert adapter.query(both, ids=[C, B]).ids == [C]
    assert adapter.query(both, ids=[]).ids == []
    asked = VectorStoreQuery([1.0, 1.0], similarity_top_k=1, node_ids=[A, C])
    assert adapter.query(asked).ids == [C]
    assert adapter.query(asked).similarities == pytest.approx([1.0])
    assert adapter.query(asked, threshold=1.5).ids == []


def test_deleting(adapter: VecstoreVectorStore, theirs: Theirs) -> None:
    for made in (adapter, theirs):
        made.delete("of-bbbb")
        made.delete("nobody")
        assert ids(made) == [C, A]
        made.delete_nodes([A, B], filters=several("and", one("rank", "==", "c")))
        made.delete_nodes([])
        assert ids(made) == [C, A]
        made.delete_nodes([A, "none"])
        assert ids(made) == [C]
        made.delete_nodes(filters=several("and", one("rank", "==", "c")))
        assert ids(made) == []
    for nothing in ({}, {"filters": several("and")}):
        with pytest.raises(ValueError, match=r"clear\(\)"):
            adapter.delete_nodes(**nothing)
    adapter.add(nodes())
    adapter.clear()
    assert ids(adapter) == adapter.get_nodes() == []


def test_variety(adapter: VecstoreVectorStore, theirs: Theirs) -> None:
    again = nodes()[2].model_copy(update={"id_": "dddd"})
    for made in (adapter, theirs):
        made.add([again])
    for likeness in (0.1, 0.5, 0.9, 1.0):
        for size in (0, 1, 2, 4):
            query = VectorStoreQuery([1.0, 0.8], similarity_top_k=size, mode="mmr")
            found = adapter.query(query, mmr_threshold=likeness)
            ours = adapter.store.search(vector=[1.0, 0.8], top_k=size, diversity=1 - likeness)
            assert found.ids == [one.id for one in ours]
            assert found.similarities == [one.score for one in ours]
            # It compares with the node before alone, and so differs from the third on; 0 is all.
            if 0 < size <= 2 or likeness == 1.0:
                other = theirs.query(query, mmr_threshold=likeness).ids
                assert found.ids == other[:size]
    query = VectorStoreQuery([1.0, 1.0], similarity_top_k=2, mode="mmr", mmr_threshold=0.1)
    assert adapter.query(query).ids[1] not in (C, "dddd")
    assert set(adapter.query(query, mmr_prefetch_k=2).ids) == {C, "dddd"}
    assert set(adapter.query(query, mmr_prefetch_factor=1).ids) == {C, "dddd"}
    assert set(adapter.query(query, mmr_prefetch_k=1).ids) == {C, "dddd"}
    query.node_ids = [C, "dddd"]
    assert set(adapter.query(query).ids) == {C, "dddd"}


def test_awaited_calls(store: VectorStore) -> None:
    adapter = VecstoreVectorStore(store)

    async def main() -> None:
        assert await adapter.async_add(nodes()) == [A, B, C]
        rank = several("and", one("rank", "==", "c"))
        query = VectorStoreQuery([1.0, 1.0], similarity_top_k=9, filters=rank)
        assert (await adapter.aquery(query)).ids == [C, B]
        query.node_ids = [B]
        assert (await adapter.aquery(query)).ids == [B]
        assert await adapter.aget_nodes([A]) == nodes()[:1]
        await adapter.adelete("of-aaaa")
        await adapter.adelete_nodes([B], filters=rank)
        assert [node.node_id for node in await adapter.aget_nodes()] == [C]
        await adapter.aclear()
        assert await adapter.aget_nodes() == []

    asyncio.run(main())


# --- random filters -------------------------------------------------------------------------------


def _documents(random: Random) -> Iterator[dict[str, Any]]:
    for _ in range(60):
        drawn = {
            "n": random.choice([-2, 0, 1, 3, None]),
            "f": random.choice([-1.5, 0.5, 1.0, 2.25]),
            "s": random.choice(["a", "b", "B", "é", "it's"]),
            "tags": random.sample("abc", random.randint(0, 3)),
        }
        yield {key: value for key, value in drawn.items() if random.random() < 0.8}


def _leaf(random: Random) -> MetadataFilter:
    key = random.choice(["n", "f", "s", "tags"])
    if key == "tags":
        name = random.choice(["any", "all", "contains", "is_empty"])
        value: Any = random.sample("abc", random.randint(1, 2))
        value = {"contains": value[0], "is_empty": None}.get(name, value)
        return one(key, name, value)
    values: list[Any] = {"n": [-2, 0, 1, 2], "f": [-1.5, 0.5, 1.0, 2.0], "s": ["a", "B", "é"]}[key]
    names = ["==", "!=", "in", "nin", "is_empty"] + [">", ">=", "<", "<="] * (key != "s")
    name = random.choice(names)
    if name in ("in", "nin"):
        return one(key, name, random.sample(values, random.randint(1, 3)))
    return one(key, name, None if name == "is_empty" else random.choice(values))


def _tree(random: Random, depth: int) -> Any:
    if not depth or random.random() < 0.3:
        return _leaf(random)
    inner = [_tree(random, depth - 1) for _ in range(random.randint(1, 3))]
    return several(random.choice(["and", "or", "not"]), *inner)


def _selected(theirs: Theirs, tree: Any) -> set[str]:
    """What their store selects by each leaf, put together: it takes no nested filters itself."""
    if isinstance(tree, MetadataFilter):
        return set(ids(theirs, several("and", tree)))
    parts = [_selected(theirs, part) for part in tree.filters]
    if tree.condition == "and":
        return set.intersection(*parts)
    joined = set().union(*parts)
    return joined if tree.condition == "or" else set(theirs.data.embedding_dict) - joined


def test_random_filters_select_what_they_do_there(opener: Opener) -> None:
    random = Random(20)
    declared = Schema({key: SCHEMA[key] for key in ("n", "f", "s", "tags")}, others="allow")
    theirs = Theirs()
    with opener(dimension=2, schema=declared) as store:
        adapter = VecstoreVectorStore(store)
        for made in (adapter, theirs):
            made.add(
                TextNode(id_=f"node {at}", text="x", metadata=metadata, embedding=[1.0, at / 60])
                for at, metadata in enumerate(_documents(Random(7)))
            )
        for _ in range(60):
            flat = several(
                random.choice(["and", "or", "not"]),
                *(_leaf(random) for _ in range(random.randint(1, 3))),
            )
            assert set(ids(adapter, flat)) == set(ids(theirs, flat)), flat
            nested = several("and", _tree(random, 3))
            assert set(ids(adapter, nested)) == _selected(theirs, nested), nested
        store.clear()


# --- what is refused ------------------------------------------------------------------------------


@pytest.fixture
def in_memory() -> VecstoreVectorStore:
    made = VecstoreVectorStore(SimpleVectorStore())
    made.add(nodes())
    return made


QUERY = VectorStoreQuery([1.0, 1.0], similarity_top_k=3)
DIVERSE = VectorStoreQuery([1.0, 1.0], similarity_top_k=3, mode="mmr")


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda made: ids(made, mode="hybrid"), ValueError, 'mode "hybrid"'),
        (lambda made: ids(made, mode="sparse"), ValueError, 'mode "sparse"'),
        (lambda made: ids(made, mode="text_search"), ValueError, 'mode "text_search"'),
        (lambda made: ids(made, mode="svm"), ValueError, 'mode "svm"'),
        (lambda made: made.query(VectorStoreQuery()), ValueError, "no query_embedding"),
        (
            lambda made: ids(made, several("and", one("rank", "text_match", "a"))),
            FilterError,
            "'text_match' has no meaning here",
        ),
        (
            lambda made: ids(made, several("and", one("rank", "text_match_insensitive", "a"))),
            FilterError,
            "'text_match_insensitive' has no meaning here",
        ),
        (
            lambda made: ids(made, several("not", one("weight", ">", 2))),
            FilterError,
            "weight is not declared",
        ),
        (
            lambda made: made.add([TextNode(id_="bare", text="x")]),
            DocumentError,
            "'bare' has no embedding",
        ),
        (lambda made: made.add(nodes(), batch=3), TypeError, "batch"),
        (lambda made: made.query(VectorStoreQuery([1.0, 1.0]), k=3), TypeError, "'k'"),
        *(
            (lambda made, given=given: made.query(QUERY, **given), TypeError, told)
            for given, told in [
                ({"vector": [0.0, 1.0]}, "vector .*query_embedding"),
                ({"top_k": 1}, "top_k .*similarity_top_k"),
                ({"filter": "weight > 2"}, "filter .*filters="),
                ({"include_embedding": True}, "include_embedding .*output_fields"),
                ({"mmr_threshold": 0.5}, 'mmr_threshold is of .* mode="mmr"'),
                ({"mmr_prefetch_k": 9}, 'mmr_prefetch_k is of .* mode="mmr"'),
            ]
        ),
        *(
            (lambda made, given=given: made.query(DIVERSE, **given), error, told)
            for given, error, told in [
                ({"top_k": 1}, TypeError, "top_k .*similarity_top_k"),
                ({"diversity": 0.2}, TypeError, "diversity .* mmr_threshold"),
                ({"fetch_k": 20}, TypeError, "fetch_k .* mmr_prefetch_k"),
                ({"mmr_threshold": 2.0}, ValueError, "mmr_threshold is from 0, .* not 2.0"),
                ({"mmr_threshold": "a"}, TypeError, "mmr_threshold is a number .* not a str"),
            ]
        ),
        (lambda made: VecstoreVectorStore("memory:"), ConfigurationError, "not a str"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(
    in_memory: VecstoreVectorStore,
    call: Callable[[Any], Any],
    error: type[Exception],
    told: str,
) -> None:
    with pytest.raises(error, match=told):
        call(in_memory)
    assert ids(in_memory) == [C, A, B]


def test_filters_of_ours_and_scopes(in_memory: VecstoreVectorStore) -> None:
    assert ids(in_memory, "weight > 1 AND quality == 'high'") == [C]
    assert ids(in_memory, F.weight > 1, doc_ids=["of-bbbb"]) == [B]
    # Where an ordering is unknown, ours stays so.
    assert ids(in_memory, "NOT other > 1") == []
    inside = VecstoreVectorStore(in_memory.store.scoped(F.rank == "c"))
    inside.delete_nodes([A])
    inside.clear()
    assert ids(in_memory) == [A]


def test_options_of_the_store(in_memory: VecstoreVectorStore) -> None:
    changed = nodes()[0].model_copy(update={"embedding": [0.0, -1.0]})
    assert in_memory.add([changed], on_conflict="skip") in ([A], [])
    assert in_memory.get_nodes([A]) == nodes()[:1]
    query = VectorStoreQuery([1.0, 1.0], similarity_top_k=9)
    assert in_memory.query(query, threshold=0.9).ids == [C]
    stored = in_memory.store.search(vector=[1.0, 1.0], top_k=9, diversity=1.0, fetch_k=9)
    varied = in_memory.query(query, diversity=1.0, fetch_k=9).ids
    assert varied == [one.id for one in stored] == [C, A, B]
    assert in_memory.client is not None
    assert "SimpleVectorStore" not in in_memory.to_json()


# --- an index -------------------------------------------------------------------------------------


class WordLlama(BaseEmbedding):
    """The model inside wordllama's package, as LlamaIndex takes it."""

    embedder: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(one) for one in self.embedder.embed_query(text)]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


PAGES = [
    Page(id_="bread", text="Knead the dough and bake the bread.", metadata={"year": 2021}),
    Page(id_="cats", text="Cats sleep for most of the day.", metadata={"year": 2019}),
    Page(id_="sailing", text="Trim the sail when the wind turns.", metadata={"year": 2023}),
]


def test_an_index_with_a_query_engine(opener: Opener) -> None:
    pytest.importorskip("wordllama")
    from vecstore.embedders.wordllama import WordLlamaEmbedder

    model = WordLlama(embedder=WordLlamaEmbedder())
    with opener(dimension=256) as store:
        context = StorageContext.from_defaults(vector_store=VecstoreVectorStore(store))
        index = VectorStoreIndex.from_documents(PAGES, storage_context=context, embed_model=model)
        engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=1)
        answer = engine.query("How is a loaf of bread made?")
        assert [node.node.ref_doc_id for node in answer.source_nodes] == ["bread"]
        assert "Knead the dough" in str(answer)

        later = several("and", one("year", ">=", 2023))
        retriever = index.as_retriever(similarity_top_k=3, filters=later)
        assert [found.node.ref_doc_id for found in retriever.retrieve("bread")] == ["sailing"]
        retriever = index.as_retriever(similarity_top_k=3, filters="year >= 2023")
        assert [found.node.ref_doc_id for found in retriever.retrieve("bread")] == ["sailing"]
        retriever = index.as_retriever(similarity_top_k=3, doc_ids=["cats", "bread"])
        found = asyncio.run(retriever.aretrieve("a sleeping cat"))
        assert [one.node.ref_doc_id for one in found] == ["cats", "bread"]
        retriever = index.as_retriever(
            similarity_top_k=2,
            vector_store_query_mode="mmr",
            vector_store_kwargs={"mmr_threshold": 0.9},
        )
        assert retriever.retrieve("bake bread")[0].node.ref_doc_id == "bread"

        again = VectorStoreIndex.from_vector_store(VecstoreVectorStore(store), embed_model=model)
        again.delete_ref_doc("bread")
        again.insert(Page(id_="trains", text="The train leaves at noon."))
        retriever = again.as_retriever(similarity_top_k=9)
        left = {found.node.ref_doc_id for found in retriever.retrieve("bread")}
        assert left == {"cats", "sailing", "trains"}
        store.clear()
