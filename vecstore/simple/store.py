"""The in-memory vector store."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from vecstore import process
from vecstore.document import Document, stored_document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import ConfigurationError, StoreFileError
from vecstore.filter.evaluate import stored_matcher
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, Expression
from vecstore.filter.values import shown
from vecstore.simple.candidates import candidates, narrowed
from vecstore.simple.codes import Quantize, dots_of_int8
from vecstore.simple.columns import BLOCK, grouped, values_at
from vecstore.simple.files import (
    Source,
    Target,
    as_bytes,
    check_writable,
    write_target,
)
from vecstore.simple.locks import FileOwner, remove_left_over
from vecstore.simple.persistence import Contents, decoded, encoded, read_contents
from vecstore.simple.sidecar import remove_unnamed, sidecar_of
from vecstore.simple.table import Rows, Snapshot, Table, best, scores
from vecstore.store.backend import Batch, Judge, Order, Selection, changed, id_outside
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.operations import Call, CountCall, GetCall
from vecstore.store.options import CommonOptions
from vecstore.store.ordering import first_in_order
from vecstore.store.searching import SearchCall
from vecstore.store.url import StoreURL, flag
from vecstore.vectors import Matrix, Vector, rows_of_zeros


class SimpleVectorStore(VectorStore):
    """Documents in memory, searched exactly, saved to one JSON file.

    Safe to use from many threads: each call sees one state of the store, and searching goes on
    while others write. Scores and results are exact; nothing is approximated.

    Args:
        embedder: As for every :class:`~vecstore.VectorStore`.
        metric: ``"cosine"``, ``"dot"`` or ``"euclidean"``. When left out: cosine, until a file is
            loaded that was saved with another one.
        dimension: Length of the vectors; when left out, that of the first one.
        batching: How texts are cut into calls of the embedder.
        quantize: ``"int8"`` keeps the vectors in int8 as well, a quarter more memory, for a first
            look at large data. Results are the same, in a fraction of the time. Needs the extra
            ``int8``.
        **common: As for every store.

    Raises:
        BackendNotInstalledError: If the package that ``quantize`` needs is missing.

    Example:
        >>> from vecstore import Document, SimpleVectorStore
        >>> def embed(texts):
        ...     return [[text.count("a") + 1, text.count("b")] for text in texts]
        >>> store = SimpleVectorStore(embed)
        >>> store.add(
        ...     [
        ...         Document("aaa", {"year": 2020}, id="first"),
        ...         Document("bbb", {"year": 2021}, id="second"),
        ...     ]
        ... )
        ['first', 'second']
        >>> [document.id for document in store.search("aa", top_k=1)]
        ['first']
        >>> [document.id for document in store.search("aa", filter="year > 2020")]
        ['second']
    """

    _file: str | None = None
    _owner: FileOwner | None = None
    _inherited = False
    _sidecar = False

    name: ClassVar[str] = "memory"
    capabilities: StoreCapabilities = StoreCapabilities(
        exact_topk=True,
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        tells_replaced=True,
        vectorless=True,
        keeps_extra=True,
        filtered_count=True,
        native_ids=True,
        native_statistics=True,
        native_order=True,
    )

    def __init__(
        self,
        embedder: EmbedderInput | None = None,
        *,
        metric: Metric | None = None,
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        quantize: Quantize | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        if quantize is not None:
            if quantize != "int8":
                raise ConfigurationError(
                    f'quantize is "int8", or left out for float32 alone, not {shown(quantize)}'
                )
            dots_of_int8()  # now, and not when the first search is slow
        super().__init__(
            embedder,
            metric="cosine" if metric is None else metric,
            dimension=dimension,
            batching=batching,
            **common,
        )
        self._metric_given = metric is not None
        self._table = Table(self._metric, dimension, int8=quantize is not None)
        self._saved_version = 0
        """The state that the file holds which the store was opened from."""
        self._kept_version = 0
        """The state that was last saved anywhere."""

    @property
    def metric(self) -> Metric:
        """How vectors are compared."""
        return self._table.snapshot.metric

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None before the first one when none was declared."""
        return self._table.snapshot.dimension

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> SimpleVectorStore:
        """Open ``memory:``, or ``memory:`` with a file; see :func:`vecstore.open_store`."""
        known = {
            "metric": str,
            "dimension": int,
            "batching": None,
            "quantize": str,
            "sidecar": flag,
        }
        settings = url.options(known, options)
        sidecar = settings.pop("sidecar", None)
        path = url.file()
        store = cls(embedder, **settings)
        if path is not None:
            store._attach(path, sidecar)
        elif sidecar is not None:
            raise ConfigurationError("sidecar is of a file: memory:kb.json?sidecar=true")
        return store

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        embedder: EmbedderInput | None = None,
        *,
        metric: Metric | None = None,
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        quantize: Quantize | None = None,
    ) -> SimpleVectorStore:
        """A store with what :meth:`to_json` of another returned.

        Raises:
            StoreFileError: If the text is no saved store, or does not fit metric or dimension.

        Example:
            >>> from vecstore import Document, SimpleVectorStore
            >>> store = SimpleVectorStore()
            >>> store.add([Document("Hello", id="a", embedding=[1, 0])])
            ['a']
            >>> SimpleVectorStore.from_json(store.to_json()).get()
            [Document('Hello', id='a')]
        """
        store = cls(
            embedder, metric=metric, dimension=dimension, batching=batching, quantize=quantize
        )
        store._take(decoded(as_bytes(text), "the text"), "the text")
        return store

    # --- the file ----------------------------------------------------------------------------

    def save(self, target: Target, *, sidecar: bool | None = None) -> None:
        """Write everything to one JSON file, while others may go on reading and writing the store.

        A path is replaced in one step, at the end: who reads it finds the old file or the new one,
        whole, even when the process is killed or two of them save at once. What a killed process
        left half-written beside the path is removed by the next save.

        Args:
            target: A path, or a file that is open for writing.
            sidecar: Whether the vectors go into a file of their own beside the path,
                ``kb.json.<20 digits>.npy``, which is written and read faster and which
                ``load(mmap=True)`` can map. Both are replaced in one step as well. When left out:
                as the file is that this store was opened from, for that path; else no.

        Raises:
            ValueError: For a sidecar of an open file, which has no place beside it.
            StoreFileError: If that fails, or if another store is open that was opened from this
                path by :func:`~vecstore.open_store`; a file that was at the path is unchanged.
        """
        self._check_open()
        snapshot = self._table.snapshot
        path = os.path.realpath(target) if isinstance(target, str | os.PathLike) else None
        if sidecar and path is None:
            raise ValueError("a sidecar stands beside a path; pass one in place of the open file")
        is_own = path is not None and self._owner is not None and self._owner.owns(path)
        if sidecar is None:
            sidecar = is_own and self._sidecar
        self._write(target, snapshot, sidecar)
        self._kept_version = snapshot.version
        if is_own:
            self._saved_version, self._sidecar = snapshot.version, sidecar

    def _write(self, target: Target, snapshot: Snapshot, sidecar: bool) -> None:
        if not sidecar or not isinstance(target, str | os.PathLike):
            write_target(target, encoded(snapshot), self._owner)
            return
        beside = sidecar_of(os.path.realpath(target), snapshot)
        write_target(target, encoded(snapshot, beside.name), self._owner, beside)

    def load(self, source: Source, *, mmap: bool = False) -> Self:
        """Put what a file holds in the place of everything in this store.

        Args:
            source: A path, or a file that is open for reading: a store that was saved, or a file
                of Spring AI's SimpleVectorStore.
            mmap: Leave the vectors in the sidecar of a file that was saved with one: several
                processes share them, and the system reads what is looked at. The first document
                that is added copies them into memory.

        Returns:
            This store.

        Raises:
            StoreFileError: Saying what is wrong with the file; the store is unchanged.
        """
        self._check_open()
        contents, name = read_contents(source, mapped=mmap)
        self._ask("load", self._take, contents, name)
        return self

    def to_json(self) -> str:
        """Everything as one JSON text, the same as in a file; see :meth:`from_json`."""
        self._check_open()
        return b"".join(encoded(self._table.snapshot)).decode("utf-8")

    def _take(self, contents: Contents, name: str) -> None:
        metric = contents.metric or self.metric
        if self._metric_given and metric != self._metric:
            raise StoreFileError(
                f"{name} was saved with the metric {metric}, and this store was made with "
                f"{self._metric}; leave metric out to take the file's"
            )
        dimension = contents.dimension
        declared = self._dimension
        if declared is not None and dimension is not None and dimension != declared:
            raise StoreFileError(
                f"{name} holds vectors of {dimension:,} dimensions, and this store was made for "
                f"{declared:,}; was the file filled with another embedding model?"
            )
        if metric == "cosine":
            zeros = rows_of_zeros(contents.vectors)
            zero = next((row for row in zeros if not contents.bare[row]), None)
            if zero is not None:
                raise StoreFileError(
                    f"{name}: the vector of document {contents.ids[zero]!r} is all zeros, which "
                    "cosine similarity cannot compare; load it with the metric dot or euclidean"
                )
        vectors, size = contents.vectors, declared or dimension
        if size is not None and not vectors.shape[1]:  # none has a vector, and now one may come
            vectors = np.zeros((len(vectors), size), np.float32)
        self._table.replace_all(
            metric,
            size,
            contents.ids,
            contents.texts,
            contents.metadata,
            vectors,
            contents.bare,
            contents.extras,
        )

    def _attach(self, path: str, sidecar: bool | None) -> None:
        """Load a file when it is there, and save to it on ``close()``; no other store may."""
        path = os.path.abspath(path)
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            raise StoreFileError(
                f"the file {path!r} could not be saved: there is no folder {folder!r}; for a path "
                "relative to the working directory write memory:path, without slashes before it"
            )
        check_writable(path)
        owner = FileOwner(path)
        try:
            remove_left_over(owner.path)
            remove_unnamed(owner.path)
            if os.path.exists(path):
                contents, name = read_contents(path)
                self._ask("load", self._take, contents, name)
                self._sidecar = contents.sidecar is not None
            if sidecar is not None:
                self._sidecar = sidecar
            self._saved_version = self._kept_version = self._table.snapshot.version
            self._file, self._owner = path, owner
        except BaseException:
            owner.release()
            raise

    def _bound_to_process(self) -> str | None:
        if self._file is None:
            return "its documents are in the memory of this one, and in no file"
        return None

    def _after_fork(self) -> None:
        # The documents are a copy already; only the lock may be held by a thread that is gone.
        self._table.after_fork()
        if self._owner is not None:
            # Two processes would save over each other: the file stays the parent's.
            self._owner = None
            self._inherited = True
            self._kept_version = self._table.snapshot.version

    def _close(self) -> None:
        if self._file is None:
            return
        snapshot = self._table.snapshot
        if self._inherited:
            if self._kept_version != snapshot.version:
                raise StoreFileError(
                    f"this process was forked from the one that {self._file!r} is open in, and has "
                    "changed its copy of the store since; only the parent writes that file: "
                    "save the copy to another path with save(path), or write in the parent"
                )
            return
        if self._saved_version != snapshot.version:
            self._write(self._file, snapshot, self._sidecar)
            self._saved_version = snapshot.version
        if self._owner is not None:
            self._owner.release()

    def __del__(self) -> None:
        owner = self._owner
        if owner is None or self._pid != process.pid:
            return
        if self._table.snapshot.version not in (self._saved_version, self._kept_version):
            warnings.warn(
                f"what was written to {self!r} is lost: it was opened from {self._file!r} and not "
                "closed; with open_store(...) as store: ... closes it, which saves the file",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
        owner.release()

    # --- the hooks ---------------------------------------------------------------------------

    def _add(self, batch: Batch) -> Iterable[str]:
        table = self._table
        with table.lock:
            batch.check_dimension(self.dimension)
            if batch.within is not None:
                self._refuse_outsiders(batch)
            known = table.settled().known(batch.ids)
            rows = batch.free_rows(set(known))
            if batch.on_conflict == "replace":
                batch.replaced.extend(known)
            if len(rows) == len(batch):
                table.put(
                    batch.ids, batch.texts, batch.metadata, batch.vectors, extras=batch.extras
                )
                return batch.ids
            free = [batch.ids[row] for row in rows]
            if free:
                table.put(
                    free,
                    [batch.texts[row] for row in rows],
                    [batch.metadata[row] for row in rows],
                    batch.vectors[rows],
                    extras=[batch.extras[row] for row in rows] if batch.extras else (),
                )
            return free

    def _refuse_outsiders(self, batch: Batch) -> None:
        snapshot = self._table.settled()
        rows = snapshot.rows_of(batch.ids)
        matches = stored_matcher(batch.within)
        outside = [snapshot.ids[row] for row in rows if not matches(snapshot.metadata[row])]
        if outside:
            raise id_outside(outside)

    def _is_quick(self, call: Call[Any]) -> bool:
        if type(self) is not SimpleVectorStore:
            return False  # its hooks may be others
        snapshot = self._table.snapshot
        small = snapshot.size <= _QUICK_ROWS
        if isinstance(call, SearchCall):
            numbers = snapshot.size * (snapshot.dimension or 1)
            few = small or (
                snapshot.size <= _PLAIN_ROWS
                and call.request.top_k + call.request.offset <= _QUICK_ROWS
                and call.request.ids is call.request.exclude_ids is None
                and _is_plain(call.filter)
                and (call.within is None or _is_plain(call.within.filter))
            )
            return (
                few
                and numbers <= _QUICK_NUMBERS
                and call.request.query is None
                and not call.request.diversity
            )
        if isinstance(call, GetCall) and call.ids is not None:
            return len(call.ids) <= _QUICK_ROWS and (
                small or (call.filter is None and call.within is None)
            )
        if isinstance(call, CountCall):
            return small or (call.filter is None and call.within is None)
        return False

    def _compile_filter(self, filter: Expression) -> Expression:
        return filter  # is asked as it stands

    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        snapshot = self._table.snapshot
        if snapshot.live == snapshot.vectorless:
            return []
        return _found(snapshot, vector, _selected(snapshot, filter), top_k, include_embedding)

    def _search_many(
        self, vectors: Matrix, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        snapshot = self._table.snapshot
        if snapshot.live == snapshot.vectorless:
            return [[] for _ in vectors]
        rows = _selected(snapshot, filter)
        among = candidates(snapshot, vectors, rows, top_k)
        return [
            _found(snapshot, vector, chosen, top_k, include_embedding)
            for vector, chosen in zip(vectors, among, strict=True)
        ]

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        snapshot = self._table.snapshot
        if selection.ids is not None:
            rows: Rows = np.array(sorted(_chosen(snapshot, selection)), dtype=np.intp)
            rows = rows[~snapshot.bare[rows]]
        else:
            out = snapshot.rows_of(selection.excluded)
            rows = np.setdiff1d(snapshot.searchable_rows(selection.filter), out, assume_unique=True)
        if not len(rows):
            return [[] for _ in vectors]
        among = candidates(snapshot, vectors, rows, top_k)
        return [
            _found(snapshot, vector, chosen, top_k, include_embedding)
            for vector, chosen in zip(vectors, among, strict=True)
        ]

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        snapshot = self._table.snapshot
        if selection.ids is None:
            rows: Sequence[int] = _listed(snapshot, selection.filter, limit)
        else:
            rows = _chosen(snapshot, selection)
        return [_document(snapshot, row, include_embedding) for row in rows]

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterable[Document]:
        return _scanned(self._table.snapshot, filter, include_embedding)

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        return set(self._table.snapshot.known(ids))

    def _delete(self, selection: Selection) -> int:
        with self._table.lock:
            rows = _chosen(self._table.settled(), selection)
            self._table.delete(rows)
            return len(rows)

    def _delete_filtered(self, filter: Any) -> int:
        with self._table.lock:
            rows = _listed(self._table.settled(), filter)
            self._table.delete(rows)
            return len(rows)

    def _count(self, filter: Any) -> int:
        snapshot = self._table.snapshot
        if filter is None:
            return snapshot.live
        return len(snapshot.selected_rows(filter))

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        snapshot = self._table.snapshot
        for row in snapshot.selected_rows(filter).tolist():
            yield snapshot.ids[row], snapshot.metadata[row]

    def _get_ordered(
        self, order: Order, filter: Any, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        snapshot = self._table.snapshot
        rows = snapshot.selected_rows(filter).tolist()
        ids = [snapshot.ids[row] for row in rows]
        values: Sequence[Any] = ()
        if order.path is not None:
            values = values_at(order.path, [snapshot.metadata[row] for row in rows])
        return [
            _document(snapshot, rows[place], include_embedding)
            for place in first_in_order(values, ids, order, limit)
        ]

    def _extremes(self, path: tuple[str, ...], filter: Any) -> Iterator[Any]:
        snapshot = self._table.snapshot
        rows = snapshot.selected_rows(filter)
        for start in range(0, len(rows), BLOCK):
            metadata = [snapshot.metadata[row] for row in rows[start : start + BLOCK].tolist()]
            values = values_at(path, metadata)
            for kind in (int, float, str):
                held = [value for value in values if type(value) is kind]
                yield from (min(held), max(held)) if held else ()

    def _held_values(self, path: tuple[str, ...], filter: Any) -> Iterator[tuple[Any, int]]:
        snapshot = self._table.snapshot
        rows = snapshot.selected_rows(filter)
        for start in range(0, len(rows), BLOCK):
            metadata = [snapshot.metadata[row] for row in rows[start : start + BLOCK].tolist()]
            yield from grouped(values_at(path, metadata))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        with self._table.lock:
            snapshot = self._table.settled()
            if selection.ids is None:
                rows: Sequence[int] = _listed(snapshot, selection.filter)
            else:
                rows = _chosen(snapshot, selection)
            if rows:
                self._table.put(
                    [snapshot.ids[row] for row in rows],
                    [snapshot.texts[row] for row in rows],
                    [changed(snapshot.metadata[row], set, unset) for row in rows],
                    snapshot.matrix[list(rows)],
                    snapshot.bare[list(rows)],
                    [snapshot.extras.get(row) for row in rows] if snapshot.extras else (),
                )
            return len(rows)

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        with self._table.lock:
            return super()._delete_judged(selection, judge)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        with self._table.lock:
            return super()._update_judged(selection, judge, set=set, unset=unset)

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        with self._table.lock:
            return super()._delete_ids(selection, judge)

    def _clear(self) -> None:
        self._table.clear()

    def _clear_counted(self) -> int:
        with self._table.lock:
            return super()._clear_counted()

    def _native(self) -> tuple[list[str], Matrix]:
        """The ids and the matrix of vectors, row for row; both copies.

        Of documents that have a vector.
        """
        snapshot = self._table.snapshot
        rows = snapshot.searchable_rows(None)
        return [snapshot.ids[row] for row in rows.tolist()], snapshot.matrix[rows]


def _chosen(snapshot: Snapshot, selection: Selection) -> list[int]:
    """The rows of the selected ids that match the filter."""
    assert selection.ids is not None
    rows = snapshot.rows_of(selection.ids)
    if selection.filter is None:
        return rows
    matches = stored_matcher(selection.filter)
    return [row for row in rows if matches(snapshot.metadata[row])]


def _found(
    snapshot: Snapshot, vector: Vector, rows: Rows | None, top_k: int, include_embedding: bool
) -> list[Document]:
    """The best of some rows; None for every row."""
    if snapshot.codes is not None:
        rows = narrowed(snapshot, vector, rows, top_k)
    values = scores(snapshot, vector, rows)
    ids = snapshot.ids
    if rows is None:
        found = best(values, top_k, ids.__getitem__)
        return [_document(snapshot, row, include_embedding, float(values[row])) for row in found]
    listed = rows
    found = best(values, top_k, lambda position: ids[listed[position]])
    return [
        _document(snapshot, int(rows[position]), include_embedding, float(values[position]))
        for position in found
    ]


def _selected(snapshot: Snapshot, filter: Expression | None) -> Rows | None:
    """The rows of documents with a vector that match, ascending; None for every row there is."""
    if filter is None and snapshot.whole and not snapshot.vectorless:
        return None
    return snapshot.searchable_rows(filter)


_QUICK_ROWS, _PLAIN_ROWS, _QUICK_NUMBERS = 500, 5_000, 800_000
"""What is answered within some 100 microseconds: so many documents, the second where no filter or a
plain one is asked of them, and numbers in their vectors. A change of threads takes half of that."""
_PLAIN_PARTS = 4


def _is_plain(filter: Expression | None) -> bool:
    """Whether a filter is some few comparisons with one literal each, or none at all."""
    if filter is None:
        return True
    parts = filter.operands if filter.op in LOGICAL else (filter,)
    return len(parts) <= _PLAIN_PARTS and not any(
        part.op in LOGICAL or part.op in MEMBERSHIPS for part in parts
    )


_FIRST_LOOK = 256
"""So many rows are asked one by one where a few documents are enough."""


def _listed(snapshot: Snapshot, filter: Expression | None, limit: int | None = None) -> list[int]:
    """The rows of the first documents that match."""
    if filter is not None and limit is not None and limit < snapshot.size:
        matches = stored_matcher(filter)
        metadata, died = snapshot.metadata, snapshot.died
        first = [
            row
            for row in range(min(_FIRST_LOOK, snapshot.size))
            if matches(metadata[row]) and died[row] > snapshot.version
        ]
        if len(first) >= limit:
            return first[:limit]
    listed: list[int] = snapshot.selected_rows(filter)[:limit].tolist()
    return listed


def _scanned(
    snapshot: Snapshot, filter: Expression | None, include_embedding: bool
) -> Iterator[Document]:
    rows = snapshot.selected_rows(filter)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        for row in rows[start : start + _ROWS_AT_ONCE].tolist():
            yield _document(snapshot, row, include_embedding)


_ROWS_AT_ONCE = 1_024


def _document(
    snapshot: Snapshot, row: int, include_embedding: bool, score: float | None = None
) -> Document:
    embedding = None
    if include_embedding and not snapshot.bare[row]:
        embedding = snapshot.matrix[row].copy()
        embedding.flags.writeable = False
    return stored_document(
        snapshot.ids[row],
        snapshot.texts[row],
        snapshot.metadata[row],
        embedding,
        score,
        snapshot.extras.get(row) if snapshot.extras else None,
        shared=True,
    )
