"""The door of authors: whatever a dialect or a store from outside needs is there, and told."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vecstore.authoring
from tests.store.conformance.test_example import example
from tests.store.conformance.test_write_a_store import shown
from tests.store.minimal import MinimalStore
from vecstore import FilterConverter, VectorStore
from vecstore.store.backend import StoreHooks
from vecstore.testing import StoreSuite

ROOT = Path(__file__).parents[2]
DIALECT, STORE, SUITES, KIT = (
    (ROOT / "docs" / name).read_text("utf-8")
    for name in ("write-a-dialect.md", "write-a-store.md", "store-suites.md", "conformance.md")
)
NAMES = set(vecstore.authoring.__all__)
OUTSIDE = {
    "docs/write-a-dialect.md": DIALECT,
    "docs/write-a-store.md": STORE,
    "docs/store-suites.md": SUITES,
    **{
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in [
            *sorted((ROOT / "examples").rglob("src/**/*.py")),
            ROOT / "tests" / "store" / "minimal.py",
        ]
    },
}


def code_of(text: str) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join(blocks) or text


@pytest.mark.parametrize("where", OUTSIDE)
def test_authors_import_from_their_door_and_the_kit_alone(where: str) -> None:
    imported = [
        node
        for node in ast.walk(ast.parse(code_of(OUTSIDE[where])))
        if isinstance(node, ast.ImportFrom)
    ]
    ours = {
        str(node.module) for node in imported if str(node.module).partition(".")[0] == "vecstore"
    }
    assert ours <= {"vecstore.authoring", "vecstore.testing"}


def test_the_pages_of_the_kit_import_from_doors_alone() -> None:
    for node in ast.walk(ast.parse(code_of(KIT))):
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("hypothesis", "vecstore", "vecstore.testing")


def test_every_name_of_the_door_is_told() -> None:
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", DIALECT + STORE))))
    assert set() == NAMES - told


def test_every_name_that_the_pages_take_from_the_package_is_in_a_door() -> None:
    for page in (DIALECT, STORE, SUITES):
        deep = set(re.findall(r"\bvecstore\.[a-z_]+(?:\.\w+)*", page))
        assert deep <= {
            "vecstore.authoring",
            "vecstore.testing",
            "vecstore.dialects",
            "vecstore.stores",
        }


@pytest.mark.parametrize("base", [StoreHooks, VectorStore, FilterConverter])
def test_what_the_hooks_are_given_and_give_back_is_in_the_door(base: type) -> None:
    """Every class of this library in the annotations of the hooks, and every error they name."""
    hooks = {
        name: value
        for name, value in vars(base).items()
        if callable(value) and (base is not VectorStore or name in ("_settle", "from_url"))
    }
    hooks.pop("_entered", None)
    used = set()
    for value in hooks.values():
        value = getattr(value, "__func__", value)
        annotations = " ".join(str(one) for one in getattr(value, "__annotations__", {}).values())
        used.update(re.findall(r"\b[A-Z]\w+", annotations))
        raised = re.search(r"Raises:\n(.*)", value.__doc__ or "", re.DOTALL)
        used.update(re.findall(r"\b([A-Z]\w+Error):", raised[1] if raised else ""))
    known = {"Any", "Iterable", "Iterator", "Sequence", "Mapping", "None", "Part"}
    assert used - known <= NAMES


@pytest.mark.parametrize("name", ["the page's", "the example's"])
def test_a_store_from_outside_sets_nothing_of_the_bases_own(name: str) -> None:
    """The base can rename what is behind its underscores, and only that."""
    store: Any = shown["DictStore"]() if name == "the page's" else example.LiteStore()
    code = code_of(STORE) if name == "the page's" else Path(example.__file__).read_text("utf-8")
    own = {*dir(VectorStore), *vars(MinimalStore())}
    touched = {
        node.attr
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    hooks = {name for name in vars(StoreHooks) if f"`{name}(" in STORE} | {"_settle"}
    private = {attr for attr in touched & own if attr.startswith("_")}
    assert private <= hooks
    store.close()


@pytest.mark.wide
def test_the_suites_of_the_page_run_as_they_stand(tmp_path: Path) -> None:
    conftest, tests = re.findall(r"^```python\n(.*?)^```", SUITES, re.DOTALL | re.MULTILINE)
    assert len(conftest.strip().splitlines()) <= 6
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "test_mine.py").write_text(tests, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    sources = ROOT / "examples" / "vecstore-lite" / "src"
    chosen = "test_set_and_unset or test_delete_by_filter or test_documents_outlive_their_store"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-W",
            "error",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            chosen,
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(sources)])},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    # Two of them in each of the four suites, the third where documents outlive their store.
    assert re.search(r"^9 passed", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_the_page_of_the_suites_tells_what_they_are_made_of() -> None:
    for base in StoreSuite.__bases__:
        assert f"`{base.__name__}`" in SUITES, base.__name__
    for name in re.findall(r"^        (\w+): ", str(StoreSuite.__doc__), re.MULTILINE):
        assert f"`{name}`" in SUITES, name
