"""What docs/write-a-store.md shows works, and it leaves nothing out."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from vecstore import StoreCapabilities
from vecstore.store.backend import StoreHooks

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "write-a-store.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)

shown: dict[str, Any] = {"__name__": __name__}
for block in BLOCKS:
    exec(compile(block, "docs/write-a-store.md", "exec"), shown)

TestDictStore = shown["TestDictStore"]


def test_the_proof_takes_at_most_ten_lines() -> None:
    assert len(BLOCKS[1].strip().splitlines()) <= 10


def test_every_capability_is_on_the_page() -> None:
    for field in fields(StoreCapabilities):
        assert f"`{field.name}`" in PAGE, field.name


def test_every_hook_is_on_the_page() -> None:
    hooks = [
        name
        for name, value in vars(StoreHooks).items()
        if re.fullmatch(r"_[a-z]\w+", name) and inspect.isfunction(value)
    ]
    assert len(hooks) >= 12
    for name in hooks:
        assert f"`{name}(" in PAGE, name
