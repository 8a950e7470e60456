"""The trees of the texts that were parsed last."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from sys import getsizeof

from vecstore.filter.tree import LOGICAL, NULL_TESTS, Expression

MAX_ENTRIES = 1_024
MAX_BYTES = 16 * 1_024 * 1_024


class TreeCache:
    """A mapping bounded in entries and in bytes of what it holds; safe to use from many threads.

    What came first goes first, used or not: a hit is then a plain lookup in a dict that takes
    no lock, and a text in steady use is parsed again once in a thousand others. A process that was
    forked starts with none, and with a lock of its own.

    Args:
        max_entries: Trees to keep.
        max_bytes: Memory of the texts and of their trees, as :func:`tree_bytes` estimates it; a
            tree that takes more than a quarter is not kept.

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
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def put(self, key: Hashable, text: str, tree: Expression) -> None:
        """Keep a tree; drop the oldest ones for it where room is short."""
        size = getsizeof(text) + tree_bytes(tree)
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

    def _after_fork(self) -> None:
        """Another thread of the parent may have been inside: nothing it left half-way counts."""
        self._lock = threading.Lock()
        self.clear()


# Measured: a comparison with key, literal and spans; what is made of it to evaluate it; and one
# more element of a key or a list.
_NODE = 400
_ATOM = 1_000
_EVALUATED = 1_600
_ELEMENT = 100


def tree_bytes(tree: Expression) -> int:
    """About how much memory a tree takes, with what it keeps once it has been evaluated.

    Example:
        >>> from vecstore import parse
        >>> tree_bytes(parse("a == 1")) < tree_bytes(parse("a IN [1, 2, 3]"))
        True
    """
    size = 0
    for node in tree.walk():
        size += _NODE
        if node.op in LOGICAL:
            continue
        size += _ATOM + _EVALUATED
        elements: tuple[object, ...] = node.key.path
        if node.op not in NULL_TESTS:
            elements += node.value.items
        size += sum(_ELEMENT + getsizeof(element) for element in elements)
    return size
