"""What is embedded of a document: its text, or what the option ``embed_as`` makes of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from typing import Any

from vecstore.document import Document, checked_text, shown_id, stored_document
from vecstore.errors import ConfigurationError, EmbeddingError, VecstoreError

EmbedAs = Callable[[Document], str]
"""Makes the text that is embedded in place of a document's own, which is stored unchanged."""


def read_embed_as(value: Any) -> EmbedAs | None:
    """The option ``embed_as``.

    Raises:
        ConfigurationError: If it is no function, or one that has to be awaited.
    """
    if value is None:
        return None
    if isinstance(value, type) or not callable(value):
        shown = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise ConfigurationError(
            "embed_as is a function from a document to the text that is embedded, such as "
            f"ContentFormatter().for_embedding, not {shown}"
        )
    if iscoroutinefunction(value):
        raise _asynchronous()
    return value  # type: ignore[no-any-return]


def text_to_embed(embed_as: EmbedAs, id: str, text: str, metadata: dict[str, Any]) -> str:
    """What ``embed_as`` makes of a document as it will be stored.

    Args:
        embed_as: The option.
        id: Of the document.
        text: What will be stored.
        metadata: What will be stored, with the keys of a scope; the function gets a copy.

    Raises:
        EmbeddingError: If the function fails; errors of the library keep their kind.
        ConfigurationError: If it returned a coroutine.
        DocumentError: If what it returned is no text, or one that no embedder takes.

    Example:
        >>> text_to_embed(
        ...     lambda one: f"{one.metadata['title']}: {one.text}", "a", "b", {"title": "t"}
        ... )
        't: b'
    """
    try:
        made: Any = embed_as(stored_document(id, text, metadata, shared=True))
    except VecstoreError:
        raise
    except Exception as error:
        # Only the type: the message may quote the document.
        raise EmbeddingError(
            f"embed_as failed on document {shown_id(id)} with {type(error).__name__}; its own "
            "error is the cause of this one"
        ) from error
    if isinstance(made, Coroutine):
        made.close()
        raise _asynchronous()
    if not isinstance(made, str):
        raise EmbeddingError(
            f"embed_as returned {'None' if made is None else type(made).__name__} for document "
            f"{shown_id(id)}, not the text to embed"
        )
    return checked_text(made, id)


def _asynchronous() -> ConfigurationError:
    return ConfigurationError(
        "embed_as is asynchronous: it gives a coroutine in place of a text; pass a function that "
        "returns the text itself"
    )
