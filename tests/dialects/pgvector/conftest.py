from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from vecstore.dialects.pgvector.store import PgvectorStore

_numbers = count(1)


@pytest.fixture
def table(postgres_dsn: str) -> Iterator[str]:
    """The name of a table that is dropped afterwards; it does not exist yet."""
    import psycopg
    from psycopg import sql

    name = f"store_{next(_numbers)}"
    yield name
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture
def open_pg(postgres_dsn: str, table: str) -> Iterator[Callable[..., PgvectorStore]]:
    """Open stores on the test's own table; all are closed afterwards."""
    opened: list[PgvectorStore] = []

    def open_one(**options: Any) -> PgvectorStore:
        settings = {"table": table, "create": True, **options}
        if "pool" not in settings:
            settings.setdefault("dsn", postgres_dsn)
        store = PgvectorStore(**settings)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()
