"""How the engine of the server merges payloads, on which changes to metadata stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

PAYLOADS: list[dict[str, Any]] = [
    {},
    {"metadata": None, "x": 1},
    {"metadata": {}},
    {"metadata": {"n": 1, "null": None, "deep": {"a": None}, 'a"b': 3}, "t": [1, None], "x": None},
]


class Engine:
    def __init__(self, folder: Path) -> None:
        import qdrant_edge as edge

        self.change = edge.UpdateOperation
        size = edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot)
        self.shard = edge.EdgeShard.create(
            str(folder), edge.EdgeConfig(vectors=size, wal_enabled=False)
        )
        points = [edge.Point(n, [1.0], payload) for n, payload in enumerate(PAYLOADS)]
        self.shard.update(self.change.upsert_points(points))
        self.ids = list(range(len(PAYLOADS)))

    def set(self, payload: dict[str, Any], key: str | None = None) -> None:
        self.shard.update(self.change.set_payload(self.ids, payload, key))

    def delete(self, keys: list[str]) -> None:
        self.shard.update(self.change.delete_payload(self.ids, keys))

    def payloads(self) -> list[Any]:
        found = self.shard.retrieve(self.ids, with_payload=True, with_vector=False)
        return [point.payload for point in sorted(found, key=lambda point: point.id)]


class Local:
    def __init__(self, folder: Path) -> None:
        self.client = QdrantClient(":memory:")
        size = models.VectorParams(size=1, distance=models.Distance.DOT)
        self.client.create_collection("c", vectors_config=size)
        self.ids: list[Any] = list(range(len(PAYLOADS)))
        self.client.upsert(
            "c",
            [models.PointStruct(id=n, vector=[1.0], payload=one) for n, one in enumerate(PAYLOADS)],
        )

    def set(self, payload: dict[str, Any], key: str | None = None) -> None:
        self.client.set_payload("c", payload, self.ids, key)

    def delete(self, keys: list[str]) -> None:
        self.client.delete_payload("c", keys, self.ids)

    def payloads(self) -> list[Any]:
        return [point.payload for point in self.client.retrieve("c", self.ids)]


@pytest.mark.parametrize("kind", [Engine, Local])
def test_merging(kind: Any, tmp_path: Path) -> None:
    engine = kind(tmp_path)
    new = {"n": 5, "a.b[]": {"c": None}, "list": []}
    engine.set(new, "metadata")
    expected = [{**one, "metadata": {**(one.get("metadata") or {}), **new}} for one in PAYLOADS]
    assert engine.payloads() == expected
    engine.delete(['metadata."a.b[]"', "metadata.list", "metadata.never.there"])
    for payload in expected:
        del payload["metadata"]["a.b[]"], payload["metadata"]["list"]
    assert engine.payloads() == expected
    # At the top an object is replaced whole; below the top, nulls are kept.
    engine.set({"metadata": {"n": None, "z": []}})
    assert engine.payloads() == [
        {**payload, "metadata": {"n": None, "z": []}} for payload in expected
    ]
    # The reason for writing metadata whole where it holds a null: a null takes its key away.
    engine.set({"n": None}, "metadata")
    assert [one["metadata"] for one in engine.payloads()] == [{"z": []}] * len(PAYLOADS)
