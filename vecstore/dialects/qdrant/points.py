"""Points of a Qdrant collection: their ids, reading them as documents, changing their payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.collection import UNNAMED
from vecstore.dialects.qdrant.conditions import encode_key, is_addressable
from vecstore.dialects.qdrant.layout import OWN, PayloadLayout, point_id
from vecstore.document import Document, stored_document
from vecstore.filter.convert import Compiled
from vecstore.store.backend import Selection, changed
from vecstore.store.foreign import ForeignRecords, fault_of
from vecstore.store.limits import is_in_charset

if TYPE_CHECKING:
    from vecstore.vectors import Vector

_LARGEST: Final = {False: 4_096, True: 1_024}
"""Points that local mode is asked for at once at most, without vectors and with them."""


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
        return [self.id(one) for one in document_ids if is_in_charset(one, "uuid_or_number")]

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
            assert self.layout.id is not None
            ids = {"key": encode_key((self.layout.id,)), "match": {"any": wanted_ids}}
            both = filter_model({"must": [ids, *([] if filter is None else [filter.native])]})
            pages = self._pages(operation, both, include_embedding, len(wanted_ids))
            # An id that is a list is matched like each of its elements, and is no document's.
            return [
                point
                for page in pages
                for point in page
                if isinstance(point.payload[self.layout.id], str)
            ]
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

    def chosen(self, selection: Selection) -> Any:
        """A selection as the client takes it in a search; None for everything."""
        from qdrant_client import models

        matching = as_model(selection.filter)
        by_ids = selection.ids is not None
        named = selection.excluded if selection.ids is None else selection.ids
        if not by_ids and not named:
            return matching
        kept = [] if matching is None else [matching]
        among: Any
        if self.elsewhere:
            assert self.layout.id is not None
            key = encode_key((self.layout.id,))
            among = _condition({"key": key, "match": {"any": [*named]}})
        else:
            among = models.HasIdCondition.model_construct(has_id=self.ids(named))
        if by_ids:
            return models.Filter.model_construct(must=[*kept, among])
        return models.Filter.model_construct(must=kept or None, must_not=[among])

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
            if given is None or got is None:
                same = given is got
            else:
                same = is_same_direction(given, got)
            if same:
                written.append(id)
        return written

    def pages(
        self,
        operation: str,
        filter: Compiled | None,
        include_embedding: bool,
        size: int,
        *,
        textless: bool = False,
    ) -> Iterator[list[Any]]:
        """All points that match, page by page, in the order of the points' ids.

        Args:
            operation: What the caller of the store asked for.
            filter: Which points; None for all.
            include_embedding: Whether to read vectors.
            size: Of a page; in local mode of the first, and later ones are larger.
            textless: Whether texts, and what stands beside metadata, are not wanted.
        """
        return self._pages(operation, as_model(filter), include_embedding, size, textless)

    def _pages(
        self,
        operation: str,
        filter: Any,
        include_embedding: bool,
        size: int,
        textless: bool = False,
    ) -> Iterator[list[Any]]:
        from qdrant_client import models

        offset: Any = None
        payload: Any = True
        if textless:
            # A key that has to be quoted is none that every version leaves out; it is read then.
            keys = [self.layout.text, self.layout.extra_key or ""]
            left_out = [key for key in keys if key.isidentifier()]
            payload = models.PayloadSelectorExclude(exclude=left_out) if left_out else True

        def ask(client: Any) -> Any:
            return client.scroll(
                self.collection,
                scroll_filter=filter,
                limit=size,
                offset=offset,
                with_payload=payload,
                with_vectors=self.vectors(include_embedding),
            )

        while True:
            page, offset = self.call(operation, ask)
            yield list(page)
            if offset is None:
                return
            if self.call.local:
                # It tries the filter on every point for each page, however many points that has.
                size = max(size, min(2 * size, _LARGEST[include_embedding]))

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
            payload = point.payload or {}
            document_id, text, metadata, extra = self.layout.read(str(point.id), payload)
            embedding = self._vector(point.vector)
            if embedding is not None:
                embedding.flags.writeable = False
            # A server scores in float32. Local mode has more digits, in which equal vectors differ
            # by the place where they stand.
            score = None if sign is None else float(np.float32(sign * point.score))
            yield stored_document(document_id, text, metadata, embedding, score, extra)

    def holding(self, points: Iterable[Any], foreign: ForeignRecords) -> Iterator[Any]:
        """Those of the points that hold a document."""
        for point in points:
            fault = fault_of(*self.layout.parts(str(point.id), point.payload or {}))
            if fault is None:
                yield point
            else:
                foreign.leave_out(point.id, fault)

    def change(
        self, operation: str, points: Sequence[Any], set: dict[str, Any], unset: tuple[str, ...]
    ) -> None:
        """Change the metadata of documents, given as the points that hold them."""
        operations = _payload_operations(
            self.layout, points, set, unset, by_filter=not self.call.local
        )
        self.call(
            operation,
            lambda client: client.batch_update_points(self.collection, operations, wait=True),
        )

    def _vector(self, vector: Any) -> Any:
        if isinstance(vector, dict):
            vector = vector.get(self.vector_name or UNNAMED)
        return None if vector is None else np.array(vector, dtype=np.float32)


def is_same_direction(left: Vector, right: Vector) -> bool:
    """Whether a vector is another one, which may have been cut to length 1."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    if not all(lengths):
        return lengths[0] == lengths[1]
    return bool(np.allclose(left / lengths[0], right / lengths[1], rtol=0, atol=1e-6))


def as_model(filter: Compiled | None) -> Any:
    """A compiled filter as the client takes it."""
    return None if filter is None else filter_model(filter.native)


# The models are built as they are and not validated: the dialect has made them, and the client
# would try each condition as every kind that there is, which takes seconds for ten thousand.


def filter_model(query: Any) -> Any:
    """A filter, given as the JSON of the REST interface, as a model of the client.

    Example:
        >>> filter_model({"must": [{"key": "n", "match": {"value": 1}}]}).must[0].key
        'n'
    """
    from qdrant_client import models

    branches: dict[str, Any] = {
        branch: [_condition(one) for one in conditions] for branch, conditions in query.items()
    }
    return models.Filter.model_construct(**branches)


def _condition(condition: Any) -> Any:
    from qdrant_client import models

    if "is_empty" in condition:
        field = models.PayloadField.model_construct(key=condition["is_empty"]["key"])
        return models.IsEmptyCondition.model_construct(is_empty=field)
    if "key" not in condition:
        return filter_model(condition)
    key = condition["key"]
    if "range" in condition:
        return models.FieldCondition.model_construct(key=key, range=_range(condition["range"]))
    match = condition["match"]
    if "any" in match:
        test: Any = models.MatchAny.model_construct(any=match["any"])
    else:
        test = models.MatchValue.model_construct(value=match["value"])
    return models.FieldCondition.model_construct(key=key, match=test)


def _range(bounds: Any) -> Any:
    from qdrant_client import models

    if any(isinstance(bound, str) for bound in bounds.values()):
        return models.DatetimeRange.model_validate(bounds)
    return models.Range.model_construct(**bounds)


# The engine merges what it is given into the object at a path. Two things cannot be said that way:
# a null, which takes the key away, and a key that no path can name. Only for these is the metadata
# read, changed and written back, whole.


def _payload_operations(
    layout: PayloadLayout,
    points: Sequence[Any],
    set: dict[str, Any],
    unset: tuple[str, ...],
    *,
    by_filter: bool,
) -> list[Any]:
    """Operations that change the metadata in the payloads of points.

    With ``by_filter`` the points are named in a filter: one that has been deleted meanwhile is then
    no error.
    """
    from qdrant_client import models

    def select(chosen: Sequence[Any]) -> dict[str, Any]:
        ids = [point.id for point in chosen]
        if not by_filter:
            return {"points": ids}
        return {"filter": models.Filter(must=[models.HasIdCondition(has_id=ids)])}

    where = (layout.metadata,) if layout.metadata else ()
    if None not in set.values() and all(map(is_addressable, unset)):
        operations: list[Any] = []
        if set:
            key = encode_key(where) if where else None
            merged = models.SetPayload(payload=set, key=key, **select(points))
            operations.append(models.SetPayloadOperation(set_payload=merged))
        if unset:
            keys = [encode_key((*where, name)) for name in unset]
            removed = models.DeletePayload(keys=keys, **select(points))
            operations.append(models.DeletePayloadOperation(delete_payload=removed))
        return operations
    if where:
        return [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(
                    payload={
                        layout.metadata: changed(
                            (point.payload or {}).get(layout.metadata) or {}, set, unset
                        )
                    },
                    **select([point]),
                )
            )
            for point in points
        ]
    return [
        models.OverwritePayloadOperation(
            overwrite_payload=models.SetPayload(
                payload=changed(point.payload or {}, set, unset), **select([point])
            )
        )
        for point in points
    ]
