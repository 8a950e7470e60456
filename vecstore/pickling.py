"""How a store gets into another process: as the address that it was opened by."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from vecstore.embedding import EmbedderInput
    from vecstore.opening import StoreURL
    from vecstore.operations import StoreOperations
    from vecstore.store import VectorStore

_SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|credential|token$|api[-_]?key"
    r"|(^|[-_])(pwd|auth|authorization|(access|private)[-_]?key)($|[-_])|^key$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether an option of this name holds what nobody else may see."""
    return _SECRET.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a store was opened by, without its secrets.

    Attributes:
        address: Its URL; a relative path has been made absolute.
        options: What was given by keyword.
        left_out: Names of what a pickle does not carry.
    """

    address: str
    options: dict[str, Any] = field(repr=False)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: StoreURL, options: Mapping[str, Any]) -> Origin:
        """What is kept of an address and options."""
        here = not (url.host or url.user is not None or url.port is not None)
        if here and url.path and not os.path.isabs(url.path):
            url = replace(url, path=os.path.abspath(url.path))
        left_out: list[str] = []
        kept = _public(options, "", left_out)
        if url.password is not None:
            left_out.append("password")
        return cls(address=str(url), options=kept, left_out=tuple(left_out))


def reduced(store: StoreOperations) -> tuple[Any, ...]:
    """What ``__reduce__`` of a store returns.

    Raises:
        TypeError: If another process cannot open it, saying why and what to do.
    """
    kind, origin = type(store).__name__, store._origin
    if origin is None:
        _refuse(
            f"this {kind} was not made by open_store, so that nothing says how to open it again",
            "open it by its address, or make it in the worker",
        )
    if store._closed:
        _refuse(f"this {kind} is closed", "pickle it while it is open, or hand on its address")
    reason = store._bound_to_process()
    if reason is not None:
        _refuse(
            f"this {kind} cannot be reached from another process: {reason}",
            "give it a place that others reach, and open it in the worker",
        )
    return open_again, (origin.address, store.embedder, origin.options, origin.left_out)


def open_again(
    address: str, embedder: EmbedderInput | None, options: dict[str, Any], left_out: tuple[str, ...]
) -> VectorStore:
    """Open a store that was pickled, in the process that unpickles it."""
    from vecstore.opening import open_store

    try:
        return open_store(address, embedder=embedder, **options)
    except Exception as error:
        if left_out:
            error.add_note(
                f"a pickled store does not carry {', '.join(left_out)}: open the store in the "
                "worker itself, or let the worker's environment name it"
            )
        raise


def _public(values: Mapping[Any, Any], path: str, left_out: list[str]) -> dict[Any, Any]:
    """Values without secrets, as far as their names tell them."""
    kept: dict[Any, Any] = {}
    for name, value in values.items():
        if is_secret(str(name)):
            left_out.append(f"{path}{name}")
        else:
            inner = type(value) is dict
            kept[name] = _public(value, f"{path}{name}.", left_out) if inner else value
    return kept


def _refuse(reason: str, remedy: str) -> NoReturn:
    raise TypeError(
        f"{reason}; a store goes to another process as its address: {remedy}, with "
        "open_store(url, embedder=...) at the worker's start"
    )
