"""The contract of stores on the real server."""

from __future__ import annotations

from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.dialects.pgvector.langchain_table import STRANGERS, langchain_table
from tests.store.choices import AWAITED, OF_EVERY_METRIC, ON_AN_ENGINE_REPEATED, OTHER_INDEX
from vecstore import VectorStore
from vecstore.dialects.pgvector.rows import vector_text
from vecstore.dialects.pgvector.store import PgvectorStore
from vecstore.testing import (
    AsyncStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.searching import Searching

_numbers = count(1)


class OnPostgres:
    """Each store in a table of its own, which goes with it."""

    index: str | None = None

    dsn: str

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, postgres_dsn: str) -> None:
        cls.dsn = postgres_dsn

    def make_store(self, **options: Any) -> VectorStore:
        return PgvectorStore(
            self.dsn,
            table=f"suite_{next(_numbers)}",
            create=True,
            index=self.index,
            **options,
        )

    def damage(self, store: VectorStore, kind: str) -> bool:
        assert isinstance(store, PgvectorStore)
        metadata: dict[str, str | None] = {
            "metadata is a list": '[1, "a"]',
            "metadata is a text": '"text"',
            "metadata is null": "null",
            "no metadata": None,
        }
        if kind not in {*metadata, "no text", "nothing"}:
            return False  # the columns' types forbid it
        text = None if kind in ("no text", "nothing") else "damaged"
        vector = vector_text(vector_of("damaged"))
        row = ["damaged", text, metadata.get(kind, '{"n": -1}'), vector]
        table = sql.Identifier(store._spec.table)
        with store.native.connection() as connection:
            for column in ("text", "metadata"):
                connection.execute(
                    sql.SQL("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL").format(
                        table, sql.Identifier(column)
                    )
                )
            connection.execute(sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s)").format(table), row)
        return True

    def discard(self, store: PgvectorStore) -> None:
        store.close()
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            table = sql.Identifier(store._spec.table)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))


class TestExact(OnPostgres, StoreSuite):
    repeats = ON_AN_ENGINE_REPEATED


class InLangchainsTable(OnPostgres):
    """A table as LangChain makes it, which holds another collection, of other vectors, as well."""

    def make_store(self, **options: Any) -> VectorStore:
        table = f"suite_{next(_numbers)}"
        ours = langchain_table(self.dsn, table)
        return PgvectorStore(
            self.dsn,
            table=table,
            text_column="document",
            metadata_column="cmetadata",
            index=None,
            where={"collection_id": ours},
            **options,
        )

    def damage(self, store: VectorStore, kind: str) -> bool:
        return False

    def discard(self, store: PgvectorStore) -> None:
        name = sql.Identifier(store._spec.table)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            rows = connection.execute(
                sql.SQL("SELECT id FROM {} WHERE collection_id <> %s ORDER BY id").format(name),
                [store._spec.where[0][1]],
            ).fetchall()
        super().discard(store)
        assert [row[0] for row in rows] == STRANGERS, "rows of the other collection are gone"


class TestInLangchainsTable(InLangchainsTable, StoreSuite):
    chosen = (
        "test_clear",
        "test_delete_by_filter_and_by_both",
        "test_set_and_unset",
        "test_skip_leaves_what_is_there",
        "test_the_nearest_among_those_that_match",
    )


class TestReopened(OnPostgres, PersistentStoreTests):
    def open_again(self, store: PgvectorStore, **options: Any) -> VectorStore:
        return PgvectorStore(self.dsn, table=store._spec.table, index=None, **options)


class TestAwaited(OnPostgres, AsyncStoreSuite):
    chosen = AWAITED


class TestScoped(OnPostgres, ScopedStoreSuite):
    chosen = ()


class TestHnsw(OnPostgres, StoreSuite):
    chosen = OTHER_INDEX
    index = "hnsw"


class TestDotScores(OnPostgres, Searching):
    repeats = OF_EVERY_METRIC
    metric = "dot"


class TestEuclideanScores(OnPostgres, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"


class TestHnswEuclideanScores(OnPostgres, Searching):
    repeats = OF_EVERY_METRIC
    metric = "euclidean"
    index = "hnsw"
