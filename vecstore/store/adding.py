"""How ``add`` works: check everything, then embed and write batch by batch."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

from vecstore.cancelling import check_stop, current
from vecstore.document import (
    Document,
    checked_document,
    settled_at_once,
    settled_metadata,
    shown_id,
    stored_extra,
)
from vecstore.embedding import check_dimension
from vecstore.errors import (
    ConfigurationError,
    DimensionMismatchError,
    DocumentError,
    EmbeddingError,
    ScopeError,
    VecstoreError,
)
from vecstore.store.added import Added
from vecstore.store.backend import (
    SHOWN,
    Batch,
    Selection,
    StoreHooks,
    duplicates_error,
    id_outside,
    listed,
    repeated_error,
)
from vecstore.store.capabilities import OnError
from vecstore.store.embedded import text_to_embed
from vecstore.store.limits import RecordLimits

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore
    from vecstore.store.operations import AddCall
    from vecstore.vectors import Matrix

WINDOW = 1_024
"""Documents taken from an iterator before they are checked and written."""

WRITE_BATCH = 1_024
"""Documents in one batch where neither the embedder nor the engine asks for less."""

_STACKED_BYTES = 32 * 1024 * 1024
"""So much of the vectors is kept from checking to writing them; of more a second copy is made."""


class Prepared:
    """A document on its way, with the metadata that will be stored.

    Its ``text`` is what is stored until the checks are over, and what is embedded from then on.
    """

    __slots__ = ("document", "extra", "id", "metadata", "position", "text")

    def __init__(self, position: int, document: Document, metadata: dict[str, Any]) -> None:
        self.position = position
        self.document = document
        self.id = document.id
        self.text = document.text
        self.metadata = metadata
        self.extra = stored_extra(document)
        """As JSON text."""


class Adding:
    """One ``add`` on one store."""

    def __init__(self, store: VectorStore, call: AddCall) -> None:
        self._store = store
        self._call = call
        self._limits = RecordLimits(store.name, store.capabilities)
        self._lengths = store._lengths
        self._schema = store.schema
        self._expected = store.dimension
        self._scope = call.within
        # The filter that the hook gets, where it decides by itself whom an id belongs to.
        reachable: tuple[bool, Any] = (True, None)
        if call.within is not None:
            reachable = store._compiled("add", call.within.filter)
        self._reachable, self._within = reachable
        self._ids: list[str] = []
        self._stored: dict[str, None] = {}
        self._written: list[list[str]] = []
        self._replaced: list[str] = []
        # Of an iterator: ids that came in windows before this one.
        self._seen: set[str] = set()
        # Matrices made to check vectors, by the position of their first document.
        self._stacks: dict[int, tuple[Sequence[Prepared], Matrix]] = {}
        # The ids of the window at work.
        self._window: dict[str, None] = {}
        self._refusals = Refusals(call.on_error)
        # Ids of documents that were left out when their vectors came.
        self._unembedded: set[str] = set()
        self._done = 0
        # A store that does nothing there is not asked: it may be closed by then, with all stored.
        self._frames = not (
            getattr(store._begin_add, "__func__", None) is StoreHooks._begin_add
            and getattr(store._finish_add, "__func__", None) is StoreHooks._finish_add
        )
        self._begun = False
        self._awaited = current()

    def run(self) -> Added:
        """Add all documents; the id of each, in the order given."""
        documents = self._call.documents
        whole = isinstance(documents, Collection)
        try:
            for window in [documents] if whole else _windows(documents):
                self._add_window(window, whole)
            self._finish(interrupted=False)
            self._refusals.tell(len(self._ids))
        except VecstoreError as error:
            self._finish_after(error)
            # A batch that broke off half-way may have told which of its own ids got through.
            stored = dict.fromkeys((*self._stored, *error.stored_ids))
            error.stored_ids = list(stored)
            error.failed_ids = [id for id in self._window if id not in stored]
            raise
        except Exception as error:
            self._finish_after(error)
            error.add_note(f"{len(self._stored):,} documents had been stored by this add() before")
            raise
        finally:
            with suppress(VecstoreError):
                self._finish(interrupted=True)
        told = self._call.on_conflict != "replace" or self._store.capabilities.tells_replaced
        written = tuple(chain.from_iterable(self._written))
        return Added(self._added_ids(), written, self._replaced if told else None)

    def _begin(self, count: int) -> None:
        if self._frames and not self._begun:
            self._begun = True
            self._store._ask("add", self._store._begin_add, count)

    def _finish(self, *, interrupted: bool) -> None:
        if self._begun:
            self._begun = False
            self._store._ask("add", self._store._finish_add, interrupted=interrupted)

    def _finish_after(self, error: Exception) -> None:
        try:
            self._finish(interrupted=False)
        except VecstoreError as further:
            error.add_note(f"and ending the add failed as well: {further}")

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
                self._begin(len(wanted))
                self._written.append(self._store._ask_all("add", self._store._add, part))
                # What an earlier window of this call stored was not there before the call.
                self._replaced += [id for id in part.replaced if id not in self._stored]
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
        if set(map(type, taken)) != {Document}:
            for position, document in enumerate(taken, first):
                if not isinstance(document, Document):
                    raise TypeError(
                        f"add takes documents; item {position} is a {type(document).__name__}: "
                        "write Document(text, metadata)"
                    )
        ids = [document.id for document in taken]
        self._ids += ids
        # What a store has read may have an id that is none.
        if set(map(type, ids)) != {str} or "" in ids:
            ids = [id for one in taken if (id := _usable_id(one)) is not None]
        self._window = dict.fromkeys(ids)
        return taken

    def _prepare(self, documents: Sequence[Document]) -> list[Prepared]:
        """Check a window: every document by every check, before one of them stops the call."""
        refusals = self._refusals
        prepared: list[Prepared] = []
        total = len(documents)
        first = len(self._ids) - total
        bounded = self._scope is not None or self._schema is not None or self._limits.limited
        settled = None if bounded else settled_at_once(documents)
        if settled is not None:
            prepared = list(map(Prepared, count(first), documents, settled))
            documents = ()
        for position, document in enumerate(documents, first):
            try:
                checked = checked_document(document)
                item = Prepared(position, checked, settled_metadata(checked))
                if bounded:
                    self._admit(item)
            except (DocumentError, ScopeError) as error:
                refusals.note(position, _usable_id(document), error)
            else:
                prepared.append(item)
        prepared = self._passing(prepared, self._check_by_store)
        prepared = self._check_vectorless(self._check_extra(self._check_given(prepared)))
        refusals.settle(total)
        return prepared

    def _admit(self, item: Prepared) -> None:
        """Refuse a document that the scope or the store has no place for."""
        if self._scope is not None:
            item.metadata = self._scope.admitted(item.metadata, item.id)
        if self._schema is not None:
            item.metadata = self._schema._fitted(item.metadata, item.id)
        self._limits.check(item)

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
        refused: set[int] = set()
        fitting = self._of_one_length(given, refused)
        self._store._check_dimension_limit(self._expected)
        cosine = self._store.metric == "cosine"
        if cosine or self._lengths.limited:
            from vecstore.vectors import rows_of_zeros

            kept = 0
            self._stacks.clear()
            for part in _chunks(fitting, WRITE_BATCH):
                matrix = _stacked(part)
                kept += matrix.nbytes
                if kept <= _STACKED_BYTES:
                    self._stacks[part[0].position] = (part, matrix)
                for row in rows_of_zeros(matrix) if cosine else ():
                    item = part[row]
                    zero = DocumentError(_zero(item.id), document_id=item.id)
                    self._refuse(item, zero, refused)
                for row, fault in self._lengths.faults(matrix):
                    item = part[row]
                    told = f"the vector of document {shown_id(item.id)} {fault}"
                    self._refuse(item, DocumentError(told, document_id=item.id), refused)
        if not refused:
            return prepared
        return [item for item in prepared if item.position not in refused]

    def _check_extra(self, prepared: list[Prepared]) -> list[Prepared]:
        """Refuse what stands beside metadata where the store has no place for it."""
        store = self._store
        if store.capabilities.keeps_extra or all(item.extra is None for item in prepared):
            return prepared
        remedy = store._ask("add", store._extra_remedy)
        refused: set[int] = set()
        for item in prepared:
            if item.extra is not None:
                told = (
                    f"document {shown_id(item.id)} has an extra, which {store.name} has no place "
                    f"for (keeps_extra): {remedy}; or leave it out: document.replace(extra=None)"
                )
                self._refuse(item, DocumentError(told, document_id=item.id), refused)
        return [item for item in prepared if item.position not in refused]

    def _check_vectorless(self, prepared: list[Prepared]) -> list[Prepared]:
        """Refuse documents that would be stored without a vector where the store keeps none."""
        store = self._store
        if self._call.embed or store.capabilities.vectorless:
            return prepared
        bare = [item for item in prepared if item.document.embedding is None]
        if not bare:
            return prepared
        remedy = store._ask("add", store._vectorless_remedy)
        refused: set[int] = set()
        for item in bare:
            told = (
                f"document {shown_id(item.id)} has no embedding, and {store.name} cannot store it "
                f"without a vector (vectorless): {remedy}; or give it an embedding, or leave "
                "embed=False out to have it embedded"
            )
            self._refuse(item, DocumentError(told, document_id=item.id), refused)
        return [item for item in prepared if item.position not in refused]

    def _of_one_length(self, given: list[Prepared], refused: set[int]) -> list[Prepared]:
        """The documents whose vectors are as long as the store's, or as the first one."""
        expected = self._expected
        shapes = {item.document.embedding.shape for item in given}  # type: ignore[union-attr]
        if len(shapes) == 1 and (expected is None or shapes == {(expected,)}):
            ((self._expected,),) = shapes
            return given
        fitting: list[Prepared] = []
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
        self._expected = expected
        return fitting

    def _stack(self, batch: Sequence[Prepared]) -> Matrix:
        """The vectors that documents brought, as one matrix, which may be there already."""
        part, matrix = self._stacks.pop(batch[0].position, ((), None))
        return matrix if matrix is not None and part == batch else _stacked(batch)

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
        embedding = self._call.embed
        asked = [
            item.id
            for item in prepared
            if failing or (embedding and item.document.embedding is None)
        ]
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

        What stays without a vector stands in batches of its own, after those that have one.

        Many embedders have no vector for a blank text, or fail on it: that shows before the first
        write, and for all of them at once.
        """
        given = [item for item in prepared if item.document.embedding is not None]
        if not self._call.embed:
            bare = [item for item in prepared if item.document.embedding is None]
            return [*_chunks(given, WRITE_BATCH), *_chunks(bare, WRITE_BATCH)]
        blank: list[Prepared] = []
        texts: list[Prepared] = []
        embed_as = self._store.embed_as
        for item in prepared if len(given) < len(prepared) else ():
            if item.document.embedding is None:
                if embed_as is not None:
                    item.text = text_to_embed(embed_as, item.id, item.text, item.metadata)
                (blank if _is_blank(item.text) else texts).append(item)
        if (blank or texts) and self._store._bound_embedder is None:
            keeps_bare = self._store.capabilities.vectorless
            raise ConfigurationError(
                f"document {shown_id((blank or texts)[0].id)} has no embedding and this store has "
                "no embedder; make the store with embedder=..., or give each document its embedding"
                + ("; add(..., embed=False) stores it without" if keeps_bare else "")
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
            return batch, self._stack(batch)
        if not self._call.embed:
            import numpy as np

            return batch, np.empty((len(batch), 0), np.float32)
        try:
            matrix = self._store._embed_documents(batch, self._expected)
        except EmbeddingError as error:
            if not _is_blank(batch[0].text):
                raise
            for item in batch:
                self._lose(item, _blank_text(item, error))
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
                texts=[item.document.text for item in chosen],
                metadata=[item.metadata for item in chosen],
                extras=[item.extra for item in chosen],
                vectors=vectors[start : start + size],
                on_conflict=self._call.on_conflict,
                within=self._within,
            )


def _windows(documents: Iterable[Document]) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while window := list(islice(iterator, WINDOW)):
        yield window


def _chunks(items: Sequence[Prepared], size: int) -> Iterator[Sequence[Prepared]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _stacked(items: Sequence[Prepared]) -> Matrix:
    import numpy as np

    vectors: Any = [item.document.embedding for item in items]
    if not vectors:
        return np.empty((0, 0), np.float32)
    # Faster than np.array(), which looks for the shape of each; all are of one length here.
    return np.concatenate(vectors, dtype=np.float32).reshape(len(vectors), -1)


def _usable_id(document: Document) -> str | None:
    id: object = document.id
    return id if isinstance(id, str) and id else None


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _blank_text(item: Prepared, error: EmbeddingError) -> EmbeddingError:
    what = "has a blank text" if item.text == item.document.text else "is blank by embed_as"
    blank = EmbeddingError(f"document {shown_id(item.id)} {what}, and {error}")
    blank.__cause__ = error.__cause__
    return blank


def _zero(id: str) -> str:
    return (
        f"a vector of zeros for document {shown_id(id)}: cosine similarity compares directions, "
        "and it has none; leave the document out, or use the metric dot or euclidean"
    )


_KEPT_ERRORS = 1_000


class SkippedDocumentsWarning(UserWarning):
    """``add(..., on_error="skip")`` left out documents that cannot be stored.

    Attributes:
        ids: Their ids, in the order given, as far as they have usable ones.
        errors: What ``on_error="raise"`` would have raised for each; of the first 1,000.
    """

    def __init__(
        self, message: str, *, ids: Sequence[str] = (), errors: Sequence[VecstoreError] = ()
    ) -> None:
        super().__init__(message)
        self.ids = list(ids)
        self.errors = list(errors)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One document that cannot be stored.

    Attributes:
        position: Where it stands among those given to ``add``.
        id: Its id; None where that is what is wrong.
        error: Why.
    """

    position: int
    id: str | None
    error: VecstoreError


class Refusals:
    """What one ``add`` finds wrong with documents, collected check by check.

    Args:
        on_error: Whether documents that cannot be stored are left out, or stop the call.
    """

    def __init__(self, on_error: OnError) -> None:
        self._skipping = on_error == "skip"
        self._noted: list[Refusal] = []
        self._left_out: list[Refusal] = []

    def note(self, position: int, id: str | None, error: VecstoreError) -> None:
        """One document cannot be stored; what becomes of it, :meth:`settle` decides."""
        # What hangs on a traceback would be kept with it: the document, its embedding.
        error.__traceback__ = None
        if error.__cause__ is None:
            error.__context__ = None
        self._noted.append(Refusal(position, id, error))

    def settle(self, count: int) -> None:
        """After a check of ``count`` documents: raise what was noted, or leave those out.

        Raises:
            VecstoreError: The error of the first of them, which tells of the others as well.
                Documents outside a scope always raise: nobody meant to have them left out.
        """
        noted, self._noted = self._noted, []
        if not noted:
            return
        if self._skipping:
            stopping = [one for one in noted if isinstance(one.error, ScopeError)]
        else:
            stopping = noted
        if stopping:
            raise _error_of_all(stopping, count, skippable=not self._skipping)
        self._left_out += noted

    @property
    def left_out(self) -> set[int]:
        """Where the documents that were left out stood."""
        return {one.position for one in self._left_out}

    def tell(self, count: int) -> None:
        """At the end of the call, which was given ``count`` documents: warn of what was left out.

        Raises:
            VecstoreError: Where warnings are errors.
        """
        left_out = sorted(self._left_out, key=lambda one: one.position)
        if not left_out:
            return
        first = left_out[0].error
        warning = SkippedDocumentsWarning(
            f"{_how_many(left_out, count)} left out, since they cannot be stored: "
            f"{_names(left_out)}; the first: {first}",
            ids=_ids(left_out),
            errors=[one.error for one in left_out[:_KEPT_ERRORS]],
        )
        try:
            warnings.warn(warning, stacklevel=level_of_the_caller())
        except SkippedDocumentsWarning:
            raise _error_of_all(left_out, count, skippable=False) from None


def _error_of_all(refusals: Sequence[Refusal], count: int, *, skippable: bool) -> VecstoreError:
    """The first error; of several, its text tells how many there are and names the next."""
    refusals = sorted(refusals, key=lambda one: one.position)
    error = refusals[0].error
    error.faulty_ids = _ids(refusals)
    if len(refusals) > 1:
        remedy = '; to store the others, write add(..., on_error="skip")'
        belonging = all(isinstance(one.error, ScopeError) for one in refusals)
        error.args = (
            f"{_how_many(refusals, count)} cannot be stored: {_names(refusals)}; the first: "
            f"{error}{remedy if skippable and not belonging else ''}",
        )
    return error


def _how_many(refusals: Sequence[Refusal], count: int) -> str:
    return f"{len(refusals):,} of {count:,} documents"


def _names(refusals: Sequence[Refusal]) -> str:
    first = [
        f"item {one.position}" if one.id is None else shown_id(one.id) for one in refusals[:SHOWN]
    ]
    return listed(first, len(refusals))


def _ids(refusals: Sequence[Refusal]) -> list[str]:
    return [one.id for one in refusals if one.id is not None]


def level_of_the_caller() -> int:
    """Which ``stacklevel`` points at the line that called this library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "vecstore"
