"""What docs/cli.md shows is what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
TIME = re.compile(r" \(\d+\.\d s\)$")
"""How long something took, at the end of a line."""
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) > 5


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_prints_what_the_page_shows(run: Run, tmp_path: Path, block: str) -> None:
    code = None
    assert block.startswith("$ ")
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        words = shlex.split(command)
        if words[0] == "cat":  # shows a file that the next commands read
            (tmp_path / words[1]).parent.mkdir(exist_ok=True)
            (tmp_path / words[1]).write_text(expected, "utf-8")
            continue
        if words == ["echo", "$?"]:
            assert expected == f"{code}\n"
            continue
        assert words[0] == "vecstore"
        outcome = run(*words[1:])
        code = outcome.code
        shown = [line.rstrip() for line in (outcome.out + outcome.err).splitlines()]
        assert [TIME.sub("", line) for line in shown] == [
            TIME.sub("", line) for line in expected.splitlines()
        ]


def test_every_command_is_on_the_page(run: Run) -> None:
    for name in re.findall(r"│ ([a-z]+) {2,}", run("--help").out):
        assert f"`{name}`" in PAGE
