"""Chroma: metadata beside the embeddings of a collection."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.chroma.dialect import Chroma

if TYPE_CHECKING:
    from vecstore.dialects.chroma.store import ChromaStore

__all__ = ["Chroma", "ChromaStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "ChromaStore":
        from vecstore.dialects.chroma.store import ChromaStore

        return ChromaStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
