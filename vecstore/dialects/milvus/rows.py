"""Rows of a Milvus collection: which, page by page, and in how many requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vecstore.dialects.milvus.client import Calls
from vecstore.dialects.milvus.expression import encode_literal, keys_filter
from vecstore.dialects.milvus.layout import (
    MAX_INTEGER,
    MAX_METADATA_BYTES,
    MIN_INTEGER,
    MISREAD,
    FieldLayout,
)
from vecstore.dialects.tokens import DOCUMENT_TOKEN
from vecstore.document import Document, stored_document
from vecstore.errors import BackendError
from vecstore.filter.ast import Expression
from vecstore.filter.convert import Compiled

MAX_REQUEST_BYTES: Final = 48 * 2**20
"""Of one write: a server takes 64 MiB."""

_READING = frozenset({"get", "scan"})
_DECIDING = "Strong"
_OVERHEAD = 256


@dataclass(frozen=True, slots=True)
class RowFilter(Compiled):
    """A compiled filter that remembers what it was made of."""

    expression: Expression | None = None


@dataclass(slots=True, kw_only=True)
class Rows:
    """Reading and writing rows.

    Attributes:
        call: The client.
        collection: Its name.
        layout: Its fields.
        consistency: What reading documents sees; what decides about a write is read strongly.
    """

    call: Calls
    collection: str
    layout: FieldLayout
    consistency: str

    # --- conditions --------------------------------------------------------------------------

    @property
    def everything(self) -> str:
        """An expression that every row matches: a deletion needs one."""
        if self.layout.exact:
            return f'array_contains({self.layout.tags}, "{DOCUMENT_TOKEN}")'
        lowest: str | int = MIN_INTEGER if self.layout.number else ""
        return f"{self.layout.id} >= {encode_literal(lowest)}"

    def keys(self, ids: Iterable[str]) -> dict[str | int, str]:
        """The ids by the primary keys of their rows; without those that no row can have."""
        possible = self.layout.exact or (is_integer if self.layout.number else is_findable)
        return {self.layout.key(id): id for id in ids if possible is True or possible(id)}

    def condition(self, ids: Iterable[str], filter: Any) -> str | None:
        """The expression for rows with one of the ids that match; None if there can be none."""
        keys = self.keys(ids)
        if not keys:
            return None
        wanted = keys_filter(keys, self.layout.id)
        return wanted if filter is None else f"({wanted}) and ({as_text(filter)})"

    # --- reading -----------------------------------------------------------------------------

    def selected(self, operation: str, condition: str | None, fields: list[str]) -> list[Any]:
        """All rows of a condition that names ids."""
        return [] if condition is None else self._query(operation, condition, fields)

    def stored(self, operation: str, ids: Iterable[str], filter: Any = None) -> list[str]:
        """Which of the ids are stored, and match."""
        wanted = self.keys(ids)
        condition = self.condition(wanted.values(), filter)
        found = self.selected(operation, condition, [self.layout.id])
        return [wanted[row[self.layout.id]] for row in found]

    def pages(
        self, operation: str, filter: Any, fields: list[str], size: int
    ) -> Iterator[list[Any]]:
        """All rows that match, page by page, no row twice."""
        pages = self._pages_of_file if self.call.lite else self._pages_of_server
        return pages(operation, filter, fields, size)

    def count(self, operation: str, filter: Any) -> int:
        """How many rows match."""
        [row] = self._query(operation, as_text(filter), ["count(*)"])
        return int(row["count(*)"])

    def _pages_of_server(
        self, operation: str, filter: Any, fields: list[str], size: int
    ) -> Iterator[list[Any]]:
        """In the order of the keys, as the client's own iterator reads; it quotes no key, though.

        A query shows no more than 16,384 rows otherwise.
        """
        key = self.layout.id
        condition = self.everything if filter is None else as_text(filter)
        while page := self._query(
            operation, condition, fields, limit=size, iterator="True", reduce_stop_for_best="True"
        ):
            yield page
            after = f"{key} > {encode_literal(page[-1][key])}"
            condition = after if filter is None else f"{after} and ({as_text(filter)})"

    def _pages_of_file(
        self, operation: str, filter: Any, fields: list[str], size: int
    ) -> Iterator[list[Any]]:
        """By keys that are read before.

        For each page in order milvus-lite would look at every row, and it shows as many as are
        asked for.
        """
        key = self.layout.id
        condition = self.everything if filter is None else as_text(filter)
        keys = [row[key] for row in self._query(operation, condition, [key])]
        expression = filter.expression if isinstance(filter, RowFilter) else None
        for start in range(0, len(keys), size):
            page = self._query(operation, keys_filter(keys[start : start + size], key), fields)
            if expression is not None:  # a row may have changed since
                page = [row for row in page if expression.matches(self.layout.read(row)[2])]
            if page:
                yield page

    def _query(
        self, operation: str, condition: str, fields: list[str], **more: Any
    ) -> list[dict[str, Any]]:
        found = self.call(
            operation,
            lambda client: client.query(
                self.collection,
                filter=condition,
                output_fields=fields,
                consistency_level=self.consistency if operation in _READING else _DECIDING,
                timeout=self.call.timeout,
                **more,
            ),
        )
        return list(found)

    # --- documents ---------------------------------------------------------------------------

    def of_hit(self, hit: Any) -> dict[str, Any]:
        """The row that a search found; the client calls its key by the field's name, or ``id``."""
        key = self.layout.id
        return {**hit["entity"], key: hit[key] if key in hit else hit["id"]}

    def document(self, row: Mapping[str, Any], score: float | None = None) -> Document:
        """The document that a row holds."""
        import numpy as np

        document_id, text, metadata = self.layout.read(row)
        embedding = None
        if self.layout.vector in row:
            embedding = np.array(row[self.layout.vector], dtype=np.float32)
            embedding.flags.writeable = False
        return stored_document(document_id, text, metadata, embedding, score)

    # --- writing -----------------------------------------------------------------------------

    def upsert(self, operation: str, rows: Iterable[dict[str, Any]], dimension: int) -> None:
        """Write rows, in as many requests as their size needs.

        Raises:
            BackendError: If one fails; ``stored_ids`` names the documents of those before.
        """
        written: list[str] = []
        for part in self._requests(rows, dimension):
            try:
                self.call(operation, self._upserting(part), writing=True)
            except BackendError as error:
                error.stored_ids = written
                raise
            written += [self.layout.read(row)[0] for row in part]

    def remove(self, operation: str, condition: str) -> None:
        """Delete what matches an expression."""
        self.call(
            operation,
            lambda client: client.delete(
                self.collection, filter=condition, timeout=self.call.timeout
            ),
            writing=True,
        )

    def _upserting(self, part: list[dict[str, Any]]) -> Any:
        return lambda client: client.upsert(self.collection, part, timeout=self.call.timeout)

    def _requests(
        self, rows: Iterable[dict[str, Any]], dimension: int
    ) -> Iterator[list[dict[str, Any]]]:
        part: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            needs = _OVERHEAD + MAX_METADATA_BYTES + 4 * dimension + self._varying_size(row)
            if part and size + needs > MAX_REQUEST_BYTES:
                yield part
                part, size = [], 0
            part.append(row)
            size += needs
        if part:
            yield part

    def _varying_size(self, row: Mapping[str, Any]) -> int:
        texts = [value for value in row.values() if isinstance(value, str)]
        tags = row.get(self.layout.tags or "") or ()
        return sum(len(text.encode()) for text in texts) + sum(len(tag) + 4 for tag in tags)


def as_text(filter: Compiled | None) -> str:
    """The expression of a compiled filter; empty where there is none."""
    return "" if filter is None else str(filter.query)


def is_findable(id: str) -> bool:
    """Whether a server reads an id in an expression as it stands there."""
    return not MISREAD.search(id)


def is_integer(id: str) -> bool:
    """Whether an id is the canonical form of an INT64."""
    try:
        return str(int(id)) == id and MIN_INTEGER <= int(id) <= MAX_INTEGER
    except ValueError:
        return False
