"""A filter never shortens a search: with an index, wherever the matches lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from psycopg.conninfo import make_conninfo

from vecstore import Document, Expression, F
from vecstore.dialects.pgvector.rows import vector_text
from vecstore.dialects.pgvector.statements import Statements
from vecstore.dialects.pgvector.store import PgvectorStore

TOP_K = 10
FILTERS: dict[str, Expression] = {
    "EQ": F.group == "in",
    "NE": F.outside != True,  # noqa: E712
    "ordering": F.rank >= 0,
}


def fill(store: PgvectorStore, count: int, matching: int, place: str, dimension: int) -> np.ndarray:
    """Documents of which some match, lying nearest to the query, anywhere, or farthest from it."""
    vectors = np.random.default_rng(3).normal(size=(count, dimension)).astype(np.float32)
    query = vectors[0] * 0 + 1
    order = np.argsort(-(vectors @ query) / np.linalg.norm(vectors, axis=1))
    chosen = {
        "nearest": order[:matching],
        "farthest": order[-matching:],
        "random": np.random.default_rng(4).permutation(count)[:matching],
    }[place]
    inside = set(chosen.tolist())
    store.add(
        Document(
            "",
            {"group": "in", "rank": n}
            if n in inside
            else {"group": "out", "rank": -1 - n, "outside": True},
            id=f"{n:06}",
            embedding=vectors[n],
        )
        for n in range(count)
    )
    return query


def exact_ids(store: PgvectorStore, query: np.ndarray, filter: Expression) -> set[str]:
    found = store.get(filter=filter, include_embedding=True)
    scores = {
        d.id: float(d.embedding @ query / np.linalg.norm(d.embedding) / np.linalg.norm(query))
        for d in found
    }
    return set(sorted(scores, key=lambda id: (-scores[id], id))[:TOP_K])


def check(store: PgvectorStore, query: np.ndarray) -> None:
    for name, filter in FILTERS.items():
        found = store.search(vector=query, top_k=TOP_K, filter=filter)
        assert {d.id for d in found} == exact_ids(store, query, filter), name


@pytest.mark.parametrize("place", ["nearest", "random", "farthest"])
def test_few_matches_among_many(open_pg: Callable[..., PgvectorStore], place: str) -> None:
    store = open_pg(dimension=16, exact_below=500)
    query = fill(store, 3_000, 30, place, 16)
    check(store, query)
    # Without the probe the index is asked first, comes back short, and the search is repeated.
    store._exact_below = 0
    for filter in FILTERS.values():
        found = store.search(vector=query, top_k=40, filter=filter)
        assert len(found) == 30


def test_the_index_alone_would_fall_short(open_pg: Callable[..., PgvectorStore]) -> None:
    """What the two measures are for: the plain index scan returns too little."""
    store = open_pg(dimension=16)
    query = fill(store, 3_000, 30, "farthest", 16)
    with store.native.connection() as connection, connection.transaction():
        connection.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
        )
        plain = connection.execute(
            f'SELECT id FROM {store._spec.table} WHERE metadata @> \'{{"group": "in"}}\' '
            "ORDER BY embedding <=> %s::float4[]::vector LIMIT 10",
            [query.tolist()],
        ).fetchall()
    assert len(plain) < TOP_K
    assert len(store.search(vector=query, top_k=TOP_K, filter="group == 'in'")) == TOP_K


def test_unfiltered_searches_use_the_index_and_return_all_that_was_asked_for(
    open_pg: Callable[..., PgvectorStore],
) -> None:
    store = open_pg(dimension=16)
    query = fill(store, 3_000, 30, "random", 16)
    assert store._sql is not None
    statement = store._sql.approximate("", False, None)
    with store.native.connection() as connection:
        params = {"query": vector_text(query), "top_k": 10}
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}", params))
    assert "_vector_ix" in plan
    store._exact_below = 0
    for top_k in (1, 10, 500, 3_000, 10_000):
        assert len(store.search(vector=query, top_k=top_k)) == min(top_k, 3_000)


def test_among_ids_every_row_is_looked_at(
    open_pg: Callable[..., PgvectorStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    approximate = Statements.approximate
    asked: list[str] = []

    def noted(statements: Statements, where: str, *given: Any) -> str:
        asked.append(where)
        return approximate(statements, where, *given)

    monkeypatch.setattr(Statements, "approximate", noted)
    store = open_pg(dimension=2, exact_below=0)
    store.add([Document("", id=f"{n:02}", embedding=[1, n]) for n in range(12)])
    ids = ["03", "07", "09"]
    assert {one.id for one in store.search(vector=[1, 0], ids=ids, top_k=3)} == {*ids}
    assert asked == []
    store._exact_below = 10
    for _ in range(2):  # the second time, that there are many rows is known
        asked.clear()
        assert len(store.search(vector=[1, 0], top_k=4)) == 4
        assert len(asked) == 1
        left = store.search(vector=[1, 0], top_k=4, exclude_ids=[f"{n:02}" for n in range(6)])
        assert [one.id for one in left] == ["06", "07", "08", "09"]
        assert len(asked) == 1


def test_a_search_that_the_index_leaves_short_is_repeated(
    open_pg: Callable[..., PgvectorStore], postgres_dsn: str
) -> None:
    """The server gives up where the index has led it to as many rows as it is told here."""
    dsn = make_conninfo(postgres_dsn, options="-chnsw.max_scan_tuples=1")
    store = open_pg(dsn=dsn, dimension=16, exact_below=0)
    check(store, fill(store, 3_000, 30, "farthest", 16))


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("matching", [1_000, 100, 10])
def test_100_000_documents(open_pg: Callable[..., PgvectorStore], matching: int) -> None:
    places = ("nearest", "random", "farthest")
    store = open_pg(dimension=32)
    vectors = np.random.default_rng(3).normal(size=(100_000, 32)).astype(np.float32)
    query = np.ones(32, dtype=np.float32)
    order = np.argsort(-(vectors @ query) / np.linalg.norm(vectors, axis=1))
    inside = {
        "nearest": set(order[:matching].tolist()),
        "random": set(np.random.default_rng(4).permutation(100_000)[:matching].tolist()),
        "farthest": set(order[-matching:].tolist()),
    }

    def metadata(n: int) -> dict[str, object]:
        result: dict[str, object] = {}
        for place in places:
            result[f"{place}_group"] = "in" if n in inside[place] else "out"
            result[f"{place}_rank"] = n if n in inside[place] else -1 - n
            if n not in inside[place]:
                result[f"{place}_outside"] = True
        return result

    store.add(Document("", metadata(n), id=f"{n:06}", embedding=vectors[n]) for n in range(100_000))
    similarity = (vectors @ query) / np.linalg.norm(vectors, axis=1)
    for place in places:
        rows = sorted(inside[place], key=lambda n: (-similarity[n], n))[:TOP_K]
        for filter in (
            F[f"{place}_group"] == "in",
            F[f"{place}_outside"] != True,  # noqa: E712
            F[f"{place}_rank"] >= 0,
        ):
            found = store.search(vector=query, top_k=TOP_K, filter=filter)
            assert {d.id for d in found} == {f"{n:06}" for n in rows}, (place, filter)


def test_a_small_table_is_searched_exactly_whatever_became_of_its_index(
    open_pg: Callable[..., PgvectorStore],
) -> None:
    """Entries of deleted rows stay in the index until vacuum, and take up its candidates."""
    store = open_pg(dimension=16)
    vectors = np.random.default_rng(5).normal(size=(300, 16)).astype(np.float32)
    for _ in range(6):
        store.add(
            [Document("", id=f"{n:03}", embedding=vector) for n, vector in enumerate(vectors)]
        )
        store.delete([f"{n:03}" for n in range(12, 300)])
    query = vectors[40]
    scores = vectors[:12] @ query / np.linalg.norm(vectors[:12], axis=1)
    wanted = [f"{n:03}" for n in np.argsort(-scores)]
    for top_k in (1, 2, 5, 12):
        assert [d.id for d in store.search(vector=query, top_k=top_k)] == wanted[:top_k]
