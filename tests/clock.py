"""Limits of time that say something of the code, and nothing of the machine's other guests."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of the processor, in this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def takes_less(seconds: float, work: Callable[[], object]) -> bool:
    """Whether one of three tries does: a garbage collection may fall into any of them."""
    return any(cpu_seconds(work) < seconds for _ in range(3))
