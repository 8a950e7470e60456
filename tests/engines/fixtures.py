"""Engines as pytest fixtures, each started once for a session (for a worker, under xdist).

A ``conftest.py`` takes what it needs from here: ``from tests.engines.fixtures import milvus_uri``.

Each engine gives way to a server that an environment variable names:

| engine     | runs without it                              | variable                                |
|------------|----------------------------------------------|-----------------------------------------|
| PostgreSQL | embedded server                              | ``VECSTORE_PG_DSN``                     |
| Qdrant     | client's local mode and the Rust engine      | ``VECSTORE_QDRANT_URL`` (beside them)   |
| Milvus     | milvus-lite                                  | ``VECSTORE_MILVUS_URI``                 |
| Chroma     | engine of its client, and a server of it     | ``VECSTORE_CHROMA_URL`` (the store)     |
| DuckDB     | in the process                          |                                      |
| SQLite     | the standard library's                       |                                         |
| Pinecone   | interpreter of the documented rules          | ``VECSTORE_PINECONE_HOST``, ``…_API_KEY`` |
| Weaviate   | interpreter of the documented rules, and in  | ``VECSTORE_WEAVIATE_URL``,                |
|            | ``make test-servers`` a server of our build  | ``…_GRPC_PORT``, ``…_API_KEY``            |

The store on Pinecone has switches of its own: see ``tests/dialects/pinecone/place.py``.

Pinecone and Weaviate have no fixture: what they hold depends on a layout, which their
``pinecone_rows`` and ``weaviate_rows`` take as an argument.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.engines.milvus import MilvusRows, running_milvus
from tests.engines.postgres import PostgresRows
from tests.engines.qdrant import QdrantEdgeRows, QdrantLocalRows, QdrantServerRows
from tests.engines.rows import Rows
from tests.engines.sqlite import SqliteRows
from tests.engines.weaviate_server import (
    FORMER_VERSION,
    VERSION,
    Address,
    built_server,
    named_server,
    running_weaviate,
)

__all__ = [
    "former_weaviate_address",
    "milvus_rows",
    "milvus_uri",
    "postgres_rows",
    "qdrant_rows",
    "sqlite_rows",
    "weaviate_address",
]

_QDRANTS = ["local", "edge", *(["server"] if "VECSTORE_QDRANT_URL" in os.environ else [])]


@pytest.fixture(scope="session")
def postgres_rows(postgres_dsn: str) -> Iterator[PostgresRows]:
    """PostgreSQL, the one that ``postgres_dsn`` names."""
    with PostgresRows(postgres_dsn) as rows:
        yield rows


@pytest.fixture(scope="session", params=_QDRANTS)
def qdrant_rows(request: pytest.FixtureRequest) -> Iterator[Rows]:
    """Qdrant, once for each engine: a test that asks for it runs as often."""
    with open_qdrant(request.param) as rows:
        yield rows


def open_qdrant(which: str) -> Rows:
    """Qdrant by name: "local", "edge", or "server"."""
    if which == "local":
        return QdrantLocalRows()
    if which == "edge":
        return QdrantEdgeRows()
    return QdrantServerRows(os.environ["VECSTORE_QDRANT_URL"])


@pytest.fixture(scope="session")
def milvus_uri() -> Iterator[str]:
    """The address of a Milvus."""
    with running_milvus() as uri:
        yield uri


@pytest.fixture(scope="session")
def milvus_rows(milvus_uri: str) -> Iterator[MilvusRows]:
    """Milvus without tags; with them it is ``MilvusRows(milvus_uri, tags_of)``."""
    with MilvusRows(milvus_uri) as rows:
        yield rows


@pytest.fixture(scope="session")
def sqlite_rows() -> Iterator[SqliteRows]:
    """SQLite in memory."""
    with SqliteRows() as rows:
        yield rows


@pytest.fixture(scope="session")
def weaviate_address() -> Iterator[Address]:
    """A Weaviate server: the one that the environment names, or one of our build."""
    if (named := named_server()) is not None:
        yield named
        return
    yield from _built_weaviate(VERSION)


@pytest.fixture(scope="session")
def former_weaviate_address() -> Iterator[Address]:
    """A server of the version before."""
    yield from _built_weaviate(FORMER_VERSION)


def _built_weaviate(version: str) -> Iterator[Address]:
    if built_server(version) is None:
        pytest.skip(
            f"Weaviate {version} is not built here: "
            f"python -m tests.engines.weaviate_server --version {version}"
        )
    with running_weaviate(version) as server:
        yield server.address
