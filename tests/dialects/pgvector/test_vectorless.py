"""Rows without a vector: where they can be, and what becomes of searches beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from tests.dialects.pgvector.langchain_table import langchain_table
from tests.dialects.pgvector.test_shared_table import COLUMNS
from vecstore import ConfigurationError, Document, DocumentError
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]

ODD = 'it\'s "odd" %s'


def bare(*ids: str) -> list[Document]:
    return [Document("no vector", {"kind": "bare"}, id=id) for id in ids]


def full(count: int) -> list[Document]:
    vectors = np.random.default_rng(5).standard_normal((count, 8))
    return [
        Document("vector", {"kind": "full", "n": n}, f"full {n:05}", vector)
        for n, vector in enumerate(vectors)
    ]


def ids(found: Any) -> list[str]:
    return [one.id for one in found]


def test_a_column_that_is_not_null_is_told_with_the_line_that_changes_it(
    open_pg: Open, postgres_dsn: str
) -> None:
    """A table that was made before there were documents without a vector."""
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        name = sql.Identifier(ODD)
        connection.execute(
            sql.SQL(
                "CREATE TABLE {} (id text PRIMARY KEY, text text NOT NULL, metadata jsonb NOT NULL "
                "DEFAULT '{{}}', {} vector(8) NOT NULL)"
            ).format(name, name)
        )
        try:
            store = open_pg(table=ODD, embedding_column=ODD, create=False)
            assert not store.capabilities.vectorless
            store.add(full(2), embed=False)
            with pytest.raises(DocumentError, match="is NOT NULL") as caught:
                store.add([*full(3), *bare("a", "b")], embed=False)
            assert caught.value.faulty_ids == ["a", "b"]
            assert store.count() == 2
            told = re.search(r"; run (ALTER .*?); and open the store again", str(caught.value))
            quoted = '"it\'s ""odd"" %s"'
            line = told[1] if told else ""
            assert line == f"ALTER TABLE {quoted} ALTER COLUMN {quoted} DROP NOT NULL"
            connection.execute(line.encode())
            again = open_pg(table=ODD, embedding_column=ODD, create=False)
            again.add(bare("a", "b"), embed=False)
            # Also a store that found the column otherwise leaves them out.
            for one in (store, again):
                assert ids(one.search(vector=np.ones(8), top_k=9)) == ids(
                    one.search(vector=np.ones(8), top_k=9, filter="kind == 'full'")
                )
                assert len(one.search(vector=np.ones(8), top_k=9)) == 2
                assert one.count() == 4
        finally:
            connection.execute(sql.SQL("DROP TABLE {}").format(name))


def test_a_table_is_made_by_them_where_its_dimension_is_known(open_pg: Open) -> None:
    store = open_pg()
    for index in range(2):
        with pytest.raises(ConfigurationError, match="dimension=") as caught:
            store.add(bare("a", f"{index}"), embed=False)
        assert (caught.value.stored_ids, store.count()) == ([], 0)
    store.add([*bare("a"), *full(1)], embed=False)  # whose vector comes first
    assert (store.count(), store.dimension) == (2, 8)


@pytest.mark.parametrize("index", [None, "hnsw"])
@pytest.mark.parametrize("many", [30, 700])
def test_searches_beside_many_of_them(open_pg: Open, index: Any, many: int) -> None:
    """By COPY and by arrays, exactly and by the index, whether or not that was asked first."""
    for exact_below in (5_000, 0):
        store = open_pg(index=index, dimension=8, exact_below=exact_below)
        store.clear()
        documents = full(600)
        store.add([*bare(*[f"bare {n}" for n in range(many)]), *documents], embed=False)
        query = np.ones(8)
        for filter in (None, "kind == 'full' OR kind == 'bare'", "n < 5 OR kind == 'bare'"):
            wanted = 5 if filter and "n <" in filter else 600
            for top_k in (3, 5):
                found = store.search(vector=query, top_k=top_k, filter=filter)
                assert [one.metadata["kind"] for one in found] == ["full"] * min(top_k, wanted)
            assert len(store.search(vector=query, top_k=900, filter=filter)) == wanted
        assert store.search(vector=query, filter="kind == 'bare'") == []
        assert store.count("kind == 'bare'") == many


def plan(store: PgvectorStore, statement: str, params: dict[str, Any]) -> str:
    with store.native.connection() as connection, connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", params)
        [(found,)] = cursor.fetchall()
        connection.rollback()
    return json.dumps(found)


def test_the_index_on_vectors_is_used_as_it_was(open_pg: Open) -> None:
    store = open_pg(dimension=8)
    store.add([*full(600), *bare(*[f"bare {n}" for n in range(200)])], embed=False)
    assert store._sql is not None
    params = {"query": "[1,1,1,1,1,1,1,1]", "top_k": 5}
    used = plan(store, store._sql.approximate("", False, None), params)
    assert "vector_ix" in used
    assert "Seq Scan" not in used


def test_in_a_table_that_several_collections_share(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    ours = langchain_table(postgres_dsn, table)
    store = open_pg(where={"collection_id": ours}, **COLUMNS)
    assert store.capabilities.vectorless
    others = open_pg(**COLUMNS).count()
    store.add(bare("a", "b"), embed=False)
    assert (store.count(), store.dimension, store.search(vector=[1, 0])) == (2, None, [])
    store.add([Document("", id="c", embedding=[1, 0]), *bare("d")], embed=False)
    assert ids(store.search(vector=[1, 0], top_k=9)) == ["c"]
    assert sorted(ids(store.get())) == ["a", "b", "c", "d"]
    assert open_pg(**COLUMNS).count() == others + 4
    scope = store.scoped("kind == 'mine'")
    scope.add([Document("", id="e")], embed=False)
    assert (ids(scope.get()), scope.search(vector=[1, 0])) == (["e"], [])
    assert store.delete(filter="kind IN ['bare', 'mine']") == 4
    assert ids(store.get()) == ["c"]
