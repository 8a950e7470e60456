"""What `vecstore --help` shows: every command in a line, drawn as rich draws the help of each.

Loading rich takes longer than Python itself does to start, so that this is written without.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap

_BOLD, _DIM, _CYAN, _GREEN, _YELLOW, _END = (
    "\x1b[1m", "\x1b[2m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[33m", "\x1b[0m"
)  # fmt: skip
_OPTION = re.compile(r"(?<![\w-])(?:--[\w-]+|-\w)(?![\w-])")
_GAP = 10
"""Between the names of an option and its help, where others have what they take."""


def overview(
    usage: str,
    about: str,
    options: Sequence[tuple[Sequence[str], str]],
    panels: Mapping[str, Sequence[tuple[str, str]]],
) -> str:
    """The help of the command as a whole, as wide as the terminal.

    Args:
        usage: How it is called.
        about: What it is for.
        options: The names of each, and its help.
        panels: By title, commands with a line about each.

    Example:
        >>> shown = overview("Usage: it", "It.", [(["--wet"], "Swim.")], {"All": [("go", "Fly.")]})
        >>> "--wet" in shown and "Fly." in shown
        True
    """
    width = get_terminal_size().columns
    drawn = _Drawing(width, colours=_in_colour())
    drawn.paragraph(usage, usage=True)
    drawn.paragraph(about)
    names = [
        (
            ",".join(name for name in given if name.startswith("--")),
            ",".join(name for name in given if not name.startswith("--")),
        )
        for given, _ in options
    ]
    long, short = (max(map(len, column)) for column in zip(*names, strict=True))
    drawn.panel(
        "Options",
        [
            (f"{first:{long}}  {second:{short}}{' ' * (_GAP - 2)}", help)
            for (first, second), (_, help) in zip(names, options, strict=True)
        ],
    )
    longest = max(len(name) for listed in panels.values() for name, _ in listed)
    for title, listed in panels.items():
        drawn.panel(title, [(f"{name:{longest}}  ", help) for name, help in listed], names=True)
    return "\n".join(drawn.lines)


class _Drawing:
    def __init__(self, width: int, *, colours: bool) -> None:
        self.lines: list[str] = []
        self._width = width
        self._colours = colours
        self._box = [*"╭╮╰╯─│"]
        try:
            "╭".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except UnicodeEncodeError:
            self._box = [*"++++-|"]

    def paragraph(self, text: str, *, usage: bool = False) -> None:
        """Lines of text with room around them."""
        if usage:
            self.lines.append(" " * self._width)
        for line in wrap(text, self._width - 2):
            shown = line.ljust(self._width - 1)
            if usage:
                shown = self._coloured(shown, _BOLD).replace(
                    "Usage:", self._coloured("Usage:", _YELLOW) + (self._colours * _BOLD)
                )
            self.lines.append(" " + shown)
        self.lines.append(" " * self._width)

    def panel(self, title: str, rows: Sequence[tuple[str, str]], *, names: bool = False) -> None:
        """A box with a title, and in each row a name and what is said of it."""
        upper_left, upper_right, lower_left, lower_right, level, side = self._box
        inner = self._width - 4
        head = f"{upper_left}{level} {title} ".ljust(self._width - 1, level) + upper_right
        edge = self._coloured(side, _DIM)
        self.lines.append(self._coloured(head, _DIM))
        for name, help in rows:
            room = max(inner - len(name), 1)
            for number, line in enumerate(wrap(help, room) or [""]):
                start = name if number == 0 else " " * len(name)
                start = self._coloured(start, _CYAN) if names else self._highlighted(start)
                said = self._highlighted(line.ljust(room))
                self.lines.append(f"{edge} {start}{said} {edge}")
        foot = lower_left + level * (self._width - 2) + lower_right
        self.lines.append(self._coloured(foot, _DIM))

    def _coloured(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_END}" if self._colours else text

    def _highlighted(self, text: str) -> str:
        return _OPTION.sub(
            lambda found: self._coloured(found[0], _CYAN if found[0].startswith("--") else _GREEN),
            text,
        )


def _in_colour() -> bool:
    """Whether whoever reads the output sees colours, by the variables that rich goes by."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
