from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

from tests.engines.postgres import promoted
from vecstore import (
    ConfigurationError,
    DimensionMismatchError,
    Document,
    DocumentError,
    SchemaMismatchError,
)
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]
X = Document("x", {"n": 1}, id="x", embedding=[1, 0])


def execute(dsn: str, statement: str, *names: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
        return cursor.fetchall() if cursor.description else []


def test_a_missing_table_is_named_with_the_remedy(open_pg: Open, table: str) -> None:
    with pytest.raises(SchemaMismatchError, match=f"no table {table}.*create=True"):
        open_pg(create=False)


def test_creating_twice_changes_nothing(open_pg: Open) -> None:
    first = open_pg(dimension=2)
    first.add([X])
    second = open_pg(dimension=2)
    assert second.count() == 1
    assert second.dimension == 2


def test_without_a_dimension_the_table_is_made_by_the_first_add(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    store = open_pg()
    assert store.dimension is None
    assert (store.count(), store.get(["x"]), list(store.scan())) == (0, [], [])
    assert store.search(vector=[1, 0]) == []
    assert store.delete(["x"]) == 0
    store.clear()
    assert execute(postgres_dsn, "SELECT to_regclass('{}')".replace("'{}'", f"'{table}'")) == [
        (None,)
    ]
    store.add([X])
    assert store.dimension == 2
    assert open_pg(create=False).count() == 1


def test_a_table_made_by_another_store_meanwhile_is_found(open_pg: Open) -> None:
    early = open_pg()
    open_pg(dimension=2).add([X])
    assert early.count() == 1


def test_a_role_without_ddl_rights_uses_a_table_that_exists(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    open_pg(dimension=2).add([X])
    role = f"reader_of_{table}"
    execute(postgres_dsn, "CREATE ROLE {} LOGIN", role)
    try:
        execute(postgres_dsn, "GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}", table, role)
        store = open_pg(dsn=psycopg.conninfo.make_conninfo(postgres_dsn, user=role), create=True)
        store.add([Document("y", id="y", embedding=[0, 1])])
        # The large path goes through a temporary table, which every role may make by default.
        store.add([Document("z", id=f"z{n}", embedding=[0, 1]) for n in range(100)])
        assert store.count() == 102
        store.close()
    finally:
        execute(postgres_dsn, "DROP OWNED BY {}", role)
        execute(postgres_dsn, "DROP ROLE {}", role)


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        ("id text PRIMARY KEY, text text, metadata json, embedding vector(2)", {}, "'metadata' is json, not jsonb"),
        ("id text PRIMARY KEY, text text, metadata jsonb", {}, "no column 'embedding'"),
        ("id text PRIMARY KEY, body text, metadata jsonb, embedding vector(2)", {}, "no column 'text'"),
        ("id text, text text, metadata jsonb, embedding vector(2)", {}, "no unique index"),
        ("id integer PRIMARY KEY, text text, metadata jsonb, embedding vector(2)", {}, "'id' is integer"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding real[]", {}, "'embedding' is real"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding vector(2), owner text NOT NULL", {}, "'owner' is NOT NULL"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding vector(3)", {"dimension": 2}, "3 dimensions, not 2"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding vector(2)", promoted({"year": "int"}), "no column 'year'"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding vector(2), year bigint", promoted({"year": "int"}), "not generated"),
        ("id text PRIMARY KEY, text text, metadata jsonb, embedding vector(2), year text", promoted({"year": "int"}), "'year' is text, not bigint"),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit(
    open_pg: Open,
    postgres_dsn: str,
    table: str,
    columns: str,
    options: dict[str, object],
    says: str,
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
    with pytest.raises(SchemaMismatchError, match=says):
        open_pg(**options)


class TestExistingTables:
    @pytest.mark.parametrize(
        ("type_name", "ids", "foreign"),
        [
            ("uuid", ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000001"], "x"),
            ("bigint", ["1", "-9223372036854775808"], "01"),
            ("varchar", ["a", "it's"], "nobody"),
        ],
    )  # fmt: skip
    def test_ids_of_other_types(
        self,
        open_pg: Open,
        postgres_dsn: str,
        table: str,
        type_name: str,
        ids: list[str],
        foreign: str,
    ) -> None:
        with psycopg.connect(postgres_dsn, autocommit=True) as connection:
            connection.execute(
                f'CREATE TABLE {table} ("Key" {type_name} PRIMARY KEY, "the text" text, meta jsonb, '
                "v vector(2), added timestamptz NOT NULL DEFAULT now())"
            )
        store = open_pg(
            id_column="Key", text_column="the text", metadata_column="meta", embedding_column="v"
        )
        for batch in (2, 200):
            store.clear()
            store.add([Document(id, {"n": n}, id=id, embedding=[1, n]) for n, id in enumerate(ids)])
            if batch == 200 and type_name == "bigint":
                store.add([Document("", id=str(n), embedding=[1, 1]) for n in range(10, 210)])
            assert [d.id for d in store.get([*ids, foreign, "' OR 1=1 --"])] == ids
            assert store.search(vector=[1, 0], top_k=1)[0].id == ids[0]
            assert store.delete([foreign, ids[0]]) == 1
            assert store.update_metadata([ids[1]], set={"m": 2}) == 1
            assert store.get([ids[1]])[0].metadata == {"n": 1, "m": 2}

    def test_an_id_that_the_column_cannot_hold_is_refused_by_name(
        self, open_pg: Open, postgres_dsn: str, table: str
    ) -> None:
        with psycopg.connect(postgres_dsn, autocommit=True) as connection:
            connection.execute(
                f"CREATE TABLE {table} (id uuid PRIMARY KEY, text text, metadata jsonb, embedding vector(2))"
            )
        with pytest.raises(ValueError, match=r"'agent:7' is not a UUID"):
            open_pg().add([Document("", id="agent:7", embedding=[1, 0])])

    def test_rows_that_others_wrote_with_nulls(
        self, open_pg: Open, postgres_dsn: str, table: str
    ) -> None:
        with psycopg.connect(postgres_dsn, autocommit=True) as connection:
            connection.execute(
                f"CREATE TABLE {table} (id text PRIMARY KEY, text text, metadata jsonb, embedding vector)"
            )
            connection.execute(
                f"INSERT INTO {table} VALUES ('a', NULL, NULL, '[1,0]'), ('b', 'x', '{{}}', '[0,1]')"
            )
        store = open_pg()
        assert store.dimension == 2
        assert [(d.id, d.text, d.metadata) for d in store.get(["a"])] == [("a", "", {})]
        assert store.count("n IS NULL") == store.count("n != 1") == 2
        assert store.count("n == 1") == 0
        assert store.update_metadata(["a"], set={"n": 1}) == 1
        assert store.get(filter="n == 1")[0].id == "a"


def test_hostile_names_are_quoted(open_pg: Open, postgres_dsn: str) -> None:
    name = 'we"ird; DROP TABLE x; -- 100% {0}'
    schema = 'my "schema" %s'
    try:
        store = open_pg(
            table=name, namespace=schema, dimension=2, text_column="te%xt", metadata_column='m"{}',
            **promoted({"it's {k}": "int"}),
        )  # fmt: skip
        store.add([Document("x", {"it's {k}": 5}, id="1", embedding=[1, 0])])
        store.add(
            [Document("x", {"it's {k}": n}, id=f"n{n}", embedding=[1, 1]) for n in range(100)]
        )
        assert store.count('"it\'s {k}" == 5') == 2
        assert store.search(vector=[1, 0], filter='"it\'s {k}" > 98')[0].id == "n99"
        assert store.update_metadata(["1"], set={"z": 1}) == 1
        assert len(list(store.scan())) == 101
        store.clear()
        assert store.count() == 0
    finally:
        execute(postgres_dsn, "DROP SCHEMA IF EXISTS {} CASCADE", schema)


def Column_(type_name: str) -> object:
    from vecstore.dialects.pgvector import Column

    return Column(type_name, name="odd %s {}")


class TestDimensions:
    def test_beyond_2000_the_index_is_half_precision_and_results_are_exact(
        self, open_pg: Open
    ) -> None:
        import numpy as np

        store = open_pg(dimension=2_100, exact_below=0)
        vectors = np.random.default_rng(1).normal(size=(120, 2_100))
        store.add(
            [
                Document("", {"n": n}, id=str(n), embedding=vector)
                for n, vector in enumerate(vectors)
            ]
        )
        assert not store.capabilities.exact_topk
        query = vectors[7] + 0.01
        found = store.search(vector=query, top_k=5)
        reference = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        assert [d.id for d in found] == [str(n) for n in np.argsort(-reference)[:5]]
        np.testing.assert_allclose(
            [d.score for d in found], np.sort(reference)[::-1][:5], atol=1e-5
        )

    @pytest.mark.parametrize("dimension", [2_100, None])
    def test_lengths_that_half_precision_does_not_hold_are_refused_by_name(
        self, open_pg: Open, table: str, dimension: int | None
    ) -> None:
        store = open_pg(dimension=dimension)
        fine = Document("", id="fine", embedding=[1.0] * 2_100)
        for length, limit in ((1e6, "max_vector_length"), (1e-6, "min_vector_length")):
            past = Document("", id="past", embedding=[length, *[0.0] * 2_099])
            with pytest.raises(DocumentError, match=f"'past' has a length.*{limit}"):
                store.add([fine, past])
        assert store.count() == 0
        store.add([fine])
        assert store.capabilities.max_vector_length == 65_504
        (found,) = store.search(vector=[1e6] * 2_100)
        assert found.score == pytest.approx(1)
        assert open_pg(index=None).capabilities.max_vector_length == 65_504
        exact = open_pg(table=f"{table} exact", dimension=2_100, index=None)
        exact.add([Document("", id="long", embedding=[1e6] * 2_100)])

    def test_beyond_4000_no_index_is_offered_before_any_ddl(self, open_pg: Open) -> None:
        with pytest.raises(DimensionMismatchError, match=r"4,000.*index=None"):
            open_pg(dimension=4_001)
        store = open_pg(dimension=4_001, index=None)
        store.add([Document("", id="a", embedding=[1.0] * 4_001)])
        assert store.search(vector=[1.0] * 4_001)[0].score == pytest.approx(1)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"index": "flat"}, "hnsw"),
            ({"index_options": {"lists": 5}}, "has no build option 'lists'"),
            ({"index_options": {"m": 0}}, "from 1 on"),
            ({"index": None, "index_options": {"m": 5}}, "no build option"),
            ({"table": ""}, "not empty"),
            ({"table": "x" * 64}, "63 bytes"),
            ({"id_column": "text"}, "used twice"),
        ],
    )
    def test_options_that_cannot_work(
        self, open_pg: Open, options: dict[str, object], says: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=says):
            open_pg(dimension=2, **options)


def test_ivfflat_is_built_over_rows(open_pg: Open) -> None:
    store = open_pg(dimension=2, index="ivfflat", index_options={"lists": 10}, exact_below=0)
    assert store.capabilities.exact_topk
    store.add([Document("", {"n": n}, id=f"{n:04}", embedding=[1, n / 100]) for n in range(1_000)])
    store.build_index()
    assert not store.capabilities.exact_topk
    assert [d.id for d in store.search(vector=[1, 0], top_k=3)] == ["0000", "0001", "0002"]
    assert len(store.search(vector=[1, 0], top_k=7, filter="n >= 993")) == 7
    store.build_index()


def test_short_lists_are_looked_up_row_by_row_where_no_index_serves_them(
    open_pg: Open, postgres_dsn: str, table: str
) -> None:
    open_pg(dimension=2).add(
        [
            Document("t", {"n": value}, id=str(number), embedding=[1, 0])
            for number, value in enumerate([1, "1", [1, 5], 2.5, None, True])
        ]
    )
    condition = "n IN [1, 2.5, 7]"
    indexed = open_pg(create=False)
    found = {one.id for one in indexed.get(filter=condition)}
    assert "@>" in indexed._dialect.compile(condition).query
    execute(postgres_dsn, "DROP INDEX {}", f"{table}_metadata_ix")
    bare = open_pg(create=False)
    assert "@>" not in bare._dialect.compile(condition).query
    assert {one.id for one in bare.get(filter=condition)} == found == {"0", "2", "3"}


@pytest.mark.parametrize("effort", ["40; DROP TABLE documents", 4.5, True])
def test_an_effort_is_a_whole_number(open_pg: Open, effort: object) -> None:
    with pytest.raises(ConfigurationError, match="search_effort is a whole number"):
        open_pg(dimension=2, search_effort=effort)
