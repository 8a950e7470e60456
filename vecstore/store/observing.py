"""Telling others what a store does: OpenTelemetry where it is set up, and the caller's observers.

Nothing here imports OpenTelemetry before the application has, and no failure of a tracer, an
exporter or an observer reaches a caller.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from vecstore import process
from vecstore.document import Document
from vecstore.errors import ConfigurationError

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore
    from vecstore.store.operations import Call

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
            return (self._observer.start(operation, dict(attributes)),)
        except Exception as error:
            self.failed(error)
            return None

    def end(self, started: Any, duration: float, error: BaseException | None) -> None:
        """Tell of the end of what began."""
        try:
            self._observer.end(started[0], duration=duration, error=error)
        except Exception as failure:
            self.failed(failure)

    def note(self, started: Any, attributes: Mapping[str, Any]) -> None:
        """Tell an observer that asks for it what turned out about what began."""
        try:
            told = getattr(self._observer, "note", None)
            if told is not None:
                told(started[0], dict(attributes))
        except Exception as error:
            self.failed(error)

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

    def note(self, started: Any, attributes: Mapping[str, Any]) -> None:
        """Put what turned out into the span."""
        if started[0] is not None:
            try:
                started[0].set_attributes(dict(attributes))
            except Exception as error:
                self.failed(error)

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


Result = TypeVar("Result")
Attributes = dict[str, Any]


class Observer(Protocol):
    """What ``observers=[...]`` of a store takes: another system that is told of each operation.

    Both methods are called in the thread that does the work. What they raise is logged once, on
    the level of debugging, and otherwise ignored. One that has a third method,
    ``note(started, attributes)``, is told by it what turns out on the way, such as how many
    documents were looked at for what the engine could not answer.

    Example:
        >>> from vecstore import SimpleVectorStore
        >>> class Printing:
        ...     def start(self, operation, attributes):
        ...         return operation
        ...
        ...     def end(self, started, *, duration, error):
        ...         print(started, "failed" if error else "done")
        >>> SimpleVectorStore(observers=[Printing()]).count()
        count done
        0
    """

    def start(self, operation: str, attributes: Mapping[str, Any], /) -> Any:
        """An operation begins; what is returned comes back with its end."""

    def end(self, started: Any, /, *, duration: float, error: BaseException | None) -> None:
        """It has ended, after so many seconds; ``error`` is what it raised."""


_here = threading.local()
"""The operation that is told of in this thread, as ``operation``."""


@process.in_forked_child
def _tell_of_nothing() -> None:
    global _here
    _here = threading.local()


def note(attributes: Mapping[str, Any]) -> None:
    """Tell those who listen to the operation at work in this thread what turned out about it."""
    operation: _Operation | None = getattr(_here, "operation", None)
    if operation is not None:
        operation.note(attributes)


class _Operation:
    """One operation on its way, told to everybody who listens."""

    __slots__ = ("_began", "_otel", "_started")

    def __init__(self, listeners: Sequence[Listener], name: str, attributes: Attributes) -> None:
        self._began = time.perf_counter()
        self._otel: Any = None
        self._started: list[tuple[Listener, Any]] = []
        for listener in listeners:
            started = listener.start(name, attributes)
            if started is not None:
                self._started.append((listener, started))
                if listener is open_telemetry:
                    self._otel = started

    def run(self, work: Callable[[], Result]) -> Result:
        """Do a part of the work, as a parent of what it starts itself."""
        token = open_telemetry.enter(self._otel)
        around, _here.operation = getattr(_here, "operation", None), self
        try:
            return work()
        finally:
            _here.operation = around
            open_telemetry.leave(token)

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Tell of what turned out on the way."""
        for listener, state in self._started:
            listener.note(state, attributes)

    def end(self, error: BaseException | None) -> None:
        """Tell of the end; once."""
        duration = time.perf_counter() - self._began
        started, self._started = self._started, []
        for listener, state in reversed(started):
            listener.end(state, duration, error)


def observed(store: VectorStore, call: Call[Result], run: Callable[[], Result]) -> Result:
    """Run an operation, and tell of it."""
    root = store._root
    listeners = _listeners(root._listeners)
    if not listeners:
        return run()
    operation = _Operation(listeners, call.operation, _attributes(root, call))
    result = _run(operation, run)
    if call.operation == "scan":
        return cast(Result, _ObservedScan(cast("Iterator[Document]", result), operation))
    operation.end(None)
    return result


def observed_embedding(store: VectorStore, count: int, run: Callable[[], Result]) -> Result:
    """Call the embedder, and tell of it."""
    listeners = _listeners(store._listeners)
    if not listeners:
        return run()
    attributes = {"gen_ai.operation.name": "embeddings", "vecstore.embedding.texts": count}
    operation = _Operation(listeners, EMBED, attributes)
    result = _run(operation, run)
    operation.end(None)
    return result


def read_observers(observers: Iterable[Any], content: bool) -> tuple[Listener, ...]:
    """The options ``observers`` and ``observe_content``.

    Raises:
        ConfigurationError: If one of them is none.
    """
    if isinstance(observers, str | Mapping) or not isinstance(observers, Iterable):
        raise ConfigurationError("observers is a list: observers=[...]")
    listed = list(observers)
    for one in listed:
        methods = [getattr(one, name, None) for name in ("start", "end")]
        if isinstance(one, type) or not all(callable(method) for method in methods):
            raise ConfigurationError(
                "an observer has the methods start(operation, attributes) and "
                f"end(started, *, duration, error); a {type(one).__name__} has not"
            )
    if not isinstance(content, bool):
        raise ConfigurationError(f"observe_content is True or False, not {content!r}")
    if content:
        _warn_of_content()
    return tuple(Listener(one) for one in listed)


class _ObservedScan:
    """The documents of a scan, whose operation ends with the last of them or with :meth:`close`."""

    def __init__(self, documents: Iterator[Document], operation: _Operation) -> None:
        self._documents = documents
        self._operation = operation

    def __iter__(self) -> _ObservedScan:
        return self

    def __next__(self) -> Document:
        try:
            document: Document = self._operation.run(partial(next, self._documents))
            return document
        except StopIteration:
            self._operation.end(None)
            raise
        except BaseException as error:
            self._operation.end(error)
            raise

    def close(self) -> None:
        """Give back what the scan holds."""
        close = getattr(self._documents, "close", None)
        if close is not None:
            self._operation.run(close)
        self._operation.end(None)

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


def _run(operation: _Operation, work: Callable[[], Result]) -> Result:
    try:
        return operation.run(work)
    except BaseException as error:
        operation.end(error)
        raise


def _listeners(own: tuple[Listener, ...]) -> tuple[Listener, ...]:
    return (*own, open_telemetry) if open_telemetry.ready() else own


def _attributes(store: VectorStore, call: Call[Any]) -> Attributes:
    """What is told of an operation; what is not known is left out."""
    found: Attributes = {"db.operation.name": call.operation}
    try:
        place = store._place()
        found["db.system.name"] = place.system
        found["db.collection.name"] = place.collection
        found["db.namespace"] = place.namespace
        found["db.vector.dimension_count"] = store.dimension
        found["db.search.similarity_metric"] = store.metric
        found.update(call.attributes())
        if store._observe_content:
            found.update(call.content())
    except Exception as error:
        open_telemetry.failed(error)
    return {name: value for name, value in found.items() if value is not None}


_warned = False


def _warn_of_content() -> None:
    global _warned
    if not _warned:
        _warned = True
        logger.warning(
            "observe_content=True puts query texts, filter values and document texts into traces; "
            "leave it out where they may be confidential"
        )
