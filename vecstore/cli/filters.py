"""`vecstore parse`, `fmt`, `check` and `compile`: one filter, read and written."""

from __future__ import annotations

import typer

from vecstore.cli.settings import (
    DialectOption,
    RequiredDialectOption,
    SettingOption,
    build_dialect,
    read_schema,
)
from vecstore.cli.sources import SourceOption, read_filter
from vecstore.cli.terminal import (
    NEGATIVE,
    FilterArgument,
    FilterFileOption,
    JsonOption,
    SchemaOption,
    expected_errors,
    print_json,
    print_plain,
)
from vecstore.errors import FilterError
from vecstore.explaining.outcomes import compiled_object
from vecstore.explaining.plain import error_object
from vecstore.filter.tree import LOGICAL, Expression

PARSE_EXAMPLES = """
[bold]Examples[/]

  vecstore parse "country == 'BG' AND NOT (year < 2020)"

  vecstore parse --json "author.name IS NULL"
"""

FMT_EXAMPLES = """
[bold]Examples[/]

  vecstore fmt 'year>=2020 && (lang="de")'

  vecstore fmt --file filter.txt

  vecstore fmt --from sql "year >= 2020 AND lang <> 'de'"
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

  vecstore compile --from pinecone -d qdrant '{"year": {"$gte": 2020}}'
"""


def parse(
    argument: FilterArgument = None,
    file: FilterFileOption = None,
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a filter is read: its tree, or with --json its JSON form."""
    with expected_errors(as_json):
        expression = read_filter(argument, file, source)
        if as_json:
            print_json(expression.to_dict())
        else:
            print_plain("\n".join(tree_lines(expression)))


def fmt(
    argument: FilterArgument = None,
    file: FilterFileOption = None,
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a filter in its canonical form."""
    with expected_errors(as_json):
        text = read_filter(argument, file, source).to_text()
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
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a filter is right, and with -d whether a backend answers it exactly.

    With --schema, also whether its keys and literals are those that are declared, and a backend is
    told what the keys hold.

    Exits with 0 when it is, 1 when it is refused.
    """
    with expected_errors(as_json):
        declared = read_schema(schema)
        emitter = build_dialect(dialect, settings, declared) if dialect is not None else None
        if emitter is None and settings:
            raise typer.BadParameter("an option needs a dialect: -d NAME", param_hint="--option")
        try:
            expression = read_filter(argument, file, source)
            if declared is not None:
                declared.check(expression)
            if emitter is not None:
                emitter.compile(expression)
        except FilterError as error:
            if as_json:
                print_json({"ok": False, "error": error_object(error)})
            from vecstore.cli.screen import show_error

            show_error(str(error), "refused")
            raise typer.Exit(NEGATIVE) from None
    if as_json:
        print_json({"ok": True})
    else:
        from vecstore.cli.screen import answers

        answers().print("ok", style="green")


def compile(
    dialect: RequiredDialectOption,
    argument: FilterArgument = None,
    settings: SettingOption = None,
    file: FilterFileOption = None,
    schema: SchemaOption = None,
    source: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a filter as a backend's own query, with its parameters."""
    with expected_errors(as_json):
        declared = read_schema(schema)
        expression = read_filter(argument, file, source)
        if declared is not None:
            declared.check(expression)
        compiled = build_dialect(dialect, settings, declared).compile(expression)
        if as_json:
            print_json(compiled_object(compiled))
        else:
            print_plain(str(compiled))


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
