"""On PostgreSQL whom an id belongs to is decided by the statement that writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.postgres import promoted
from vecstore import Document, F, ScopeError
from vecstore.dialects.pgvector.store import PgvectorStore


@pytest.fixture
def store(postgres_dsn: str) -> Iterator[PgvectorStore]:
    import psycopg

    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute('DROP TABLE IF EXISTS "sco%ped"')
    made = PgvectorStore(
        postgres_dsn, table="sco%ped", create=True, dimension=2, **promoted({"tenant": "str"})
    )
    yield made
    made.close()
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute('DROP TABLE "sco%ped"')


def document(id: str, **metadata: Any) -> Document:
    return Document("text", metadata, id, [1.0, 1.0])


@pytest.mark.parametrize("mode", ["replace", "skip", "error"])
@pytest.mark.parametrize("size", [1, 300])  # by arrays, and by COPY
def test_an_id_outside_rolls_the_whole_batch_back(
    store: PgvectorStore, mode: Any, size: int
) -> None:
    theirs = store.scoped(F.tenant == "b")
    theirs.add([document("taken", n=1)])
    ours = store.scoped((F.tenant == "a") & (F.n.is_null() | (F.n >= 0)))
    batch = [document(f"{number}") for number in range(size)]
    with pytest.raises(ScopeError) as caught:
        ours.add([*batch, document("taken")], on_conflict=mode)
    assert caught.value.__cause__ is None
    assert ours.count() == 0
    assert theirs.get(["taken"])[0].metadata == {"tenant": "b", "n": 1}
    assert ours.add(batch, on_conflict=mode) == [one.id for one in batch]
    if mode != "error":
        assert ours.add(batch, on_conflict=mode) == [one.id for one in batch]
    assert ours.count() == size


def test_two_tenants_that_write_one_id_at_the_same_moment(store: PgvectorStore) -> None:
    """One gets it, the other is refused; nobody's document is ever replaced by the other's."""
    for number in range(15):
        start, outcomes = threading.Barrier(2), {}

        def write(
            tenant: str, start: Any = start, id: str = f"{number}", to: Any = outcomes
        ) -> None:
            view = store.scoped(F.tenant == tenant)
            start.wait(30)
            try:
                view.add([document(id, by=tenant)])
                to[tenant] = True
            except ScopeError:
                to[tenant] = False

        threads = [threading.Thread(target=write, args=(tenant,)) for tenant in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes.values()) == [False, True]
        (held,) = store.get([f"{number}"])
        assert outcomes[held.metadata["by"]]
        assert held.metadata["tenant"] == held.metadata["by"]
