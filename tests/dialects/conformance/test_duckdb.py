"""DuckDB, in the process."""

from __future__ import annotations

from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    Conformance,
    Declared,
    Server,
)
from tests.engines.duckdb import DuckDBRows
from tests.engines.rows import Rows
from vecstore.dialects.duckdb import DuckDB


class TestDuckDB(Conformance):
    dialect = DuckDB()

    @classmethod
    def open(cls, server: Server) -> Rows:
        return DuckDBRows()


class TestDuckDBOfOthers(Conformance):
    """JSON as most programs write it, and numbered parameters."""

    chosen = ("test_hostile_text_in_keys_and_values", "test_grouping_and_negation")
    dialect = DuckDB(paramstyle="numeric_dollar")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return DuckDBRows(ascii=True)


class TestDuckDBOfASchema(Declared):
    """JSON needs no telling."""

    chosen = OF_THE_SCHEMA[1:]
    dialect = DuckDB(schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return DuckDBRows()
