"""Rows of a Milvus collection: which, page by page, and in how many requests.

milvus-lite decides a filter row by row in Python, one literal after the other: a list of 10,000
texts costs it several milliseconds a row. So it is asked a filter's cheap part alone, one that no
document fails which the whole filter selects, and what it finds is decided here by the reference
evaluator, which looks a value up in a set. Servers do the same in their own code and get the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from vecstore.dialects.milvus.client import Calls
from vecstore.dialects.milvus.expression import encode_literal, keys_filter
from vecstore.dialects.milvus.layout import (
    MAX_METADATA_BYTES,
    MIN_INTEGER,
    MISREAD,
    FieldLayout,
)
from vecstore.document import Document, stored_document
from vecstore.errors import BackendError
from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, NULL_TESTS, TRUE, Expression, Op, trusted
from vecstore.store.backend import Selection
from vecstore.store.collection import BATCH, decider
from vecstore.store.drivers import in_parts
from vecstore.store.foreign import ForeignRecords, fault_of
from vecstore.store.limits import is_in_charset

MAX_REQUEST_BYTES: Final = 48 * 2**20
"""Of one write: a server takes 64 MiB."""

ASKED: Final = 48
"""Literals that milvus-lite is asked at most: about as many cost as much as reading a row."""

Fields = bool | list[str]
"""Fields by name, or all that hold a document: True for those with its vector."""

_READING = frozenset({"get", "scan"})
_DECIDING = "Strong"
_OVERHEAD = 256
_PAGE = 256

UNREADABLE: Final = "?"
"""In place of metadata that the client cannot read: a text, as it is one."""


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
        lowest: str | int = MIN_INTEGER if self.layout.number else ""
        return f"{self.layout.id} >= {encode_literal(lowest)}"

    def keys(self, ids: Iterable[str]) -> dict[str | int, str]:
        """The ids by the primary keys of their rows; without those that no row can have."""
        if self.layout.number:
            ids = [id for id in ids if is_in_charset(id, "integer")]
        elif not self.layout.exact:
            ids = filter(is_findable, ids)
        return {self.layout.key(id): id for id in ids}

    def condition(self, ids: Iterable[str], filter: Any) -> str | None:
        """The expression for rows with one of the ids that match; None if there can be none."""
        keys = self.keys(ids)
        if not keys:
            return None
        wanted = keys_filter(keys, self.layout.id)
        return wanted if filter is None else f"({wanted}) and ({as_text(filter)})"

    def can_exclude(self, ids: Iterable[str]) -> bool:
        """Whether an expression can name each of the ids that a row can have."""
        return self.layout.number or self.layout.exact or all(map(is_findable, ids))

    def chosen(self, operation: str, selection: Selection) -> str | None:
        """The expression for the rows of a selection, empty for all; None if there can be none."""
        parts: list[str] = []
        filter = selection.filter
        if filter is not None and self.call.lite and not filter.is_whole:
            matching = self.matching_keys(operation, filter)
            if not matching:
                return None
            parts.append(keys_filter(matching, self.layout.id))
        elif filter is not None:
            parts.append(as_text(filter))
        if selection.ids is not None:
            wanted = self.keys(selection.ids)
            if not wanted:
                return None
            parts.append(keys_filter(wanted, self.layout.id))
        excluded = self.keys(selection.excluded)
        if excluded:
            parts.append(f"not ({keys_filter(excluded, self.layout.id)})")
        return parts[0] if len(parts) == 1 else " and ".join(f"({part})" for part in parts)

    def fields(self, fields: Fields) -> list[str]:
        """The fields to ask for."""
        if not isinstance(fields, bool):
            return fields
        return [*self.layout.read_fields, *([self.layout.vector] if fields else [])]

    # --- reading -----------------------------------------------------------------------------

    def selected(
        self, operation: str, ids: Iterable[str], filter: Any, fields: Fields
    ) -> list[dict[str, Any]]:
        """All rows with one of the ids that match."""
        fields = self.fields(fields)
        if filter is not None and self.call.lite:
            # By keys alone it looks rows up; with more to ask it would look at every one.
            condition = self.condition(ids, None)
            found = [] if condition is None else self._query(operation, condition, fields)
            return self._decided(operation, found, filter)
        condition = self.condition(ids, filter)
        return [] if condition is None else self._query(operation, condition, fields)

    def stored(self, operation: str, ids: Iterable[str], filter: Any = None) -> list[str]:
        """Which of the ids are stored, and match."""
        wanted = self.keys(ids)
        fields = [self.layout.id, self.layout.metadata] if filter is not None else [self.layout.id]
        found = self.selected(operation, wanted.values(), filter, fields)
        return [wanted[row[self.layout.id]] for row in found]

    def matching_keys(self, operation: str, filter: Any) -> list[str | int]:
        """The keys of all rows that match, in a file."""
        key = self.layout.id
        if filter is None or filter.is_whole:
            condition = self.everything if filter is None else as_text(filter)
            return [row[key] for row in self._query(operation, condition, [key])]
        fields = [key, self.layout.metadata]
        return [
            row[key]
            for page in self._pages_of_file(operation, filter, fields, _PAGE)
            for row in page
        ]

    def pages(self, operation: str, filter: Any, fields: Fields, size: int) -> Iterator[list[Any]]:
        """All rows that match, page by page, no row twice."""
        pages = self._pages_of_file if self.call.lite else self._pages_of_server
        return pages(operation, filter, self.fields(fields), min(size, BATCH))

    def count(self, operation: str, filter: Any) -> int:
        """How many rows match."""
        if filter is not None and self.call.lite and not filter.is_whole:
            return len(self.matching_keys(operation, filter))
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
        condition = self.everything
        if filter is not None and filter.coarse:
            condition = filter.coarse
        keys = [row[key] for row in self._query(operation, condition, [key])]
        for start in range(0, len(keys), size):
            page = self._query(operation, keys_filter(keys[start : start + size], key), fields)
            if filter is not None:  # a row may also have changed since
                page = self._decided(operation, page, filter)
            if page:
                yield page

    def _decided(
        self, operation: str, rows: list[dict[str, Any]], filter: RowFilter
    ) -> list[dict[str, Any]]:
        """Those of the rows that match; milvus-lite is asked of what no document holds."""
        key = self.layout.id
        verdicts = []
        for row in rows:
            metadata = self.layout.parts(row)[1]
            known = metadata is None or isinstance(metadata, Mapping)
            verdicts.append(filter.decide(metadata or {}) if known else None)
        asked = [row[key] for row, verdict in zip(rows, verdicts, strict=True) if verdict is None]
        found: set[Any] = set()
        if asked:
            condition = f"({keys_filter(asked, key)}) and ({as_text(filter)})"
            found = {row[key] for row in self._query(operation, condition, [key])}
        return [
            row
            for row, verdict in zip(rows, verdicts, strict=True)
            if verdict or (verdict is None and row[key] in found)
        ]

    def _query(
        self, operation: str, condition: str, fields: list[str], **more: Any
    ) -> list[dict[str, Any]]:
        found = self._asked(operation, condition, fields, **more)
        try:
            return list(found)  # which reads the JSON
        except ValueError:
            keys = [row[self.layout.id] for row in self._keys(operation, condition, **more)]
            return self.readable(operation, keys, fields)

    def _keys(self, operation: str, condition: str, **more: Any) -> Any:
        return self._asked(operation, condition, [self.layout.id], **more)

    def readable(
        self, operation: str, keys: list[str | int], fields: list[str]
    ) -> list[dict[str, Any]]:
        """Rows by their keys, halved until those stand alone that the client cannot read.

        milvus-lite answers JSON that is a text without its quotes.
        """
        found: dict[str | int, dict[str, Any]] = {}
        pending = [keys] if keys else []
        while pending:
            part = pending.pop()
            try:
                rows = list(self._asked(operation, keys_filter(part, self.layout.id), fields))
            except ValueError:
                if len(part) > 1:
                    half = len(part) // 2
                    pending += [part[:half], part[half:]]
                    continue
                rows = [{self.layout.id: part[0], self.layout.metadata: UNREADABLE}]
            found.update((row[self.layout.id], row) for row in rows)
        return [found[key] for key in keys if key in found]

    def _asked(self, operation: str, condition: str, fields: list[str], **more: Any) -> Any:
        return self.call(
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

    # --- documents ---------------------------------------------------------------------------

    def of_hit(self, hit: Any) -> dict[str, Any]:
        """The row that a search found; the client calls its key by the field's name, or ``id``."""
        key = self.layout.id
        return {**hit["entity"], key: hit[key] if key in hit else hit["id"]}

    def documents(
        self, rows: Iterable[Mapping[str, Any]], foreign: ForeignRecords
    ) -> Iterator[Document]:
        """The documents that rows hold; ``foreign`` takes note of those that hold none."""
        for row in self.holding(rows, foreign):
            yield self.document(row)

    def holding(
        self, rows: Iterable[Mapping[str, Any]], foreign: ForeignRecords
    ) -> Iterator[Mapping[str, Any]]:
        """Those of the rows that hold a document."""
        for row in rows:
            fault = fault_of(*self.layout.parts(row))
            if fault is None:
                yield row
            else:
                foreign.leave_out(row[self.layout.id], fault)

    def document(self, row: Mapping[str, Any], score: float | None = None) -> Document:
        """The document that a row holds."""
        import numpy as np

        document_id, text, metadata, extra = self.layout.read(row)
        embedding = None
        if self.layout.vector in row:
            embedding = np.array(row[self.layout.vector], dtype=np.float32)
            embedding.flags.writeable = False
        return stored_document(document_id, text, metadata, embedding, score, extra)

    # --- writing -----------------------------------------------------------------------------

    def upsert(self, operation: str, rows: Iterable[dict[str, Any]], dimension: int) -> None:
        """Write rows, in as many requests as their size needs.

        Raises:
            BackendError: If one fails; ``stored_ids`` names the documents of those before.
        """
        written: list[str] = []
        fixed = _OVERHEAD + MAX_METADATA_BYTES + 4 * dimension
        for part in in_parts(rows, lambda row: fixed + self._varying_size(row), MAX_REQUEST_BYTES):
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

    def _varying_size(self, row: Mapping[str, Any]) -> int:
        texts = [value for value in row.values() if isinstance(value, str)]
        tags = row.get(self.layout.tags or "") or ()
        return sum(len(text.encode()) for text in texts) + sum(len(tag) + 4 for tag in tags)


def as_text(filter: Compiled | None) -> str:
    """The expression of a compiled filter; empty where there is none."""
    return "" if filter is None else str(filter.native)  # there is one for no rows as well


def is_findable(id: str) -> bool:
    """Whether a server reads an id in an expression as it stands there."""
    return not MISREAD.search(id)


# --- filters --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowFilter(Compiled):
    """A compiled filter, with what the store needs to read a file.

    Attributes:
        coarse: What milvus-lite is asked: an expression that finds every document the filter
            selects, and maybe others; empty where none is worth asking.
        is_whole: Whether that is the filter itself.
        filter: The filter itself.
    """

    coarse: str = ""
    is_whole: bool = True
    filter: Expression = TRUE

    @cached_property
    def decide(self) -> Callable[[Any], bool | None]:
        """Whether metadata matches; None where it holds what no document does."""
        return decider(self.filter)


def row_filter(
    filter: Expression, to_query: Callable[[Expression], Compiled], *, presence: bool
) -> RowFilter:
    """Compile a filter and take it apart.

    Args:
        filter: The filter.
        to_query: Compiles; the dialect's.
        presence: Whether it can ask for the presence of a key.
    """
    compiled = to_query(filter)
    simple = filter.kept.simple
    if simple is None:
        simple = simplified(filter)
    elif simple is ...:
        simple = filter
    whole = isinstance(simple, bool) or _cost(simple) <= ASKED
    coarse = compiled.native
    if not isinstance(simple, bool) and not whole:
        part = _cheap_part(simple, presence)
        coarse = to_query(part).native if part is not None else ""
    return RowFilter(
        compiled.dialect,
        compiled.native,
        compiled.params,
        compiled.matches_all,
        compiled.matches_nothing,
        str(coarse),
        whole,
        filter,
    )


def _cost(expression: Expression) -> int:
    """Literals and null tests in a filter."""
    cost, pending = 0, [expression]
    while pending:
        node = pending.pop()
        if node.op in LOGICAL:
            pending.extend(node.operands)
        else:
            cost += 1 if node.op in NULL_TESTS else len(node.value.items)
    return cost


def _cheap_part(simple: Expression, presence: bool) -> Expression | None:
    """A filter that every document matches which matches ``simple``, with few literals."""
    kept: list[Expression] = []
    left = ASKED
    for part in simple.operands if simple.op is Op.AND else (simple,):
        cost = _cost(part)
        if cost > left and part.op is Op.IN and presence:
            part, cost = trusted(Op.ISNOTNULL, (part.key,)), 1
        if cost <= left:
            kept.append(part)
            left -= cost
    if len(kept) > 1:
        return trusted(Op.AND, tuple(kept))
    return kept[0] if kept else None
