"""Documents as Weaviate objects, and reading them.

What filters work on is laid out by :mod:`~vecstore.dialects.weaviate.layout`. Beside it stand three
texts: the document's id, its text, and its metadata as JSON, which holds every type as it was. A
fourth one is what it has beside its metadata, where it has anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID, uuid5

import numpy as np

from vecstore.dialects.tokens import Path
from vecstore.dialects.weaviate.client import AnswerTooLarge, Calls
from vecstore.dialects.weaviate.collection import VECTOR, CollectionPlan
from vecstore.dialects.weaviate.filters import IS_DOCUMENT, KeyRange, all_of, among, matching
from vecstore.dialects.weaviate.layout import EXTRA, ID, METADATA, TEXT, ordered_properties
from vecstore.dialects.weaviate.plain import Held, PlainObjects
from vecstore.dialects.weaviate.where import Condition
from vecstore.document import Document, shown_id, stored_document
from vecstore.filter.convert import Compiled
from vecstore.filter.values import metadata_text
from vecstore.store.foreign import ForeignRecords, fault_of

if TYPE_CHECKING:
    from vecstore.vectors import Vector

MOST: Final = 10_000
"""Objects that a server finds, or deletes, in one call."""

_NAMESPACE = UUID("0d3f0a0e-5c5b-5d1c-9a58-4d2f7a9e6b10")
_PAGE = 1_000
_FULL = 1.25
"""So many times the documents that are expected in a range of ids fit into its page."""


def object_id(document_id: str) -> str:
    """The UUID of the object that holds a document; the server takes no other ids.

    An id that is a UUID itself is mapped like any other: taken as it is, it could be chosen so that
    it meets the UUID of another document.

    Example:
        >>> object_id("readme#3")
        '7b1dbb69-5d7a-5953-ba89-520e012d7139'
    """
    return str(uuid5(_NAMESPACE, document_id))


def object_properties(
    document_id: str,
    text: str,
    metadata: Mapping[str, Any],
    numbers: frozenset[Path],
    texts: frozenset[Path],
    extra: str | None = None,
) -> dict[str, Any]:
    """A document as the properties of an object; ``extra`` as JSON text.

    Example:
        >>> object_properties("a", "Hello", {"n": 1}, frozenset(), frozenset())["vecstore_metadata"]
        '{"n":1}'
    """
    return {
        ID: document_id,
        TEXT: text,
        METADATA: metadata_text(metadata),
        **({} if extra is None else {EXTRA: extra}),
        **ordered_properties(metadata, numbers, texts),
    }


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of objects.

    Attributes:
        vector: Whether the vector.
        text: Whether the document's text, and what it has beside its metadata.
        metadata: Whether its metadata.
    """

    vector: bool = False
    text: bool = True
    metadata: bool = True


WHOLE: Final = Wanted(vector=True)
"""All of a document."""


@dataclass(slots=True)
class ExactObjects:
    """Objects of the exact layout as documents.

    Attributes:
        extras: Whether the collection has a place for what stands beside metadata; the server
            refuses to be asked for a property that there is not.
    """

    sign: ClassVar[Condition] = IS_DOCUMENT
    extras: bool = True

    def wanted(self, text: bool, metadata: bool) -> Any:
        """The properties to ask for, as the client is told."""
        return [ID, *[TEXT] * text, *[METADATA] * metadata, *[EXTRA] * (text and self.extras)]

    def read(self, key: str, fields: Mapping[str, Any]) -> Held:
        """What an object holds."""
        document_id, text, metadata = fields.get(ID), fields.get(TEXT), fields.get(METADATA)
        extra = fields.get(EXTRA)
        if isinstance(metadata, str):
            try:
                metadata = json.loads(metadata)
            except (ValueError, RecursionError):
                pass  # a text, which is no object
        fault = fault_of(document_id, metadata)
        if fault is None and object_id(str(document_id)) != key:
            fault = f"its id is {shown_id(str(document_id))}, which is stored elsewhere"
        return Held(
            str(document_id),
            text if isinstance(text, str) else "",
            metadata if isinstance(metadata, dict) else {},
            extra if isinstance(extra, str) else None,
            fault,
        )

    def among(self, ids: Iterable[str]) -> Any:
        """Objects with one of these ids."""
        return among(map(object_id, ids))


@dataclass(slots=True)
class Record:
    """An object as it was read.

    Attributes:
        key: Its id.
        document_id: Of the document that it holds.
        text: Of the document.
        metadata: Of the document.
        extra: What the document has beside it, as JSON text; None where that was not asked for.
        vector: Of the document; None where it was not asked for, or there is none.
        distance: From what was searched for.
        fault: Why it holds no document; None where it does.
    """

    key: str
    document_id: str
    text: str
    metadata: dict[str, Any]
    extra: str | None
    vector: Vector | None
    distance: float
    fault: str | None

    @classmethod
    def read(
        cls, found: Any, vector_name: str | None, objects: ExactObjects | PlainObjects
    ) -> Record:
        """An object as the client returns it."""
        key = str(found.uuid)
        held = objects.read(key, found.properties)
        values = found.vector.get(vector_name or VECTOR)
        vector = None
        if values:
            vector = np.array(values, dtype=np.float32)
            vector.flags.writeable = False
        distance = found.metadata.distance if found.metadata is not None else None
        return cls(
            key,
            held.id,
            held.text,
            held.metadata,
            held.extra,
            vector,
            0.0 if distance is None else distance,
            held.fault,
        )

    def document(self, score: float | None = None) -> Document:
        """The document that it holds."""
        return stored_document(
            self.document_id, self.text, self.metadata, self.vector, score, self.extra
        )


@dataclass(slots=True, kw_only=True)
class Records:
    """Reading the objects of a collection.

    Attributes:
        call: The client.
        plan: Says which collection.
        vector_name: Which vector is meant, or None where there is one without a name.
        objects: What the objects are as documents.
    """

    call: Calls
    plan: CollectionPlan
    vector_name: str | None = field(default=None)
    objects: ExactObjects | PlainObjects = field(default_factory=ExactObjects)

    def _arguments(self, wanted: Wanted) -> dict[str, Any]:
        """What is wanted, as the client is told it."""
        named = [self.vector_name] if self.vector_name is not None else True
        return {
            "return_properties": self.objects.wanted(wanted.text, wanted.metadata),
            "include_vector": named if wanted.vector else False,
        }

    def _read(self, found: Iterable[Any], wanted: Wanted) -> list[Record]:
        records = [Record.read(one, self.vector_name, self.objects) for one in found]
        if not wanted.text:  # it comes all the same where all properties are asked for
            for record in records:
                record.text = ""
        return records

    # --- by id -------------------------------------------------------------------------------

    def by_key(
        self,
        operation: str,
        keys: Sequence[str],
        wanted: Wanted,
        filter: Any = None,
        deadline: float | None = None,
    ) -> list[Record]:
        """Objects with one of these ids that match a filter of the client's."""
        if not keys:
            return []
        where, details = all_of([among(keys), filter]), self._arguments(wanted)
        try:
            answer = self.call(
                operation,
                lambda client: self.plan.handle(client).query.fetch_objects(
                    filters=where, limit=len(keys), **details
                ),
                deadline=deadline,
            )
            return self._read(answer.objects, wanted)
        except AnswerTooLarge:
            if len(keys) == 1:
                raise
        middle = len(keys) // 2
        return [
            record
            for part in (keys[:middle], keys[middle:])
            for record in self.by_key(operation, part, wanted, filter, deadline)
        ]

    def selected(
        self, operation: str, ids: Iterable[str], filter: Compiled | None, embedding: bool, /
    ) -> list[Record]:
        """Those with one of the ids that match."""
        return self._selected(operation, ids, filter, Wanted(embedding))

    def stored(
        self, operation: str, ids: Sequence[str], filter: Compiled | None = None, /
    ) -> list[str]:
        """Which of the ids are stored, and match."""
        found = self._selected(operation, ids, filter, Wanted(text=False, metadata=False))
        return [record.document_id for record in found if record.fault is None]

    def _selected(
        self, operation: str, ids: Iterable[str], filter: Compiled | None, wanted: Wanted
    ) -> list[Record]:
        where = None if filter is None else matching(filter, self.objects.sign)
        if isinstance(self.objects, PlainObjects):
            return self._by_property(operation, self.objects, [*ids], wanted, where)
        return self.by_key(operation, [object_id(one) for one in ids], wanted, where)

    def _by_property(
        self, operation: str, objects: PlainObjects, ids: list[str], wanted: Wanted, where: Any
    ) -> list[Record]:
        """Objects of another program's with one of these ids; of two with the same, the first."""
        chosen = objects.among(ids)
        if chosen is None:
            return []
        both = all_of([chosen, where])

        def ask(details: dict[str, Any]) -> list[Any]:
            answer = self.call(
                operation,
                lambda client: self.plan.handle(client).query.fetch_objects(
                    filters=both, limit=MOST, **details
                ),
            )
            return list(answer.objects)

        asked = set(ids)
        first: dict[str, Record] = {}
        for record in sorted(self._whole(operation, ask, wanted, where), key=lambda one: one.key):
            if record.fault is None and record.document_id in asked:
                first.setdefault(record.document_id, record)
        return [*first.values()]

    def keys(self, operation: str, ids: Sequence[str]) -> dict[str, str]:
        """The objects' own ids of the documents with these ids, as far as they are stored."""
        found = self._selected(operation, ids, None, Wanted(text=False, metadata=False))
        return {record.document_id: record.key for record in found if record.fault is None}

    # --- the nearest -------------------------------------------------------------------------

    def nearest(
        self, vector: Vector, count: int, filter: Any, include_embedding: bool
    ) -> list[Record]:
        """The nearest objects that match a filter of the client's."""
        from weaviate.classes.query import MetadataQuery

        values, distance = vector.tolist(), MetadataQuery(distance=True)

        def ask(details: dict[str, Any]) -> list[Any]:
            answer = self.call(
                "search",
                lambda client: self.plan.handle(client).query.near_vector(
                    values,
                    limit=count,
                    filters=filter,
                    target_vector=self.vector_name,
                    return_metadata=distance,
                    **details,
                ),
            )
            return list(answer.objects)

        return self._whole("search", ask, Wanted(include_embedding), filter)

    def _whole(
        self,
        operation: str,
        ask: Callable[[dict[str, Any]], list[Any]],
        wanted: Wanted,
        filter: Any = None,
    ) -> list[Record]:
        """The objects of an answer; where it does not fit into a message, its objects in parts.

        Args:
            operation: What the caller does, for errors.
            ask: Gets what is wanted of each object, as the client is told it.
            wanted: Of each object.
            filter: What ``ask`` filters by: an object may have changed since it was found.
        """
        try:
            return self._read(ask(self._arguments(wanted)), wanted)
        except AnswerTooLarge:
            pass
        bare = ask(
            {"return_properties": self.objects.wanted(False, False), "include_vector": False}
        )
        distances = {
            str(one.uuid): one.metadata.distance if one.metadata is not None else None
            for one in bare
        }
        records = {
            record.key: record for record in self.by_key(operation, [*distances], wanted, filter)
        }
        for key, record in records.items():
            record.distance = distances[key] or 0.0
        return [records[key] for key in distances if key in records]

    # --- page by page ------------------------------------------------------------------------

    def pages(
        self, operation: str, filter: Compiled | None, embedding: bool, size: int, /
    ) -> Iterator[list[Record]]:
        """All that match, page by page."""
        return self.pages_of(operation, filter, Wanted(embedding), size)

    def pages_of(
        self, operation: str, filter: Compiled | None, wanted: Wanted, size: int
    ) -> Iterator[list[Record]]:
        """All that match, page by page, no object twice."""
        size = min(size, _PAGE)
        if filter is None:
            return self._all(operation, wanted, size)
        return self._matching(operation, matching(filter, self.objects.sign), wanted, size)

    def _all(self, operation: str, wanted: Wanted, size: int) -> Iterator[list[Record]]:
        """By the server's cursor, which goes by ids and takes no filter."""
        after: str | None = None

        def ask(details: dict[str, Any]) -> list[Any]:
            answer = self.call(
                operation,
                lambda client: self.plan.handle(client).query.fetch_objects(
                    limit=size, after=after, **details
                ),
            )
            keys.extend(str(one.uuid) for one in answer.objects)
            return list(answer.objects)

        while True:
            keys: list[str] = []
            page = self._whole(operation, ask, wanted)
            if not keys:
                return
            after = keys[-1]
            yield page
            if len(keys) < size:
                return

    def _matching(
        self, operation: str, where: Any, wanted: Wanted, size: int
    ) -> Iterator[list[Record]]:
        """Pages of a filter, each a range of ids: an offset would slip while others write."""

        def ask(range: KeyRange | None) -> tuple[list[Record], bool]:
            """Objects in a range, or in all of them, and whether there are more than a page."""
            both = all_of([None if range is None else range.filter(), where])

            def asked(details: dict[str, Any]) -> list[Any]:
                answer = self.call(
                    operation,
                    lambda client: self.plan.handle(client).query.fetch_objects(
                        filters=both, limit=size + 1, **details
                    ),
                )
                found.append(len(answer.objects))
                return list(answer.objects)

            found: list[int] = []
            page = self._whole(operation, asked, wanted, where)
            return page, found[0] > size

        first, more = ask(None)
        if first:
            yield first
        if not more:
            return
        seen = {record.key for record in first}
        parts = _FULL * self.count(operation, where) / size
        pending = KeyRange().parts(max(0, ceil(log2(max(parts, 1)))))[::-1]
        while pending:
            range = pending.pop()
            page, more = ask(range)
            if more:
                pending.extend(reversed(range.halves()))
                continue
            fresh = [record for record in page if record.key not in seen]
            if fresh:
                yield fresh

    def count(self, operation: str, filter: Any) -> int:
        """How many objects match a filter of the client's."""
        answer = self.call(
            operation,
            lambda client: self.plan.handle(client).aggregate.over_all(
                filters=filter, total_count=True
            ),
        )
        return int(answer.total_count or 0)

    # --- documents ---------------------------------------------------------------------------

    def documents(
        self, records: Iterable[Record], foreign: ForeignRecords, /
    ) -> Iterator[Document]:
        """The documents that records hold."""
        for record in self.holding(records, foreign):
            yield record.document()

    def holding(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Record]:
        """Those of the records that hold a document."""
        for record in records:
            if record.fault is None:
                yield record
            else:
                foreign.leave_out(record.key, record.fault)
