"""What the base of a store adds to its bare hook, without telemetry and with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.timing import compare
from vecstore import Document, F, SimpleVectorStore
from vecstore.store.backend import Selection

_HOOK = "the bare hook"


class _Silent:
    def start(self, operation: str, attributes: Any) -> None:
        return

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        return


def _filled(**options: Any) -> SimpleVectorStore:
    store = SimpleVectorStore(**options)
    vectors = np.random.default_rng(0).standard_normal((1_000, 64), dtype=np.float32)
    store.add(
        [
            Document(f"text {number}", {"n": number, "tenant": "a"}, f"{number}", vector)
            for number, vector in enumerate(vectors)
        ]
    )
    return store


def _under_sdk(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call of an application that has set up an SDK."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider

    tracers, meters = TracerProvider(), MeterProvider([InMemoryMetricReader()])

    def observed() -> Any:
        with (
            mock.patch.object(trace, "get_tracer_provider", lambda: tracers),  # noqa: PT008
            mock.patch.object(metrics, "get_meter_provider", lambda: meters),  # noqa: PT008
        ):
            return [call() for _ in range(100)]

    return observed


def run() -> None:
    """Reading one document by its id, where the base is most of the work, and a search."""
    plain, watched = _filled(), _filled(observers=[_Silent()])
    scoped = plain.scoped(F.tenant == "a")
    asked = plain.scoped(lambda: F.tenant == "a")
    query = np.ones(64, np.float32)
    one = Selection(ids=("7",))

    def hundred(call: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: [call() for _ in range(100)]

    compare(
        "get of one document, 100 times",
        {
            _HOOK: hundred(lambda: plain._get(one, limit=None, include_embedding=False)),
            "get": hundred(lambda: plain.get(["7"])),
            "get, an observer": hundred(lambda: watched.get(["7"])),
            "get, an SDK": _under_sdk(lambda: plain.get(["7"])),
            "get, in a scope": hundred(lambda: scoped.get(["7"])),
            "get, in a scope by function": hundred(lambda: asked.get(["7"])),
        },
        baseline=_HOOK,
    )
    compare(
        "search among 1,000 x 64, 100 times",
        {
            _HOOK: hundred(
                lambda: plain._search(query, top_k=4, filter=None, include_embedding=False)
            ),
            "search": hundred(lambda: plain.search(vector=query)),
            "search, an observer": hundred(lambda: watched.search(vector=query)),
            "search, an SDK": _under_sdk(lambda: plain.search(vector=query)),
        },
        baseline=_HOOK,
    )
