"""The trees of the texts that were parsed last."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from sys import getsizeof

from vecstore.filter.ast import Expression

MAX_ENTRIES = 1_024
MAX_BYTES = 4 * 1_024 * 1_024


class TreeCache:
    """A mapping bounded in entries and in bytes of text; safe to use from many threads.

    What came first goes first, used or not: a hit is then a plain lookup in a dict that takes
    no lock, and a text in steady use is parsed again once in a thousand others.

    Args:
        max_entries: Trees to keep.
        max_bytes: Memory of their texts; a text that takes more than a quarter is not kept.

    Example:
        >>> from vecstore import parse
        >>> trees = TreeCache(max_entries=1)
        >>> trees.put("a", "a", parse("a == 1"))
        >>> trees.put("b", "b", parse("b == 1"))
        >>> trees.get("a") is None, trees.get("b").to_text()
        (True, 'b == 1')
    """

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._trees: dict[Hashable, Expression] = {}
        self._sizes: dict[Hashable, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self.get = self._trees.get

    def put(self, key: Hashable, text: str, tree: Expression) -> None:
        """Keep a tree; drop the oldest ones for it where room is short."""
        size = getsizeof(text)
        if 4 * size > self._max_bytes:
            return
        with self._lock:
            if key in self._trees:
                return
            self._trees[key] = tree
            self._sizes[key] = size
            self._bytes += size
            while len(self._trees) > self._max_entries or self._bytes > self._max_bytes:
                oldest = next(iter(self._sizes))
                self._bytes -= self._sizes.pop(oldest)
                del self._trees[oldest]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._trees.clear()
            self._sizes.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._trees)
