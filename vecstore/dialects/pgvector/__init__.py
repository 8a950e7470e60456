"""PostgreSQL with pgvector: metadata in one JSONB column."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.pgvector.columns import Column
from vecstore.dialects.pgvector.dialect import Pgvector

if TYPE_CHECKING:
    from vecstore.dialects.pgvector.filling import UnbuiltIndexWarning
    from vecstore.dialects.pgvector.store import PgvectorStore

__all__ = ["Column", "Pgvector", "PgvectorStore", "UnbuiltIndexWarning"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "PgvectorStore":
        from vecstore.dialects.pgvector.store import PgvectorStore

        return PgvectorStore
    if name == "UnbuiltIndexWarning":
        from vecstore.dialects.pgvector.filling import UnbuiltIndexWarning

        return UnbuiltIndexWarning
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
