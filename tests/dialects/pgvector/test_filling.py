"""The index on vectors is built once over the rows of a large add, and comes to be whatever happens."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from vecstore import (
    ConfigurationError,
    DimensionMismatchError,
    Document,
    DocumentError,
    StoreClosedError,
)
from vecstore.dialects.pgvector.filling import FILLED_FROM, UnbuiltIndexWarning
from vecstore.dialects.pgvector.store import PgvectorStore

Open = Callable[..., PgvectorStore]
DIMENSION = 8
VECTORS = np.random.default_rng(1).normal(size=(3 * FILLED_FROM, DIMENSION)).astype(np.float32)


def documents(start: int = 0, count: int = FILLED_FROM) -> list[Document]:
    return [
        Document("x", {"n": row}, f"{row:05}", VECTORS[row]) for row in range(start, start + count)
    ]


class Table:
    """What another client sees of the table."""

    def __init__(self, dsn: str, name: str) -> None:
        self.dsn, self.name = dsn, name

    def composed(self, statement: str, **names: str) -> sql.Composed:
        """A statement with names in it, among them ``{table}``, and ``{regclass}`` as a literal."""
        identifiers = {name: sql.Identifier(one) for name, one in names.items()}
        return sql.SQL(statement).format(
            table=sql.Identifier(self.name), regclass=sql.Literal(self.name), **identifiers
        )

    def ask(self, statement: str, **names: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(self.composed(statement, **names))
            return cursor.fetchall() if cursor.description else []

    def indexes(self) -> list[str]:
        """``built`` or ``stub`` for each index on the vectors, with its options."""
        return [
            ("stub" if stub else "built") + "".join([f" {option}" for option in options or ()])
            for stub, options in self.ask(
                "SELECT i.indpred IS NOT NULL, c.reloptions FROM pg_index i "
                "JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam "
                "WHERE am.amname = 'hnsw' AND i.indrelid = {regclass}::regclass"
            )
        ]

    def found_by_the_index(self, row: int) -> str:
        """The id that the index alone gives for a row's vector."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute("SET LOCAL enable_seqscan = off")
            vector = str(VECTORS[row].tolist())
            statement = self.composed(
                "SELECT id FROM {table} ORDER BY embedding <=> %s::vector LIMIT 1"
            )
            plan = connection.execute(sql.SQL("EXPLAIN {}").format(statement), [vector]).fetchall()
            assert "Index Scan" in str(plan), plan
            found = connection.execute(statement, [vector]).fetchone()
            assert found is not None
            return str(found[0])


@pytest.fixture
def seen(postgres_dsn: str, table: str) -> Table:
    return Table(postgres_dsn, table)


def test_a_large_add_to_an_empty_table_builds_the_index_at_its_end(
    open_pg: Open, seen: Table
) -> None:
    store = open_pg(dimension=DIMENSION, index_options={"m": 8})
    assert seen.indexes() == ["built m=8"]
    meanwhile: list[list[str]] = []
    store.add(
        documents(count=2 * FILLED_FROM),
        progress=lambda done, all: meanwhile.append(seen.indexes()),
    )
    assert meanwhile[0] == ["stub m=8"]
    assert seen.indexes() == ["built m=8"]
    assert seen.found_by_the_index(7) == "00007"
    # From now on row by row: the table is searched.
    meanwhile.clear()
    store.add(
        documents(2 * FILLED_FROM), progress=lambda done, all: meanwhile.append(seen.indexes())
    )
    assert meanwhile[0] == ["built m=8"]
    assert seen.found_by_the_index(2 * FILLED_FROM) == f"{2 * FILLED_FROM:05}"


def test_so_does_one_that_makes_the_table(open_pg: Open, seen: Table) -> None:
    meanwhile: list[list[str]] = []
    open_pg().add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
    assert (meanwhile[0], seen.indexes()) == (["stub"], ["built"])
    assert seen.found_by_the_index(7) == "00007"


def test_so_does_one_after_clear(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    meanwhile: list[list[str]] = []
    for _ in range(2):
        store.add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
        store.clear()
    assert meanwhile == [["stub"], ["stub"]]


def test_a_small_add_leaves_the_index_alone(open_pg: Open, seen: Table) -> None:
    meanwhile: list[list[str]] = []
    open_pg(dimension=DIMENSION).add(
        documents(count=FILLED_FROM - 1),
        progress=lambda done, all: meanwhile.append(seen.indexes()),
    )
    assert meanwhile[0] == ["built"]


@pytest.mark.parametrize("column", ["halfvec", "vector"])
def test_copies_in_half_precision_and_searches_meanwhile(
    open_pg: Open, seen: Table, column: str
) -> None:
    dimension = 2_001 if column == "halfvec" else 3
    vectors = np.zeros((FILLED_FROM, dimension), np.float32)
    vectors[:, 0], vectors[:, 1] = 1, np.arange(FILLED_FROM) / 100
    store = open_pg(dimension=dimension, exact_below=0)
    meanwhile: list[str] = []
    store.add(
        [Document("x", id=f"{row:05}", embedding=vector) for row, vector in enumerate(vectors)],
        progress=lambda done, all: meanwhile.extend(
            found.id for found in store.search(vector=vectors[0], top_k=3)
        ),
    )
    assert meanwhile[:3] == ["00000", "00001", "00002"]
    assert seen.indexes() == ["built"]
    assert [one.id for one in store.search(vector=vectors[0], top_k=3)] == meanwhile[:3]


def test_an_interrupted_add_is_told_at_the_next_opening_and_mended_by_the_next_add(
    open_pg: Open, seen: Table
) -> None:
    from vecstore.store.adding import WINDOW

    many = np.random.default_rng(2).normal(size=(WINDOW, DIMENSION)).astype(np.float32)

    def coming() -> Iterator[Document]:
        for row, vector in enumerate(many):
            yield Document("x", id=f"{row:05}", embedding=vector)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_pg(dimension=DIMENSION, index_options={"m": 8}).add(coming())
    assert seen.indexes() == ["stub m=8"]
    with pytest.warns(UnbuiltIndexWarning, match=r"is put off.*build_index\(\)"):
        store = open_pg()
    assert store.search(vector=many[5], top_k=1)[0].id == "00005"
    store.add(documents(count=1))
    assert seen.indexes() == ["built m=8"]
    assert seen.found_by_the_index(0) == "00000"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_pg()


def test_build_index_mends_it_as_well(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    with pytest.raises(KeyboardInterrupt), store.bulk_load():
        store.add(documents())
        raise KeyboardInterrupt
    assert seen.indexes() == ["stub"]
    store.build_index()
    assert seen.indexes() == ["built"]
    assert seen.found_by_the_index(7) == "00007"


def test_an_add_that_fails_half_way_leaves_an_index(open_pg: Open, seen: Table) -> None:
    from vecstore.store.adding import WINDOW

    def coming() -> Iterator[Document]:
        for row in range(WINDOW + 1):
            wrong = row == WINDOW
            yield Document("x", id=f"{row:05}", embedding=VECTORS[0][: 3 if wrong else DIMENSION])

    with pytest.raises(DimensionMismatchError):
        open_pg(dimension=DIMENSION).add(coming())
    assert seen.indexes() == ["built"]


def test_writers_meanwhile_are_in_the_index(open_pg: Open, seen: Table) -> None:
    store, other = open_pg(dimension=DIMENSION), open_pg(dimension=DIMENSION)
    other.add(documents(FILLED_FROM, 1))
    other.delete(["00500"])
    others = iter(range(FILLED_FROM, 2 * FILLED_FROM))
    store.add(
        documents(),
        progress=lambda done, all: other.add(documents(next(others), 1)) and None,
    )
    assert seen.indexes() == ["built"]
    assert seen.found_by_the_index(FILLED_FROM) == f"{FILLED_FROM:05}"
    assert seen.found_by_the_index(7) == "00007"


def test_many_threads_that_fill_one_table(open_pg: Open, seen: Table) -> None:
    store = open_pg()
    failures: list[BaseException] = []

    def fill(start: int) -> None:
        try:
            store.add(documents(start))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fill, args=(n * FILLED_FROM,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (store.count(), seen.indexes()) == (3 * FILLED_FROM, ["built"])
    for row in (0, FILLED_FROM, 2 * FILLED_FROM):
        assert seen.found_by_the_index(row) == f"{row:05}"


def test_nobody_is_made_to_wait_for_it(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    meanwhile: list[list[str]] = []
    with psycopg.connect(seen.dsn) as reader:
        reader.execute(seen.composed("SELECT count(*) FROM {table}"))  # its transaction stays open
        store.add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
    assert meanwhile[0] == ["built"]
    assert seen.found_by_the_index(7) == "00007"


def test_a_reader_keeps_the_stub_but_not_the_index_away(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    reader = psycopg.connect(seen.dsn)
    with reader:
        store.add(
            documents(),
            progress=lambda done, all: (
                reader.execute(seen.composed("SELECT 1 FROM {table}")) and None
            ),
        )
        assert sorted(seen.indexes()) == ["built", "stub"]
        assert store.search(vector=VECTORS[7], top_k=1)[0].id == "00007"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = open_pg()
    again.clear()
    again.add(documents())
    assert seen.indexes() == ["built"]


def test_a_table_of_another_role_or_another_layout_keeps_its_index(
    open_pg: Open, seen: Table
) -> None:
    store = open_pg(dimension=DIMENSION)
    seen.ask("COMMENT ON TABLE {table} IS 'ours'")
    meanwhile: list[list[str]] = []
    store.add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
    assert meanwhile[0] == ["built"]
    with pytest.raises(ConfigurationError, match="not made by vecstore"), store.bulk_load():
        pass
    store.clear()
    seen.ask("COMMENT ON TABLE {table} IS 'vecstore layout 1'")
    role = f"writer_of_{seen.name}"
    seen.ask("CREATE ROLE {role} LOGIN", role=role)
    try:
        seen.ask("GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}", role=role)
        writer = open_pg(dsn=psycopg.conninfo.make_conninfo(seen.dsn, user=role))
        writer.add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
        writer.close()
        assert meanwhile[-1] == ["built"]
    finally:
        seen.ask("DROP OWNED BY {role}", role=role)
        seen.ask("DROP ROLE {role}", role=role)


def test_an_index_of_another_kind_is_left_alone(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    (name,) = [name for (name,) in seen.ask(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = indexrelid "
        "JOIN pg_am am ON am.oid = c.relam WHERE am.amname = 'hnsw' "
        "AND indrelid = {regclass}::regclass"
    )]  # fmt: skip
    seen.ask("DROP INDEX {name}", name=name)
    seen.ask("CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops) WHERE id <> 'none'")
    before = seen.indexes()
    meanwhile: list[list[str]] = []
    store.add(documents(), progress=lambda done, all: meanwhile.append(seen.indexes()))
    assert meanwhile[0] == seen.indexes() == before


def test_bulk_load_puts_the_index_of_a_table_with_rows_off(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    store.add(documents(count=1))
    with store.bulk_load():
        store.add(documents(1, 5))
        store.add(documents(6, 5))
        assert seen.indexes() == ["stub"]
        assert store.search(vector=VECTORS[7], top_k=1)[0].id == "00007"
    assert seen.indexes() == ["built"]
    assert seen.found_by_the_index(7) == "00007"
    with pytest.raises(DocumentError), store.bulk_load():
        store.add([Document("x", {"n": [[1]]}, embedding=VECTORS[0])])
    assert seen.indexes() == ["built"]


def test_bulk_load_of_a_table_that_is_still_to_be_made(open_pg: Open, seen: Table) -> None:
    store = open_pg()
    with store.bulk_load():
        for start in range(0, 30, 10):
            store.add(documents(start, 10))
        assert seen.indexes() == ["stub"]
    assert seen.indexes() == ["built"]


@pytest.mark.parametrize("index", [None, "ivfflat"])
def test_without_hnsw_there_is_nothing_to_put_off(open_pg: Open, index: Any) -> None:
    store = open_pg(dimension=DIMENSION, index=index)
    with pytest.raises(ConfigurationError, match="hnsw"), store.bulk_load():
        pass
    store.add(documents())
    assert store.count() == FILLED_FROM


def test_an_index_that_cannot_be_built_is_told_and_the_documents_are_stored(
    open_pg: Open, seen: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vecstore.dialects.pgvector import store as module

    def fail(cursor: Any, *arguments: Any) -> None:
        cursor.execute("SELECT 1 / 0")

    store = open_pg(dimension=DIMENSION)
    with monkeypatch.context() as broken:
        broken.setattr(module, "build", fail)
        with pytest.warns(UnbuiltIndexWarning, match="by zero"):
            store.add(documents())
    assert (store.count(), seen.indexes()) == (FILLED_FROM, ["stub"])
    store.add(documents(count=1))
    assert seen.indexes() == ["built"]


def test_the_time_that_a_statement_may_take_is_not_that_of_the_index(
    open_pg: Open, seen: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vecstore.dialects.pgvector import filling

    real = filling.create_vector_index
    timeouts: list[Any] = []

    def watched(cursor: Any, *arguments: Any, **options: Any) -> None:
        cursor.execute("SHOW statement_timeout")
        timeouts.append(cursor.fetchone()[0])
        real(cursor, *arguments, **options)

    monkeypatch.setattr(filling, "create_vector_index", watched)
    store = open_pg(dimension=DIMENSION, statement_timeout=60)
    store.add(documents())
    assert timeouts == ["1min", "0"]


def test_a_store_that_is_closed_inside_ends_the_load(open_pg: Open, seen: Table) -> None:
    store = open_pg(dimension=DIMENSION)
    with pytest.warns(UnbuiltIndexWarning), store.bulk_load():  # noqa: PT031
        store.add(documents())
        store.close()
    assert seen.indexes() == ["stub"]
    with pytest.raises(StoreClosedError), store.bulk_load():
        pass
