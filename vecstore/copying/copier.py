"""``vecstore.copy``: documents from one place to another, as they are.

What the destination holds is the record of what has been done: an id that is there has been
copied. So a copy that was interrupted, at any moment, is resumed by running it again, and nothing
besides the documents has to be kept anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import Any, Literal

from vecstore.copying.files import SUFFIXES, DocumentFile, batches, document_file, matching
from vecstore.document import Document, shown_id
from vecstore.errors import (
    BackendError,
    ConfigurationError,
    DimensionMismatchError,
    DuplicateDocumentError,
    SchemaMismatchError,
)
from vecstore.filter.tree import Expression, FilterInput
from vecstore.filter.values import shown
from vecstore.store.arguments import read_filter
from vecstore.store.base import ScopedStore, VectorStore
from vecstore.store.operations import Progress
from vecstore.store.url import open_existing, open_with

OnConflict = Literal["skip", "replace", "error"]
Place = VectorStore | str | PathLike[str]

SAMPLE = 100
"""So many documents are compared at the end."""
_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did.

    Attributes:
        documents: How many documents of the source there were.
        written: How many of them were written that were not there.
        replaced: How many were written in the place of one with the same id.
        skipped: How many were left as they were, for their id was there.
        compared: How many documents were read back and compared with the source.
        differing: Ids of those compared, and skipped, that the destination holds otherwise.
    """

    documents: int
    written: int
    replaced: int
    skipped: int
    compared: int
    differing: tuple[str, ...] = ()


def copy(
    source: Place,
    destination: Place,
    *,
    filter: FilterInput = None,
    on_conflict: OnConflict = "skip",
    batch_size: int = 1_000,
    any_metric: bool = False,
    source_options: Mapping[str, Any] | None = None,
    destination_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Copied:
    """Copy documents with their ids, metadata and vectors; nothing is embedded.

    A document without a vector comes as such, and is refused where the destination keeps none
    (``capabilities.vectorless``).

    Between any two stores, and to and from files: JSON lines (``.jsonl``, ``.ndjson``) and Parquet
    (``.parquet``). What was interrupted is resumed by the same call: ids that are there are not
    written again. A scoped store as the source gives its own documents alone, and as the
    destination takes them into its scope.

    The source is read once, a batch at a time. What is added to it, or deleted, while it is read
    may or may not be copied; run it again for what was added. A document that has changed since an
    earlier run is skipped, since its id is there; ``on_conflict="replace"`` writes it anew. Nothing
    is deleted from the destination.

    Args:
        source: A store, its address, or a file. What is missing is not made.
        destination: A store, its address, or a file. A store opened here is made where it is
            missing, and takes metric and dimension of the source, unless its address says
            otherwise. A file that is whole is replaced only with ``on_conflict="replace"``.
        filter: Which documents to copy.
        on_conflict: What to do about an id that the destination holds: ``"skip"`` it, ``"replace"``
            the document, or raise an ``"error"`` before the batch is written.
        batch_size: How many documents are held in memory.
        any_metric: Copy also where the metrics differ, so that the scores will.
        source_options: What :func:`~vecstore.open_store` takes besides the address of the source,
            such as ``{"api_key": key}``.
        destination_options: The same of the destination.
        progress: Called after each batch with the documents done so far and their number (None
            where it is not known).

    Returns:
        What was done. Their number, and a sample of them, have been compared at the end.

    Raises:
        DimensionMismatchError: If the vectors are not as long as the destination's.
        SchemaMismatchError: If the metrics differ.
        DocumentError: If the destination cannot hold a document as it is.
        DuplicateDocumentError: With ``on_conflict="error"``.
        ConfigurationError: If a place cannot be opened, or source and destination are one.
        StoreFileError: If a file cannot be read or written, or another copy is writing it.
        BackendError: If one of the stores fails, or what was copied is not found at the end.

    Example:
        >>> from vecstore import Document, SimpleVectorStore, copy
        >>> source, destination = SimpleVectorStore(), SimpleVectorStore()
        >>> ids = source.add([Document("a", {"n": n}, str(n), [1, n]) for n in range(10)])
        >>> copy(source, destination, filter="n >= 5").written
        5
        >>> copy(source, destination)
        Copied(documents=10, written=5, replaced=0, skipped=5, compared=10, differing=())
    """
    if on_conflict not in ("skip", "replace", "error"):
        raise ValueError(f'on_conflict is "skip", "replace" or "error", not {shown(on_conflict)}')
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size is a whole number from 1 on, not {shown(batch_size)}")
    wanted = read_filter(filter)
    _check_apart(source, destination)
    options_there = _options("destination", destination, destination_options)
    with ExitStack() as opened:
        options = _options("source", source, source_options)
        given = opened.enter_context(_opened(source, partial(open_existing, **options)))
        wanted_there: dict[str, Any] = {"create": True}
        if isinstance(given, VectorStore):
            wanted_there["metric"] = given.metric
            if given.dimension is not None:
                wanted_there["dimension"] = given.dimension
        defaults = {name: one for name, one in wanted_there.items() if name not in options_there}
        opener = partial(open_with, defaults=defaults, **options_there)
        target = opened.enter_context(_opened(destination, opener))
        if isinstance(given, VectorStore) and isinstance(target, VectorStore):
            _check_vectors(given, target, any_metric)
        total = _total(given, wanted)
        documents = _scan(given, wanted, batch_size)
        running = _Copy(target, on_conflict, progress, total)
        if isinstance(target, DocumentFile):
            return running.to_file(target, documents, batch_size)
        # Of a file it is not known whether an id comes once more.
        return running.to_store(
            target, documents, batch_size, repeats=isinstance(given, DocumentFile)
        )


class _Copy:
    """One copy on its way."""

    def __init__(
        self,
        target: VectorStore | DocumentFile,
        on_conflict: OnConflict,
        progress: Progress | None,
        total: int | None,
    ) -> None:
        self._on_conflict = on_conflict
        self._progress = progress
        self._total = total
        self._seen = self._written = self._replaced = self._skipped = 0
        self._sample = _Sample()

    # --- to a store -----------------------------------------------------------------------------

    def to_store(
        self,
        target: VectorStore,
        documents: Iterator[Document],
        batch_size: int,
        repeats: bool,
    ) -> Copied:
        """Write what is not there, then look whether all of it is."""
        before = target.count()
        for batch in batches(documents, batch_size):
            distinct = self._distinct(batch)
            present: set[str] = set()
            if before or (repeats and self._seen):
                present = {one.id for one in target.get([one.id for one in distinct])}
            self._write(target, distinct, present)
            skipped = present if self._on_conflict == "skip" else set()
            self._skipped += len(skipped) + len(batch) - len(distinct)
            self._advance(distinct, skipped, len(batch))
        self._check_count(target, before)
        found = {
            one.id: one for one in target.get(list(self._sample.documents), include_embedding=True)
        }
        return self._compared(found, target)

    def _distinct(self, batch: list[Document]) -> list[Document]:
        """Of documents with one id, which a file may hold, the one that stays."""
        by_id: dict[str, Document] = {}
        for one in batch:
            if one.id not in by_id:
                by_id[one.id] = one
                continue
            if self._on_conflict == "error":
                raise DuplicateDocumentError(
                    f"the source holds the id {shown_id(one.id)} twice", ids=[one.id]
                )
            if self._on_conflict == "replace":
                by_id[one.id] = one
        return list(by_id.values())

    def _write(self, target: VectorStore, batch: list[Document], present: set[str]) -> None:
        if present and self._on_conflict == "error":
            listed = sorted(present)
            raise DuplicateDocumentError(
                f"the destination holds {len(listed):,} of these ids already, such as "
                f"{shown_id(listed[0])}; "
                'on_conflict="skip" leaves them as they are, and resumes a copy',
                ids=listed,
            )
        if self._on_conflict == "skip":
            batch = [one for one in batch if one.id not in present]
        else:
            self._replaced += len(present)
        self._written += len(batch) - (len(present) if self._on_conflict == "replace" else 0)
        if batch:
            target.add(batch, on_conflict=self._on_conflict, embed=False)

    def _check_count(self, target: VectorStore, before: int) -> None:
        after = target.count()
        if after != before + self._written:
            raise BackendError(
                f"the destination holds {after:,} documents, where there were {before:,} and "
                f"{self._written:,} have been written; if nobody else writes there, some are lost: "
                "run the copy again, which writes what is missing",
                operation="copy",
                retryable=True,
            )

    # --- to a file ------------------------------------------------------------------------------

    def to_file(
        self, target: DocumentFile, documents: Iterator[Document], batch_size: int
    ) -> Copied:
        """Write beside the file, and give it its name once it is whole."""
        target.own()
        try:
            return self._to_own(target, documents, batch_size)
        finally:
            target.close()

    def _to_own(
        self, target: DocumentFile, documents: Iterator[Document], batch_size: int
    ) -> Copied:
        if target.path.exists() and self._on_conflict != "replace":
            raise ConfigurationError(
                f'{target.path} is there, and whole; on_conflict="replace" writes it anew'
            )
        done = target.begin()
        begun = len(done)
        for batch in batches(documents, batch_size):
            distinct = self._distinct(batch)
            skipped = done & {one.id for one in distinct}
            new = [one for one in distinct if one.id not in skipped]
            if new:
                target.add(new)
                done.update(one.id for one in new)
            self._written += len(new)
            self._skipped += len(batch) - len(new)
            self._advance(distinct, skipped, len(batch))
        target.finish()
        count = 0
        found: dict[str, Document] = {}
        for one in target.scan(batch_size):
            count += 1
            if one.id in self._sample.documents:
                found[one.id] = one
        if count != begun + self._written:
            raise BackendError(
                f"{target.path} holds {count:,} documents, and {begun + self._written:,} have been "
                'written; write it anew with on_conflict="replace"',
                operation="copy",
            )
        return self._compared(found, None)

    # --- counting and comparing -----------------------------------------------------------------

    def _advance(self, batch: Sequence[Document], skipped: set[str], count: int) -> None:
        for one in batch:
            self._sample.take(one, skipped=one.id in skipped)
        self._seen += count
        if self._progress is not None:
            self._progress(self._seen, self._total)

    def _compared(self, found: dict[str, Document], target: VectorStore | None) -> Copied:
        sample = self._sample.documents
        differing = [
            id for id, one in sample.items() if id not in found or not _same(one, found[id], target)
        ]
        wrong = [id for id in differing if id not in self._sample.skipped]
        if wrong:
            what = "is not there" if wrong[0] not in found else "is not as it was in the source"
            raise BackendError(
                f"{len(wrong):,} of {len(sample):,} documents that were compared differ: "
                f"{shown_id(wrong[0])} {what}; if nobody else writes there, run the copy again "
                'with on_conflict="replace"',
                operation="copy",
            )
        return Copied(
            documents=self._seen,
            written=self._written,
            replaced=self._replaced,
            skipped=self._skipped,
            compared=len(sample),
            differing=tuple(differing),
        )


class _Sample:
    """Some of the documents that come by, each as likely as the others, and no more than a few."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.skipped: set[str] = set()
        """Ids of those that were not written: the destination may hold them otherwise."""
        self._ids: list[str] = []
        self._random = random.Random(0)
        self._came = 0

    def take(self, document: Document, *, skipped: bool) -> None:
        """Let one come by."""
        id = document.id
        if id in self.documents:  # once more, in a file
            if not skipped:
                self.documents[id] = document
            return
        self._came += 1
        if len(self._ids) < SAMPLE:
            self._ids.append(id)
        else:
            at = self._random.randrange(self._came)
            if at >= SAMPLE:
                return
            left, self._ids[at] = self._ids[at], id
            del self.documents[left]
            self.skipped.discard(left)
        self.documents[id] = document
        if skipped:
            self.skipped.add(id)


def _same(document: Document, found: Document, target: VectorStore | None) -> bool:
    import numpy as np

    if document.text != found.text or document.extra != found.extra:
        return False
    metadata = document.metadata
    if target is not None:
        limits = target.capabilities
        metadata = {
            name: value
            for name, value in metadata.items()
            if (value is not None or limits.keeps_null) and (value != [] or limits.keeps_empty_list)
        }
    if isinstance(target, ScopedStore):  # which fills its keys in
        if not _within(metadata, found.metadata):
            return False
    elif metadata != found.metadata:
        return False
    if document.embedding is None or found.embedding is None:
        return document.embedding is found.embedding
    if document.embedding.shape != found.embedding.shape:
        return False
    if np.array_equal(document.embedding, found.embedding):
        return True
    if target is None or target.capabilities.keeps_norm:
        return bool(np.allclose(document.embedding, found.embedding, rtol=_TOLERANCE, atol=0))
    lengths = np.linalg.norm(document.embedding) * np.linalg.norm(found.embedding)
    return bool(np.vdot(document.embedding, found.embedding) >= (1 - _TOLERANCE) * lengths)


def _within(metadata: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether all that is there in one is there in the other, which may hold more.

    Documents bound how deep their metadata is nested.
    """
    return all(
        value == held.get(name)
        or value is None
        or value == []
        or (
            isinstance(value, dict)
            and isinstance(inner := held.get(name), dict)
            and _within(value, inner)
        )
        for name, value in metadata.items()
    )


# --- places ---------------------------------------------------------------------------------------


def _opened(
    place: Place, opener: Callable[[str], VectorStore]
) -> AbstractContextManager[VectorStore | DocumentFile]:
    """A store or a file; one that was opened here is closed at the end."""
    if isinstance(place, VectorStore):
        return nullcontext(place)
    if isinstance(place, PathLike):
        return nullcontext(document_file(Path(place)))
    if not isinstance(place, str):
        raise TypeError(f"a place is a store, its address or a file, not a {type(place).__name__}")
    if _is_file(place):
        return nullcontext(document_file(Path(place)))
    return opener(place)


def _options(which: str, place: Place, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a place is opened with besides its address."""
    if not options:
        return {}
    if not isinstance(place, str) or _is_file(place):
        what = "store that is open" if isinstance(place, VectorStore) else "file"
        raise ConfigurationError(
            f"{which}_options are those of an address; the {which} is a {what}, and takes none"
        )
    return dict(options)


def _is_file(place: str) -> bool:
    scheme, colon, _ = place.partition(":")
    # One letter before a colon is a drive.
    return (not colon or len(scheme) == 1 or "/" in scheme) and place.lower().endswith(SUFFIXES)


def _check_apart(source: Place, destination: Place) -> None:
    if source is destination or (
        isinstance(source, str | PathLike)
        and isinstance(destination, str | PathLike)
        and _resolved(source) == _resolved(destination)
    ):
        raise ConfigurationError("source and destination are one place")


def _resolved(place: str | PathLike[str]) -> str:
    """An address as it is; of a file, its path, however it is written or linked to."""
    if isinstance(place, str) and not _is_file(place):
        return place
    return realpath(place)


def _check_vectors(source: VectorStore, target: VectorStore, any_metric: bool) -> None:
    if None not in (source.dimension, target.dimension) and source.dimension != target.dimension:
        raise DimensionMismatchError(
            f"the source holds vectors of {source.dimension:,} dimensions, and the destination of "
            f"{target.dimension:,}; nothing was copied",
            expected=target.dimension,
            actual=source.dimension,
        )
    if source.metric != target.metric and not any_metric:
        raise SchemaMismatchError(
            f"the source compares vectors by {source.metric}, and the destination by "
            f"{target.metric}, so that searches would give other scores; nothing was copied; to "
            "copy all the same pass any_metric=True (--any-metric)"
        )


def _total(place: VectorStore | DocumentFile, filter: Expression | None) -> int | None:
    if isinstance(place, VectorStore):
        return place.count(filter)
    return place.count() if filter is None and place.path.exists() else None


def _scan(
    place: VectorStore | DocumentFile, filter: Expression | None, batch_size: int
) -> Iterator[Document]:
    if isinstance(place, VectorStore):
        return place.scan(filter, batch_size=batch_size, include_embedding=True)
    return matching(place.scan(batch_size), filter)
