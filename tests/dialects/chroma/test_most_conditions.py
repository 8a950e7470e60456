"""As many conditions as a filter may have, on the engine itself, and one more refused before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from tests.engines.chroma import ChromaRows
from vecstore import Expression, F, Op, Schema, UnsupportedFilterError
from vecstore.dialects.chroma import Chroma
from vecstore.dialects.chroma.conditions import size_of
from vecstore.dialects.chroma.dialect import MOST_CONDITIONS
from vecstore.dialects.chroma.layout import ExactLayout
from vecstore.dialects.declared import ordered_keys
from vecstore.filter.values import Kind

Make = Callable[[int], Expression]

SCHEMA: Final = Schema({"year": int, "title": str}, others="allow")
TEXTS, NUMBERS = (ordered_keys(SCHEMA, kind) for kind in (Kind.STRING, Kind.NUMBER))
PLAIN: Final = Chroma()
EXACT: Final = Chroma(layout="exact", schema=SCHEMA)
CLOUD: Final = Chroma(layout="exact", schema=SCHEMA, target="cloud")
DOCUMENTS: Final = {
    "first": {"k": 0.25, "k0": 0.25, "year": 7, "title": "a"},
    "list": {"k": ["v0", "v898"], "k1": [1.25, 2.0], "year": 2020, "title": "b" * 40},
    "text": {"k": "v899", "k0": 3, "year": 2**40, "title": "bc"},
    "none": {"other": 1},
}


def different(make: Callable[[Any, int], Expression], op: Op = Op.AND) -> Make:
    """So many comparisons of different keys, which do not become one list."""
    return lambda count: Expression(op, *[make(F[f"k{n}"], n) for n in range(count)])


def nested(count: int) -> Expression:
    """The same as deep as may be, with as many comparisons on each level."""
    depth = 38  # and on each level an ordering may be two more
    filter: Expression = F.k0 == 3
    made = 1
    for level in range(depth):
        here = (count - made) // (depth - level)
        more = [F[f"k{n + 1}"] != n for n in range(made, made + here)]
        made += here
        filter = Expression(Op.AND if level % 2 else Op.OR, *more, filter)
    return filter


def fractions(count: int) -> list[float]:
    return [number + 0.25 for number in range(count)]


def texts(count: int) -> list[str]:
    return [f"v{number}" for number in range(count)]


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[Chroma, Expression], None]]:
    """Compares what a filter selects with what it matches, and counts its conditions."""
    cloud = ExactLayout(TEXTS, NUMBERS, "cloud")
    engines = {
        PLAIN: ChromaRows(),
        EXACT: ChromaRows(ExactLayout(TEXTS).write),
        CLOUD: ChromaRows(cloud.write),
    }
    for engine in engines.values():
        engine.load(DOCUMENTS)

    def ask(dialect: Chroma, filter: Expression) -> None:
        compiled = dialect.compile(filter, limits=None)
        expected = {name for name, one in DOCUMENTS.items() if filter.matches(one)}
        assert engines[dialect].select(compiled.query, compiled.params) == expected

    yield ask
    for engine in engines.values():
        engine.close()


EDGES: Mapping[str, tuple[Chroma, Make, int, int]] = {
    # The dialect, so many comparisons or values, how many it takes, and conditions of each.
    "plain, fractions": (PLAIN, different(lambda k, n: k == n + 0.25, Op.OR), 225, 4),
    "plain, not fractions": (PLAIN, different(lambda k, n: k != n + 0.25), 225, 4),
    "plain, fractions in order": (PLAIN, different(lambda k, n: k >= n + 0.25, Op.OR), 225, 3),
    "plain, whole numbers": (PLAIN, different(lambda k, n: k == n), 225, 3),
    "plain, texts": (PLAIN, different(lambda k, n: k != f"v{n}"), 225, 2),
    "plain, nested": (PLAIN, nested, 225, 3),
    "plain, list of fractions": (PLAIN, lambda n: F.k.in_(fractions(n)), 225, 4),
    "plain, list of whole numbers": (PLAIN, lambda n: F.k.not_in(range(n)), 300, 3),
    "plain, list of texts": (PLAIN, lambda n: F.k.in_(texts(n)), 899, 1),
    "plain, no text of a list": (PLAIN, lambda n: F.k.not_in(texts(n)), 899, 1),
    "exact, numbers": (EXACT, different(lambda k, n: k == n, Op.OR), 450, 1),
    "exact, numbers in order": (EXACT, different(lambda k, n: k >= n, Op.OR), 450, 2),
    "exact, null": (EXACT, different(lambda k, n: k.is_null()), 450, 1),
    "exact, nested": (EXACT, nested, 450, 1),
    "exact, list": (EXACT, lambda n: F.k.in_(texts(n)), 900, 1),
    "exact, no value of a list": (EXACT, lambda n: F.k.not_in(fractions(n)), 900, 1),
    "cloud, texts": (CLOUD, different(lambda k, n: k != f"v{n}"), 900, 1),
    "cloud, nested": (CLOUD, nested, 900, 1),
    "cloud, list": (CLOUD, lambda n: F.k.in_(texts(n)), 900, 1),
    "cloud, no value of a list": (CLOUD, lambda n: F.k.not_in(range(n)), 900, 1),
}


@pytest.mark.parametrize("edge", EDGES)
def test_as_many_as_a_filter_may_have(ask: Callable[[Chroma, Expression], None], edge: str) -> None:
    dialect, make, most, each = EDGES[edge]
    conditions = size_of(dialect.compile(make(most), limits=None).query)
    assert MOST_CONDITIONS >= conditions >= most * each
    ask(dialect, make(most))
    with pytest.raises(UnsupportedFilterError) as caught:
        dialect.compile(make(most + 1), limits=None)
    assert f"{most:,}" in caught.value.reason
    assert caught.value.remedy


ORDERINGS: Mapping[str, tuple[Chroma, Expression]] = {
    # Each is many conditions.
    "exact": (EXACT, F.title >= "b" * 62),
    "cloud, a text": (CLOUD, F.title > "b" * 29),
    "cloud, a number": (CLOUD, F.year < 2020),
}


@pytest.mark.parametrize("kind", ORDERINGS)
def test_as_many_as_orderings_come_to(ask: Callable[[Chroma, Expression], None], kind: str) -> None:
    dialect, ordering = ORDERINGS[kind]
    each = size_of(dialect.compile(ordering).query) + 1
    times, rest = divmod(MOST_CONDITIONS, each)
    parts = [ordering & (F[f"a{n}"] != 1) for n in range(times)]
    most = Expression(Op.OR, *parts, *[F[f"b{n}"] == 1 for n in range(rest)], F.c == 1)
    filter = Expression(Op.OR, *most.operands[:-1])
    assert size_of(dialect.compile(filter).query) == MOST_CONDITIONS
    ask(dialect, filter)
    with pytest.raises(UnsupportedFilterError, match=r"900 conditions .* comes to 901"):
        dialect.compile(most)
