"""Filter text -> :class:`~vecstore.Expression`: ``parse``, and the trees it has read last.

Reading is lazy in its imports: a text that is known costs a look into a dict, the tables of the
grammar are loaded by the first text that is not read at one go, and what explains an error by the
first that has one.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from sys import getsizeof
from typing import Any

from vecstore.errors import FilterLimitError
from vecstore.filter.checking import FilterCheck, checked
from vecstore.filter.limits import DEFAULT_LIMITS, Limits, checked_limits
from vecstore.filter.tree import Expression, Group, Key
from vecstore.grammar.at_once import read_at_once
from vecstore.grammar.faults import Fault, syntax_error


def parse(
    text: str,
    *,
    limits: Limits | None = DEFAULT_LIMITS,
    schema: FilterCheck | None = None,
    coerce: bool = False,
) -> Expression:
    """Read a filter text.

    The trees of recent texts are kept, so that parsing the same filter again costs next to
    nothing.

    Args:
        text: A filter, such as ``"year >= 2020 AND country == 'BG'"``.
        limits: Bounds on the size of the filter; None lifts them.
        schema: A :class:`~vecstore.Schema` that the filter has to fit.
        coerce: Whether literals of another kind are read as what they must mean by the schema; a
            :class:`~vecstore.CoercedFilterWarning` tells of it.

    Returns:
        The tree, whose nodes know their place in the text.

    Raises:
        FilterSyntaxError: If the text is no filter; it shows the place, what was expected and,
            where there is one, the corrected line.
        FilterLimitError: If the filter is larger than the limits.
        FilterTypeError: If the filter does not fit the schema.
        TypeError: If ``text`` is no text.

    Example:
        >>> parse("year >= 2020 AND NOT country IN ['BG', 'NL']").to_text()
        "year >= 2020 AND NOT country IN ['BG', 'NL']"
        >>> parse("country == BG")
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterSyntaxError: BG is not a value: strings are quoted
          line 1, column 12
            country == BG
                       ^^
        hint: quote the string: country == 'BG'
    """
    if type(text) is not str:
        text = _plain_text(text)
    key: Hashable = text
    if limits is not DEFAULT_LIMITS:
        key = text, checked_limits(limits)
    tree = _cached(key)
    if tree is None:
        tree, size = _read(text, limits)
        _trees.put(key, text, tree, size)
    return checked(tree, schema, coerce) if schema is not None or coerce else tree


def _plain_text(text: Any) -> str:
    if isinstance(text, str):
        return str.__str__(text)
    if isinstance(text, Expression | Group):
        raise TypeError("this filter is parsed already: use it as it is, without parse()")
    if isinstance(text, bytes | bytearray):
        remedy = "decode it first: parse(text.decode('utf-8'))"
    elif isinstance(text, Mapping):
        remedy = "for the dict form, use Expression.from_dict(...)"
    elif text is None:
        remedy = "where a filter is optional, pass the None on instead of parsing it"
    else:
        remedy = "write parse(\"country == 'BG'\")"
    shown = "None" if text is None else f"a {type(text).__name__}"
    raise TypeError(f"parse takes the text of a filter, a str, not {shown}; {remedy}")


def _read(text: str, limits: Limits | None) -> tuple[Expression, int]:
    """The tree of a text, and about how much memory it takes.

    Raises:
        FilterSyntaxError: If the text is no filter.
        FilterLimitError: If the filter is larger than the limits.
    """
    read = read_at_once(text, limits)
    if read is not None:
        tree, conditions, opened, values = read
        elements = conditions + values + text.count(".")
        size = conditions * _CONDITION + (conditions + opened) * _NODE + elements * _ELEMENT
        return tree, size + getsizeof(text)
    try:
        tree = _tree(text, limits)
    except Fault as found:
        fault = found
    else:
        return tree, tree_bytes(tree)
    raise syntax_error(text, fault, partial(_fault_of, limits))


def _tree(text: str, limits: Limits | None) -> Expression:
    from vecstore.grammar.lalr import Refusal, read

    try:
        return read(text, limits)
    except Refusal as refused:
        refusal = refused
    from vecstore.grammar.explain import explained

    raise explained(text, refusal.tokens, refusal.found, refusal.accepted)


def _fault_of(limits: Limits | None, text: str, pieces: Sequence[tuple[int, int]]) -> Fault | None:
    """What is wrong with the correction that an error is about to show."""
    try:
        read = read_at_once(text, limits)
        tree = _tree(text, limits) if read is None else read[0]
    except Fault as fault:
        return fault
    except FilterLimitError as error:
        return Fault(error.message, 0, 0)
    written = [
        (end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip()))
        for start, end in pieces
    ]
    for node in tree.walk():
        span = node.span
        if span is not None and any(_torn(span.start, span.end, *piece) for piece in written):
            return Fault("another operator takes a part of what was corrected", 0, 0)
    return None


def _torn(start: int, end: int, first: int, last: int) -> bool:
    """Whether two places overlap and neither holds the other."""
    return start < first < end < last or first < start < last < end


# --- what was read last -----------------------------------------------------------------------

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
        self._sizes: deque[tuple[Hashable, int]] = deque()  # the oldest first
        self._bytes = 0
        self._lock = allocate_lock()
        self.get = self._trees.get
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def put(self, key: Hashable, text: str, tree: Expression, size: int | None = None) -> None:
        """Keep a tree, of a size if that is known; drop the oldest ones where room is short."""
        size = getsizeof(text) + (tree_bytes(tree) if size is None else size)
        if 4 * size > self._max_bytes:
            return
        with self._lock:
            if key in self._trees:
                return
            self._trees[key] = tree
            self._sizes.append((key, size))
            self._bytes += size
            while len(self._trees) > self._max_entries or self._bytes > self._max_bytes:
                oldest, size = self._sizes.popleft()
                self._bytes -= size
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
        self._lock = allocate_lock()
        self.clear()


# Measured: an AND, OR or NOT; a condition with key, literal, places and what is made of it to
# evaluate it; and one more element of a key or a list, with a short text.
_NODE = 400
_CONDITION = 3_000
_ELEMENT = 150
_TEXT = 50


def tree_bytes(tree: Expression) -> int:
    """About how much memory a tree takes, with what it keeps once it has been evaluated.

    Example:
        >>> from vecstore import parse
        >>> tree_bytes(parse("a == 1")) < tree_bytes(parse("a IN [1, 2, 3]"))
        True
    """
    size = 0
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        key, *literal = node.operands
        if type(key) is not Key:
            size += _NODE
            waiting += node.operands
            continue
        size += _CONDITION
        for name in key.path:
            size += _ELEMENT - _TEXT + getsizeof(name)
        for value in literal:
            for item in value.items:
                size += _ELEMENT - _TEXT + getsizeof(item)
    return size


_trees = TreeCache()
_cached = _trees.get
