"""How often a call goes to the server, as the driver's library writes it down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from vecstore import Document
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]
Trips = Callable[[PgvectorStore, Callable[[], Any]], int]


@pytest.fixture
def trips(tmp_path: Path) -> Trips:
    def counted(store: PgvectorStore, call: Callable[[], Any]) -> int:
        written = tmp_path / "trace"
        with store.native.connection() as connection:  # the one that the next call takes
            pass
        with written.open("wb") as file:
            connection.pgconn.trace(file.fileno())
            call()
            connection.pgconn.untrace()
        return written.read_text("utf-8", "replace").count("ReadyForQuery")

    return counted


def filled(store: PgvectorStore) -> PgvectorStore:
    store.add([Document("x", {"n": n}, str(n), [1, n]) for n in range(20)])
    return store


def test_reading_by_ids_takes_one_trip(open_pg: Open, trips: Trips) -> None:
    store = filled(open_pg(dimension=2))
    assert trips(store, lambda: store.get(["1", "2"])) == 1
    assert [one.id for one in store.get(["1", "2", "none"])] == ["1", "2"]


@pytest.mark.parametrize("include_embedding", [False, True])
def test_a_scan_without_texts_has_the_server_send_none(
    open_pg: Open, tmp_path: Path, include_embedding: bool
) -> None:
    """The driver's library writes down what comes."""
    store = open_pg(dimension=2)
    store.add([Document("a long text", {"n": 1}, "a", [1, 2])])

    def received(text: bool) -> str:
        with store.native.connection() as connection:  # the one that the next call takes
            pass
        written = tmp_path / f"trace_{text}"
        with written.open("wb") as file:
            connection.pgconn.trace(file.fileno())
            found = list(store.scan(text=text, include_embedding=include_embedding))
            connection.pgconn.untrace()
        assert [one.id for one in found] == ["a"]
        return written.read_text("utf-8", "replace")

    assert "a long text" in received(True)
    assert "DataRow" in received(False)
    assert "a long text" not in received(False)


def test_the_store_knows_whether_the_server_makes_machine_code(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    """A server without the means answers no in any case: one with them is what the function plays.

    It says what the setting is, as the real one does, which our own transactions put off.
    """
    open_pg(dimension=2).close()
    schema = sql.Identifier(f"means_of_{table}")
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        try:
            connection.execute(
                sql.SQL(
                    "CREATE FUNCTION {}.pg_jit_available() RETURNS boolean LANGUAGE sql "
                    "AS $$SELECT current_setting('jit')::boolean$$"
                ).format(schema)
            )
            for jit in ("on", "off"):
                path = f"-csearch_path=means_of_{table},pg_catalog,public -cjit={jit}"
                dsn = psycopg.conninfo.make_conninfo(postgres_dsn, options=path)
                store = open_pg(dsn=dsn)
                assert store._facts is not None
                assert store._facts.compiles is (jit == "on")
                store.close()
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


def test_where_a_statement_has_a_time_limit_it_takes_three(open_pg: Open, trips: Trips) -> None:
    store = filled(open_pg(dimension=2, statement_timeout=30))
    assert trips(store, lambda: store.get(["1", "2"])) == 3


def test_a_search_sets_up_its_transaction_in_the_trip_that_begins_it(
    open_pg: Open, trips: Trips
) -> None:
    store = filled(open_pg(dimension=2, index=None))
    assert store._facts is not None
    # Machine code is made of costly statements where the server can, if it is not told not to.
    store._facts = replace(store._facts, compiles=True)
    assert trips(store, lambda: store.search(vector=[1, 0], filter="n > 3")) == 3
    assert trips(store, lambda: store.count("n > 3")) == 3
    store._facts = replace(store._facts, compiles=False)
    assert trips(store, lambda: store.search(vector=[1, 0], filter="n > 3")) == 1
    assert trips(store, lambda: store.count("n > 3")) == 1
    assert trips(store, lambda: store.get(filter="n > 3")) == 1
    indexed = open_pg(dimension=2)
    indexed.build_index()
    by_index = open_pg(dimension=2, exact_below=0)
    assert trips(by_index, lambda: by_index.search(vector=[1, 0], top_k=3)) == 3


@pytest.mark.parametrize("call", ["get", "count"])
def test_a_session_that_the_server_ended_meanwhile_is_replaced(open_pg: Open, call: str) -> None:
    store, other = filled(open_pg(dimension=2)), open_pg(dimension=2)
    for _ in range(8):  # so that the statement has been prepared
        assert len(store.get(["1", "2"])) == 2
    with store.native.connection() as connection:
        process = connection.info.backend_pid
    with other.native.connection() as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [process])
    if call == "get":
        assert [one.id for one in store.get(["2", "1"])] == ["2", "1"]
    else:
        assert store.count() == 20


def test_a_prepared_statement_that_is_lost_is_forgiven(open_pg: Open) -> None:
    store = filled(open_pg(dimension=2))
    for _ in range(8):
        store.get(["1"])
    with store.native.connection() as connection:
        connection.execute("DEALLOCATE ALL")
    assert [one.id for one in store.get(["2"])] == ["2"]


def test_an_exact_search_writes_the_metadata_of_the_nearest_alone(open_pg: Open) -> None:
    store = filled(open_pg(dimension=2, index=None))
    assert store._sql is not None
    for embedding in (False, True):
        statement = store._sql.exact("", embedding).replace("%(query)s", "'[1,0]'")
        with store.native.connection() as connection:
            plan = connection.execute(
                f"EXPLAIN (VERBOSE, COSTS OFF) {statement}", {"top_k": 3}
            ).fetchall()
        made = [line.strip() for (line,) in plan if "Output" in line and "::text" in line]
        # At the top, of what the limit has left; the others sort by the id alone.
        assert "vecstore_metadata)::text" in made[0] or "metadata)::text" in made[0]
        assert not any("metadata)::text" in line for line in made[1:])
