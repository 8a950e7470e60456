"""The key of a store's server: read from the environment.

What stands in a command line is in the history of the shell, and `ps` shows it to everybody on the
machine; so commands take the name of a variable.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from vecstore.cli.terminal import CommandError

KeyEnvOption = Annotated[
    str | None,
    typer.Option(
        "--key-env",
        metavar="VARIABLE",
        help="The environment variable that holds the key of the store's server.",
        show_default=False,
    ),
]

_OPTIONS = ("api_key", "token", "password")
"""What stores call the one secret of their server; each has one of these at most."""


def server_key(url: str, variable: str | None, *, option: str = "--key-env") -> dict[str, Any]:
    """The key in a variable, as the option of the store that takes it; without one, nothing.

    Args:
        url: The address of the store.
        variable: The name of the variable.
        option: What the command calls it, for errors.

    Raises:
        CommandError: If the variable is not set, or the store takes no key; no error shows the key.
        VecstoreError: If there is no such store.
    """
    if variable is None:
        return {}
    from inspect import signature

    from vecstore.store.url import StoreURL, store_class

    key = os.environ.get(variable)
    if not key:
        # What was written is not shown: it may be the key itself.
        raise CommandError(
            f"{option} takes the name of an environment variable, and what it names is not set, or "
            f"is empty; write {option} SERVER_KEY after: read -rs SERVER_KEY; export SERVER_KEY"
        )
    scheme = StoreURL.read(url).scheme
    known = signature(store_class(scheme)).parameters
    name = next((name for name in _OPTIONS if name in known), None)
    if name is None:
        raise CommandError(f"{option}: stores for {scheme}: take no key")
    return {name: key}
