"""The command `vecstore`. It needs the extra ``cli``: ``pip install typer rich``."""

from __future__ import annotations

import io
import os
import sys

_NEEDED = {"typer", "rich"}


def main() -> None:
    """Run the command line, or say how to install what it is made of."""
    # A stream that the caller has closed is None: what would go there goes nowhere.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    from vecstore.installing import install_line

    try:
        from vecstore.cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _NEEDED:
            raise
        sys.stderr.write(
            f"vecstore: the command line needs {missing}, which is not installed.\n"
            f"hint: {install_line('cli')}\n"
        )
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding does not have is shown escaped, rather than not at all.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="vecstore")
