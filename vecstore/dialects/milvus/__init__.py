"""Milvus: metadata in a JSON field, beside a field of tags that makes filters exact."""

from vecstore.dialects.milvus.dialect import Milvus

__all__ = ["Milvus"]
