"""`vecstore copy`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers.pinecone import KEY, PineconeServer
from vecstore import Document, open_store
from vecstore.cli.keys import server_key


def flat(text: str) -> str:
    """What was printed, without its line breaks."""
    return " ".join(text.split())


def fill(path: Path) -> str:
    with open_store(f"memory:{path}") as store:
        store.add([Document("x", {"n": n}, str(n), [n, 1]) for n in range(10)])
    return f"memory:{path}"


def test_copy_and_copy_again(run: Run, tmp_path: Path) -> None:
    source = fill(tmp_path / "a.json")
    outcome = run("copy", source, "b.jsonl", "--filter", "n >= 5")
    assert outcome == (0, "5 documents: 5 written; 5 compared\n", "")
    assert run("copy", "b.jsonl", "memory:c.json").out.startswith("5 documents: 5 written")
    outcome = run("copy", source, "memory:c.json")
    assert outcome.out == "10 documents: 5 written, 5 were there; 10 compared\n"
    outcome = run("copy", source, "memory:c.json", "--on-conflict", "replace", "--json")
    assert outcome.json == {
        "documents": 10,
        "written": 0,
        "replaced": 10,
        "skipped": 0,
        "compared": 10,
        "differing": [],
    }


def test_documents_that_differ(run: Run, tmp_path: Path) -> None:
    source = fill(tmp_path / "a.json")
    run("copy", source, "memory:b.json")
    with open_store(source) as store:
        store.update_metadata(["3"], set={"n": 30})
    outcome = run("copy", source, "memory:b.json")
    assert outcome.code == 0
    assert "1 of those compared were there before" in outcome.err


def test_nothing_to_copy_is_a_no(run: Run, tmp_path: Path) -> None:
    source = fill(tmp_path / "a.json")
    assert run("copy", source, "memory:b.json", "--filter", "n > 100").code == 1


def test_what_cannot_be_copied(run: Run, tmp_path: Path) -> None:
    source = fill(tmp_path / "a.json")
    outcome = run("copy", source, "memory:b.json?metric=dot")
    assert outcome.code == 2
    assert "--any-metric" in outcome.err
    assert run("copy", source, "memory:b.json?metric=dot", "--any-metric").code == 0
    for arguments, message in [
        (("missing.jsonl", "memory:b.json"), "there is no file missing.jsonl"),
        ((source, source), "are one place"),
        ((source, "b.csv"), "scheme"),
        ((source, "memory:c.json", "--filter", "n >"), "line 1"),
    ]:
        outcome = run("copy", *arguments)
        assert outcome.code == 2, arguments
        assert message in outcome.err


def test_the_key_of_a_server_comes_from_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pinecone")
    monkeypatch.delenv("PINECONE_API_KEY", raising=False)
    monkeypatch.setenv("KEY_OF_THE_SERVER", KEY)
    source = fill(tmp_path / "a.json")
    with PineconeServer() as server:
        there = f"pinecone://kb/docs?host={server.address}"
        named = ("--destination-key-env", "KEY_OF_THE_SERVER")
        assert run("copy", source, there, *named).out.startswith("10 documents: 10 written")
        outcome = run("copy", there, "back.jsonl", "--source-key-env", "KEY_OF_THE_SERVER")
        assert outcome.out.startswith("10 documents: 10 written")
        outcome = run("stats", there, "--key-env", "KEY_OF_THE_SERVER", "--json")
        assert outcome.json["documents"] == 10
        for arguments in (
            ("copy", there, "no.jsonl"),
            ("copy", there, "no.jsonl", "--source-key-env", KEY),
            ("stats", there, "--key-env", KEY),
        ):
            outcome = run(*arguments)
            assert outcome.code == 2, arguments
            assert KEY not in outcome.out + outcome.err
        assert "write --key-env SERVER_KEY after: read -rs SERVER_KEY" in flat(outcome.err)
    outcome = run("copy", source, "b.jsonl", "--destination-key-env", "KEY_OF_THE_SERVER")
    assert (outcome.code, KEY in outcome.err) == (2, False)
    outcome = run("copy", source, "memory:b.json", "--source-key-env", "KEY_OF_THE_SERVER")
    assert "--source-key-env: stores for memory: take no key" in flat(outcome.err)


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("qdrant+https://db.example.com/docs", "api_key"),
        ("weaviate+https://db.example.com/Docs", "api_key"),
        ("chroma://localhost/docs", "api_key"),
        ("milvus://localhost?collection=docs", "token"),
        ("redis://localhost/docs", "password"),
    ],
)
def test_each_store_gets_its_key(url: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THE_SERVER", "secret")
    assert server_key(url, None) == {}
    assert server_key(url, "KEY_OF_THE_SERVER") == {option: "secret"}
