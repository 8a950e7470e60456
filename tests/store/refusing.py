"""Stores whose dialect refuses more than the engine would: for tests of what is then evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vecstore import Expression, UnsupportedFilterError, VectorStore
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL

Refuses = Callable[[Expression], bool]


def on_key(*names: str) -> Refuses:
    """Refuses every comparison of a key."""
    return lambda atom: atom.key.path[0] in names


def refusing(store: Any, refuses: Refuses) -> Any:
    """The same store, which from now on refuses these comparisons."""
    real = store._compile_filter

    def hook(filter: Expression) -> Any:
        simple = simplified(filter)
        for node in () if isinstance(simple, bool) else simple.walk():
            if node.op not in LOGICAL and refuses(node):
                raise UnsupportedFilterError(
                    dialect=store.name,
                    op=node.written_op,
                    key=str(node.key),
                    reason="this test has it refused",
                    span=node.span,
                )
        return real(filter)

    store._compile_filter = hook
    assert isinstance(store, VectorStore)
    return store
