"""Steps over documents, one after the other, and what tells one setting of a step from another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from vecstore.document import Document
from vecstore.errors import ConfigurationError

Transform = Callable[[Iterable[Document]], Iterable[Document]]
"""A step that documents pass: a splitter, an enricher, a function of yours."""


def chain(*steps: Transform) -> Transform:
    """Steps as one, from left to right; each document is asked for when it is needed.

    Example:
        >>> def shout(documents):
        ...     return (one.replace(text=one.text.upper()) for one in documents)
        >>> def cut(documents):
        ...     return (one.replace(text=one.text[:3]) for one in documents)
        >>> [document.text for document in chain(shout, cut)([Document("hello")])]
        ['HEL']
    """
    for step in steps:
        if not callable(step):
            raise ConfigurationError(
                "a step takes documents and returns documents; this is a "
                f"{type(step).__name__}, which cannot be called"
            )

    def chained(documents: Iterable[Document]) -> Iterable[Document]:
        for step in steps:
            documents = step(documents)
        return documents

    # One that cannot be told from another is noticed by whoever asks.
    if all(_known_fingerprint(step) is not None for step in steps):
        chained.fingerprint = fingerprint(  # type: ignore[attr-defined]
            "chain", steps=[fingerprint_of(step) for step in steps]
        )
    return chained


def fingerprint(name: str, /, **settings: Any) -> str:
    """A short text that is the same for the same name and settings, in every process.

    Example:
        >>> fingerprint("cut", size=3)
        'cut-310ac268'
    """
    written = json.dumps([name, settings], sort_keys=True, ensure_ascii=True)
    return f"{name}-{hashlib.sha256(written.encode()).hexdigest()[:8]}"


def fingerprint_of(step: object) -> str:
    """What tells a reader, a splitter or another step from one that gives other documents.

    That is its attribute ``fingerprint``, a text. A method goes by that of its object, and its
    name. A plain function that has none goes by its name: give it one, and change it whenever the
    function changes.

    Raises:
        ConfigurationError: If the step is no function and has no such attribute.

    Example:
        >>> def shout(documents): ...
        >>> fingerprint_of(shout).endswith(".shout")
        True
        >>> shout.fingerprint = "shout 2"
        >>> fingerprint_of(shout)
        'shout 2'
    """
    known = _known_fingerprint(step)
    if known is None:
        raise ConfigurationError(
            f"a step of the type {type(step).__name__} does not say what tells it from another: "
            "give it an attribute fingerprint, a text that changes with its settings"
        )
    return known


def _known_fingerprint(step: object) -> str | None:
    given = getattr(step, "fingerprint", None)
    if isinstance(given, str):
        return given
    if isinstance(step, MethodType):
        owner = _known_fingerprint(step.__self__)
        return None if owner is None else f"{owner}.{step.__name__}"
    if isinstance(step, FunctionType | BuiltinFunctionType):
        return f"{step.__module__}.{step.__qualname__}"
    return None
