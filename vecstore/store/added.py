"""What ``add`` says it did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Added(list[str]):
    """The ids of the documents that were given to ``add``, in their order, and what became of them.

    It is a list, and compares as one. Documents that ``on_error="skip"`` left out are not in it.

    Args:
        ids: One for each document.
        written: Those that were stored, each once.
        replaced: Those of ``written`` that were stored before; None where that is not known.

    Attributes:
        written: Ids that were stored, new or in the place of another document, each once and in the
            order of the list.
        skipped: Ids that ``on_conflict="skip"`` left as they were, in the same way.
        replaced: Those of ``written`` that were stored before, where the engine tells without being
            asked once more (``capabilities.tells_replaced``), or where ``on_conflict`` replaces
            nothing; None otherwise.

    Example:
        >>> from vecstore import Document, SimpleVectorStore
        >>> store = SimpleVectorStore()
        >>> one, two = [Document("text", id=id, embedding=[1, 0]) for id in ("one", "two")]
        >>> store.add([one])
        ['one']
        >>> added = store.add([one, two], on_conflict="skip")
        >>> added, added.written, added.skipped
        (['one', 'two'], ('two',), ('one',))
        >>> store.add([two]).replaced
        ('two',)
    """

    __slots__ = ("_before", "_given", "_parts", "_replaced", "_skipped", "_written")

    def __init__(
        self,
        ids: Iterable[str] = (),
        written: Iterable[str] = (),
        replaced: Iterable[str] | None = (),
    ) -> None:
        super().__init__(ids)
        # Sorted out when somebody asks: most who add look at the list alone, or at nothing. Until
        # then the ids are kept beside the list, which its owner may change.
        self._given: tuple[str, ...] = tuple(self)
        self._parts: Iterable[str] | None = written
        self._before = replaced
        self._written: tuple[str, ...] = ()
        self._skipped: tuple[str, ...] = ()
        self._replaced: tuple[str, ...] | None = None

    def _sorted_out(self) -> Added:
        parts = self._parts
        if parts is not None:
            stored = frozenset(parts)
            each = dict.fromkeys(self._given)
            self._written = tuple([id for id in each if id in stored])
            self._skipped = tuple([id for id in each if id not in stored])
            if self._before is not None:
                before = frozenset(self._before)
                self._replaced = tuple([id for id in self._written if id in before])
            self._parts = self._before = None
            self._given = ()
        return self

    @property
    def written(self) -> tuple[str, ...]:
        """Ids that were stored."""
        return self._sorted_out()._written

    @property
    def skipped(self) -> tuple[str, ...]:
        """Ids that were left as they were."""
        return self._sorted_out()._skipped

    @property
    def replaced(self) -> tuple[str, ...] | None:
        """Ids that were stored before, and are replaced."""
        return self._sorted_out()._replaced

    def __reduce__(self) -> tuple[Any, ...]:
        told = (self.written, self.skipped, self.replaced)
        return _restored, (list(self), *told)


def _restored(
    ids: list[str],
    written: tuple[str, ...],
    skipped: tuple[str, ...],
    replaced: tuple[str, ...] | None,
) -> Added:
    """A copy: what was told stands, whatever its owner has made of the list."""
    copied = Added(ids)
    copied._parts = None
    copied._given = ()
    copied._written, copied._skipped, copied._replaced = written, skipped, replaced
    return copied
