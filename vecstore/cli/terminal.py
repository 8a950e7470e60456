"""What the command reads and writes.

Answers go to standard output, errors and progress to standard error; the text of a filter, and
documents as JSON lines, come from arguments, files or standard input. What is drawn, in colour or
as a table, is in ``screen.py``: rich takes longer to load than most commands to answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from vecstore.errors import VecstoreError
from vecstore.explaining.plain import error_object, plain_json
from vecstore.filter.tree import Expression

JsonOption = Annotated[
    bool, typer.Option("--json", help="Answer in JSON, errors included.", show_default=False)
]

NEGATIVE = 1
"""Exit code of a negative answer: nothing matched, or `check` refused the filter."""
FAILED = 2
"""Exit code of a wrong call and of an error."""


class CommandError(Exception):
    """A fault of the command line's own: a file, an option, an embedder. Ends with exit code 2."""


def print_plain(text: str) -> None:
    """Print an answer as it is: not wrapped, not coloured, nothing in it interpreted."""
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    """Print an answer as JSON."""
    print_plain(json.dumps(value, ensure_ascii=False, indent=2, default=plain_json))


def fail(error: Exception, *, as_json: bool = False, code: int = FAILED) -> typer.Exit:
    """Show an error and give the exit to raise.

    The text goes to standard error; with ``as_json`` an object goes to standard output as well,
    so that a program that reads JSON always finds some.
    """
    from vecstore.cli.screen import show_error

    show_error(str(error))
    if as_json:
        print_json({"error": error_object(error)})
    return typer.Exit(code)


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


def first_line(text: str) -> str:
    r"""The first line of a text that says something, without control characters.

    Example:
        >>> first_line("\n  Bake at 230 degrees.\nThen wait.")
        'Bake at 230 degrees.'
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(character if character.isprintable() else " " for character in line)


def visible(text: str) -> str:
    r"""A text of a stranger's in one line, with escapes for what a terminal would act on.

    Example:
        >>> print(visible("a\x1b[2J\u202eb"))
        a\x1b[2J\u202eb
    """
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


STDIN = "-"
STDIN_NAME = "(standard input)"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

FilterArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILTER", show_default=False, help="The filter; [bold]-[/] reads standard input."
    ),
]
FilterFileOption = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="Read the filter from a file."),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        "-k",
        metavar="KEY",
        help="The object inside each line that the filter looks at, such as "
        "[bold]metadata[/]; a path like [bold]doc.metadata[/] works too.",
    ),
]

SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="A schema, as [bold]vecstore schema infer --toml[/] writes it: the filter has to fit.",
        show_default=False,
    ),
]


class BadLine(Exception):
    """A line that is no document; its text says why."""


def filter_text(argument: str | None, file: Path | None) -> str:
    """The text of the filter, from wherever it was given.

    Raises:
        typer.BadParameter: If it was given twice, or not at all.
        CommandError: If it is not UTF-8.
    """
    if (argument is None) == (file is None):
        fault = "was given twice" if file is not None else "is missing"
        raise typer.BadParameter(f"the filter {fault}; give FILTER, or - for standard input, "
                                 "or --file FILE")  # fmt: skip
    if argument is not None and argument != STDIN:
        return argument
    name = STDIN_NAME if file is None else str(file)
    content = sys.stdin.buffer.read() if file is None else file.read_bytes()
    content = content.removeprefix(BYTE_ORDER_MARK)  # editors put it before a text, unasked
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{name}: the filter is not UTF-8 (byte {content[error.start]:#04x} at {error.start})\n"
            "hint: save the file as UTF-8"
        ) from None


def parsed_filter(argument: str | None, file: Path | None) -> Expression:
    """Read the filter from wherever it was given.

    Raises:
        FilterError: If it cannot be read.
    """
    from vecstore.grammar.parser import parse

    return parse(filter_text(argument, file))


def key_path(key: str | None) -> tuple[str, ...]:
    """The segments of a key written as in a filter: dots step inwards, odd names are quoted.

    Raises:
        typer.BadParameter: If it is no key.
    """
    from vecstore.errors import FilterError
    from vecstore.filter.tree import Op
    from vecstore.grammar.parser import parse

    if key is None:
        return ()
    try:
        expression = parse(f"{key} IS NULL")
        if expression.op is Op.ISNULL:
            return expression.key.path
    except FilterError:
        pass
    raise typer.BadParameter(
        f'{key!r} is no key; write it as in a filter: metadata, doc.metadata, "odd name"',
        param_hint="--key",
    )


@contextmanager
def opened(name: str) -> Iterator[IO[bytes]]:
    """A file open for reading, or standard input for ``-``.

    Raises:
        CommandError: If it cannot be opened.
    """
    if name == STDIN:
        yield sys.stdin.buffer
        return
    try:
        stream = open(name, "rb")  # noqa: SIM115
    except OSError as error:
        raise CommandError(file_fault(error)) from None
    with stream:
        yield stream


def shown_name(name: str) -> str:
    """A file's name as messages show it."""
    return STDIN_NAME if name == STDIN else name


def read_row(line: bytes) -> dict[str, Any] | None:
    """The object in one line of JSON lines, or None for a blank line.

    Raises:
        BadLine: If it holds anything but one JSON object.
    """
    if not line or line.isspace():
        return None
    try:
        row = json.loads(line.removeprefix(BYTE_ORDER_MARK).rstrip().decode("utf-8"))
    except json.JSONDecodeError as error:
        raise BadLine(f"this is not JSON: {error.msg} (column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise BadLine(f"this is not UTF-8 (byte {error.object[error.start]:#04x})") from None
    except RecursionError:
        raise BadLine("the JSON is nested too deep to be read") from None
    except ValueError:  # Python does not read integers past 4,300 digits
        raise BadLine("it holds an integer that is too long to be read") from None
    if not isinstance(row, dict):
        raise BadLine(f"a JSON object is needed, not {_JSON_NAMES.get(type(row), 'this')}")
    return row


def inner_object(row: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The object at a path; an empty one when it is missing or null.

    Raises:
        BadLine: If something else is there.
    """
    value: Any = row
    for segment in path:
        value = value.get(segment)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise BadLine(
                f"the value under {segment!r} is {_JSON_NAMES.get(type(value), 'something else')}, "
                "not an object"
            )
    return dict(value) if not path else value


_JSON_NAMES = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}
