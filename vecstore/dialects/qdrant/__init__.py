"""Qdrant: metadata in the points' payload."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.qdrant.dialect import Qdrant

if TYPE_CHECKING:
    from vecstore.dialects.qdrant.store import QdrantStore

__all__ = ["Qdrant", "QdrantStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "QdrantStore":
        from vecstore.dialects.qdrant.store import QdrantStore

        return QdrantStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
