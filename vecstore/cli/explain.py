"""`vecstore explain` and `vecstore dialects`: all backends beside each other."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vecstore.cli.filters import compiled_object
from vecstore.cli.options import complete_dialect
from vecstore.cli.output import (
    JsonOption,
    answers,
    error_object,
    error_text,
    expected_errors,
    print_json,
)
from vecstore.cli.reading import FilterArgument, FilterFileOption, read_filter
from vecstore.dialects.registry import dialect_names, get_dialect
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.ast import Expression, trusted
from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplify
from vecstore.filter.op import LOGICAL

EXPLAIN_EXAMPLES = """
[bold]Examples[/]

  vecstore explain "year >= 2020 AND NOT (lang IN ['de', 'fr'])"

  vecstore explain -d qdrant -d milvus "title > 'M'"
"""

DIALECTS_EXAMPLES = """
[bold]Examples[/]

  vecstore dialects

  vecstore dialects --json | jq '.rows[] | select(.operators[0] == ">")'
"""


def explain(
    argument: FilterArgument = None,
    file: FilterFileOption = None,
    dialects: Annotated[
        list[str] | None,
        typer.Option(
            "--dialect",
            "-d",
            metavar="NAME",
            help="Only this backend; may be repeated.",
            autocompletion=complete_dialect,
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a filter becomes: rewritten, and as every backend's own query.

    A backend that cannot answer it exactly says why, and where. Dialects take their default
    options here; `vecstore compile -d NAME -o KEY=VALUE` takes others.
    """
    with expected_errors(as_json):
        expression = read_filter(argument, file)
        outcomes = [(name, _outcome(name, expression)) for name in dialects or dialect_names()]
    steps = rewrites(expression)
    if as_json:
        print_json(
            {
                "text": expression.to_text(),
                "normalized": expression.normalize().to_text(),
                "rewrites": steps,
                "dialects": {name: _outcome_object(outcome) for name, outcome in outcomes},
            }
        )
        return
    console = answers()
    _print_reading(console, expression, steps)
    for name, outcome in outcomes:
        console.print()
        if isinstance(outcome, Compiled):
            console.print(Rule(Text(name, "bold"), align="left", style="dim"))
            console.print(_query_text(outcome, console.width))
        else:
            title = Text.assemble((name, "bold"), " ", ("refused", "bold red"))
            console.print(Rule(title, align="left", style="dim"))
            console.print(error_text(str(outcome)), soft_wrap=True)


def rewrites(expression: Expression) -> list[str]:
    """What normalisation did to a filter, a line for each change.

    Example:
        >>> from vecstore import parse
        >>> rewrites(parse("NOT (a < 1)"))
        ['NOT a < 1  ->  a >= 1']
    """
    simple = simplify(expression)
    if isinstance(simple, bool):
        which = "every document" if simple else "no document"
        return [f"the filter selects {which}, whatever is in it"]
    steps = []
    kept = 0
    for node in simple.walk():
        if node.op in LOGICAL:
            continue
        kept += 1
        if node.op is not node.written_op:
            written = trusted(node.written_op, node.operands)
            steps.append(f"NOT {written.to_text()}  ->  {node.to_text()}")
    written_atoms = sum(1 for node in expression.walk() if node.op not in LOGICAL)
    if kept < written_atoms:
        gone = written_atoms - kept
        steps.append(
            f"{gone} comparison{'s' if gone > 1 else ''} left out: said twice, or the same for "
            "every document"
        )
    return steps


def dialects(as_json: JsonOption = False) -> None:
    """Show what each backend answers exactly, and what it refuses."""
    from vecstore.dialects.matrix import Matrix, capability_matrix, shown_limit

    with expected_errors(as_json):
        matrix: Matrix = capability_matrix(dialect_names())
    if as_json:
        print_json(_matrix_object(matrix))
        return
    console = answers()
    table = Table(box=box.SIMPLE_HEAD, title="What each dialect answers exactly",
                  title_justify="left", title_style="bold")  # fmt: skip
    table.add_column("operator", no_wrap=True)
    table.add_column("value", style="dim")
    for name in matrix.dialects:
        table.add_column(name, justify="center")
    for row in matrix.rows:
        cells = [
            Text("yes", "green") if cell else Text(f"no ({matrix.note_of(cell)})", "red")
            for cell in row.cells
        ]
        table.add_row("  ".join(row.operators), row.values, *cells)
    console.print(table)
    for number, (name, refusal) in enumerate(matrix.notes, 1):
        note = Table.grid(padding=(0, 1))
        note.add_column(justify="right", width=5)
        text = Text.assemble((name, "bold"), ": ", refusal.reason)
        if refusal.remedy:
            text.append(f"; {refusal.remedy}", "cyan")
        note.add_row(Text(f"({number})", "red"), text)
        console.print(note)
    limits = Table(box=box.SIMPLE_HEAD, title="Limits of their own", title_justify="left",
                   title_style="bold")  # fmt: skip
    limits.add_column("at most")
    for name in matrix.dialects:
        limits.add_column(name, justify="right", no_wrap=True)
    for label, numbers in matrix.limits:
        limits.add_row(label, *map(shown_limit, numbers))
    console.print()
    console.print(limits)


def _outcome(name: str, expression: Expression) -> Compiled | UnsupportedFilterError:
    try:
        return get_dialect(name)().compile(expression)
    except UnsupportedFilterError as error:
        return error


def _outcome_object(outcome: Compiled | UnsupportedFilterError) -> dict[str, Any]:
    if isinstance(outcome, Compiled):
        return compiled_object(outcome)
    return {"refused": error_object(outcome)}


def _print_reading(console: Console, expression: Expression, steps: list[str]) -> None:
    reading = Table.grid(padding=(0, 2))
    reading.add_column(style="dim", no_wrap=True)
    reading.add_column()
    reading.add_row("read as", Text(expression.to_text(), "bold"))
    normalized = expression.normalize()
    if normalized == expression:
        reading.add_row("rewritten", Text("nothing to rewrite", "dim"))
    else:
        reading.add_row("rewritten", Text(normalized.to_text(), "bold"))
        for step in steps:
            reading.add_row("", Text(step, "dim"))
    console.print(reading)


def _query_text(compiled: Compiled, width: int) -> Text:
    """The native query; an object that fits one line stands on one line."""
    native = compiled.native
    if isinstance(native, dict | list) and not compiled.params:
        line = json.dumps(native, ensure_ascii=False)
        if len(line) <= width:
            return Text(line)
    text = Text()
    for number, line in enumerate(str(compiled).split("\n")):
        text.append("\n" if number else "")
        text.append(line, "dim" if line.startswith("  ") and compiled.params else "")
    return text


def _matrix_object(matrix: Any) -> dict[str, Any]:
    return {
        "dialects": list(matrix.dialects),
        "rows": [
            {
                "operators": list(row.operators),
                "values": row.values,
                "answers": {cell.dialect: _cell_object(cell) for cell in row.cells},
            }
            for row in matrix.rows
        ],
        "limits": {
            label: dict(zip(matrix.dialects, numbers, strict=True))
            for label, numbers in matrix.limits
        },
    }


def _cell_object(cell: Any) -> dict[str, Any]:
    if cell.refusal is None:
        return {"exact": True}
    return {"exact": False, "reason": cell.refusal.reason, "remedy": cell.refusal.remedy}
