"""Qdrant three times: the client's local mode, the real Rust engine in process, and any server.

All three take the filter as the JSON of the REST interface, and all three read it through the
client's own models first: a filter that a server would refuse is refused by each.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import uuid4

from tests.engines.rows import Documents, Rows

# The Rust engine overflows its stack, and kills the process, somewhere past 800 nested filters;
# local mode runs out of Python's stack near 180. A server's JSON reader stops before any of them.
DEEPEST = 128

_PAGE = 10_000
_BRANCHES = ("must", "should", "must_not")


class FilterTooDeep(ValueError):
    """The filter is nested deeper than can be handed to an engine that runs in this process."""


def _depth(filter_json: Any) -> int:
    deepest = 0
    waiting = [(filter_json, 1)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, Mapping):
            if not node.keys().isdisjoint(_BRANCHES):
                deepest = max(deepest, depth)
            nested = node.get("nested")
            if isinstance(nested, Mapping):
                waiting.append((nested.get("filter"), depth + 1))
            for branch in _BRANCHES:
                below = node.get(branch)
                below = below if isinstance(below, list) else [below]
                waiting += [(child, depth + 1) for child in below if isinstance(child, Mapping)]
    return deepest


def remember_paths() -> None:
    """Have the client's local mode read each path once, and not anew for every point.

    It is a quarter of what the tests on it take. What is read stays the client's own: it makes
    lists that it only reads from, and an error is raised anew each time.
    """
    extractor = sys.modules.get("qdrant_client.local.payload_value_extractor")
    if extractor is not None and not hasattr(extractor.parse_json_path, "cache_info"):
        remembered = lru_cache(maxsize=4_096)(extractor.parse_json_path)
        extractor.parse_json_path = remembered  # type: ignore[attr-defined]


def _read(filter_json: Any) -> Any:
    """The client's model of a filter; one that no server would accept does not get this far."""
    from qdrant_client import models

    if _depth(filter_json) > DEEPEST:
        raise FilterTooDeep(f"nested deeper than {DEEPEST} filters")
    return models.Filter.model_validate(filter_json)


class _ClientRows(Rows):
    """Whatever ``qdrant_client`` talks to. Points are numbered, for ids here may be any string."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client
        # Local mode is not safe to use from two threads; one lock costs a server nothing here.
        self._lock = threading.Lock()
        self._collection = ""
        self._names: list[str] = []

    def _refused_by(self) -> tuple[type[Exception], ...]:
        from pydantic import ValidationError
        from qdrant_client.http.exceptions import UnexpectedResponse

        # ValueError: local mode's own word for a key it cannot read.
        return (ValidationError, UnexpectedResponse, ValueError)

    def _load(self, rows: Documents) -> None:
        from qdrant_client import models

        with self._lock:
            self._drop()
            self._collection = f"vecstore_{uuid4().hex}"
            self._client.create_collection(
                self._collection,
                vectors_config=models.VectorParams(size=1, distance=models.Distance.DOT),
            )
            self._names = list(rows)
            points = [
                models.PointStruct(id=number, vector=[1.0], payload=dict(metadata))
                for number, metadata in enumerate(rows.values())
            ]
            if points:
                self._client.upsert(self._collection, points, wait=True)

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Qdrant filter carries its literals itself"
        wanted = None if query is None else _read(query)
        found: set[str] = set()
        offset = None
        with self._lock:
            while True:
                points, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=wanted,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=False,
                    with_vectors=False,
                )
                found.update(self._names[point.id] for point in points)
                if offset is None:
                    return found

    def _drop(self) -> None:
        if self._collection:
            self._client.delete_collection(self._collection)
            self._collection = ""

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._drop()
                self._client.close()
                self._client = None


class QdrantLocalRows(_ClientRows):
    """The local mode of ``qdrant_client``: the same rules, written again in Python."""

    name = "Qdrant (local mode)"
    asked_once = True

    def __init__(self) -> None:
        from qdrant_client import QdrantClient

        super().__init__(QdrantClient(":memory:"))


class QdrantServerRows(_ClientRows):
    """A Qdrant server, for instance the one that ``VECSTORE_QDRANT_URL`` names."""

    name = "Qdrant (server)"

    def __init__(self, url: str) -> None:
        from qdrant_client import QdrantClient

        # The comparison of versions only warns, and from a thread of its own.
        super().__init__(QdrantClient(url=url, check_compatibility=False))


class QdrantEdgeRows(Rows):
    """The engine of the server itself, compiled into ``qdrant_edge``, without the server.

    ``indexes`` maps keys to payload index types ("keyword", "integer", "float", "bool", …): in
    Qdrant an index is not only a matter of speed, and one of the wrong type changes the rows.
    """

    name = "Qdrant (Rust engine)"

    def __init__(self, indexes: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._indexes = dict(indexes or {})
        self._folder: str | None = None
        self._shard: Any = None
        self._names: list[str] = []

    def _refused_by(self) -> tuple[type[Exception], ...]:
        from pydantic import ValidationError

        # The binding speaks in Python's own errors: ValueError for a key it cannot read or a number
        # that JSON has not, TypeError for a value of no use, OverflowError for one out of range.
        return (ValidationError, ValueError, TypeError, OverflowError)

    def _load(self, rows: Documents) -> None:
        import qdrant_edge as edge

        self._drop()
        self._folder = tempfile.mkdtemp(prefix="vecstore-edge-")
        self._shard = edge.EdgeShard.create(
            self._folder,
            edge.EdgeConfig(
                vectors=edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot),
                wal_enabled=False,
            ),
        )
        for key, kind in self._indexes.items():
            schema = getattr(edge.PayloadSchemaType, kind.capitalize())
            self._shard.update(edge.UpdateOperation.create_field_index(key, schema))
        self._names = list(rows)
        points = [
            edge.Point(number, [1.0], dict(metadata))
            for number, metadata in enumerate(rows.values())
        ]
        if points:
            self._shard.update(edge.UpdateOperation.upsert_points(points))

    def _select(self, query: Any, params: Any) -> set[str]:
        import qdrant_edge as edge

        assert not params, "a Qdrant filter carries its literals itself"
        wanted = None if query is None else edge_filter(_read(query))
        found: set[str] = set()
        offset = None
        while True:
            points, offset = self._shard.scroll(
                edge.ScrollRequest(
                    filter=wanted,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=False,
                    with_vector=False,
                )
            )
            found.update(self._names[point.id] for point in points)
            if offset is None:
                return found

    def payloads(self) -> dict[str, Any]:
        """What the engine holds, by name, as it gives it back."""
        import qdrant_edge as edge

        points, _ = self._shard.scroll(
            edge.ScrollRequest(limit=len(self._names), with_payload=True, with_vector=False)
        )
        return {self._names[point.id]: point.payload for point in points}

    def _drop(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def close(self) -> None:
        self._drop()


def edge_filter(model: Any) -> Any:
    """A filter of ``qdrant_client`` as one of ``qdrant_edge``, which reads no JSON itself."""
    import qdrant_edge as edge

    if model.min_should is not None:
        raise NotImplementedError("min_should")
    branches = {}
    for branch in _BRANCHES:
        conditions = getattr(model, branch)
        if conditions is not None:
            conditions = conditions if isinstance(conditions, list) else [conditions]
            branches[branch] = [_edge_condition(condition) for condition in conditions]
    return edge.Filter(**branches)


def _edge_condition(condition: Any) -> Any:
    import qdrant_edge as edge
    from qdrant_client import models

    match condition:
        case models.Filter():
            return edge_filter(condition)
        case models.IsEmptyCondition():
            return edge.IsEmptyCondition(condition.is_empty.key)
        case models.IsNullCondition():
            return edge.IsNullCondition(condition.is_null.key)
        case models.NestedCondition():
            return edge.NestedCondition(condition.nested.key, edge_filter(condition.nested.filter))
        case models.FieldCondition():
            given = {
                name: value for name, value in condition if value is not None and name != "key"
            }
            return edge.FieldCondition(
                condition.key, **{name: _edge_test(name, value) for name, value in given.items()}
            )
    raise NotImplementedError(type(condition).__name__)


def _edge_test(name: str, test: Any) -> Any:
    import numpy as np
    import qdrant_edge as edge
    from qdrant_client import models

    match test:
        case models.MatchValue(value=bool(value)):
            # The binding takes True for the integer 1; numpy's bool it takes for what it is.
            return edge.MatchValue(np.bool_(value))
        case models.MatchValue(value=value):
            return edge.MatchValue(value)
        case models.MatchAny(any=values):
            return edge.MatchAny(values)
        case models.MatchExcept():
            return edge.MatchExcept(test.except_)
        case models.Range():
            return edge.RangeFloat(gte=test.gte, gt=test.gt, lte=test.lte, lt=test.lt)
        case models.DatetimeRange():
            return edge.RangeDateTime(
                **{bound: None if moment is None else moment.isoformat() for bound, moment in test}
            )
        case models.ValuesCount():
            return edge.ValuesCount(**dict(test))
        case bool() if name in ("is_empty", "is_null"):
            return test
    raise NotImplementedError(f"{name}: {type(test).__name__}")
