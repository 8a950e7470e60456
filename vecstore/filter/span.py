"""A place in a filter text, carried by tree nodes so that later errors can point at it."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """The half-open range ``source[start:end]`` that a node was read from.

    Spans never take part in equality, hashing, ``repr`` or the dict form of a tree.

    Example:
        >>> span = Span("a == 1 AND b == 2", 11, 17)
        >>> span.text, span.line, span.column
        ('b == 2', 1, 12)
    """

    source: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters the span covers."""
        return self.source[self.start : self.end]

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the first character in its line, counted from 1."""
        return self.start - (self.source.rfind("\n", 0, self.start) + 1) + 1

    def until(self, other: Span) -> Span:
        """The range from the start of this span to the end of ``other``."""
        return Span(self.source, self.start, other.end)
