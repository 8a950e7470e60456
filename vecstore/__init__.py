"""One filter language and one store API over every vector database.

Names are loaded on first use: importing the package loads neither numpy, nor the parser, nor
any backend client.

Example:
    >>> import vecstore
    >>> vecstore.parse("year >= 2020 AND country == 'BG'").matches({"year": 2021, "country": "BG"})
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vecstore.dialects.base import Dialect
    from vecstore.dialects.registry import compile_filter, dialect_names, get_dialect
    from vecstore.document import Document
    from vecstore.embedding import BatchingStrategy, CountBatching, Embedder, TokenBatching
    from vecstore.errors import (
        BackendError,
        BackendNotInstalledError,
        ConfigurationError,
        DialectNotFoundError,
        DimensionMismatchError,
        DocumentError,
        DuplicateDocumentError,
        EmbeddingError,
        FilterError,
        FilterLimitError,
        FilterSyntaxError,
        FilterTypeError,
        SchemaMismatchError,
        ScopeError,
        StoreClosedError,
        StoreFileError,
        UnsupportedFilterError,
        VecstoreError,
    )
    from vecstore.filter.builder import F, FilterBuilder
    from vecstore.filter.convert import Capabilities, Compiled, FilterConverter
    from vecstore.filter.limits import Limits
    from vecstore.filter.tree import Expression, Group, Key, Op, Span, Value
    from vecstore.filter.values import Kind, clean_metadata
    from vecstore.grammar.parser import parse
    from vecstore.simple.store import SimpleVectorStore
    from vecstore.store.adding import SkippedDocumentsWarning
    from vecstore.store.aio import AsyncVectorStore
    from vecstore.store.arguments import SearchRequest
    from vecstore.store.backend import Batch, Place, Selection
    from vecstore.store.base import VectorStore
    from vecstore.store.capabilities import StoreCapabilities
    from vecstore.store.foreign import ForeignRecordWarning
    from vecstore.store.observing import Observer
    from vecstore.store.url import StoreURL, open_store


__version__ = "0.1.0"

_LOCATIONS = {
    "AsyncVectorStore": "vecstore.store.aio",
    "BackendError": "vecstore.errors",
    "BackendNotInstalledError": "vecstore.errors",
    "Batch": "vecstore.store.backend",
    "BatchingStrategy": "vecstore.embedding",
    "Capabilities": "vecstore.filter.convert",
    "Compiled": "vecstore.filter.convert",
    "ConfigurationError": "vecstore.errors",
    "CountBatching": "vecstore.embedding",
    "Dialect": "vecstore.dialects.base",
    "DialectNotFoundError": "vecstore.errors",
    "DimensionMismatchError": "vecstore.errors",
    "Document": "vecstore.document",
    "DocumentError": "vecstore.errors",
    "DuplicateDocumentError": "vecstore.errors",
    "Embedder": "vecstore.embedding",
    "EmbeddingError": "vecstore.errors",
    "Expression": "vecstore.filter.tree",
    "F": "vecstore.filter.builder",
    "FilterBuilder": "vecstore.filter.builder",
    "FilterConverter": "vecstore.filter.convert",
    "FilterError": "vecstore.errors",
    "FilterLimitError": "vecstore.errors",
    "FilterSyntaxError": "vecstore.errors",
    "FilterTypeError": "vecstore.errors",
    "ForeignRecordWarning": "vecstore.store.foreign",
    "Group": "vecstore.filter.tree",
    "Key": "vecstore.filter.tree",
    "Kind": "vecstore.filter.values",
    "Limits": "vecstore.filter.limits",
    "Observer": "vecstore.store.observing",
    "Op": "vecstore.filter.tree",
    "Place": "vecstore.store.backend",
    "SchemaMismatchError": "vecstore.errors",
    "ScopeError": "vecstore.errors",
    "SearchRequest": "vecstore.store.arguments",
    "Selection": "vecstore.store.backend",
    "SimpleVectorStore": "vecstore.simple.store",
    "SkippedDocumentsWarning": "vecstore.store.adding",
    "Span": "vecstore.filter.tree",
    "StoreCapabilities": "vecstore.store.capabilities",
    "StoreClosedError": "vecstore.errors",
    "StoreFileError": "vecstore.errors",
    "StoreURL": "vecstore.store.url",
    "TokenBatching": "vecstore.embedding",
    "UnsupportedFilterError": "vecstore.errors",
    "Value": "vecstore.filter.tree",
    "VecstoreError": "vecstore.errors",
    "VectorStore": "vecstore.store.base",
    "clean_metadata": "vecstore.filter.values",
    "compile_filter": "vecstore.dialects.registry",
    "dialect_names": "vecstore.dialects.registry",
    "get_dialect": "vecstore.dialects.registry",
    "open_store": "vecstore.store.url",
    "parse": "vecstore.grammar.parser",
}

__all__ = [
    "AsyncVectorStore",
    "BackendError",
    "BackendNotInstalledError",
    "Batch",
    "BatchingStrategy",
    "Capabilities",
    "Compiled",
    "ConfigurationError",
    "CountBatching",
    "Dialect",
    "DialectNotFoundError",
    "DimensionMismatchError",
    "Document",
    "DocumentError",
    "DuplicateDocumentError",
    "Embedder",
    "EmbeddingError",
    "Expression",
    "F",
    "FilterBuilder",
    "FilterConverter",
    "FilterError",
    "FilterLimitError",
    "FilterSyntaxError",
    "FilterTypeError",
    "ForeignRecordWarning",
    "Group",
    "Key",
    "Kind",
    "Limits",
    "Observer",
    "Op",
    "Place",
    "SchemaMismatchError",
    "ScopeError",
    "SearchRequest",
    "Selection",
    "SimpleVectorStore",
    "SkippedDocumentsWarning",
    "Span",
    "StoreCapabilities",
    "StoreClosedError",
    "StoreFileError",
    "StoreURL",
    "TokenBatching",
    "UnsupportedFilterError",
    "Value",
    "VecstoreError",
    "VectorStore",
    "clean_metadata",
    "compile_filter",
    "dialect_names",
    "get_dialect",
    "open_store",
    "parse",
]


def __getattr__(name: str) -> Any:
    location = _LOCATIONS.get(name)
    if location is None:
        raise AttributeError(f"module 'vecstore' has no attribute {name!r}")
    value = getattr(import_module(location), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
