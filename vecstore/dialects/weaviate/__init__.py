"""Weaviate: filters as a neutral tree of conditions on properties."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.weaviate.dialect import Weaviate
from vecstore.dialects.weaviate.where import Compound, Condition

if TYPE_CHECKING:
    from vecstore.dialects.weaviate.store import WeaviateStore

__all__ = ["Compound", "Condition", "Weaviate", "WeaviateStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "WeaviateStore":
        from vecstore.dialects.weaviate.store import WeaviateStore

        return WeaviateStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
