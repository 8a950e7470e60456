"""Rows of a LanceDB table: documents as columns of arrow, and which rows are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vecstore.dialects.lancedb.client import Calls
from vecstore.dialects.lancedb.dialect import quoted_text
from vecstore.dialects.lancedb.layout import (
    EXTRA,
    ID,
    METADATA,
    ORDERED,
    TEXT,
    TOKENS,
    VECTOR,
    ordered_values,
)
from vecstore.dialects.tokens import document_tokens
from vecstore.document import Document, stored_document
from vecstore.filter.values import metadata_text
from vecstore.store.backend import Selection, id_parts
from vecstore.store.foreign import ForeignRecords, fault_of

if TYPE_CHECKING:
    import pyarrow as pa

    from vecstore.vectors import Matrix

IDS_AT_ONCE: Final = 4_096
"""Ids in one condition, which is a text."""
EVERY_ROW: Final = 2**31 - 1
"""More rows than a table has: without a limit some versions of the engine give ten."""

_IDS_READ: Final = 65_536
_UNREADABLE: Final = "?"
"""In place of metadata that is no JSON: a text, as it is one."""

Row = dict[str, Any]


@dataclass(slots=True)
class Rows:
    """Reading the rows of a table.

    Attributes:
        call: The table.
        extras: Whether it has a column for what stands beside metadata.
    """

    call: Calls
    extras: bool = True

    # --- conditions --------------------------------------------------------------------------

    def condition(self, selection: Selection) -> str | None:
        """The condition for the rows of a selection; None where all are meant."""
        parts = []
        if selection.ids is not None:
            parts.append(_among(selection.ids))
        if selection.filter is not None:
            parts.append(selection.filter.query)
        if selection.excluded:
            parts.append(f"(NOT {_among(selection.excluded)})")
        return " AND ".join(parts) or None

    # --- reading -----------------------------------------------------------------------------

    def columns(self, include_embedding: bool) -> list[str]:
        """The columns that hold a document."""
        extra = [EXTRA] if self.extras else []
        return [ID, TEXT, METADATA, *extra, *([VECTOR] if include_embedding else [])]

    def read(
        self, operation: str, condition: str | None, columns: Sequence[str], limit: int = EVERY_ROW
    ) -> list[Row]:
        """The rows that meet a condition."""

        def ask(table: Any) -> Any:
            search = table.search().select(list(columns)).limit(limit)
            return (search if condition is None else search.where(condition)).to_arrow()

        return rows_of(self.call(operation, ask))

    def selected(
        self, operation: str, ids: Iterable[str], filter: Any, include_embedding: bool
    ) -> list[Row]:
        """Those with one of the ids that match."""
        found: list[Row] = []
        for part in id_parts(tuple(ids), IDS_AT_ONCE):
            condition = self.condition(Selection(ids=part, filter=filter))
            found += self.read(operation, condition, self.columns(include_embedding))
        return found

    def pages(
        self,
        operation: str,
        filter: Any,
        include_embedding: bool,
        size: int,
        *,
        columns: Sequence[str] | None = None,
    ) -> Iterator[list[Row]]:
        """All that match, page by page, none twice: first their ids, in order, then the rows.

        Whatever is written meanwhile, a row that is there throughout keeps its id.
        """
        wanted = self.columns(include_embedding) if columns is None else columns
        for ids in self._ids(operation, filter):
            for part in id_parts(ids, size):
                found = self.read(
                    operation, self.condition(Selection(ids=part, filter=filter)), wanted
                )
                yield sorted(found, key=_id_of)

    def _ids(self, operation: str, filter: Any) -> Iterator[tuple[str, ...]]:
        """The ids of all that match, many at a time."""
        from lancedb.query import ColumnOrdering

        order = [ColumnOrdering(column_name=ID, ascending=True, nulls_first=False)]
        matching = None if filter is None else filter.query
        after: str | None = None
        while True:
            later = None if after is None else f'"{ID}" > {quoted_text(after)}'
            condition = " AND ".join([one for one in (later, matching) if one is not None]) or None

            def ask(table: Any, condition: str | None = condition) -> Any:
                search = table.search().select([ID]).order_by(order).limit(_IDS_READ)
                return (search if condition is None else search.where(condition)).to_arrow()

            found = self.call(operation, ask)[ID].to_pylist()
            yield tuple(dict.fromkeys(found))
            if len(found) < _IDS_READ:
                return
            after = found[-1]

    def stored(self, operation: str, ids: Sequence[str], filter: Any = None) -> list[str]:
        """Which of the ids are stored, and match."""
        return [
            row[ID]
            for part in id_parts(tuple(ids), IDS_AT_ONCE)
            for row in self.read(
                operation, self.condition(Selection(ids=part, filter=filter)), [ID]
            )
        ]

    # --- documents ---------------------------------------------------------------------------

    def holding(self, rows: Iterable[Row], foreign: ForeignRecords) -> Iterator[Row]:
        """Rows that hold a document, with their metadata read."""
        for row in rows:
            metadata = _read_metadata(row[METADATA])
            fault = fault_of(row[ID], metadata)
            if fault is None:
                yield {**row, METADATA: metadata or {}}
            else:
                foreign.leave_out(row[ID], fault)

    def documents(
        self,
        rows: Iterable[Row],
        foreign: ForeignRecords,
        scores: Mapping[str, float] | None = None,
    ) -> Iterator[Document]:
        """The documents that rows hold."""
        for row in self.holding(rows, foreign):
            yield stored_document(
                row[ID],
                row.get(TEXT) or "",
                row[METADATA],
                row.get(VECTOR),
                None if scores is None else scores[row[ID]],
                row.get(EXTRA),
                shared=True,
            )


def rows_of(found: pa.Table) -> list[Row]:
    """The rows of a table of arrow; vectors as rows of one matrix."""
    columns: dict[str, Sequence[Any]] = {
        name: found[name].to_pylist() for name in found.column_names if name != VECTOR
    }
    if VECTOR in found.column_names:
        columns[VECTOR] = _matrix_of(found[VECTOR])
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def written(
    schema: pa.Schema,
    ids: Sequence[str],
    texts: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
    extras: Sequence[str | None],
    vectors: Matrix,
) -> pa.Table:
    """Documents as the columns of a table; ``extras`` are empty where no document has one."""
    import pyarrow as pa

    flat = pa.array(vectors.ravel())
    columns = {
        ID: pa.array(ids, pa.string()),
        TEXT: pa.array(texts, pa.string()),
        **changed_columns(metadata),
        EXTRA: pa.array(extras or [None] * len(ids), pa.string()),
        VECTOR: pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def changed_columns(metadata: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """The columns that metadata determines."""
    import pyarrow as pa

    return {
        METADATA: pa.array([metadata_text(one, allow_nan=False) for one in metadata], pa.string()),
        TOKENS: pa.array([document_tokens(one) for one in metadata], pa.list_(pa.string())),
        ORDERED: pa.array([json.dumps(ordered_values(one)) for one in metadata], pa.json_()),
    }


def _among(ids: Iterable[str]) -> str:
    return f'"{ID}" IN ({", ".join(map(quoted_text, ids))})'


def _id_of(row: Row) -> str:
    return str(row[ID])


def _matrix_of(column: pa.ChunkedArray) -> Any:
    import numpy as np

    size = column.type.list_size
    parts = [chunk.flatten().to_numpy().reshape(-1, size) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.empty((0, size), np.float32)


def _read_metadata(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _UNREADABLE
