"""The fuzzer finds what is wrong, and the seed it prints finds it again."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

import pytest

from tests.dialects.conformance.memory import Memory
from tests.dialects.conformance.test_memory import TestMemory as MemorySuite
from tests.fuzz.__main__ import conformance_suites, main
from vecstore import Expression, Op, Value


def test_a_right_dialect_is_fuzzed_until_the_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.02", "--seed", "7", "--engine", "Memory"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("seed 7; TestMemory\n")
    assert re.search(r"\d+ filters compared, seeds 7 to \d+: all well", output)


def test_rounds_can_be_counted_instead(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "2", "--engine", "Memory"]) == 0
    assert capsys.readouterr().out.endswith("80 filters compared, 2 rounds: all well\n")


def test_what_it_finds_it_finds_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, slots=True)
    class Forgetful(Memory):
        def null(self, atom: Expression) -> Expression:
            return Expression(Op.EQ, atom.key, Value("never"))

    monkeypatch.setattr(MemorySuite, "dialect", Forgetful())
    assert main(["--minutes", "1", "--engine", "Memory"]) == 1
    first = capsys.readouterr().out
    report = first.partition("\n\n")[2].partition("found by")[0]
    assert re.search(r"  filter    .* IS (NOT )?NULL\n  native ", report)
    command = first.strip().splitlines()[-1].strip()
    assert main(shlex.split(command)[3:]) == 1
    assert report in capsys.readouterr().out


def test_an_unknown_engine_is_told_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--engine", "Oracle"]) == 2
    assert "TestPostgres\n" in capsys.readouterr().out


def test_every_engine_takes_part() -> None:
    names = {suite.__name__ for suite in conformance_suites()}
    for engine in (
        "Postgres",
        "QdrantLocal",
        "QdrantEdge",
        "Chroma",
        "LanceDB",
        "Milvus",
        "Pinecone",
        "Redis",
        "Weaviate",
        "Lite",
        "SQLite",
        "DuckDB",
    ):
        assert f"Test{engine}" in names
