"""DuckDB: metadata in one JSON column."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.duckdb.dialect import DuckDB

if TYPE_CHECKING:
    from vecstore.dialects.duckdb.store import DuckDBStore

__all__ = ["DuckDB", "DuckDBStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "DuckDBStore":
        from vecstore.dialects.duckdb.store import DuckDBStore

        return DuckDBStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
