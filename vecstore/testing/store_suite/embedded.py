"""``embed_as``: what is embedded differs from what is stored, and from nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.embedding import CountBatching, TokenBatching
from vecstore.errors import ConfigurationError, DocumentError, EmbeddingError
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of

_SECRET = "the private text"


def _title_and_text(document: Document) -> str:
    return f"{document.metadata['n']}: {document.text}"


def _fails(document: Document) -> Any:
    if document.metadata["n"] < 2:
        return document.text
    raise KeyError(_SECRET)


async def _awaited(document: Document) -> str:
    return document.text


_WRONG: dict[str, Callable[[Document], Any]] = {
    "it fails": _fails,
    "None": lambda document: None,
    "bytes": lambda document: document.text.encode(),
    "a lone surrogate": lambda document: f"{document.text}\ud800",
    "a coroutine": lambda document: _awaited(document),
}


class Embedded(StoreSuiteBase):
    """Tests of the option ``embed_as``."""

    def test_what_is_embedded_is_not_what_is_stored(self) -> None:
        """``__init__`` keeps ``embed_as`` from the base, or ``_add`` stores what was embedded.

        A document that brings its embedding, or that is skipped, is not asked for; a query's
        text is embedded as it is.
        """
        embedder, asked = TextEmbedder(), list[str]()

        def embed_as(document: Document) -> str:
            asked.append(document.id)
            return _title_and_text(document)

        store = self.new_store(embedder=embedder, embed_as=embed_as, batching=CountBatching(2))
        assert store.embed_as is embed_as
        documents = self.documents(3)
        given = self.document("given", {"n": 9}, embedding=vector_of("given"))
        store.add([*documents, given])
        store.add([*self.documents(4), given], on_conflict="skip")
        documents = self.documents(4)
        assert asked == [document.id for document in documents]
        texts = [_title_and_text(document) for document in documents]
        assert embedder.batches == [texts[:2], texts[2:3], texts[3:]]
        self.check_holds(store, [*documents, given])
        expected = dict(zip(asked, map(vector_of, texts), strict=True))
        self.check_vectors(store, {**expected, given.id: vector_of("given")})
        store.search("1: text of doc-1", top_k=1)
        assert embedder.queries == ["1: text of doc-1"]

    def test_embed_as_sees_what_is_stored(self) -> None:
        """It gets values as they will be stored, in a dict whose changes go nowhere."""
        seen: list[dict[str, Any]] = []

        def embed_as(document: Document) -> str:
            seen.append({**document.metadata})
            document.metadata["n"] = 5
            document.metadata["tags"].append("c")
            return document.text

        store = self.new_store(embedder=TextEmbedder(), embed_as=embed_as)
        day = self.document("a", {"n": 1, "day": dt.date(2020, 1, 2), "tags": ["a", "b"]})
        store.add([day])
        stored = {"n": 1, "day": "2020-01-02", "tags": ["a", "b"]}
        assert len(seen) == 1
        self.check_documents(store.get([day.id]), [self.document("a", stored)])
        seen[0]["tags"] = seen[0]["tags"][:2]
        self.check_metadata(seen[0], stored, "what embed_as saw")

    @pytest.mark.parametrize("wrong", _WRONG)
    def test_nothing_is_stored_where_embed_as_fails(self, wrong: str) -> None:
        """It is asked about all documents of a call before the first is embedded or written."""
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder, embed_as=_WRONG[wrong], batching=CountBatching(1))
        with (
            self.no_call(store),
            pytest.raises((EmbeddingError, ConfigurationError, DocumentError)) as caught,
        ):
            store.add(self.documents(3))
        assert _SECRET not in str(caught.value)
        assert embedder.calls == 0
        if wrong == "it fails":
            assert isinstance(caught.value.__cause__, KeyError)
            assert self.id("doc-2") in str(caught.value)

    def test_batches_are_cut_by_what_is_embedded(self) -> None:
        """Tokens are counted of the text that the embedder gets."""
        embedder = TextEmbedder()
        store = self.new_store(
            embedder=embedder,
            embed_as=lambda document: "word " * document.metadata["n"],
            batching=TokenBatching(3, 0, count_tokens=lambda text: len(text.split())),
        )
        documents = [self.document(f"doc-{n}", {"n": n}) for n in (1, 2, 3, 4)]
        with self.no_call(store), pytest.raises(DocumentError, match="4 tokens") as caught:
            store.add(documents)
        assert caught.value.faulty_ids == [documents[3].id]
        store.add(documents[:3])
        assert [len(texts) for texts in embedder.batches] == [2, 1]

    def test_what_is_no_function_is_refused(self) -> None:
        """``__init__`` keeps ``embed_as`` from the base, which looks at what it is given."""
        wrong: Any
        for wrong in ("title", Document, _awaited, 5):
            with pytest.raises(ConfigurationError, match="embed_as"):
                self.new_store(embedder=TextEmbedder(), embed_as=wrong)
