"""Observers of the caller's own."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from tests.store.embedders import letters
from vecstore import Document, F, SimpleVectorStore, open_store
from vecstore.errors import ConfigurationError


class Recording:
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.durations: list[float] = []

    def start(self, operation: str, attributes: Any) -> Any:
        self.events.append(("start", operation, dict(attributes)))
        return operation, threading.get_ident()

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        assert started[1] == threading.get_ident()
        self.durations.append(duration)
        self.events.append(("end", started[0], error))

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(event[0], event[1]) for event in self.events]


def test_an_observer_is_told_of_starts_and_ends() -> None:
    first, second = Recording(), Recording()
    store = SimpleVectorStore(letters, observers=[first, second])
    store.add([Document("a", id="a")])
    nested = [("start", "add"), ("start", "embed"), ("end", "embed"), ("end", "add")]
    assert first.names == second.names == nested
    assert first.events[0][2]["db.system.name"] == "memory"
    assert all(0 <= one < 60 for one in first.durations)
    with pytest.raises(ValueError, match="all zeros"):
        store.search(vector=[0, 0, 0, 0])
    assert isinstance(first.events[-1][2], ValueError)
    store.scoped(F.a == 1).count()
    assert first.names[-2:] == [("start", "count"), ("end", "count")]
    scan = store.scan()
    assert first.names[-1] == ("start", "scan")
    list(scan)
    assert first.names[-1] == ("end", "scan")


@pytest.mark.parametrize("failing", ["start", "end"])
def test_an_observer_that_fails_breaks_no_call_and_no_other(failing: str, caplog: Any) -> None:
    class Failing(Recording):
        pass

    def fail(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("not today")

    broken, sound = Failing(), Recording()
    setattr(broken, failing, fail)
    caplog.set_level(logging.DEBUG, "vecstore")
    store = SimpleVectorStore(observers=[broken, sound])
    for _ in range(3):
        assert store.count() == 0
        assert list(store.scan()) == []
    assert len(sound.names) == 12
    (record,) = [one for one in caplog.records if one.name == "vecstore.observation"]
    assert record.levelno == logging.DEBUG


def test_an_observer_that_returns_nothing_is_told_of_the_end() -> None:
    ended: list[Any] = []

    class Silent:
        def start(self, operation: str, attributes: Any) -> None: ...

        def end(self, started: Any, *, duration: float, error: Any) -> None:
            ended.append(started)

    SimpleVectorStore(observers=[Silent()]).count()
    assert ended == [None]


def test_options_by_url_and_wrong_ones() -> None:
    watching = Recording()
    with open_store("memory:", observers=[watching], async_threads=2) as store:
        store.count()
        assert store.async_threads == 2
    assert watching.names == [("start", "count"), ("end", "count")]
    wrong: list[dict[str, Any]] = [
        {"observers": [object()]},
        {"observers": [Recording]},
        {"observers": Recording()},
        {"observers": "abc"},
        {"observe_content": "yes"},
        {"async_threads": 0},
    ]
    for options in wrong:
        with pytest.raises(ConfigurationError):
            SimpleVectorStore(**options)
        with pytest.raises(ConfigurationError):
            open_store("memory:", **options)
