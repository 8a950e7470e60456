"""Whatever a hook lets out, callers meet an error of this library with the cause in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from vecstore import Document, F
from vecstore.errors import BackendError, DuplicateDocumentError, ScopeError, VecstoreError
from vecstore.store.base import VectorStore


class OddError(Exception):
    def __str__(self) -> str:
        raise ValueError("this error cannot be told")

    __repr__ = __str__


def recursion() -> None:
    recursion()


FAILURES: dict[str, Callable[[], object]] = {
    **{
        kind.__name__: (lambda kind=kind: _raise(kind("s3cret")))  # type: ignore[misc]
        for kind in (OSError, ValueError, KeyError, RuntimeError, MemoryError, TypeError)
    },
    "RecursionError": recursion,
    "OddError": lambda: _raise(OddError()),
    "StopIteration": lambda: _raise(StopIteration()),
    "generator": lambda: list(_stops()),
    "AssertionError": lambda: _raise(AssertionError()),
    "TimeoutError": lambda: _raise(TimeoutError()),
    "ExceptionGroup": lambda: _raise(ExceptionGroup("s3cret", [ValueError("s3cret")])),
}


def _raise(error: Exception) -> None:
    raise error


def _stops() -> Iterator[int]:
    yield 1
    raise StopIteration


HOOKS = (
    "_begin_add",
    "_add",
    "_finish_add",
    "_search",
    "_get",
    "_scan",
    "_delete",
    "_delete_filtered",
    "_clear",
    "_count",
    "_update_metadata",
    "_compile_filter",
    "_check_documents",
    "_stored_ids",
    "_native",
    "_close",
)

Call = Callable[[Any], Any]
CALLS: dict[str, tuple[str, Call]] = {
    "add": ("add", lambda store: store.add([document("new")])),
    "add skip": ("add", lambda store: store.add([document("new")], on_conflict="error")),
    "search": ("search", lambda store: store.search(vector=[1, 1], filter="n > 0")),
    "get": ("get", lambda store: store.get(["1", "2"])),
    "get by filter": ("get", lambda store: store.get(filter="n > 0")),
    "update": ("update_metadata", lambda store: store.update_metadata(["1"], set={"m": 1})),
    "update by filter": (
        "update_metadata",
        lambda store: store.update_metadata(filter="n > 0", set={"tenant": "a"}),
    ),
    "delete": ("delete", lambda store: store.delete(["1"])),
    "delete by filter": ("delete", lambda store: store.delete(filter="n > 0")),
    "count": ("count", lambda store: store.count("n > 0")),
    "scan": ("scan", lambda store: store.scan("n > 0")),
    "clear": ("clear", lambda store: store.clear()),
}


def document(id: str) -> Document:
    return Document(id, {"n": 1, "tenant": "a"}, id, [1, 1])


def filled() -> MinimalStore:
    store = MinimalStore(dimension=2)
    store.add([document(f"{n}") for n in range(4)])
    return store


def fails(store: VectorStore, hook: str, failure: Callable[[], object]) -> None:
    def fail(*arguments: Any, **options: Any) -> Any:
        failure()

    setattr(store, hook, fail)


def failing(hook: str, failure: Callable[[], object]) -> MinimalStore:
    store = filled()
    fails(store, hook, failure)
    return store


def told_by(store: Any, call: Call) -> BaseException | None:
    """What a call raises; an awaited one is awaited, a scan read."""

    async def awaited(answer: Any) -> None:
        if hasattr(answer, "__aiter__"):
            async for _ in answer:
                pass
        else:
            await answer

    try:
        answer = call(store)
        if hasattr(answer, "__await__") or hasattr(answer, "__aiter__"):
            asyncio.run(awaited(answer))
        elif hasattr(answer, "__next__"):
            list(answer)
    except BaseException as error:
        return error
    return None


def check(error: BaseException | None, operation: str) -> bool:
    """Whether there was one; it is of our own, says what failed and why, and shows no text."""
    if error is None:
        return False
    assert isinstance(error, VecstoreError), repr(type(error))
    assert isinstance(error, BackendError), repr(type(error))
    assert error.operation == operation
    assert error.__cause__ is not None
    assert not isinstance(error.__cause__, VecstoreError)
    assert "s3cret" not in str(error)
    return True


VIEWS: dict[str, Callable[[VectorStore], Any]] = {
    "itself": lambda store: store,
    "awaited": lambda store: store.aio,
    "scoped": lambda store: store.scoped(F.tenant == "a"),
}


def meets(hook: str, failure: str, view: str, name: str) -> bool:
    """Whether a call meets the failing hook; what it raises then is no bare error."""
    operation, call = CALLS[name]
    store = filled()
    seen_by = VIEWS[view](store)
    fails(store, hook, FAILURES[failure])
    return check(told_by(seen_by, call), operation)


@cache
def calls_of(hook: str) -> list[tuple[str, str]]:
    """Views and calls that meet a hook: which they are does not hang on how it fails."""
    return [(view, name) for view in VIEWS for name in CALLS if meets(hook, "OSError", view, name)]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("hook", HOOKS[:-2])
def test_no_bare_error(hook: str, failure: str) -> None:
    met = calls_of(hook)
    assert len(met) >= 2, "no call met the failing hook"
    for view, name in met:
        assert meets(hook, failure, view, name), (view, name)


@pytest.mark.parametrize("failure", FAILURES)
def test_no_bare_error_of_scoping_closing_and_the_native_object(failure: str) -> None:
    fail = FAILURES[failure]
    assert check(told_by(failing("_native", fail), lambda store: store.native), "native")
    assert check(told_by(failing("_close", fail), lambda store: store.close()), "close")
    assert check(told_by(failing("_close", fail).aio, lambda store: store.close()), "close")
    scoping = told_by(failing("_compile_filter", fail), lambda store: store.scoped(F.a == 1))
    assert check(scoping, "scoped")


def test_errors_of_our_own_go_through_as_they_are() -> None:
    for error in (
        DuplicateDocumentError("taken", ids=["1"]),
        ScopeError("outside"),
        BackendError("full", operation="add", retryable=True),
    ):
        store = failing("_count", lambda error=error: _raise(error))  # type: ignore[misc]
        assert told_by(store, lambda store: store.count()) is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_goes_through_as_it_is(kind: Any) -> None:
    store = failing("_count", lambda: _raise(kind()))
    assert type(told_by(store, lambda store: store.count())) is kind
    store.close()


def test_what_a_callers_own_code_raises_stays_the_callers() -> None:
    """Arguments, the iterator of an add, and progress are no hooks."""
    store = MinimalStore(dimension=2)

    def documents() -> Iterator[Document]:
        yield document("a")
        raise LookupError("of the caller")

    def progress(done: int, total: int | None) -> None:
        raise ZeroDivisionError("of the caller")

    with pytest.raises(LookupError, match="of the caller"):
        store.add(documents())
    with pytest.raises(ZeroDivisionError, match="of the caller"):
        store.add([document("a")], progress=progress)
    with pytest.raises(ValueError, match="top_k"):
        store.search(vector=[1, 0], top_k=-1)
