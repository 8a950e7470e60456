"""The examples in the documentation of scopes, awaited calls and observation print what they claim."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("name", ["multi-tenancy.md", "async.md", "observability.md"])
def test_examples_print_what_they_claim(name: str, tmp_path: Path) -> None:
    text = (DOCS / name).read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    script = tmp_path / "example.py"
    script.write_text("".join(code for code, _ in blocks), "utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=DOCS.parent,
        env={"PYTHONPATH": str(DOCS.parent)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    shown = [line for line in run.stdout.splitlines() if line.strip()]
    assert shown == "".join(expected for _, expected in blocks).splitlines()
