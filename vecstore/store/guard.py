"""The guard around every hook: who is inside, whether the store is open, and in which process.

A hook runs while a lock of its own is held, and the store keeps a list of these locks. Closing
marks the store, so that no further hook begins, then waits for each lock on the list, and only then
gives back what the hooks work with. ``with`` on a lock is the one thing that no signal interrupts
between taking and giving back; the list may keep a lock too many, never one too few.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice, starmap
from threading import Lock, RLock, get_ident
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from vecstore import process
from vecstore.errors import BackendError, StoreClosedError, VecstoreError
from vecstore.store.backend import StoreHooks

if TYPE_CHECKING:
    from vecstore.store.aio import Workers

Result = TypeVar("Result")
Item = TypeVar("Item")

_SCANNED_AT_ONCE = 256


class GuardedHooks(StoreHooks):
    """The way to the hooks of a store, and the end of it."""

    _workers: Workers | None = None
    """The threads of awaited calls, made at the first of them."""

    _pid: int
    """The process that the connections, locks and threads of this store belong to."""

    _adopting = False

    _closed = False
    """Whether calls are refused: from the moment that closing begins, unless it fails."""

    def _make_guard(self) -> None:
        """Make what the guard needs, new for this process."""
        self._running: dict[Any, int] = {}  # a lock for each hook at work, and its thread
        self._closing = RLock()
        self._given_back = False

    # --- hooks -------------------------------------------------------------------------------

    def _ask(
        self, operation: str, hook: Callable[..., Result], *arguments: Any, **options: Any
    ) -> Result:
        """Call a hook. Nothing else does, so that no hook runs on a store that was closed.

        Args:
            operation: What the caller of the store asked for; errors name it.
            hook: A method of this store, which must not leave work to be done later: what it
                returns piece by piece goes through :meth:`_ask_all`.
            *arguments: For the hook.
            **options: For the hook.

        Raises:
            StoreClosedError: If the store is closed, or was by this thread inside the hook.
            BackendError: For every error of the hook that is none of this library.
        """
        if self._pid != process.pid:
            self._adopt()
        running, lock = self._running, Lock()
        running[lock] = get_ident()
        try:
            with lock:
                if self._closed:
                    self._refuse_closed()
                return hook(*arguments, **options)
        except VecstoreError:
            raise
        except Exception as error:
            raise self._failure(operation, error) from error
        finally:
            running.pop(lock, None)

    def _ask_all(
        self,
        operation: str,
        hook: Callable[..., Iterable[Item]],
        *arguments: Any,
        at_most: int | None = None,
        **options: Any,
    ) -> list[Item]:
        """Call a hook that returns several things, and take them while it is guarded."""
        return self._ask(operation, _taken, hook, at_most, arguments, options)

    def _ask_lists(
        self,
        operation: str,
        hook: Callable[..., Iterable[Iterable[Item]]],
        *arguments: Any,
        **options: Any,
    ) -> list[list[Item]]:
        """Call a hook that returns several things several times, and take them guarded."""
        return self._ask(operation, _lists, hook, arguments, options)

    def _ask_scan(
        self, filter: Any, *, batch_size: int, include_embedding: bool, text: bool = True
    ) -> Generator[Any]:
        """The documents of a scan: guarded while they are read, free while the caller has them."""
        return self._ask_pieces(
            "scan",
            batch_size,
            self._scan if text else self._scan_textless,
            filter,
            batch_size=batch_size,
            include_embedding=include_embedding,
        )

    def _ask_pieces(
        self,
        operation: str,
        size: int,
        hook: Callable[..., Iterable[Item]],
        *arguments: Any,
        **options: Any,
    ) -> Generator[Item]:
        """What a hook returns piece by piece, taken under the guard about ``size`` at a time."""
        found = self._ask(operation, _begun, hook, arguments, options)
        size = min(size, _SCANNED_AT_ONCE)
        try:
            while True:
                taken: list[Item] = []
                failure: Exception | None = None
                try:
                    self._ask(operation, taken.extend, islice(found, size))
                except Exception as error:
                    failure = error
                # What was read before a failure comes first.
                for document in taken:
                    self._check_open()
                    yield document
                if failure is not None:
                    try:
                        raise failure
                    finally:
                        # Its traceback holds this frame, which would hold on to what it scans.
                        failure = None
                if len(taken) < size:
                    return
        finally:
            self._end_scan(found)

    def _end_scan(self, found: Iterator[Any]) -> None:
        """Let a scan give back what it holds; also after the store was closed, by its reader."""
        close = getattr(found, "close", None)
        if close is None or self._pid != process.pid:
            return
        lock = Lock()
        self._running[lock] = get_ident()
        try:
            with lock:
                close()
        except VecstoreError:
            raise
        except Exception as error:
            raise self._failure("scan", error) from error
        finally:
            self._running.pop(lock, None)

    def _failure(self, operation: str, error: Exception) -> VecstoreError:
        """What a caller is told of an error that a hook let out."""
        if self._given_back:
            return self._closed_error()
        # Only the type: a driver's message may quote what was sent, passwords included.
        return BackendError(
            f"{self.name} failed in {operation} with {type(error).__name__}; its own error is the "
            "cause of this one",
            operation=operation,
        )

    # --- open and closed ---------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            self._refuse_closed()
        if self._pid != process.pid:
            self._adopt()

    def _refuse_closed(self) -> NoReturn:
        raise self._closed_error()

    def _closed_error(self) -> StoreClosedError:
        return StoreClosedError(
            f"this {type(self).__name__} is closed; open it again, or keep it open longer: "
            "with open_store(...) as store: ..."
        )

    def close(self) -> None:
        """Give back what the store holds; every later call raises :class:`StoreClosedError`.

        Calls of other threads that are at work in the backend come to their end first; what they
        would do after that is refused. Closing twice does nothing, and of two threads that close,
        one waits for the other. When closing fails, the store stays open. Inside a call of the
        store (in a signal handler, say) that another thread waits for in order to close, closing
        leaves it to that thread.
        """
        if self._pid != process.pid:
            # Whatever there is belongs to the process that opened it.
            self._closed = True
            return
        if get_ident() not in list(self._running.values()):
            with self._closing:
                self._close_now()
            return
        # Whoever closes already waits for the hook around this call, which must not wait for him.
        # Lock and list change hands within one call of C: no signal comes between.
        taken: list[bool] = []
        try:
            taken.extend(starmap(self._closing.acquire, ((False,),)))
            if taken[0]:
                self._close_now()
        finally:
            if taken and taken[0]:
                self._closing.release()

    def _close_now(self) -> None:
        if not self._closed:
            done: list[None] = []
            try:
                self._closed = True
                self._wait_for_hooks()
                self._given_back = True
                # Noted within one call of C: a signal afterwards finds the store closed.
                done.extend(starmap(self._close, ((),)))
                if not done:
                    raise RuntimeError("closing raised StopIteration")
            except VecstoreError:
                raise
            except Exception as error:
                self._given_back = False
                raise self._failure("close", error) from error
            finally:
                if not done:
                    self._closed = self._given_back = False
        workers = self._workers
        if self._given_back and workers is not None and workers.pid == process.pid:
            workers.close()

    def _wait_for_hooks(self) -> None:
        me = get_ident()
        for lock, thread in list(self._running.items()):
            if thread != me:
                with lock:
                    pass

    # --- another process ---------------------------------------------------------------------

    def _adopt(self) -> None:
        """Go on in a forked child: with new locks and threads, and what the backend makes anew."""
        with process.adopting:
            if self._pid == process.pid or self._closed or self._adopting:
                return
            self._make_guard()
            try:
                self._adopting = True
                self._after_fork()
            except VecstoreError:
                raise
            except Exception as error:
                raise self._failure("open", error) from error
            finally:
                self._adopting = False
            self._pid = process.pid


def _taken(
    hook: Callable[..., Iterable[Item]],
    at_most: int | None,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> list[Item]:
    found = hook(*arguments, **options)
    return list(found if at_most is None else islice(found, min(at_most, sys.maxsize)))


def _begun(
    hook: Callable[..., Iterable[Item]], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Iterator[Item]:
    return iter(hook(*arguments, **options))


def _lists(
    hook: Callable[..., Iterable[Iterable[Item]]],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> list[list[Item]]:
    return [list(found) for found in hook(*arguments, **options)]
