"""Pinecone: filters as plain dicts over a record's metadata."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.pinecone.dialect import Pinecone

if TYPE_CHECKING:
    from vecstore.dialects.pinecone.store import PineconeStore

__all__ = ["Pinecone", "PineconeStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "PineconeStore":
        from vecstore.dialects.pinecone.store import PineconeStore

        return PineconeStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
