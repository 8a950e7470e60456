"""Dialects on the command line: named with their options, and shown by `vecstore dialects`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from vecstore.cli.terminal import CommandError, JsonOption, answers, expected_errors, print_json
from vecstore.dialects.base import Dialect, option_names
from vecstore.dialects.matrix import Cell, Matrix, capability_matrix, shown_limit
from vecstore.dialects.registry import dialect_names, get_dialect
from vecstore.errors import VecstoreError


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
    lines = ["[bold]Options of the dialects[/], each as -o KEY=VALUE"]
    for name in dialect_names():
        try:
            dialect = load_dialect(name)
        except (CommandError, VecstoreError):
            continue  # using it tells why
        known: tuple[Field[Any], ...] = fields(dialect) if is_dataclass(dialect) else ()
        shown = [f"{one.name}={_shown(one)}" for one in known if one.init]
        lines.append(escape(f"  {name}: {', '.join(shown) if shown else 'none'}"))
    return "\n\n".join(["", *lines, ""])


def _shown(option: Field[Any]) -> str:
    default = option.default if option.default_factory is MISSING else option.default_factory()
    if default is MISSING:
        return "…"
    if isinstance(default, Collection) and not default:
        return '""' if isinstance(default, str) else "[]"
    return str(default)


def build_dialect(name: str, settings: list[str] | None) -> Dialect[Any]:
    """The dialect of that name with its options.

    Raises:
        DialectNotFoundError: If there is none.
        CommandError: If an option is unknown, or its value does not fit, or the dialect is a
            plug-in that cannot be loaded.
    """
    dialect = load_dialect(name)
    known = option_names(dialect)
    options: dict[str, Any] = {}
    for setting in settings or []:
        option, given, text = setting.partition("=")
        option = option.strip().replace("-", "_")
        if not given:
            raise typer.BadParameter(
                f"{setting!r} has no value; write {option}=VALUE", param_hint="--option"
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


EXAMPLES = """
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
_COLUMN_WIDTH = 10
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
    console: Console, matrix: Matrix, table: Callable[[Matrix, slice], Table]
) -> None:
    """Print the table; where the terminal is too narrow for all dialects, part after part."""
    at_once = max(1, (console.width - _HEADS_WIDTH) // _COLUMN_WIDTH)
    for start in range(0, len(matrix.columns), at_once):
        console.print(table(matrix, slice(start, start + at_once)))


def _answers_table(matrix: Matrix, part: slice) -> Table:
    table = _table("What each dialect answers exactly", {"operator": 12, "value": 9}, matrix, part)
    for row in matrix.rows:
        marks = [_mark(matrix, cell) for cell in row.cells[part]]
        table.add_row(" ".join(row.operators), row.values, *marks)
    return table


def _limits_table(matrix: Matrix, part: slice) -> Table:
    table = _table("Limits of their own", {"at most": _HEADS_WIDTH}, matrix, part)
    for label, numbers in matrix.limits:
        table.add_row(label, *map(shown_limit, numbers[part]))
    return table


def _table(title: str, heads: dict[str, int], matrix: Matrix, part: slice) -> Table:
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
        name = column.title.replace(" ", "\n").replace("=", "\n=").replace("_", "_\n")
        table.add_column(name, justify="center", no_wrap=True, min_width=_COLUMN_WIDTH - 2)
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
