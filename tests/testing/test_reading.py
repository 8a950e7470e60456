"""The kit's own reading of a filter: what every engine's rows are held against."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from vecstore import Expression, F
from vecstore.filter.tree import Op
from vecstore.testing import RandomCases, oracle_rows
from vecstore.testing.reading import Reading

SEMANTICS = Path(__file__).parents[1] / "cases" / "semantics.jsonl"


def test_it_reads_the_rules_as_the_cases_of_the_language_do() -> None:
    for line in SEMANTICS.read_text(encoding="utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        filter = Expression.from_dict(case["ast"], limits=None)
        reading = Reading({"other": {}, "this": case["metadata"]})
        assert reading.verdict(filter, "this") is case["truth"], line
        assert ("this" in reading.selected(filter)) is case["match"], line


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 60), marks=pytest.mark.wide, id="more")]
)
def test_it_reads_as_the_evaluator_does(seeds: range) -> None:
    """Two roads to three values: without NOT, and as the filter was written."""
    for seed in seeds:
        source = RandomCases(seed=7_000 + seed)
        rows = source.rows(150) if seed % 2 else oracle_rows()
        reading = Reading(rows)
        for number in range(40):
            filter = source.filter(6)
            if number % 3 == 0:
                filter = Expression(Op.NOT, filter)
            truths = {name: filter.evaluate(one) for name, one in rows.items()}
            selected = {name for name, truth in truths.items() if truth}
            assert reading.selected(filter) == selected, filter.to_text()
            for name in [*rows][number::40]:
                assert reading.verdict(filter, name) is truths[name], (filter.to_text(), name)


def test_there_may_be_no_documents() -> None:
    assert Reading({}).selected(RandomCases(seed=1).filter()) == set()


def test_it_reads_values_as_a_document_would_hold_them() -> None:
    reading = Reading({"a": {"day": date(2024, 1, 1), "price": Decimal("1.5"), "tags": ("x",)}})
    for filter in (F.day < "2024-01-02", F.price == 1.5, F.tags == "x", ~(F.price > 2)):
        assert reading.selected(filter) == {"a"}
