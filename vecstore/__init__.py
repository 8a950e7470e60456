"""One filter language and one store API over every vector database.

Names are loaded on first use: importing the package loads neither numpy, nor the parser, nor
any backend client.

Example:
    >>> import vecstore
    >>> vecstore.parse("year >= 2020 AND country == 'BG'").matches({"year": 2021, "country": "BG"})
    True
"""

from vecstore.namespace import door

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "vecstore.content": "ContentFormatter MetadataMode",
        "vecstore.copying.copier": "Copied copy",
        "vecstore.dialects.base": "Dialect FilterConverter",
        "vecstore.dialects.chroma.store": "ChromaStore",
        "vecstore.dialects.duckdb.store": "DuckDBStore",
        "vecstore.dialects.lancedb.store": "LanceDBStore",
        "vecstore.dialects.milvus.store": "MilvusStore",
        "vecstore.dialects.pgvector.store": "PgvectorStore",
        "vecstore.dialects.pinecone.store": "PineconeStore",
        "vecstore.dialects.qdrant.store": "QdrantStore",
        "vecstore.dialects.redis.store": "RedisStore",
        "vecstore.dialects.sqlite.store": "SQLiteStore",
        "vecstore.dialects.weaviate.store": "WeaviateStore",
        "vecstore.dialects.registry": "compile_filter dialect_names get_dialect",
        "vecstore.document": "Document",
        "vecstore.embedding": "BatchingStrategy CountBatching Embedder TokenBatching",
        "vecstore.errors": (
            "BackendError BackendNotInstalledError ConfigurationError DialectNotFoundError "
            "DimensionMismatchError DocumentError DuplicateDocumentError EmbeddingError "
            "FilterError FilterLimitError FilterSyntaxError FilterTypeError SchemaMismatchError "
            "ScopeError SourceError StoreClosedError StoreFileError UnsupportedFilterError "
            "VecstoreError"
        ),
        "vecstore.filter.builder": "F FilterBuilder",
        "vecstore.filter.convert": "Capabilities Compiled",
        "vecstore.filter.limits": "Limits",
        "vecstore.filter.residual": "PartialCompiled",
        "vecstore.filter.tree": "Expression FALSE Group Key Op Span TRUE Value",
        "vecstore.filter.values": "Kind clean_metadata",
        "vecstore.grammar.parser": "parse",
        "vecstore.schema": "CoercedFilterWarning Schema",
        "vecstore.simple.store": "SimpleVectorStore",
        "vecstore.store.added": "Added",
        "vecstore.store.adding": "SkippedDocumentsWarning",
        "vecstore.store.aio": "AsyncVectorStore",
        "vecstore.store.arguments": "SearchRequest",
        "vecstore.store.backend": "Batch Place Selection",
        "vecstore.store.base": "VectorStore",
        "vecstore.store.capabilities": "StoreCapabilities",
        "vecstore.store.foreign": "ForeignRecordWarning",
        "vecstore.store.observing": "Observer",
        "vecstore.store.ranking": "relevance",
        "vecstore.store.ordering": "Page",
        "vecstore.store.residual": "Explanation ResidualWarning",
        "vecstore.store.statistics": "DistinctValues FieldInfo MinMax ValueCount",
        "vecstore.store.url": "StoreURL open_store",
    },
)
