"""SQLite, in the process: the standard library's."""

from __future__ import annotations

from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    Conformance,
    Declared,
    Server,
)
from tests.engines.rows import Rows
from tests.engines.sqlite import SqliteRows
from vecstore import Expression
from vecstore.dialects.sqlite import SQLite


def _is_too_long(atom: Expression) -> bool:
    return len(atom.key.path) > 60


class TestSQLite(Conformance):
    dialect = SQLite()

    @classmethod
    def open(cls, server: Server) -> Rows:
        return SqliteRows()

    def also_refuses(self, atom: Expression) -> bool:
        return _is_too_long(atom)


class TestSQLiteByName(Conformance):
    """A qualified column, and parameters by name."""

    chosen = ("test_hostile_text_in_keys_and_values", "test_grouping_and_negation")
    dialect = SQLite(column=("documents", "metadata"), paramstyle="named")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return SqliteRows()

    def also_refuses(self, atom: Expression) -> bool:
        return _is_too_long(atom)


class TestSQLiteOfASchema(Declared):
    """JSON needs no telling."""

    chosen = OF_THE_SCHEMA[1:]
    dialect = SQLite(schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return SqliteRows()

    def also_refuses(self, atom: Expression) -> bool:
        return _is_too_long(atom)
