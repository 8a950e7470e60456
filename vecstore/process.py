"""Which process this is; a fork is noticed without asking the system at each call.

A forked child has the memory of its parent and none of its threads: locks that another thread held
stay locked for ever there, and connections would be read by two processes at once. What holds
such things compares :data:`pid` with the process that it was made in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

pid = os.getpid()
"""The number of this process; another one in a forked child."""

adopting = threading.RLock()
"""Held while something inherited is made anew, so that two threads of a child do it once."""


def in_forked_child(remake: Callable[[], None]) -> Callable[[], None]:
    """Have something called in every child that is forked, before anything else runs there.

    For locks at the top of modules. What belongs to an object that comes and goes compares
    :data:`pid` instead: what is named here is kept until the process ends. Serves as a decorator.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=remake)
    return remake


@in_forked_child
def _here() -> None:
    global pid, adopting
    pid, adopting = os.getpid(), threading.RLock()
