"""Getting documents in: sources, readers, and steps that documents pass on their way to a store.

Stands above the store, which needs nothing of it.

Example:
    >>> from vecstore.indexing import read, text_source
    >>> [document.text for document in read(text_source("note", "Hello"))]
    ['Hello']
"""

from vecstore.namespace import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "vecstore.indexing.enriching": "Enricher keywords summaries",
        "vecstore.indexing.pipeline": "Transform chain fingerprint_of",
        "vecstore.indexing.readers.base": "Reader",
        "vecstore.indexing.readers.html": "read_html",
        "vecstore.indexing.readers.markdown": "read_markdown",
        "vecstore.indexing.readers.pdf": "read_pdf",
        "vecstore.indexing.readers.records": "read_csv read_json read_jsonl",
        "vecstore.indexing.readers.text": "read_text",
        "vecstore.indexing.reading": "READERS Readers read",
        "vecstore.indexing.report": "Failure SyncReport",
        "vecstore.indexing.sources": "KINDS Source file_source folder text_source",
        "vecstore.indexing.splitting": "SENTENCE_ENDS Splitter TokenSplitter",
        "vecstore.indexing.syncing": "sync",
        "vecstore.indexing.tokens": "Tokens",
        "vecstore.indexing.writing": "write_text",
    },
)
