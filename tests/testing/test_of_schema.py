"""Documents and filters of a schema, and the suite that proves dialects with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings

from vecstore import Capabilities, Compiled, Expression, Op, Schema, parse
from vecstore.authoring import Dialect, decided, declared_keys
from vecstore.dialects.matrix import EVERY_KIND
from vecstore.testing import (
    ConformanceError,
    Documents,
    Domain,
    SchemaCases,
    SchemaDialectSuite,
    filters,
    metadata,
    oracle,
)

BOOKS = Schema({"year": int, "tags": list[str], "size": ["large", "small"], "a": {"b": bool}})


def test_documents_fit_and_filters_are_taken() -> None:
    source = SchemaCases(EVERY_KIND, 1)
    rows = source.rows(200)
    for one in rows.values():
        EVERY_KIND.check_metadata(one)
    # Each key is there and absent in each way, and a number is written in either way.
    for path in EVERY_KIND.keys:
        at = [_at(one, path) for one in rows.values()]
        assert None in at
        assert [] in at
        assert any(value not in (None, []) for value in at)
    numbers = {type(one.get("number")) for one in rows.values()}
    assert {int, float} <= numbers
    selected: set[str] = set()
    ops: set[Op] = set()
    for _ in range(300):
        filter = source.filter(3)
        EVERY_KIND.check(filter)
        ops |= {node.op for node in filter.walk()}
        selected |= oracle(filter, rows)
    assert ops == set(Op)
    assert selected == set(rows)


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = document
    for segment in path:
        value = value.get(segment) if isinstance(value, Mapping) else None
    return value


def test_the_same_seed_gives_the_same_cases() -> None:
    one, other = SchemaCases(BOOKS, 5), SchemaCases(BOOKS, 5)
    assert one.rows(20) == other.rows(20)
    assert [one.filter() for _ in range(20)] == [other.filter() for _ in range(20)]


def test_what_a_domain_leaves_out_is_left_out() -> None:
    source = SchemaCases(BOOKS, 5, domain=Domain(nulls=False, integers=(0, 9)))
    for one in source.rows(50).values():
        assert None not in one.values()
        assert one.get("year") in (None, [], *range(10)) or type(one["year"]) is float


@settings(max_examples=50)
@given(filters(schema=EVERY_KIND, max_depth=3), metadata(schema=EVERY_KIND))
def test_strategies_of_a_schema(filter: Expression, document: dict[str, Any]) -> None:
    EVERY_KIND.check_metadata(document)
    assert EVERY_KIND.check(filter) is filter
    assert parse(filter.to_text(), limits=None).matches(document) == filter.matches(document)


@settings(max_examples=30)
@given(filters(Capabilities(max_number=100), schema=BOOKS, max_depth=2))
def test_strategies_keep_to_capabilities(filter: Expression) -> None:
    for node in filter.walk():
        if node.op in (Op.EQ, Op.NE, Op.GT, Op.IN):
            numbers = [one for one in node.value.items if isinstance(one, int | float)]
            assert all(abs(one) <= 100 for one in numbers)


# --- the suite ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told(Dialect[Expression]):
    """Every hook gives back the node it was handed; ``mistake`` says which one is made."""

    name: ClassVar[str] = "told"
    capabilities: ClassVar[Capabilities] = Capabilities()
    schema: Any = None
    mistake: str = ""

    @property
    def folds(self) -> bool:
        return self.schema is not None

    def fold(self, atom: Expression) -> bool | None:
        declared = declared_keys(self.schema).get(atom.key.path)
        verdict = decided(declared, atom)
        if self.mistake == "fold" and verdict is True:
            return False
        return verdict

    def all_of(self, parts: list[Expression]) -> Expression:
        return Expression(Op.AND, *parts)

    def any_of(self, parts: list[Expression]) -> Expression:
        return Expression(Op.OR, *parts)

    def compare(self, atom: Expression) -> Expression:
        if self.mistake == "absent" and atom.op is Op.NE and atom.key.path == ("year",):
            return atom & Expression(Op.ISNOTNULL, atom.key)
        return atom

    member = null = compare

    def finish(self, part: Expression) -> Compiled:
        return Compiled(self.name, part.to_dict())

    def nothing(self) -> Compiled:
        return Compiled(self.name, parse("k IN []").to_dict(), matches_nothing=True)


class Suite(SchemaDialectSuite):
    """Not collected: the tests below call its tests."""

    __test__ = False
    trees = 60
    schema = BOOKS

    def run(self, compiled: Compiled, rows: Documents) -> set[str]:
        if compiled.matches_all:
            return set(rows)
        return oracle(Expression.from_dict(compiled.query, limits=None), rows)


TESTS = [
    "test_every_operator_on_every_declared_key",
    "test_random_filters_on_documents_of_the_schema",
]


def outcome(mistake: str, test: str) -> str:
    class Tried(Suite):
        dialect = Told(BOOKS, mistake)

    try:
        getattr(Tried(), test)()
    except ConformanceError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("test", [*TESTS, "test_every_operator_with_every_literal"])
def test_a_dialect_that_is_right_passes(test: str) -> None:
    assert outcome("", test) == ""


@pytest.mark.parametrize("test", TESTS)
def test_a_declared_key_that_is_absent_is_looked_at(test: str) -> None:
    assert "year" in outcome("absent", test)


def test_what_a_kind_makes_impossible_is_looked_at() -> None:
    class Open(Suite):
        schema = Schema({"k": int}, others="allow")
        dialect = Told(schema, "fold")

    with pytest.raises(ConformanceError, match="k"):
        Open().test_every_operator_with_every_literal()


def test_documents_are_cut_down_to_the_schema() -> None:
    class Tried(Suite):
        dialect = Told(BOOKS)

    rows = Tried().rows
    assert len(rows) > 300
    for one in rows.values():
        BOOKS.check_metadata(one)
