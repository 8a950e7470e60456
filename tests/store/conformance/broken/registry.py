"""Stores that keep the contract in all points but one, and the test that has to notice.

Each is the store in memory with a mistake that real stores have made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vecstore import SimpleVectorStore
from vecstore.testing import StoreSuite

Store = TypeVar("Store", bound=type[SimpleVectorStore])

BROKEN: dict[str, type[StoreSuite]] = {}
"""A suite for each broken store, by the name of the test that notices and the store's name."""


def caught_by(test: str, **attributes: Any) -> Callable[[Store], Store]:
    def decorate(store: Store) -> Store:
        suite: Any = type(
            f"Test{store.__name__}",
            (StoreSuite,),
            {
                "make_store": lambda self, **options: store(**options),
                "__module__": __name__,
                "many": 1_200,
                **attributes,
            },
        )
        BROKEN[f"{suite.__name__}::{test}"] = suite
        return store

    return decorate


class Inside(SimpleVectorStore):
    """For mistakes in what the base keeps to itself, which classes from outside may not touch."""

    def __init_subclass__(cls) -> None:
        pass
