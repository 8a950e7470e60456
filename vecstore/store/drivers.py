"""What stores share that call a database's client: requests of a bounded size, and its errors.

Errors come out as ours, told without secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from vecstore.errors import BackendError, BackendNotInstalledError, SchemaMismatchError
from vecstore.installing import install_line

Item = TypeVar("Item")

_SHORT: Final = 3

_RETRYABLE_GRPC: Final = frozenset(
    {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED"}
)


def in_parts(
    items: Iterable[Item], size_of: Callable[[Item], int], most_size: int, most: int | None = None
) -> Iterator[list[Item]]:
    """Items in parts of which one request carries each; an item that is too large goes alone.

    Args:
        items: In their order.
        size_of: How much of a request one takes.
        most_size: What there is room for.
        most: How many there may be, None for any number.

    Example:
        >>> list(in_parts(["a", "bb", "ccc", "d"], len, 3))
        [['a', 'bb'], ['ccc'], ['d']]
    """
    part: list[Item] = []
    size = 0
    for item in items:
        needs = size_of(item)
        if part and (len(part) == most or size + needs > most_size):
            yield part
            part, size = [], 0
        part.append(item)
        size += needs
    if part:
        yield part


class Secrets:
    """Texts that appear in no error.

    Args:
        texts: Passwords, tokens and keys, or None in the place of one.

    Example:
        >>> Secrets(["swordfish", None]).redacted("no such user: me:swordfish")
        'no such user: me:***'
    """

    def __init__(self, texts: Iterable[str | None]) -> None:
        # One may be part of another.
        every = sorted({text for text in texts if text}, key=len, reverse=True)
        self._long = [text for text in every if len(text) > _SHORT]
        # Of a letter or two, words are full.
        self._short = [
            re.compile(rf"(?<!\w){re.escape(text)}(?!\w)") for text in every if len(text) <= _SHORT
        ]

    def redacted(self, text: str) -> str:
        """The text without them; those of up to three letters go where they stand by themselves."""
        for secret in self._long:
            text = text.replace(secret, "***")
        for pattern in self._short:
            text = pattern.sub("***", text)
        return text

    def safe_cause(self, error: Exception) -> Exception | None:
        """The driver's error as a cause, unless it tells a secret."""
        told = f"{error!s}{error!r}"
        return error if self.redacted(told) == told else None


def refused(
    engine: str,
    operation: str,
    error: Exception,
    secrets: Secrets,
    *,
    retryable: bool,
    told: str | None = None,
    hint: str = "",
) -> BackendError:
    """What a caller is told of a driver's error; raise it ``from secrets.safe_cause(error)``.

    Args:
        engine: What the database is called.
        operation: What the caller of the store asked for.
        error: Of the driver.
        secrets: What may not be told.
        retryable: Whether the same call may succeed later.
        told: What the error says, where that is not its text.
        hint: What to do about it, as the end of the sentence.
    """
    text = secrets.redacted((str(error) if told is None else told).strip())
    return BackendError(
        f"{engine} refused {operation}: {text or type(error).__name__}{hint}",
        operation=operation,
        retryable=retryable,
    )


def why_not_opened(path: str) -> str:
    """What stands in the way of opening a file for writing; empty where nothing is to be seen.

    Example:
        >>> why_not_opened("/none/kb.db")
        'there is no folder /none; make it first'
    """
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        return f"there is no folder {folder}; make it first"
    if os.path.isdir(path):
        return f"{path} is a folder, not a file"
    if not os.path.exists(path):
        return "" if os.access(folder, os.W_OK) else f"nothing can be written to {folder}"
    if not os.access(path, os.R_OK):
        return f"{path} may not be read by this user"
    if not os.access(path, os.W_OK):
        return f"{path} is write-protected; to read it only, open it with read_only=True"
    return ""


def has_passing_grpc_code(error: Exception) -> bool:
    """Whether an error of gRPC is one that the same call may not meet again."""
    code = getattr(error, "code", None)
    return getattr(code() if callable(code) else code, "name", "") in _RETRYABLE_GRPC


def not_installed(reason: str, extra: str, error: ImportError) -> BackendNotInstalledError:
    """The error for a missing client.

    Args:
        reason: What needs it, such as ``"the Milvus store needs pymilvus"``.
        extra: Which extra brings it.
        error: Of the import.
    """
    return BackendNotInstalledError(f"{reason}: {install_line(extra)}", name=error.name)


def misfit(place: str, faults: Iterable[str], hint: str = "") -> SchemaMismatchError:
    """The error for a table or collection that is not as a store wants it.

    Args:
        place: What is not, such as ``"the collection 'docs'"``.
        faults: Every difference.
        hint: What to do about it, as the end of the sentence.
    """
    return SchemaMismatchError(f"{place} does not fit this store: {'; '.join(faults)}{hint}")
