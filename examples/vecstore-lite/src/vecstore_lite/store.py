"""A vecstore store in one SQLite file: documents in a table, vectors compared by numpy."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np

from vecstore.authoring import (
    BackendError,
    Batch,
    Compiled,
    ConfigurationError,
    Document,
    Expression,
    Place,
    SchemaMismatchError,
    Selection,
    StoreCapabilities,
    StoreURL,
    VectorStore,
    changed,
    check_dimension,
    duplicates_error,
    id_outside,
    stored_document,
)
from vecstore_lite.dialect import Lite

_SETTINGS = "vecstore_settings"
_ROWS_AT_ONCE = 4_096

_inherited: list[sqlite3.Connection] = []
"""Connections of parent processes, kept so that nobody closes them."""


class LiteStore(VectorStore):
    """Documents in a table of a SQLite database; made on first use.

    Exact, and atomic between processes too: a batch is one transaction. A search reads the vector
    of every document that matches the filter, which is quick up to some 100,000 of them.

    Args:
        path: The database file; ``":memory:"`` for one that lasts as long as the store.
        table: Its table; several stores can share a file.
        **options: As for every :class:`~vecstore.VectorStore`. ``metric`` and ``dimension`` are
            those of the table, where it exists already.

    Raises:
        SchemaMismatchError: If the table was made with another metric or dimension.

    Example:
        >>> from vecstore import Document
        >>> with LiteStore(":memory:") as store:
        ...     _ = store.add([Document("one", {"n": 1}, "a", embedding=[1, 0])])
        ...     [document.id for document in store.search(vector=[2, 1], filter="n == 1")]
        ['a']
    """

    name: ClassVar[str] = "lite"
    capabilities: StoreCapabilities = StoreCapabilities(
        exact_topk=True,
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        filtered_count=True,
        # SQLite's JSON reads larger integers as floats.
        min_integer=-(2**63),
        max_integer=2**63 - 1,
        # A row may have 1,000,000,000 bytes.
        max_text_bytes=500_000_000,
    )

    def __init__(
        self, path: str | PathLike[str] = ":memory:", *, table: str = "documents", **options: Any
    ) -> None:
        super().__init__(**options)
        if not table or "\0" in table or table.lower() == _SETTINGS:
            raise ConfigurationError(f"a table cannot be called {table!r}")
        self.path = fspath(path)
        self._table_name = table
        self._table = '"' + table.replace('"', '""') + '"'
        self._dialect = Lite(column="metadata")
        # One connection for all threads, which take turns: SQLite has one writer at a time anyway.
        self._lock = threading.RLock()
        self._database = self._connect()
        try:
            self._prepare("metric" in options)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def from_url(cls, url: StoreURL, *, embedder: Any = None, **options: Any) -> LiteStore:
        """Open ``lite:///folder/file.db?table=docs``; see :func:`vecstore.open_store`."""
        known = {"table": str, "metric": str, "dimension": int, "batching": None}
        return cls(url.file() or ":memory:", embedder=embedder, **url.options(known, options))

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return self._dialect.compile(filter, limits=None)

    def _add(self, batch: Batch) -> Iterable[str]:
        rows = [
            (id, text, _encoded(metadata), vector.tobytes())
            for id, text, metadata, vector in zip(
                batch.ids, batch.texts, batch.metadata, batch.vectors, strict=True
            )
        ]
        conflict = {"replace": "OR REPLACE", "skip": "OR IGNORE", "error": "OR ABORT"}
        insert = f"INSERT {conflict[batch.on_conflict]} INTO {self._table} VALUES (?, ?, ?, ?)"
        with self._transaction("add", writing=True) as run:
            self._check_length(
                run, batch.vectors.shape[1], f"document {batch.ids[0]!r}", settle=True
            )
            if batch.within is not None:
                self._refuse_outsiders(run, batch)
            known: set[str] = set()
            if batch.on_conflict != "replace":
                known = self._known(run, tuple(batch.ids))
                if known and batch.on_conflict == "error":
                    raise duplicates_error([id for id in batch.ids if id in known])
            self._database.executemany(insert, rows)
        return [id for id in batch.ids if id not in known]

    def _known(self, run: Any, ids: tuple[str, ...]) -> set[str]:
        return {row[0] for row in run(*self._select("id", Selection(ids=ids)))}

    def _refuse_outsiders(self, run: Any, batch: Batch) -> None:
        """In a scope, an id of a document outside is not to be had."""
        ids = tuple(batch.ids)
        inside = {
            row[0] for row in run(*self._select("id", Selection(ids=ids, filter=batch.within)))
        }
        outside = sorted(self._known(run, ids) - inside)
        if outside:
            raise id_outside(outside)

    def _search(
        self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        best: list[tuple[float, str]] = []
        with self._transaction("search") as run:
            self._check_length(run, len(vector), "the query")
            cursor = run(*self._select("id, vector", Selection(filter=filter)))
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                scores = self._scores(b"".join([row[1] for row in rows]), vector)
                best += zip((-scores).tolist(), [row[0] for row in rows], strict=True)
                best = sorted(best)[:top_k]
            found = {id: -minus for minus, id in best}
            columns = _columns(include_embedding)
            chosen = run(*self._select(columns, Selection(ids=tuple(found)))).fetchall()
        return [_document(row, score=found[row[0]]) for row in chosen]

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        sql, params = self._select(_columns(include_embedding), selection)
        with self._transaction("get") as run:
            rows = run(f"{sql} LIMIT ?", [*params, -1 if limit is None else limit]).fetchall()
        return [_document(row) for row in rows]

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        # Page by page in the order of the ids, so that no transaction stays open in between and a
        # document that is written again does not come up a second time.
        sql, params = self._select(_columns(include_embedding), Selection(filter=filter))
        after = ""
        while True:
            with self._transaction("scan") as run:
                page = run(
                    f"{sql} AND id > ? ORDER BY id LIMIT ?", [*params, after, batch_size]
                ).fetchall()
            yield from (_document(row) for row in page)
            if len(page) < batch_size:
                return
            after = page[-1][0]

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        with self._transaction("add") as run:
            return self._known(run, ids)

    def _delete(self, selection: Selection) -> int:
        where, params = _where(selection)
        with self._transaction("delete", writing=True) as run:
            return run(f"DELETE FROM {self._table} {where}", params).rowcount

    def _delete_filtered(self, filter: Any) -> int:
        return self._delete(Selection(filter=filter))

    def _count(self, filter: Any) -> int:
        with self._transaction("count") as run:
            (count,) = run(*self._select("count(*)", Selection(filter=filter))).fetchone()
        return int(count)

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        with self._transaction("update_metadata", writing=True) as run:
            found = run(*self._select("id, metadata", selection)).fetchall()
            self._database.executemany(
                f"UPDATE {self._table} SET metadata = ? WHERE id = ?",
                [(_encoded(changed(json.loads(old), set, unset)), id) for id, old in found],
            )
        return len(found)

    def _clear(self) -> None:
        with self._transaction("clear", writing=True) as run:
            run(f"DELETE FROM {self._table}")

    def _place(self) -> Place:
        return Place(system="lite", collection=self._table_name)

    def _close(self) -> None:
        with self._lock:
            self._database.close()

    def _bound_to_process(self) -> str | None:
        return "the database is in its memory" if self.path in ("", ":memory:") else None

    def _after_fork(self) -> None:
        if self.path in ("", ":memory:"):
            super()._after_fork()  # the database was in the parent's memory
        # SQLite wants a connection to be neither used nor closed in a child.
        _inherited.append(self._database)
        self._lock = threading.RLock()
        self._database = self._connect()

    def _native(self) -> sqlite3.Connection:
        return self._database

    # --- the database ------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        with self._errors("open"):
            return sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )

    @contextmanager
    def _errors(self, operation: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", None) in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
            raise BackendError(
                f"SQLite: {error} ({self.path})", operation=operation, retryable=busy
            ) from error

    @contextmanager
    def _transaction(self, operation: str, *, writing: bool = False) -> Iterator[Any]:
        """One state of the database for several statements; all of what is written, or nothing."""
        with self._lock, self._errors(operation):
            self._database.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            try:
                yield self._database.execute
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def _select(self, columns: str, selection: Selection) -> tuple[str, list[Any]]:
        where, params = _where(selection)
        return f"SELECT {columns} FROM {self._table} {where}", params

    def _prepare(self, metric_given: bool) -> None:
        """Make the table, or take metric and dimension from the one that is there."""
        with self._transaction("open", writing=True) as run:
            run(
                f"CREATE TABLE IF NOT EXISTS {_SETTINGS} "
                "(name TEXT PRIMARY KEY, metric TEXT NOT NULL, dimension INTEGER) WITHOUT ROWID"
            )
            run(
                f"CREATE TABLE IF NOT EXISTS {self._table} (id TEXT PRIMARY KEY, "
                "text TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB NOT NULL)"
            )
            run(
                f"INSERT OR IGNORE INTO {_SETTINGS} VALUES (?, ?, ?)",
                (self._table_name, self.metric, self.dimension),
            )
            metric, dimension = self._settings(run)
            given = (("metric", self.metric, metric), ("dimension", self.dimension, dimension))
            for what, mine, stored in given:
                if mine is not None and stored is not None and mine != stored:
                    if what == "metric" and not metric_given:
                        continue
                    raise SchemaMismatchError(
                        f"the table {self._table_name!r} has the {what} {stored}, not {mine}; "
                        f"leave {what} out, or choose another table"
                    )
        self._settle(metric=metric, dimension=dimension)

    def _settings(self, run: Any) -> Any:
        sql = f"SELECT metric, dimension FROM {_SETTINGS} WHERE name = ?"
        return run(sql, (self._table_name,)).fetchone()

    def _check_length(self, run: Any, length: int, what: str, *, settle: bool = False) -> None:
        """Compare with the table's dimension, which another process may have settled meanwhile."""
        _, stored = self._settings(run)
        check_dimension(length, stored, what)
        if stored is None and settle:
            sql = f"UPDATE {_SETTINGS} SET dimension = ? WHERE name = ?"
            run(sql, (length, self._table_name))
            stored = length
        self._settle(dimension=stored)

    def _scores(self, vectors: bytes, query: Any) -> Any:
        matrix = np.frombuffer(vectors, np.float32).reshape(-1, len(query)).astype(np.float64)
        probe = query.astype(np.float64)
        if self.metric == "euclidean":
            difference = matrix - probe
            return 0.0 - np.sqrt(np.vecdot(difference, difference))
        products = np.vecdot(matrix, probe)
        if self.metric == "dot":
            return products
        lengths = np.sqrt(np.vecdot(matrix, matrix)) * np.sqrt(np.vecdot(probe, probe))
        return np.clip(products / lengths, -1.0, 1.0)


def _where(selection: Selection) -> tuple[str, list[Any]]:
    conditions, params = ["1"], []
    if selection.ids is not None:
        conditions.append("id IN (SELECT value FROM json_each(?))")
        params.append(json.dumps(selection.ids))
    if selection.filter is not None:
        conditions.append(selection.filter.query)
        params.extend(selection.filter.params)
    return f"WHERE {' AND '.join(conditions)}", params


def _columns(include_embedding: bool) -> str:
    return "id, text, metadata" + (", vector" if include_embedding else "")


def _document(row: Sequence[Any], score: float | None = None) -> Document:
    id, text, metadata, *vector = row
    embedding = np.frombuffer(vector[0], np.float32) if vector else None
    return stored_document(id, text, json.loads(metadata), embedding, score)


def _encoded(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False)
