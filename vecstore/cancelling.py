"""What a worker thread knows of the awaited call that it works for.

Awaited calls run the same code as all others, in a thread. At a few places this code asks here
whether somebody still waits for the result, and hands an embedder that is asynchronous by
itself back to the event loop of the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from vecstore import process

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

Result = TypeVar("Result")

_LOOP_CHECK_SECONDS = 1.0

_thread = threading.local()


@process.in_forked_child
def _work_for_nobody() -> None:
    global _thread
    _thread = threading.local()


class AwaitedCall:
    """One call of a store that somebody awaits.

    Args:
        loop: The event loop of whoever awaits it.

    Attributes:
        stored_ids: Ids that ``add`` has stored so far.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stopped = False
        self._pending: Future[Any] | None = None
        self.stored_ids: list[str] = []

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work in this thread, which knows about the call meanwhile."""
        _thread.call = self
        try:
            self.check()
            return work()
        finally:
            _thread.call = None

    def stop(self) -> None:
        """Nobody waits any more: what is in flight ends, nothing else begins."""
        self._stopped = True
        pending = self._pending
        if pending is not None:
            pending.cancel()

    def check(self) -> None:
        """Go no further when nobody waits.

        Raises:
            asyncio.CancelledError: In that case.
        """
        if self._stopped:
            raise _cancelled()

    def wait_for(self, function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
        """Call an asynchronous function on the event loop, and wait here for its result."""
        import asyncio
        from concurrent.futures import CancelledError, wait

        async def on_the_loop() -> Result:
            return await function(*arguments)

        self.check()
        coroutine = on_the_loop()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop is closed
            coroutine.close()
            raise _cancelled() from None
        self._pending = future
        try:
            if self._stopped:
                future.cancel()
            while not wait([future], _LOOP_CHECK_SECONDS).done:
                if self._loop.is_closed():
                    raise _cancelled()
            return future.result()
        except CancelledError:
            self.check()
            raise
        finally:
            self._pending = None


def current() -> AwaitedCall | None:
    """The call that this thread works for."""
    call: AwaitedCall | None = getattr(_thread, "call", None)
    return call


def check_stop() -> None:
    """Go no further when this thread works for a call that nobody waits for any more."""
    call = current()
    if call is not None:
        call.check()


def _cancelled() -> BaseException:
    import asyncio

    return asyncio.CancelledError()
