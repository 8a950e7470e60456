"""`vecstore schema`: a schema proposed from documents, and what it says to others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from vecstore.cli.keys import KeyEnvOption, server_key
from vecstore.cli.terminal import (
    BadLine,
    CommandError,
    JsonOption,
    KeyOption,
    expected_errors,
    inner_object,
    key_path,
    opened,
    print_json,
    print_plain,
    read_row,
)
from vecstore.schema import Schema

INFER_EXAMPLES = """
[bold]Examples[/]

  vecstore schema infer documents.jsonl

  vecstore schema infer --toml "qdrant://localhost:6333/docs" > schema.toml
"""

SHOW_EXAMPLES = """
[bold]Examples[/]

  vecstore schema show schema.toml

  vecstore schema show --json schema.toml   # the JSON Schema of filters, for tool calls
"""

app = typer.Typer(
    name="schema",
    no_args_is_help=True,
    help="Declare what metadata holds: propose it from documents, or show what it says.",
    rich_markup_mode="rich",
    add_completion=False,
)


@app.command("infer", epilog=INFER_EXAMPLES)
def infer(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="JSON lines, [bold]-[/] for standard input, or a store's URL.",
        ),
    ],
    key: KeyOption = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the schema alone, as a file for --schema.")
    ] = False,
    key_env: KeyEnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at documents, and propose a schema that all of them fit."""
    from vecstore.schema.inference import Inference

    with expected_errors(as_json):
        if _is_address(source):
            from vecstore.store.url import open_existing

            with open_existing(source, **server_key(source, key_env)) as store:
                found = Inference.of(store)
        else:
            found = Inference.of(_rows(source, key_path(key)))
        schema = Schema.infer(found)
        if as_json:
            print_json(
                {
                    "documents": found.documents,
                    "others": schema.others,
                    "keys": [
                        {
                            "path": list(report.path),
                            "type": None if report.type is None else str(report.type),
                            "present": report.present,
                            "lists": report.lists,
                            "kinds": report.kinds,
                            "examples": report.examples,
                            "misfit": report.misfit,
                        }
                        for report in found.keys.values()
                    ],
                }
            )
        else:
            print_plain(schema.to_toml().rstrip() if as_toml else found.report())


@app.command("show", epilog=SHOW_EXAMPLES)
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schema, as TOML.")],
    as_json: JsonOption = False,
) -> None:
    """Say how to filter by a schema, in words or with --json as a JSON Schema of filters."""
    with expected_errors(as_json):
        schema = Schema.from_file(file)
        if as_json:
            print_json(schema.json_schema())
        else:
            print_plain(schema.describe())


def _is_address(source: str) -> bool:
    from vecstore.store.url import store_schemes

    return source.partition(":")[0].lower() in store_schemes()


def _rows(name: str, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    with opened(name) as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = read_row(line)
                if row is not None:
                    yield inner_object(row, path)
            except BadLine as error:
                raise CommandError(f"line {number:,}: {error}") from None
