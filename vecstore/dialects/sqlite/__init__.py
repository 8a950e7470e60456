"""SQLite: metadata as JSON text in one column."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.sqlite.dialect import SQLite

if TYPE_CHECKING:
    from vecstore.dialects.sqlite.store import SQLiteStore

__all__ = ["SQLite", "SQLiteStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "SQLiteStore":
        from vecstore.dialects.sqlite.store import SQLiteStore

        return SQLiteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
