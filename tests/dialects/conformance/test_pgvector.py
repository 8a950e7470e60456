"""pgvector on a real PostgreSQL."""

from __future__ import annotations

from typing import Any

from tests.dialects.conformance.conformance import (
    AT_LENGTH,
    ON_ANOTHER_ENGINE,
    Conformance,
    Server,
)
from tests.engines.postgres import PostgresRows
from tests.engines.rows import Documents, Rows
from vecstore.dialects.pgvector import Column, Pgvector
from vecstore.dialects.pgvector.layout import encode_json
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


TYPES = {"k": "str", "x": "float", "y": "list[str]", "K": "int", "a b": "bool"}


class PostgresColumnRows(PostgresRows):
    """Beside the JSON, a column for each declared key that PostgreSQL computes from it."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        for key, type_name in TYPES.items():
            column = Column(type_name)
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


def fits(path: tuple[str, ...], value: Any) -> bool:
    """What the declared keys may hold."""
    declared = TYPES.get(path[0]) if len(path) == 1 else None
    if declared is None or value is None or value == []:
        return True
    if declared == "list[str]":
        return isinstance(value, list) and isinstance(value[0], str)
    if declared == "float":
        return type(value) is float or (type(value) is int and int(float(value)) == value)
    if declared == "int":
        return type(value) is int and -(2**63) <= value < 2**63
    return type(value) is {"str": str, "bool": bool}[declared]


class TestPostgresColumns(Conformance):
    """Some keys promoted to typed columns, others not."""

    repeats = AT_LENGTH
    dialect = Pgvector(columns=TYPES)
    domain = Domain(accepts=fits)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PostgresColumnRows(server("postgres_dsn"))
