"""The examples in the documents of this repository, run as their readers would run them."""

from __future__ import annotations

import io
import os
import re
import runpy
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def check_examples(document: str, folder: Path, package: Path = ROOT) -> None:
    """The Python blocks, run as one script, print what the text blocks right after them show.

    Args:
        document: A file of this repository, by its path in it.
        folder: Where the script runs, and what it writes stays.
        package: The folder that holds ``vecstore``.
    """
    script, expected = _written(document, folder)
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
    assert run.stdout == expected


def check_examples_here(document: str, folder: Path) -> None:
    """The same in this process, for documents that do not depend on what is imported before.

    Half a second less for each: most of what an interpreter of its own does is to import numpy and
    the client of an engine.
    """
    script, expected = _written(document, folder)
    with chdir(folder), redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == expected


def _written(document: str, folder: Path) -> tuple[Path, str]:
    """The script, and what it is to print."""
    path = (ROOT / document).resolve()
    assert path.is_relative_to(ROOT)
    text = path.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, re.DOTALL)
    assert blocks
    script = folder / "example.py"
    script.write_text("".join(code for code, _ in blocks), "utf-8")
    return script, "".join(expected for _, expected in blocks)
