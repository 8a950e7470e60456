"""What a backend fills in: the hooks behind the public methods of a store, and what they are given.

A store subclasses :class:`~vecstore.VectorStore` and writes six hooks: ``_add``, ``_search``,
``_get``, ``_scan``, ``_delete`` and ``_clear``. The others have defaults built on these, to be
replaced where the engine does better. Arguments have been checked and normalised when a hook is
called: ids are texts, filters are expressions or what ``_compile_filter`` made of them, vectors are
float32 and of the right length, and what ``capabilities`` excludes has been refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from vecstore.cancelling import check_stop
from vecstore.document import Document, checked_metadata, shown_id, stored_document, stored_extra
from vecstore.embedding import check_dimension
from vecstore.errors import (
    ConfigurationError,
    DocumentError,
    DuplicateDocumentError,
    ScopeError,
    StoreClosedError,
)
from vecstore.filter.tree import Expression
from vecstore.filter.values import Scalar, metadata_text
from vecstore.store.capabilities import Metric, OnConflict, StoreCapabilities
from vecstore.store.ranking import rank, scored

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

Judge = Callable[[Mapping[str, Any]], bool]
"""Decides metadata as a store gives it back."""

KEEPING_VECTORLESS = ("memory", "pgvector", "qdrant", "duckdb", "sqlite", "weaviate", "redis")
"""Stores of this library that declare ``vectorless``, as errors name them to users of others."""

KEEPING_EXTRA = (
    "memory",
    "pgvector",
    "duckdb",
    "sqlite",
    "qdrant",
    "redis",
    "chroma",
    "lancedb",
    "milvus",
    "weaviate",
    "pinecone",
)
"""Stores of this library that declare ``keeps_extra``."""

IDS_AT_ONCE = 1_000
"""Ids in one call where an engine does not say how many it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Documents to be written in one step: equally long columns, no id twice.

    Attributes:
        ids: Their ids.
        texts: Their texts.
        metadata: Their metadata, normalised; for the store to keep, and not to change.
        vectors: Their vectors, a float32 matrix of finite numbers, one a row. Of documents without
            a vector, which only a store that declares ``vectorless`` is given, and none with one
            besides, a matrix without columns: see :attr:`vectorless`.
        on_conflict: What to do about an id that is stored already: ``"replace"`` the whole
            document, ``"skip"`` it, or write nothing of this batch and raise ``"error"``.
        within: What ``_compile_filter`` made of the scope that ``add`` was called in, None outside
            of every scope. A store that declares ``scoped_add_atomic`` writes nothing of the batch
            and raises :func:`id_outside` when an id is stored already by a
            document that does not match it; other stores can leave it aside.
        replaced: Where a store that declares ``tells_replaced`` notes the ids of documents that
            were stored before, and are now replaced.
        extras: For each document the JSON text of its ``extra``, or None, for a store that declares
            ``keeps_extra``; as :func:`stored_document` takes it. Empty where none has any.
    """

    ids: list[str]
    texts: list[str]
    metadata: list[dict[str, Any]]
    vectors: Matrix
    on_conflict: OnConflict = "replace"
    within: Any = None
    replaced: list[str] = field(default_factory=list)
    extras: Sequence[str | None] = ()

    def __post_init__(self) -> None:
        if self.extras and all(extra is None for extra in self.extras):
            object.__setattr__(self, "extras", ())

    def check_extras(self, remedy: str) -> None:
        """Refuse the batch where what it is written to turns out to have no place for an extra.

        Documents were checked by what the store declared then; others may have made the place anew
        meanwhile.

        Args:
            remedy: Why there is none, and what to do: what ``_extra_remedy`` says.

        Raises:
            DocumentError: Naming the first document that has one.
        """
        for id, extra in zip(self.ids, self.extras, strict=False):
            if extra is not None:
                raise DocumentError(
                    f"document {shown_id(id)} has an extra, and {remedy}; or leave it out: "
                    "document.replace(extra=None)",
                    document_id=id,
                )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def vectorless(self) -> bool:
        """Whether none of these documents has a vector; otherwise each of them has one."""
        return not self.vectors.size

    def check_dimension(self, dimension: int | None) -> None:
        """Refuse vectors of another length than the store's, None for one that has none yet.

        A batch without vectors fits every store.

        Raises:
            DimensionMismatchError: Naming both and the usual cause.
        """
        if not self.vectorless:
            check_dimension(self.vectors.shape[1], dimension, f"document {self.ids[0]!r}")

    def free_rows(self, stored: Container[str]) -> Sequence[int]:
        """The rows to be written where some of the ids are stored already.

        Raises:
            DuplicateDocumentError: With ``"error"``, for those that are.
        """
        rows = range(len(self))
        if self.on_conflict == "replace":
            return rows
        free = [row for row in rows if self.ids[row] not in stored]
        if self.on_conflict == "error" and len(free) < len(rows):
            raise duplicates_error([id for id in self.ids if id in stored])
        return free


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which stored documents a hook works on: those with one of the ids that match the filter.

    Attributes:
        ids: Ids without repetition; None for no restriction.
        filter: What ``_compile_filter`` returned; None for no restriction.
        excluded: Ids without repetition that are left out; only of a search without ``ids``.
    """

    ids: tuple[str, ...] | None = None
    filter: Any = None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in an order.

    Attributes:
        value: What a document there is ordered by; None where it has nothing that can be, and where
            the order is that of ids.
        id: Of the document.
    """

    value: Scalar | None
    id: str


@dataclass(frozen=True, slots=True)
class Order:
    """In which order documents are wanted, and from where on.

    By a key, false comes before true, then numbers, then texts by code point; then all documents
    that hold none of these there. ``descending`` turns the values around, and neither puts these
    documents first nor changes the order of equal values, which is that of their ids by code point.

    Attributes:
        path: The key; None for the ids.
        descending: Whether from the last to the first.
        after: The place behind which to begin; None for the beginning.
    """

    path: tuple[str, ...] | None
    descending: bool = False
    after: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the documents of a store are, as traces name it.

    Attributes:
        system: The database system, as OpenTelemetry calls it.
        collection: The table or collection.
        namespace: The database, with a schema where there is one.
    """

    system: str
    collection: str | None = None
    namespace: str | None = None


class StoreHooks(ABC):
    """The hooks; see :class:`~vecstore.VectorStore` for what callers use."""

    name: ClassVar[str]
    """What the backend is called in errors and in traces."""

    capabilities: StoreCapabilities
    """What this store promises and where its limits lie; set on the class or on the instance."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """How vectors are compared; the base has it."""

    def _compile_filter(self, filter: Expression) -> Any:
        """Turn a filter into what the other hooks want; called before anything else.

        A store with a dialect returns its :class:`~vecstore.Compiled` here, so that a filter that
        cannot be answered is refused before the embedder or the engine is asked. By default the
        other hooks get the expression itself.

        Once a call; where it refuses and ``residual="evaluate"`` was asked for, also for the parts
        of the filter, to find out which of them can be answered. Then the other hooks get the part
        that can, and the base evaluates the rest on the documents that they return.

        Raises:
            UnsupportedFilterError: If the engine cannot answer the filter exactly.
        """
        return filter

    def _vectorless_remedy(self) -> str:
        """What to do about documents without a vector where ``vectorless`` is not declared.

        The end of the error that refuses them; by default it names stores that keep such ones. For
        stores that declare it only where the place of the documents allows it.
        """
        return f"the stores {listed(KEEPING_VECTORLESS, len(KEEPING_VECTORLESS))} keep such ones"

    def _extra_remedy(self) -> str:
        """What to do about documents with an ``extra`` where ``keeps_extra`` is not declared.

        As :meth:`_vectorless_remedy`.
        """
        return f"the stores {listed(KEEPING_EXTRA, len(KEEPING_EXTRA))} keep it"

    def _check_documents(self, documents: Sequence[Any]) -> None:
        """Refuse documents for reasons of the backend's own, before the first write.

        Limits in :attr:`capabilities` have been checked. Each item has ``id``, ``text``,
        ``metadata``, whose dict may be replaced but not changed, and ``extra`` as JSON text or
        None.

        Raises:
            DocumentError: Naming document and key.
        """
        return

    def _begin_add(self, count: int) -> None:
        """Called once before the first batch of an ``add``; by default nothing.

        ``count`` documents come for certain; from an iterator there may be more.
        """
        return

    def _finish_add(self, *, interrupted: bool) -> None:
        """Called once after the last batch of an ``add`` that :meth:`_begin_add` was told of.

        Also where it failed. ``interrupted`` says that a signal or a cancelled await ended it: then
        is no time for long work.
        """
        return

    @abstractmethod
    def _add(self, batch: Batch) -> Iterable[str]:
        """Write a batch, in one step where the engine can.

        Ids are distinct, metadata normalised, vectors a float32 matrix of finite numbers, of the
        store's dimension where that is known, and without a row of zeros under cosine. A store that
        declares ``vectorless`` is also given batches of documents without vectors: what such a one
        replaces has none any more, and :meth:`_search` finds none of them. There are at most
        ``capabilities.max_batch`` rows and at least one.

        Returns:
            The ids that were written: all of them, or with ``"skip"`` those that were free.

        Raises:
            DuplicateDocumentError: With ``"error"``, when an id is stored already; nothing of the
                batch is written then. See :func:`duplicates_error`.
            ScopeError: From a store that declares ``scoped_add_atomic``; see :class:`Batch`.
            BackendError: When the engine fails. ``stored_ids`` names what got through, if some did.
        """

    @abstractmethod
    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        """The ``top_k`` documents nearest to ``vector`` among those that match ``filter``.

        Those that were stored without a vector are near nothing, and never among them. The order
        does not matter. Make them with :func:`~vecstore.document.stored_document`, ``score`` set:
        cosine similarity, inner product, or minus the euclidean distance. ``filter`` is what
        :meth:`_compile_filter` returned, or None.
        """

    def _search_many(
        self, vectors: Matrix, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        """What :meth:`_search` returns for each row of ``vectors``, in order.

        By default one search after the other; for engines that take several at once.
        """
        for vector in vectors:
            yield self._search(
                vector, top_k=top_k, filter=filter, include_embedding=include_embedding
            )

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        """What :meth:`_search_many` returns, among documents that are chosen by their ids.

        ``selection`` has ``ids``, at most ``capabilities.max_batch`` of them, or ``excluded``, any
        number. By default documents with the ids are read and scored here, each of them; to leave
        ids out, as many more documents are searched for, and past ``capabilities.max_top_k`` all
        that match are read.
        """
        if selection.ids is not None:
            wanted = Selection(ids=selection.ids, filter=selection.filter)
            found = self._get(wanted, limit=None, include_embedding=True)
            return scored(list(found), vectors, self.metric, include_embedding)
        excluded = frozenset(selection.excluded)
        count, most = top_k + len(excluded), self.capabilities.max_top_k
        if most is not None and count > most:
            return _nearest_by_reading(self, vectors, selection, top_k, include_embedding)
        found_each = self._search_many(
            vectors, top_k=count, filter=selection.filter, include_embedding=include_embedding
        )
        return ([one for one in found if one.id not in excluded] for found in found_each)

    @abstractmethod
    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        """Documents of a selection, in any order, at most ``limit``.

        With ``selection.ids`` given there are at most ``capabilities.max_batch`` of them, and
        ``limit`` is None.
        """

    @abstractmethod
    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterable[Document]:
        """All documents that match, read ``batch_size`` at a time; no document twice."""

    @abstractmethod
    def _delete(self, selection: Selection) -> int:
        """Delete a selection, whose ``ids`` are always given; return how many there were."""

    @abstractmethod
    def _clear(self) -> None:
        """Delete every document."""

    def _get_ordered(
        self, order: Order, filter: Any, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        """The first documents that match, in an order; asked where ``native_order`` is declared.

        Of one moment each. By default the base finds them, by :meth:`_scan_metadata`.
        """
        raise NotImplementedError(f"{self.name} declares native_order without _get_ordered")

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        """Which of these ids are stored; by default by reading their documents.

        ``add`` asks before it embeds, with ``on_conflict`` ``"skip"`` or ``"error"``. There are at
        most ``capabilities.max_batch`` ids, all different. :meth:`_add` decides once more.
        """
        found = self._get(Selection(ids=ids), limit=None, include_embedding=False)
        return {document.id for document in found}

    def _delete_filtered(self, filter: Any) -> int:
        """Delete what matches a filter; by default by scanning, then deleting by ids."""
        size = self.capabilities.max_batch or IDS_AT_ONCE
        ids = [
            document.id for document in self._scan(filter, batch_size=size, include_embedding=False)
        ]
        # The filter once more: what was changed since is not deleted by its id alone.
        return sum(
            self._delete(Selection(ids=part, filter=filter)) for part in id_parts(tuple(ids), size)
        )

    def _count(self, filter: Any) -> int:
        """How many documents match; by default by scanning."""
        return sum(1 for _ in self._scan(filter, batch_size=1_000, include_embedding=False))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        """Change metadata of a selection and return its size.

        ``set`` and ``unset`` hold keys at the top of metadata, normalised and distinct. By default
        the documents are read and written again, which is right only for a store that gives
        vectors back as they were, and not safe against a writer in between.
        """
        import numpy as np

        size = self.capabilities.max_batch or IDS_AT_ONCE
        if selection.ids is None:
            found = list(self._scan(selection.filter, batch_size=size, include_embedding=True))
        else:
            found = list(self._get(selection, limit=None, include_embedding=True))
        for has_vector in (True, False):
            chosen = [one for one in found if (one.embedding is not None) is has_vector]
            for start in range(0, len(chosen), size):
                part = chosen[start : start + size]
                vectors = [one.embedding for one in part] if has_vector else [()] * len(part)
                self._add(
                    Batch(
                        ids=[document.id for document in part],
                        texts=[document.text for document in part],
                        metadata=[changed(document.metadata, set, unset) for document in part],
                        extras=[stored_extra(document) for document in part],
                        vectors=np.array(vectors, dtype=np.float32),
                    )
                )
        return len(found)

    # Of a filter that the engine answers in part, the base evaluates the rest. ``judge`` is that.

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """Ids and metadata of all documents that match; by default by reading them whole."""
        for document in self._scan(filter, batch_size=batch_size, include_embedding=False):
            yield document.id, document.metadata

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterable[Document]:
        """What :meth:`_scan` yields, without texts, each of which is ``""``, and without extras.

        By default from :meth:`_scan_metadata`, and with vectors by reading documents whole.
        """
        if include_embedding:
            for one in self._scan(filter, batch_size=batch_size, include_embedding=True):
                yield stored_document(one.id, "", one.metadata, one.embedding)
            return
        for id, metadata in self._scan_metadata(filter, batch_size=batch_size):
            yield stored_document(id, "", cast("dict[str, Any]", metadata), shared=True)

    # Statistics are told of by their keys; see :mod:`vecstore.store.statistics` for what counts.

    def _held_values(self, path: tuple[str, ...], filter: Any) -> Iterable[tuple[Any, int]]:
        """What documents that match hold at a path, each value with how many hold it.

        Lists come whole, and a value may come several times, as 1 and 1.0 do. By default each
        document's value comes by itself, by :meth:`_scan_metadata`; for engines that group.
        """
        for _, metadata in self._scan_metadata(filter, batch_size=IDS_AT_ONCE):
            value = value_at(metadata, path)
            if value is not None:
                yield value, 1

    def _extremes(self, path: tuple[str, ...], filter: Any) -> Iterable[Any]:
        """Values at a path among which are the smallest and the largest number and text.

        Where documents hold the same number as an int and as a float, the int is among them. By
        default all values; for engines that find the few.
        """
        for value, _ in self._held_values(path, filter):
            yield value

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        """Delete those of a selection, whose ``ids`` are given, that ``judge`` says yes of.

        By default they are read, judged, and deleted by their ids, together with the filter. A
        change by another writer in between may then delete a document that no longer matches. An
        engine with a lock or a transaction does all three inside of it.
        """
        found = self._get(selection, limit=None, include_embedding=False)
        ids = _ids_judged(found, judge)
        return self._delete(Selection(ids=ids, filter=selection.filter)) if ids else 0

    def _update_judged(
        self,
        selection: Selection,
        judge: Judge,
        *,
        set: dict[str, Any],
        unset: tuple[str, ...],
    ) -> int:
        """What :meth:`_update_metadata` does to those that ``judge`` says yes of.

        ``ids`` are given; see :meth:`_delete_judged`, as for what comes in between.
        """
        found = self._get(selection, limit=None, include_embedding=False)
        ids = _ids_judged(found, judge)
        if not ids:
            return 0
        wanted = Selection(ids=ids, filter=selection.filter)
        return self._update_metadata(wanted, set=set, unset=unset)

    # Asked for by callers who want to know more than a number.

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        """Delete a selection, and say which documents there were.

        ``ids`` or ``filter`` is given, or both; with ``judge``, only those are deleted that it says
        yes of. By default they are read, and deleted by their ids together with the filter; what
        another writer deletes in between may be told by both.
        """
        size = self.capabilities.max_batch or IDS_AT_ONCE
        if selection.ids is None:
            found = self._scan(selection.filter, batch_size=size, include_embedding=False)
        else:
            found = self._get(selection, limit=None, include_embedding=False)
        deleted: list[str] = []
        for part in id_parts(_ids_judged(found, judge or _always), size):
            count = self._delete(Selection(ids=part, filter=selection.filter))
            left = frozenset() if count == len(part) else self._stored_ids(part)
            deleted += [id for id in part if id not in left]
        return deleted

    def _clear_counted(self) -> int:
        """Delete every document, and say how many there were; by default counted before."""
        count = self._count(None)
        self._clear()
        return count

    def _place(self) -> Place:
        """Where the documents are, as traces name it."""
        return Place(system=self.name)

    def _close(self) -> None:
        """Give back connections and files.

        Called once, when no hook is at work in another thread; once more when it raised. A scan
        that is left half-way may still have what it was given; its own reader gives that back when
        the generator is closed, which may be after this.
        """
        return

    def _bound_to_process(self) -> str | None:
        """Why no other process can reach these documents; None where the address is enough."""
        return None

    def _after_fork(self) -> None:
        """Go on in a forked child: forget what was inherited, and open or make it anew.

        Called before the first hook in the child, with nothing else at work; a child that asks
        nothing of the store never gets here. Inherited connections and files are the parent's, who
        goes on using them: drop them without closing, in a way that keeps them from being closed by
        the garbage collector. Locks that another thread held at the fork stay locked: make new
        ones. By default the store is of no use in a child.

        Raises:
            StoreClosedError: If the place can be used by one process only.
        """
        raise StoreClosedError(
            f"this {type(self).__name__} was opened before a fork and belongs to the parent "
            "process; open it in the process that uses it: open_store(...)"
        )

    def _native(self) -> Any:
        """What :attr:`native` returns."""
        raise ConfigurationError(f"{type(self).__name__} stands on no object of another library")


def _always(metadata: Mapping[str, Any]) -> bool:
    return True


def _ids_judged(documents: Iterable[Document], judge: Judge) -> tuple[str, ...]:
    verdicts: dict[str, bool] = {}
    for document in documents:
        # Where others wrote an id twice, both are meant by it: it takes a yes of both.
        verdicts[document.id] = verdicts.get(document.id, True) and judge(document.metadata)
    return tuple([id for id, yes in verdicts.items() if yes])


def changed(
    metadata: Mapping[str, Any], set: Mapping[str, Any], unset: Iterable[str]
) -> dict[str, Any]:
    """Metadata after ``update_metadata``: a new dict, the old one untouched."""
    result = {**metadata, **set}
    for name in unset:
        result.pop(name, None)
    return result


def refuse_unwritable(rows: Iterable[tuple[str, Mapping[str, Any]]], error: ValueError) -> NoReturn:
    """The error for changed metadata, some of it from others, that is no JSON with its numbers.

    Args:
        rows: Ids with the metadata that was to be written.
        error: What came of it.

    Raises:
        DocumentError: Naming the document, its key and the remedy.
        ValueError: The same again, where all of it is JSON.
    """
    for id, metadata in rows:
        try:
            metadata_text(metadata, allow_nan=False)
        except ValueError:
            checked_metadata(metadata, id)
    raise error


def value_at(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What metadata holds at a path, as it stands there; None where there is nothing.

    Example:
        >>> value_at({"author": {"name": "Ada"}}, ("author", "name"))
        'Ada'
    """
    value: Any = metadata
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _nearest_by_reading(
    hooks: StoreHooks, vectors: Matrix, selection: Selection, top_k: int, include_embedding: bool
) -> list[list[Document]]:
    """What a search of each vector finds, of all documents read and scored here."""
    excluded = frozenset(selection.excluded)
    best: list[list[Document]] = [[] for _ in vectors]
    scanned = hooks._scan(selection.filter, batch_size=IDS_AT_ONCE, include_embedding=True)
    found = iter(scanned)
    while part := list(islice(found, IDS_AT_ONCE)):
        check_stop()
        kept = [one for one in part if one.id not in excluded]
        for place, more in enumerate(scored(kept, vectors, hooks.metric, include_embedding)):
            best[place] = nsmallest(top_k, [*best[place], *more], key=rank)
    return best


def id_parts(ids: tuple[str, ...], size: int | None) -> Iterator[tuple[str, ...]]:
    """Ids in parts of at most ``size``; all of them at once when it is None."""
    step = size or max(1, len(ids))
    for start in range(0, len(ids), step):
        yield ids[start : start + step]


SHOWN = 3
"""How many names an error gives."""


def duplicates_error(ids: Sequence[str]) -> DuplicateDocumentError:
    """The error for ids that are stored already, where ``on_conflict`` is ``"error"``.

    Args:
        ids: At least one; the first few are shown, all of them are in the error's ``ids``.

    Example:
        >>> str(duplicates_error(["a", "b"])).partition(";")[0]
        "2 of these documents are stored already, with the ids 'a' and 'b'"
    """
    what = "one" if len(ids) == 1 else f"{len(ids):,}"
    verb, noun = ("is", "the id") if len(ids) == 1 else ("are", "the ids")
    return DuplicateDocumentError(
        f"{what} of these documents {verb} stored already, with {noun} {listed_ids(ids)}; "
        'on_conflict="skip" leaves what is stored, "replace" replaces it',
        ids=ids,
    )


def repeated_error(ids: Sequence[str]) -> DuplicateDocumentError:
    """The error for ids that several documents of one call have.

    Args:
        ids: At least one.
    """
    what = "one id stands" if len(ids) == 1 else f"{len(ids):,} ids stand"
    return DuplicateDocumentError(
        f"{what} more than once in this call: {listed_ids(ids)}; "
        'on_conflict="skip" keeps the first document of an id, "replace" the last',
        ids=ids,
    )


def listed_ids(ids: Sequence[str]) -> str:
    """The first few ids as errors name them, and how many more there are.

    Example:
        >>> listed_ids(["a", "b", "c", "d", "e"])
        "'a', 'b', 'c' and 2 more"
    """
    return listed([shown_id(id) for id in ids[:SHOWN]], len(ids))


def listed(names: Sequence[str], count: int) -> str:
    """Names in a sentence, of which there are ``count`` in all.

    Example:
        >>> listed(["a", "b"], 2), listed(["a", "b"], 1_002)
        ('a and b', 'a, b and 1,000 more')
    """
    if count > len(names):
        return f"{', '.join(names)} and {count - len(names):,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def id_outside(ids: list[str]) -> ScopeError:
    """The error for ids that documents outside the scope have; it tells nothing about these."""
    return ScopeError(
        f"the id {shown_id(ids[0])} cannot be used inside this scope; nothing of this batch was "
        "stored; choose another id, or leave ids out to have them drawn"
    )
