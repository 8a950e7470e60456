"""PostgreSQL with pgvector: metadata in one JSONB column."""

from vecstore.dialects.pgvector.columns import Column
from vecstore.dialects.pgvector.dialect import Pgvector

__all__ = ["Column", "Pgvector"]
