"""Qdrant twice: the client's local mode, and the engine of the server in process."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from tests.dialects.conformance.conformance import (
    DECLARED,
    ON_ANOTHER_ENGINE,
    WITH_OTHER_OPTIONS,
    Conformance,
    Declared,
    Server,
)
from tests.engines.qdrant import QdrantEdgeRows, QdrantLocalRows, QdrantServerRows
from tests.engines.rows import Rows
from vecstore import Expression, Op, parse
from vecstore.dialects.floats import keeps_float
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.layout import OWN
from vecstore.testing import Documents, Domain

INT64 = (-(2**63), 2**63 - 1)
ORDERINGS = (Op.GT, Op.GTE, Op.LT, Op.LTE)


def is_kept(path: tuple[str, ...], value: Any) -> bool:
    """Floats that the engine reads as their neighbours are refused by our store."""
    items = value if isinstance(value, list) else [value]
    return all(type(item) is not float or keeps_float(item) for item in items)


class InOurLayout(Conformance):
    """Documents as our own store lays them out."""

    dialect = Qdrant(prefix="metadata")
    domain = Domain(integers=INT64, accepts=is_kept)

    def load(self, rows: Documents) -> None:
        self.engine.load({name: OWN.write(name, "", one) for name, one in rows.items()})


class TestQdrantLocal(InOurLayout):
    chosen = ON_ANOTHER_ENGINE

    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantLocalRows()


class TestQdrantEdge(InOurLayout):
    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantEdgeRows()


class TestQdrantEdgeWithIndexes(InOurLayout):
    """Payload indexes of the types that our store makes: they must not change the rows."""

    chosen = ON_ANOTHER_ENGINE
    test_limits = None

    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantEdgeRows(
            {"metadata.k": "keyword", "metadata.x": "float", "metadata.y": "bool"}
        )


class TestQdrantEdgeWithoutPrefix(Conformance):
    """Metadata at the top of the payload, as other programs write it."""

    chosen = (*WITH_OTHER_OPTIONS, "test_odd_keys")
    dialect = Qdrant()
    domain = Domain(integers=INT64, accepts=is_kept)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantEdgeRows()


if "VECSTORE_QDRANT_URL" in os.environ:

    class TestQdrantServer(InOurLayout):
        @classmethod
        def open(cls, server: Server) -> Rows:
            return QdrantServerRows(os.environ["VECSTORE_QDRANT_URL"])


def is_moment(text: Any) -> bool:
    """Canonical text of a timestamp, recognised in another way than the layout does."""
    if not isinstance(text, str) or not text.endswith("Z") or len(text) != 27:
        return False
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27) == text
    except ValueError:
        return False


def is_day(text: str) -> bool:
    return len(text) == 10 and is_moment(f"{text}T00:00:00.000000Z")


class OfASchema(Declared):
    """Keys that are declared: timestamps, dates and known texts can then be ordered."""

    test_limits = None
    dialect = Qdrant(prefix="metadata", schema=DECLARED)
    domain = InOurLayout.domain
    load = InOurLayout.load

    def also_refuses(self, atom: Expression) -> bool:
        declared = DECLARED.keys.get(atom.key.path)
        if atom.op not in ORDERINGS or declared is None or declared.choices:
            return False
        literal = atom.value.value
        return isinstance(literal, str) and not is_moment(literal) and not is_day(literal)

    def test_timestamps_and_dates_are_ordered(self) -> None:
        literals = [
            "2024-01-01T00:00:00.000000Z",
            "2024-01-01T00:00:00.000001Z",
            "2024-01-01",
            "2024-04-09",
            "0001-01-01",
        ]
        filters = [
            f"{key} {symbol} '{literal}'"
            for key in ("moment", "day", "n.k")
            for symbol in (">", ">=", "<", "<=", "==", "!=")
            for literal in literals
        ]
        assert self.examiner.compare(map(parse, filters), self.rows) == len(filters)


class TestQdrantLocalOfASchema(OfASchema):
    chosen = ("test_timestamps_and_dates_are_ordered",)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantLocalRows()


class TestQdrantEdgeOfASchema(OfASchema):
    """With the payload indexes that our store makes of the schema."""

    chosen = (*OfASchema.chosen, "test_timestamps_and_dates_are_ordered")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return QdrantEdgeRows(
            {
                **dict.fromkeys(("metadata.moment", "metadata.day", "metadata.n.k"), "datetime"),
                **dict.fromkeys(("metadata.number", "metadata.x"), "float"),
                **dict.fromkeys(("metadata.k", "metadata.choice", "metadata.titles"), "keyword"),
                "metadata.flag": "bool",
            }
        )
