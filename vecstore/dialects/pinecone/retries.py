"""Trying again: what may pass, how long to wait, and when to stop."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from queue import Empty, SimpleQueue
from typing import Any, Final

RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Answers that the same request may not meet again."""

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 16.0


@dataclass(slots=True)
class Deadline:
    """When one call of the store is to have ended, with all that it tries again.

    The requests of a call share one, in several threads.

    Args:
        seconds: From now.

    Example:
        >>> deadline = Deadline(60.0)
        >>> deadline.left > 59
        True
        >>> deadline.stop()
        >>> deadline.left
        0.0
    """

    seconds: float
    _until: float = field(init=False)
    _stopped: bool = field(init=False, repr=False, default=False)
    # Of C: whoever stops is often interrupted, which leaves the lock of an Event taken at times.
    _over: SimpleQueue[None] = field(init=False, repr=False, default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds until then; 0 afterwards, or once it has been stopped."""
        return 0.0 if self._stopped else max(0.0, self._until - time.monotonic())

    def stop(self) -> None:
        """Let nothing begin any more that this deadline is for, and nobody wait."""
        self._stopped = True
        self._over.put(None)

    def wait(self, seconds: float) -> None:
        """Wait so long, or until it is stopped."""
        with suppress(Empty):
            self._over.get(timeout=seconds)
            self._over.put(None)  # for the next that waits


def pause_before(attempt: int, wanted: float | None) -> float:
    """Seconds to wait before a request is sent again.

    Between half and all of a time that doubles, so that clients which were refused together do not
    come back together; never less than the server asked for.

    Args:
        attempt: How often it has been tried, from 1 on.
        wanted: What the server asked for, None where it said nothing.

    Example:
        >>> 0.125 <= pause_before(1, None) <= 0.25, 8 <= pause_before(20, None) <= 16
        (True, True)
        >>> 30 <= pause_before(1, 30) <= 33
        True
    """
    if wanted is not None:
        return wanted * (1 + random.random() / 10)
    most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 16))
    return most * (1 + random.random()) / 2


def wanted_pause(headers: Any) -> float | None:
    """The seconds that the header ``Retry-After`` of an answer asks for; None without one.

    Args:
        headers: Of the answer, by lower-case names; None where there was no answer.

    Example:
        >>> wanted_pause({"retry-after": "1.5"}), wanted_pause({"retry-after": "soon"})
        (1.5, None)
        >>> wanted_pause({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
        0.0
    """
    told = headers.get("retry-after") if isinstance(headers, Mapping) else None
    if not isinstance(told, str):
        return None
    try:
        seconds = float(told)
    except ValueError:
        try:
            moment = parsedate_to_datetime(told)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    # Neither NaN nor an infinity is a time.
    return seconds if 0 <= seconds < 1e9 else None
