"""Embedding models for stores, by name or as objects.

None of them is needed: a store takes any function from a list of texts to vectors, and any object
with ``embed_documents`` and ``embed_query``. Each model's package is loaded when it is made.

Example:
    >>> from vecstore import Document, open_store
    >>> from vecstore.embedders import open_embedder
    >>> store = open_store("memory:", embedder=open_embedder("wordllama"))
    >>> ids = store.add([Document("bake bread"), Document("tune a server")])
    >>> store.search("baking", top_k=1)[0].text
    'bake bread'
"""

from vecstore.namespace import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "vecstore.embedders.openai": "OpenAIEmbedder",
        "vecstore.embedders.opening": "open_embedder",
        "vecstore.embedders.sentence_transformers": "SentenceTransformersEmbedder",
        "vecstore.embedders.wordllama": "WordLlamaEmbedder",
    },
)
