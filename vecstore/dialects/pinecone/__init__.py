"""Pinecone: filters as plain dicts over a record's metadata."""

from vecstore.dialects.pinecone.dialect import Pinecone

__all__ = ["Pinecone"]
