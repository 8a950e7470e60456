"""`vecstore explain`: what becomes of one filter, and what every backend makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vecstore.cli.keys import KeyEnvOption, server_key
from vecstore.cli.screen import answers, error_text, wrapped
from vecstore.cli.settings import build_dialect, complete_dialect, read_schema
from vecstore.cli.sources import SourceOption, read_filter
from vecstore.cli.terminal import (
    FilterArgument,
    FilterFileOption,
    JsonOption,
    SchemaOption,
    expected_errors,
    print_json,
)
from vecstore.dialects.registry import dialect_names
from vecstore.errors import EXCERPT_WIDTH, UnsupportedFilterError, caret_excerpt
from vecstore.explaining.outcomes import outcome_object, outcome_of
from vecstore.explaining.plain import compact_json
from vecstore.explaining.rewriting import remarks, rewrites
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression

if TYPE_CHECKING:
    from vecstore.schema import Schema
    from vecstore.store.residual import Explanation

EXPLAIN_EXAMPLES = """
[bold]Examples[/]

  vecstore explain "year >= 2020 AND NOT (lang IN ['de', 'fr'])"

  vecstore explain -d qdrant -d milvus "title > 'M'"

  vecstore explain --store qdrant://localhost:6333/docs "year >= 2020 AND title > 'M'"

  vecstore explain --schema schema.toml "created > TIMESTAMP '2024-01-01T00:00:00Z'"
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
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Also a store: what its engine answers, and at how many documents vecstore would "
            'look with residual="evaluate".',
            show_default=False,
        ),
    ] = None,
    source: SourceOption = None,
    schema: SchemaOption = None,
    key_env: KeyEnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a filter becomes: rewritten, and as every backend's own query.

    A backend that cannot answer it exactly says why, and where, and which part of it it could
    answer. Dialects take their default options here; `vecstore compile -d NAME -o KEY=VALUE` takes
    others. With --store, dialects are shown only where -d names them. With --schema, the filter has
    to fit, and all are told what the keys hold.
    """
    with expected_errors(as_json):
        declared = read_schema(schema)
        expression = read_filter(argument, file, source)
        if declared is not None:
            declared.check(expression)
        names = dialects or ([] if store is not None else dialect_names())
        outcomes = [
            (name, outcome_of(build_dialect(name, None, declared), expression)) for name in names
        ]
        told = None if store is None else _explained(store, expression, declared, key_env)
    steps = rewrites(expression)
    if as_json:
        print_json(
            {
                "text": expression.to_text(),
                "normalized": expression.normalize().to_text(),
                "rewrites": steps,
                "remarks": remarks(expression),
                "dialects": {name: outcome_object(outcome) for name, outcome in outcomes},
                **({} if told is None else {"store": _explanation_object(told)}),
            }
        )
        return
    console = answers()
    _print_reading(console, expression, steps)
    if told is not None:
        console.print()
        console.print(Rule(Text(told.store, "bold"), align="left", style="dim"))
        console.print(Text(wrapped(str(told), console.width)))
        for reason in told.reasons:
            console.print(Text(wrapped(reason, console.width), "dim"))
    for name, outcome in outcomes:
        console.print()
        if isinstance(outcome, Compiled):
            console.print(Rule(Text(name, "bold"), align="left", style="dim"))
            console.print(_query_text(outcome, console.width))
        else:
            title = Text.assemble((name, "bold"), " ", ("refused", "bold red"))
            console.print(Rule(title, align="left", style="dim"))
            console.print(_error_text(outcome.error, console.width), soft_wrap=True)
            if outcome.partial is not None:
                partly = f'residual="evaluate": {outcome.partial.summary()}'
                console.print(Text(wrapped(partly, console.width), "dim"))


def _explained(
    url: str, expression: Expression, schema: Schema | None, key_env: str | None
) -> Explanation:
    from vecstore.store.url import open_existing

    with open_existing(url, schema=schema, **server_key(url, key_env)) as store:
        return store.explain(expression)


def _explanation_object(told: Explanation) -> dict[str, Any]:
    return {
        "name": told.store,
        "answered": [part.to_text() for part in told.answered],
        "evaluated": [part.to_text() for part in told.evaluated],
        "reasons": list(told.reasons),
        "documents": told.documents,
        "looked_at": told.looked_at,
    }


_LABEL = 11
"""How many columns stand before what a filter was read as."""


def _print_reading(console: Console, expression: Expression, steps: list[str]) -> None:
    width = console.width - _LABEL
    reading = Table.grid(padding=(0, 2, 0, 0))
    reading.add_column(style="dim", no_wrap=True, width=_LABEL - 2)
    reading.add_column()
    reading.add_row("read as", Text(wrapped(expression.to_text(), width), "bold"))
    normalized = expression.normalize()
    if normalized != expression:
        reading.add_row("rewritten", Text(wrapped(normalized.to_text(), width), "bold"))
    elif not steps:
        reading.add_row("rewritten", Text("nothing to rewrite", "dim"))
    for step in steps:
        reading.add_row("", Text(wrapped(step, width, "  "), "dim"))
    for remark in remarks(expression):
        reading.add_row("note", Text(wrapped(remark, width), "dim"))
    console.print(reading)


def _error_text(error: UnsupportedFilterError, width: int) -> Text:
    """The text of an error in lines that fit, with its carets under what they point at."""
    parts = [wrapped(error.message, width)]
    if error.span is not None:
        # Four columns stand before an excerpt, and one on each side where it is cut.
        parts.append(caret_excerpt(error.span, min(EXCERPT_WIDTH, max(width - 6, 8))))
    if error.hint:
        parts.append(wrapped(f"hint: {error.hint}", width, "  "))
    return error_text("\n".join(parts))


def _query_text(compiled: Compiled, width: int) -> Text:
    """The native query, in as few lines as it takes."""
    native = compiled.native
    if isinstance(native, dict | list) or hasattr(native, "to_where"):
        lines = compact_json(native, width).split("\n")
        return Text("\n".join([wrapped(line, width, _indent_of(line)) for line in lines]))
    text = Text()
    for number, line in enumerate(str(compiled).split("\n")):
        text.append("\n" if number else "")
        is_parameter = line.startswith("  ") and bool(compiled.params)
        shown = wrapped(line, width, "    " if is_parameter else "")
        text.append(shown, "dim" if is_parameter else "")
    return text


def _indent_of(line: str) -> str:
    """Four blanks more than a line begins with."""
    return " " * (len(line) - len(line.lstrip()) + 4)
