"""Connections kept for the next call, opened by the thread that needs one.

A pool of our own rather than ``psycopg_pool``: that one connects in threads of its own, which a
forked child does not have, and which cannot tell the caller at once why there is no connection.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from psycopg import Connection

_MAX_IDLE: Final = 600.0
"""Seconds after which an unused connection is closed, at the next chance."""
_NAP: Final = 0.25
"""Seconds between two looks for a free connection: a wake-up may be lost to an interrupted call.
For as long a connection is kept for whoever was called."""
_CANCEL_TIMEOUT: Final = 2.0

_inherited: list[Any] = []
"""What a forked child has of its parent's connections.

Kept for ever: whatever closes one of them would end the parent's session over the shared socket.
"""


class NoFreeConnection(Exception):
    """Every connection was in use for as long as the caller would wait."""


class PoolIsClosed(Exception):
    """The pool was closed."""


class Lease:
    """A connection in the hands of one call.

    It is made before there is a connection, so that an exception from a signal handler, wherever
    it strikes, finds the connection either in the pool or here.
    """

    __slots__ = ("__weakref__", "connection", "pid", "reused", "source", "threshold")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.connection: Connection[Any] | None = None
        self.reused = False
        self.threshold: Any = None
        self.pid = os.getpid()

    def end(self, *, sound: bool) -> None:
        """Give the connection back; one that is not sound is closed."""
        if self.pid != os.getpid():
            _inherited.append(self.connection)
            self.connection = None
            return
        self.source.give_back(self, sound=sound)

    def __del__(self) -> None:
        # Making it may have been interrupted as well.
        connection = getattr(self, "connection", None)
        if connection is None:
            return
        self.connection = None
        if self.pid != os.getpid():
            _inherited.append(connection)
        else:
            self.source.abandon(connection)


class Source(Protocol):
    """Where leases come from: a pool of our own, or the caller's."""

    def take(self, lease: Lease, timeout: float) -> None:
        """Put a connection into the lease."""

    def give_back(self, lease: Lease, *, sound: bool) -> None:
        """Take the connection out of the lease."""

    def abandon(self, connection: Connection[Any]) -> None:
        """Put down a connection whose lease is gone.

        The garbage collector calls this, in any thread and in the middle of anything: it waits for
        no lock that a call may hold.
        """


class Pool:
    """Up to ``max_size`` connections.

    Args:
        connect: Opens one.
        max_size: How many there are at most, at the same time.
        timeout: Seconds that :meth:`connection` waits for a free one.
    """

    def __init__(
        self, connect: Callable[[], Connection[Any]], *, max_size: int, timeout: float
    ) -> None:
        self._connect = connect
        self._timeout = timeout
        self.max_size = max_size
        self.closed = False
        self._pid = os.getpid()
        # Re-entrant, because the garbage collector may end a scan in the middle of any of this.
        self._lock = threading.RLock()
        self._idle: list[tuple[Connection[Any], float]] = []
        self._leases: WeakSet[Lease] = WeakSet()
        self._waiting: deque[threading.Lock] = deque()
        # Until when what was given back is kept for one who was called. He may have been
        # interrupted, and nobody else waits longer for him.
        self._called: deque[float] = deque()

    @contextmanager
    def connection(self, timeout: float | None = None) -> Iterator[Connection[Any]]:
        """A connection for the length of a block, which is committed when it ends well.

        Raises:
            NoFreeConnection: If all were in use for ``timeout`` seconds.
            PoolIsClosed: After :meth:`close`.
        """
        lease = Lease(self)
        sound = False
        try:
            self.take(lease, self._timeout if timeout is None else timeout)
            connection = lease.connection
            assert connection is not None
            try:
                yield connection
            except Exception:
                connection.rollback()
                sound = True
                raise
            connection.commit()
            sound = True
        finally:
            lease.end(sound=sound)

    def take(self, lease: Lease, timeout: float) -> None:
        """Put a connection into the lease: an idle one, else a new one; who waits goes first."""
        deadline, collected, called = time.monotonic() + timeout, False, False
        turn: threading.Lock | None = None
        try:
            while True:
                with self._lock:
                    if self.closed:
                        raise PoolIsClosed
                    if self._is_free(called):
                        self._leases.add(lease)
                        if self._put_idle(lease):
                            return
                        break
                    if turn is None or called:
                        turn, called = threading.Lock(), False
                        turn.acquire()
                        self._waiting.append(turn)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise NoFreeConnection
                called = turn.acquire(timeout=min(left, _NAP))
                if not called and not collected:
                    # A call that was interrupted while it gave its connection back may still have
                    # it, in a cycle of a traceback and its frames.
                    collected = True
                    gc.collect()
        finally:
            with self._lock:
                if turn is not None and turn in self._waiting:
                    self._waiting.remove(turn)
        lease.reused = False
        try:
            lease.connection = self._connect()
        except BaseException:
            self.give_back(lease, sound=False)
            raise

    def _is_free(self, called: bool) -> bool:
        """Whether one more call may have a connection: one who was called, or who comes anew."""
        free = self.max_size - len(self._leases)
        if called:
            if self._called:
                self._called.popleft()
            return free > 0
        now = time.monotonic()
        while self._called and self._called[0] < now:
            self._called.popleft()
        return free > len(self._called)

    def _put_idle(self, lease: Lease) -> bool:
        while self._idle:
            lease.connection, _ = self._idle.pop()
            if not lease.connection.closed:
                lease.reused = True
                return True
            lease.connection = None
        return False

    def give_back(self, lease: Lease, *, sound: bool) -> None:
        """Keep a sound connection for the next call; close any other."""
        closing: list[Connection[Any]] = []
        with self._lock:
            connection = lease.connection
            if connection is not None:
                if sound and not connection.closed and not self.closed:
                    self._idle.append((connection, time.monotonic()))
                else:
                    closing.append(connection)
                lease.connection = None
            self._leases.discard(lease)
            while self._idle and self._idle[0][1] < time.monotonic() - _MAX_IDLE:
                closing.append(self._idle.pop(0)[0])
            if self._waiting:
                self._called.append(time.monotonic() + _NAP)
                self._waiting.popleft().release()
        for one in closing:
            put_down(one)

    def abandon(self, connection: Connection[Any]) -> None:
        """Close a connection whose lease is gone, and with that no longer among those in use."""
        put_down(connection)

    def drop_idle(self) -> None:
        """Close the connections that nobody uses: the server that they led to has gone."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def get_stats(self) -> dict[str, int]:
        """How the pool fares, in the words of ``psycopg_pool``."""
        with self._lock:
            idle, used = len(self._idle), len(self._leases)
            waiting = sum(turn.locked() for turn in self._waiting)
        return {
            "pool_max": self.max_size,
            "pool_size": idle + used,
            "pool_available": idle,
            "requests_waiting": waiting,
        }

    def __del__(self) -> None:
        # Nobody else has the pool any more. Its lock may be held for ever, by a call that was
        # broken off, and the garbage collector is at work in any thread.
        if self._pid == os.getpid():
            for connection, _ in self._idle:
                connection.close()

    def close(self) -> None:
        """Close the connections that nobody uses; those in use are closed when they come back."""
        self.closed = True
        self.drop_idle()


class ForeignPool:
    """Leases from a ``psycopg_pool.ConnectionPool`` that belongs to the caller."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def take(self, lease: Lease, timeout: float) -> None:
        """Put a connection into the lease."""
        lease.reused = True
        lease.connection = self._pool.getconn(timeout)

    def give_back(self, lease: Lease, *, sound: bool) -> None:
        """Return the connection; the pool replaces a closed one."""
        connection, lease.connection = lease.connection, None
        if connection is None:
            return
        if sound:
            self._pool.putconn(connection)
        else:
            self.abandon(connection)

    def abandon(self, connection: Connection[Any]) -> None:
        """Close a connection, and return it to the pool, which is its own business to guard."""
        put_down(connection)
        self._pool.putconn(connection)


def put_down(connection: Connection[Any]) -> None:
    """Close a connection, and stop the statement that the server may still be at work on."""
    from psycopg import Error
    from psycopg.pq import TransactionStatus

    try:
        if connection.info.transaction_status == TransactionStatus.ACTIVE:
            connection.cancel_safe(timeout=_CANCEL_TIMEOUT)
    except Error:
        pass  # the server notices by itself, later
    finally:
        connection.close()


def forget(*things: Any) -> None:
    """Keep what a forked child has inherited from being closed, or used, ever."""
    _inherited.extend(things)
