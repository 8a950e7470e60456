"""Other libraries that search in memory, on the same documents, for side-by-side figures.

Each takes the documents when it is made, and answers ``search(query, field)`` with the ids of the
four nearest by cosine, best first; with a ``field``, among those whose metadata has 0 there. One
that is not installed is left out, by name.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from vecstore import Document, SimpleVectorStore

TOP_K = 4


@dataclass(frozen=True)
class Corpus:
    """The documents of a run, as columns."""

    ids: list[str]
    texts: list[str]
    metadata: list[dict[str, Any]]
    vectors: np.ndarray

    @property
    def dimension(self) -> int:
        return self.vectors.shape[1]

    def documents(self) -> list[Document]:
        rows = zip(self.texts, self.metadata, self.ids, self.vectors, strict=True)
        return [Document(*row) for row in rows]

    def column(self, field: str) -> np.ndarray:
        return np.array([row[field] for row in self.metadata])


class Peer(Protocol):
    """One library with the documents in it."""

    name: ClassVar[str]
    most: ClassVar[int]
    """Documents up to which it is asked; beyond, one call takes seconds."""

    def __init__(self, corpus: Corpus) -> None: ...

    def search(self, query: np.ndarray, field: str | None) -> list[str]: ...

    def close(self) -> None: ...


class Base:
    most: ClassVar[int] = 10_000_000

    def close(self) -> None:
        return


class Vecstore(Base):
    name: ClassVar[str] = "vecstore"

    def __init__(self, corpus: Corpus) -> None:
        self.store = SimpleVectorStore()
        self.store.add(corpus.documents())

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        filter = None if field is None else f"{field} == 0"
        return [one.id for one in self.store.search(vector=query, top_k=TOP_K, filter=filter)]


class Faiss(Base):
    """The flat index, a bitmap from a column that numpy holds, and the documents in a list."""

    name: ClassVar[str] = "faiss-cpu, flat"

    def __init__(self, corpus: Corpus) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self._faiss, self._corpus = faiss, corpus
        vectors = corpus.vectors.copy()
        faiss.normalize_L2(vectors)
        self._index = faiss.IndexFlatIP(corpus.dimension)
        self._index.add(vectors)
        self._columns = {field: corpus.column(field) for field in corpus.metadata[0]}

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        wanted = (query / np.linalg.norm(query)).reshape(1, -1)
        parameters = None
        if field is not None:
            bitmap = np.packbits(self._columns[field] == 0, bitorder="little")
            chosen = self._faiss.IDSelectorBitmap(bitmap)
            parameters = self._faiss.SearchParameters(sel=chosen)
        _, rows = self._index.search(wanted, TOP_K, params=parameters)
        return [self._corpus.ids[row] for row in rows[0].tolist() if row >= 0]


class Usearch(Base):
    """Its exact search; under a filter over the rows that numpy picks."""

    name: ClassVar[str] = "usearch, exact"

    def __init__(self, corpus: Corpus) -> None:
        import usearch.index

        self._usearch, self._corpus = usearch.index, corpus
        self._columns = {field: corpus.column(field) for field in corpus.metadata[0]}

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        rows = None if field is None else np.flatnonzero(self._columns[field] == 0)
        vectors = self._corpus.vectors if rows is None else self._corpus.vectors[rows]
        cosine = self._usearch.MetricKind.Cos
        found = self._usearch.search(vectors, query, TOP_K, cosine, exact=True, threads=1)
        places = found.keys.tolist()
        return [self._corpus.ids[place if rows is None else int(rows[place])] for place in places]


class SqliteVec(Base):
    name: ClassVar[str] = "sqlite-vec"

    def __init__(self, corpus: Corpus) -> None:
        import sqlite3

        import sqlite_vec

        self._corpus = corpus
        self._connection = sqlite3.connect(":memory:")
        if not hasattr(self._connection, "enable_load_extension"):
            raise ImportError(name="a Python whose sqlite3 loads extensions")
        self._connection.enable_load_extension(True)
        sqlite_vec.load(self._connection)
        fields = list(corpus.metadata[0])
        columns = ", ".join(f"{field} integer" for field in fields)
        self._connection.execute(
            "create virtual table docs using vec0("
            f"embedding float[{corpus.dimension}] distance_metric=cosine, {columns})"
        )
        marks = ", ".join("?" * (2 + len(fields)))
        self._connection.executemany(
            f"insert into docs(rowid, embedding, {', '.join(fields)}) values ({marks})",
            (
                (row, corpus.vectors[row].tobytes(), *corpus.metadata[row].values())
                for row in range(len(corpus.ids))
            ),
        )

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        condition = "" if field is None else f" and {field} = 0"
        found = self._connection.execute(
            f"select rowid from docs where embedding match ? and k = {TOP_K}{condition}",
            (query.tobytes(),),
        )
        return [self._corpus.ids[row] for (row,) in found]

    def close(self) -> None:
        self._connection.close()


class QdrantLocal(Base):
    name: ClassVar[str] = "qdrant-client, local"
    most: ClassVar[int] = 20_000

    def __init__(self, corpus: Corpus) -> None:
        from qdrant_client import QdrantClient, models

        self._models, self._ids = models, corpus.ids
        self._client = QdrantClient(":memory:")
        size = models.VectorParams(size=corpus.dimension, distance=models.Distance.COSINE)
        self._client.create_collection("docs", vectors_config=size)
        self._client.upload_points(
            "docs",
            (
                models.PointStruct(id=row, vector=vector.tolist(), payload=corpus.metadata[row])
                for row, vector in enumerate(corpus.vectors)
            ),
        )

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        models, filter = self._models, None
        if field is not None:
            test = models.FieldCondition(key=field, match=models.MatchValue(value=0))
            filter = models.Filter(must=[test])
        found = self._client.query_points(
            "docs", query=query.tolist(), limit=TOP_K, query_filter=filter, with_payload=True
        )
        return [self._ids[int(point.id)] for point in found.points]

    def close(self) -> None:
        self._client.close()


class QdrantEdge(Base):
    name: ClassVar[str] = "qdrant-edge"

    def __init__(self, corpus: Corpus) -> None:
        import qdrant_edge as edge

        self._edge, self._ids = edge, corpus.ids
        self._folder = tempfile.mkdtemp(prefix="vecstore-bench-")
        size = edge.EdgeVectorParams(size=corpus.dimension, distance=edge.Distance.Cosine)
        self._shard = edge.EdgeShard.create(
            self._folder, edge.EdgeConfig(vectors=size, wal_enabled=False)
        )
        for start in range(0, len(corpus.ids), 1_000):
            points = [
                edge.Point(row, corpus.vectors[row].tolist(), dict(corpus.metadata[row]))
                for row in range(start, min(start + 1_000, len(corpus.ids)))
            ]
            self._shard.update(edge.UpdateOperation.upsert_points(points))

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        edge, filter = self._edge, None
        if field is not None:
            test = edge.FieldCondition(field, match=edge.MatchValue(0))
            filter = edge.Filter(must=[test])
        found = self._shard.query(
            edge.QueryRequest(
                query=edge.Query.Nearest(query.tolist()),
                limit=TOP_K,
                filter=filter,
                with_payload=True,
                params=edge.SearchParams(exact=True),
            )
        )
        return [self._ids[point.id] for point in found]

    def close(self) -> None:
        self._shard.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Langchain(Base):
    name: ClassVar[str] = "langchain-core"
    most: ClassVar[int] = 20_000

    def __init__(self, corpus: Corpus) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        class Given(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return corpus.vectors.tolist()

            def embed_query(self, text: str) -> list[float]:
                raise NotImplementedError

        self._store = InMemoryVectorStore(Given())
        self._store.add_texts(corpus.texts, corpus.metadata, ids=corpus.ids)

    def search(self, query: np.ndarray, field: str | None) -> list[str]:
        chosen = None if field is None else (lambda document: document.metadata[field] == 0)
        found = self._store.similarity_search_by_vector(query.tolist(), k=TOP_K, filter=chosen)
        return [document.id for document in found]


PEERS: list[type[Peer]] = [Faiss, Usearch, SqliteVec, QdrantEdge, QdrantLocal, Langchain]
