"""A table that several collections share: nothing leads from one into another."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString
from urllib.parse import quote
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.dialects.pgvector.langchain_table import STRANGERS, collection, langchain_table
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DuplicateDocumentError,
    F,
    SchemaMismatchError,
    ScopeError,
    open_store,
)
from vecstore.dialects.pgvector.statements import Statements
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]

COLUMNS: dict[str, Any] = {
    "text_column": "document",
    "metadata_column": "cmetadata",
    "index": None,
    "create": False,
}


@pytest.fixture
def ours(postgres_dsn: str, table: str) -> UUID:
    return langchain_table(postgres_dsn, table)


@pytest.fixture
def rows(postgres_dsn: str, table: str) -> Iterator[Callable[[], list[Any]]]:
    """What the table holds, whosever it is."""
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        statement = sql.SQL("SELECT id, collection_id, document, cmetadata FROM {} ORDER BY id")
        yield lambda: connection.execute(statement.format(sql.Identifier(table))).fetchall()


def documents(*ids: str, **metadata: Any) -> list[Document]:
    return [
        Document(f"text of {id}", {"n": n, **metadata}, id, [1.0, float(n)])
        for n, id in enumerate(ids)
    ]


def ids(found: Any) -> list[str]:
    return sorted(one.id for one in found)


def test_everything_stays_in_the_collection(
    open_pg: Open, ours: UUID, rows: Callable[[], list[Any]]
) -> None:
    store = open_pg(where={"collection_id": ours}, **COLUMNS)
    theirs = rows()
    assert (store.count(), store.dimension, store.get(), list(store.scan())) == (0, None, [], [])
    assert store.add(documents("a", "b", "c")) == ["a", "b", "c"]
    assert store.dimension == 2
    assert {row[1] for row in rows() if row[0] in "abc"} == {ours}
    assert ids(store.search(vector=[1, 0], top_k=10)) == ["a", "b", "c"]
    assert [ids(one) for one in store.search_many(vectors=[[1, 0]], top_k=9)] == [["a", "b", "c"]]
    assert ids(store.scan()) == ids(store.scan(text=False)) == ids(store.get()) == ["a", "b", "c"]
    for filter in ("theirs == true", "n >= 0 OR theirs == true", "NOT n == -1", F.x.is_null()):
        for found in (
            store.get(filter=filter),
            store.scan(filter),
            store.scan(filter, text=False),
            store.search(vector=[1, 0], top_k=10, filter=filter),
        ):
            assert not {*ids(found)} & {*STRANGERS}
        assert store.count(filter) == len(store.get(filter=filter))
    assert store.get(STRANGERS) == []
    assert store.delete(STRANGERS) == 0
    assert store.delete(filter="theirs == true") == 0
    assert store.update_metadata(STRANGERS, set={"n": -1}) == 0
    assert store.update_metadata(filter="n >= 0", set={"m": 1}) == 3
    assert store.delete(filter="n == 1") == 1
    assert [row for row in rows() if row[0] in STRANGERS] == theirs
    store.clear()
    assert rows() == theirs
    assert store.count() == 0


def test_keys_values_and_orders_are_those_of_the_collection(
    open_pg: Open, ours: UUID, rows: Callable[[], list[Any]]
) -> None:
    store = open_pg(where={"collection_id": ours}, **COLUMNS)
    assert (store.fields(), store.distinct("n").total, store.get(order_by="n")) == ({}, 0, [])
    store.add(documents("a", "b", "c", mine=True))
    assert len(rows()) > 3
    assert set(store.fields()) == {"n", "mine"}
    assert [one.value for one in store.distinct("n")] == [0, 1, 2]
    assert store.minmax("n", F.theirs.is_null()).numbers == (0, 2)
    assert store.minmax("rank").numbers is None
    assert store.distinct("theirs").total == 0
    for order_by in ("-n", "-id", "theirs", "-mine"):
        first = store.get(order_by=order_by, limit=2)
        rest = store.get(order_by=order_by, limit=9, after=first.next)
        assert ids([*first, *rest]) == ["a", "b", "c"]
        assert rest.next is None


@pytest.mark.parametrize("many", [1, 100])
@pytest.mark.parametrize("on_conflict", ["replace", "skip", "error"])
def test_an_id_of_another_collection_is_never_overwritten(
    open_pg: Open,
    ours: UUID,
    rows: Callable[[], list[Any]],
    many: int,
    on_conflict: Any,
) -> None:
    store = open_pg(where={"collection_id": ours}, **COLUMNS)
    store.add(documents("mine"))
    before = rows()
    new = [*documents(*[f"new-{n}" for n in range(many)]), *documents("stranger-1", theirs=False)]
    with pytest.raises(ScopeError, match="'stranger-1' cannot be used here") as caught:
        store.add(new, on_conflict=on_conflict)
    assert "'collection_id'" in str(caught.value)
    assert str(ours) not in str(caught.value)
    assert list(caught.value.failed_ids) == [one.id for one in new]
    assert rows() == before
    # Ids of the collection's own follow on_conflict as everywhere.
    changed = [Document("changed", {}, "mine", [0, 1])]
    if on_conflict == "error":
        with pytest.raises(DuplicateDocumentError):
            store.add(changed, on_conflict="error")
    else:
        assert store.add(changed, on_conflict=on_conflict) == ["mine"]
        text = "changed" if on_conflict == "replace" else "text of mine"
        assert store.get(["mine"])[0].text == text


def test_views_and_awaited_calls(
    open_pg: Open, ours: UUID, postgres_dsn: str, rows: Callable[[], list[Any]]
) -> None:
    store = open_pg(where={"collection_id": ours}, **COLUMNS)
    theirs = rows()
    view = store.scoped(F.tenant == "a")
    assert view.add(documents("a", "b")) == ["a", "b"]
    store.add(documents("c"))
    assert ids(view.search(vector=[1, 0], top_k=9)) == ["a", "b"]
    conflicts: list[Any] = ["replace", "skip", "error"]
    for on_conflict in conflicts:
        for taken in ("c", "stranger-0"):
            with pytest.raises(ScopeError, match="cannot be used inside this scope"):
                view.add(documents("new", taken), on_conflict=on_conflict)
    assert view.add(documents("a"), on_conflict="skip") == ["a"]
    assert ids(store.get()) == ["a", "b", "c"]

    async def awaited() -> tuple[int, list[str]]:
        await view.aio.clear()
        return await store.aio.count(), ids(await store.aio.search(vector=[1, 0]))

    assert asyncio.run(awaited()) == (1, ["c"])
    assert [row for row in rows() if row[0] in STRANGERS] == theirs


def test_two_collections_of_one_table(open_pg: Open, ours: UUID, postgres_dsn: str) -> None:
    one = open_pg(where={"collection_id": ours}, **COLUMNS)
    other = open_pg(where={"collection_id": collection(postgres_dsn)}, **COLUMNS)
    one.add(documents("a", "b"))
    other.add([Document("longer", {"n": 0}, "z", [1, 2, 3, 4])])
    assert (one.dimension, other.dimension) == (2, 4)
    again = open_pg(where={"collection_id": str(ours).upper()}, **COLUMNS)
    assert (again.dimension, again.count()) == (2, 2)
    again.clear()
    assert (one.count(), other.count()) == (0, 1)


def test_two_collections_at_once(
    open_pg: Open, ours: UUID, postgres_dsn: str, rows: Callable[[], list[Any]]
) -> None:
    """Of two that add the same new ids, one has all of them, and the other is told."""
    collections = [str(ours), collection(postgres_dsn)]
    stores = [open_pg(where={"collection_id": one}, **COLUMNS) for one in collections]
    modes: list[Any] = ["replace", "skip", "error"]
    for turn in range(12):
        new = documents(*[f"{turn}-{n}" for n in range(5)])

        def add(store: PgvectorStore, new: Any = new, turn: int = turn) -> bool:
            try:
                store.add(new, on_conflict=modes[turn % 3])
            except ScopeError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(add, stores))
        assert sorted(done) == [False, True]
        held = {str(row[1]) for row in rows() if row[0].startswith(f"{turn}-")}
        assert held == {collections[done.index(True)]}


def test_a_row_that_leaves_the_collection_while_it_is_deleted_stays(
    open_pg: Open, ours: UUID, postgres_dsn: str, table: str, rows: Callable[[], list[Any]]
) -> None:
    """Without the right to update, nothing is locked before it is deleted."""
    open_pg(where={"collection_id": ours}, **COLUMNS).add(documents("a", "b"))
    names = {"table": sql.Identifier(table), "role": sql.Identifier(f"deleter_of_{table}")}
    with psycopg.connect(postgres_dsn, autocommit=True) as watching:
        watching.execute(sql.SQL("CREATE ROLE {role} LOGIN").format(**names))
        try:
            watching.execute(sql.SQL("GRANT SELECT, DELETE ON {table} TO {role}").format(**names))
            dsn = make_conninfo(postgres_dsn, user=f"deleter_of_{table}")
            store = open_pg(dsn=dsn, where={"collection_id": ours}, **COLUMNS)
            with psycopg.connect(postgres_dsn) as moving, ThreadPoolExecutor(1) as pool:
                moving.execute(
                    sql.SQL("UPDATE {table} SET collection_id = %s WHERE id = 'a'").format(**names),
                    [collection(postgres_dsn)],
                )
                waits = "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
                deleted = pool.submit(store.delete, ["a", "b"])
                while (
                    not deleted.done()
                    and not watching.execute(waits, [moving.info.backend_pid]).fetchall()
                ):
                    pass
                moving.commit()
                assert deleted.result() == 1
            store.close()
        finally:
            watching.execute(sql.SQL("DROP OWNED BY {role}").format(**names))
            watching.execute(sql.SQL("DROP ROLE {role}").format(**names))
    assert [row[0] for row in rows()] == ["a", *STRANGERS]


def test_in_another_process_it_is_the_same_collection(
    postgres_dsn: str, table: str, ours: UUID, url: str
) -> None:
    with open_store(url, where={"collection_id": ours}, **COLUMNS) as store:
        store.add(documents("a"))
        with pickle.loads(pickle.dumps(store)) as again:
            assert ids(again.get()) == ["a"]
            assert again.count("theirs == true") == 0
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER TABLE {} ADD COLUMN api_key text").format(sql.Identifier(table))
        )
    both = {"collection_id": ours, "api_key": "k"}
    with open_store(url, where=both, **COLUMNS) as store:
        # A pickle carries nothing that is called like a secret: half of a condition is none.
        with pytest.raises(TypeError, match="'api_key' of where= is called like a secret"):
            pickle.dumps(store)


def test_a_collection_that_is_not_there(open_pg: Open, ours: UUID) -> None:
    store = open_pg(where={"collection_id": uuid4()}, **COLUMNS)
    with pytest.raises(BackendError, match="foreign key"):
        store.add(documents("a"))
    assert store.count() == 0


@pytest.fixture
def url(postgres_dsn: str, table: str) -> str:
    parts = conninfo_to_dict(postgres_dsn)
    host = quote(str(parts["host"]), safe="")
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{parts['user']}@{host}{port}/{parts['dbname']}?table={table}"


def test_by_address(url: str, table: str, ours: UUID) -> None:
    with open_store(url, where={"collection_id": ours}, **COLUMNS) as store:
        store.add(documents("a"))
        assert ids(store.get()) == ["a"]
    with pytest.raises(ConfigurationError, match="where"):
        open_store(f"{url}&where=x")


class TestColumnsOfEveryKind:
    """The values are bound and cast to the column's own type; its name is quoted."""

    @pytest.fixture
    def made(
        self, postgres_dsn: str, open_pg: Open, table: str
    ) -> Callable[[str, LiteralString], Open]:
        open_pg(dimension=2, index=None)

        def add_column(name: str, kind: LiteralString) -> Open:
            statement = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}").format(
                sql.Identifier(table), sql.Identifier(name), sql.SQL(kind)
            )
            with psycopg.connect(postgres_dsn, autocommit=True) as connection:
                connection.execute(statement)
            return open_pg

        return add_column

    @pytest.mark.parametrize(
        ("name", "kind", "value", "other"),
        [
            ('of "100%%" $1', "text", "x' OR '1'='1", "x"),
            ("code", "char(3)", "abc", "abd"),
            ("code", "varchar(3)", "%s", "%"),
            ("number", "smallint NOT NULL DEFAULT 5", 7, 5),
            ("number", "numeric", 10**30, 1),
            ("live", "boolean", True, False),
            ("id2", "uuid", uuid4(), uuid4()),
            ("day", "date", "2024-02-29", "2024-03-01"),
        ],
    )
    def test_values(
        self,
        made: Callable[[str, LiteralString], Open],
        name: str,
        kind: LiteralString,
        value: Any,
        other: Any,
    ) -> None:
        opening = made(name, kind)
        store = opening(where={name: value}, index=None)
        rest = opening(where={name: other}, index=None)
        store.add(documents("a", "b"))
        rest.add(documents("c"))
        assert ids(store.search(vector=[1, 0])) == ["a", "b"]
        assert (store.count(), rest.count()) == (2, 1)
        assert store.update_metadata(["a", "c"], set={"m": 1}) == 1
        assert store.delete(["a", "c"]) == 1
        with pytest.raises(ScopeError):
            rest.add(documents("b"))
        store.clear()
        assert ids(rest.get()) == ["c"]

    def test_several_columns_and_an_index(self, made: Callable[[str, LiteralString], Open]) -> None:
        made("tenant", "text")
        opening = made("live", "boolean")
        stores = [
            opening(where={"tenant": tenant, "live": live}, index="hnsw", exact_below=0)
            for tenant in ("a", "b")
            for live in (True, False)
        ]
        stores[0].build_index()
        for number, store in enumerate(stores):
            store.add(documents(*[f"{number}-{n}" for n in range(20)]))
        for number, store in enumerate(stores):
            found = store.search(vector=[1, 3], top_k=30)
            assert ids(found) == sorted(f"{number}-{n}" for n in range(20))

    def test_a_small_collection_of_a_large_table_is_searched_exactly(
        self, made: Callable[[str, LiteralString], Open], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opening = made("tenant", "text")
        approximate = Statements.approximate
        asked: list[dict[str, Any]] = []

        def noted(statements: Statements, *given: Any) -> str:
            asked.append(statements.everything)
            return approximate(statements, *given)

        monkeypatch.setattr(Statements, "approximate", noted)
        stores = [
            opening(where={"tenant": tenant}, index="hnsw", exact_below=10)
            for tenant in ("small", "large")
        ]
        for store, count in zip(stores, (5, 50), strict=True):
            store.add(documents(*[f"{count}-{n}" for n in range(count)]))
        for store in stores:
            store.build_index()
            assert len(store.search(vector=[1, 3], top_k=3)) == 3
        assert [[*one.values()] for one in asked] == [["large"]]

    def test_ids_beside_a_filter(self, made: Callable[[str, LiteralString], Open]) -> None:
        opening = made("tenant", "text")
        store = opening(where={"tenant": "a"}, index=None)
        store.add(documents("a", "b", "c"))
        opening(where={"tenant": "b"}, index=None).add(documents("d"))
        assert store.delete(["a", "d"], filter="n == 0") == 1
        assert store.update_metadata(["b", "d"], filter="n >= 0", set={"m": 1}) == 1
        assert ids(opening(index=None).get(filter="m IS NULL")) == ["c", "d"]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({}, "maps columns"),
        ("collection_id", "maps columns"),
        ({"collection_id": None}, "None, which equals nothing"),
        ({"collection_id": 1.5}, "not float"),
        ({"collection_id": "a\0b"}, "cannot hold"),
        ({"collection_id": "\ud800"}, "cannot hold"),
        ({"collection_id": "no uuid"}, "is uuid, and the value given for it is none"),
        ({"document": "x"}, "used twice"),
        ({"": "x"}, "not empty"),
        ({"x" * 64: "x"}, "63 bytes"),
        ({7: "x"}, "63 bytes"),
    ],
)
def test_what_is_refused(open_pg: Open, ours: UUID, where: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        open_pg(where=where, **COLUMNS)
    assert "no uuid" not in str(caught.value)


def test_tables_that_do_not_fit(open_pg: Open, ours: UUID, table: str) -> None:
    with pytest.raises(SchemaMismatchError, match="no column 'tenant', which where= names"):
        open_pg(where={"tenant": "a"}, **COLUMNS)
    with pytest.raises(SchemaMismatchError, match="where= is of a table that exists"):
        open_pg(where={"tenant": "a"}, table=f"{table}_missing", create=True, dimension=2)


def test_a_generated_column_is_refused(open_pg: Open, postgres_dsn: str, table: str) -> None:
    open_pg(dimension=2)
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL(
                "ALTER TABLE {} ADD COLUMN length int GENERATED ALWAYS AS (length(text)) STORED"
            ).format(sql.Identifier(table))
        )
    with pytest.raises(SchemaMismatchError, match="generated, so that no row gets a value"):
        open_pg(where={"length": 3})
