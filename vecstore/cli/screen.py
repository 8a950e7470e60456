"""What the command draws: colours, errors with their carets, and progress.

This is the part of the command that needs rich; it is loaded when there
is something to draw.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text


class _Answers(Console):
    """Leaves a reader that has gone to the command, where rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704  (rich calls this while it handles the error)


def answers() -> Console:
    """Where answers go. Made anew at each call, since tests exchange the streams."""
    return _Answers(file=sys.stdout, highlight=False, emoji=False, markup=False)


def remarks() -> Console:
    """Where errors, progress and remarks go."""
    return Console(file=sys.stderr, highlight=False, emoji=False, markup=False)


def show_error(text: str, label: str = "error") -> None:
    """Write an error to standard error, its carets and its hint in colour."""
    shown = Text.assemble((f"{label}: ", "bold red"), error_text(text))
    # A reflowed line would part the carets from what they point at.
    remarks().print(shown, soft_wrap=True)


def error_text(text: str) -> Text:
    """The text of an error with its parts in colour."""
    first, *lines = text.split("\n")
    shown = Text(first)
    for line in lines:
        bare = line.strip()
        style = ""
        if bare and not bare.strip("^"):
            style = "bold red"
        elif line.startswith("hint: "):
            style = "cyan"
        elif line.startswith("  line "):
            style = "dim"
        shown.append("\n")
        shown.append(line, style)
    return shown


_BREAKS = re.compile(r"[^,;|&/(){}\[\]]+[,;|&/(){}\[\]]*|[,;|&/(){}\[\]]+")


def wrapped(text: str, width: int, indent: str = "") -> str:
    """A text in lines of so many columns, all but the first of them indented.

    Lines break between words. A word that is longer than a line breaks behind what joins its
    parts, and anywhere only where that does not help.

    Example:
        >>> print(wrapped("year >= 2020 AND lang == 'en'", 18, "  "))
        year >= 2020 AND
          lang == 'en'
        >>> print(wrapped("@tokens:{4f53cda1|88895a95|4c027ad1}", 20))
        @tokens:{4f53cda1|
        88895a95|4c027ad1}
    """
    return "\n".join(
        [part for line in text.split("\n") for part in _lines(line, max(width, 8), indent)]
    )


def _lines(line: str, width: int, indent: str) -> Iterator[str]:
    room = width - len(indent)
    current, used = "", False
    for word in re.findall(r"\s*\S+", line):
        if cell_len(current + word) <= width:
            current, used = current + word, True
            continue
        bare = word.lstrip() if used else word
        if used:
            yield current
            current = indent
        if cell_len(bare) <= room:
            current, used = current + bare, True
            continue
        for part in _parts(bare, room):
            if used and cell_len(current + part) > width:
                yield current
                current = indent
            current, used = current + part, True
    yield current


def _parts(word: str, room: int) -> Iterator[str]:
    for part in _BREAKS.findall(word):
        while cell_len(part) > room:
            most = next(n for n in range(len(part), 0, -1) if cell_len(part[:n]) <= room or n == 1)
            yield part[:most]
            part = part[most:]
        if part:
            yield part


def shortened(text: str, width: int) -> str:
    """The beginning of a text, in whole words, that has room in so many columns.

    Example:
        >>> shortened("Wait for the single Future", 18)
        'Wait for the …'
    """
    if cell_len(text) <= width:
        return text
    words = text.split()
    while words and cell_len(" ".join(words)) + 2 > width:
        words.pop()
    return " ".join([*words, "…"])


def columns_of(part: RenderableType, console: Console) -> int:
    """How many columns a table takes whose cells are not broken."""
    return console.measure(part, options=console.options.update(max_width=10_000)).maximum


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Bar]:
    """A progress bar on standard error, shown on a terminal only."""
    console = remarks()
    if not console.is_terminal:
        yield Bar()
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        yield Bar(progress, progress.add_task(label, total=total))


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Something that moves on standard error while one long step runs; on a terminal only."""
    console = remarks()
    if not console.is_terminal:
        yield
        return
    with console.status(label):
        yield


class Bar:
    """One line of progress; without a place to be shown it does nothing."""

    def __init__(self, progress: Progress | None = None, task: TaskID | None = None) -> None:
        self._progress = progress
        self._task = task

    def advance(self, count: int = 1) -> None:
        """Say that ``count`` more are done."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, count)

    def reach(self, done: int, total: int | None) -> None:
        """Say that ``done`` of ``total`` are done."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, total=total)
