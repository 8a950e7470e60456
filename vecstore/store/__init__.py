"""The store layer: one interface over every backend, and what a backend fills in."""

from vecstore.store.arguments import SearchRequest
from vecstore.store.backend import Batch, Place, Selection
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import StoreCapabilities
from vecstore.store.observing import Observer
from vecstore.store.url import StoreURL, open_store

__all__ = [
    "Batch",
    "Observer",
    "Place",
    "SearchRequest",
    "Selection",
    "StoreCapabilities",
    "StoreURL",
    "VectorStore",
    "open_store",
]
