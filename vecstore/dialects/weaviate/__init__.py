"""Weaviate: filters as a neutral tree of conditions on properties."""

from vecstore.dialects.weaviate.dialect import Compound, Condition, Weaviate

__all__ = ["Compound", "Condition", "Weaviate"]
