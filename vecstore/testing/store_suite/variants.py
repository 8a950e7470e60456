"""The whole suite once more, through what can stand around a store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from functools import cache
from typing import Any

from vecstore.document import Document
from vecstore.filter.builder import F
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of

_KEY, _VALUE = "suite_tenant", "inside"


class Awaited(StoreSuiteBase):
    """Put before a suite: its tests call the store's asynchronous twin."""

    def view(self, made: VectorStore) -> Any:
        return AwaitedStore(made)


class Scoped(StoreSuiteBase):
    """Put before a suite: its tests see a scope of the store, which also holds other documents."""

    def view(self, made: VectorStore) -> VectorStore:
        if made.dimension is not None:
            made.add(
                [
                    Document(f"outside {n}", {"n": n, _KEY: "outside"}, self._outside(n, made),
                             vector_of(f"outside {n}", made.dimension))
                    for n in range(5)
                ]
            )  # fmt: skip
        return made.scoped(F[_KEY] == _VALUE)

    def stored(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().stored(metadata), _KEY: _VALUE}

    def _outside(self, number: int, made: VectorStore) -> str:
        charset = made.capabilities.id_charset
        if charset in ("uuid", "uuid_or_number"):
            return f"00000000-0000-0000-0000-{number:012}"
        return f"{number + 1}" if charset == "integer" else f"outside-{number}"


class Observed(StoreSuiteBase):
    """Put before a suite: an observer that always fails watches its stores, to no effect."""

    def view(self, made: VectorStore) -> VectorStore:
        made._set_up(observers=[_Failing()], embed_as=made.embed_as)
        return made


class AwaitedStore:
    """A store whose methods await those of its asynchronous twin, on an event loop of their own."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store.aio, name, None)
        if not asyncio.iscoroutinefunction(found):
            return getattr(self._store, name)
        return lambda *arguments, **options: _awaited(found(*arguments, **options))

    def scan(self, *arguments: Any, **options: Any) -> Iterator[Document]:
        """The documents that the asynchronous scan finds."""
        documents = self._store.aio.scan(*arguments, **options)
        # Refused filters are told by the call, as they are where nothing is awaited.
        first = _awaited(anext(documents, None))

        def found() -> Iterator[Document]:
            document = first
            try:
                while document is not None:
                    self._store._check_open()
                    yield document
                    document = _awaited(anext(documents, None))
            finally:
                _awaited(documents.aclose())

        return found()

    def scoped(self, scope: Any) -> AwaitedStore:
        """A view, awaited as well."""
        return AwaitedStore(self._store.scoped(scope))

    def __enter__(self) -> AwaitedStore:
        _awaited(self._store.aio.__aenter__())
        return self

    def __exit__(self, *exception: object) -> None:
        _awaited(self._store.aio.__aexit__(*exception))

    def __repr__(self) -> str:
        return repr(self._store)


class _Failing:
    def start(self, operation: str, attributes: Mapping[str, Any]) -> Any:
        if len(operation) % 2:
            raise RuntimeError("an observer that fails at the start")

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        raise RuntimeError("an observer that fails at the end")


def _awaited(coroutine: Any) -> Any:
    async def wait() -> Any:
        return await coroutine

    task: Coroutine[Any, Any, Any] = wait()
    return asyncio.run_coroutine_threadsafe(task, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="suite loop").start()
    return loop
