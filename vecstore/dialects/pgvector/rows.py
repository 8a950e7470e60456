"""Rows as documents, vectors as text, and which ids a column can hold."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from vecstore.capabilities import IdCharset
from vecstore.dialects.pgvector.columns import INT64
from vecstore.document import Document, stored_document

if TYPE_CHECKING:
    from vecstore.vectors import Vector


def document_of(row: tuple[Any, ...], score: float | None = None) -> Document:
    """The document in a row of id, text, metadata and vector, as every statement selects them."""
    document_id, text, metadata, embedding = row[:4]
    vector = None
    if embedding is not None:
        vector = embedding.to_numpy()
        vector.flags.writeable = False
    return stored_document(
        document_id, text or "", json.loads(metadata) if metadata else {}, vector, score
    )


def vector_text(vector: Vector) -> str:
    """A vector as SQL text reads it back exactly."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _is_uuid(id: str) -> bool:
    try:
        return str(uuid.UUID(id)) == id
    except ValueError:
        return False


def _is_bigint(id: str) -> bool:
    try:
        return str(int(id)) == id and INT64[0] <= int(id) <= INT64[1]
    except ValueError:
        return False


# Ids that a column can hold; others are unknown without asking.
POSSIBLE_IDS: Final[dict[IdCharset, Callable[[str], bool]]] = {
    "uuid": _is_uuid,
    "integer": _is_bigint,
}
