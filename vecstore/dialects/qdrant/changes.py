"""Changing metadata inside payloads: what is named changes, and nothing else is written.

The engine merges what it is given into the object at a path. Two things cannot be said that way: a
null, which takes the key away, and a key that no path can name. Only for these is the metadata
read, changed and written back, whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vecstore.dialects.qdrant.dialect import encode_key, is_addressable
from vecstore.dialects.qdrant.layout import PayloadLayout
from vecstore.store.backend import changed


def payload_operations(
    layout: PayloadLayout,
    points: Sequence[Any],
    set: dict[str, Any],
    unset: tuple[str, ...],
    *,
    by_filter: bool,
) -> list[Any]:
    """Operations that change the metadata of documents.

    Args:
        layout: Where the metadata stands.
        points: The points that hold the documents, with their payloads.
        set: New values of keys at the top of the metadata.
        unset: Keys to take away.
        by_filter: Whether to name the points in a filter: a point that has been deleted meanwhile
            is then no error.
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
