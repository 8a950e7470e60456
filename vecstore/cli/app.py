"""The commands, put together; each module of this package brings some."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import vecstore
from vecstore.cli import bench, demo, dialects, filters, grep, index_search, schema
from vecstore.cli.dialects import options_help
from vecstore.cli.terminal import FAILED, file_fault, show_error

_NO_READER = 141


class Commands(TyperGroup):
    """Ends quietly when the reader of the output has gone (typer itself does so on Ctrl-C).

    Where the output cannot be written for another reason, a full disk perhaps, it says so.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(_NO_READER) from None
        except OSError as error:
            _drop_output()
            show_error(f"the output cannot be written: {file_fault(error)}")
            raise typer.Exit(FAILED) from None


class CommandForOneDialect(TyperCommand):
    """Lists the options of all dialects in its help; loading these takes a moment."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self.epilog = options_help() + (self.epilog or "")
        super().format_help(ctx, formatter)


def _drop_output() -> None:
    """Send what is left in the buffers nowhere, or Python complains at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    name="vecstore",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vecstore {vecstore.__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """One filter language for every vector database: read it, compile it, search with it."""


_ONE_FILTER = "One filter"
_BACKENDS = "All backends"
_DOCUMENTS = "Documents"

_COMMANDS: list[tuple[str, Callable[..., None], str, str]] = [
    ("parse", filters.parse, filters.PARSE_EXAMPLES, _ONE_FILTER),
    ("fmt", filters.fmt, filters.FMT_EXAMPLES, _ONE_FILTER),
    ("check", filters.check, filters.CHECK_EXAMPLES, _ONE_FILTER),
    ("compile", filters.compile, filters.COMPILE_EXAMPLES, _ONE_FILTER),
    ("explain", filters.explain, filters.EXPLAIN_EXAMPLES, _BACKENDS),
    ("dialects", dialects.dialects, dialects.EXAMPLES, _BACKENDS),
    ("grep", grep.grep, grep.EXAMPLES, _DOCUMENTS),
    ("index", index_search.index, index_search.INDEX_EXAMPLES, _DOCUMENTS),
    ("search", index_search.search, index_search.SEARCH_EXAMPLES, _DOCUMENTS),
    ("demo", demo.demo, demo.EXAMPLES, _DOCUMENTS),
]

for _name, _function, _examples, _panel in _COMMANDS:
    _class = CommandForOneDialect if _name in ("check", "compile") else None
    app.command(_name, cls=_class, epilog=_examples, rich_help_panel=_panel)(_function)

# Its options are those of the benchmarks, to which it hands them on.
app.command(
    "bench",
    epilog=bench.EXAMPLES,
    rich_help_panel=_DOCUMENTS,
    context_settings={"ignore_unknown_options": True},
)(bench.bench)

app.add_typer(schema.app, rich_help_panel=_DOCUMENTS)
