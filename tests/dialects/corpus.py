"""The cases of ``tests/cases/semantics.jsonl``, crossed: every filter on every document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vecstore import Compiled, Dialect, Expression, UnsupportedFilterError

Rows = Mapping[str, Mapping[str, Any]]


@cache
def corpus() -> tuple[list[Expression], dict[str, dict[str, Any]]]:
    """The filters, and the documents by id."""
    filters: dict[str, Expression] = {}
    documents: dict[str, dict[str, Any]] = {}
    path = Path(__file__).parent.parent / "cases" / "semantics.jsonl"
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["filter"] not in filters:
            filters[case["filter"]] = Expression.from_dict(case["ast"])
        documents.setdefault(json.dumps(case["metadata"]), case["metadata"])
    rows = {f"d{number}": metadata for number, metadata in enumerate(documents.values())}
    assert len(filters) > 800
    assert len(rows) > 700
    return list(filters.values()), rows


def keys_of(filters: list[Expression]) -> set[tuple[str, ...]]:
    """The paths that the filters name."""
    names = {"and", "or", "not"}
    return {
        node.key.path for filter in filters for node in filter.walk() if node.op.value not in names
    }


def answered(
    dialect: Dialect[Any],
    rows: Rows,
    select: Callable[[Compiled], set[str]],
    only: Callable[[Expression], bool] = lambda filter: True,
) -> int:
    """How many filters were answered, each like the rules say; the others were refused."""
    count = 0
    for filter in corpus()[0]:
        if not only(filter):
            continue
        try:
            compiled = dialect.compile(filter)
        except UnsupportedFilterError:
            continue
        count += 1
        matches = filter.matcher()
        expected = {name for name, metadata in rows.items() if matches(metadata)}
        found = select(compiled)
        assert found == expected, (
            f"{filter.to_text()}\nbecame {compiled}\nand went wrong on "
            f"{[dict(rows[name]) for name in sorted(found ^ expected)[:3]]}"
        )
    return count
