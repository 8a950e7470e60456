"""A fault found in a text, before it is put into the words and the lines of an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vecstore.errors import FilterSyntaxError
from vecstore.filter.tree import Span

# How often, and how many characters in all, corrected texts are read for one error.
MOST_READINGS = 16
MOST_CHARACTERS = 128 * 1_024
_LONGEST_LINE = 120
_LONGEST_QUOTE = 40
_MOST_ROUNDS = 8

# What is wrong with a text, or None; also if what stands in one of the places given, as
# (start, end), is not read as a whole: another operator then takes a part of it.
FaultOf = Callable[[str, Sequence[tuple[int, int]]], "Fault | None"]


class Edit(NamedTuple):
    """``text[start:end]`` replaced by ``new``."""

    start: int
    end: int
    new: str


class Advice(NamedTuple):
    """One way to put a fault right.

    ``lead`` is followed by the corrected line when the edits give a text that can be read, and
    by ``piece``, the corrected part alone, when the text has other faults after it or the line is
    too long. Advice that has edits and no piece is worth nothing then. A ``sure`` correction is
    also made where it is not the first that the text needs, so that a line can be shown.
    """

    lead: str
    piece: str = ""
    edits: tuple[Edit, ...] = ()
    sure: bool = False


class Fault(Exception):
    """What is wrong with ``text[start:end]``, and ways to put it right, the likeliest first."""

    def __init__(self, message: str, start: int, end: int, *advice: Advice) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.advice = advice


def syntax_error(text: str, fault: Fault, fault_of: FaultOf) -> FilterSyntaxError:
    """The error to raise for a fault.

    Args:
        text: The filter text.
        fault: What was found in it.
        fault_of: What is wrong with a corrected text. A correction is shown as a whole line only
            when nothing is wrong with the text it gives, and as a piece of it only when nothing
            is wrong up to the end of that piece.
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


def _hint(text: str, advice: Sequence[Advice], fault_of: FaultOf) -> str | None:
    readings = min(MOST_READINGS, MOST_CHARACTERS // (len(text) or 1))
    good = []
    for choice in advice:
        if not choice.edits:
            good.append(choice)
            continue
        reading = _corrected(text, choice, fault_of, min(readings, _MOST_ROUNDS))
        readings -= reading.used
        if reading.text is not None:
            line = _line_at(reading.text, *_moved([], choice.edits)[0])
            if 0 < len(line) <= _LONGEST_LINE and line.isprintable():
                return f"{choice.lead}{_colon(choice.lead)} {line}"
        if reading.good:
            good.append(choice)
    for lead, piece, edits, _ in good:
        if piece and len(piece) <= _LONGEST_LINE and piece.isprintable():
            if lead.endswith(("?", f" {piece}")):
                return lead
            return f"{lead}{_colon(lead)} {piece}"
        if not piece and not edits:
            return lead
    return None


def _colon(lead: str) -> str:
    return "" if lead.endswith("?") else ":"


class _Reading(NamedTuple):
    """What came of reading a corrected text."""

    text: str | None  # the text with all corrections, when it can be read
    good: bool  # whether the first correction is none of what is wrong
    used: int  # how often it was read


def _corrected(text: str, advice: Advice, fault_of: FaultOf, rounds: int) -> _Reading:
    """A text after the correction, and after more of them where it has more faults."""
    pieces: list[tuple[int, int]] = []
    edits = advice.edits
    good = False
    for used in range(1, rounds + 1):
        text, pieces = edited(text, edits), _moved(pieces, edits)
        fault = fault_of(text, pieces)
        if fault is None:
            return _Reading(text, True, used)
        if used == 1:
            # Something has been read after the correction, so nothing is missing from it.
            good = text[pieces[0][1] : fault.start].strip() != ""
        more = [a for a in fault.advice if a.edits and (a.sure or a.lead == advice.lead)]
        if not more:
            return _Reading(None, good, used)
        edits = more[0].edits
    return _Reading(None, good, rounds)


def _moved(pieces: list[tuple[int, int]], edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Where corrected pieces stand after more edits, and where what the edits wrote stands."""
    places = list(pieces)
    written = (0, 0)
    for edit in sorted(edits, reverse=True):
        longer = len(edit.new) - (edit.end - edit.start)
        places = [
            (
                start if edit.start >= start else max(start + longer, edit.start),
                end if edit.start >= end else end + longer,
            )
            for start, end in places
        ]
        before = written[1] + longer if written[1] else edit.start + len(edit.new)
        written = (edit.start, before)
    return [*places, written]


def _line_at(text: str, first: int, last: int) -> str:
    """The line of what was corrected; all its lines, if it has several."""
    start = text.rfind("\n", 0, first) + 1
    end = text.find("\n", last)
    return text[start : len(text) if end < 0 else end].strip()
