"""pgvector on a real PostgreSQL."""

from __future__ import annotations

from tests.dialects.conformance.conformance import Conformance, Server
from tests.engines.postgres import PostgresRows
from tests.engines.rows import Rows
from vecstore.dialects.pgvector import Pgvector


class TestPostgres(Conformance):
    dialect = Pgvector()

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"))


class TestPostgresWithIndex(Conformance):
    """The planner made to use a GIN index wherever it can: it must not change the rows."""

    dialect = Pgvector(paramstyle="format")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"), gin=True)


class TestPostgresServerSide(Conformance):
    """Parameters bound by the server itself, as asyncpg does."""

    dialect = Pgvector(paramstyle="numeric_dollar")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresRows(server("postgres_dsn"), style="numeric_dollar")
