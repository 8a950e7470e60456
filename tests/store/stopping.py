"""Interrupting the main thread, as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest


class Stop(BaseException):
    """What a signal handler raises; as little an ``Exception`` as Ctrl-C."""


@pytest.fixture
def stopped() -> Iterator[Callable[[], None]]:
    """A function that has :class:`Stop` raised in the main thread, wherever that is."""
    raised = threading.Semaphore(0)

    def raise_it(*_: object) -> None:
        raised.release()
        raise Stop

    main = threading.main_thread().ident
    assert main is not None
    before = signal.signal(signal.SIGUSR1, raise_it)

    def stop() -> None:
        time.sleep(0.05)  # what comes just before the main thread waits is seen when that ends
        signal.pthread_kill(main, signal.SIGUSR1)
        while not raised.acquire(timeout=5):
            signal.pthread_kill(main, signal.SIGUSR1)

    yield stop
    signal.signal(signal.SIGUSR1, before)
