"""One operation of a store on its way, and everybody who is told of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from vecstore.calls import AddCall, Call, ScanCall, SearchCall
from vecstore.document import Document
from vecstore.errors import ConfigurationError
from vecstore.observation.telemetry import EMBED, Listener, logger, open_telemetry

if TYPE_CHECKING:
    from vecstore.operations import StoreOperations

Result = TypeVar("Result")
Attributes = dict[str, Any]

_CONTENT_ITEMS, _CONTENT_LENGTH = 10, 1_000


class Observer(Protocol):
    """What ``observers=[...]`` of a store takes: another system that is told of each operation.

    Both methods are called in the thread that does the work. What they raise is logged once, on
    the level of debugging, and otherwise ignored.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the documents of a store are, as traces name it.

    Attributes:
        system: The database system, as OpenTelemetry calls it.
        collection: The table or collection.
        namespace: The database, with a schema where there is one.
    """

    system: str
    collection: str | None = None
    namespace: str | None = None


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
        try:
            return work()
        finally:
            open_telemetry.leave(token)

    def end(self, error: BaseException | None) -> None:
        """Tell of the end; once."""
        duration = time.perf_counter() - self._began
        started, self._started = self._started, []
        for listener, state in reversed(started):
            listener.end(state, duration, error)


def is_observed(listeners: Sequence[Listener]) -> bool:
    """Whether it is worth asking :func:`observed`: somebody may be listening."""
    modules = sys.modules
    return bool(listeners) or "opentelemetry.trace" in modules or "opentelemetry.metrics" in modules


def observed(store: StoreOperations, call: Call[Result], run: Callable[[], Result]) -> Result:
    """Run an operation, and tell of it."""
    root = store._root
    listeners = _listeners(root._listeners)
    if not listeners:
        return run()
    operation = _Operation(listeners, call.operation, _attributes(root, call))
    result = _run(operation, run)
    if isinstance(call, ScanCall):
        return cast(Result, _ObservedScan(cast("Iterator[Document]", result), operation))
    operation.end(None)
    return result


def observed_embedding(store: StoreOperations, count: int, run: Callable[[], Result]) -> Result:
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
        token = open_telemetry.enter(self._operation._otel)
        try:
            return next(self._documents)
        except StopIteration:
            self._operation.end(None)
            raise
        except BaseException as error:
            self._operation.end(error)
            raise
        finally:
            open_telemetry.leave(token)

    def close(self) -> None:
        """Give back what the scan holds."""
        close = getattr(self._documents, "close", None)
        if close is not None:
            close()
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


def _attributes(store: StoreOperations, call: Call[Any]) -> Attributes:
    """What is told of an operation; what is not known is left out."""
    found: Attributes = {"db.operation.name": call.operation}
    try:
        place = store._place()
        found["db.system.name"] = place.system
        found["db.collection.name"] = place.collection
        found["db.namespace"] = place.namespace
        found["db.vector.dimension_count"] = store.dimension
        found["db.search.similarity_metric"] = store.metric
        if isinstance(call, SearchCall):
            found["db.vector.query.top_k"] = call.request.top_k
            found["db.vector.query.similarity_threshold"] = call.request.threshold
        if store._observe_content:
            found.update(_content(call))
    except Exception as error:
        open_telemetry.failed(error)
    return {name: value for name, value in found.items() if value is not None}


def _content(call: Call[Any]) -> Attributes:
    """What users wrote; told only where that was switched on."""
    found: Attributes = {}
    filter = getattr(call, "filter", None)
    if filter is not None:
        found["db.vector.query.filter"] = str(filter)[:_CONTENT_LENGTH]
    if isinstance(call, SearchCall) and call.request.query is not None:
        found["db.vector.query.content"] = call.request.query[:_CONTENT_LENGTH]
    if isinstance(call, AddCall) and isinstance(call.documents, Collection):
        found["vecstore.documents"] = [
            one.text[:_CONTENT_LENGTH]
            for one in list(call.documents)[:_CONTENT_ITEMS]
            if isinstance(one, Document)
        ]
    return found


_warned = False


def _warn_of_content() -> None:
    global _warned
    if not _warned:
        _warned = True
        logger.warning(
            "observe_content=True puts query texts, filter values and document texts into traces; "
            "leave it out where they may be confidential"
        )
