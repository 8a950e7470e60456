"""The contract of stores on the example of a store from outside, and the example by itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from vecstore import Expression, VectorStore
from vecstore.testing import PersistentStoreTests, StoreSuite

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "vecstore-sqlite"


def load_example() -> ModuleType:
    """The example's store, without leaving anything of it behind for other tests to find."""
    package = EXAMPLE / "src" / "vecstore_sqlite"
    spec = importlib.util.spec_from_file_location(
        "vecstore_sqlite", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    before = {name: sys.modules[name] for name in sys.modules if name.startswith(spec.name)}
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[spec.name])
        return importlib.import_module("vecstore_sqlite.store")
    finally:
        for name in [name for name in sys.modules if name.startswith(spec.name)]:
            del sys.modules[name]
        sys.modules.update(before)


example: Any = load_example()


class TestInMemory(StoreSuite):
    dialect = example.Sqlite()

    def make_store(self, **options: Any) -> VectorStore:
        return example.SqliteStore(":memory:", **options)

    def refuses(self, filter: Expression) -> bool:
        return len(filter.key.path) > 60


class TestInAFile(PersistentStoreTests):
    def make_store(self, **options: Any) -> VectorStore:
        return example.SqliteStore(self.folder / f"{uuid4()}.db", **options)

    def open_again(self, store: Any, **options: Any) -> VectorStore:
        return example.SqliteStore(store.path, **options)
