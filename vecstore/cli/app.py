"""The commands, put together; each module of this package brings some, and is loaded for them."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import rich  # noqa: F401  (light by itself; that it is missing should be said before anything is done)
import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import vecstore
from vecstore.cli.overview import overview
from vecstore.cli.terminal import FAILED, file_fault

_NO_READER = 141


class Listed(NamedTuple):
    """A command as the overview shows it."""

    module: str
    panel: str
    summary: str
    """The first paragraph of its help, so that the overview loads none."""


_ONE_FILTER = "One filter"
_BACKENDS = "All backends"
_DOCUMENTS = "Documents"

COMMANDS: dict[str, Listed] = {
    "parse": Listed(
        "filters",
        _ONE_FILTER,
        "Show how a filter is read: its tree, or with --json its JSON form.",
    ),
    "fmt": Listed("filters", _ONE_FILTER, "Write a filter in its canonical form."),
    "check": Listed(
        "filters",
        _ONE_FILTER,
        "Say whether a filter is right, and with -d whether a backend answers it exactly.",
    ),
    "compile": Listed(
        "filters", _ONE_FILTER, "Write a filter as a backend's own query, with its parameters."
    ),
    "explain": Listed(
        "explain",
        _BACKENDS,
        "Show what a filter becomes: rewritten, and as every backend's own query.",
    ),
    "dialects": Listed(
        "dialects", _BACKENDS, "Show what each backend answers exactly, and what it refuses."
    ),
    "playground": Listed(
        "playground",
        _BACKENDS,
        "Try filters on a page: every backend's query beside it as you type, and who matches.",
    ),
    "grep": Listed(
        "grep",
        _DOCUMENTS,
        "Print the lines of JSON-lines files that a filter selects, byte for byte.",
    ),
    "index": Listed(
        "index_search",
        _DOCUMENTS,
        "Embed the documents of JSON-lines files, and save them as one store file.",
    ),
    "sync": Listed(
        "sync",
        _DOCUMENTS,
        "Bring a store into step with the files of a folder, and embed only what is new.",
    ),
    "search": Listed(
        "index_search",
        _DOCUMENTS,
        "Find the documents of a store that are nearest to a text.",
    ),
    "stats": Listed(
        "stats",
        _DOCUMENTS,
        "Show which keys documents have, or with --key which values, and how many hold each.",
    ),
    "copy": Listed(
        "copying",
        _DOCUMENTS,
        "Copy documents with their ids and vectors from one store or file to another.",
    ),
    "demo": Listed(
        "demo",
        _DOCUMENTS,
        "Search Python's standard library by meaning, in memory and in other engines.",
    ),
    "bench": Listed(
        "bench",
        _DOCUMENTS,
        "Measure search, filters and stores beside other libraries, in a checkout of the project.",
    ),
    "schema": Listed(
        "schema",
        _DOCUMENTS,
        "Declare what metadata holds: propose it from documents, or show what it says.",
    ),
}


class Commands(TyperGroup):
    """Loads a command when it is called.

    Ends quietly when the reader of the output has gone (typer itself does so on Ctrl-C). Where the
    output cannot be written for another reason, a full disk perhaps, it says so.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Their names serve to find the one that is nearest to a slip.
        self.commands: Any = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        return _loaded(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the overview."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, listed in COMMANDS.items():
            panels.setdefault(listed.panel, []).append((name, listed.summary))
        params: list[Any] = self.get_params(ctx)
        options = [(option.opts, option.help or "") for option in params if not option.hidden]
        typer.echo(overview(self.get_usage(ctx), self.help or "", options, panels))

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
            from vecstore.cli.screen import show_error

            _drop_output()
            show_error(f"the output cannot be written: {file_fault(error)}")
            raise typer.Exit(FAILED) from None


class CommandForOneDialect(TyperCommand):
    """Lists the options of all dialects in its help; loading these takes a moment."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from vecstore.cli.settings import options_help

        self.epilog = options_help() + (self.epilog or "")
        super().format_help(ctx, formatter)


def _drop_output() -> None:
    """Send what is left in the buffers nowhere, or Python complains at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _loaded(name: str) -> Any:
    """A command, made of the function of that name and the examples beside it."""
    listed = COMMANDS[name]
    module = import_module(f"vecstore.cli.{listed.module}")
    if name == "schema":
        group: Any = get_command(module.app)
        group.rich_help_panel = listed.panel
        return group
    made = typer.Typer(
        add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
    made.command(
        name,
        cls=CommandForOneDialect if name in ("check", "compile") else None,
        epilog=getattr(module, f"{name.upper()}_EXAMPLES"),
        rich_help_panel=listed.panel,
        # The options of `bench` are those of the benchmarks, to which it hands them on.
        context_settings={"ignore_unknown_options": True} if name == "bench" else None,
    )(getattr(module, name))
    return get_command(made)


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
