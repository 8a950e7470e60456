"""LanceDB: conditions of its SQL, over tokens of the metadata or over columns of others."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.lancedb.dialect import LanceDB

if TYPE_CHECKING:
    from vecstore.dialects.lancedb.store import LanceDBStore

__all__ = ["LanceDB", "LanceDBStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "LanceDBStore":
        from vecstore.dialects.lancedb.store import LanceDBStore

        return LanceDBStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
