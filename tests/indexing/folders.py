"""What sync tests work on: a folder that is a dict, stores of every engine, and stores that die."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from vecstore import CountBatching, Selection, SimpleVectorStore, VectorStore
from vecstore.indexing import Source, SyncReport, TokenSplitter, sync
from vecstore.indexing import text_source as a_source
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder

CORPUS = 'it\'s a "corpus"'
SPLIT = TokenSplitter(12)
ENGINES = ("memory", "pgvector", "qdrant", "milvus")
_numbers = count(1)


class Crash(BaseException):
    """The process dies: nothing catches this, as nothing catches a kill."""


def sources(files: Mapping[str, str], **metadata: Any) -> list[Source]:
    return [
        a_source(name, text, "markdown" if name.endswith(".md") else "text", metadata)
        for name, text in sorted(files.items())
    ]


def bring(store: VectorStore, files: Mapping[str, str], **options: Any) -> SyncReport:
    options = {"corpus": CORPUS, "split": SPLIT, "remove": "missing", **options}
    return sync(store, sources(files), **options)


def make_store(engine: str, folder: Path, dsn: Callable[[], str], **options: Any) -> VectorStore:
    """A new store of an engine, with an embedder that remembers what it was asked."""
    given: dict[str, Any] = {
        "embedder": TextEmbedder(),
        "dimension": DIMENSION,
        "batching": CountBatching(2),
        **options,
    }
    name = f"sync_{next(_numbers)}"
    if engine == "pgvector":
        from vecstore.dialects.pgvector.store import PgvectorStore

        return PgvectorStore(dsn(), table=name, create=True, **given)
    if engine == "qdrant":
        from vecstore.dialects.qdrant.store import QdrantStore

        return QdrantStore(name, location=":memory:", **given)
    if engine == "milvus":
        from vecstore.dialects.milvus.store import MilvusStore

        return MilvusStore(name, uri=str(folder / "docs.db"), **given)
    return SimpleVectorStore(**given)


def content(store: VectorStore) -> dict[str, tuple[str, dict[str, Any], list[float]]]:
    """All that a store holds, by id; vectors by their direction, to four digits."""
    held = {}
    for one in store.scan(include_embedding=True):
        assert one.embedding is not None
        vector = np.asarray(one.embedding, np.float64)
        vector = np.round(vector / np.linalg.norm(vector), 4) + 0.0
        held[one.id] = (one.text, one.metadata, vector.tolist())
    return held


def fresh(files: Mapping[str, str], **options: Any) -> dict[str, Any]:
    store = SimpleVectorStore(TextEmbedder(), embed_as=options.pop("embed_as", None))
    bring(store, files, **options)
    return content(store)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    __tracebackhide__ = True
    assert sorted(one) == sorted(other)
    for id, (text, metadata, vector) in one.items():
        assert (text, metadata) == other[id][:2]
        assert np.allclose(vector, other[id][2], atol=2e-4), id


@contextmanager
def dying(store: VectorStore, rng: random.Random, writes: int) -> Iterator[list[str]]:
    """The store dies at one of its next writes: before it, in the middle of it, or after it."""
    left = rng.randrange(writes)
    how = rng.choice(["before", "half", "after"])
    died: list[str] = []
    add, delete = store._add, store._delete_filtered

    def at_a_write(write: Callable[[], Any], half: Callable[[], Any]) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            return write()
        if how == "half":
            half()
        elif how == "after":
            write()
        died.append(how)
        raise Crash

    def adding(batch: Any) -> Iterable[str]:
        size = (len(batch.ids) + 1) // 2
        part = replace(
            batch,
            ids=batch.ids[:size],
            texts=batch.texts[:size],
            metadata=batch.metadata[:size],
            vectors=batch.vectors[:size],
            extras=batch.extras[:size],
        )
        return at_a_write(lambda: add(batch), lambda: add(part))  # type: ignore[no-any-return]

    def deleting(filter: Any) -> int:
        def half() -> None:
            found = store._scan(filter, batch_size=100, include_embedding=False)
            ids = [one.id for one in list(found) if rng.random() < 0.5]
            if ids:
                store._delete(Selection(ids=tuple(ids), filter=filter))

        return at_a_write(lambda: delete(filter), half)  # type: ignore[no-any-return]

    store._add = adding  # type: ignore[method-assign]
    store._delete_filtered = deleting  # type: ignore[method-assign]
    try:
        yield died
    finally:
        del store._add, store._delete_filtered
