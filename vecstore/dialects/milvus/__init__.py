"""Milvus: metadata in a JSON field, beside a field of tags that makes filters exact."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.milvus.dialect import Milvus

if TYPE_CHECKING:
    from vecstore.dialects.milvus.store import MilvusStore

__all__ = ["Milvus", "MilvusStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "MilvusStore":
        from vecstore.dialects.milvus.store import MilvusStore

        return MilvusStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
