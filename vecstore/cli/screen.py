"""What the command draws: colours, errors with their carets, and progress.

This is the part of the command that needs rich; it is loaded when there
is something to draw.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
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
