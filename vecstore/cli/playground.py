"""`vecstore playground`: the page on which filters are tried, with the local Python behind it."""

from __future__ import annotations

import json
import sys
import webbrowser
from typing import Annotated

import typer

from vecstore.cli.terminal import CommandError, JsonOption, expected_errors, print_plain
from vecstore.playground.server import PlaygroundServer

PLAYGROUND_EXAMPLES = """
[bold]Examples[/]

  vecstore playground

  vecstore playground --port 8400 --no-browser
"""


def playground(
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            metavar="NUMBER",
            help="Where to listen on this machine; 0 takes any port that is free.",
        ),
    ] = 0,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="Open the page in a browser, or only say where it is."
        ),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Try filters on a page: every backend's query beside it as you type, and who matches.

    The page is served to this machine alone, at an address with a random token in it. No store is
    opened and nothing is sent anywhere. Ctrl-C ends it. With --json, the address is printed as JSON
    before it is served.
    """
    with expected_errors(as_json):
        try:
            server = PlaygroundServer(port)
        except OSError as error:
            raise CommandError(
                f"port {port} cannot be used: {error.strerror or error}\n"
                "hint: leave --port away, and one that is free is taken"
            ) from None
    with server:
        if as_json:
            print_plain(json.dumps({"address": server.address}))
        else:
            print_plain(f"The playground is at {server.address}\nCtrl-C ends it.")
        sys.stdout.flush()
        if browser and not _opened(server.address) and not as_json:
            print_plain("There is no browser to open it in here; open the address yourself.")
            sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _opened(address: str) -> bool:
    """Whether a browser with a window of its own was told to open the page."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    # A browser that runs in the terminal would take it, and wait for the server behind it.
    if type(found) is webbrowser.GenericBrowser:
        return False
    return found.open(address)
