"""The rules themselves, held against a second reading of them."""

from __future__ import annotations

from tests.dialects.conformance.conformance import Conformance, Server
from tests.dialects.conformance.memory import Memory, NaiveRows
from tests.engines.rows import Rows


class TestMemory(Conformance):
    # Whole it runs in tests/testing/test_dialect_suite.py, with fewer random trees.
    chosen = (
        "test_random_filters",
        "test_random_documents",
        "test_drawn_filters",
        "test_not_selects_where_the_filter_is_false",
    )
    dialect = Memory

    @classmethod
    def open(cls, server: Server) -> Rows:
        return NaiveRows()
