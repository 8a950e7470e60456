"""Running something in a forked child, and meeting it."""

from __future__ import annotations

import os
import signal
import socket
import time
import traceback
from collections.abc import Callable

_TOLD = 60_000


class Meeting:
    """Where a process and its forked child wait for each other, and tell each other a byte.

    Make it before the fork; each side calls :meth:`join` once after it.
    """

    def __init__(self, seconds: float = 60) -> None:
        self._sides = socket.socketpair()
        for side in self._sides:
            side.settimeout(seconds)

    def join(self, *, child: bool) -> None:
        """Take one side, and leave the other to the other process."""
        self._sides[not child].close()
        self._side = self._sides[child]

    def exchange(self, told: int) -> int:
        """Tell a number below 256, and wait for the other's.

        Raises:
            ConnectionError: If the other process is gone.
        """
        self._side.sendall(bytes([told]))
        heard = self._side.recv(1)
        if not heard:
            raise ConnectionError("the other process is gone")
        return heard[0]

    def close(self) -> None:
        """Give both sides back; whoever waits there is told that the other is gone."""
        for side in self._sides:
            side.close()


def can_fork() -> bool:
    """Whether this system has forks."""
    return hasattr(os, "fork")


def in_a_child(
    work: Callable[[], object], seconds: float = 60, *, beside: Callable[[], object] | None = None
) -> None:
    """Fork, run something there, and fail here when it fails or hangs there.

    The child ends without what a process does at its end: what it inherited stays as it is.

    Args:
        work: What the child does.
        seconds: How long it may take.
        beside: What this process does meanwhile. Its failure is raised before the child's, but for
            a ``ConnectionError``, which only says that the child is gone.

    Raises:
        AssertionError: With the traceback of the child.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-_TOLD:])
        finally:
            os._exit(code)
    os.close(write)
    failure: Exception | None = None
    try:
        if beside is not None:
            try:
                beside()
            except Exception as error:
                failure = error
        deadline = time.monotonic() + seconds
        ended, status = os.waitpid(child, os.WNOHANG)
        while not ended:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError(f"the child did not end within {seconds:g} seconds")
            time.sleep(0.002)
            ended, status = os.waitpid(child, os.WNOHANG)
        told = os.read(read, _TOLD).decode(errors="replace")
    finally:
        os.close(read)
    if failure is not None and not isinstance(failure, ConnectionError):
        raise failure
    if status:
        raise AssertionError(told or f"the child ended with status {status}") from failure
    if failure is not None:
        raise failure
