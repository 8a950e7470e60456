"""A vecstore dialect for documents whose metadata is JSON text in a column of SQLite."""

from vecstore_sqlite.dialect import Sqlite

__all__ = ["Sqlite"]
