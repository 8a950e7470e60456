"""Vectors in pgvector's binary form, which needs no number of a type that differs by database.

The driver remembers every class that it was ever given for a type. So there is one class here, it
is registered on cursors alone, and what the server makes of its bytes is said in SQL: ``::vector``.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Cursor

    from vecstore.vectors import Matrix, Vector

_HEADER = struct.Struct("!HH")


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
