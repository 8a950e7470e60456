"""The index on vectors while a table is filled: built once over the rows, and not row by row.

Meanwhile a stub holds its place: an index with the same options over no row at all (``WHERE
false``), which costs an insert nothing and answers no search. It is put there and taken away by the
transactions that drop and build the index itself. So whoever opens the table sees that the index is
put off, whatever became of the process that did it, and searches look at every row until then.
"""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vecstore.dialects.pgvector.schema import (
    OPCLASSES,
    PUT_OFF,
    TableSpec,
    create_vector_index,
)

if TYPE_CHECKING:
    from psycopg import Cursor

FILLED_FROM: Final = 500
"""Documents in one ``add`` to an empty table from which on the index is built at its end."""


class UnbuiltIndexWarning(UserWarning):
    """The index on the vectors of a table is still to be built; searches look at every row."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"the index on the vectors of the table {table} is put off: {reason}; searches look at "
            "every row until the next add() has ended, or build_index() was called"
        )


class Filling:
    """The calls of one store that fill its table.

    Attributes:
        put_off: Whether the index is known to be put off.
        has_rows: Whether the table is known to hold rows.
    """

    def __init__(self) -> None:
        self.put_off = False
        self.has_rows = False
        # Re-entrant, so that a thread that was broken off on its way out of it is not shut out.
        self._lock = RLock()
        self._calls = self._large_calls = 0

    def begin(self, large: bool) -> None:
        """A call begins, which may bring many rows."""
        with self._lock:
            self._calls += 1
            self._large_calls += large

    def end(self) -> bool:
        """A call has ended; whether it was the last one of those at work."""
        with self._lock:
            self._calls = max(0, self._calls - 1)
            if self._calls == 0:
                self._large_calls = 0
            return self._calls == 0

    @property
    def large(self) -> bool:
        """Whether a table that is made now gets many rows at once."""
        return self._large_calls > 0


class _Index(NamedTuple):
    name: str
    options: dict[str, int] | None
    """Those that it was built with; None where it is not one that this module can build."""
    stub: bool


def put_off(
    cursor: Cursor[Any], spec: TableSpec, dimension: int, extension: str, *, empty: bool
) -> tuple[bool, bool]:
    """Put a stub in the place of the index, if nobody else is at the table.

    It is left alone where the table is none of this layout or of another role, and where somebody
    reads or writes it at the moment: nobody is made to wait.

    Args:
        cursor: In a transaction.
        spec: The table.
        dimension: Of its vectors.
        extension: The schema of pgvector.
        empty: Whether to do so only while the table has no rows.

    Returns:
        Whether the index is put off now, and whether the table was found to have rows.
    """
    from psycopg import errors, sql

    table = spec.identifier()
    cursor.execute(
        "SELECT pg_has_role(c.relowner, 'USAGE') AND c.relkind = 'r' "
        "AND obj_description(c.oid, 'pg_class') LIKE 'vecstore layout %%' "
        "AND pg_try_advisory_xact_lock(hashtext('vecstore schema')) "
        "FROM pg_class c WHERE c.oid = to_regclass(%s)",
        [table.as_string(cursor)],
    )
    row = cursor.fetchone()
    if row is None or not row[0]:
        return False, False
    if empty and _has_rows(cursor, spec):
        return False, True
    cursor.execute("SAVEPOINT vecstore_filling")
    try:
        cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(table))
    except errors.LockNotAvailable:
        cursor.execute("ROLLBACK TO SAVEPOINT vecstore_filling")
        return False, False
    found = _indexes(cursor, spec)
    built = [index for index in found if not index.stub]
    done = bool(found) and not built
    filled = empty and _has_rows(cursor, spec)
    options = built[0].options if len(built) == 1 else None
    if done or filled or options is None:
        # Gives the lock back as well.
        cursor.execute("ROLLBACK TO SAVEPOINT vecstore_filling")
        return done, filled
    for index in found:
        _drop(cursor, spec, index)
    create_vector_index(
        cursor, replace(spec, index_options=options), dimension, extension, put_off=True
    )
    return True, False


def build(cursor: Cursor[Any], spec: TableSpec, dimension: int, extension: str) -> None:
    """Build the index that was put off, with the options that it had; readers go on meanwhile."""
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('vecstore schema'))")
    found = _indexes(cursor, spec)
    stubs = [index for index in found if index.stub]
    if stubs and len(stubs) == len(found):
        # That a statement of the caller's may take so long is not said of this one.
        cursor.execute("SET LOCAL statement_timeout = 0")
        options = stubs[0].options or {}
        create_vector_index(cursor, replace(spec, index_options=options), dimension, extension)


def take_away(cursor: Cursor[Any], spec: TableSpec) -> None:
    """Drop the stub of an index that is built, in a transaction of its own: others are locked out.

    Where somebody reads the table for long it stays, which does no harm, until the next time.
    """
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('vecstore schema'))")
    cursor.execute("SET LOCAL lock_timeout = '2s'")
    found = _indexes(cursor, spec)
    if not all(index.stub for index in found):
        for index in found:
            if index.stub:
                _drop(cursor, spec, index)


def _has_rows(cursor: Cursor[Any], spec: TableSpec) -> bool:
    from psycopg import sql

    cursor.execute(sql.SQL("SELECT EXISTS (SELECT 1 FROM {})").format(spec.identifier()))
    row = cursor.fetchone()
    return bool(row and row[0])


def _drop(cursor: Cursor[Any], spec: TableSpec, index: _Index) -> None:
    from psycopg import sql

    # It lies in the schema of its table.
    cursor.execute(
        "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass(%s)",
        [spec.identifier().as_string(cursor)],
    )
    row = cursor.fetchone()
    assert row is not None
    cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(row[0], index.name)))


def _indexes(cursor: Cursor[Any], spec: TableSpec) -> list[_Index]:
    """The HNSW indexes for the metric of the store, stubs among them."""
    cursor.execute(
        "SELECT c.relname, c.reloptions, c.reltablespace <> 0 OR i.indnatts <> 1 "
        "OR NOT i.indisvalid, coalesce(pg_get_expr(i.indpred, i.indrelid), ''), oc.opcname "
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass oc ON oc.oid = i.indclass[0] "
        "WHERE i.indrelid = to_regclass(%s) AND am.amname = 'hnsw'",
        [spec.identifier().as_string(cursor)],
    )
    wanted = "_" + OPCLASSES[spec.metric]
    return [
        _Index(
            name,
            None if odd or condition not in ("", PUT_OFF) else _options(given),
            condition == PUT_OFF,
        )
        for name, given, odd, condition, opclass in cursor.fetchall()
        if opclass.endswith(wanted)
    ]


def _options(given: list[str] | None) -> dict[str, int] | None:
    """Build options as the server keeps them: ``m=16``."""
    options = {}
    for one in given or ():
        name, _, value = one.partition("=")
        if name not in ("m", "ef_construction") or not value.isdecimal():
            return None
        options[name] = int(value)
    return options
