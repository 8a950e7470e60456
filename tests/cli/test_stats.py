"""stats: keys and values of a store."""

from __future__ import annotations

import pytest

import vecstore
from tests.cli.conftest import Run


@pytest.fixture
def _store(run: Run) -> None:
    with vecstore.open_store("memory:kb.json") as store:
        rows = [
            {"lang": "en", "year": 2020, "tags": ["x", "y"]},
            {"lang": "en", "year": "old", "by": {"name": "Ada"}},
            {"lang": "de", "year": 1999.5, "tags": ["x"]},
        ]
        store.add([vecstore.Document("a", row, embedding=[1, 2]) for row in rows])


@pytest.mark.usefixtures("_store")
def test_keys(run: Run) -> None:
    outcome = run("stats", "memory:kb.json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "documents  3",
        "by         1  object",
        "by.name    1  str",
        "lang       3  str",
        "tags       2  list[str]",
        "year       3  float 1, int 1, str 1",
    ]
    answer = run("stats", "--json", "memory:kb.json", "lang == 'de'").json
    assert answer["documents"] == 1
    assert {"path": ["year"], "documents": 1, "kinds": {"float": 1}} in answer["keys"]


@pytest.mark.usefixtures("_store")
def test_values(run: Run) -> None:
    lines = run("stats", "--key", "tags", "memory:kb.json").out.splitlines()
    assert lines == ['"x"  2', '"y"  1', "2 distinct"]
    lines = run("stats", "-k", "year", "-n", "1", "memory:kb.json").out.splitlines()
    assert lines == ["1999.5  1", "3 distinct", "from 1999.5 to 2020", 'from "old" to "old"']
    answer = run("stats", "--json", "-k", "by.name", "memory:kb.json").json
    assert answer["values"] == [{"value": "Ada", "documents": 1}]
    assert (answer["numbers"], answer["strings"]) == (None, ["Ada", "Ada"])
    assert run("stats", "-k", "nowhere", "memory:kb.json").out == "0 distinct\n"


@pytest.mark.usefixtures("_store")
def test_what_cannot_be_answered(run: Run) -> None:
    for arguments in (
        ("memory:none.json",),
        ("-k", "a..b", "memory:kb.json"),
        ("memory:kb.json", "a =="),
    ):
        outcome = run("stats", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err


def test_what_strangers_wrote_does_not_move_the_terminal(run: Run) -> None:
    long = "k" * 70
    row = {"plain": "a\u202eb", "\x1b[2Jgone": 1, "\x9b0m": "\x9b", long: 1}
    with vecstore.open_store("memory:strange.json") as store:
        store.add([vecstore.Document("a", row, embedding=[1, 2])])
    shown = run("stats", "memory:strange.json").out
    assert all(one.isprintable() for one in shown.replace("\n", ""))
    assert "[2Jgone" in shown
    lines = shown.splitlines()
    assert f"{long}  1  int" in lines
    assert "plain" + " " * 45 + "1  str" in lines
    for key in ("plain", '"\\u009b0m"'):
        shown = run("stats", "-k", key, "memory:strange.json").out
        assert all(one.isprintable() for one in shown.replace("\n", ""))
        assert "1 distinct" in shown
