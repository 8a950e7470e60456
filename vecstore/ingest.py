"""How ``add`` works: check everything, then embed and write batch by batch."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from vecstore.awaited import check_stop, current
from vecstore.calls import AddCall, Batch, Selection
from vecstore.capabilities import StoreCapabilities
from vecstore.conflicts import duplicates_error, repeated_error
from vecstore.document import Document, checked_document, settled_metadata, shown_id
from vecstore.embedding import check_dimension
from vecstore.errors import (
    ConfigurationError,
    DimensionMismatchError,
    DocumentError,
    EmbeddingError,
    ScopeError,
    VecstoreError,
)
from vecstore.filter.text import key_text
from vecstore.lengths import LengthLimits
from vecstore.refusals import Refusals
from vecstore.scope import Scope, id_outside

if TYPE_CHECKING:
    from vecstore.operations import StoreOperations
    from vecstore.vectors import Matrix

WINDOW = 1_024
"""Documents taken from an iterator before they are checked and written."""

WRITE_BATCH = 1_024
"""Documents in one batch where neither the embedder nor the engine asks for less."""


class Prepared:
    """A document on its way, with the metadata that will be stored."""

    __slots__ = ("document", "id", "metadata", "position", "text")

    def __init__(self, position: int, document: Document, metadata: dict[str, Any]) -> None:
        self.position = position
        self.document = document
        self.id = document.id
        self.text = document.text
        self.metadata = metadata


class Ingest:
    """One ``add`` on one store."""

    def __init__(self, store: StoreOperations, call: AddCall) -> None:
        self._store = store
        self._call = call
        self._limits = RecordLimits(store.name, store.capabilities)
        self._lengths = LengthLimits(store.name, store.capabilities)
        self._expected = store.dimension
        self._scope = None if call.within is None else Scope(call.within)
        # The filter that the hook gets, where it decides by itself whom an id belongs to.
        reachable: tuple[bool, Any] = (True, None)
        if call.within is not None:
            reachable = store._compiled("add", call.within)
        self._reachable, self._within = reachable
        self._ids: list[str] = []
        self._stored: dict[str, None] = {}
        # Of an iterator: ids that came in windows before this one.
        self._seen: set[str] = set()
        # The ids of the window at work.
        self._window: dict[str, None] = {}
        self._refusals = Refusals(call.on_error)
        # Ids of documents that were left out when their vectors came.
        self._unembedded: set[str] = set()
        self._done = 0
        self._awaited = current()

    def run(self) -> list[str]:
        """Add all documents; the id of each, in the order given."""
        documents = self._call.documents
        whole = isinstance(documents, Collection)
        try:
            for window in [documents] if whole else _windows(documents):
                self._add_window(window, whole)
            self._refusals.tell(len(self._ids))
        except VecstoreError as error:
            # A batch that broke off half-way may have told which of its own ids got through.
            stored = dict.fromkeys((*self._stored, *error.stored_ids))
            error.stored_ids = list(stored)
            error.failed_ids = [id for id in self._window if id not in stored]
            raise
        except Exception as error:
            error.add_note(f"{len(self._stored):,} documents had been stored by this add() before")
            raise
        return self._added_ids()

    def _added_ids(self) -> list[str]:
        left_out = self._refusals.left_out
        if not left_out:
            return self._ids
        lost = self._unembedded.difference(self._stored)
        return [
            id
            for position, id in enumerate(self._ids)
            if position not in left_out and id not in lost
        ]

    def _add_window(self, documents: Iterable[Document], whole: bool) -> None:
        prepared = self._distinct(self._prepare(self._take(documents)), whole)
        total = len(prepared) if whole else None
        wanted = self._without_stored(prepared)
        if not wanted and prepared:
            self._report(len(prepared), total)
        else:
            self._done += len(prepared) - len(wanted)
        for batch in self._plan(wanted):
            check_stop()
            self._store._check_open()
            kept, vectors = self._vectors(batch)
            for part in self._parts(kept, vectors):
                check_stop()
                self._check_owned(part)
                self._store._ask_all("add", self._store._add, part)
                self._note_stored(part.ids)
            self._report(len(batch), total)

    def _report(self, count: int, total: int | None) -> None:
        self._done += count
        if self._call.progress is not None:
            self._call.progress(self._done, total)

    # --- before the first write -------------------------------------------------------------

    def _take(self, documents: Iterable[Document]) -> list[Document]:
        """The documents of a window, whose ids are noted."""
        taken = list(documents)
        first = len(self._ids)
        for position, document in enumerate(taken, first):
            if not isinstance(document, Document):
                raise TypeError(
                    f"add takes documents; item {position} is a {type(document).__name__}: "
                    "write Document(text, metadata)"
                )
        self._ids += [document.id for document in taken]
        # What a store has read may have an id that is none.
        self._window = dict.fromkeys(id for one in taken if (id := _usable_id(one)) is not None)
        return taken

    def _prepare(self, documents: Sequence[Document]) -> list[Prepared]:
        """Check a window: every document by every check, before one of them stops the call."""
        refusals = self._refusals
        prepared: list[Prepared] = []
        first = len(self._ids) - len(documents)
        for position, document in enumerate(documents, first):
            try:
                item = self._checked(position, document)
            except (DocumentError, ScopeError) as error:
                refusals.note(position, _usable_id(document), error)
            else:
                prepared.append(item)
        prepared = self._passing(prepared, self._check_by_store)
        prepared = self._check_given(prepared)
        refusals.settle(len(documents))
        return prepared

    def _checked(self, position: int, document: Document) -> Prepared:
        document = checked_document(document)
        item = Prepared(position, document, settled_metadata(document))
        if self._scope is not None:
            item.metadata = self._scope.admitted(item.metadata, item.id)
        self._limits.check(item)
        return item

    def _check_by_store(self, items: Sequence[Prepared]) -> None:
        self._store._ask("add", self._store._check_documents, items)

    def _passing(
        self, items: list[Prepared], check: Callable[[Sequence[Prepared]], object]
    ) -> list[Prepared]:
        """The documents that pass a check, which stops at the first that does not."""
        if not items:
            return items
        before = [item.metadata for item in items]
        try:
            check(items)
        except DocumentError:
            for item, metadata in zip(items, before, strict=True):
                item.metadata = metadata
        else:
            return items
        passing: list[Prepared] = []
        for item in items:
            try:
                check([item])
            except DocumentError as error:
                self._refusals.note(item.position, item.id, error)
            else:
                passing.append(item)
        if len(passing) == len(items):
            check(items)  # It is about several of them, and raises again.
        return passing

    def _check_given(self, prepared: list[Prepared]) -> list[Prepared]:
        """Check the vectors that came with the documents against each other and the store."""
        given = [item for item in prepared if item.document.embedding is not None]
        if not given:
            return prepared
        expected = self._expected
        fitting: list[Prepared] = []
        refused: set[int] = set()
        for item in given:
            assert item.document.embedding is not None
            length = len(item.document.embedding)
            try:
                if length != expected:
                    check_dimension(length, expected, f"document {shown_id(item.id)}")
                    expected = length
            except DimensionMismatchError as error:
                self._refuse(item, error, refused)
            else:
                fitting.append(item)
        self._store._check_dimension_limit(expected)
        if self._store.metric == "cosine":
            from vecstore.vectors import rows_of_zeros

            for part in _chunks(fitting, WRITE_BATCH):
                for row in rows_of_zeros(_stacked(part)):
                    item = part[row]
                    zero = DocumentError(_zero(item.id), document_id=item.id)
                    self._refuse(item, zero, refused)
        for part in _chunks([one for one in fitting if one.position not in refused], WRITE_BATCH):
            for row, fault in self._lengths.faults(_stacked(part)):
                item = part[row]
                told = f"the vector of document {shown_id(item.id)} {fault}"
                self._refuse(item, DocumentError(told, document_id=item.id), refused)
        self._expected = expected
        return [item for item in prepared if item.position not in refused]

    def _refuse(self, item: Prepared, error: VecstoreError, refused: set[int]) -> None:
        self._refusals.note(item.position, item.id, error)
        refused.add(item.position)

    def _distinct(self, prepared: Sequence[Prepared], whole: bool) -> list[Prepared]:
        """One document an id, as ``on_conflict`` chooses.

        Raises:
            DuplicateDocumentError: With ``"error"``, for an id that this call brought before.
        """
        chosen: dict[str, Prepared] = {}
        if self._call.on_conflict == "replace":
            chosen = {item.id: item for item in prepared}
            return list(chosen.values())
        repeated: dict[str, None] = {}
        for item in prepared:
            if item.id in self._seen or chosen.setdefault(item.id, item) is not item:
                repeated[item.id] = None
        if repeated and self._call.on_conflict == "error":
            raise repeated_error(list(repeated))
        if not whole:
            self._seen.update(chosen)
        return list(chosen.values())

    def _without_stored(self, prepared: list[Prepared]) -> list[Prepared]:
        """What is left to embed and write, as far as that can be known before.

        The engine decides once more when it writes, for whoever came in between.

        Raises:
            DuplicateDocumentError: With ``"error"``, when an id is stored already.
            ScopeError: When a document outside the scope has one.
        """
        if self._call.on_conflict == "replace":
            return prepared
        failing = self._call.on_conflict == "error"
        # Vectors that are there already cost nothing: to skip these is left to the engine.
        asked = [item.id for item in prepared if failing or item.document.embedding is None]
        taken = self._taken(asked) if asked else set()
        if not taken:
            return prepared
        listed = [id for id in asked if id in taken]
        if failing:
            raise duplicates_error(listed)
        self._note_stored(listed)
        return [item for item in prepared if item.id not in taken]

    def _taken(self, ids: Sequence[str]) -> set[str]:
        """Which ids are stored; for one outside the scope nothing but the error is told."""
        taken: set[str] = set()
        for part in self._store._parts(tuple(ids)):
            held = self._store._ask("add", self._store._stored_ids, part)
            found = tuple(id for id in part if id in held)
            if found and self._scope is not None:
                inside = self._inside(found)
                outside = [id for id in found if id not in inside]
                if outside:
                    raise id_outside(outside)
            taken.update(found)
        return taken

    def _inside(self, ids: tuple[str, ...]) -> set[str]:
        """Which of the ids documents of the scope have."""
        if not self._reachable:
            return set()
        selection = Selection(ids=ids, filter=self._within)
        found = self._store._ask_all(
            "add", self._store._get, selection, limit=None, include_embedding=False
        )
        return {document.id for document in found}

    def _note_stored(self, ids: Sequence[str]) -> None:
        self._stored.update(dict.fromkeys(ids))
        if self._awaited is not None:
            self._awaited.stored_ids += ids

    def _check_owned(self, batch: Batch) -> None:
        """Refuse ids that documents outside the scope have, where the hook does not."""
        if self._scope is None or self._store.capabilities.scoped_add_atomic:
            return
        held = self._store._ask("add", self._store._stored_ids, tuple(batch.ids))
        if not held:
            return
        # What is stored and is no document of the scope is outside, also where it is no document.
        inside = self._inside(tuple(id for id in batch.ids if id in held))
        outside = [id for id in batch.ids if id in held and id not in inside]
        if outside:
            raise id_outside(outside)

    # --- batches ----------------------------------------------------------------------------

    def _plan(self, prepared: Sequence[Prepared]) -> list[Sequence[Prepared]]:
        """Cut the window: texts without a word first, then what has a vector, then the rest.

        Many embedders have no vector for a blank text, or fail on it: that shows before the first
        write, and for all of them at once.
        """
        given: list[Prepared] = []
        blank: list[Prepared] = []
        texts: list[Prepared] = []
        for item in prepared:
            if item.document.embedding is not None:
                given.append(item)
            else:
                (blank if _is_blank(item.text) else texts).append(item)
        if (blank or texts) and self._store._bound_embedder is None:
            raise ConfigurationError(
                f"document {shown_id((blank or texts)[0].id)} has no embedding and this store has "
                "no embedder; make the store with embedder=..., or give each document its embedding"
            )
        first, rest = self._split(blank), self._split(texts)
        self._refusals.settle(len(self._window))
        return [*first, *_chunks(given, WRITE_BATCH), *rest]

    def _split(self, texts: list[Prepared]) -> list[Sequence[Prepared]]:
        """Cut into what the embedder gets at once; a text too long for that is refused."""
        batches: list[Sequence[Prepared]] = []

        def split(items: Sequence[Prepared]) -> None:
            batches[:] = self._store.batching.split(items)

        passing = self._passing(texts, split)
        if len(passing) < len(texts):
            batches.clear()
            if passing:
                split(passing)
        return batches

    def _vectors(self, batch: Sequence[Prepared]) -> tuple[Sequence[Prepared], Matrix]:
        """The vectors of a batch, and the documents that have one."""
        from vecstore.vectors import rows_not_finite, rows_of_zeros

        if batch[0].document.embedding is not None:
            return batch, _stacked(batch)
        try:
            matrix = self._store._embed_documents(batch, self._expected)
        except EmbeddingError as error:
            if not _is_blank(batch[0].text):
                raise
            for item in batch:
                self._lose(item, _blank_text(item.id, error))
            self._refusals.settle(len(self._window))
            return (), _stacked(())
        self._store._check_dimension_limit(matrix.shape[1])
        faults = {
            row: "the embedder returned NaN or an infinity for document " + shown_id(batch[row].id)
            for row in rows_not_finite(matrix)
        }
        if self._store.metric == "cosine":
            for row in rows_of_zeros(matrix):
                faults[row] = f"the embedder returned {_zero(batch[row].id)}"
        for row, fault in self._lengths.faults(matrix):
            if row not in faults:
                faults[row] = (
                    f"the vector that the embedder returned for document {shown_id(batch[row].id)} "
                    f"{fault}"
                )
        self._expected = matrix.shape[1]
        if not faults:
            return batch, matrix
        for row in sorted(faults):
            self._lose(batch[row], EmbeddingError(faults[row]))
        self._refusals.settle(len(self._window))
        rows = [row for row in range(len(batch)) if row not in faults]
        return [batch[row] for row in rows], matrix[rows]

    def _lose(self, item: Prepared, error: EmbeddingError) -> None:
        self._refusals.note(item.position, item.id, error)
        self._unembedded.add(item.id)
        self._seen.discard(item.id)

    def _parts(self, batch: Sequence[Prepared], vectors: Matrix) -> Iterator[Batch]:
        """Cut to what the engine takes at once."""
        size = self._store.capabilities.max_batch or len(batch) or 1
        for start in range(0, len(batch), size):
            chosen = batch[start : start + size]
            yield Batch(
                ids=[item.id for item in chosen],
                texts=[item.text for item in chosen],
                metadata=[item.metadata for item in chosen],
                vectors=vectors[start : start + size],
                on_conflict=self._call.on_conflict,
                within=self._within,
            )


class RecordLimits:
    """The limits that a store declares, checked on documents before anything is written."""

    def __init__(self, name: str, capabilities: StoreCapabilities) -> None:
        self._name = name
        self._capabilities = capabilities
        limits = capabilities
        self._checks: list[Callable[[Prepared], None]] = []
        if limits.max_text_bytes is not None:
            self._checks.append(self._text)
        if limits.max_id_bytes is not None or limits.id_charset != "any":
            self._checks.append(self._id)
        if limits.min_integer is not None or limits.max_integer is not None:
            self._checks.append(lambda item: self.check_integers(item.metadata, item.id))
        if not (limits.keeps_null and limits.keeps_empty_list):
            self._checks.append(self._drop)
        if limits.max_metadata_bytes is not None:
            self._checks.append(lambda item: self.check_size(item.metadata, item.id))

    def check(self, item: Prepared) -> None:
        """Refuse a document past a limit.

        Raises:
            DocumentError: Naming the document and the limit.
        """
        for check in self._checks:
            check(item)

    def _text(self, item: Prepared) -> None:
        limit = self._capabilities.max_text_bytes
        if limit is not None and _passes(item.text, limit):
            raise DocumentError(
                f"the text of document {shown_id(item.id)} has {len(item.text.encode()):,} bytes; "
                f"{self._name} holds at most {limit:,} (max_text_bytes); split it into several "
                "documents",
                document_id=item.id,
            )

    def _id(self, item: Prepared) -> None:
        limit = self._capabilities.max_id_bytes
        if limit is not None and _passes(item.id, limit):
            raise DocumentError(
                f"the id {shown_id(item.id)} has {len(item.id.encode()):,} bytes; {self._name} "
                f"holds at most {limit:,} (max_id_bytes)",
                document_id=item.id,
            )
        charset = self._capabilities.id_charset
        if charset != "any" and not _ID_TESTS[charset](item.id):
            raise DocumentError(
                f"the id {shown_id(item.id)} is not {_ID_WORDS[charset]}, which the ids of this "
                f"{self._name} store are (id_charset)",
                document_id=item.id,
            )

    def check_integers(
        self, metadata: dict[str, Any], document_id: str | None, path: tuple[str, ...] = ()
    ) -> None:
        """Refuse an integer that the engine cannot hold exactly."""
        low, high = self._capabilities.min_integer, self._capabilities.max_integer
        for name, value in metadata.items():
            if type(value) is dict:
                self.check_integers(value, document_id, (*path, name))
                continue
            for item in value if type(value) is list else (value,):
                if type(item) is not int:
                    continue
                if (low is not None and item < low) or (high is not None and item > high):
                    key = key_text((*path, name))
                    owner = (
                        "the metadata"
                        if document_id is None
                        else f"document {shown_id(document_id)}"
                    )
                    bound, limit = (
                        ("min_integer", low)
                        if low is not None and item < low
                        else ("max_integer", high)
                    )
                    raise DocumentError(
                        f"{owner} cannot be stored with the key {key}: the integer is past what "
                        f"{self._name} holds exactly ({bound} {limit}); store it as text",
                        document_id=document_id,
                        key=key,
                    )

    def kept(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The metadata without the nulls and empty lists that the engine would not keep."""
        limits = self._capabilities
        kept: dict[str, Any] = {}
        for name, value in metadata.items():
            if value is None and not limits.keeps_null:
                continue
            if type(value) is list and not value and not limits.keeps_empty_list:
                continue
            kept[name] = self.kept(value) if type(value) is dict else value
        return kept

    def _drop(self, item: Prepared) -> None:
        item.metadata = self.kept(item.metadata)

    def check_size(self, metadata: dict[str, Any], document_id: str | None) -> None:
        """Refuse metadata, or new values for it, that are too large by themselves."""
        limit = self._capabilities.max_metadata_bytes
        if limit is None:
            return
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8"))
        if size > limit:
            owner = (
                "the new metadata"
                if document_id is None
                else f"the metadata of document {shown_id(document_id)}"
            )
            raise DocumentError(
                f"{owner} has {size:,} bytes as JSON; {self._name} holds at most {limit:,} "
                "(max_metadata_bytes)",
                document_id=document_id,
            )


def _is_uuid(id: str) -> bool:
    try:
        return str(uuid.UUID(id)) == id
    except ValueError:
        return False


def _is_integer(id: str) -> bool:
    return bool(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", id)) and -(2**63) <= int(id) < 2**63


def is_uuid_or_number(id: str) -> bool:
    """Whether an id is a UUID in its canonical form, or an unsigned number of 64 bits.

    Example:
        >>> [is_uuid_or_number(id) for id in ("7", "07", "18446744073709551616")]
        [True, False, False]
    """
    number = re.fullmatch(r"0|[1-9][0-9]{0,19}", id)
    return int(id) < 2**64 if number else _is_uuid(id)


_ID_TESTS: dict[str, Callable[[str], bool]] = {
    "ascii": str.isascii,
    "uuid": _is_uuid,
    "integer": _is_integer,
    "uuid_or_number": is_uuid_or_number,
}
_ID_WORDS = {
    "ascii": "ASCII text",
    "uuid": "a UUID in its canonical form, such as 123e4567-e89b-12d3-a456-426614174000",
    "integer": "an integer of 64 bits",
    "uuid_or_number": "a UUID in its canonical form, or a whole number from 0 to 2**64 - 1",
}


def _passes(text: str, limit: int) -> bool:
    """Whether the text is longer than ``limit`` bytes, without encoding most texts."""
    if len(text) > limit:
        return True
    return len(text) * 4 > limit and not text.isascii() and len(text.encode()) > limit


def _windows(documents: Iterable[Document]) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while window := list(islice(iterator, WINDOW)):
        yield window


def _chunks(items: Sequence[Prepared], size: int) -> Iterator[Sequence[Prepared]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _stacked(items: Sequence[Prepared]) -> Matrix:
    import numpy as np

    return np.array([item.document.embedding for item in items], dtype=np.float32)


def _usable_id(document: Document) -> str | None:
    id: object = document.id
    return id if isinstance(id, str) and id else None


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _blank_text(id: str, error: EmbeddingError) -> EmbeddingError:
    blank = EmbeddingError(f"document {shown_id(id)} has a blank text, and {error}")
    blank.__cause__ = error.__cause__
    return blank


def _zero(id: str) -> str:
    return (
        f"a vector of zeros for document {shown_id(id)}: cosine similarity compares directions, "
        "and it has none; leave the document out, or use the metric dot or euclidean"
    )
