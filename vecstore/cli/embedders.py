"""Embedders named on the command line: ``wordllama``, or a ``module:attribute`` of one's own."""

from __future__ import annotations

import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from vecstore.cli.output import CommandError
from vecstore.installing import install_line

EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        "-e",
        metavar="NAME",
        help="What turns texts into vectors: [bold]wordllama[/], or [bold]module:attribute[/], an "
        "object with embed_documents and embed_query, or a function.",
    ),
]


class WordLlamaEmbedder:
    """The small embedding model that lies inside wordllama's wheel; nothing is downloaded.

    Raises:
        CommandError: If wordllama is not installed.
    """

    def __init__(self) -> None:
        # On import it sets up logging for the whole program, unless somebody has done so.
        root, silent = logging.getLogger(), logging.NullHandler()
        root.addHandler(silent)
        try:
            import wordllama
        except ImportError:
            raise CommandError(
                f"the embedder wordllama is not installed\nhint: {install_line('wordllama')}"
            ) from None
        finally:
            root.removeHandler(silent)
        # Weights and tokenizer lie in the package itself, though it looks for the second elsewhere.
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed_documents(self, texts: list[str]) -> Any:
        """One vector of 256 numbers for each text."""
        # Texts of one batch are padded to its longest: small batches take a third of the time.
        return self._model.embed(texts, batch_size=8)

    def embed_query(self, text: str) -> Any:
        """The vector of a query."""
        return self._model.embed([text])[0]


def load_embedder(name: str) -> Any:
    """The embedder of that name.

    A class is called without arguments; anything else is taken as it is.

    Raises:
        CommandError: If there is none of that name, or it cannot be loaded.
    """
    if name == "wordllama":
        return WordLlamaEmbedder()
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise CommandError(
            f"there is no embedder {name!r}\n"
            "hint: wordllama, or module:attribute such as my_models:embed"
        )
    # A command finds its own folder on the path, where `python` finds the current one.
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found() if isinstance(found, type) else found
    except Exception as error:
        raise CommandError(
            f"the embedder {name!r} cannot be loaded: {type(error).__name__}: {error}\n"
            f"hint: try it with: python -c 'import {module_name}'"
        ) from None
