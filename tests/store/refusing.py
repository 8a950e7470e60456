"""Stores whose dialect refuses more than the engine would: for tests of what is then evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vecstore import Expression, VectorStore
from vecstore.testing.store_suite.evaluating import refuse_more

Refuses = Callable[[Expression], bool]


def on_key(*names: str) -> Refuses:
    """Refuses every comparison of a key."""
    return lambda atom: atom.key.path[0] in names


def refusing(store: Any, refuses: Refuses) -> Any:
    """The same store, which from now on refuses these comparisons."""
    refuse_more(store, refuses)
    assert isinstance(store, VectorStore)
    return store
