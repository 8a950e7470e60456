"""`vecstore grep`: the lines of JSON-lines files whose metadata a filter selects."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple

import typer

from vecstore.cli.terminal import (
    BYTE_ORDER_MARK,
    FAILED,
    NEGATIVE,
    STDIN,
    BadLine,
    CommandError,
    FilterArgument,
    FilterFileOption,
    JsonOption,
    KeyOption,
    expected_errors,
    file_fault,
    inner_object,
    key_path,
    opened,
    parsed_filter,
    print_json,
    read_row,
    shown_name,
)
from vecstore.errors import DocumentError
from vecstore.filter.evaluate import read_path
from vecstore.filter.tree import LOGICAL, Expression
from vecstore.filter.values import UnusableValue, to_metadata_value

GREP_EXAMPLES = """
[bold]Examples[/]

  vecstore grep "year >= 2020 AND lang != 'de'" docs.jsonl

  vecstore grep -k metadata "tags IN ['draft']" -c docs/*.jsonl

  zcat docs.jsonl.gz | vecstore grep -v "author.name IS NULL" | jq .id
"""


class Match(NamedTuple):
    """A line that was selected."""

    name: str
    number: int
    line: bytes


_MANY_COMPARISONS = 8
_LARGE_FILE = 1024 * 1024
_BYTES_AT_ONCE = 1024 * 1024
"""Lines of this size together are decided at once, where filter and file are large: one by one
they take longer than reading them does."""


class Scan:
    """A filter on its way through files; remembers what could not be read."""

    def __init__(self, expression: Expression, under: tuple[str, ...], invert: bool) -> None:
        self.failures = 0
        self._expression = expression
        self._matches = expression.matcher()
        atoms = [node for node in expression.walk() if node.op not in LOGICAL]
        self._paths = {node.key.path for node in atoms}
        self._large = len(atoms) > _MANY_COMPARISONS
        self._under = under
        self._invert = invert

    def selected(self, name: str) -> Iterator[Match]:
        """The selected lines of one file. What is no document is reported, and passed over."""
        try:
            with opened(name) as stream:
                if self._large and name != STDIN and _is_large(stream):
                    yield from self._selected_at_once(name, stream)
                    return
                for number, line in enumerate(stream, 1):
                    if self._is_selected(name, number, line):
                        yield Match(name, number, line)
        except CommandError as error:
            self._report(str(error))
        except OSError as error:  # while reading: a disk or a network that fails
            self._report(f"{shown_name(name)}: {file_fault(error)}")

    def _selected_at_once(self, name: str, stream: IO[bytes]) -> Iterator[Match]:
        """The same for a large file: many lines are decided in one step."""
        first = 1
        while lines := stream.readlines(_BYTES_AT_ONCE):
            decided = self._decided(lines)
            for number, line in enumerate(lines, first):
                verdict = decided.get(number - first)
                if self._is_selected(name, number, line) if verdict is None else verdict:
                    yield Match(name, number, line)
            first += len(lines)

    def _decided(self, lines: list[bytes]) -> dict[int, bool]:
        """Whether lines are selected, by place; what needs a look at the line is left out."""
        from vecstore.simple.metadata import MetadataTable

        rows: dict[int, dict[str, Any]] = {}
        for place, line in enumerate(lines):
            if b"\\u" in line:
                continue
            with suppress(BadLine):
                row = read_row(line)
                if row is not None:
                    rows[place] = inner_object(row, self._under) if self._under else row
        table = MetadataTable(list(rows.values()), Expression.matcher)
        try:
            mask = table.select(self._expression)
        except DocumentError:
            return {}
        return dict(zip(rows, (mask != self._invert).tolist(), strict=True))

    def _is_selected(self, name: str, number: int, line: bytes) -> bool:
        try:
            row = read_row(line)
            return row is not None and self._selects(row, line)
        except BadLine as bad:
            self._report(f"{shown_name(name)}:{number}: {bad}")
            return False

    def _selects(self, row: dict[str, Any], line: bytes) -> bool:
        metadata = inner_object(row, self._under) if self._under else row
        try:
            # Only an escape can bring in a character that no document holds.
            if b"\\u" in line:
                for path in self._paths:
                    to_metadata_value(read_path(metadata, path))
            return self._matches(metadata) is not self._invert
        except DocumentError as error:
            raise BadLine(str(error)) from None
        except UnusableValue as error:
            raise BadLine(f"a value that the filter looks at is none: {error.reason}") from None

    def _report(self, text: str) -> None:
        self.failures += 1
        sys.stderr.write(f"vecstore grep: {text}\n")


def _is_large(stream: IO[bytes]) -> bool:
    """Whether it is a file, and no pipe, whose lines are worth being gathered."""
    status = os.fstat(stream.fileno())
    return stat.S_ISREG(status.st_mode) and status.st_size >= _LARGE_FILE


def grep(
    argument: FilterArgument = None,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="JSON-lines files; without any, or for [bold]-[/], standard input is read.",
        ),
    ] = None,
    file: FilterFileOption = None,
    key: KeyOption = None,
    invert: Annotated[
        bool, typer.Option("--invert", "-v", help="Lines that the filter does not select.")
    ] = False,
    count: Annotated[
        bool, typer.Option("--count", "-c", help="Only how many lines there are.")
    ] = False,
    number: Annotated[
        bool, typer.Option("--line-number", "-n", help="Each line's number before it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the lines of JSON-lines files that a filter selects, byte for byte.

    Exits with 0 when a line was selected, 1 when none was, 2 when something could not be read.
    """
    with expected_errors(as_json):
        expression, names = _inputs(argument, files or [], file)
        scan = Scan(expression, key_path(key), invert)
    total = (
        _count(scan, names, as_json)
        if count
        else _print(scan, names, number=number, as_json=as_json)
    )
    if scan.failures:
        raise typer.Exit(FAILED)
    if not total:
        raise typer.Exit(NEGATIVE)


def _inputs(
    argument: str | None, files: list[str], file: Path | None
) -> tuple[Expression, list[str]]:
    """The filter, and the names of the files to read."""
    if file is not None:  # then the first argument is no filter, as with grep's own -f
        names = files if argument is None else [argument, *files]
        return parsed_filter(None, file), names or [STDIN]
    if argument == STDIN and (not files or STDIN in files):
        raise typer.BadParameter("the filter and the lines cannot both come from standard input")
    return parsed_filter(argument, None), files or [STDIN]


def _print(scan: Scan, names: list[str], *, number: bool, as_json: bool) -> int:
    total = 0
    out = sys.stdout.buffer
    at_terminal = sys.stdout.isatty()
    for name in names:
        for match in scan.selected(name):
            total += 1
            if as_json:
                out.write(_as_json(match))
            else:
                if number:
                    prefix = os.fsencode(f"{shown_name(name)}:") if len(names) > 1 else b""
                    out.write(prefix + b"%d:" % match.number)
                out.write(match.line)
                if not match.line.endswith(b"\n"):  # the last line of a file, perhaps
                    out.write(b"\n")
            if at_terminal:
                out.flush()
    out.flush()
    return total


def _count(scan: Scan, names: list[str], as_json: bool) -> int:
    counts = [(shown_name(name), sum(1 for _ in scan.selected(name))) for name in names]
    total = sum(count for _, count in counts)
    if as_json:
        files = [{"file": name, "count": count} for name, count in counts]
        print_json({"count": total, "files": files, "failures": scan.failures})
    else:
        for name, count in counts:
            sys.stdout.write(f"{name}:{count}\n" if len(counts) > 1 else f"{count}\n")
    return total


def _as_json(match: Match) -> bytes:
    """The line itself inside an object: what no JSON reader changed comes out unchanged."""
    name = json.dumps(shown_name(match.name)).encode()
    document = match.line.removeprefix(BYTE_ORDER_MARK).strip()
    return b'{"file": %s, "line": %d, "document": %s}\n' % (name, match.number, document)
