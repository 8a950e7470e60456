"""The filter of a command: in the language, or with `--from` in that of another system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from vecstore.cli.terminal import CommandError, filter_text
from vecstore.filter.tree import Expression

SYSTEMS = ("chroma", "haystack", "langchain", "llama_index", "mongo", "pinecone", "qdrant", "sql")
"""Whose filters `--from` reads; all but SQL are JSON."""


def complete_system(incomplete: str) -> list[str]:
    """Names for the shell to offer."""
    return [name for name in SYSTEMS if name.startswith(incomplete)]


SourceOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="NAME",
        help="Read the filter as that of another system: " + ", ".join(SYSTEMS) + ".",
        autocompletion=complete_system,
        show_default=False,
    ),
]


def read_filter(argument: str | None, file: Path | None, source: str | None) -> Expression:
    """The filter, from wherever and in whatever language it was given.

    Raises:
        FilterError: If it cannot be read.
        typer.BadParameter: If there is no such language.
        CommandError: If it is no JSON.
    """
    if source is None:
        from vecstore.grammar.parser import parse

        return parse(filter_text(argument, file))
    if source not in SYSTEMS:
        from difflib import get_close_matches

        close = get_close_matches(source, SYSTEMS, 1)
        hint = f"did you mean {close[0]}?" if close else "one of " + ", ".join(SYSTEMS)
        raise typer.BadParameter(f"no filters of {source!r} are read; {hint}", param_hint="--from")
    text = filter_text(argument, file)
    from vecstore import interop

    importer: Callable[[Any], Expression] = getattr(interop, f"from_{source}")
    return importer(text if source == "sql" else _json(text))


def _json(text: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            # json.loads keeps the last, and a condition would be gone.
            raise CommandError(
                f"the filter has {twice!r} twice in one object\nhint: join the two by an and"
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise CommandError(
            f"the filter is no JSON: {error.msg} (line {error.lineno}, column {error.colno})\n"
            'hint: names and texts stand in double quotes: {"year": {"$gte": 2020}}'
        ) from None
    except RecursionError:
        raise CommandError("the filter is nested too deep to be read") from None
    except ValueError:  # Python does not read integers past 4,300 digits
        raise CommandError("the filter holds an integer that is too long to be read") from None
