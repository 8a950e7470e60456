"""IN and NOT IN with long lists on Qdrant, against the engine's own condition for such a list."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.timing import duration, interleaved, show
from vecstore import Document, Expression, F
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.points import filter_model
from vecstore.dialects.qdrant.store import QdrantStore

ROWS = 3_000
LENGTHS = (10, 100, 1_000, 10_000)


def run() -> None:
    """Print a table for local mode, and one for the engine of the server."""
    payloads = [{"text": f"text-{n}", "number": n, "float": n + 0.5} for n in range(ROWS)]
    _local(payloads)
    _engine(payloads)


def _filters(length: int) -> dict[str, Expression]:
    numbers = [7 * n for n in range(length)]
    return {
        "text": F.text.in_([f"text-{n}" for n in numbers]),
        "number": F.number.in_(numbers),
        "float": F.float.in_([n + 0.5 for n in numbers]),
        "not text": F.text.not_in([f"text-{n}" for n in numbers]),
        "not number": F.number.not_in(numbers),
    }


def _table(title: str, make: Callable[[Expression, int], dict[str, Callable[[], Any]]]) -> None:
    rows: list[list[str]] = []
    for length in LENGTHS:
        for name, filter in _filters(length).items():
            times = interleaved(make(filter, length), rounds=1 if length > 1_000 else 3)
            native = times["match any"]
            rows.append(
                [
                    f"{name}, {length:,} values",
                    duration(times["vecstore"]),
                    duration(native),
                    f"{times['vecstore'] / native:.2f}",
                ]
            )
    show(title, ["", "vecstore", "match any", "ratio"], rows)


def _native(filter: Expression) -> Any:
    """``match any``, which is exact for texts; for numbers it leaves floats out."""
    values = [value for value in filter.value.items if not isinstance(value, float)]
    any_of = {"key": f"metadata.{filter.key}", "match": {"any": values or [0]}}
    branch = "must_not" if filter.op.symbol == "NOT IN" else "must"
    return {branch: [any_of]}


def _local(payloads: list[dict[str, Any]]) -> None:
    with QdrantStore("docs", location=":memory:", dimension=1, metric="dot") as store:
        store.add([Document("", one, id=str(n), embedding=[1]) for n, one in enumerate(payloads)])

        def make(filter: Expression, length: int) -> dict[str, Callable[[], Any]]:
            wanted = filter_model(_native(filter))
            return {
                "vecstore": lambda: store.count(filter),
                "match any": lambda: store.native.count("docs", wanted),
            }

        _table(f"Local mode, {ROWS:,} points: store.count(filter)", make)


def _engine(payloads: list[dict[str, Any]]) -> None:
    import qdrant_edge as edge

    from tests.engines.qdrant import edge_filter

    with tempfile.TemporaryDirectory() as folder:
        size = edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot)
        shard = edge.EdgeShard.create(folder, edge.EdgeConfig(vectors=size, wal_enabled=False))
        points = [edge.Point(n, [1.0], {"metadata": one}) for n, one in enumerate(payloads)]
        shard.update(edge.UpdateOperation.upsert_points(points))
        dialect = Qdrant(prefix="metadata")

        def make(filter: Expression, length: int) -> dict[str, Callable[[], Any]]:
            requests = [
                edge.CountRequest(filter=edge_filter(filter_model(query)))
                for query in (dialect.compile(filter, limits=None).query, _native(filter))
            ]
            return {
                "vecstore": lambda: shard.count(requests[0]),
                "match any": lambda: shard.count(requests[1]),
            }

        _table(f"The engine of the server, {ROWS:,} points, no index", make)
        shard.close()


if __name__ == "__main__":
    run()
