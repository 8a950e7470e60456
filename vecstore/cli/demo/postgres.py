"""PostgreSQL with pgvector, started for the demo and gone after it."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vecstore.cli.demo.searches import TOP_K, Answer
from vecstore.dialects.pgvector.embedded import EmbeddedServer
from vecstore.dialects.pgvector.layout import encode_json
from vecstore.document import Document
from vecstore.filter.convert import Compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Connection

_SELECT = "SELECT id, 1 - (embedding <=> %(vector)s::vector) AS score FROM documents WHERE "
_NEAREST = ' ORDER BY embedding <=> %(vector)s::vector, id COLLATE "C" LIMIT %(top_k)s'


@contextmanager
def embedded_postgres() -> Iterator[Connection[Any]]:
    """A server of its own in a temporary folder, which is removed with everything in it."""
    import psycopg

    with (
        _terminated_like_interrupted(),
        tempfile.TemporaryDirectory(prefix="vecstore-demo-") as folder,
        closing(EmbeddedServer(Path(folder) / "data")) as server,
        psycopg.connect(server.dsn, autocommit=True) as connection,
    ):
        connection.execute("CREATE EXTENSION vector")
        yield connection


def versions(connection: Connection[Any]) -> tuple[str, str]:
    """The versions of PostgreSQL and of pgvector."""
    row = connection.execute(
        "SELECT current_setting('server_version'), extversion FROM pg_extension "
        "WHERE extname = 'vector'"
    ).fetchone()
    assert row is not None
    return row[0].partition(" ")[0], row[1]


def load(
    connection: Connection[Any],
    documents: list[Document],
    advance: Callable[[], object],
) -> None:
    """Copy documents with their embeddings into a new table."""
    connection.execute(
        "CREATE TABLE documents (id text PRIMARY KEY, text text NOT NULL, metadata jsonb NOT NULL, "
        "embedding vector NOT NULL)"
    )
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY documents (id, text, metadata, embedding) FROM STDIN") as copy,
    ):
        for document in documents:
            metadata = encode_json(document.metadata)
            copy.write_row((document.id, document.text, metadata, _vector(document.embedding)))
            advance()


def postgres_answer(connection: Connection[Any], compiled: Compiled, vector: Any) -> Answer:
    """What PostgreSQL answers to a compiled filter: the best documents, and all that match.

    There is no index on the vectors, so the answer is exact, as it is in memory.
    """
    # The condition holds no text of the user's: every key and every value is a parameter.
    sql = _SELECT + compiled.query
    params = {**compiled.params, "vector": _vector(vector), "top_k": TOP_K}
    started = time.perf_counter()
    top = connection.execute((sql + _NEAREST).encode(), params).fetchall()
    seconds = time.perf_counter() - started
    matching = connection.execute(sql.encode(), params).fetchall()
    return Answer([id for id, _ in top], dict(matching), seconds)


def _vector(values: NDArray[Any] | None) -> str:
    assert values is not None
    return "[" + ",".join(map(repr, values.tolist())) + "]"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that the server is stopped and its folder removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
