"""Points of a Qdrant collection: their ids, reading them page by page, and as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.collection import UNNAMED
from vecstore.dialects.qdrant.layout import PayloadLayout, point_id
from vecstore.document import Document, stored_document
from vecstore.filter.convert import Compiled
from vecstore.foreign import ForeignRecords, fault_of
from vecstore.ingest import is_uuid_or_number


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
        """Points with one of the ids that match, in one request."""
        from qdrant_client import models

        points = self.ids(document_ids)
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
        """Which of the ids are stored, and match."""
        names = {str(point): one for one in document_ids for point in self.ids([one])}
        found = self.selected(operation, document_ids, filter, False)
        return [names[str(point.id)] for point in found]

    def pages(
        self, operation: str, filter: Compiled | None, include_embedding: bool, size: int
    ) -> Iterator[list[Any]]:
        """All points that match, page by page, in the order of the points' ids."""
        offset: Any = None
        while True:
            page, offset = self.call(
                operation, self._scroll(as_model(filter), include_embedding, size, offset)
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
            yield self._document(point, None if sign is None else sign * point.score)

    def holding(self, points: Iterable[Any], foreign: ForeignRecords) -> Iterator[Any]:
        """Those of the points that hold a document."""
        for point in points:
            fault = fault_of(*self.layout.parts(str(point.id), point.payload or {}))
            if fault is None:
                yield point
            else:
                foreign.leave_out(point.id, fault)

    def _document(self, point: Any, score: float | None) -> Document:
        import numpy as np

        document_id, text, metadata = self.layout.read(str(point.id), point.payload or {})
        vector = point.vector
        if isinstance(vector, dict):
            vector = vector.get(self.vector_name or UNNAMED)
        embedding = None
        if vector is not None:
            embedding = np.array(vector, dtype=np.float32)
            embedding.flags.writeable = False
        return stored_document(document_id, text, metadata, embedding, score)


def as_model(filter: Compiled | None) -> Any:
    """A compiled filter as the client takes it."""
    from qdrant_client import models

    return None if filter is None else models.Filter.model_validate(filter.query)
