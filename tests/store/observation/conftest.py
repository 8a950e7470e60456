from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Telemetry:
    """A real SDK, whose spans and metrics stay in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader])

    @property
    def spans(self) -> list[Any]:
        """All that have ended, in that order."""
        return list(self._exporter.get_finished_spans())

    def spans_of(self, operation: str) -> list[Any]:
        return [one for one in self.spans if one.name.partition(" ")[0] == operation]

    @property
    def points(self) -> list[Any]:
        """The points of the duration metric."""
        data = self._reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
            if metric.name == "db.client.operation.duration" and metric.unit == "s"
        ]


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """What an application sets up, for the time of one test."""
    found = Telemetry()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.tracers)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: found.meters)
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()
