"""`--from`: filters of other systems on the command line."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from vecstore import interop
from vecstore.cli.sources import SYSTEMS

FILTERS = {
    "chroma": '{"year": {"$gte": 2020}}',
    "haystack": '{"field": "meta.year", "operator": ">=", "value": 2020}',
    "langchain": '{"year": {"$gte": 2020}}',
    "llama_index": '{"filters": [{"key": "year", "operator": ">=", "value": 2020}]}',
    "mongo": '{"year": {"$gte": 2020}}',
    "pinecone": '{"year": {"$gte": 2020}}',
    "qdrant": '{"must": [{"key": "year", "range": {"gte": 2020}}]}',
    "sql": "WHERE year >= 2020",
}


def test_every_importer_is_there() -> None:
    assert [f"from_{name}" for name in SYSTEMS] == interop.__all__
    assert set(FILTERS) == set(SYSTEMS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_filter_of_another_system(run: Run, name: str) -> None:
    assert run("fmt", "--from", name, FILTERS[name]) == (0, "year >= 2020\n", "")


def test_each_command_of_one_filter(run: Run) -> None:
    source = ("--from", "pinecone", FILTERS["pinecone"])
    assert run("parse", *source).out == "year >= 2020\n"
    assert run("check", "-d", "qdrant", *source) == (0, "ok\n", "")
    compiled = run("compile", "-d", "qdrant", *source)
    assert json.loads(compiled.out)["must"][0] == {"key": "year", "range": {"gte": 2020}}
    assert "read as" in run("explain", "-d", "qdrant", *source).out
    assert run("fmt", "--from", "pinecone", "-", stdin=FILTERS["pinecone"]).out == "year >= 2020\n"


def test_no_filter_is_all(run: Run) -> None:
    assert run("compile", "--json", "-d", "qdrant", "--from", "mongo", "{}").json["matches_all"]


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("mongo", '{"a": {"$regex": "x"}}', "at a.$regex: the operator '$regex' has no meaning"),
        ("mongo", '{"a": 1, "a": 2}', "has 'a' twice in one object"),
        ("mongo", "{'a': 1}", "the filter is no JSON"),
        ("mongo", "[" * 100_000, "nested too deep"),
        ("mongo", '{"a": ' + "9" * 5_000 + "}", "too long to be read"),
        ("mongo", '{"a": NaN}', "nan is not a finite number"),
        ("sql", "title LIKE 'A%'", "line 1, column 1"),
    ],
)
def test_what_cannot_be_read(run: Run, source: str, text: str, message: str) -> None:
    outcome = run("compile", "-d", "pgvector", "--from", source, text)
    assert outcome.code == 2
    assert outcome.out == ""
    assert message in outcome.err


def test_a_system_that_there_is_not(run: Run) -> None:
    outcome = run("fmt", "--from", "pinecon", "{}")
    assert outcome.code == 2
    assert "did you mean pinecone?" in " ".join(outcome.err.split())


def test_what_is_refused_is_a_no(run: Run) -> None:
    assert run("check", "--from", "mongo", '{"a": [1]}').code == 1
