"""Servers, roles, pools and tables as others have set them up."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row, namedtuple_row
from psycopg_pool import ConnectionPool

from tests.engines.postgres import promoted
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    FilterLimitError,
    SchemaMismatchError,
    open_store,
)
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]


def documents(count: int) -> list[Document]:
    return [Document("text", {"n": n}, id=f"d{n:04}", embedding=[1, n]) for n in range(count)]


def run(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[arg-type]


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[str]:
    """The address of an empty database of the test's own."""
    name = f"vecstore_{secrets.token_hex(6)}"
    run(postgres_dsn, f"CREATE DATABASE {name}")
    yield make_conninfo(postgres_dsn, dbname=name)
    run(postgres_dsn, f"DROP DATABASE {name} WITH (FORCE)")


class TestConnecting:
    @pytest.mark.parametrize(
        ("options", "says", "retryable"),
        [
            ({"host": "127.0.0.1", "port": "1"}, "no server listens there", True),
            ({"host": "/nowhere/at/all"}, "no server listens there", True),
            ({"host": "no-such-host.invalid"}, "(no such host|cannot be looked up)", None),
            ({"dbname": "no_such_database"}, "no such database", False),
            ({"user": "no_such_role"}, "no such role", False),
        ],
    )
    def test_what_is_wrong_is_said_at_once(
        self, postgres_dsn: str, options: dict[str, str], says: str, retryable: bool | None
    ) -> None:
        started = time.monotonic()
        with pytest.raises(BackendError, match=says) as caught:
            PgvectorStore(make_conninfo(postgres_dsn, **options), create=True)
        assert time.monotonic() - started < 20
        assert isinstance(caught.value.__cause__, psycopg.OperationalError)
        if retryable is not None:
            assert caught.value.retryable is retryable

    def test_a_wrong_password(self, postgres_dsn: str) -> None:
        from vecstore.dialects.pgvector.failures import Secrets, not_connected

        text = 'connection failed: FATAL:  password authentication failed for user "app" s3cret'
        error = not_connected("open", psycopg.OperationalError(text), Secrets(["s3cret"]))
        assert "does not accept this user and password" in str(error)
        assert "s3cret" not in str(error)
        assert not error.retryable

    def test_addresses_of_a_socket(self, open_pg: Open, postgres_dsn: str, table: str) -> None:
        open_pg(dimension=2).add(documents(3))
        parts = conninfo_to_dict(postgres_dsn)
        host, database = str(parts["host"]), parts["dbname"]
        if not host.startswith("/"):
            pytest.skip("the server has no socket")
        for url in (
            f"postgresql:///{database}?host={host}&user={parts['user']}&table={table}",
            f"postgresql://{parts['user']}@{quote(host, safe='')}/{database}?table={table}",
        ):
            with open_store(url, password="unused", sslmode="disable") as store:
                assert store.count() == 3

    def test_options_of_libpq(self, open_pg: Open, postgres_dsn: str, table: str) -> None:
        open_pg(dimension=2)
        parts = {key: str(value) for key, value in conninfo_to_dict(postgres_dsn).items()}
        url = f"postgresql:?table={table}&options={quote('-c work_mem=5MB')}"
        with open_store(url, **parts) as store, store.native.connection() as connection:
            assert connection.execute("SHOW work_mem").fetchone() == ("5MB",)
        with pytest.raises(BackendError, match="is no such value") as caught:
            open_store(url, **{**parts, "sslmode": "bogus"})
        assert not caught.value.retryable


class TestPools:
    @pytest.mark.parametrize("row_factory", [dict_row, namedtuple_row])
    def test_rows_of_any_kind(self, open_pg: Open, postgres_dsn: str, row_factory: Any) -> None:
        with ConnectionPool(
            postgres_dsn, min_size=0, max_size=2, kwargs={"row_factory": row_factory}, open=True
        ) as pool:
            store = open_pg(pool=pool, dimension=2)
            store.add(documents(100))
            assert store.count() == 100
            assert len(store.search(vector=[1, 0], filter="n > 3")) == 4
            assert len(list(store.scan(batch_size=7))) == 100
            assert store.update_metadata(["d0001"], set={"a": 1}) == 1

    def test_raw_cursors_and_no_autocommit(self, open_pg: Open, postgres_dsn: str) -> None:
        kwargs = {"cursor_factory": psycopg.RawCursor, "autocommit": False}
        with ConnectionPool(postgres_dsn, min_size=0, max_size=2, kwargs=kwargs, open=True) as pool:
            store = open_pg(pool=pool, dimension=2)
            store.add(documents(5))
            assert len(list(store.scan("n >= 0", batch_size=2))) == 5
            store.close()
        assert open_pg().count() == 5

    @pytest.mark.parametrize("foreign", [False, True])
    def test_a_pooler_that_loses_prepared_statements(
        self, open_pg: Open, postgres_dsn: str, foreign: bool
    ) -> None:
        kwargs = {"prepare_threshold": 0}
        pool = ConnectionPool(postgres_dsn, min_size=0, max_size=1, kwargs=kwargs, open=True)
        with pool:
            options = {"pool": pool} if foreign else {"prepare_threshold": 0, "pool_size": 1}
            store = open_pg(**options, dimension=2)
            store.add(documents(3))

            def work(cursor: Any) -> Any:
                return cursor.execute("SELECT 1 + %s", [1]).fetchone()

            for _ in range(3):
                assert store._connections.run("count", work) == (2,)
                with store.native.connection() as connection:
                    # As a pooler does it: the driver is not told.
                    connection.pgconn.exec_(b"DEALLOCATE ALL")
            assert store.count() == 3

    def test_none_is_prepared(self, open_pg: Open) -> None:
        store = open_pg(dimension=2, prepare_threshold=None, pool_size=1)
        for _ in range(10):
            store.update_metadata(["x"], set={"a": 1})
            store.get(["x"])
        with store.native.connection() as connection:
            found = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        assert found == (0,)


class TestRoles:
    def test_rights_to_rows_suffice(self, database: str) -> None:
        role = f"writer_{secrets.token_hex(4)}"
        name = conninfo_to_dict(database)["dbname"]
        run(database, "CREATE EXTENSION vector")
        with PgvectorStore(database, table="docs", create=True, dimension=2) as owner:
            owner.add(documents(3))
        run(
            database,
            f"REVOKE TEMP ON DATABASE {name} FROM PUBLIC",
            f"CREATE ROLE {role} LOGIN",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON docs TO {role}",
        )
        try:
            dsn = make_conninfo(database, user=role)
            with PgvectorStore(dsn, table="docs") as store:
                ids = store.add(documents(1_500))
                assert ids == [f"d{n:04}" for n in range(1_500)]
                assert store.count("n >= 0") == 1_500
                assert store.add(documents(64), on_conflict="skip") == ids[:64]
                assert store.delete(ids[:100]) == 100
            run(database, f"REVOKE UPDATE ON docs FROM {role}")
            with PgvectorStore(dsn, table="docs") as store:
                assert store.delete(ids[100:200]) == 100
        finally:
            run(database, f"DROP OWNED BY {role}", f"DROP ROLE {role}")

    def test_an_extension_in_a_schema_of_its_own(self, database: str) -> None:
        run(
            database,
            'CREATE SCHEMA "Ext ""1"" %s"',
            'CREATE EXTENSION vector SCHEMA "Ext ""1"" %s"',
        )
        for index in ("hnsw", None):
            table = f"docs_{index}"
            with PgvectorStore(
                database, table=table, create=True, dimension=2, index=index, exact_below=0
            ) as store:
                store.add(documents(70))
                store.add(documents(3))
                found = store.search(vector=[1, 0], filter="n >= 0", include_embedding=True)
                assert [document.id for document in found] == [f"d000{n}" for n in range(4)]
                assert found[0].embedding is not None
                assert found[0].embedding.tolist() == [1, 0]
            with PgvectorStore(database, table=table) as again:
                assert again.dimension == 2
        with PgvectorStore(database, table="half", create=True, dimension=2_100) as store:
            store.add([Document("t", id="x", embedding=[1.0] * 2_100)])
            store._exact_below = 0
            assert [one.id for one in store.search(vector=[1.0] * 2_100)] == ["x"]

    def test_an_extension_that_is_closed_to_the_role(self, database: str) -> None:
        role = f"reader_{secrets.token_hex(4)}"
        run(
            database,
            "CREATE SCHEMA ext",
            "CREATE EXTENSION vector SCHEMA ext",
            f"CREATE ROLE {role} LOGIN",
        )
        try:
            with PgvectorStore(database, table="docs", create=True, dimension=2):
                run(database, f"GRANT SELECT ON docs TO {role}")
            with pytest.raises(ConfigurationError, match="GRANT USAGE ON SCHEMA"):
                PgvectorStore(make_conninfo(database, user=role), table="docs")
        finally:
            run(database, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


class TestTables:
    @pytest.mark.parametrize("index", ["hnsw", None])
    @pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
    def test_rows_without_a_vector_are_no_hits(
        self, open_pg: Open, postgres_dsn: str, table: str, index: Any, metric: Any
    ) -> None:
        made = open_pg(dimension=2, index=index, metric=metric)
        made.add(documents(3))
        run(
            postgres_dsn,
            f"ALTER TABLE {table} ALTER embedding DROP NOT NULL",
            f"INSERT INTO {table} VALUES ('blank', 'text', '{{\"n\": 1}}', NULL)",
        )
        store = open_pg(create=False, index=index, metric=metric)
        for exact_below in (0, 5_000):
            store._exact_below = exact_below
            for filter in (None, "n == 1", "n >= 0"):
                found = store.search(vector=[1, 0], top_k=10, filter=filter)
                assert "blank" not in [document.id for document in found]
                assert len(found) == (1 if filter == "n == 1" else 3)
        assert store.get(["blank"], include_embedding=True)[0].embedding is None
        assert store.count("n == 1") == 2
        # Also a store that was open before the column could be null.
        assert len(made.search(vector=[1, 0], top_k=10)) == 3

    @pytest.mark.parametrize("index", ["hnsw", None])
    def test_rows_without_a_direction_are_no_hits(
        self, open_pg: Open, postgres_dsn: str, table: str, index: Any
    ) -> None:
        store = open_pg(dimension=2, index=index)
        store.add(documents(20))
        rows = [f"('0{n}', 'text', '{{}}', '[0,0]')" for n in range(30)]
        run(postgres_dsn, f"INSERT INTO {table} VALUES {', '.join(rows)}")
        for exact_below in (0, 5_000):
            store._exact_below = exact_below
            for top_k in (1, 19, 20, 60):
                found = store.search(vector=[1, 0], top_k=top_k)
                scores = [document.score for document in found]
                assert len(found) == min(top_k, 20)
                assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]

    def test_names_that_begin_alike_or_run_together(
        self, open_pg: Open, postgres_dsn: str, table: str
    ) -> None:
        stem = (table + "x" * 63)[:58]
        names = [f"{stem}{end}" for end in ("_1", "_2", "_1234")] + [table, f"{table}_a"]
        columns = [None, None, None, {"a_b": "int"}, {"b": "int"}]
        try:
            for name, declared in zip(names, columns, strict=True):
                told = promoted(declared) if declared else {}
                open_pg(table=name, dimension=2, **told)
            with psycopg.connect(postgres_dsn) as connection:
                for name, declared in zip(names, columns, strict=True):
                    found = connection.execute(
                        "SELECT am.amname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                        "JOIN pg_am am ON am.oid = c.relam WHERE i.indrelid = %s::regclass "
                        "ORDER BY 1",
                        [name],
                    ).fetchall()
                    kinds = [kind for (kind,) in found]
                    assert kinds == ["btree"] * (2 if declared else 1) + ["gin", "hnsw"]
        finally:
            for name in names[:3] + names[4:]:
                run(postgres_dsn, f"DROP TABLE IF EXISTS {name}")

    def test_the_layout_s_version(self, open_pg: Open, postgres_dsn: str, table: str) -> None:
        open_pg(dimension=2)
        with psycopg.connect(postgres_dsn) as connection:
            query = "SELECT obj_description(%s::regclass, 'pg_class')"
            assert connection.execute(query, [table]).fetchone() == ("vecstore layout 1",)
        run(postgres_dsn, f"COMMENT ON TABLE {table} IS 'the archive''s documents'")
        open_pg(create=False)
        run(postgres_dsn, f"COMMENT ON TABLE {table} IS 'vecstore layout 2'")
        with pytest.raises(SchemaMismatchError, match=r"layout 2 .* to move it"):
            open_pg()

    def test_a_declared_column_that_is_missing(
        self, open_pg: Open, postgres_dsn: str, table: str
    ) -> None:
        declared = {"size": "int", "odd \" 'name'": "str", "tags": "list[str]"}
        open_pg(dimension=2).add(documents(3))
        with pytest.raises(SchemaMismatchError, match="ALTER TABLE") as caught:
            open_pg(**promoted(declared))
        statements = re.findall(r"^  ((?:ALTER|CREATE).*);$", str(caught.value), re.MULTILINE)
        assert len(statements) == 6
        run(postgres_dsn, *statements)
        store = open_pg(**promoted(declared))
        store.update_metadata(["d0001"], set={"size": 3, "tags": ["a"]})
        assert store.count("size == 3 AND tags == 'a'") == 1

    def test_a_table_that_a_failed_add_would_have_made(self, open_pg: Open) -> None:
        store = open_pg()

        def broken(*_: Any) -> Any:
            raise ConfigurationError("no")

        store._writing.write = broken  # type: ignore[method-assign]
        with pytest.raises(ConfigurationError):
            store.add(documents(2))
        del store._writing.write  # type: ignore[method-assign]
        assert store.dimension is None
        assert store.count() == 0
        store.add(documents(2))
        assert (store.dimension, store.count()) == (2, 2)


def test_sizes_past_what_sql_counts(open_pg: Open) -> None:
    store = open_pg(dimension=2)
    store.add(documents(3))
    most = 2**31 - 1
    assert len(store.search(vector=[1, 0], top_k=most)) == 3
    assert len(store.get(limit=most)) == 3
    assert len(list(store.scan(batch_size=most))) == 3
    for huge in (2**31, 2**63, 2**70):
        with pytest.raises(ValueError, match="top_k is at most"):
            store.search(vector=[1, 0], top_k=huge)
        with pytest.raises(ValueError, match="limit is at most"):
            store.get(limit=huge)
        with pytest.raises(ValueError, match="batch_size is at most"):
            store.scan(batch_size=huge)
    assert store.get(["9" * 5_000, "x" * 100_000]) == []


def test_keys_of_thousands_of_segments(open_pg: Open) -> None:
    store = open_pg(dimension=2)
    store.add(documents(3))
    for text in (".".join(["a"] * 32_000), ".".join(['"0"'] * 16_000)):
        assert store.count(f"{text} == 1") == 0
        assert store.count(f"{text} IS NULL") == 3
        assert store.count(f"{text} NOT IN ['a', 1]") == 3


@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_filters_as_wide_and_as_deep_as_strangers_may_send(open_pg: Open, operator: str) -> None:
    store = open_pg(dimension=2)
    store.add(documents(3))
    wide = f" {operator} ".join([f"k{n % 7} {('<', '==', '!=')[n % 3]} {n}" for n in range(4_000)])
    nested = "(n >= 0 AND (" * 30 + "n == 1" + " OR x == 2))" * 30
    for filter in (wide, nested):
        try:
            assert store.count(filter) in range(4)
        except FilterLimitError:
            continue


@pytest.mark.parametrize("url", ["postgresql::x", "postgresql:me:swordfish@host/kb", "postgres:kb"])
def test_an_address_without_slashes_opens_no_other_database(url: str) -> None:
    with pytest.raises(ConfigurationError, match="come two slashes: postgres") as told:
        open_store(url, dimension=2)
    assert "swordfish" not in str(told.value)
