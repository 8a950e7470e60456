"""pgvector on a real PostgreSQL."""

from __future__ import annotations

from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    ON_ANOTHER_ENGINE,
    Conformance,
    Declared,
    Server,
)
from tests.engines.postgres import PostgresRows
from tests.engines.rows import Documents, Rows
from vecstore import Kind
from vecstore.dialects.pgvector import Pgvector
from vecstore.dialects.pgvector.columns import read_columns
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.filter.text import key_text
from vecstore.testing import Domain


class TestPostgres(Conformance):
    dialect = Pgvector()

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"))


class TestPostgresWithIndex(Conformance):
    """The planner made to use a GIN index wherever it can: it must not change the rows."""

    chosen = ON_ANOTHER_ENGINE
    dialect = Pgvector(paramstyle="format")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"), gin=True)


class TestPostgresServerSide(Conformance):
    """Parameters bound by the server itself, as asyncpg does, and no index that lists count on."""

    chosen = (*ON_ANOTHER_ENGINE, "test_long_lists")
    dialect = Pgvector(paramstyle="numeric_dollar", indexed=False)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"), style="numeric_dollar")


COLUMNS = [
    key_text(path) for path, one in DECLARED.keys.items()
    if len(path) == 1 and (not one.many or one.filter_kind is Kind.STRING)
]  # fmt: skip
"""All keys that can be promoted."""


class PostgresColumnRows(PostgresRows):
    """Beside the JSON, a column for each declared key that PostgreSQL computes from it."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        for key, column in read_columns(COLUMNS, DECLARED):
            computed = column.generated("metadata -> '" + key + "'")
            self._connection.execute(
                f'ALTER TABLE documents ADD COLUMN "{key}" {column.sql_type} '
                f"GENERATED ALWAYS AS ({computed}) STORED"
            )

    def _load(self, rows: Documents) -> None:
        with self._connection.transaction():
            self._connection.execute("TRUNCATE documents")
            self._connection.execute(
                "INSERT INTO documents (id, metadata) SELECT * FROM "
                "unnest(%s::text[], %s::text[]::jsonb[])",
                (list(rows), [encode_json(dict(metadata)) for metadata in rows.values()]),
            )


class TestPostgresColumns(Declared):
    """Keys promoted to typed columns, beside others."""

    chosen = (*Declared.chosen, "test_random_filters", "test_hostile_text_in_keys_and_values")
    dialect = Pgvector(columns=COLUMNS, schema=DECLARED)
    domain = Domain(accepts=lambda path, value: type(value) is not int or -(2**63) <= value < 2**63)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresColumnRows(server("postgres_dsn"))


class TestPostgresOfASchema(Declared):
    """Nothing promoted: JSONB needs no telling."""

    chosen = OF_THE_SCHEMA[1:]
    dialect = Pgvector(schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"))
