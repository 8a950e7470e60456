"""The reference of the site: every public name, once."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import vecstore

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
NAMES = Counter(
    name
    for page in sorted(FOLDER.glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
)
DOORS = (
    "vecstore",
    "vecstore.embedders",
    "vecstore.indexing",
    "vecstore.interop",
    "vecstore.prompting",
    "vecstore.schema",
    "vecstore.store",
    "vecstore.testing",
    "vecstore.authoring",
)


def test_no_name_is_there_twice() -> None:
    assert [name for name, count in NAMES.items() if count > 1] == []


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_there(door: str) -> None:
    # One that several doors lead to stands under the first.
    known = {
        name for before in DOORS[: DOORS.index(door)] for name in import_module(before).__all__
    }
    public = {f"{door}.{name}" for name in import_module(door).__all__ if name not in known}
    assert public - set(NAMES) == set()


def test_every_name_there_is_public() -> None:
    public = {f"{door}.{name}" for door in DOORS for name in import_module(door).__all__}
    modules = {name for name in NAMES if name.startswith("vecstore.adapters.")}
    assert set(NAMES) - public - modules == {"vecstore.errors"}


def test_what_assistants_are_told_is_so() -> None:
    text = (FOLDER.parent / "llms.txt").read_text("utf-8")
    for page in re.findall(r"\]\(([^)]+)\)", text):
        assert (FOLDER.parent / page).is_file(), page
    for address in re.findall(r'"([a-z]+:[^" ]+)"', text):
        assert vecstore.StoreURL.read(address.replace("…", "localhost/db")).scheme
    for name in re.findall(r"`(?:await )?store\.(?:aio\.)?(\w+)", text):
        assert hasattr(vecstore.VectorStore, name), name
    assert len(re.findall(r'"([a-z]+:[^" ]+)"', text)) > 4
