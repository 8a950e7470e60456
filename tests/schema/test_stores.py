"""Stores that are given a schema: filters are checked before the engine, documents when added."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vecstore import (
    ConfigurationError,
    Document,
    DocumentError,
    F,
    FilterTypeError,
    Schema,
    ScopeError,
    SimpleVectorStore,
    SkippedDocumentsWarning,
    VectorStore,
    open_store,
)

SCHEMA = Schema({"year": int, "price": float, "created": datetime, "tenant": str})


@pytest.fixture(params=["memory", "qdrant", "milvus", "pgvector"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    if request.param == "pgvector":
        dsn = request.getfixturevalue("postgres_dsn")
        from vecstore.dialects.pgvector.store import PgvectorStore

        opened: VectorStore = PgvectorStore(
            dsn, table="with_schema", create=True, dimension=2, schema=SCHEMA
        )
        opened.clear()
    else:
        url = {
            "memory": "memory:",
            "qdrant": "qdrant:?collection=docs",
            "milvus": f"milvus://{tmp_path}/m.db?collection=docs",
        }[request.param]
        opened = open_store(url, dimension=2, schema=SCHEMA)
    with opened:
        yield opened


def document(id: str, **metadata: Any) -> Document:
    return Document("text", metadata, id=id, embedding=[1, 0])


def test_filters_and_documents_are_held_against_it(store: VectorStore) -> None:
    assert store.schema is SCHEMA
    with pytest.raises(DocumentError, match="document 'b' does not fit the schema: yaer"):
        store.add([document("a", year=1), document("b", yaer=1)])
    assert store.count() == 0
    store.add([document("a", year=2020.0, price=3, created=datetime(2024, 1, 1, tzinfo=UTC))])
    [stored] = store.get()
    assert type(stored.metadata["year"]) is int
    assert SCHEMA.load(stored.metadata)["created"] == datetime(2024, 1, 1, tzinfo=UTC)
    calls: list[Any] = [
        lambda f: store.search(vector=[1, 0], filter=f),
        lambda f: store.get(filter=f),
        lambda f: store.count(f),
        lambda f: list(store.scan(f)),
        lambda f: store.delete(filter=f),
        lambda f: store.update_metadata(filter=f, set={"year": 1}),
    ]
    for call in calls:
        with pytest.raises(FilterTypeError, match="did you mean year"):
            call("yaer == 2020")
        with pytest.raises(FilterTypeError, match="holds integers"):
            call(F.year == "2020")
    assert store.count("year == 2020") == 1


def test_updates_are_held_against_it(store: VectorStore) -> None:
    store.add([document("a", year=1)])
    for change in ({"year": "x"}, {"yaer": 1}, {"created": "2024-01-01"}):
        with pytest.raises(DocumentError, match="the metadata does not fit the schema"):
            store.update_metadata(["a"], set=change)
    assert store.update_metadata(["a"], set={"year": 5.0, "price": 2}, unset=["tenant"]) == 1
    assert store.get()[0].metadata == {"year": 5, "price": 2.0}


def test_documents_that_do_not_fit_can_be_left_out() -> None:
    store = SimpleVectorStore(schema=SCHEMA)
    with pytest.warns(SkippedDocumentsWarning, match="yaer"):
        added = store.add([document("a", year=1), document("b", yaer=1)], on_error="skip")
    assert added == ["a"]


def test_views_and_awaited_calls_have_it() -> None:
    store = SimpleVectorStore(schema=SCHEMA)
    ours = store.scoped(F.tenant == "ours")
    assert ours.schema is SCHEMA
    ours.add([document("a", year=1)])
    with pytest.raises(FilterTypeError):
        ours.count("yaer == 1")
    with pytest.raises(DocumentError):
        ours.add([document("b", yaer=1)])
    with pytest.raises(ScopeError):
        store.scoped(F.owner == "ours")

    async def awaited() -> int:
        with pytest.raises(FilterTypeError):
            await store.aio.count("yaer == 1")
        return await store.aio.count("year == 1")

    assert asyncio.run(awaited()) == 1


def test_it_is_a_schema() -> None:
    with pytest.raises(ConfigurationError, match="schema is a Schema, not a dict"):
        SimpleVectorStore(schema={"year": int})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="namespace"):
        open_store("memory:", schema="public")


def test_it_goes_with_a_store_into_another_process(tmp_path: Path) -> None:
    with open_store(f"qdrant:///{tmp_path}?collection=docs", dimension=2, schema=SCHEMA) as store:
        reduced = store.__reduce__()
    assert pickle.loads(pickle.dumps(reduced[1][2]))["schema"] == SCHEMA
