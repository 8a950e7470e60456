"""Rows as documents, and vectors on their way to the server and back.

Vectors travel in pgvector's binary form, which needs no number of a type that differs by database.
The driver remembers every class that it was ever given for a type. So there is one class here, it
is registered on cursors alone, and what the server makes of its bytes is said in SQL: ``::vector``.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from vecstore.document import Document, stored_document
from vecstore.store.foreign import ForeignRecords, fault_of

if TYPE_CHECKING:
    from psycopg import Cursor

    from vecstore.vectors import Matrix, Vector

_HEADER = struct.Struct("!HH")
# What the server writes begins with the value: `json.loads` looks for white space around it.
_read_json = json.JSONDecoder().raw_decode


def documents_of(
    rows: Iterable[tuple[Any, ...]], foreign: ForeignRecords, *, cosine: bool = False
) -> Iterator[Document]:
    """The documents in rows of id, text, metadata, vector and extra, as every statement has them.

    Args:
        rows: With the distance as sixth item where there is one.
        foreign: Takes note of rows that hold no document, and are left out.
        cosine: Whether the distance is that of directions.
    """
    for row in rows:
        metadata = _read_json(row[2])[0] if row[2] else None
        if type(metadata) is not dict or not row[0]:
            fault = fault_of(row[0], metadata)
            if fault is not None:
                foreign.leave_out(row[0], fault)
                continue
        if len(row) > 5 and (row[5] is None or math.isnan(row[5])):
            continue  # no vector, or under cosine one without a direction: near nothing
        vector = None
        if row[3] is not None:
            vector = from_wire(row[3])
            vector.flags.writeable = False
        score = None
        if len(row) > 5:
            score = 1.0 - row[5] if cosine else -row[5]
        yield stored_document(row[0], row[1] or "", metadata or {}, vector, score, row[4])


def vector_text(vector: Vector) -> str:
    """A vector as SQL text reads it back exactly."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


class WireVector:
    """A vector on its way to the server, as a parameter."""

    __slots__ = ("data",)

    def __init__(self, vector: Vector) -> None:
        self.data = to_wire(vector)


def to_wire(vector: Vector) -> bytes:
    """The bytes that ``vector`` is received from: its length, two of nothing, big-endian floats."""
    return _HEADER.pack(len(vector), 0) + vector.astype(">f4").tobytes()


def rows_to_wire(matrix: Matrix) -> list[bytes]:
    """The same for each row of a matrix."""
    header = _HEADER.pack(matrix.shape[1], 0)
    return [header + row.tobytes() for row in matrix.astype(">f4")]


def from_wire(data: bytes) -> Vector:
    """The vector in what the server sends for ``vector_send``."""
    import numpy as np

    return np.frombuffer(data, dtype=">f4", offset=_HEADER.size).astype(np.float32)


@cache
def _dumper() -> Any:
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

    class WireVectorDumper(Dumper):
        """Passes the bytes on; their type is told by a cast in the statement."""

        format = Format.BINARY

        def dump(self, obj: WireVector) -> bytes:
            return obj.data

    return WireVectorDumper


def register_wire_vector(cursor: Cursor[Any]) -> None:
    """Teach a cursor :class:`WireVector`; its connection may be shared and stays as it is."""
    cursor.adapters.register_dumper(WireVector, _dumper())
