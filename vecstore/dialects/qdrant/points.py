"""Points of a Qdrant collection: their ids, reading them page by page, and as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.collection import UNNAMED
from vecstore.dialects.qdrant.dialect import encode_key
from vecstore.dialects.qdrant.layout import OWN, PayloadLayout, point_id
from vecstore.dialects.qdrant.models import filter_model
from vecstore.document import Document, stored_document
from vecstore.filter.convert import Compiled
from vecstore.store.foreign import ForeignRecords, fault_of
from vecstore.store.limits import is_uuid_or_number

if TYPE_CHECKING:
    from vecstore.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Reading points.

    Attributes:
        call: The client.
        collection: Its name.
        layout: Where the parts of a document stand in payloads.
        vector_name: Which vector is meant, or None where there is one without a name.
    """

    call: Calls
    collection: str
    layout: PayloadLayout
    vector_name: str | None

    @property
    def elsewhere(self) -> bool:
        """Whether points may have been written by others, under ids that do not follow ours."""
        return self.layout.id is not None and self.layout != OWN

    def id(self, document_id: str) -> str | int:
        """The point under which a document is stored."""
        if self.layout.id is not None:
            return point_id(document_id)
        return int(document_id) if document_id.isdecimal() else document_id

    def ids(self, document_ids: Iterable[str]) -> list[str | int]:
        """The points that ids stand for; without ids that no point can have."""
        if self.layout.id is not None:
            return [point_id(one) for one in document_ids]
        return [self.id(one) for one in document_ids if is_uuid_or_number(one)]

    def named(self, vector: Any) -> Any:
        """A vector as points take it."""
        return vector if self.vector_name is None else {self.vector_name: vector}

    def vectors(self, include_embedding: bool) -> bool | list[str]:
        """What to say about vectors in a request."""
        if include_embedding and self.vector_name is not None:
            return [self.vector_name]
        return include_embedding

    # --- reading -----------------------------------------------------------------------------

    def selected(
        self,
        operation: str,
        document_ids: Iterable[str],
        filter: Compiled | None,
        include_embedding: bool,
    ) -> list[Any]:
        """Points with one of the ids that match."""
        from qdrant_client import models

        wanted_ids = [*document_ids]
        if self.elsewhere:
            pages = self._pages(
                operation, self._of_ids(wanted_ids, filter), include_embedding, len(wanted_ids)
            )
            # An id that is a list is matched like each of its elements, and is no document's.
            return [point for page in pages for point in page if self._has_id(point)]
        points = self.ids(wanted_ids)
        if not points:
            return []
        options = {"with_payload": True, "with_vectors": self.vectors(include_embedding)}
        if filter is None:
            found = self.call(
                operation,
                lambda client: client.retrieve(self.collection, points, **options),
            )
            return list(found)
        among = models.HasIdCondition(has_id=[*points])
        wanted = models.Filter(must=[among, as_model(filter)])
        found, _ = self.call(
            operation,
            lambda client: client.scroll(
                self.collection, scroll_filter=wanted, limit=len(points), **options
            ),
        )
        return list(found)

    def stored(
        self, operation: str, document_ids: Sequence[str], filter: Compiled | None = None
    ) -> list[str]:
        """Which of the ids are stored, and match: each as often as there are points with it."""
        found = self.selected(operation, document_ids, filter, False)
        if self.elsewhere:
            return [point.payload[self.layout.id] for point in found]
        names = {str(point): one for one in document_ids for point in self.ids([one])}
        return [names[str(point.id)] for point in found]

    def places(self, operation: str, document_ids: Sequence[str]) -> dict[str, Any]:
        """Under which points documents are to be written: their own, where they are stored."""
        places: dict[str, Any] = {one: self.id(one) for one in document_ids}
        if self.elsewhere:
            for point in self.selected(operation, document_ids, None, False):
                places[point.payload[self.layout.id]] = point.id
        return places

    def _of_ids(self, document_ids: Sequence[str], filter: Compiled | None) -> Any:
        assert self.layout.id is not None
        ids = {"key": encode_key((self.layout.id,)), "match": {"any": [*document_ids]}}
        return filter_model({"must": [ids, *([] if filter is None else [filter.query])]})

    def _has_id(self, point: Any) -> bool:
        return isinstance(point.payload[self.layout.id], str)

    def written(self, operation: str, points: Sequence[Any], ids: Sequence[str]) -> list[str]:
        """Which of the points are stored as they were to be written."""
        wanted = [point.id for point in points]
        answer = self.call(
            operation,
            lambda client: client.retrieve(
                self.collection, wanted, with_vectors=self.vectors(True)
            ),
        )
        found = {str(point.id): point for point in answer}
        written: list[str] = []
        for id, point in zip(ids, points, strict=True):
            stored = found.get(str(point.id))
            if stored is None or stored.payload != point.payload:
                continue
            given, got = (self._vector(one.vector) for one in (point, stored))
            if got is not None and is_same_direction(given, got):
                written.append(id)
        return written

    def pages(
        self, operation: str, filter: Compiled | None, include_embedding: bool, size: int
    ) -> Iterator[list[Any]]:
        """All points that match, page by page, in the order of the points' ids."""
        return self._pages(operation, as_model(filter), include_embedding, size)

    def _pages(
        self, operation: str, filter: Any, include_embedding: bool, size: int
    ) -> Iterator[list[Any]]:
        offset: Any = None
        while True:
            page, offset = self.call(
                operation, self._scroll(filter, include_embedding, size, offset)
            )
            yield list(page)
            if offset is None:
                return

    def _scroll(
        self, filter: Any, include_embedding: bool, size: int, offset: Any
    ) -> Callable[[Any], Any]:
        return lambda client: client.scroll(
            self.collection,
            scroll_filter=filter,
            limit=size,
            offset=offset,
            with_payload=True,
            with_vectors=self.vectors(include_embedding),
        )

    def documents(
        self, points: Iterable[Any], foreign: ForeignRecords, sign: float | None = None
    ) -> Iterator[Document]:
        """The documents that points hold.

        Args:
            points: As the client returns them.
            foreign: Takes note of points that hold none, and are left out.
            sign: What to multiply scores with; None where points have none.
        """
        for point in self.holding(points, foreign):
            # A server scores in float32. Local mode has more digits, in which equal vectors differ
            # by the place where they stand.
            score = None if sign is None else float(np.float32(sign * point.score))
            yield self._document(point, score)

    def holding(self, points: Iterable[Any], foreign: ForeignRecords) -> Iterator[Any]:
        """Those of the points that hold a document."""
        for point in points:
            fault = fault_of(*self.layout.parts(str(point.id), point.payload or {}))
            if fault is None:
                yield point
            else:
                foreign.leave_out(point.id, fault)

    def _document(self, point: Any, score: float | None) -> Document:
        document_id, text, metadata = self.layout.read(str(point.id), point.payload or {})
        embedding = self._vector(point.vector)
        if embedding is not None:
            embedding.flags.writeable = False
        return stored_document(document_id, text, metadata, embedding, score)

    def _vector(self, vector: Any) -> Any:
        import numpy as np

        if isinstance(vector, dict):
            vector = vector.get(self.vector_name or UNNAMED)
        return None if vector is None else np.array(vector, dtype=np.float32)


def is_same_direction(left: Vector, right: Vector) -> bool:
    """Whether a vector is another one, which may have been cut to length 1."""
    import numpy as np

    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    if not all(lengths):
        return lengths[0] == lengths[1]
    return bool(np.allclose(left / lengths[0], right / lengths[1], rtol=0, atol=1e-6))


def as_model(filter: Compiled | None) -> Any:
    """A compiled filter as the client takes it."""
    return None if filter is None else filter_model(filter.query)
