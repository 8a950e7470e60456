"""The examples of the pages for who comes from another library, beside that library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("coming-from-chroma.md", "chromadb"),
        ("coming-from-haystack.md", "haystack"),
        ("coming-from-langchain.md", "langchain_core"),
        ("coming-from-qdrant.md", "qdrant_client"),
    ],
)
def test_the_examples_print_what_they_claim(
    page: str,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    names: dict[str, Any] = {"__name__": "example"}
    for code, _ in blocks:
        exec(compile(code, page, "exec"), names)
    assert capsys.readouterr().out == "".join(expected for _, expected in blocks)
