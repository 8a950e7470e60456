"""Listeners to what stores do, none of which can break a call; OpenTelemetry is one of them.

Nothing here imports OpenTelemetry before the application has.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

logger = logging.getLogger("vecstore.observation")

EMBED = "embed"
"""The operation under which calls of the embedder are told, inside the one that needs them."""

DURATION = "db.client.operation.duration"

_LOW_CARDINALITY = ("db.system.name", "db.operation.name", "db.collection.name", "db.namespace")
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)


class Listener:
    """An observer that breaks nothing.

    Args:
        observer: Whom to tell.
    """

    def __init__(self, observer: Any) -> None:
        self._observer = observer
        self._failed = False

    def start(self, operation: str, attributes: dict[str, Any]) -> Any:
        """Tell of the beginning; None when that fails."""
        try:
            return (self._observer.start(operation, attributes),)
        except Exception as error:
            self.failed(error)
            return None

    def end(self, started: Any, duration: float, error: BaseException | None) -> None:
        """Tell of the end of what began."""
        try:
            self._observer.end(started[0], duration=duration, error=error)
        except Exception as failure:
            self.failed(failure)

    def failed(self, error: Exception) -> None:
        """Log the first failure."""
        if not self._failed:
            self._failed = True
            logger.debug("observing a store failed; this is logged once", exc_info=error)


class OpenTelemetry(Listener):
    """The application's tracer and meter, as soon as it has set up any."""

    def __init__(self) -> None:
        super().__init__(None)
        self._providers: tuple[Any, Any] = (None, None)
        self._tracer: Any = None
        self._histogram: Any = None

    def ready(self) -> bool:
        """Whether somebody listens, as far as can be known without importing anything."""
        try:
            providers = (
                _provider("opentelemetry.trace", "get_tracer_provider"),
                _provider("opentelemetry.metrics", "get_meter_provider"),
            )
            if providers[0] is not self._providers[0] or providers[1] is not self._providers[1]:
                self._take(*providers)
        except Exception as error:
            self.failed(error)
        return self._tracer is not None or self._histogram is not None

    def _take(self, tracers: Any, meters: Any) -> None:
        from vecstore import __version__

        self._failed = False
        self._providers = (tracers, meters)
        self._tracer = self._histogram = None
        if tracers is not None:
            self._tracer = tracers.get_tracer("vecstore", __version__)
        if meters is not None:
            self._histogram = meters.get_meter("vecstore", __version__).create_histogram(
                DURATION,
                unit="s",
                description="Duration of operations of vector stores.",
                explicit_bucket_boundaries_advisory=_SECONDS,
            )

    def start(self, operation: str, attributes: dict[str, Any]) -> Any:
        """Begin a span."""
        span = None
        if self._tracer is not None:
            try:
                from opentelemetry.trace import SpanKind

                target = attributes.get("db.collection.name")
                span = self._tracer.start_span(
                    operation if target is None else f"{operation} {target}",
                    kind=SpanKind.INTERNAL if operation == EMBED else SpanKind.CLIENT,
                    attributes=attributes,
                )
            except Exception as error:
                self.failed(error)
        return span, operation, attributes

    def end(self, started: Any, duration: float, error: BaseException | None) -> None:
        """End the span and record the duration."""
        span, operation, attributes = started
        kind = None if error is None else _error_type(error)
        if span is not None:
            try:
                if kind is not None:
                    from opentelemetry.trace import Status, StatusCode

                    # Without its message, which may quote what the caller passed.
                    span.set_attribute("error.type", kind)
                    span.set_status(Status(StatusCode.ERROR))
            except Exception as failure:
                self.failed(failure)
            try:
                span.end()
            except Exception as failure:
                self.failed(failure)
        if self._histogram is not None and operation != EMBED:
            try:
                low = {name: attributes[name] for name in _LOW_CARDINALITY if name in attributes}
                if kind is not None:
                    low["error.type"] = kind
                self._histogram.record(duration, low)
            except Exception as failure:
                self.failed(failure)

    def enter(self, started: Any) -> Any:
        """Make the span the parent of what begins in this thread; the token ends that."""
        if started is None or started[0] is None:
            return None
        try:
            from opentelemetry import context, trace

            return context.attach(trace.set_span_in_context(started[0]))
        except Exception as error:
            self.failed(error)
            return None

    def leave(self, token: Any) -> None:
        """Undo :meth:`enter`."""
        if token is not None:
            try:
                from opentelemetry import context

                context.detach(token)
            except Exception as error:
                self.failed(error)


open_telemetry = OpenTelemetry()
"""One for all stores: the application sets up one tracer and one meter."""


def _provider(module: str, function: str) -> Any:
    """What an application has set up; None while there is only the interface's own stand-in."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return None
    provider = getattr(loaded, function)()
    return None if type(provider).__module__.startswith(module) else provider


def _error_type(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
