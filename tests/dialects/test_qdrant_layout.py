"""How our own store lays documents out in Qdrant, and keys that a schema declares."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.engines.fixtures import qdrant_rows as qdrant_rows
from tests.engines.qdrant import QdrantEdgeRows
from tests.engines.rows import Rows
from vecstore import Expression, F, Key, Op, Schema, UnsupportedFilterError, Value
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.layout import (
    MAX_INTEGER,
    MIN_INTEGER,
    OWN,
    is_timestamp,
    point_id,
)

DATED = Qdrant(
    prefix="", schema=Schema({"at": datetime, "n": {"at": datetime, "day": date}}, others="allow")
)
MOMENT = "2024-01-01T00:00:00.000000Z"


def ordered(bound: dict[str, Any], key: str) -> Any:
    return {"must": [{"key": key, "range": bound}, {"is_empty": {"key": f"{key}[]"}}]}


def through_the_client(payload: dict[str, Any]) -> Any:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=1, distance=models.Distance.DOT)
    client.create_collection("c", vectors_config=size)
    client.upsert("c", [models.PointStruct(id=point_id("a"), vector=[1.0], payload=payload)])
    (point,) = client.retrieve("c", [point_id("a")])
    client.close()
    return point.payload


def through_the_engine(payload: dict[str, Any], folder: Path) -> Any:
    import qdrant_edge as edge

    size = edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot)
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=size, wal_enabled=False))
    point = edge.Point(point_id("a"), [1.0], payload)
    shard.update(edge.UpdateOperation.upsert_points([point]))
    (stored,) = shard.retrieve([point_id("a")], with_payload=True, with_vector=False)
    shard.close()
    return stored.payload


def test_what_is_stored_comes_back_with_its_types(tmp_path: Path) -> None:
    metadata = {
        "id": "mine", "text": 1, "metadata": {"id": 2.0}, "none": None, "empty": [], "object": {},
        "one": 1, "float": 1.0, "zero": -0.0, "tiny": 5e-324, "huge": 1e300, "third": 1 / 3,
        "low": MIN_INTEGER, "high": MAX_INTEGER, "true": True, "list": [1, 2.0], "texts": ["", "é"],
        'say "hi"': "\n",
    }  # fmt: skip
    for stored in (through_the_client(payload := OWN.write("a/b#3", "text", metadata, '{"n":1}')),
                   through_the_engine(payload, tmp_path)):  # fmt: skip
        document_id, text, read, extra = OWN.read(point_id("a"), stored)
        assert extra == '{"n":1}'
        assert (document_id, text) == ("a/b#3", "text")
        assert repr(dict(sorted(read.items()))) == repr(dict(sorted(metadata.items())))


def test_point_ids_are_uuids_of_their_own() -> None:
    chosen = point_id("victim")
    assert str(UUID(chosen)) == chosen == point_id("victim")
    # An id that looks like the point of another document must not become it.
    assert point_id(chosen) != chosen
    assert (
        len({point_id(one) for one in ("a", "A", "a ", "é", "e\u0301", "1", "猫", "x" * 10_000)})
        == 8
    )


def test_texts_are_ordered_on_declared_keys_alone() -> None:
    for text in ("title > 'a'", "NOT created <= 'a'"):
        with pytest.raises(UnsupportedFilterError, match="not texts") as caught:
            DATED.compile(text)
        assert "schema=Schema({" in str(caught.value)
        assert "^" in str(caught.value)
    assert DATED.compile(f"at > '{MOMENT}'").query == ordered({"gt": MOMENT}, "at")
    with pytest.raises(UnsupportedFilterError):
        DATED.compile(f"n.other > '{MOMENT}'")


def test_a_date_stands_for_its_first_moment() -> None:
    for symbol, bound in ((">", "gte"), (">=", "gte"), ("<", "lt"), ("<=", "lt")):
        query = DATED.compile(f"n.at {symbol} DATE '2024-01-01'").query
        assert query == ordered({bound: MOMENT}, "n.at")


@pytest.mark.parametrize(
    "literal",
    ["yesterday", "2024-01-01T00:00:00Z", "2024-13-01", "20240101", "2024-01-01 00:00", ""],
)
def test_other_texts_are_refused_on_a_declared_key(literal: str) -> None:
    with pytest.raises(UnsupportedFilterError, match="timestamps and dates only") as caught:
        DATED.compile(F.at >= literal)
    assert "TIMESTAMP '" in str(caught.value)


MOMENTS = [
    "0001-01-01T00:00:00.000000Z", "0999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00.000005Z", "2023-12-31T23:59:59.999999Z", MOMENT,
    "2024-01-01T00:00:00.000001Z", "2024-02-29T12:00:00.000000Z", "9999-12-31T23:59:59.999999Z",
]  # fmt: skip


def check_moments(rows: Rows) -> None:
    documents: dict[str, Any] = {
        f"d{number}": {"at": moment, "n": {"at": moment}} for number, moment in enumerate(MOMENTS)
    }
    documents |= {"none": {}, "null": {"at": None, "n": {"at": []}}, "other": {"n": {"x": 1}}}
    rows.load(documents)
    literals: list[Any] = [*MOMENTS, "2024-01-01", "1970-01-01", 5, 0.5, True]
    for op in (Op.GT, Op.GTE, Op.LT, Op.LTE, Op.EQ, Op.NE):
        for literal in literals:
            if literal is True and op not in (Op.EQ, Op.NE):
                continue
            for key in (Key("at"), Key("n", "at")):
                atom = Expression(op, key, Value(literal))
                for filter in (atom, ~atom):
                    expected = {name for name, one in documents.items() if filter.matches(one)}
                    assert rows.select(DATED.compile(filter)) == expected, filter.to_text()
    for filter in (F.at.in_([MOMENT, 5]), F.at.not_in([MOMENT, 5]), F.at.in_([5, True])):
        expected = {name for name, one in documents.items() if filter.matches(one)}
        assert rows.select(DATED.compile(filter)) == expected


def test_moments_are_ordered(qdrant_rows: Rows) -> None:
    check_moments(qdrant_rows)


@pytest.mark.parametrize("index", ["datetime", "keyword"])
def test_moments_are_ordered_through_an_index(index: str) -> None:
    """A datetime index takes the number 5 for a moment of 1970; such comparisons are decided here."""
    with QdrantEdgeRows({"at": index, "n.at": index}) as rows:
        check_moments(rows)


def test_a_date_is_its_first_moment_and_comes_before_it() -> None:
    for symbol, bound in ((">", "gt"), (">=", "gte"), ("<", "lt"), ("<=", "lte")):
        query = DATED.compile(f"n.day {symbol} DATE '2024-01-01'").query
        assert query == ordered({bound: MOMENT}, "n.day")
    for symbol, bound in ((">", "gt"), (">=", "gt"), ("<", "lte"), ("<=", "lte")):
        query = DATED.compile(f"n.day {symbol} '{MOMENT}'").query
        assert query == ordered({bound: MOMENT}, "n.day")


def test_a_timestamp_has_one_form() -> None:
    assert is_timestamp(MOMENT)
    assert not is_timestamp("2024-02-30T00:00:00.000000Z")
    assert not is_timestamp("2024-1-01T00:00:00.000000Z")
