"""The store layer: one interface over every backend, and what a backend fills in.

Example:
    >>> from vecstore.store import StoreURL
    >>> StoreURL.read("qdrant://localhost:6333/docs").host
    'localhost'
"""

from vecstore.namespace import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "vecstore.store.added": "Added",
        "vecstore.store.adding": "SkippedDocumentsWarning",
        "vecstore.store.aio": "AsyncVectorStore",
        "vecstore.store.arguments": "SearchRequest",
        "vecstore.store.backend": "Batch Place Selection",
        "vecstore.store.base": "VectorStore",
        "vecstore.store.capabilities": "StoreCapabilities",
        "vecstore.store.foreign": "ForeignRecordWarning",
        "vecstore.store.observing": "Observer",
        "vecstore.store.ordering": "Page",
        "vecstore.store.residual": "Explanation ResidualWarning",
        "vecstore.store.statistics": "DistinctValues FieldInfo MinMax ValueCount",
        "vecstore.store.url": "StoreURL open_store",
    },
)
