"""The cases of ``tests/cases/semantics.jsonl``, crossed: every filter on every document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
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


@dataclass(frozen=True, eq=False)
class _Rows:
    rows: Rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and other.rows is self.rows

    def __hash__(self) -> int:
        return id(self.rows)


@lru_cache(maxsize=2)
def _expected(held: _Rows) -> Callable[[int], set[str]]:
    """What each filter of the corpus selects; dialects are asked about the same rows in turn."""

    @cache
    def selected(number: int) -> set[str]:
        matches = corpus()[0][number].matcher()
        return {name for name, metadata in held.rows.items() if matches(metadata)}

    return selected


def answered(
    dialect: Dialect[Any],
    rows: Rows,
    select: Callable[[Compiled], set[str]],
    only: Callable[[Expression], bool] = lambda filter: True,
) -> int:
    """How many filters were answered, each like the rules say; the others were refused."""
    count = 0
    expected_of = _expected(_Rows(rows))
    for number, filter in enumerate(corpus()[0]):
        if not only(filter):
            continue
        try:
            compiled = dialect.compile(filter)
        except UnsupportedFilterError:
            continue
        count += 1
        expected = expected_of(number)
        found = select(compiled)
        assert found == expected, (
            f"{filter.to_text()}\nbecame {compiled}\nand went wrong on "
            f"{[dict(rows[name]) for name in sorted(found ^ expected)[:3]]}"
        )
    return count
