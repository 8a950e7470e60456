"""Dialects as they are named on the command line, with their options."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from vecstore.cli.terminal import CommandError
from vecstore.dialects.base import Dialect, option_names
from vecstore.dialects.registry import dialect_names, get_dialect
from vecstore.errors import VecstoreError

if TYPE_CHECKING:
    from pathlib import Path

    from vecstore.schema import Schema


def complete_dialect(incomplete: str) -> list[str]:
    """Names of dialects for the shell."""
    return [name for name in dialect_names() if name.startswith(incomplete)]


DIALECT: Any = typer.Option(
    "--dialect",
    "-d",
    metavar="NAME",
    help="The backend to write for; see [bold]vecstore dialects[/].",
    autocompletion=complete_dialect,
    show_default=False,
)
DialectOption = Annotated[str | None, DIALECT]
RequiredDialectOption = Annotated[str, DIALECT]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of the dialect; may be repeated. Lists are written [bold]a,b[/] or as "
        "JSON.",
        show_default=False,
    ),
]


def load_dialect(name: str) -> type[Dialect[Any]]:
    """The class of a dialect.

    Raises:
        DialectNotFoundError: If there is none.
        CommandError: If it is a plug-in that fails when it is imported.
    """
    try:
        return get_dialect(name)
    except VecstoreError:
        raise
    except Exception as error:
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        raise CommandError(
            f"the dialect {name!r} cannot be loaded: {type(error).__name__}: {error}{notes}\n"
            "hint: repair or uninstall that package"
        ) from error


def options_help() -> str:
    """The options of each dialect with their defaults, for the help of a command."""
    from rich.markup import escape

    lines = ["[bold]Options of the dialects[/], each as -o KEY=VALUE"]
    for name in dialect_names():
        try:
            dialect = load_dialect(name)
        except (CommandError, VecstoreError):
            continue  # using it tells why
        known: tuple[Field[Any], ...] = fields(dialect) if is_dataclass(dialect) else ()
        shown = [f"{one.name}={_shown(one)}" for one in known if one.init and one.name != "schema"]
        lines.append(escape(f"  {name}: {', '.join(shown) if shown else 'none'}"))
    return "\n\n".join(["", *lines, ""])


def _shown(option: Field[Any]) -> str:
    default = option.default if option.default_factory is MISSING else option.default_factory()
    if default is MISSING:
        return "…"
    if isinstance(default, Collection) and not default:
        return '""' if isinstance(default, str) else "[]"
    return str(default)


def build_dialect(
    name: str, settings: list[str] | None, schema: Schema | None = None
) -> Dialect[Any]:
    """The dialect of that name with its options, told what keys hold where it takes a schema.

    Raises:
        DialectNotFoundError: If there is none.
        CommandError: If an option is unknown, or its value does not fit, or the dialect is a
            plug-in that cannot be loaded.
    """
    dialect = load_dialect(name)
    known = option_names(dialect)
    options: dict[str, Any] = {}
    if "schema" in known:
        known.remove("schema")  # which is a file of its own: --schema
        options = {} if schema is None else {"schema": schema}
    for setting in settings or []:
        option, given, text = setting.partition("=")
        option = option.strip().replace("-", "_")
        if not given:
            raise typer.BadParameter(
                f"{setting!r} has no value; write {option}=VALUE", param_hint="--option"
            )
        if option not in known and option in dialect.former_options:
            raise CommandError(
                f"the dialect {name} has no option {option!r} any more: "
                f"{dialect.former_options[option]}\nhint: here, --schema FILE"
            )
        if option not in known:
            listed = ", ".join(known) if known else "it has none"
            raise CommandError(
                f"the dialect {name} has no option {option!r}\nhint: its options: {listed}"
            )
        options[option] = _value(dialect, option, text)
    try:
        return dialect(**options)
    except (TypeError, ValueError) as error:
        raise CommandError(f"the options of the dialect {name} do not fit: {error}") from None


def read_schema(file: Path | None) -> Schema | None:
    """The schema that ``--schema`` names, or None.

    Raises:
        ConfigurationError: If the file cannot be read, or declares none.
    """
    if file is None:
        return None
    from vecstore.schema import Schema

    return Schema.from_file(file)


def _value(dialect: type[Dialect[Any]], option: str, text: str) -> Any:
    """An option's value, read by what the option takes.

    Raises:
        CommandError: If it cannot be read that way.
    """
    takes = set(_leaf_types(get_type_hints(dialect)[option]))
    if type(None) in takes and text.strip().lower() in ("none", "null"):
        return None  # as Python and JSON spell it, and as titles of tables show it
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    collection = next((one for one in (tuple, frozenset, list, set) if one in takes), None)
    if isinstance(value, list) and collection is not None:
        # An inner list is the path of a nested key; what goes into a set must not change.
        return collection(tuple(item) if isinstance(item, list) else item for item in value)
    if Mapping in takes:
        if isinstance(value, dict):
            return value
        pairs = [part.partition(":") for part in text.split(",") if part.strip()]
        if pairs and all(colon for _, colon, _ in pairs):
            return {key.strip(): item.strip() for key, _, item in pairs}
        if collection is not None and not any(colon for _, colon, _ in pairs):
            return collection(key.strip() for key, _, _ in pairs)
    elif type(value) in takes and not isinstance(value, str):
        return value
    elif str in takes:
        return text
    elif collection is not None:
        return collection(part.strip() for part in text.split(",") if part.strip())
    wanted = "true or false" if bool in takes else "a number" if int in takes else "key:type,..."
    raise CommandError(f"the option {option} takes {wanted}, not {text!r}")


def _leaf_types(hint: Any) -> Iterator[Any]:
    """The types that a union, an alias or a literal comes down to."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for part in get_args(hint):
            yield from _leaf_types(part)
    elif origin is Literal:
        yield from {type(value) for value in get_args(hint)}
    else:
        found = origin or hint
        if isinstance(found, type) and found is not str:
            if issubclass(found, Mapping):
                found = Mapping
            elif found is Set:
                found = frozenset
            elif issubclass(found, Sequence | Collection) and found not in (list, set, frozenset):
                found = tuple
        yield found
