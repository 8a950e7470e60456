"""`vecstore schema` and `vecstore check --schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from vecstore import Document, Schema, open_store

ROWS = [{"metadata": {"year": 2020, "tags": ["a"]}}, {"metadata": {"year": 2021.5}}, {}]


@pytest.fixture
def documents(tmp_path: Path) -> str:
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    return str(path)


def test_infer_says_what_it_saw(run: Run, documents: str) -> None:
    outcome = run("schema", "infer", documents, "-k", "metadata")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "3 documents",
        "year  float      in 67 %  such as 2020, 2021.5",
        "tags  list[str]  in 33 %  such as ['a']",
    ]
    report = run("schema", "infer", documents, "-k", "metadata", "--json").json
    assert report["documents"] == 3
    assert report["keys"][0]["kinds"] == {"int": 1, "float": 1}
    assert run("schema", "infer", "-", "-k", "metadata", stdin=json.dumps(ROWS[0])).code == 0


def test_infer_says_that_there_is_nothing_to_look_at(run: Run) -> None:
    outcome = run("schema", "infer", "-", stdin="{}\n")
    assert outcome.code == 2
    assert "nothing to infer a schema from: 1 documents, and no key" in outcome.err
    outcome = run("schema", "infer", "-", stdin='{"a": [[1]]}\n')
    assert "1 cannot be stored: a: " in outcome.err


def test_infer_writes_a_file_that_check_reads(run: Run, documents: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(run("schema", "infer", documents, "-k", "metadata", "--toml").out, "utf-8")
    assert Schema.from_file(file) == Schema({"year": float, "tags": list[str]})
    assert run("check", "--schema", str(file), "year >= 2020").code == 0
    refused = run("check", "--schema", str(file), "yaer >= 2020")
    assert refused.code == 1
    assert "did you mean year?" in refused.err
    assert run("check", "--schema", str(file), "--json", "yaer == 1").json["ok"] is False
    assert run("check", "--schema", str(tmp_path / "none"), "year == 1").code == 2
    assert "- year: numbers" in run("schema", "show", str(file)).out
    assert "$defs" in run("schema", "show", "--json", str(file)).json


def test_infer_scans_a_store(run: Run, tmp_path: Path) -> None:
    address = f"memory:{tmp_path}/kb.json"
    with open_store(address) as store:
        store.add([Document("t", {"n": 1}, embedding=[1.0])])
    assert run("schema", "infer", address, "--toml").out.endswith('n = "int"\n')


def test_what_is_no_document_is_told_with_its_line(run: Run, tmp_path: Path) -> None:
    outcome = run("schema", "infer", "-", stdin='{"a": 1}\n[1]\n')
    assert outcome.code == 2
    assert "line 2: a JSON object is needed" in outcome.err
    assert run("schema", "infer", str(tmp_path / "none.jsonl")).code == 2
