"""Redis Search: its engine in a server of our own, with and without declared keys."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

import pytest

from tests.dialects.conformance.conformance import DECLARED, Conformance, Declared, Server
from tests.engines.redis import RedisRows
from tests.engines.rows import Rows
from vecstore import Expression, Op, UnsupportedFilterError
from vecstore.dialects.declared import ordered_keys
from vecstore.dialects.redis import Redis
from vecstore.dialects.redis.layout import ORDERED_BYTES, Layout
from vecstore.filter.values import Kind
from vecstore.testing import DialectSuite, Examiner

TEXTS, NUMBERS = (ordered_keys(DECLARED, kind) for kind in (Kind.STRING, Kind.NUMBER))


KEYS = frozenset([("k",), ("x",), ("n", "k")])


def has_many_alternatives(dialect: Redis, filter: Expression) -> bool:
    """Whether a filter is refused for these alone; ``test_faults.py`` says where they begin."""
    try:
        dialect.compile(filter, limits=None)
    except UnsupportedFilterError as error:
        return "an OR of at most 20 ANDs" in str(error)
    return False


def orders_long_text(atom: Expression) -> bool:
    literal = atom.value.items[0] if atom.op in (Op.GT, Op.GTE, Op.LT, Op.LTE) else None
    return isinstance(literal, str) and len(literal.encode()) >= ORDERED_BYTES


class FlatExaminer(Examiner):
    def refusal(self, filter: Expression) -> str | None:
        found = super().refusal(filter)
        assert isinstance(self.dialect, Redis)
        if found is None and has_many_alternatives(self.dialect, filter):
            return "max_alternatives"
        return found


class Flat(DialectSuite):
    @cached_property
    def examiner(self) -> Examiner:
        return FlatExaminer(
            self.dialect,
            self.run,
            load=self._load_once,
            domain=super().examiner.domain,
            also_refuses=self.also_refuses,
        )

    def also_refuses(self, atom: Expression) -> bool:
        return orders_long_text(atom)


class TestRedis(Flat, Conformance):
    """Documents as our own store lays them out."""

    chosen = (
        "test_every_operator_with_every_literal",
        "test_odd_keys",
        "test_grouping_and_negation",
        "test_hostile_text_in_keys_and_values",
        "test_random_filters",
        "test_what_is_declared_compiles",
        "test_what_is_not_declared_is_refused",
        "test_constants_are_safe_to_run",
    )
    dialect = Redis(numbers=KEYS, texts=KEYS)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return RedisRows(Layout(KEYS, KEYS))


class TestRedisOfASchema(Flat, Declared):
    """With fields for the numbers of declared keys, and tokens that order their texts."""

    chosen = ("test_random_filters_on_documents_of_the_schema", "test_what_is_declared_compiles")
    dialect = Redis(schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return RedisRows(Layout(NUMBERS, TEXTS))

    @pytest.mark.wide
    def test_three_thousand_filters_of_the_schema(self) -> None:
        source = self.fitting(2026)
        drawn = filter(self.examiner.comparable, iter(lambda: source.filter(4), None))
        for _ in range(10):
            assert self.examiner.compare(islice(drawn, 300), source.rows(150)) == 300
