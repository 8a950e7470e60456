"""Qdrant: metadata in the points' payload."""

from vecstore.dialects.qdrant.dialect import Qdrant

__all__ = ["Qdrant"]
