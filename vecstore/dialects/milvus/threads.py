"""Threads in which the client's calls run, so that an interrupted caller breaks nothing."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

Result = TypeVar("Result")


class Overdue(Exception):
    """A call has not ended in time; it still runs."""


class CallThreads:
    """Runs calls in threads of its own, for callers that may be interrupted while they wait.

    gRPC waits in the thread of its caller and holds locks meanwhile. An exception that a signal
    handler raises there (Ctrl-C, a time limit) can leave such a lock held, and then the next call
    on the channel waits for ever. Here it reaches the one who waits and nothing else: the call
    itself ends in peace.

    Args:
        single: Whether calls run one after the other, in the order they were made. Else each has
            a thread.

    Example:
        >>> threads = CallThreads(single=True)
        >>> threads.run(lambda: 6 * 7, 10)
        42
        >>> threads.close()
    """

    def __init__(self, *, single: bool) -> None:
        self._single = single
        self._one: _Thread | None = None
        self._idle: deque[_Thread] = deque()
        self._closed = False

    def run(self, work: Callable[[], Result], deadline: float | None) -> Result:
        """Run one call and wait for its end.

        Args:
            work: The call; what it raises comes out here.
            deadline: Seconds to wait.

        Raises:
            Overdue: If it has not ended by then.
        """
        # Queues are of C and private to the call: an exception cannot leave them locked.
        answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._thread().jobs.put((copy_context(), work, answer))
        try:
            result, error = answer.get(timeout=deadline)
        except Empty:
            raise Overdue from None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it refers to this frame
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let the threads end, each after the call it is at."""
        self._closed = True
        if self._one is not None:
            self._one.jobs.put(None)
        while self._idle:
            self._idle.pop().jobs.put(None)

    def _thread(self) -> _Thread:
        if self._single:
            if self._one is None:
                self._one = _Thread(None)
            return self._one
        try:
            return self._idle.pop()
        except IndexError:
            return _Thread(self._done)

    def _done(self, thread: _Thread) -> None:
        if self._closed:
            thread.jobs.put(None)
        else:
            self._idle.append(thread)


_Job = tuple[Context, Callable[[], Any], "SimpleQueue[tuple[Any, BaseException | None]]"]


class _Thread:
    """A thread that takes jobs until it gets None."""

    def __init__(self, done: Callable[[_Thread], None] | None) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._done: Final = done
        # A daemon: a call that does not end may not keep the process from ending.
        threading.Thread(target=self._work, name="vecstore-milvus", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            context, work, answer = job
            result, failure = None, None
            try:
                result = context.run(work)
            except BaseException as error:
                failure = error
            if self._done is not None:
                self._done(self)
            answer.put((result, failure))
            # Nothing of a call may live on until the next.
            del job, context, work, answer, result, failure
