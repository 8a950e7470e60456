"""The contract of stores on the example of a store from outside, and the example by itself."""

from __future__ import annotations

import importlib.util
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest

from tests.store.choices import OF_THE_DIALECT
from vecstore import (
    BackendError,
    ConfigurationError,
    DimensionMismatchError,
    Document,
    Expression,
    VectorStore,
)
from vecstore.testing import PersistentStoreTests, StoreSuite

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "vecstore-lite"


def load_example() -> ModuleType:
    """The example's store, without leaving anything of it behind for other tests to find."""
    package = EXAMPLE / "src" / "vecstore_lite"
    spec = importlib.util.spec_from_file_location(
        "vecstore_lite", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    before = {name: sys.modules[name] for name in sys.modules if name.startswith(spec.name)}
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[spec.name])
        return importlib.import_module("vecstore_lite.store")
    finally:
        for name in [name for name in sys.modules if name.startswith(spec.name)]:
            del sys.modules[name]
        sys.modules.update(before)


example: Any = load_example()


class TestInMemory(StoreSuite):
    repeats = OF_THE_DIALECT
    dialect = example.Lite()

    def make_store(self, **options: Any) -> VectorStore:
        return example.LiteStore(":memory:", **options)

    def refuses(self, filter: Expression) -> bool:
        return len(filter.key.path) > 60


class TestInAFile(PersistentStoreTests):
    def make_store(self, **options: Any) -> VectorStore:
        return example.LiteStore(self.folder / f"{uuid4()}.db", **options)

    def open_again(self, store: Any, **options: Any) -> VectorStore:
        return example.LiteStore(store.path, **options)


ONE = Document("text", {"n": 1}, id="one", embedding=[1.0, 2.0])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as pip installs it, into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    options = [
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--quiet",
        "--target",
        str(folder),
    ]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options]
    subprocess.run([*command, str(EXAMPLE)], check=True)
    return folder


def python(code: str, installed: Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_an_installed_store_is_opened_by_its_url(installed: Path, tmp_path: Path) -> None:
    code = """
from vecstore import Document, open_store
with open_store("lite:docs.db?table=my%20docs&metric=dot") as store:
    store.add([Document("text", {"n": 1}, id="one", embedding=[1, 2])])
with open_store("lite:docs.db?table=my%20docs") as store:
    print(store, [one.id for one in store.get(filter="n == 1")])
try:
    open_store("lite:docs.db?tabel=x")
except Exception as error:
    print(type(error).__name__, error)
"""
    shown = python(code, installed, tmp_path)
    assert "<LiteStore metric=dot dimension=2> ['one']" in shown
    assert "ConfigurationError" in shown
    assert "did you mean 'table'?" in shown
    assert (tmp_path / "docs.db").exists()


def test_the_readme_prints_what_it_shows(installed: Path, tmp_path: Path) -> None:
    page = (EXAMPLE / "README.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    for code, expected in examples:
        assert python(code, installed, tmp_path) == expected


def test_tables_of_one_file_are_stores_of_their_own(tmp_path: Path) -> None:
    names = ["documents", 'my "odd" table; --', "vecstore_settings2"]
    stores = [example.LiteStore(tmp_path / "a.db", table=name) for name in names]
    for number, store in enumerate(stores):
        store.add([ONE.replace(text=f"text {number}")])
    assert [store.get(["one"])[0].text for store in stores] == ["text 0", "text 1", "text 2"]
    stores[0].clear()
    assert [store.count() for store in stores] == [0, 1, 1]
    for store in stores:
        store.close()
    for name in ("", "a\0b", "vecstore_settings", "VECSTORE_SETTINGS"):
        with pytest.raises(ConfigurationError):
            example.LiteStore(tmp_path / "a.db", table=name)


def test_the_first_batch_of_any_process_settles_the_dimension(tmp_path: Path) -> None:
    with (
        example.LiteStore(tmp_path / "a.db") as one,
        example.LiteStore(tmp_path / "a.db") as two,
    ):
        assert one.add([ONE]) == ["one"]
        with pytest.raises(DimensionMismatchError):
            two.add([ONE.replace(id="two", embedding=[1.0, 2.0, 3.0])])
        with pytest.raises(DimensionMismatchError):
            two.search(vector=[1.0])
        assert two.dimension is None
        assert len(two.search(vector=[1.0, 1.0])) == 1
        assert two.dimension == 2
        assert two.count() == 1


def test_a_failure_of_the_database_is_told_with_its_cause(tmp_path: Path) -> None:
    with pytest.raises(BackendError) as caught:
        example.LiteStore(tmp_path / "no such folder" / "a.db")
    assert caught.value.operation == "open"
    (tmp_path / "b.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(BackendError) as caught:
        example.LiteStore(tmp_path / "b.db")
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert not caught.value.retryable

    store = example.LiteStore(tmp_path / "c.db")
    store.add([ONE])
    store.native.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(BackendError) as caught:
        store.add([ONE.replace(id="two")])
    assert caught.value.retryable
    assert list(caught.value.failed_ids) == ["two"]
    other.execute("ROLLBACK")
    other.close()
    assert store.add([ONE.replace(id="two")]) == ["two"]
    assert store.count() == 2
    store.close()
