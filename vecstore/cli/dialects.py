"""`vecstore dialects`: what each one answers exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vecstore.cli.screen import answers, columns_of
from vecstore.cli.settings import build_dialect
from vecstore.cli.terminal import JsonOption, expected_errors, print_json
from vecstore.dialects.matrix import Cell, Matrix, capability_matrix, shown_limit
from vecstore.dialects.registry import dialect_names

DIALECTS_EXAMPLES = """
[bold]Examples[/]

  vecstore dialects

  vecstore dialects --json | jq '.rows[] | select(.operators[0] == ">")'
"""

_MARKS = {
    "yes": ("✓", "green"),
    "declared": ("✓ if", "yellow"),
    "mostly": ("✓ but", "yellow"),
    "no": ("✗", "red"),
}
_LEGEND = (
    ("yes", "exact"),
    ("declared", "the key is declared"),
    ("mostly", "with exceptions"),
    ("no", "refused"),
)
_COLUMN_WIDTH = 8
_HEADS_WIDTH = 23


def dialects(as_json: JsonOption = False) -> None:
    """Show what each backend answers exactly, and what it refuses."""
    with expected_errors(as_json):
        names = dialect_names()
        for name in names:
            build_dialect(name, None)  # a plug-in that does not work is named
        matrix = capability_matrix(names)
    if as_json:
        print_json(_matrix_object(matrix))
        return
    console = answers()
    _print_in_parts(console, matrix, _answers_table)
    legend = [Text.assemble(_MARKS[state], " ", (words, "dim")) for state, words in _LEGEND]
    console.print(Text("   ").join(legend))
    console.print()
    notes = Table.grid(padding=(0, 1))
    notes.add_column(justify="right", width=4, style="red")
    notes.add_column()
    for number, (name, refusal) in enumerate(matrix.notes, 1):
        text = Text.assemble((name, "bold"), ": ", refusal.reason)
        if refusal.remedy:
            text.append(f"; {refusal.remedy}", "cyan")
        notes.add_row(str(number), text)
    console.print(notes)
    console.print()
    _print_in_parts(console, matrix, _limits_table)


def _print_in_parts(
    console: Console, matrix: Matrix, table: Callable[[Matrix, slice, bool], Table]
) -> None:
    """Print the table; where the terminal is too narrow for all dialects, part after part."""
    start = 0
    while start < len(matrix.columns):
        end = start + 1
        # On a terminal that is too narrow for one of them, its name is broken.
        part = table(matrix, slice(start, end), False)
        if columns_of(part, console) > console.width:
            part = table(matrix, slice(start, end), True)
        while end < len(matrix.columns):
            more = table(matrix, slice(start, end + 1), False)
            if columns_of(more, console) > console.width:
                break
            part, end = more, end + 1
        console.print(part)
        start = end


def _answers_table(matrix: Matrix, part: slice, broken: bool) -> Table:
    heads = {"operator": 12, "value": 9}
    table = _table("What each dialect answers exactly", heads, matrix, part, broken)
    for row in matrix.rows:
        marks = [_mark(matrix, cell) for cell in row.cells[part]]
        operators = " ".join(row.operators)
        if len(operators) > heads["operator"]:
            operators = "\n".join(row.operators)
        table.add_row(operators, row.values, *marks)
    return table


def _limits_table(matrix: Matrix, part: slice, broken: bool) -> Table:
    table = _table("Limits of their own", {"at most": _HEADS_WIDTH}, matrix, part, broken)
    for label, numbers in matrix.limits:
        table.add_row(label, *map(shown_limit, numbers[part]))
    return table


def _table(title: str, heads: dict[str, int], matrix: Matrix, part: slice, broken: bool) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        collapse_padding=True,
        pad_edge=False,
    )
    for head, width in heads.items():
        table.add_column(head, width=width)
    for column in matrix.columns[part]:
        # A title such as "pinecone layout=exact" takes three lines, to be no wider than its name.
        name = column.title.replace(" ", "\n").replace("=", "\n=")
        if broken:
            name = name.replace("_", "_\n")
        table.add_column(name, justify="center", no_wrap=True, min_width=_COLUMN_WIDTH)
    return table


def _mark(matrix: Matrix, cell: Cell) -> Text:
    mark, style = _MARKS[cell.state]
    number = matrix.note_of(cell)
    return Text(mark if number is None else f"{mark} {number}", style)


def _matrix_object(matrix: Matrix) -> dict[str, Any]:
    titles = [column.title for column in matrix.columns]
    return {
        "dialects": titles,
        "rows": [
            {
                "operators": list(row.operators),
                "values": row.values,
                "answers": dict(zip(titles, map(_cell_object, row.cells), strict=True)),
            }
            for row in matrix.rows
        ],
        "limits": {
            label: dict(zip(titles, numbers, strict=True)) for label, numbers in matrix.limits
        },
    }


def _cell_object(cell: Cell) -> dict[str, Any]:
    if cell.refusal is None:
        return {"answer": cell.state}
    return {"answer": cell.state, "reason": cell.refusal.reason, "remedy": cell.refusal.remedy}
