"""The suite in a project that has nothing but the package, pytest and hypothesis."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROJECT = """
from vecstore import SimpleVectorStore
from vecstore.testing import StoreSuite


class CountsEverything(SimpleVectorStore):
    def _count(self, filter):
        return super()._count(None)


class TestMine(StoreSuite):
    def make_store(self, **options):
        return CountsEverything(**options)
"""


def run(folder: Path, *arguments: str, path: Path | None = None) -> str:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        "-W",
        "error",
    ]
    paths = [str(ROOT), *([str(path)] if path is not None else [])]
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.wide
def test_no_settings_are_needed_and_failures_show_their_values(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(PROJECT, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    chosen = "test_count or test_random_filters or test_get_limit"
    output = run(tmp_path, "-k", chosen, "-m", "not heavy")
    assert "2 failed, 1 passed" in output, output
    assert "assert 10 == 7" in output
    # What usually breaks a test, and where to look.
    assert "The engine's count is an estimate, or lags behind deletions: ``_count``." in output
    assert "warning" not in output.lower()


@pytest.mark.wide
def test_the_example_tests_itself(tmp_path: Path) -> None:
    example = ROOT / "examples" / "vecstore-lite"
    (tmp_path / "test_store.py").write_bytes((example / "tests" / "test_store.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    chosen = "test_set_and_unset or test_documents_outlive_their_store"
    output = run(tmp_path, "-k", chosen, path=example / "src")
    assert "2 passed" in output, output
