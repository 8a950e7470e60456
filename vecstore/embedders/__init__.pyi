from vecstore.embedders.openai import OpenAIEmbedder as OpenAIEmbedder
from vecstore.embedders.opening import open_embedder as open_embedder
from vecstore.embedders.sentence_transformers import (
    SentenceTransformersEmbedder as SentenceTransformersEmbedder,
)
from vecstore.embedders.wordllama import WordLlamaEmbedder as WordLlamaEmbedder

__all__ = [
    "OpenAIEmbedder",
    "SentenceTransformersEmbedder",
    "WordLlamaEmbedder",
    "open_embedder",
]
