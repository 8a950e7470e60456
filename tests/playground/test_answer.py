"""What the page is told: the filter, every dialect, and each document."""

from __future__ import annotations

import json
from typing import Any

import pytest

import vecstore
from vecstore.dialects import registry
from vecstore.dialects.base import Dialect
from vecstore.playground.answer import (
    MOST_CHARACTERS,
    MOST_DOCUMENTS,
    MOST_REASONS,
    BadRequest,
    answer,
    answer_json,
)
from vecstore.playground.server import asset

FILTER = "lang == 'en' AND year >= 2020 AND NOT (status == 'draft')"
DOCUMENTS = [
    '{"lang": "en", "year": 2021}',
    '{"lang": "de", "year": 2021}',
    '{"lang": "en"}',
    '{"lang": "en", "year": [1, "x"]}',
    '{"lang": "en"',
    "[1]",
    '{"year": 1e999}',
    '{"a": ' + "[" * 5_000 + "]" * 5_000 + "}",
    '{"a": ' + "9" * 5_000 + "}",
    '{"a": "' + "x" * MOST_CHARACTERS + '"}',
]


def asked(filter: str, documents: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return answer({"filter": filter, "documents": documents or [], **more})


def test_the_filter_as_it_is_read() -> None:
    told = asked(FILTER)["filter"]
    assert told["text"] == vecstore.parse(FILTER).to_text()
    assert told["normalized"] == "lang == 'en' AND year >= 2020 AND status != 'draft'"
    assert told["rewrites"] == ["NOT status == 'draft'  ->  status != 'draft'"]
    assert len(told["remarks"]) == 1


def test_an_error_stands_under_its_caret() -> None:
    told = asked("country == BG", ["{}"])
    assert told["filter"] is None
    assert told["dialects"] == []
    assert told["error"]["column"] == 12
    assert told["error"]["shown"].splitlines()[3].strip() == "^^"
    assert told["error"]["hint"] == "quote the string: country == 'BG'"
    assert told["documents"] == [{"verdict": "none"}]


@pytest.mark.parametrize("nothing", ["", "  \n"])
def test_no_filter_is_no_error(nothing: str) -> None:
    told = asked(nothing, ["{}", "{"])
    assert (told["filter"], told["error"], told["dialects"]) == (None, None, [])
    assert [one["verdict"] for one in told["documents"]] == ["none", "unusable"]


def test_every_dialect_is_there_with_its_own_query() -> None:
    told = {one["name"]: one for one in asked(FILTER, data="others")["dialects"]}
    assert list(told) == vecstore.dialect_names()
    compiled = vecstore.compile_filter(FILTER, "pgvector")
    assert told["pgvector"]["query"] == compiled.query
    assert told["pgvector"]["params"] == [[k, repr(v)] for k, v in compiled.params.items()]
    compiled = vecstore.compile_filter(FILTER, "qdrant")
    assert json.loads(told["qdrant"]["query"]) == compiled.query
    assert told["weaviate"]["state"] == "refused"


def test_our_stores_data_is_written_as_our_stores_write_it() -> None:
    told = {one["name"]: one for one in asked("lang == 'en'", data="ours")["dialects"]}
    assert '"metadata.lang"' in told["qdrant"]["query"]
    assert told["qdrant"]["options"] == "prefix='metadata'"
    assert "vecstore_tags" in told["milvus"]["query"]
    assert "__vecstore_tokens" in told["pinecone"]["query"]


def test_a_refusal_says_why_and_what_could_be_answered() -> None:
    told = {one["name"]: one for one in asked("year > 1 AND title > 'M'")["dialects"]}
    refused = told["qdrant"]
    assert refused["state"] == "refused"
    assert refused["error"].startswith("qdrant cannot answer > on key title")
    assert "^^^" in refused["error"]
    assert refused["partial"].startswith("qdrant answers year > 1; vecstore evaluates title > 'M'")
    assert "query" not in refused


@pytest.mark.parametrize(
    ("filter", "state"), [("a IN []", "nothing"), ("a NOT IN []", "everything")]
)
def test_constants_are_told_apart(filter: str, state: str) -> None:
    assert {one["state"] for one in asked(filter)["dialects"]} == {state}


def test_a_schema_is_inferred_from_the_documents() -> None:
    moments = ['{"created": "2024-01-01T00:00:00.000000Z"}']
    text = "created > TIMESTAMP '2024-01-01T00:00:00Z'"
    states = {one["name"]: one["state"] for one in asked(text, moments, data="others")["dialects"]}
    assert states["qdrant"] == "refused"
    told = asked(text, moments, data="declared")
    assert told["schema"].startswith("Schema({'created': 'datetime'")
    states = {one["name"]: one["state"] for one in told["dialects"]}
    assert states["qdrant"] == "exact"
    nothing = asked(text, [], data="declared")
    assert nothing["schema"] is None
    assert "nothing to infer a schema from" in nothing["schema_error"]
    assert {one["name"] for one in nothing["dialects"]} == set(vecstore.dialect_names())


def test_verdicts_and_their_reasons() -> None:
    told = asked(FILTER, DOCUMENTS)["documents"]
    assert [one["verdict"] for one in told] == ["true", "false", "unknown", *["unusable"] * 7]
    assert told[1]["reasons"] == [["lang == 'en'", "lang is 'de'"]]
    assert told[2]["reasons"] == [
        ["year >= 2020", "there is no year, and what is absent has no order"]
    ]
    because = [one["because"] for one in told[3:]]
    assert because[0].startswith("no store can hold year: a list holds values of one type")
    assert because[1].startswith("this is not JSON: ")
    assert because[2].startswith("metadata is a JSON object")
    assert "not a finite number" in because[3]
    assert "nested too deep" in because[4]
    assert "too long" in because[5]
    assert f"{MOST_CHARACTERS:,} characters" in because[6]


def test_integers_are_not_rounded() -> None:
    told = asked("id == 9007199254740993", ['{"id": 9007199254740993}', '{"id": 9007199254740992}'])
    assert [one["verdict"] for one in told["documents"]] == ["true", "false"]


def test_many_reasons_are_counted_and_not_listed() -> None:
    told = asked(" AND ".join(f"k{n} IS NULL" for n in range(20)), ["{}"])["documents"][0]
    assert len(told["reasons"]) == MOST_REASONS
    assert told["left_out"] == 20 - MOST_REASONS


def test_a_large_filter_over_many_documents_is_decided_without_reasons() -> None:
    text = " OR ".join(f"k{n} == {n}" for n in range(400))
    told = asked(text, ['{"k7": 7}', *["{}"] * (MOST_DOCUMENTS - 1)])["documents"]
    assert [one["verdict"] for one in told[:2]] == ["true", "false"]
    assert "reasons" not in told[0]
    assert told[0]["left_out"] == 401


def test_hostile_filters_are_bounded() -> None:
    for text in ("(" * 9_000, "a == 1 OR " * 990 + "a == 2 " * 9, "a IN [" + "1," * 4_000 + "1]"):
        assert asked(text)["error"] is not None
    assert "limit text" in asked("a == '" + "x" * 20_000 + "'")["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    ["", "{", "[]", "1", "{}", '{"filter": 1}', '{"filter": "a == 1", "documents": "x"}',
     '{"filter": "a == 1", "documents": [{}]}', '{"filter": "a == 1", "data": "theirs"}',
     '{"filter": "a == 1", "data": ["ours"]}', "[" * 100_000],
)  # fmt: skip
def test_what_the_page_does_not_send_is_refused(request_: str) -> None:
    with pytest.raises(BadRequest):
        answer_json(request_)


def test_more_documents_than_can_be_shown_are_refused() -> None:
    with pytest.raises(BadRequest, match="500"):
        asked("a == 1", ["{}"] * 501)


def test_half_a_character_comes_back_as_json() -> None:
    told = json.loads(
        answer_json(json.dumps({"filter": "a == '\ud800'", "documents": ['{"a": "\ud800"}']}))
    )
    assert told["error"] is not None
    assert told["documents"][0]["verdict"] == "unusable"


def test_a_plug_in_that_fails_is_named_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> type[Dialect[Any]]:
        if name == "qdrant":
            raise RuntimeError("not today")
        return registry.get_dialect(name)

    monkeypatch.setattr("vecstore.playground.answer.get_dialect", broken)
    told = {one["name"]: one for one in asked("a == 1")["dialects"]}
    assert (told["qdrant"]["state"], told["qdrant"]["error"]) == (
        "failed",
        "RuntimeError: not today",
    )
    assert told["pgvector"]["state"] == "exact"


# --- the samples ----------------------------------------------------------------------------------


def script_strings(name: str) -> list[str]:
    """The texts of a constant in the page's script; JSON in single quotes, filters in double ones."""
    script = asset("playground.js").decode("utf-8")
    block = script[script.index(f"const {name} = ") :]
    return [
        line.strip()
        for line in block[: block.index("\n];" if name == "SIX" else "\n};")].splitlines()
    ]


def test_the_six_rows_show_every_verdict() -> None:
    rows = [line[1:-2] for line in script_strings("SIX") if line.startswith("'")]
    assert len(rows) == 6
    told = asked(FILTER, rows)["documents"]
    assert {one["verdict"] for one in told} == {"true", "false", "unknown"}
    assert f'const FIRST = "{FILTER}";' in asset("playground.js").decode("utf-8")


def test_the_docstrings_can_be_judged_and_no_filter_to_try_selects_none_of_them() -> None:
    rows = [line.rstrip(",") for line in asset("docstrings.json").decode("utf-8").splitlines()][
        1:-1
    ]
    assert len(rows) == len(json.loads(asset("docstrings.json"))) >= 100
    lines = script_strings("EXAMPLES")
    at = lines.index("docstrings: [")
    for line in lines[at + 1 :]:
        if line.startswith("["):
            filter = json.loads(line.rstrip(","))[0]
            told = asked(filter, rows)
            assert told["error"] is None, filter
            verdicts = {one["verdict"] for one in told["documents"]}
            assert "true" in verdicts, filter
            assert len(verdicts) > 1, filter
            assert "unusable" not in verdicts
    six = [json.loads(line.rstrip(","))[0] for line in lines[1:at] if line.startswith("[")]
    assert [bool(asked(filter)["error"]) for filter in six] == [False] * 4 + [True]


def test_the_script_takes_as_many_documents_as_python() -> None:
    script = asset("playground.js").decode("utf-8")
    assert f"const MOST_DOCUMENTS = {MOST_DOCUMENTS};" in script
    assert "innerHTML" not in script
