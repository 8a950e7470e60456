"""Haystack's document store over any store of this library, and a retriever for its pipelines.

Needs haystack-ai, the extra `haystack`.
"""

from __future__ import annotations

from vecstore.errors import BackendNotInstalledError
from vecstore.installing import install_line

try:
    from vecstore.adapters.haystack.document_store import VecstoreDocumentStore
    from vecstore.adapters.haystack.retriever import VecstoreEmbeddingRetriever
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs haystack-ai: {install_line('haystack')}"
    ) from None

__all__ = ["VecstoreDocumentStore", "VecstoreEmbeddingRetriever"]
