"""A batch on its way into the table: by COPY where it is large, else as arrays of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.rows import rows_to_wire, vector_text
from vecstore.dialects.pgvector.shared import taken_elsewhere
from vecstore.dialects.pgvector.statements import Statements
from vecstore.store.backend import Batch, duplicates_error, id_outside

if TYPE_CHECKING:
    from psycopg import Cursor

_COPY_FROM: Final = 64
"""Documents in a batch from which on COPY beats arrays as parameters."""
_ARRAY_ROWS: Final = 512
"""Documents that travel as one set of arrays; a parameter ends at a gigabyte."""


class Writing:
    """How a store inserts and replaces rows.

    Attributes:
        may_stage: Whether its role may make temporary tables; None until a batch needs to know.
    """

    def __init__(self) -> None:
        self.may_stage: bool | None = None

    def write(self, cursor: Cursor[Any], batch: Batch, sql: Statements) -> Iterable[str]:
        """Write a batch whole, or raise, which rolls the transaction back.

        Returns:
            The ids that were written.

        Raises:
            DuplicateDocumentError: For ids that are taken, where that is to be an error.
            ScopeError: For ids of rows that are not this store's, or not in the scope that the
                batch is added in.
        """
        within = batch.within
        bound = sql.everything if within is None else {**sql.everything, **within.params}
        narrowed = None if within is None else within.query
        written: set[str] = set()
        shared = within is not None or bool(sql.own_columns)
        telling = batch.on_conflict != "replace" or shared or sql.facts.tells_replaced
        batch.replaced.clear()  # what a transaction told that was begun anew
        for source, params in self._sources(cursor, batch, sql):
            statement = sql.insert(source, batch.on_conflict, narrowed)
            cursor.execute(statement, {**params, **bound})
            if telling:
                rows = cursor.fetchall()
                written.update([row[0] for row in rows])
                batch.replaced.extend([row[0] for row in rows if row[1]])
        if not telling:
            return batch.ids
        if shared and len(written) < len(batch):
            _refuse_outsiders(cursor, batch, written, sql)
        if batch.on_conflict == "error" and len(written) < len(batch):
            raise duplicates_error([id for id in batch.ids if id not in written])
        return [id for id in batch.ids if id in written]

    def _sources(
        self, cursor: Cursor[Any], batch: Batch, sql: Statements
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Where an INSERT finds the batch, with its parameters: one place, or one part by one."""
        metadata = [encode_json(one) for one in batch.metadata]
        extras = batch.extras or [None] * len(batch)
        if len(batch) >= _COPY_FROM and self._may_stage(cursor):
            cursor.execute(sql.staging, {})
            vectors: Sequence[bytes | None] = [None] * len(batch)
            if not batch.vectorless:
                vectors = rows_to_wire(batch.vectors)
            with cursor.copy(sql.copy) as copy:
                # The bytes of a vector are what the server receives one from, whatever their type.
                copy.set_types(["text", "text", "text", "text", "bytea"])
                for row in zip(batch.ids, batch.texts, metadata, extras, vectors, strict=True):
                    copy.write_row(row)
            yield sql.staged, {}
            return
        # In the order of ids, like the rows of each statement.
        order = sorted(range(len(batch)), key=batch.ids.__getitem__)
        for start in range(0, len(order), _ARRAY_ROWS):
            part = order[start : start + _ARRAY_ROWS]
            yield (
                sql.arrays,
                {
                    "new_ids": [batch.ids[row] for row in part],
                    "new_texts": [batch.texts[row] for row in part],
                    "new_metadata": [metadata[row] for row in part],
                    "new_extras": [extras[row] for row in part],
                    "new_vectors": [
                        None if batch.vectorless else vector_text(batch.vectors[row])
                        for row in part
                    ],
                },
            )

    def _may_stage(self, cursor: Cursor[Any]) -> bool:
        """A right to write rows does not say that there is one to make temporary tables."""
        if self.may_stage is None:
            cursor.execute(
                "SELECT has_database_privilege(current_database(), 'TEMP') "
                "AND NOT pg_is_in_recovery()"
            )
            row = cursor.fetchone()
            self.may_stage = bool(row and row[0])
        return self.may_stage


def _refuse_outsiders(
    cursor: Cursor[Any], batch: Batch, written: set[str], sql: Statements
) -> None:
    left = [id for id in batch.ids if id not in written]
    within = batch.within
    if batch.on_conflict != "replace":
        statement = sql.outside(None if within is None else within.query)
        params = {} if within is None else within.params
        cursor.execute(statement, {**sql.everything, **params, "ids": left})
        outside = {row[0] for row in cursor.fetchall()}
        left = [id for id in left if id in outside]
    if left and within is not None:
        raise id_outside(left)
    if left:
        raise taken_elsewhere(sql.shown, sql.own_columns, left)
