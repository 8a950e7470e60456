"""What every engine looks like to a conformance test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self

from vecstore.errors import FilterError

Documents = Mapping[str, Mapping[str, Any]]


class EngineRefused(Exception):
    """The engine would not take a query, or a document; its own words are in the message."""


class Rows(ABC):
    """Documents loaded into one engine, to be selected by that engine's own queries.

    Subclasses write ``_load``, ``_select`` and ``close``, and name the errors by which their engine
    refuses something; these come out as `EngineRefused`. Any other error is a fault of the harness
    and passes through.
    """

    name: ClassVar[str]
    asked_once: ClassVar[bool] = False
    """Whether an answer is kept until other documents are loaded: for engines that take longest.
    To most dialects ``k == 1`` and ``k IN [1]`` are one query."""

    def __init__(self) -> None:
        self._ids: frozenset[str] = frozenset()
        self._loaded: str | None = None
        self._answers: dict[str, frozenset[str]] = {}

    def load(self, rows: Documents) -> None:
        """Replaces what is loaded by ``rows``, a mapping of id to metadata."""
        self._loaded = None
        self._answers.clear()
        with self._refusals("these documents", None):
            self._load(rows)
        self._ids = frozenset(rows)
        self._loaded = _fingerprint(rows)

    def select(self, query: Any, params: Any = None) -> set[str]:
        """The ids that a native query selects; ``query`` may also be a compiled filter.

        A compiled filter is anything with ``query``, ``params``, ``matches_all`` and
        ``matches_nothing``. One that matches all runs as "no filter". One that matches nothing runs
        like any other, and only where its query cannot be read (an engine that has no way to write
        FALSE) does it select nothing without being run.
        """
        if hasattr(query, "matches_nothing"):
            compiled = query
            if compiled.matches_all:
                return self._run(None, None)
            try:
                query, params = compiled.query, compiled.params
            except FilterError:
                if compiled.matches_nothing:
                    return set()
                raise
        return self._run(query, params)

    def run(self, compiled: Any, rows: Documents) -> set[str]:
        """Selects from ``rows``, loading them only when they are not what is loaded already."""
        if self._loaded != _fingerprint(rows):
            self.load(rows)
        return self.select(compiled)

    def _run(self, query: Any, params: Any) -> set[str]:
        if self._loaded is None:
            raise RuntimeError(f"{self.name}: load documents before selecting")
        asked = repr((query, params)) if self.asked_once else ""
        if asked in self._answers:
            return set(self._answers[asked])
        with self._refusals(query, params):
            found = self._select(query, params)
        strangers = found - self._ids
        assert not strangers, f"{self.name} returned ids that were never loaded: {strangers}"
        if self.asked_once:
            self._answers[asked] = frozenset(found)
        return found

    @contextmanager
    def _refusals(self, query: Any, params: Any) -> Iterator[None]:
        try:
            yield
        except self._refused_by() as error:
            shown = str(query) if params is None else f"{query}  with  {params!r}"
            if len(shown) > 1000:
                shown = f"{shown[:1000]}…"
            reason = " ".join(str(error).split())[:1000]
            raise EngineRefused(f"{self.name} refused {shown}: {reason}") from error

    @abstractmethod
    def _refused_by(self) -> tuple[type[Exception], ...]:
        """The errors that mean "the engine refused", looked up late: clients load on demand."""

    @abstractmethod
    def _load(self, rows: Documents) -> None: ...

    @abstractmethod
    def _select(self, query: Any, params: Any) -> set[str]:
        """Runs a native query; ``None`` means no filter."""

    @abstractmethod
    def close(self) -> None:
        """Gives back what the engine holds; closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _fingerprint(rows: Documents) -> str:
    # repr and not ==, which takes True for 1 and would keep the wrong documents loaded.
    return repr({key: dict(value) for key, value in rows.items()})
