"""Every text of the shared cases gives the tree, or the error at the place, that they ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vecstore
from vecstore import FilterError, parse

CASES = Path(__file__).resolve().parent.parent / "cases"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text("utf-8").splitlines()]


PARSE = lines("parse.jsonl")


def shown(case: dict[str, Any]) -> str:
    text: str = case["text"]
    return repr(text if len(text) < 60 else text[:57] + "...")


@pytest.mark.parametrize("case", [case for case in PARSE if "ast" in case], ids=shown)
def test_tree(case: dict[str, Any]) -> None:
    assert parse(case["text"]).to_dict() == case["ast"]


@pytest.mark.parametrize("case", [case for case in PARSE if "error" in case], ids=shown)
def test_error(case: dict[str, Any]) -> None:
    with pytest.raises(FilterError) as caught:
        parse(case["text"])
    assert type(caught.value) is getattr(vecstore, case["error"])
    assert case["says"].casefold() in str(caught.value).casefold()
    if "at" in case:
        assert caught.value.span is not None
        assert caught.value.span.start == case["at"]
        assert caught.value.text == case["text"]


def test_the_cases_are_all_there() -> None:
    assert len(PARSE) == 154


def test_the_texts_of_the_semantic_cases() -> None:
    trees = {}
    for case in lines("semantics.jsonl"):
        trees[case["filter"]] = case["ast"]
    assert len(trees) == 843
    for text, tree in trees.items():
        assert parse(text).to_dict() == tree, text
