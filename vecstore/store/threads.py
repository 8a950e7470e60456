"""Threads in which a client's calls run, so that an interrupted caller breaks nothing."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from vecstore import process

Result = TypeVar("Result")


class Overdue(Exception):
    """A call has not ended in time; it still runs."""


class CallThreads:
    """Runs calls in threads of its own, for callers that may be interrupted while they wait.

    An exception that a signal handler raises (Ctrl-C, a time limit) comes up in the main thread,
    anywhere. In the midst of a client it can leave a connection half read that the pool gives out
    again, a lock held for which the next call waits for ever, or half of a write. Here it reaches
    the one who waits and nothing else: the call itself ends in peace.

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
        self._pid = process.pid

    def run(self, work: Callable[[], Result], deadline: float | None) -> Result:
        """Run one call and wait for its end.

        Args:
            work: The call; what it raises comes out here.
            deadline: Seconds to wait.

        Raises:
            Overdue: If it has not ended by then.
        """
        job = _Job(work)
        self._thread().jobs.put(job)
        return job.result(deadline)  # type: ignore[no-any-return]

    def run_whole(
        self, work: Callable[[], Result], interrupt: Callable[[], None] | None = None
    ) -> Result:
        """Run one call where no signal can break it off, and leave when it has ended.

        In another thread than the main one, that is the caller's own. Whoever is interrupted while
        he waits is told when the call has ended; a second interruption is told at once.

        Args:
            work: The call.
            interrupt: Asks the client to end the call soon, once its caller is interrupted.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        job = _Job(work)
        try:
            self._thread().jobs.put(job)
            return job.result(None)  # type: ignore[no-any-return]
        except BaseException as error:
            if interrupt is not None and not isinstance(error, Exception):
                interrupt()
            job.abandon()
            raise

    def close(self) -> None:
        """Let the threads end, each after the call it is at."""
        self._closed = True
        one, self._one = self._one, None
        if one is not None:
            one.jobs.put(None)
        while self._idle:
            self._idle.pop().jobs.put(None)

    def __del__(self) -> None:
        self.close()

    def _thread(self) -> _Thread:
        if self._single:
            if self._one is None or self._pid != process.pid:  # a forked child has no threads
                self._one, self._pid = _Thread(None), process.pid
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


class _Job:
    """A call on its way to a thread, and its answer on the way back.

    Queues are of C and private to the call: an exception cannot leave them locked.
    """

    __slots__ = ("_answer", "_context", "_over", "_right", "_work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._context: Context = copy_context()
        self._answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        # One token each: for whoever decides whether the call begins, and when it has ended.
        self._right: SimpleQueue[None] = SimpleQueue()
        self._right.put(None)
        self._over: SimpleQueue[None] = SimpleQueue()

    def run(self) -> tuple[Any, BaseException | None] | None:
        """Run the call, unless nobody waits for it any more: then None."""
        try:
            self._right.get_nowait()
        except Empty:
            return None
        try:
            return self._context.run(self._work), None
        except BaseException as error:
            return None, error

    def tell(self, outcome: tuple[Any, BaseException | None]) -> None:
        """Give the caller what became of it."""
        self._over.put(None)
        self._answer.put(outcome)

    def result(self, deadline: float | None) -> Any:
        """Wait for what became of it."""
        try:
            result, error = self._answer.get(timeout=deadline)
        except Empty:
            raise Overdue from None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it refers to this frame
        return result

    def abandon(self) -> None:
        """Wait for the end of the call if it has begun, and see to it that it does not begin."""
        try:
            self._right.get_nowait()
        except Empty:
            self._over.get()


class _Thread:
    """A thread that takes jobs until it gets None."""

    def __init__(self, done: Callable[[_Thread], None] | None) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._done: Final = done
        # A daemon: a call that does not end may not keep the process from ending.
        threading.Thread(target=self._work, name="vecstore-calls", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            outcome = job.run()
            if self._done is not None:
                self._done(self)
            if outcome is not None:
                job.tell(outcome)
            # Nothing of a call may live on until the next.
            del job, outcome
