"""Stores whose engine holds collections by name; one that is missing is made by the first batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from vecstore.document import Document
from vecstore.errors import ConfigurationError, DocumentError, SchemaMismatchError
from vecstore.filter.evaluate import Evaluator
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Judge, Place, Selection
from vecstore.store.base import VectorStore
from vecstore.store.foreign import ForeignRecords

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

BATCH: Final = 256
"""Records in one request: what fits into the messages that servers take and send by default."""


def decider(filter: Expression) -> Callable[[Any], bool | None]:
    """What decides whether a record's metadata matches, for what the engine does not decide.

    Args:
        filter: Nothing is made of it before the first record.

    Returns:
        A function of metadata: whether it matches, or None where it holds what no document does
        (others wrote it).

    Example:
        >>> from vecstore import F
        >>> decide = decider(F.n > 1)
        >>> decide({"n": 2}), decide({}), decide({"n": [1, "a"]})
        (True, False, None)
    """
    made: list[Evaluator] = []

    def decide(metadata: Any) -> bool | None:
        if not made:
            made.append(Evaluator(filter))
        try:
            return made[0].matches(metadata)
        except DocumentError:
            return None

    return decide


class Calls(Protocol):
    """The client of the engine, and the way to it."""

    client: Any
    exclusive: AbstractContextManager[Any]
    """Keeps others of this process out between calls, where the engine is in it."""

    def close(self) -> None:
        """Close the client if it is the store's own."""

    def after_fork(self) -> None:
        """In a forked child: connect anew, or say why that cannot be."""


class Records(Protocol):
    """The records of a collection, as its engine has them.

    ``operation`` is what the caller of the store asked for, and ``filter`` what the store's
    ``_compile_filter`` made of a filter.
    """

    def selected(
        self, operation: str, ids: Iterable[str], filter: Any, include_embedding: bool, /
    ) -> list[Any]:
        """Those with one of the ids that match."""

    def pages(
        self, operation: str, filter: Any, include_embedding: bool, size: int, /
    ) -> Iterator[list[Any]]:
        """All that match, page by page, none twice."""

    def stored(self, operation: str, ids: Sequence[str], filter: Any = None, /) -> list[str]:
        """Which of the ids are stored, and match."""

    def documents(self, records: Iterable[Any], foreign: ForeignRecords, /) -> Iterator[Document]:
        """The documents that records hold; ``foreign`` takes note of those that hold none."""


class CollectionStore(VectorStore):
    """A store on a collection; a constructor sets these attributes and ends in `_open_collection`.

    Attributes:
        _collection: The collection's name.
        _call: The client.
        _records: What reads the collection.
        _create: Whether the collection is made when it is missing.
        _present: Whether the collection has been found, and looked at.
        _title: The collection as sentences name it.
    """

    engine: ClassVar[str]
    """What the database is called in sentences."""

    _collection: str
    _call: Calls
    _records: Records
    _create: bool
    _present = False
    _title: str

    @abstractmethod
    def _look(self, operation: str) -> bool:
        """Whether the collection is there; if so, note what it is like.

        Raises:
            SchemaMismatchError: If it does not fit.
        """

    @abstractmethod
    def _make_collection(self, dimension: int) -> None:
        """Make the collection; no matter if somebody else is quicker."""

    def _open_collection(self) -> None:
        """Find the collection, or make it if its dimension is known; else close the client."""
        self._title = f"the collection {self._collection!r}"
        try:
            if self._exists("open"):
                return
            if not self._create:
                raise SchemaMismatchError(
                    f"there is no collection {self._collection!r} in {self.engine}; open the store "
                    "with create=True to make it, or name one that exists"
                )
            if self._dimension is not None:
                self._make(self._dimension)
        except BaseException:
            self._call.close()
            raise

    def _exists(self, operation: str) -> bool:
        """Whether the collection is there; looked at once, when it is."""
        if not self._present:
            self._present = self._look(operation)
        return self._present

    def _make(self, dimension: int) -> None:
        self._make_collection(dimension)
        self._exists("add")

    def _make_ready(self, batch: Batch) -> None:
        """See to it that there is a collection for the vectors of a batch."""
        if not self._exists("add"):
            dimension = self._dimension if batch.vectorless else batch.vectors.shape[1]
            if dimension is None:
                raise ConfigurationError(
                    f"{self._title} is still to be made, and documents without a vector do not say "
                    "how long vectors are: open the store with dimension=..."
                )
            self._make(dimension)
        batch.check_dimension(self.dimension)

    # --- hooks that need no more than reading ------------------------------------------------

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        if not self._exists("get"):
            return []
        ids, filter = selection.ids, selection.filter
        found: Iterable[Any]
        if ids is not None:
            found = self._records.selected("get", ids, filter, include_embedding)
        else:
            size = min(limit or BATCH, BATCH)
            pages = self._records.pages("get", filter, include_embedding, size)
            found = (record for page in pages for record in page)
        return islice(self._records.documents(found, ForeignRecords(self._title)), limit)

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            for page in self._records.pages("scan", filter, include_embedding, batch_size):
                yield from self._records.documents(page, foreign)

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        return set(self._records.stored("add", ids)) if self._exists("add") else set()

    # --- hooks that read and change in one step ----------------------------------------------

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        with self._call.exclusive:
            return super()._delete_judged(selection, judge)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        with self._call.exclusive:
            return super()._update_judged(selection, judge, set=set, unset=unset)

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        with self._call.exclusive:
            return super()._delete_ids(selection, judge)

    def _clear_counted(self) -> int:
        with self._call.exclusive:
            return super()._clear_counted()

    # --- the place, and the client -----------------------------------------------------------

    def _place(self) -> Place:
        return Place(system=self.name, collection=self._collection)

    def _close(self) -> None:
        self._call.close()

    def _after_fork(self) -> None:
        self._call.after_fork()

    def _native(self) -> Any:
        """The client; of an engine inside this process, take care that one thread uses it."""
        return self._call.client


class NearestStore(CollectionStore):
    """A store whose engine is asked for the nearest of one vector at a time, in one way for all."""

    @abstractmethod
    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> Iterable[Document]:
        """What ``_search`` returns, among a selection: with ids only where ``_chooses`` says so."""

    def _chooses(self, selection: Selection) -> bool:
        """Whether the engine is asked to choose by ids; else they are read, or searched past."""
        return True

    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        return self._nearest(vector, Selection(filter=filter), top_k, include_embedding)

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        if not self._chooses(selection):
            return super()._search_selected(
                vectors, selection, top_k=top_k, include_embedding=include_embedding
            )
        return (self._nearest(one, selection, top_k, include_embedding) for one in vectors)
