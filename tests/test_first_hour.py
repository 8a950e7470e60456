"""What beginners write first, and what the error tells them to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vecstore import Document, SimpleVectorStore, VecstoreError, compile_filter, open_store

STORE = SimpleVectorStore(dimension=2)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: open_store("memory:", embedder="wordllama"), 'open_embedder("wordllama")'),  # type: ignore[arg-type]
        (lambda: SimpleVectorStore("openai:text-embedding-3-small"), "open_embedder"),  # type: ignore[arg-type]
        (lambda: open_store("https://db.example.com:6333"), "qdrant+https://host/docs"),
        (lambda: open_store("http://localhost:6333/docs"), "qdrant://host:6333/docs"),
        (lambda: open_store("localhost:6333/docs"), "qdrant://host:6333/docs"),
        (lambda: open_store("db.example.com:8080/Docs"), "weaviate://host:8080/Docs"),
        (lambda: open_store("postgress://localhost/app"), "did you mean 'postgres'?"),
        (lambda: compile_filter("a == 1", "postgres"), "did you mean 'pgvector'?"),
        (lambda: compile_filter("a == 1", "PostgreSQL"), "did you mean 'pgvector'?"),
        (lambda: STORE.get([7]), "item 0 is an int: write '7'"),  # type: ignore[list-item]
        (lambda: STORE.delete(7), "write delete(['7'])"),  # type: ignore[arg-type]
        (lambda: Document("a", {"lines": [{"price": 3}]}), "Document(..., extra=...)"),
    ],
)
def test_the_error_says_what_to_write(call: Callable[[], Any], told: str) -> None:
    with pytest.raises((VecstoreError, TypeError)) as caught:
        call()
    assert told in str(caught.value)


def test_a_key_in_the_place_of_an_embedder_is_not_shown() -> None:
    with pytest.raises(VecstoreError) as caught:
        SimpleVectorStore("sk-secret")  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("id", [10**5_000, True, 1.5], ids=["long", "true", "float"])
def test_ids_that_are_no_texts(id: Any) -> None:
    with pytest.raises(TypeError, match="item 0 is"):
        STORE.get([id])


@pytest.mark.parametrize(
    ("address", "package"),
    [("qdrant://127.0.0.1:1/docs", "qdrant_client"), ("chroma://127.0.0.1:1/docs", "chromadb")],
)
def test_a_server_that_is_not_there_is_named(address: str, package: str) -> None:
    pytest.importorskip(package)
    with pytest.raises(VecstoreError, match=r"[Ss]tart the server at 127\.0\.0\.1:1, or say"):
        open_store(address, dimension=2)
