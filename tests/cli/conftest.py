"""The command, run inside the test's own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from vecstore.cli import corpus
from vecstore.cli.app import app


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """``run("grep", "year > 2020", "docs.jsonl", stdin=b"...")`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    runner = CliRunner()

    def invoke(*arguments: str, stdin: str | bytes | None = None, color: bool = False) -> Outcome:
        result = runner.invoke(app, list(arguments), input=stdin, prog_name="vecstore", color=color)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        # Not result.stdout, in which line ends have been made alike.
        return Outcome(result.exit_code, result.stdout_bytes.decode(), result.stderr)

    return invoke


@pytest.fixture
def few_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of one package and two modules, where a test asks for no more."""
    files = [
        path
        for path in corpus.library_files()
        if path.stem in ("glob", "statistics")
        or (path.parent.name == "asyncio" and path.stem in ("tasks", "queues", "locks"))
    ]
    monkeypatch.setattr(corpus, "library_files", lambda: files)
