"""The rules themselves: a dialect whose query is the filter, under a second reading of them.

It shows that what the converter hands to its hooks, a tree of AND and OR without NOT, means what
the filter meant, and that the oracle of the kit reads the rules as ``tests/filter/naive.py`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.engines.rows import Documents, Rows
from tests.filter.naive import verdict
from vecstore import Capabilities, Compiled, Dialect, Expression, Op


@dataclass(frozen=True, slots=True)
class Memory(Dialect[Expression]):
    """Every hook gives back the node it was handed."""

    name: ClassVar[str] = "memory"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def all_of(self, parts: list[Expression]) -> Expression:
        return Expression(Op.AND, *parts)

    def any_of(self, parts: list[Expression]) -> Expression:
        return Expression(Op.OR, *parts)

    def compare(self, atom: Expression) -> Expression:
        return atom

    member = null = compare

    def finish(self, part: Expression) -> Compiled:
        return Compiled(self.name, part.to_dict())

    def everything(self) -> Compiled:
        return Compiled(self.name, {}, matches_all=True)

    def nothing(self) -> Compiled:
        return Compiled(self.name, {"op": "in", "key": "k", "value": []}, matches_nothing=True)


class NaiveRows(Rows):
    """Documents in a dict, judged one by one with two-valued AND and OR."""

    name = "a second reading of the rules"

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return ()

    def _load(self, rows: Documents) -> None:
        self._rows = rows

    def _select(self, query: Any, params: Any) -> set[str]:
        if query is None:
            return set(self._rows)
        return {name for name, metadata in self._rows.items() if _selects(query, metadata)}

    def close(self) -> None:
        self._rows = {}


def _selects(tree: dict[str, Any], metadata: Mapping[str, Any]) -> bool:
    if tree["op"] == "and":
        return all(_selects(child, metadata) for child in tree["operands"])
    if tree["op"] == "or":
        return any(_selects(child, metadata) for child in tree["operands"])
    assert tree["op"] != "not"
    return verdict(tree, dict(metadata)) is True
