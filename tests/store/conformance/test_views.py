"""The suite through something that stands around a store: its tests ask for stores in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.store.choices import SCOPED
from vecstore import Document, SimpleVectorStore, VectorStore
from vecstore.testing import StoreSuite


class Stamping:
    """Adds a key to all metadata, and hands every other call on."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def __enter__(self) -> Stamping:
        self._store.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._store.__exit__(*exception)

    def __repr__(self) -> str:
        return repr(self._store)

    def add(self, documents: Any, **options: Any) -> list[str]:
        if isinstance(documents, list):
            documents = [self._stamped(one) for one in documents]
        elif isinstance(documents, Iterable) and not isinstance(documents, str | Mapping):
            documents = map(self._stamped, documents)
        return self._store.add(documents, **options)

    def scoped(self, filter: Any) -> Stamping:
        return Stamping(self._store.scoped(filter))

    def _stamped(self, one: Any) -> Any:
        if not isinstance(one, Document):
            return one
        return one.replace(metadata={**one.metadata, "stamp": "a"})


class TestStamped(StoreSuite):
    chosen = SCOPED  # a view that adds to metadata, as a scope does

    def make_store(self, **options: Any) -> VectorStore:
        return SimpleVectorStore(**options)

    # Awaited calls go to the store behind, which stamps nothing.
    test_awaited_calls_do_what_the_others_do = None

    def view(self, made: VectorStore) -> Any:
        return Stamping(made)

    def stored(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().stored(metadata), "stamp": "a"}
