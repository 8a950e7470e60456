"""Chroma in this process, in both layouts, and in that of the cloud."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    Conformance,
    Declared,
    Server,
)
from tests.engines.chroma import ChromaRows, storable
from tests.engines.rows import Rows
from vecstore import Expression, Op
from vecstore.dialects.chroma import Chroma
from vecstore.dialects.chroma.layout import ExactLayout
from vecstore.dialects.declared import ordered_keys
from vecstore.dialects.floats import keeps_float
from vecstore.filter.values import Kind
from vecstore.testing import Domain

ORDERINGS = (Op.GT, Op.GTE, Op.LT, Op.LTE)
TEXTS, NUMBERS = (ordered_keys(DECLARED, kind) for kind in (Kind.STRING, Kind.NUMBER))


def is_kept(path: tuple[str, ...], value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    floats = all(type(item) is not float or keeps_float(item) for item in items)
    key = path[0]
    named = key != "" and key[0] not in "$#" and key != "chroma:document"
    return floats and storable(value) and len(path) == 1 and named


def is_too_long(atom: Expression) -> bool:
    """More values than the 900 conditions that the engine bears, which the plain layout counts."""
    return atom.op in (Op.IN, Op.NIN) and len(atom.value.items) > 900


class TestChroma(Conformance):
    """Documents as our own store lays them out."""

    chosen = (
        "test_every_operator_with_every_literal",
        "test_odd_keys",
        "test_grouping_and_negation",
        "test_hostile_text_in_keys_and_values",
        "test_limits",
        "test_random_filters",
        "test_constants_are_safe_to_run",
    )
    dialect = Chroma(layout="exact")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows(ExactLayout().write)


class TestChromaPlain(Conformance):
    """Metadata as other programs write it."""

    chosen = ("test_every_operator_with_every_literal", "test_lists_of_literals", "test_limits")
    dialect = Chroma()
    domain = Domain(accepts=is_kept)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows()

    def also_refuses(self, atom: Expression) -> bool:
        return is_too_long(atom)


class OfASchema(Declared):
    test_three_thousand_random_filters = None  # which the class without a schema runs
    longest: ClassVar[int]
    trees = 30

    def also_refuses(self, atom: Expression) -> bool:
        if atom.op not in ORDERINGS or atom.key.path not in TEXTS:
            return False
        declared, literal = DECLARED.keys[atom.key.path], atom.value.value
        return (
            not declared.choices
            and isinstance(literal, str)
            and len(literal.encode()) > self.longest
        )


class TestChromaOfASchema(OfASchema):
    """With integers that order the texts of declared keys."""

    longest = 62
    chosen = (OF_THE_SCHEMA[0],)
    dialect = Chroma(layout="exact", schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows(ExactLayout(TEXTS).write)


class TestChromaPlainOfASchema(Declared):
    test_three_thousand_random_filters = None
    chosen = (OF_THE_SCHEMA[0],)
    dialect = Chroma(schema=DECLARED)
    domain = Domain(accepts=is_kept)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows()

    def also_refuses(self, atom: Expression) -> bool:
        return is_too_long(atom)


class TestChromaCloud(OfASchema):
    """What is asked of the cloud, on the engine that is here."""

    longest = 29
    chosen = ("test_constants_are_safe_to_run",)
    # Two orderings come to too many conditions, and texts of more than 29 bytes are not ordered.
    test_three_thousand_filters_of_the_schema = None
    test_random_filters_on_documents_of_the_schema = None
    test_what_is_declared_compiles = None
    dialect = Chroma(layout="exact", schema=DECLARED, target="cloud")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows(ExactLayout(TEXTS, NUMBERS, "cloud").write)
