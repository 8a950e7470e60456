"""Weaviate: filters as a neutral tree of conditions on properties."""

from vecstore.dialects.weaviate.dialect import Weaviate
from vecstore.dialects.weaviate.where import Compound, Condition

__all__ = ["Compound", "Condition", "Weaviate"]
