"""A store's query for a filter is kept and shared by its calls: none of them may change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vecstore import Document, MilvusStore, PgvectorStore, QdrantStore, VectorStore, parse

TEXT = "year >= 2001 AND lang IN ['en', 'de'] AND NOT (tag == 'x' OR n IN [1, 2.5, true])"
METADATA: list[dict[str, Any]] = [
    {"year": 2000 + number, "lang": "en", "n": number, "tag": "y"} for number in range(6)
]


@pytest.fixture(params=["qdrant", "milvus", "pgvector"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    made: VectorStore
    if request.param == "qdrant":
        made = QdrantStore("kept", location=":memory:", dimension=2)
    elif request.param == "milvus":
        made = MilvusStore("kept", uri=str(tmp_path / "kept.db"), dimension=2)
    else:
        dsn = request.getfixturevalue("postgres_dsn")
        made = PgvectorStore(dsn, table="kept_queries", dimension=2, create=True)
    with made as store:
        store.clear()
        yield store
        store.clear()


def test_no_call_changes_the_query_that_it_was_given(store: VectorStore) -> None:
    ids = [f"d{number}" for number in range(len(METADATA))]
    store.add(
        [
            Document("text", one, id=id, embedding=[1, 1])
            for one, id in zip(METADATA, ids, strict=True)
        ]
    )
    filter = parse(TEXT)
    wanted = {id for one, id in zip(METADATA, ids, strict=True) if filter.matches(one)}
    assert len(wanted) == 4
    dialect: Any = store._dialect  # type: ignore[attr-defined]
    kept = dialect.compile_to_read(filter)
    view = store.scoped(filter)
    for _ in range(3):
        options: dict[str, Any] = {"filter": filter, "top_k": 6}
        found = [
            store.search(vector=[1, 0], **options),
            store.search(vector=[1, 0], **options, ids=ids, exclude_ids=["other"]),
            store.search(vector=[1, 0], **options, exclude_ids=["other"]),
            store.search_many(vectors=[[1, 0], [0, 1]], **options)[1],
            store.get(filter=filter),
            store.get(ids, filter=filter),
            store.get(filter=filter, order_by="year"),
            list(store.scan(filter, batch_size=2)),
            view.get(),
        ]
        for documents in found:
            assert {one.id for one in documents} == wanted
        assert store.count(filter) == view.count() == len(wanted)
        assert store.update_metadata(filter=filter, set={"seen": True}) == len(wanted)
        assert store.update_metadata(ids, filter=filter, unset=["seen"]) == len(wanted)
        assert {one.value for one in store.distinct("year", filter)} == {2002, 2003, 2004, 2005}
        view.add([Document("text", METADATA[5], id="d5", embedding=[1, 1])])
    assert store.delete(ids, filter=filter) == len(wanted)
    assert store.delete(filter=filter) == 0
    assert dialect.compile_to_read(filter) is kept
    assert kept == dialect.convert(filter)
