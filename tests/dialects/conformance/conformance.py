"""What all conformance classes share: an engine of ``tests.engines``, and the long run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import ClassVar

import pytest

from tests.engines.rows import Rows
from vecstore import Compiled, Schema
from vecstore.dialects.matrix import EVERY_KIND
from vecstore.testing import DialectSuite, Documents, SchemaDialectSuite

Server = Callable[[str], str]
"""Gives the address of a server by its name: "postgres_dsn", "milvus_uri"."""


AT_LENGTH = ("test_limits", "test_long_lists", "test_drawn_filters")
"""What takes the most time: once for each dialect is enough."""

WITH_OTHER_OPTIONS = (
    "test_every_operator_with_every_literal",
    "test_keys_inside_objects",
    "test_hostile_text_in_keys_and_values",
    "test_grouping_and_negation",
    "test_random_filters",
    "test_constants_are_safe_to_run",
    "test_what_is_declared_compiles",
    "test_what_is_not_declared_is_refused",
)
"""Where options change what the dialect can say of a key, and little else."""

ON_ANOTHER_ENGINE = (
    "test_every_operator_with_every_literal",
    "test_hostile_text_in_keys_and_values",
    "test_grouping_and_negation",
    "test_lists_of_literals",
    "test_random_filters",
    "test_constants_are_safe_to_run",
)
"""Where the dialect is one that another class runs whole, and only the engine differs."""


class Conformance(DialectSuite):
    """A suite over one engine; subclasses say how it is opened, ``conftest.py`` opens it."""

    trees = 100
    engine: ClassVar[Rows]

    @classmethod
    def open(cls, server: Server) -> Rows:
        """The engine, empty."""
        raise NotImplementedError

    @classmethod
    @contextmanager
    def opened(cls, server: Server) -> Iterator[None]:
        """The engine open for as long as the block runs, with nothing in it that is known of."""
        with cls.open(server) as cls.engine:
            cls._loaded = None
            yield

    def load(self, rows: Documents) -> None:
        self.engine.load(rows)

    def run(self, compiled: Compiled, rows: Documents) -> set[str]:
        return self.engine.select(compiled)

    @pytest.mark.wide
    def test_three_thousand_random_filters(self) -> None:
        source, depth = self.examiner.cases(2026), self.examiner.depth
        trees = iter(lambda: source.filter(depth), None)
        comparable = (tree for tree in trees if self.examiner.comparable(tree))
        for _ in range(10):
            rows = source.rows(150)
            assert self.examiner.compare(islice(comparable, 300), rows) == 300


DECLARED = Schema(
    {**EVERY_KIND.keys, "k": str, "x": float, "y": list[str], "a b": bool, "n": {"k": datetime}},
    others="allow",
)
"""Every kind of key that the matrix has a line for, and some of those that all suites filter by."""

OF_THE_SCHEMA = (
    "test_every_operator_on_every_declared_key",
    "test_random_filters_on_documents_of_the_schema",
)


class Declared(SchemaDialectSuite, Conformance):
    """A dialect that is made with :data:`DECLARED`; other keys are there beside the declared."""

    chosen: ClassVar[tuple[str, ...]] = (
        *OF_THE_SCHEMA,
        "test_every_operator_with_every_literal",
        "test_constants_are_safe_to_run",
        "test_what_is_declared_compiles",
        "test_what_is_not_declared_is_refused",
    )
    schema = DECLARED

    @pytest.mark.wide
    def test_three_thousand_filters_of_the_schema(self) -> None:
        source, depth = self.fitting(2026), min(5, self.examiner.depth)
        for _ in range(10):
            filters = [source.filter(depth) for _ in range(300)]
            assert self.examiner.compare(filters, source.rows(150)) == 300
