"""A fault found in a text, before it is put into the words and the lines of an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vecstore.errors import FilterSyntaxError
from vecstore.filter.span import Span

_LONGEST_LINE = 120
_LONGEST_TEXT = 2_000
_LONGEST_QUOTE = 40
_MOST_ROUNDS = 8


class Edit(NamedTuple):
    """``text[start:end]`` replaced by ``new``."""

    start: int
    end: int
    new: str


class Advice(NamedTuple):
    """One way to put a fault right.

    ``lead`` is followed by the corrected line when the edits give a text that can be read, and
    by ``piece``, the corrected part alone, when they do not. Advice that has edits and no piece
    is worth nothing then.
    """

    lead: str
    piece: str = ""
    edits: tuple[Edit, ...] = ()


class Fault(Exception):
    """What is wrong with ``text[start:end]``, and ways to put it right, the likeliest first."""

    def __init__(self, message: str, start: int, end: int, *advice: Advice) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.advice = advice


def syntax_error(
    text: str, fault: Fault, fault_of: Callable[[str], Fault | None]
) -> FilterSyntaxError:
    """The error to raise for a fault.

    Args:
        text: The filter text.
        fault: What was found in it.
        fault_of: What is wrong with another text, or None; a correction is shown as a whole
            line only when nothing is wrong with the text it gives.
    """
    return FilterSyntaxError(
        fault.message,
        span=Span(text, fault.start, fault.end),
        hint=_hint(text, fault.advice, fault_of),
    )


def quoted(text: str) -> str:
    """A part of a filter text as a message shows it: short, and without acting on a terminal."""
    shown = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in shown)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _hint(
    text: str, advice: Sequence[Advice], fault_of: Callable[[str], Fault | None]
) -> str | None:
    if len(text) <= _LONGEST_TEXT:
        for lead, _, edits in advice:
            if not edits:
                continue
            place = min(edit.start for edit in edits)
            corrected = _corrected(edited(text, edits), lead, fault_of)
            line = "" if corrected is None else _line_at(corrected, place)
            if 0 < len(line) <= _LONGEST_LINE and line.isprintable():
                return f"{lead} {line}" if lead.endswith("?") else f"{lead}: {line}"
    for lead, piece, edits in advice:
        if piece and len(piece) <= _LONGEST_LINE and piece.isprintable():
            return lead if lead.endswith("?") else f"{lead}: {piece}"
        if not piece and not edits:
            return lead
    return None


def _corrected(text: str, lead: str, fault_of: Callable[[str], Fault | None]) -> str | None:
    """The text when it can be read, at once or after more of the same correction."""
    for _ in range(_MOST_ROUNDS):
        fault = fault_of(text)
        if fault is None:
            return text
        again = next((a.edits for a in fault.advice if a.lead == lead and a.edits), None)
        if again is None:
            return None
        text = edited(text, again)
    return None


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : len(text) if end < 0 else end].strip()
