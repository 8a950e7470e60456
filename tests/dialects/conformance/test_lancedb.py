"""LanceDB: its engine in the process, in our own layout and over typed columns of others."""

from __future__ import annotations

from typing import Any

from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    Conformance,
    Declared,
    Server,
)
from tests.engines.lancedb import LanceRows, typed_columns
from tests.engines.rows import Rows
from vecstore import Schema
from vecstore.dialects.lancedb import LanceDB
from vecstore.testing import Domain


def is_double(number: Any) -> bool:
    """Whether a column of doubles holds the number as it is."""
    try:
        return bool(float(number) == number)
    except OverflowError:
        return False


class TestLanceDB(Conformance):
    """Documents as our own store lays them out."""

    repeats = ("test_odd_keys", "test_every_operator_with_every_literal", "test_drawn_filters")
    dialect = LanceDB(layout="exact")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return LanceRows()


class TestLanceDBIndexed(TestLanceDB):
    """With an index of the tokens, which answers in the place of the column."""

    repeats = ()
    chosen = ("test_random_filters",)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return LanceRows(index_from=1)


class TestLanceDBOfASchema(Declared):
    """Our own layout, where a schema decides what its keys cannot be equal to."""

    chosen = ()
    dialect = LanceDB(layout="exact", schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return LanceRows()


class Plain(Declared):
    """Columns that others wrote; subclasses say what they hold."""

    def __init_subclass__(cls, **options: Any) -> None:
        cls.dialect = LanceDB(schema=cls.schema)
        cls.domain = Domain(integers=(-(2**63), 2**63 - 1), accepts=cls.holds)
        super().__init_subclass__(**options)

    @classmethod
    def holds(cls, path: tuple[str, ...], value: Any) -> bool:
        """What a column of the type keeps: declared keys, and no integer that a float bends."""
        declared = cls.schema.keys.get(path)
        if declared is None:
            return isinstance(value, dict)
        if value is None:
            return True
        items = value if isinstance(value, list) else [value]
        if isinstance(value, list) != declared.many or not all(map(declared.holds, items)):
            return False
        if declared.kind == "int":
            return all(type(one) is int for one in items)
        return declared.kind not in ("float", "decimal") or all(map(is_double, items))

    @classmethod
    def open(cls, server: Server) -> Rows:
        return LanceRows(typed_columns(cls.schema))


class TestLanceDBPlain(Plain):
    chosen = (
        OF_THE_SCHEMA[1],
        "test_constants_are_safe_to_run",
        "test_what_is_declared_compiles",
    )
    schema = Schema({**DECLARED.keys, ("a",): int})


class TestLanceDBPlainLists(Plain):
    chosen = ("test_random_filters",)
    schema = Schema({"k": list[str], "x": list[float], "y": list[bool], "a": list[int]})
