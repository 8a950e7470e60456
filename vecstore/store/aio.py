"""The asynchronous side of a store: the same calls, awaited.

Each call is run as it is in a thread of the store's own pool, in the context of whoever awaits it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, Unpack, overload

from vecstore import process
from vecstore.cancelling import AwaitedCall, check_stop
from vecstore.document import Document
from vecstore.filter.tree import FilterInput
from vecstore.spellings import NoOptions, unknown_keyword, unknown_method
from vecstore.store.added import Added
from vecstore.store.arguments import KeyInput, Residual, SearchOptions, SearchRequest
from vecstore.store.capabilities import OnConflict, OnError
from vecstore.store.operations import (
    AddCall,
    Call,
    ClearCall,
    CountCall,
    DeleteCall,
    ExplainCall,
    GetCall,
    Progress,
    ScanCall,
    UpdateMetadataCall,
)
from vecstore.store.ordering import Page, PageCall
from vecstore.store.residual import Explanation
from vecstore.store.searching import EmbedQueryCall, SearchCall, SearchManyCall
from vecstore.store.statistics import (
    MAX_FIELDS,
    MAX_VALUES,
    DistinctCall,
    DistinctValues,
    FieldInfo,
    FieldsCall,
    MinMax,
    MinMaxCall,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.store.base import VectorStore
    from vecstore.store.scope import ScopeInput
    from vecstore.vectors import Vector

Result = TypeVar("Result")


class AsyncVectorStore:
    """What ``store.aio`` is: the methods of :class:`~vecstore.VectorStore`, to be awaited.

    At most ``async_threads`` calls of a store run at the same time; the others wait for their turn
    without blocking the event loop. A cancelled call is left at once: what the engine is doing at
    that moment comes to its end, and nothing else begins. The ``asyncio.CancelledError`` of an
    ``add`` has a list ``stored_ids`` of what was stored, to which the batch in flight is appended
    when it ends. The embedder's ``aembed_documents`` and ``aembed_query`` are awaited where they
    exist. What the store in memory answers sooner than a thread would begin is answered at once.

    Example:
        >>> import asyncio
        >>> from vecstore import Document, SimpleVectorStore
        >>> async def main():
        ...     async with SimpleVectorStore().aio as store:
        ...         await store.add([Document("Hello", {"n": 1}, id="a", embedding=[1, 0])])
        ...         found, count = await asyncio.gather(
        ...             store.search(vector=[1, 1], filter="n == 1"), store.count()
        ...         )
        ...         return [document.id for document in found], count
        >>> asyncio.run(main())
        (['a'], 1)
    """

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    @property
    def store(self) -> VectorStore:
        """The store itself."""
        return self._store

    async def add(
        self,
        documents: Iterable[Document],
        *,
        on_conflict: OnConflict = "replace",
        on_error: OnError = "raise",
        embed: bool = True,
        progress: Progress | None = None,
        **unknown: Unpack[NoOptions],
    ) -> Added:
        """See :meth:`VectorStore.add`; ``progress`` is called in a worker thread."""
        if unknown:
            raise unknown_keyword("add", unknown)
        return await self._execute(AddCall.read(documents, on_conflict, on_error, embed, progress))

    async def search(
        self,
        query: str | SearchRequest | None = None,
        *,
        vector: ArrayLike | None = None,
        top_k: int = 4,
        offset: int = 0,
        threshold: float | None = None,
        filter: FilterInput = None,
        ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        diversity: float | None = None,
        fetch_k: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[Document]:
        """See :meth:`VectorStore.search`."""
        if unknown:
            raise unknown_keyword("search", unknown)
        options = SearchOptions(
            top_k,
            threshold,
            filter,
            include_embedding,
            offset,
            residual,
            residual_limit,
            diversity,
            fetch_k,
            ids,
            exclude_ids,
        )
        return await self._execute(SearchCall.read(query, vector, options))

    async def search_many(
        self,
        queries: Iterable[str | SearchRequest] | None = None,
        *,
        vectors: Iterable[ArrayLike] | None = None,
        top_k: int = 4,
        offset: int = 0,
        threshold: float | None = None,
        filter: FilterInput = None,
        ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        diversity: float | None = None,
        fetch_k: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[list[Document]]:
        """See :meth:`VectorStore.search_many`."""
        if unknown:
            raise unknown_keyword("search_many", unknown)
        options = SearchOptions(
            top_k,
            threshold,
            filter,
            include_embedding,
            offset,
            residual,
            residual_limit,
            diversity,
            fetch_k,
            ids,
            exclude_ids,
        )
        return await self._execute(SearchManyCall.read(queries, vectors, options))

    async def embed_query(self, text: str) -> Vector:
        """See :meth:`VectorStore.embed_query`."""
        return await self._execute(EmbedQueryCall.read(text))

    def relevance(self, score: float) -> float:
        """See :meth:`VectorStore.relevance`; there is nothing to await."""
        return self._store.relevance(score)

    @overload
    async def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        order_by: None = None,
        after: None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> list[Document]: ...

    @overload
    async def get(
        self,
        ids: None = None,
        *,
        filter: FilterInput = None,
        order_by: str,
        after: str | None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
    ) -> Page: ...

    async def get(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        order_by: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[Document]:
        """See :meth:`VectorStore.get`."""
        if unknown:
            raise unknown_keyword("get", unknown)
        if order_by is not None or after is not None:
            return await self._execute(
                PageCall.read(
                    ids,
                    filter,
                    order_by,
                    after,
                    limit,
                    include_embedding,
                    residual,
                    residual_limit,
                )
            )
        return await self._execute(
            GetCall.read(ids, filter, limit, include_embedding, residual, residual_limit)
        )

    async def update_metadata(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        set: Mapping[str, Any] = {},
        unset: Iterable[str] = (),
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int:
        """See :meth:`VectorStore.update_metadata`."""
        if unknown:
            raise unknown_keyword("update_metadata", unknown)
        return await self._execute(
            UpdateMetadataCall.read(ids, filter, set, unset, residual, residual_limit)
        )

    @overload
    async def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: Literal[False] = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int: ...

    @overload
    async def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: Literal[True],
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> list[str]: ...

    async def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        filter: FilterInput = None,
        return_ids: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int | list[str]:
        """See :meth:`VectorStore.delete`."""
        if unknown:
            raise unknown_keyword("delete", unknown)
        return await self._execute(
            DeleteCall.read(ids, filter, return_ids, residual, residual_limit)
        )

    async def count(
        self,
        filter: FilterInput = None,
        *,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> int:
        """See :meth:`VectorStore.count`."""
        if unknown:
            raise unknown_keyword("count", unknown)
        return await self._execute(CountCall.read(filter, residual, residual_limit))

    async def fields(
        self,
        filter: FilterInput = None,
        *,
        max_fields: int | None = MAX_FIELDS,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> dict[str, FieldInfo]:
        """See :meth:`VectorStore.fields`."""
        if unknown:
            raise unknown_keyword("fields", unknown)
        return await self._execute(FieldsCall.read(filter, max_fields, residual, residual_limit))

    async def distinct(
        self,
        key: KeyInput,
        filter: FilterInput = None,
        *,
        limit: int | None = None,
        max_values: int | None = MAX_VALUES,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> DistinctValues:
        """See :meth:`VectorStore.distinct`."""
        if unknown:
            raise unknown_keyword("distinct", unknown)
        return await self._execute(
            DistinctCall.read(key, filter, limit, max_values, residual, residual_limit)
        )

    async def minmax(
        self,
        key: KeyInput,
        filter: FilterInput = None,
        *,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> MinMax:
        """See :meth:`VectorStore.minmax`."""
        if unknown:
            raise unknown_keyword("minmax", unknown)
        return await self._execute(MinMaxCall.read(key, filter, residual, residual_limit))

    async def explain(
        self, filter: FilterInput = None, **unknown: Unpack[NoOptions]
    ) -> Explanation:
        """See :meth:`VectorStore.explain`."""
        if unknown:
            raise unknown_keyword("explain", unknown)
        return await self._execute(ExplainCall.read(filter))

    def scan(
        self,
        filter: FilterInput = None,
        *,
        batch_size: int = 256,
        text: bool = True,
        include_embedding: bool = False,
        residual: Residual | None = None,
        residual_limit: int | None = None,
        **unknown: Unpack[NoOptions],
    ) -> AsyncGenerator[Document, None]:
        """See :meth:`VectorStore.scan`; for ``async for``.

        Leaving the loop early gives back what the scan holds as soon as the generator is closed:
        at once within ``async with contextlib.aclosing(store.aio.scan()) as documents``.
        """
        if unknown:
            raise unknown_keyword("scan", unknown)
        call = ScanCall.read(filter, batch_size, text, include_embedding, residual, residual_limit)
        store = self._store._entered()
        return self._scanned(_Scan(lambda: store._execute(call)), call.batch_size)

    if not TYPE_CHECKING:  # a type checker would believe that there is every attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Only what Python has not found: perhaps another library's name for something here."""
            raise unknown_method(self, name, "await ")

    async def clear(self) -> int:
        """See :meth:`VectorStore.clear`."""
        return await self._execute(ClearCall())

    def scoped(self, scope: ScopeInput) -> AsyncVectorStore:
        """See :meth:`VectorStore.scoped`; a function is asked where the call is made."""
        return AsyncVectorStore(self._store.scoped(scope))

    async def close(self) -> None:
        """Wait for the calls in flight, then close the store; see :meth:`VectorStore.close`."""
        root = self._store._root
        if self._store is not root:
            self._store.close()
            return
        workers = root._workers
        if workers is not None and workers.pid == process.pid:
            await asyncio.to_thread(wait, list(workers.pending))
        await self._in_worker(self._store.close)

    async def __aenter__(self) -> Self:
        self._store._check_open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{self._store!r}.aio>"

    # --- the one way to the store ------------------------------------------------------------

    async def _execute(self, call: Call[Result]) -> Result:
        # What depends on the caller's own context is asked here, before the hop.
        store = self._store._entered()
        if store._root._is_quick(call):
            # Others get their turn, as they would while a thread works.
            await asyncio.sleep(0)
            return store._execute(call)
        return await self._in_worker(partial(store._execute, call))

    async def _in_worker(self, work: Callable[[], Result]) -> Result:
        call = AwaitedCall(asyncio.get_running_loop())
        future = self._begin(call, work)
        if future is None:
            return work()
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError as error:
            call.stop()
            error.stored_ids = call.stored_ids  # type: ignore[attr-defined]
            raise

    def _begin(self, call: AwaitedCall, work: Callable[[], Result]) -> Future[Result] | None:
        """Hand the work to a thread; None when the store is closed, of which the work will tell."""
        workers = workers_of(self._store._root)
        if workers is None:
            return None
        return workers.submit(partial(copy_context().run, call.run, work))

    async def _scanned(self, scan: _Scan, size: int) -> AsyncGenerator[Document, None]:
        try:
            while documents := await self._in_worker(partial(scan.take, size)):
                for document in documents:
                    self._store._check_open()
                    yield document
        except asyncio.CancelledError:
            # Not awaited: the thread that is still reading goes first.
            scan.ended = True
            if self._begin(AwaitedCall(asyncio.get_running_loop()), scan.close) is None:
                scan.close()
            raise
        finally:
            if not scan.ended:
                await self._in_worker(scan.close)


class Workers:
    """The threads that run the awaited calls of one store.

    Args:
        size: How many threads at most.

    Attributes:
        pid: The process that has the threads; a forked child has none of them.
        pending: What was submitted and has not ended.
    """

    def __init__(self, size: int) -> None:
        self.pid = process.pid
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="vecstore")
        self.pending: set[Future[Any]] = set()

    def submit(self, work: Callable[[], Result]) -> Future[Result] | None:
        """Run something in a thread; None after :meth:`close`."""
        try:
            future = self._pool.submit(work)
        except RuntimeError:
            return None
        self.pending.add(future)
        future.add_done_callback(self.pending.discard)
        return future

    def close(self) -> None:
        """Take on nothing new, and let the threads end when they have nothing to do."""
        self._pool.shutdown(wait=False)


_making = threading.Lock()


@process.in_forked_child
def _forget_who_was_making() -> None:
    global _making
    _making = threading.Lock()


def workers_of(store: Any) -> Workers | None:
    """The workers of a store, made at the first call in a process; None when it is closed."""
    workers: Workers | None = store._workers
    if workers is None or workers.pid != process.pid:
        with _making:
            if store._closed:
                return None
            workers = store._workers
            if workers is None or workers.pid != process.pid:
                workers = store._workers = Workers(store.async_threads)
    return workers


class _Scan:
    """A scan read in several threads, one after the other."""

    def __init__(self, start: Callable[[], Iterator[Document]]) -> None:
        self._start = start
        self._turn = threading.Lock()
        self._documents: Iterator[Document] | None = None
        self._error: Exception | None = None
        self.ended = False

    def take(self, size: int) -> list[Document]:
        """The next documents; none at the end."""
        with self._turn:
            if self._error is not None:
                raise self._error
            if self.ended:
                return []
            taken: list[Document] = []
            try:
                if self._documents is None:
                    self._documents = self._start()
                for document in self._documents:
                    taken.append(document)
                    if len(taken) == size:
                        return taken
                    check_stop()
            except Exception as error:
                # What was read before it comes first, as in a scan that is not awaited.
                self.ended, self._error = True, error
                if not taken:
                    raise
                return taken
            self.ended = True
            return taken

    def close(self) -> None:
        """Give back what the scan holds."""
        self.ended = True
        with self._turn:
            close = getattr(self._documents, "close", None)
            if close is not None:
                close()
