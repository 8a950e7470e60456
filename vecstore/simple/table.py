"""Rows of documents and vectors that readers see whole while writers go on.

Rows are only ever appended. Replacing or deleting a document writes the number of the version
that ended its row into ``died``; nothing else about a row changes. A reader takes the current
:class:`Snapshot` and sees, for as long as it likes, the rows below its size that had not died by
its version: no lock is held while searching, filtering, scanning, looking up ids or saving, and
what one call returns is one state of the store. Writers take turns on one lock. Dead rows are
dropped when there are many of them, by copying the rest into new columns; snapshots keep the old
ones.

A write may be broken off anywhere: by Ctrl-C, by a time limit, by memory running out. Everything
that belongs to a state hangs on its snapshot, and the one assignment of the next snapshot is the
moment a write happens. What a writer does before it is invisible: rows past the size, entries of
the index that lead there, deaths in a version that is to come. Such traces of a write that did not
happen are left behind by the next writer, which copies what lives into new columns first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecstore.filter.tree import Expression
from vecstore.simple.codes import Codes
from vecstore.simple.metadata import MetadataTable
from vecstore.store.capabilities import Metric
from vecstore.vectors import Matrix, Vector

Rows = NDArray[np.intp]

_ALIVE = np.iinfo(np.int64).max
_FIRST_CAPACITY = 64
_MANY_IDS = 64
"""From so many on, looking all of them up at once takes less time than one after the other."""
_DEAD_ALLOWED = 1_024

# Lengths whose squares and products float32 holds with room to spare.
_SMALLEST_SQUARE, _LARGEST_SQUARE = 1e-30, 1e30

Scores = NDArray[Any]
"""float32, or float64 where a vector's length asks for it."""

BLOCK = 256
_CHUNK_BYTES = 384 * 1024
MANY = 0.25
"""Of the rows: to gather more of them takes longer than to score them all."""

SAFE_LENGTH = 1e15
"""Queries that are longer, or shorter than one by it, are not scored in float32."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """One state of a table. The columns may be longer than ``size``; the rest is not of it.

    Attributes:
        metric: How vectors are compared.
        dimension: Length of the vectors, or None before the first one.
        version: Counts the writes.
        size: Rows, dead ones included.
        live: Documents.
        vectorless: Those of them that have no vector.
        ids: Id of each row.
        texts: Text of each row.
        metadata: Metadata of each row; never changed.
        extras: What stands beside it, as JSON text, of the rows that have any.
        matrix: Vector of each row, as it was given.
            Zeros where a document has none.
        lengths: Euclidean length of each vector.
        bare: Whether the document of a row has no vector.
        died: The version that ended each row; the largest integer while none has.
        index: The newest row of each id; it may be of a later state than this one.
        older: For a row, the row that its id had before, where it had one.
        extreme: Whether some vector is so long or short that float32 arithmetic may fail on it.
        codes: The vectors once more, in int8; None where the store keeps none.
        columns: What filters have asked of ``metadata``; it goes with that list, and like it may
            reach further than this state.
    """

    metric: Metric
    dimension: int | None
    version: int
    size: int = 0
    live: int = 0
    vectorless: int = 0
    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    extras: dict[int, str] = field(default_factory=dict)
    matrix: Matrix = field(default_factory=lambda: np.empty((0, 0), np.float32))
    lengths: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    bare: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    died: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    index: dict[str, int] = field(default_factory=dict)
    older: dict[int, int] = field(default_factory=dict)
    extreme: bool = False
    codes: Codes | None = None
    columns: MetadataTable = field(default_factory=lambda: MetadataTable([]))
    _live_rows: list[Rows] = field(default_factory=list, init=False)
    _vector_rows: list[Rows] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.columns.rows is not self.metadata:
            object.__setattr__(self, "columns", MetadataTable(self.metadata))

    @property
    def whole(self) -> bool:
        """Whether every row is a document."""
        return self.live == self.size

    def live_rows(self) -> Rows:
        """The rows that are documents, ascending."""
        if not self._live_rows:
            self._live_rows.append(np.flatnonzero(self.died[: self.size] > self.version))
        return self._live_rows[0]

    def vectors(self, step: int) -> Iterator[Matrix]:
        """The vectors of the documents, so many at a time; none where no document has had one."""
        rows = self.live_rows() if self.matrix.shape[1] else ()
        for start in range(0, len(rows), step):
            stop = min(start + step, len(rows))
            # Without dead rows nothing need be copied.
            yield self.matrix[start:stop] if self.whole else self.matrix[rows[start:stop]]

    def selected_rows(self, filter: Expression | None) -> Rows:
        """The rows of documents that match a filter, ascending."""
        if filter is None:
            return np.arange(self.size) if self.whole else self.live_rows()
        matching = self.columns.select(filter, self.size)
        if not self.whole:
            matching &= self.died[: self.size] > self.version
        return np.flatnonzero(matching)

    def searchable_rows(self, filter: Expression | None) -> Rows:
        """Those of :meth:`selected_rows` that have a vector."""
        if not self.vectorless:
            return self.selected_rows(filter)
        if filter is not None:
            rows = self.selected_rows(filter)
            return rows[~self.bare[rows]]
        if not self._vector_rows:
            rows = self.live_rows()
            self._vector_rows.append(rows[~self.bare[rows]])
        return self._vector_rows[0]

    def row_of(self, id: str) -> int | None:
        """The row of a document; None for an id that is not stored."""
        row = self.index.get(id, -1)
        # Rows of one id stand in the order of time: the newest one of this state decides.
        while row >= self.size:
            row = self.older.get(row, -1)
        return row if row >= 0 and self.died[row] > self.version else None

    def rows_of(self, ids: Sequence[str]) -> list[int]:
        """The rows of those ids that are stored, in the order given."""
        if len(ids) < _MANY_IDS:
            return [row for id in ids if (row := self.row_of(id)) is not None]
        found = np.fromiter(map(self.index.get, ids, repeat(-1)), np.intp, len(ids))
        for place in np.flatnonzero(found >= self.size).tolist():  # of a later state than this one
            row = self.row_of(ids[place])
            found[place] = -1 if row is None else row
        found = found[found >= 0]
        rows: list[int] = found[self.died[found] > self.version].tolist()
        return rows

    def known(self, ids: Sequence[str]) -> list[str]:
        """Those ids that are stored, in the order given."""
        if self.index.keys().isdisjoint(ids):
            return []
        return [id for id in ids if self.row_of(id) is not None]


class Table:
    """The rows of one store.

    Args:
        metric: How vectors are compared.
        dimension: Length of the vectors, or None to take it from the first.
        int8: Whether to keep the vectors in int8 as well.
    """

    def __init__(self, metric: Metric, dimension: int | None = None, *, int8: bool = False) -> None:
        self._int8 = int8
        self.lock = threading.RLock()
        """Held by writers, also across several steps that belong together."""
        self._unsettled = False
        self.snapshot = Snapshot(
            metric=metric, dimension=dimension, version=0, codes=self._no_codes(metric)
        )
        """The current state; replaced as a whole."""

    def _no_codes(self, metric: Metric) -> Codes | None:
        return Codes.empty(metric == "cosine") if self._int8 else None

    def settled(self) -> Snapshot:
        """The current state, without traces of a write that was broken off; for writers."""
        if self._unsettled:
            self.snapshot = _compacted(self.snapshot)
            self._unsettled = False
        return self.snapshot

    def put(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        metadata: Sequence[dict[str, Any]],
        vectors: Matrix,
        bare: NDArray[np.bool_] | None = None,
        extras: Sequence[str | None] = (),
    ) -> None:
        """Store documents with distinct ids; those that are stored already are replaced.

        Args:
            ids: Of the documents.
            texts: Their texts.
            metadata: Their metadata.
            vectors: Their vectors, one a row; without columns where none has one.
            bare: Which of them have none, whose rows are zeros; None where that is told by
                ``vectors``.
            extras: What stands beside the metadata of each; empty where nothing does.
        """
        with self.lock:
            old = self.settled()
            if bare is None:
                bare = np.full(len(ids), not vectors.shape[1])
            if not vectors.shape[1]:
                vectors = np.zeros((len(ids), old.dimension or 0), np.float32)
            index = old.index
            # Mostly none of them is known: then nothing is looked up one by one.
            known = not index.keys().isdisjoint(ids)
            replaced = old.rows_of(ids) if known else []
            start, stop = old.size, old.size + len(ids)
            self._unsettled = True
            matrix, lengths, held_bare, died, codes = _room_for(old, stop, vectors.shape[1])
            squares = _squares(vectors)
            matrix[start:stop] = vectors
            lengths[start:stop] = _lengths(squares)
            if codes is not None:
                codes.put(start, vectors, lengths[start:stop])
            held_bare[start:stop] = bare
            died[start:stop] = _ALIVE
            old.ids.extend(ids)
            old.texts.extend(texts)
            old.metadata.extend(metadata)
            for row, extra in enumerate(extras, start):
                if extra is not None:
                    old.extras[row] = extra
            version = old.version + 1
            died[replaced] = version
            if known:
                # Before the index leads to the new rows: readers of the old ones find them by this.
                older = [(row, index[id]) for row, id in enumerate(ids, start) if id in index]
                old.older.update(older)
            index.update(zip(ids, range(start, stop), strict=True))
            self.snapshot = replace(
                old,
                dimension=vectors.shape[1] or None,
                version=version,
                size=stop,
                live=old.live - len(replaced) + len(ids),
                vectorless=old.vectorless - _count(old.bare[replaced]) + _count(bare),
                matrix=matrix,
                lengths=lengths,
                bare=held_bare,
                died=died,
                extreme=old.extreme or _is_extreme(squares),
                codes=codes,
            )
            self._unsettled = False
            self._drop_dead_rows()

    def delete(self, rows: Sequence[int]) -> None:
        """Delete documents by their rows in the :meth:`settled` state."""
        with self.lock:
            old = self.snapshot
            if not rows:
                return
            version = old.version + 1
            self._unsettled = True
            old.died[list(rows)] = version
            self.snapshot = replace(
                old,
                version=version,
                live=old.live - len(rows),
                vectorless=old.vectorless - _count(old.bare[list(rows)]),
            )
            self._unsettled = False
            self._drop_dead_rows()

    def clear(self) -> None:
        """Delete every document; the dimension stays."""
        with self.lock:
            old = self.snapshot
            self.snapshot = Snapshot(
                metric=old.metric,
                dimension=old.dimension,
                version=old.version + 1,
                codes=self._no_codes(old.metric),
            )
            self._unsettled = False

    def after_fork(self) -> None:
        """Go on in a child process, where whoever held the lock is gone, maybe half-way."""
        self.lock = threading.RLock()
        self._unsettled = True

    def replace_all(
        self,
        metric: Metric,
        dimension: int | None,
        ids: list[str],
        texts: list[str],
        metadata: list[dict[str, Any]],
        vectors: Matrix,
        bare: NDArray[np.bool_] | None = None,
        extras: dict[int, str] | None = None,
    ) -> None:
        """Put these documents in the place of all others, in one step; see :meth:`put`."""
        if bare is None:
            bare = np.zeros(len(ids), np.bool_)
        index = dict(zip(ids, range(len(ids)), strict=True))
        squares = _squares(vectors)
        lengths = _lengths(squares)
        died = np.full(len(ids), _ALIVE, np.int64)
        codes = self._no_codes(metric)
        if codes is not None and len(ids):
            codes = Codes.of(codes.relative, vectors, lengths)
        with self.lock:
            self.snapshot = Snapshot(
                metric=metric,
                dimension=dimension,
                version=self.snapshot.version + 1,
                size=len(ids),
                live=len(ids),
                vectorless=_count(bare),
                ids=ids,
                texts=texts,
                metadata=metadata,
                extras={} if extras is None else extras,
                matrix=vectors,
                lengths=lengths,
                bare=bare,
                died=died,
                index=index,
                extreme=_is_extreme(squares),
                codes=codes,
            )
            self._unsettled = False

    def _drop_dead_rows(self) -> None:
        old = self.snapshot
        dead = old.size - old.live
        if dead > _DEAD_ALLOWED and dead > old.live:
            self.snapshot = _compacted(old)


def _room_for(
    old: Snapshot, size: int, dimension: int
) -> tuple[Matrix, NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64], Codes | None]:
    """Columns with room for ``size`` rows, the current rows in them."""
    capacity = len(old.matrix)
    widened = dimension > 0 and not old.matrix.shape[1]
    if size <= capacity and not widened:
        return old.matrix, old.lengths, old.bare, old.died, old.codes
    if size > capacity:
        capacity = max(size, 2 * capacity, _FIRST_CAPACITY)
    matrix = np.empty((capacity, dimension), np.float32)
    lengths = np.empty(capacity, np.float32)
    bare = np.empty(capacity, np.bool_)
    died = np.empty(capacity, np.int64)
    if old.size:
        # Before the first vector, rows have no columns: no document has one.
        matrix[: old.size] = 0 if widened else old.matrix[: old.size]
    lengths[: old.size] = old.lengths[: old.size]
    bare[: old.size] = old.bare[: old.size]
    died[: old.size] = old.died[: old.size]
    codes = old.codes
    if codes is not None:
        codes = codes.longer(old.size, capacity, dimension)
    return matrix, lengths, bare, died, codes


def _compacted(old: Snapshot) -> Snapshot:
    """The same state in columns of its own, without dead rows."""
    rows = old.live_rows()
    listed = rows.tolist()
    ids = [old.ids[row] for row in listed]
    matrix = old.matrix[rows]
    return replace(
        old,
        size=len(ids),
        live=len(ids),
        ids=ids,
        texts=[old.texts[row] for row in listed],
        metadata=[old.metadata[row] for row in listed],
        extras={row: old.extras[was] for row, was in enumerate(listed) if was in old.extras}
        if old.extras
        else {},
        matrix=matrix,
        lengths=old.lengths[rows],
        bare=old.bare[rows],
        died=np.full(len(ids), _ALIVE, np.int64),
        index=dict(zip(ids, range(len(ids)), strict=True)),
        older={},
        extreme=old.extreme and _is_extreme(_squares(matrix)),
        codes=None if old.codes is None else old.codes.taken(rows),
    )


def _count(marks: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(marks))


def _squares(vectors: Matrix) -> NDArray[Any]:
    """The squared length of each vector, in float64 where float32 would not do."""
    with np.errstate(over="ignore", under="ignore"):
        squares: NDArray[Any] = np.vecdot(vectors, vectors)
    odd = np.flatnonzero(_out_of_range(squares))
    if len(odd):
        # Of these alone: what a row's length is does not depend on the rows that came with it.
        wide = vectors[odd].astype(np.float64)
        squares = squares.astype(np.float64)
        squares[odd] = np.vecdot(wide, wide)
    return squares


def _lengths(squares: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # a length that overflows is an extreme one, and not used
        lengths: NDArray[np.float32] = np.sqrt(squares).astype(np.float32)
    return lengths


def _is_extreme(squares: NDArray[Any]) -> bool:
    return bool((_out_of_range(squares) & (squares != 0)).any())


def _out_of_range(squares: NDArray[Any]) -> NDArray[np.bool_]:
    return ~((squares >= _SMALLEST_SQUARE) & (squares <= _LARGEST_SQUARE))


# --- scores of all rows against one query, and the best of them ----------------------------------


def scores(snapshot: Snapshot, query: Vector, rows: Rows | None) -> Scores:
    """The score of each of ``rows`` (None: of every row, dead ones too).

    ``np.vecdot`` reads the matrix once, at the speed of memory, and gives equal rows equal
    scores, which a matrix product does not.
    """
    if not snapshot.size:
        return np.empty(0, np.float32)
    metric = snapshot.metric
    matrix = snapshot.matrix[: snapshot.size]
    lengths = snapshot.lengths[: snapshot.size]
    wide = query.astype(np.float64)
    length = float(np.sqrt(np.vecdot(wide, wide)))
    exact = snapshot.extreme or not 1 / SAFE_LENGTH <= length <= SAFE_LENGTH
    if metric == "cosine":
        wide /= length
    probe: NDArray[Any] = wide if exact else wide.astype(np.float32)
    result: Scores

    if metric == "euclidean":
        return _gathered(matrix, rows, exact, lambda part: _minus_distance(part, probe))
    if metric == "cosine" and exact:
        return _gathered(matrix, rows, exact, lambda part: _cosine(part, probe))
    if exact:
        result = _gathered(matrix, rows, exact, lambda part: np.vecdot(part, probe))
    elif rows is None:
        result = np.vecdot(matrix, probe)
    elif len(rows) > MANY * len(matrix):
        result = np.vecdot(matrix, probe)[rows]
    else:
        result = _gathered(matrix, rows, exact, lambda part: np.vecdot(part, probe))
    if metric == "dot":
        return result
    result /= lengths if rows is None else lengths[rows]
    return np.clip(result, -1.0, 1.0, out=result)


def best(values: Scores, top_k: int, id_of: Callable[[int], str]) -> list[int]:
    """Positions of the ``top_k`` highest values, best first, equal ones by id.

    The block that holds the k-th highest block maximum bounds the k-th highest value from below:
    one pass and a partition of the few maxima leave only candidates.
    """
    count = len(values)
    if top_k >= count:
        candidates = np.arange(count)
    else:
        candidates = np.flatnonzero(values >= lower_bound(values, top_k))
        if len(candidates) > top_k:
            held = values[candidates]
            candidates = candidates[held >= np.partition(held, len(held) - top_k)[-top_k]]
    return nsmallest(
        top_k, candidates.tolist(), key=lambda position: (-values[position], id_of(position))
    )


def lower_bound(values: Scores, top_k: int) -> Any:
    """A value that at least ``top_k`` of them reach, and few more."""
    blocks = len(values) // BLOCK
    if blocks <= top_k:
        return np.partition(values, len(values) - top_k)[-top_k]
    # Every blocks-th value makes a block: which ones do is all the same, and this way is quicker.
    maxima = values[: blocks * BLOCK].reshape(BLOCK, blocks).max(axis=0)
    return np.partition(maxima, blocks - top_k)[-top_k]


def _gathered(
    matrix: Matrix, rows: Rows | None, exact: bool, score: Callable[[Matrix], Scores]
) -> Scores:
    """Score all rows, or some of them, in pieces that stay in the cache."""
    count = len(matrix) if rows is None else len(rows)
    dtype = np.float64 if exact else np.float32
    result = np.empty(count, dtype)
    step = max(1, _CHUNK_BYTES // max(1, matrix.shape[1] * result.itemsize))
    # Into one buffer, over and over: fresh memory for each piece costs more than the copying.
    buffer = None if rows is None else np.empty((min(step, count), matrix.shape[1]), np.float32)
    for start in range(0, count, step):
        stop = min(start + step, count)
        if rows is None or buffer is None:
            part = matrix[start:stop]
        else:
            part = buffer[: stop - start]
            # "clip" is what writes to the buffer at once; no row is out of range.
            np.take(matrix, rows[start:stop], axis=0, out=part, mode="clip")
        result[start:stop] = score(part.astype(dtype) if exact else part)
    return result


def _minus_distance(part: NDArray[Any], probe: NDArray[Any]) -> Scores:
    difference = part - probe
    # 0.0 - x, not -x: the distance to an equal vector is 0.0, not -0.0.
    return np.asarray(0.0 - np.sqrt(np.vecdot(difference, difference)))


def _cosine(part: NDArray[Any], probe: NDArray[Any]) -> Scores:
    lengths = np.sqrt(np.vecdot(part, part))
    return np.asarray(np.clip(np.vecdot(part, probe) / lengths, -1.0, 1.0))
