"""Floats that the engine changes: known before they are sent, on the engine itself."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest

from tests.engines.qdrant import QdrantEdgeRows
from vecstore import Document, DocumentError, UnsupportedFilterError, compile_filter
from vecstore.dialects.floats import check_floats, keeps_float, rounded_floats
from vecstore.dialects.qdrant.store import QdrantStore

EDGES = [0.0, 0.1, 1 / 3, 0.9999999999999999, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
         1e15, 1e16, 1e22, 1e23, 123456789012345.6, 9007199254740993.0]  # fmt: skip


def floats(seed: int, count: int) -> Iterator[float]:
    dice = random.Random(seed)
    for _ in range(count):
        yield dice.uniform(-1_000, 1_000)
        yield dice.random() * 10.0 ** dice.randint(-30, 0)
        yield float(dice.randint(10**15, 10**22))
        value = struct.unpack("d", struct.pack("Q", dice.getrandbits(64)))[0]
        if value == value and abs(value) != float("inf"):
            yield value


def test_what_is_kept_is_what_the_engine_keeps() -> None:
    """Read back from the real engine, float by float."""
    values = [*EDGES, *floats(1, 1_500)]
    with QdrantEdgeRows() as engine:
        engine.load({str(number): {"x": value} for number, value in enumerate(values)})
        stored = engine.payloads()
    assert len(stored) == len(values)
    changed = sum(stored[str(number)]["x"] != value for number, value in enumerate(values))
    assert changed > 300, "the engine keeps every float by now: lift the refusal"
    for number, value in enumerate(values):
        assert keeps_float(value) is (stored[str(number)]["x"] == value), value


def test_fifteen_digits_are_kept() -> None:
    dice = random.Random(2)
    for _ in range(5_000):
        assert keeps_float(float(f"{dice.uniform(-1_000, 1_000):.15g}"))
        assert keeps_float(round(dice.uniform(0, 1e6), 2))


@pytest.mark.parametrize("text", ["x == {}", "x != {}", "x < {}", "x IN [1, {}]", "NOT x >= {}"])
def test_a_literal_that_would_be_misread_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFilterError, match="15 significant digits"):
        compile_filter(text.format("0.9999999999999999"), "qdrant")
    assert compile_filter(text.format("0.999999999999999"), "qdrant").query


def test_documents_that_a_server_would_change_are_refused_or_rounded() -> None:
    metadata = {"a": {"b c": [0.5, 0.9999999999999999]}}
    with pytest.raises(
        DocumentError, match=r"document 'x' .* a\.\"b c\".*round_floats=True"
    ) as caught:
        check_floats(metadata, "x")
    assert caught.value.key == 'a."b c"'
    assert rounded_floats(metadata) == {"a": {"b c": [0.5, 1.0]}}
    check_floats(rounded_floats(metadata), "x")


def test_the_store_refuses_before_the_call_where_the_engine_would_change_them() -> None:
    with QdrantStore("docs", location=":memory:", dimension=2) as store:
        document = Document("", {"ratio": 0.9999999999999999}, id="x", embedding=[1, 0])
        store.add([document])  # local mode keeps every float
        assert store.get(["x"])[0].metadata == document.metadata
        store._call.local = False  # from here on as if it were a server
        with pytest.raises(DocumentError, match="ratio"):
            store.add([document.replace(id="y")])
        with pytest.raises(DocumentError, match="ratio"):
            store.update_metadata(["x"], set={"ratio": 0.9999999999999999})
        assert store.count() == 1
        store._round_floats = True
        store.add([document.replace(id="y")])
        assert store.get(["y"])[0].metadata == {"ratio": 1.0}
        store._call.local = True
