"""Reading, compiling and evaluating filters."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

from lark import Lark, Transformer

from benchmarks.timing import compare
from vecstore import Expression, FilterError, dialect_names, get_dialect, parse
from vecstore.filter.normalize import simplify

_COMPARISONS = (1, 6, 60)
_WALK = "a walk over the tree"
_PYTHON = "a parse by Python itself"
_LARK = "lark, LALR with an inline transformer"


def _text(comparisons: int, serial: int) -> str:
    parts = [
        f"field{number} >= {serial} AND NOT (tag{number} == 'red' OR place{number} IN ['a', 'b'])"
        for number in range(comparisons // 3)
    ]
    return " AND ".join(parts or [f"field >= {serial}"])


def _python(text: str) -> str:
    return (
        text.replace(" AND ", " and ")
        .replace(" OR ", " or ")
        .replace("NOT ", "not ")
        .replace(" IN ", " in ")
    )


class _Tuples(Transformer[Any, Any]):
    """The least that a transformer can do: a tuple for each rule of the grammar."""


for _rule in (
    "start disjunction conjunction complement group comparison member not_member null not_null "
    "key square round scalar"
).split():
    setattr(_Tuples, _rule, lambda self, children, rule=_rule: (rule, *children))


@cache
def _lark() -> Lark:
    return Lark.open_from_package(
        "vecstore.grammar",
        "filter.lark",
        parser="lalr",
        maybe_placeholders=False,
        transformer=_Tuples(),
    )


def _reading(comparisons: int) -> dict[str, Callable[[], Any]]:
    # Another number each time: parse() would find an equal text in its cache.
    fresh = itertools.count()
    same = _text(comparisons, 0)
    python = _python(same)
    return {
        _LARK: lambda: _lark().parse(_text(comparisons, next(fresh))),
        _PYTHON: lambda: ast.parse(python, mode="eval"),
        "parse, a new text": lambda: parse(_text(comparisons, next(fresh))),
        "parse, a text seen before": lambda: parse(same),
    }


def _walk(tree: Expression) -> int:
    return sum(1 for _ in tree.walk())


def _compiling(tree: Expression) -> dict[str, Callable[[], Any]]:
    calls: dict[str, Callable[[], Any]] = {_WALK: lambda: _walk(tree)}
    for name in dialect_names():
        dialect = get_dialect(name)()
        try:
            dialect.compile(tree)
        except FilterError:
            continue
        # What compiling comes to where the tree has kept nothing yet.
        calls[f"{name}, a new tree"] = lambda dialect=dialect: (
            simplify(tree),
            dialect.convert(tree),
        )
        calls[f"{name}, a tree seen before"] = lambda dialect=dialect: dialect.compile(tree)
    return calls


def run() -> None:
    """Three sizes of one kind of filter."""
    for comparisons in _COMPARISONS:
        compare(f"Parse, comparisons: {comparisons}", _reading(comparisons), baseline=_LARK)
        tree = parse(_text(comparisons, 0))
        compare(f"Compile, comparisons: {comparisons}", _compiling(tree), baseline=_WALK)

    tree = parse(_text(6, 0))
    document = {"field0": 5, "tag0": "blue", "place0": "c", "field1": 5, "tag1": "blue"}
    selected = tree.matcher()
    assert selected(document)
    compare(
        "Evaluate for one document, comparisons: 6",
        {
            "Python written by hand": lambda: _by_hand(document),
            "a matcher kept": lambda: selected(document),
            "expression.matches": lambda: tree.matches(document),
        },
        baseline="Python written by hand",
    )


def _by_hand(metadata: dict[str, Any]) -> bool:
    get = metadata.get
    return (
        get("field0", -1) >= 0
        and not (get("tag0") == "red" or get("place0") in ("a", "b"))
        and get("field1", -1) >= 0
        and not (get("tag1") == "red" or get("place1") in ("a", "b"))
    )
