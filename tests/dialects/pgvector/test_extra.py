"""The column for what stands beside metadata, in tables that others change meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from vecstore import BackendError, Document, DocumentError
from vecstore.dialects.pgvector.store import PgvectorStore

OLD = (
    "CREATE TABLE late (id text PRIMARY KEY, text text NOT NULL, "
    "metadata jsonb NOT NULL DEFAULT '{}', embedding vector(2))"
)


@pytest.fixture
def others(postgres_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS late")
        yield connection
        connection.execute("DROP TABLE IF EXISTS late")


def one(id: str, extra: Any = None) -> Document:
    return Document("text", {"n": 1}, id, [1, 0], extra=extra)


def test_no_extra_is_lost_in_a_table_that_others_made_meanwhile(
    open_pg: Callable[..., PgvectorStore], others: psycopg.Connection[Any]
) -> None:
    store = open_pg(table="late")
    others.execute(OLD)
    with pytest.raises(DocumentError, match="'b' has an extra, and the table") as caught:
        store.add([one("a"), one("b", [1])])
    assert store.count() == 0
    store.add([one("a")])
    (line,) = re.findall("run (ALTER .*?); and", str(caught.value))
    others.execute(line.encode())
    column = re.findall('extra_column="(.*?)"', str(caught.value))
    again = open_pg(table="late", **({"extra_column": column[0]} if column else {}))
    again.add([one("a", "theirs"), one("b", "theirs")])
    assert [found.extra for found in again.get(["a", "b"])] == ["theirs", "theirs"]


def test_a_store_that_found_no_column_leaves_nothing_behind_of_what_it_replaces(
    open_pg: Callable[..., PgvectorStore], others: psycopg.Connection[Any]
) -> None:
    first = open_pg(table="late", dimension=2)
    first.add([one("a")])
    others.execute("ALTER TABLE late DROP COLUMN extra")
    store = open_pg(table="late")
    assert not store.capabilities.keeps_extra
    # The store that looked at it before says what to do.
    with pytest.raises(BackendError, match="open it again"):
        first.add([one("b", [1])])
    with pytest.raises(DocumentError, match="keeps_extra") as caught:
        store.add([one("b", [1])])
    (line,) = re.findall("run (ALTER .*?); and", str(caught.value))
    others.execute(line.encode())
    again = open_pg(table="late")
    again.add([one("a", "theirs"), one("b", "theirs")])
    store.add([one("a")])
    for reader in (store, again):
        assert [found.extra for found in reader.get(["a", "b"])] == [None, "theirs"]
