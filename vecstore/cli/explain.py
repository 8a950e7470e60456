"""`vecstore explain`: what becomes of one filter, and what every backend makes of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vecstore.cli.filters import compiled_object
from vecstore.cli.screen import answers, error_text
from vecstore.cli.settings import build_dialect, complete_dialect
from vecstore.cli.sources import SourceOption, read_filter
from vecstore.cli.terminal import (
    FilterArgument,
    FilterFileOption,
    JsonOption,
    compact_json,
    error_object,
    expected_errors,
    print_json,
)
from vecstore.dialects.registry import dialect_names
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, trusted

EXPLAIN_EXAMPLES = """
[bold]Examples[/]

  vecstore explain "year >= 2020 AND NOT (lang IN ['de', 'fr'])"

  vecstore explain -d qdrant -d milvus "title > 'M'"
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
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a filter becomes: rewritten, and as every backend's own query.

    A backend that cannot answer it exactly says why, and where. Dialects take their default
    options here; `vecstore compile -d NAME -o KEY=VALUE` takes others.
    """
    with expected_errors(as_json):
        expression = read_filter(argument, file, source)
        outcomes = [(name, _outcome(name, expression)) for name in dialects or dialect_names()]
    steps = rewrites(expression)
    if as_json:
        print_json(
            {
                "text": expression.to_text(),
                "normalized": expression.normalize().to_text(),
                "rewrites": steps,
                "remarks": remarks(expression),
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
        if node.merged:
            kept += len(node.merged) - 1
            steps.append(f"{len(node.merged)} comparisons of {node.key}  ->  {node.to_text()}")
        elif node.op is not node.written_op:
            written = trusted(node.written_op, node.operands)
            steps.append(f"NOT {written.to_text()}  ->  {node.to_text()}")
    written_atoms = sum(1 for node in expression.walk() if node.op not in LOGICAL)
    if kept < written_atoms:
        gone = written_atoms - kept
        steps.append(
            f"{gone} comparison{'s' if gone > 1 else ''} left out: said twice or by another, or "
            "the same for every document"
        )
    return steps


def remarks(expression: Expression) -> list[str]:
    """What may surprise in how a filter is answered, a line for each remark.

    Example:
        >>> from vecstore import parse
        >>> remarks(parse("year >= 2010"))
        ['year >= 2010: a list under year never matches an ordering; with == and IN one element is \
enough']
        >>> remarks(parse("year == 2010"))
        []
    """
    simple = simplify(expression)
    if isinstance(simple, bool):
        return []
    orderings = {
        str(node.key): node for node in reversed(list(simple.walk())) if node.op in ORDERINGS
    }
    return [
        f"{node.to_text()}: a list under {key} never matches an ordering; with == and IN one "
        "element is enough"
        for key, node in reversed(orderings.items())
    ]


def _outcome(name: str, expression: Expression) -> Compiled | UnsupportedFilterError:
    try:
        return build_dialect(name, None).compile(expression)
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
    if normalized != expression:
        reading.add_row("rewritten", Text(normalized.to_text(), "bold"))
    elif not steps:
        reading.add_row("rewritten", Text("nothing to rewrite", "dim"))
    for step in steps:
        reading.add_row("", Text(step, "dim"))
    for remark in remarks(expression):
        reading.add_row("note", Text(remark, "dim"))
    console.print(reading)


def _query_text(compiled: Compiled, width: int) -> Text:
    """The native query, in as few lines as it takes."""
    native = compiled.native
    if isinstance(native, dict | list) or hasattr(native, "to_where"):
        return Text(compact_json(native, width))
    text = Text()
    for number, line in enumerate(str(compiled).split("\n")):
        text.append("\n" if number else "")
        text.append(line, "dim" if line.startswith("  ") and compiled.params else "")
    return text
