"""`vecstore parse`, `fmt`, `check`, `compile` and `explain`: one filter, and what becomes of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vecstore.cli.dialects import (
    DialectOption,
    RequiredDialectOption,
    SettingOption,
    build_dialect,
    complete_dialect,
)
from vecstore.cli.schema import SchemaOption
from vecstore.cli.terminal import (
    NEGATIVE,
    FilterArgument,
    FilterFileOption,
    JsonOption,
    answers,
    compact_json,
    error_object,
    error_text,
    expected_errors,
    parsed_filter,
    print_json,
    print_plain,
    show_error,
)
from vecstore.dialects.registry import dialect_names
from vecstore.errors import FilterError, UnsupportedFilterError
from vecstore.filter.convert import NO_QUERY, Compiled
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, trusted
from vecstore.schema import Schema

PARSE_EXAMPLES = """
[bold]Examples[/]

  vecstore parse "country == 'BG' AND NOT (year < 2020)"

  vecstore parse --json "author.name IS NULL"
"""

FMT_EXAMPLES = """
[bold]Examples[/]

  vecstore fmt 'year>=2020 && (lang="de")'

  vecstore fmt --file filter.txt
"""

CHECK_EXAMPLES = """
[bold]Examples[/]

  vecstore check "year >= 2020"

  vecstore check -d qdrant "title > 'M'"  ||  echo refused

  vecstore check --schema schema.toml "yaer >= 2020"
"""

COMPILE_EXAMPLES = """
[bold]Examples[/]

  vecstore compile -d pgvector "year >= 2020 AND tags IN ['a', 'b']"

  vecstore compile -d pgvector -o column=meta -o paramstyle=numeric_dollar "lang != 'de'"

  vecstore compile -d qdrant --json "NOT (year < 2020)" | jq .query
"""


def parse(
    argument: FilterArgument = None, file: FilterFileOption = None, as_json: JsonOption = False
) -> None:
    """Show how a filter is read: its tree, or with --json its JSON form."""
    with expected_errors(as_json):
        expression = parsed_filter(argument, file)
        if as_json:
            print_json(expression.to_dict())
        else:
            print_plain("\n".join(tree_lines(expression)))


def fmt(
    argument: FilterArgument = None, file: FilterFileOption = None, as_json: JsonOption = False
) -> None:
    """Write a filter in its canonical form."""
    with expected_errors(as_json):
        text = parsed_filter(argument, file).to_text()
        if as_json:
            print_json({"text": text})
        else:
            print_plain(text)


def check(
    argument: FilterArgument = None,
    file: FilterFileOption = None,
    dialect: DialectOption = None,
    settings: SettingOption = None,
    schema: SchemaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a filter is right, and with -d whether a backend answers it exactly.

    With --schema, also whether its keys and literals are those that are declared.

    Exits with 0 when it is, 1 when it is refused.
    """
    with expected_errors(as_json):
        emitter = build_dialect(dialect, settings) if dialect is not None else None
        if emitter is None and settings:
            raise typer.BadParameter("an option needs a dialect: -d NAME", param_hint="--option")
        declared = None if schema is None else Schema.from_file(schema)
        try:
            expression = parsed_filter(argument, file)
            if declared is not None:
                declared.check(expression)
            if emitter is not None:
                emitter.compile(expression)
        except FilterError as error:
            if as_json:
                print_json({"ok": False, "error": error_object(error)})
            show_error(str(error), "refused")
            raise typer.Exit(NEGATIVE) from None
    if as_json:
        print_json({"ok": True})
    else:
        answers().print("ok", style="green")


def compile(
    dialect: RequiredDialectOption,
    argument: FilterArgument = None,
    settings: SettingOption = None,
    file: FilterFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a filter as a backend's own query, with its parameters."""
    with expected_errors(as_json):
        compiled = build_dialect(dialect, settings).compile(parsed_filter(argument, file))
        if as_json:
            print_json(compiled_object(compiled))
        else:
            print_plain(str(compiled))


def compiled_object(compiled: Compiled) -> dict[str, Any]:
    """A compiled filter for a program to read; ``query`` is null where there is none to run."""
    return {
        "dialect": compiled.dialect,
        "query": None if compiled.native is NO_QUERY else compiled.query,
        "params": compiled.params,
        "matches_all": compiled.matches_all,
        "matches_nothing": compiled.matches_nothing,
    }


def tree_lines(root: Expression) -> list[str]:
    r"""A drawing of a tree, one comparison a line.

    Example:
        >>> from vecstore import parse
        >>> print("\n".join(tree_lines(parse("a == 1 AND NOT (b > 2 OR c IS NULL)"))))
        AND
        ├─ a == 1
        └─ NOT
           └─ OR
              ├─ b > 2
              └─ c IS NULL
    """
    lines: list[str] = []
    waiting = [(root, "", "")]
    while waiting:
        node, first, rest = waiting.pop()
        if node.op not in LOGICAL:
            lines.append(first + node.to_text())
            continue
        lines.append(first + node.op.symbol)
        last = len(node.operands) - 1
        waiting.extend(
            (child, rest + ("└─ " if place == last else "├─ "),
             rest + ("   " if place == last else "│  "))
            for place, child in reversed(list(enumerate(node.operands)))
        )  # fmt: skip
    return lines


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
    as_json: JsonOption = False,
) -> None:
    """Show what a filter becomes: rewritten, and as every backend's own query.

    A backend that cannot answer it exactly says why, and where. Dialects take their default
    options here; `vecstore compile -d NAME -o KEY=VALUE` takes others.
    """
    with expected_errors(as_json):
        expression = parsed_filter(argument, file)
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
