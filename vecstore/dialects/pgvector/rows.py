"""Rows as documents, vectors as text, and which ids a column can hold."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from vecstore.dialects.pgvector.columns import INT64
from vecstore.dialects.pgvector.wire import from_wire
from vecstore.document import Document, stored_document
from vecstore.store.capabilities import IdCharset
from vecstore.store.foreign import ForeignRecords, fault_of

if TYPE_CHECKING:
    from vecstore.vectors import Vector


def documents_of(
    rows: Iterable[tuple[Any, ...]], foreign: ForeignRecords, *, cosine: bool = False
) -> Iterator[Document]:
    """The documents in rows of id, text, metadata and vector, as every statement selects them.

    Args:
        rows: With the distance as fifth item where there is one.
        foreign: Takes note of rows that hold no document, and are left out.
        cosine: Whether the distance is that of directions.
    """
    for row in rows:
        metadata = json.loads(row[2]) if row[2] else None
        fault = fault_of(row[0], metadata)
        if fault is not None:
            foreign.leave_out(row[0], fault)
            continue
        if len(row) > 4 and (row[4] is None or math.isnan(row[4])):
            continue  # no vector, or under cosine one without a direction: near nothing
        vector = None
        if row[3] is not None:
            vector = from_wire(row[3])
            vector.flags.writeable = False
        score = None
        if len(row) > 4:
            score = 1.0 - row[4] if cosine else -row[4]
        yield stored_document(row[0], row[1] or "", metadata or {}, vector, score)


def vector_text(vector: Vector) -> str:
    """A vector as SQL text reads it back exactly."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


_INTEGER: Final = re.compile("0|-?[1-9][0-9]*")


def _is_uuid(id: str) -> bool:
    try:
        return str(uuid.UUID(id)) == id
    except ValueError:
        return False


def _is_bigint(id: str) -> bool:
    # The length first: Python refuses to read integers of thousands of digits.
    if len(id) > 20 or not _INTEGER.fullmatch(id):
        return False
    return INT64[0] <= int(id) <= INT64[1]


# Ids that a column can hold; others are unknown without asking.
POSSIBLE_IDS: Final[dict[IdCharset, Callable[[str], bool]]] = {
    "uuid": _is_uuid,
    "integer": _is_bigint,
}
