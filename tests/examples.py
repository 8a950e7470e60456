"""The examples in the documents of this repository, run as their readers would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def check_examples(document: str, folder: Path, package: Path = ROOT) -> None:
    """The Python blocks, run as one script, print what the text blocks right after them show.

    Args:
        document: A file of this repository, by its path in it.
        folder: Where the script runs, and what it writes stays.
        package: The folder that holds ``vecstore``.
    """
    path = (ROOT / document).resolve()
    assert path.is_relative_to(ROOT)
    text = path.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    script = folder / "example.py"
    script.write_text("".join(code for code, _ in blocks), "utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "".join(expected for _, expected in blocks)
