"""Other stores that search in this process, each used as its own documentation does.

A peer is filled from a :class:`~benchmarks.data.Data` when it is made, and answers a search with
the ids of what it found. Where it has documents, it hands them out with the result, as our store
does; an index that knows numbers only is given the ids afterwards.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.data import Data
from vecstore import SimpleVectorStore


class Peer:
    """A store with the rows of some data.

    Attributes:
        name: For tables.
        package: What to install.
        modules: What must be importable.
        note: A remark for tables.
        most: The largest number of rows it is asked to take; beyond, filling takes minutes.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    note: ClassVar[str] = ""
    most: ClassVar[int] = 10**9

    def __init__(self, data: Data, folder: Path) -> None:
        raise NotImplementedError

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        """Ids of the nearest, among the rows whose rank is below a number."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what a process must let go of."""


class Vecstore(Peer):
    """Ours."""

    name, package, modules = "vecstore", "vecstore-dialects", ("vecstore",)

    def __init__(self, data: Data, folder: Path) -> None:
        self.store = SimpleVectorStore(**self.options())
        self.store.add(data.documents())

    def options(self) -> dict[str, Any]:
        """For the store."""
        return {}

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        filter = None if below is None else f"rank < {below}"
        return [one.id for one in self.store.search(vector=query, top_k=top_k, filter=filter)]


class VecstoreInt8(Vecstore):
    """Ours, with a first look in int8."""

    name, package, modules = "vecstore int8", "simsimd", ("simsimd",)
    note = "the same results"

    def options(self) -> dict[str, Any]:
        return {"quantize": "int8"}


class Faiss(Peer):
    """A flat index, and documents in a list. Filters are a bitmap made by numpy for each call."""

    name, package, modules = "faiss flat + bitmap", "faiss-cpu", ("faiss",)

    def __init__(self, data: Data, folder: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self._faiss = faiss
        self.index = faiss.IndexFlatIP(data.dimension)
        self.index.add(data.vectors)
        self._documents = list(zip(data.ids, data.texts, data.metadata, strict=True))
        self._ranks = np.array([one["rank"] for one in data.metadata])

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        parameters = None
        if below is not None:
            bits = np.packbits(self._ranks < below, bitorder="little")
            chosen = self._faiss.IDSelectorBitmap(bits)
            parameters = self._faiss.SearchParameters(sel=chosen)
        _, found = self.index.search(query[None], top_k, params=parameters)
        return [self._documents[number][0] for number in found[0] if number >= 0]


class Usearch(Peer):
    """Its exact search over a matrix; rows that a filter keeps are copied out first."""

    name, package, modules = "usearch exact", "usearch", ("usearch",)

    def __init__(self, data: Data, folder: Path) -> None:
        from usearch.index import MetricKind, search

        self._search, self._metric = search, MetricKind.IP
        self._vectors = data.vectors.copy()
        self._ids = list(data.ids)
        self._ranks = np.array([one["rank"] for one in data.metadata])

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        rows, vectors = None, self._vectors
        if below is not None:
            rows = np.flatnonzero(self._ranks < below)
            vectors = vectors[rows]
        top_k = min(top_k, len(vectors))
        found = self._search(vectors, query, top_k, self._metric, exact=True, threads=1).keys
        return [self._ids[row] for row in (found if rows is None else rows[found])]


class _Lookup:
    """Takes the place of an embedding model: vectors that are known, in the order asked for."""

    def __init__(self, lists: Sequence[list[float]]) -> None:
        self._lists = lists

    def embed_documents(self, texts: Sequence[str]) -> Sequence[list[float]]:
        return self._lists

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError


class LangChain(Peer):
    """InMemoryVectorStore."""

    name, package, modules = "langchain-core", "langchain-core", ("langchain_core",)

    def __init__(self, data: Data, folder: Path) -> None:
        from langchain_core.documents import Document as LangChainDocument
        from langchain_core.vectorstores import InMemoryVectorStore

        self.store = InMemoryVectorStore(_Lookup(data.lists))
        self.store.add_documents(
            [
                LangChainDocument(page_content=text, metadata=metadata, id=id)
                for text, metadata, id in zip(data.texts, data.metadata, data.ids, strict=True)
            ]
        )

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        def kept(document: Any) -> bool:
            return document.metadata["rank"] < below

        found = self.store.similarity_search_by_vector(
            query.tolist(), k=top_k, filter=None if below is None else kept
        )
        return [one.id for one in found]

    def save(self, path: Path) -> None:
        self.store.dump(str(path))

    @staticmethod
    def load(path: Path) -> Any:
        from langchain_core.vectorstores import InMemoryVectorStore

        return InMemoryVectorStore.load(str(path), _Lookup([]))


class LlamaIndex(Peer):
    """SimpleVectorStore, which holds vectors and metadata; texts lie beside it."""

    name, package, modules = "llama-index-core", "llama-index-core", ("llama_index.core",)

    def __init__(self, data: Data, folder: Path) -> None:
        from llama_index.core.schema import TextNode
        from llama_index.core.vector_stores import SimpleVectorStore as LlamaIndexStore

        self.store = LlamaIndexStore()
        nodes = [
            TextNode(id_=id, text=text, metadata=metadata, embedding=vector)
            for id, text, metadata, vector in zip(
                data.ids, data.texts, data.metadata, data.lists, strict=True
            )
        ]
        self._nodes = {node.node_id: node for node in nodes}
        self.store.add(nodes)

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        from llama_index.core.vector_stores import (
            FilterOperator,
            MetadataFilter,
            MetadataFilters,
            VectorStoreQuery,
        )

        filters = None
        if below is not None:
            one = MetadataFilter(key="rank", value=below, operator=FilterOperator.LT)
            filters = MetadataFilters(filters=[one])
        asked = VectorStoreQuery(
            query_embedding=query.tolist(), similarity_top_k=top_k, filters=filters
        )
        return [self._nodes[id].node_id for id in self.store.query(asked).ids]

    def save(self, path: Path) -> None:
        self.store.persist(str(path))

    @staticmethod
    def load(path: Path) -> Any:
        from llama_index.core.vector_stores import SimpleVectorStore as LlamaIndexStore

        return LlamaIndexStore.from_persist_path(str(path))


class Haystack(Peer):
    """InMemoryDocumentStore."""

    name, package, modules = "haystack-ai", "haystack-ai", ("haystack",)

    def __init__(self, data: Data, folder: Path) -> None:
        from haystack import Document as HaystackDocument
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        self.store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self.store.write_documents(
            [
                HaystackDocument(id=id, content=text, meta=metadata, embedding=vector)
                for id, text, metadata, vector in zip(
                    data.ids, data.texts, data.metadata, data.lists, strict=True
                )
            ]
        )

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        filters = None
        if below is not None:
            filters = {"field": "meta.rank", "operator": "<", "value": below}
        found = self.store.embedding_retrieval(query.tolist(), filters=filters, top_k=top_k)
        return [one.id for one in found]

    def save(self, path: Path) -> None:
        self.store.save_to_disk(str(path))

    @staticmethod
    def load(path: Path) -> Any:
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        return InMemoryDocumentStore.load_from_disk(str(path))


class Chroma(Peer):
    """A collection in memory: an HNSW index, whose answers are approximate."""

    name, package, modules = "chromadb", "chromadb", ("chromadb",)
    note, most = "approximate", 20_000

    def __init__(self, data: Data, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        self._name = f"docs-{folder.name.strip('_-')}"
        self._collection = self._client.create_collection(
            self._name, embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        for start in range(0, len(data), 5_000):
            rows = slice(start, start + 5_000)
            self._collection.add(
                ids=data.ids[rows],
                documents=data.texts[rows],
                metadatas=data.metadata[rows],
                embeddings=data.vectors[rows],
            )

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        where = None if below is None else {"rank": {"$lt": below}}
        found = self._collection.query(query_embeddings=query[None], n_results=top_k, where=where)
        return list(found["ids"][0])

    def close(self) -> None:
        self._client.delete_collection(self._name)


class QdrantLocal(Peer):
    """The client's local mode, in memory."""

    name, package, modules = "qdrant-client local", "qdrant-client", ("qdrant_client",)

    def __init__(self, data: Data, folder: Path) -> None:
        import warnings

        from qdrant_client import QdrantClient, models

        self._models = models
        self._client = QdrantClient(":memory:")
        size = models.VectorParams(size=data.dimension, distance=models.Distance.COSINE)
        self._client.create_collection("docs", vectors_config=size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # local mode is not meant for 20,000 points and more
            self._client.upload_collection(
                "docs",
                vectors=data.vectors,
                payload=[
                    {"text": text, "metadata": metadata}
                    for text, metadata in zip(data.texts, data.metadata, strict=True)
                ],
                ids=list(range(len(data))),
            )

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        models = self._models
        chosen = None
        if below is not None:
            within = models.FieldCondition(key="metadata.rank", range=models.Range(lt=below))
            chosen = models.Filter(must=[within])
        found = self._client.query_points("docs", query, query_filter=chosen, limit=top_k)
        return [str(one.id) for one in found.points]

    def close(self) -> None:
        self._client.close()


class QdrantEdge(Peer):
    """The engine of the server in this process, without an index: an exact scan."""

    name, package, modules = "qdrant-edge", "qdrant-edge-py", ("qdrant_edge",)

    def __init__(self, data: Data, folder: Path) -> None:
        import qdrant_edge as edge

        self._edge = edge
        size = edge.EdgeVectorParams(size=data.dimension, distance=edge.Distance.Cosine)
        config = edge.EdgeConfig(vectors=size, wal_enabled=False)
        self._shard = edge.EdgeShard.create(str(folder), config)
        for start in range(0, len(data), 1_000):
            points = [
                edge.Point(
                    number, data.lists[number],
                    {"text": data.texts[number], "metadata": data.metadata[number]},
                )
                for number in range(start, min(start + 1_000, len(data)))
            ]  # fmt: skip
            self._shard.update(edge.UpdateOperation.upsert_points(points))

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        edge = self._edge
        chosen = None
        if below is not None:
            within = edge.FieldCondition("metadata.rank", range=edge.RangeFloat(lt=below))
            chosen = edge.Filter(must=[within])
        asked = edge.QueryRequest(
            query=edge.Query.Nearest(query.tolist()),
            filter=chosen,
            limit=top_k,
            params=edge.SearchParams(exact=True),
            with_payload=True,
        )
        return [str(one.id) for one in self._shard.query(asked)]

    def close(self) -> None:
        self._shard.close()


class LanceDb(Peer):
    """A table on disk without an index: an exact scan."""

    name, package, modules = "lancedb flat", "lancedb", ("lancedb", "pyarrow")

    def __init__(self, data: Data, folder: Path) -> None:
        import lancedb
        import pyarrow

        flat = pyarrow.array(data.vectors.reshape(-1))
        columns = {
            "id": data.ids,
            "text": data.texts,
            "rank": [one["rank"] for one in data.metadata],
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, data.dimension),
        }
        self._table = lancedb.connect(str(folder)).create_table("docs", pyarrow.table(columns))

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        asked = self._table.search(query).distance_type("cosine").limit(top_k)
        if below is not None:
            asked = asked.where(f"rank < {below:d}", prefilter=True)
        return [one["id"] for one in asked.to_list()]


class SqliteVec(Peer):
    """A virtual table in memory; the rank is a metadata column of it."""

    name, package, modules = "sqlite-vec", "sqlite-vec apsw", ("sqlite_vec",)

    def __init__(self, data: Data, folder: Path) -> None:
        import json
        import sqlite3

        import sqlite_vec

        if hasattr(sqlite3.Connection, "enable_load_extension"):
            self._db: Any = sqlite3.connect(":memory:")
        else:  # many a Python is built without it
            import apsw

            self._db = apsw.Connection(":memory:")
        self._db.enable_load_extension(True)
        sqlite_vec.load(self._db)
        self._db.execute(
            f"CREATE VIRTUAL TABLE docs USING vec0(rank integer, +text text, +metadata text, "
            f"embedding float[{data.dimension:d}] distance_metric=cosine)"
        )
        with self._db:
            self._db.executemany(
                "INSERT INTO docs (rowid, rank, text, metadata, embedding) VALUES (?, ?, ?, ?, ?)",
                (
                    (number, metadata["rank"], text, json.dumps(metadata), vector.tobytes())
                    for number, (text, metadata, vector) in enumerate(
                        zip(data.texts, data.metadata, data.vectors, strict=True)
                    )
                ),
            )

    def search(self, query: np.ndarray, below: int | None = None, top_k: int = 4) -> list[str]:
        found = self._db.execute(
            "SELECT rowid, text, metadata, distance FROM docs WHERE embedding MATCH ? AND k = ?"
            + ("" if below is None else " AND rank < ?"),
            (query.tobytes(), top_k, *([] if below is None else [below])),
        )
        return [str(row[0]) for row in found]

    def close(self) -> None:
        self._db.close()


PEERS: tuple[type[Peer], ...] = (
    VecstoreInt8,
    Faiss,
    Usearch,
    QdrantEdge,
    SqliteVec,
    LanceDb,
    QdrantLocal,
    Chroma,
    LangChain,
    LlamaIndex,
    Haystack,
)


def missing(modules: Sequence[str], package: str) -> str | None:
    """Why a peer cannot take part; None when it is installed."""
    for module in modules:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"not installed: pip install {package}"
    return None


@contextmanager
def filled(
    data: Data, peers: Sequence[type[Peer]] = PEERS, skipped: dict[str, str] | None = None
) -> Iterator[Mapping[str, Peer]]:
    """Ours and those peers that can take part, filled; their files are gone afterwards.

    Args:
        data: The rows.
        peers: Who is asked beside our store.
        skipped: Where those are entered that cannot take part, with the reason.
    """
    out: dict[str, str] = {} if skipped is None else skipped
    ready: dict[str, Peer] = {}
    folder = Path(tempfile.mkdtemp(prefix="vecstore-bench-"))
    try:
        for kind in (Vecstore, *peers):
            reason = missing(kind.modules, kind.package)
            if reason is None and len(data) > kind.most:
                reason = f"filled with at most {kind.most:,} rows here"
            if reason is not None:
                out[kind.name] = reason
                continue
            own = Path(tempfile.mkdtemp(dir=folder))
            try:
                ready[kind.name] = kind(data, own)
            except Exception as error:
                if kind is Vecstore:
                    raise
                out[kind.name] = f"{type(error).__name__}: {str(error)[:100]}"
        yield ready
    finally:
        for peer in ready.values():
            with suppress(Exception):
                peer.close()
        shutil.rmtree(folder, ignore_errors=True)
