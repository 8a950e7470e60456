"""SQLite: documents as JSON text, read by its JSON functions."""

from __future__ import annotations

import sqlite3
from typing import Any

from tests.engines.rows import Documents, Rows
from vecstore.dialects.pgvector.layout import encode_json


class SqliteRows(Rows):
    """A table ``(id TEXT, metadata TEXT)`` in memory; queries are conditions over ``metadata``."""

    name = "SQLite"

    def __init__(self) -> None:
        super().__init__()
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE TABLE documents (id TEXT PRIMARY KEY, metadata TEXT NOT NULL)"
        )

    def _refused_by(self) -> tuple[type[Exception], ...]:
        # An integer parameter past 64 bits, and half of a surrogate pair.
        return (sqlite3.Error, OverflowError, UnicodeEncodeError)

    def _load(self, rows: Documents) -> None:
        with self._connection:
            self._connection.execute("DELETE FROM documents")
            self._connection.executemany(
                "INSERT INTO documents VALUES (?, json(?))",
                [(key, encode_json(dict(metadata))) for key, metadata in rows.items()],
            )

    def _select(self, query: Any, params: Any) -> set[str]:
        statement = "SELECT id FROM documents" + ("" if query is None else f" WHERE {query}")
        return {row[0] for row in self._connection.execute(statement, params or ())}

    def close(self) -> None:
        self._connection.close()
