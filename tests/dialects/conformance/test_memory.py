"""The rules themselves, held against a second reading of them."""

from __future__ import annotations

from tests.dialects.conformance.conformance import Conformance, Server
from tests.dialects.conformance.memory import Memory, NaiveRows
from tests.engines.rows import Rows


class TestMemory(Conformance):
    dialect = Memory

    @classmethod
    def open(cls, server: Server) -> Rows:
        return NaiveRows()
