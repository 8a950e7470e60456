"""Filters of other systems, read as filters of this one.

Each function takes what another system takes, and gives an :class:`~vecstore.Expression` that any
store here answers. Where the other system's meaning can be said in a filter, the result says it;
where it cannot, the page "Filters of other systems" tells the difference. What has no meaning here
is refused with its place, and with what to write instead. None of the other systems needs to be
installed; ``from_sql`` needs sqlglot.

Example:
    >>> from_pinecone({"year": {"$gte": 2020}}).to_text()
    'year >= 2020'
"""

from vecstore.interop.haystack import from_haystack
from vecstore.interop.langchain import from_langchain
from vecstore.interop.llama_index import from_llama_index
from vecstore.interop.mongo import from_chroma, from_mongo, from_pinecone
from vecstore.interop.qdrant import from_qdrant
from vecstore.interop.sql import from_sql

__all__ = [
    "from_chroma",
    "from_haystack",
    "from_langchain",
    "from_llama_index",
    "from_mongo",
    "from_pinecone",
    "from_qdrant",
    "from_sql",
]
