"""Running something in a forked child."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable

_TOLD = 60_000


def can_fork() -> bool:
    """Whether this system has forks."""
    return hasattr(os, "fork")


def in_a_child(work: Callable[[], object], seconds: float = 60) -> None:
    """Fork, run something there, and fail here when it fails or hangs there.

    The child ends without what a process does at its end: what it inherited stays as it is.

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
    try:
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
    if status:
        raise AssertionError(told or f"the child ended with status {status}")
