"""`vecstore stats`: which keys the documents of a store have, and which values under one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecstore.cli.keys import KeyEnvOption, server_key
from vecstore.cli.terminal import (
    FilterArgument,
    FilterFileOption,
    JsonOption,
    expected_errors,
    key_path,
    parsed_filter,
    print_json,
    print_plain,
    visible,
)
from vecstore.explaining.plain import compact_json

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore

STATS_EXAMPLES = """
[bold]Examples[/]

  vecstore stats memory:kb.json

  vecstore stats "qdrant://localhost:6333/docs" "lang == 'en'"

  vecstore stats --key author.name --limit 10 "postgresql://localhost/kb?table=docs"
"""

_WIDTH = 60
_FIRST_COLUMN = 48
"""Characters at most: one long key is not to push all others aside."""


def stats(
    url: Annotated[str, typer.Argument(metavar="URL", help="The store.", show_default=False)],
    argument: FilterArgument = None,
    file: FilterFileOption = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            "-k",
            metavar="KEY",
            help="The values under this key, written as in a filter, in place of the keys.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="How many values at most.")
    ] = 20,
    key_env: KeyEnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which keys documents have, or with --key which values, and how many hold each.

    The documents are those of a store, or those of them that match a filter. Lists count by their
    elements, and 1 and 1.0 as one value, as filters have it.
    """
    with expected_errors(as_json):
        from vecstore.store.url import open_existing

        given = argument is not None or file is not None
        filter = parsed_filter(argument, file) if given else None
        path = key_path(key)
        with open_existing(url, **server_key(url, key_env)) as store:
            if not path:
                _print_fields(store, filter, as_json)
            else:
                _print_values(store, path, filter, limit, as_json)


def _print_fields(store: VectorStore, filter: Any, as_json: bool) -> None:
    documents, fields = store.count(filter), store.fields(filter)
    if as_json:
        keys = [
            {"path": list(one.path), "documents": one.documents, "kinds": dict(one.kinds)}
            for one in fields.values()
        ]
        print_json({"documents": documents, "keys": keys})
        return
    rows = [("documents", f"{documents:,}", "")]
    for one in fields.values():
        kinds = ", ".join([f"{kind} {count:,}" for kind, count in one.kinds.items()])
        rows.append(
            (one.key, f"{one.documents:,}", next(iter(one.kinds)) if len(one.kinds) == 1 else kinds)
        )
    print_plain(_columns(rows))


def _print_values(
    store: VectorStore, key: tuple[str, ...], filter: Any, limit: int, as_json: bool
) -> None:
    found, bounds = store.distinct(key, filter, limit=limit), store.minmax(key, filter)
    if as_json:
        values = [{"value": one.value, "documents": one.count} for one in found]
        told = {"key": found.key, "distinct": found.total, "values": values}
        print_json({**told, "numbers": bounds.numbers, "strings": bounds.strings})
        return
    rows = [(compact_json(one.value, _WIDTH), f"{one.count:,}", "") for one in found]
    lines = [_columns(rows)] if rows else []
    lines.append(f"{found.total:,} distinct")
    for ends in (bounds.numbers, bounds.strings):
        if ends is not None:
            low, high = [visible(compact_json(end, _WIDTH)) for end in ends]
            lines.append(f"from {low} to {high}")
    print_plain("\n".join(lines))


def _columns(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows under each other; what is longer than the first column is wide pushes its own row."""
    rows = [(visible(first), second, visible(third)) for first, second, third in rows]
    widest, second = (max([len(row[column]) for row in rows]) for column in (0, 1))
    first = min(widest, _FIRST_COLUMN)
    return "\n".join([f"{a:{first}}  {b:>{second}}  {c}".rstrip() for a, b, c in rows])
