"""From an embedder's name to the embedder."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from vecstore.embedding import BoundEmbedder
from vecstore.errors import ConfigurationError

_KINDS = {
    "wordllama": "wordllama",
    "openai": "openai:text-embedding-3-small",
    "sentence-transformers": "sentence-transformers:all-MiniLM-L6-v2",
}
"""What a name can begin with, and how it is written."""


def open_embedder(name: str, /, **options: Any) -> Any:
    """The embedder of a name.

    Args:
        name: ``"wordllama"``, the small model inside the package of that name;
            ``"openai:MODEL"`` and ``"sentence-transformers:MODEL"``; or ``"module:attribute"``,
            your own: a class or function without arguments that makes one when it is a class, and
            the object itself otherwise. The name comes from you, not from strangers: a module
            that it names is imported.
        **options: Those of the embedder, such as ``base_url`` of
            :class:`~vecstore.embedders.OpenAIEmbedder`.

    Returns:
        An :class:`~vecstore.Embedder`; of a module's, whatever a store takes.

    Raises:
        BackendNotInstalledError: If the package of the model is missing.
        ConfigurationError: If there is no such embedder, it cannot be loaded, or has no such
            option.

    Example:
        >>> open_embedder("wordllama").embed_query("bread").shape
        (256,)
        >>> url = "http://localhost:11434/v1"
        >>> open_embedder("openai:nomic-embed-text", base_url=url, api_key="any")
        OpenAIEmbedder('nomic-embed-text')
    """
    if not isinstance(name, str):
        raise ConfigurationError(
            f"an embedder's name is a text, not a {type(name).__name__}; a store takes an embedder "
            "as it is"
        )
    kind, colon, rest = name.partition(":")
    made: Any
    if name == "wordllama":
        from vecstore.embedders.wordllama import WordLlamaEmbedder as made
    elif kind in _KINDS and kind != "wordllama":
        if not rest:
            raise ConfigurationError(f"{name!r} names no model; write {_KINDS[kind]!r}, say")
        if kind == "openai":
            from vecstore.embedders.openai import OpenAIEmbedder as made
        else:
            from vecstore.embedders.sentence_transformers import (
                SentenceTransformersEmbedder as made,
            )
        return _called(name, made, (rest,), options)
    elif kind and colon and rest:
        made = _attribute(name, kind, rest)
        if not isinstance(made, type):
            if options:
                raise ConfigurationError(
                    f"the embedder {name!r} is an object and takes no options, such as "
                    f"{next(iter(options))}"
                )
            BoundEmbedder(made)
            return made
    else:
        hint = _meant(kind) or (
            "wordllama, openai:MODEL, sentence-transformers:MODEL, or module:attribute such as "
            "my_models:embed"
        )
        raise ConfigurationError(f"there is no embedder {name!r}\nhint: {hint}")
    return _called(name, made, (), options)


def _meant(kind: str) -> str:
    close = difflib.get_close_matches(kind.lower(), _KINDS, 1, 0.7)
    return f"did you mean {_KINDS[close[0]]!r}?" if close else ""


def _called(name: str, made: Any, arguments: tuple[str, ...], options: dict[str, Any]) -> Any:
    import inspect

    try:
        inspect.signature(made).bind(*arguments, **options)
    except TypeError as error:
        raise ConfigurationError(f"the embedder {name!r}: {error}") from None
    except ValueError:  # a class that tells nothing of its arguments
        pass
    return made(*arguments, **options)


def _attribute(name: str, module: str, path: str) -> Any:
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise ConfigurationError(
            f"the embedder {name!r} cannot be loaded: {type(error).__name__}: {error}\n"
            "hint: " + (_meant(module) or f"try it with: python -c 'import {module}'")
        ) from error
    return found
