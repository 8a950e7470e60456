"""What the author of a dialect or a store imports: all of it from here, and nothing from deeper.

The pages "Write a dialect" and "Write a store" say what each name is for, and
:mod:`vecstore.testing` proves what was written. Names are loaded on first use, so that a dialect
brings along neither numpy nor a client.

Example:
    >>> from vecstore.authoring import Op, Refusal
    >>> Refusal("a label has one name", 'quote a name with a dot: "a.b"').remedy
    'quote a name with a dot: "a.b"'
"""

from vecstore.namespace import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        # For both.
        "vecstore.errors": (
            "BackendError BackendNotInstalledError ConfigurationError DimensionMismatchError "
            "DocumentError DuplicateDocumentError SchemaMismatchError ScopeError StoreClosedError "
            "StoreFileError UnsupportedFilterError VecstoreError"
        ),
        "vecstore.filter.tree": (
            "COMPARISONS Expression Key LOGICAL MEMBERSHIPS NULL_TESTS ORDERINGS Op Value"
        ),
        "vecstore.filter.text": "key_text",
        # For dialects.
        "vecstore.dialects.base": "Dialect",
        "vecstore.dialects.declared": (
            "Declaration DeclaredKey as_membership decided declared_keys literals_held"
        ),
        "vecstore.dialects.orders": (
            "ordered_term sortable_integer term_range text_integers trie_query trie_tokens"
        ),
        "vecstore.dialects.sql": "Bound SqlDialect SqlPart quoted",
        "vecstore.dialects.tokens": (
            "DOCUMENT_TOKEN document_tokens hashed_token kind_token nearest_double presence_token "
            "present_values value_token"
        ),
        "vecstore.filter.convert": (
            "ALL_LITERALS Capabilities Compiled FloatRule KeyRule NO_QUERY Refusal SAFE_DOUBLE"
        ),
        "vecstore.filter.keys": "read_key",
        "vecstore.filter.normalize": "fold_empty_list",
        "vecstore.filter.values": "Kind Scalar UnusableValue kind_of",
        # For stores.
        "vecstore.document": "Document shown_id stored_document",
        "vecstore.embedding": "BatchingStrategy EmbedderInput check_dimension",
        "vecstore.process": "in_forked_child",
        "vecstore.store.backend": (
            "Batch Judge Order Place Position Selection changed duplicates_error id_outside "
            "id_parts value_at"
        ),
        "vecstore.store.base": "VectorStore",
        "vecstore.store.options": "CommonOptions",
        "vecstore.store.capabilities": "Metric OnConflict StoreCapabilities",
        "vecstore.store.drivers": "Secrets misfit refused",
        "vecstore.store.foreign": "ForeignRecordWarning ForeignRecords fault_of",
        "vecstore.store.limits": (
            "LONGEST_IN_FLOAT16 LONGEST_IN_FLOAT32 SHORTEST_IN_FLOAT16 SHORTEST_IN_FLOAT32"
        ),
        "vecstore.store.ranking": "filled top_with_ties",
        "vecstore.store.url": "StoreURL flag",
        "vecstore.vectors": "Matrix Vector",
    },
)
