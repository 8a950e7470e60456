"""Watching the hooks of a store: the only ways to its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vecstore.store.base import VectorStore

HOOKS = (
    "_add",
    "_search",
    "_search_selected",
    "_get",
    "_scan",
    "_stored_ids",
    "_delete",
    "_delete_filtered",
    "_count",
    "_update_metadata",
    "_scan_metadata",
    "_scan_textless",
    "_held_values",
    "_get_ordered",
    "_extremes",
    "_delete_judged",
    "_update_judged",
    "_delete_ids",
    "_clear",
    "_clear_counted",
)


@contextmanager
def watched_hooks(
    store: VectorStore,
    before: Mapping[str, Callable[..., object]] = {},
    *,
    passing: bool = True,
) -> Iterator[list[str]]:
    """Write down, in the list that is given, which hooks are called inside the block.

    Args:
        store: Whose hooks.
        before: What to call first, by the hook's name and with its arguments; it may raise.
        passing: Whether the hooks then work, or fail the test.
    """
    called: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(store, name)

        def hook(*arguments: Any, **options: Any) -> Any:
            called.append(name)
            if not passing:
                raise AssertionError(f"the engine was called: {name}")
            if name in before:
                before[name](*arguments, **options)
            return real(*arguments, **options)

        return hook

    for name in HOOKS:
        setattr(store, name, watched(name))
    try:
        yield called
    finally:
        for name in HOOKS:
            delattr(store, name)
