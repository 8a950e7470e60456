"""What the command writes: answers to standard output, errors and progress to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer
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

from vecstore.errors import FilterError, FilterLimitError, UnsupportedFilterError, VecstoreError

JsonOption = Annotated[
    bool, typer.Option("--json", help="Answer in JSON, errors included.", show_default=False)
]

NEGATIVE = 1
"""Exit code of a negative answer: nothing matched, or `check` refused the filter."""
FAILED = 2
"""Exit code of a wrong call and of an error."""


class CommandError(Exception):
    """A fault of the command line's own: a file, an option, an embedder. Ends with exit code 2."""


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


def print_plain(text: str) -> None:
    """Print an answer as it is: not wrapped, not coloured, nothing in it interpreted."""
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    """Print an answer as JSON."""
    print_plain(json.dumps(value, ensure_ascii=False, indent=2, default=_to_json))


def compact_json(value: Any, width: int) -> str:
    """JSON in few lines: what fits into one line stands on one.

    Example:
        >>> print(compact_json({"must": [{"key": "a"}, {"key": "b"}]}, 24))
        {
          "must": [
            {"key": "a"},
            {"key": "b"}
          ]
        }
    """
    return _compact(value.to_where() if hasattr(value, "to_where") else value, width, 0, 0)


def _compact(value: Any, width: int, indent: int, before: int) -> str:
    """The text of a value whose lines are indented, with so much before it on its first line."""
    line = json.dumps(value, ensure_ascii=False, default=_to_json)
    fits = indent + before + len(line) < width  # one place is kept for a comma
    if fits or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = " " * (indent + 2), " " * indent
    if isinstance(value, dict):
        heads = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        parts = [
            inner + head + _compact(item, width, indent + 2, len(head))
            for head, item in zip(heads, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(parts) + f"\n{outer}}}"
    parts = [inner + _compact(item, width, indent + 2, 0) for item in value]
    return "[\n" + ",\n".join(parts) + f"\n{outer}]"


def fail(error: Exception, *, as_json: bool = False, code: int = FAILED) -> typer.Exit:
    """Show an error and give the exit to raise.

    The text goes to standard error; with ``as_json`` an object goes to standard output as well,
    so that a program that reads JSON always finds some.
    """
    show_error(str(error))
    if as_json:
        print_json({"error": error_object(error)})
    return typer.Exit(code)


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


def error_object(error: Exception) -> dict[str, Any]:
    """An error for a program to read."""
    # A hint stands on a line of its own, as in the text for people.
    message, _, hint = str(error).partition("\nhint: ")
    described: dict[str, Any] = {"type": type(error).__name__, "message": message}
    if hint:
        described["hint"] = hint
    if isinstance(error, FilterError):
        described |= {"message": error.message, "hint": error.hint}
        if error.span is not None:
            described |= {
                "line": error.line,
                "column": error.column,
                "start": error.span.start,
                "end": error.span.end,
            }
    if isinstance(error, FilterLimitError):
        described["limit"] = error.limit
    if isinstance(error, UnsupportedFilterError):
        described |= {
            "dialect": error.dialect,
            "operator": error.op.symbol if error.op is not None else None,
            "key": error.key,
            "reason": error.reason,
        }
    return described


@contextmanager
def expected_errors(as_json: bool = False) -> Iterator[None]:
    """Turn the errors of the library, and those of files, into a message and exit code 2."""
    try:
        yield
    except (VecstoreError, CommandError) as error:
        raise fail(error, as_json=as_json) from None
    except typer.BadParameter as error:  # typer goes on to show it, and how to call the command
        if as_json:
            print_json({"error": {"type": "UsageError", "message": error.format_message()}})
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise fail(CommandError(file_fault(error)), as_json=as_json) from None


def file_fault(error: OSError) -> str:
    """What a person wants to read of an OSError: which file, and why."""
    reason = error.strerror or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


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


def first_line(text: str) -> str:
    r"""The first line of a text that says something, without control characters.

    Example:
        >>> first_line("\n  Bake at 230 degrees.\nThen wait.")
        'Bake at 230 degrees.'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(character if character.isprintable() else " " for character in line)


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


def _to_json(value: Any) -> Any:
    """What json cannot write by itself: the neutral trees that some dialects compile to."""
    if hasattr(value, "to_where"):
        return value.to_where()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)
