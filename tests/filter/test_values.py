from __future__ import annotations

import base64
import enum
import json
import math
import time as time_module
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

import numpy as np
import pytest

from vecstore import Document, DocumentError, F, FilterTypeError, clean_metadata
from vecstore.filter.values import (
    UnusableValue,
    shown,
    to_metadata,
    to_metadata_value,
    to_scalar,
)


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Flag(enum.Enum):
    ON = True
    WHEN = date(2024, 1, 1)
    NONE = None


class Kinds(enum.Enum):
    INNER = Flag.ON
    PAIR = ("a", "b")
    NONE = None


class Zoneless(tzinfo):
    """A zone that does not say how far it is from UTC, which leaves a datetime naive."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


PLUS_TWO = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "scalar"),
    [
        (True, True),
        (1, 1),
        (1.5, 1.5),
        ("x", "x"),
        (Text("plain"), "plain"),
        (datetime(2024, 1, 1, 2, tzinfo=PLUS_TWO), "2024-01-01T00:00:00.000000Z"),
        (datetime(2024, 1, 1, 0, 0, 0, 5), "2024-01-01T00:00:00.000005Z"),
        (datetime(1, 1, 1), "0001-01-01T00:00:00.000000Z"),
        (date(2024, 2, 29), "2024-02-29"),
        (date(7, 1, 1), "0007-01-01"),
        (time(1, 2, 3), "01:02:03.000000"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Flag.ON, True),
        (Flag.WHEN, "2024-01-01"),
        (Decimal("3.00"), 3),
        (Decimal("0.1"), 0.1),
        (Decimal("1e20"), 10**20),
        (np.int64(5), 5),
        (np.uint8(5), 5),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.longdouble(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.datetime64("2024-01-01"), "2024-01-01T00:00:00.000000Z"),
        (np.datetime64("2024-01-01T00:00:00.000001000", "ns"), "2024-01-01T00:00:00.000001Z"),
        (Kinds.INNER, True),
        (datetime(2024, 1, 1, tzinfo=Zoneless()), "2024-01-01T00:00:00.000000Z"),
        (np.array(5), 5),
        (np.array("x"), "x"),
        (np.array("2024-01-01", "datetime64[ns]"), "2024-01-01T00:00:00.000000Z"),
        (np.array("2024-01-01", "datetime64[s]"), "2024-01-01T00:00:00.000000Z"),
        (np.array(date(2024, 1, 1)), "2024-01-01"),
        (np.datetime64(10**6, "ps"), "1970-01-01T00:00:00.000001Z"),
        (10**3999, 10**3999),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ],
)
def test_scalars(value: object, scalar: object) -> None:
    result = to_scalar(value)
    assert result == scalar
    assert type(result) is type(scalar)


def test_a_zone_without_an_offset_is_not_taken_for_the_local_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time_module.tzset()
    try:
        text = to_scalar(datetime(2024, 1, 1, tzinfo=Zoneless()))
    finally:
        monkeypatch.undo()
        time_module.tzset()
    assert text == "2024-01-01T00:00:00.000000Z"


def test_canonical_timestamps_sort_as_text_like_time() -> None:
    moments = [
        datetime(y, 3, 1, 4, 5, 6, us, tzinfo=UTC)
        for y in (1, 999, 2024, 9999)
        for us in (0, 1, 999_999)
    ]
    texts = [to_scalar(moment) for moment in moments]
    assert texts == sorted(texts)
    assert {len(str(text)) for text in texts} == {27}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "IS NULL"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        (np.float64("nan"), "finite"),
        (np.float32("inf"), "finite"),
        (Decimal("NaN"), "finite"),
        (Decimal("-Infinity"), "finite"),
        (Decimal("1e999999999"), "4,000 digits"),
        (10**4000, "4,000 digits"),
        (-(10**4000), "4,000 digits"),
        (b"x", "bytes"),
        (bytearray(b"x"), "bytes"),
        ("a\0b", "NUL"),
        ("\ud83d", "surrogate"),
        (time(1, tzinfo=UTC), "zone"),
        (datetime(1, 1, 1, tzinfo=PLUS_TWO), "years 1 to 9999"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))), "years 1 to 9999"),
        (np.datetime64("NaT", "us"), "NaT"),
        (np.datetime64("2024-01-01T00:00:00.000000001", "ns"), "microsecond"),
        (np.datetime64("20000-01-01"), "years 1 to 9999"),
        (np.datetime64(9_223_372_036_854, "D"), "years 1 to 9999"),
        (np.datetime64(2**62, "s"), "years 1 to 9999"),
        (np.timedelta64(1, "s"), "timedelta64"),
        (np.timedelta64(1, "ns"), "timedelta64"),
        (np.timedelta64(1, "Y"), "timedelta64"),
        (np.array(np.timedelta64(1, "ns")), "timedelta64"),
        (np.array(None), "IS NULL"),
        (timedelta(1), "timedelta"),
        (Fraction(1, 3), "Fraction"),
        (1j, "complex"),
        (Flag.NONE, "IS NULL"),
        (print, "code"),
        (object(), "object"),
        ({"a": 1}, "object"),
        ([1], "IN"),
    ],
)
def test_what_is_no_scalar(value: object, says: str) -> None:
    with pytest.raises(UnusableValue) as caught:
        to_scalar(value)
    assert says in f"{caught.value.reason}; {caught.value.remedy}"


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        ([], []),
        ((), []),
        ((1, 2.5), [1, 2.5]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        ({Colour.RED}, ["red"]),
        (Kinds.PAIR, ["a", "b"]),
        (Kinds.NONE, None),
        (np.array([1, 2]), [1, 2]),
        (np.array(["x"]), ["x"]),
        ({"a": {"b": (1,)}}, {"a": {"b": [1]}}),
        (OrderedDict(a=None), {"a": None}),
        (MappingProxyType({"a": 1}), {"a": 1}),
    ],
)
def test_document_values(value: object, stored: object) -> None:
    assert to_metadata_value(value) == stored


@pytest.mark.parametrize(
    ("metadata", "path", "says"),
    [
        ({"a": {"b": [1, "x"]}}, ("a", "b"), "mixes number and string"),
        ({"a": [True, 1]}, ("a",), "mixes bool and number"),
        ({"a": [None]}, ("a",), "null"),
        ({"a": [[1]]}, ("a",), "lists"),
        ({"a": [{"b": 1}]}, ("a",), "objects"),
        ({"a": np.zeros((2, 2))}, ("a",), "ndarray"),
        ({"": 1}, ("",), "empty"),
        ({1: 1}, ("1",), "text, not int"),
        ({10**5000: 1}, (shown(10**5000),), "text, not int"),
        ({"a": {"x\0": 1}}, ("a", "x\0"), "NUL"),
        ({"__vecstore_x": 1}, ("__vecstore_x",), "reserved"),
        ({"a": {"b": {"c": math.nan}}}, ("a", "b", "c"), "finite"),
        ({"a": range(3)}, ("a",), "range"),
        ({"a": iter([1])}, ("a",), "list_iterator"),
    ],
)
def test_unusable_metadata_names_its_key(
    metadata: dict[str, object], path: tuple[str, ...], says: str
) -> None:
    with pytest.raises(UnusableValue) as caught:
        to_metadata(metadata)
    assert caught.value.path == path
    assert says in f"{caught.value.reason}; {caught.value.remedy}"


class _Path:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __fspath__(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_path_is_its_text() -> None:
    path = Path("notes") / "a.md"
    assert to_scalar(path) == str(path)
    assert to_metadata({"source": path, "all": [path, "b"]}) == {
        "source": str(path),
        "all": [str(path), "b"],
    }
    assert (F.source == path).matches({"source": str(path)})
    assert F.source.in_([path]).matches({"source": str(path)})


@pytest.mark.parametrize("answer", [b"a", "a\0", "\udc80", 7, None, OSError("gone")])
def test_a_path_that_is_no_text_is_refused(answer: object) -> None:
    with pytest.raises(UnusableValue):
        to_scalar(_Path(answer))


def test_metadata_is_copied() -> None:
    source = {"a": [1], "b": {"c": ["x"]}}
    copy = to_metadata(source)
    source["a"].append(2)  # type: ignore[attr-defined]
    source["b"]["c"].append("y")  # type: ignore[index]
    assert copy == {"a": [1], "b": {"c": ["x"]}}


def test_an_object_that_holds_itself_is_refused_not_followed_for_ever() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(UnusableValue, match="64 levels"):
        to_metadata(loop)
    assert clean_metadata({"self": loop, "n": 1}) == {"n": 1}


class TestCleanMetadata:
    LOADED = {
        "page": 3,
        "raw": b"x",
        "nan": math.nan,
        "path": Path("a/b"),
        "mixed": [1, "a", None, 2],
        "nested": {"bad": object, "good": date(2024, 1, 1), "deep": {"x": [{"y": 1}]}},
        7: "number as key",
        "": "no name",
        "__vecstore_x": 1,
        "nul": "a\0b",
        "surrogate": "a\ud800",
        "none": None,
        "huge": 10**5000,
        10**5000: "huge number as key",
    }

    @pytest.mark.parametrize("bad", ["drop", "text"])
    def test_result_is_always_storable(self, bad: str) -> None:
        cleaned = clean_metadata(self.LOADED, bad=bad)  # type: ignore[arg-type]
        assert to_metadata(cleaned) == cleaned
        assert cleaned["page"] == 3
        assert cleaned["7"] == "number as key"
        assert cleaned["nested"]["good"] == "2024-01-01"
        assert cleaned["none"] is None
        assert "" not in cleaned
        assert "__vecstore_x" not in cleaned

    def test_drop_leaves_out(self) -> None:
        cleaned = clean_metadata(self.LOADED)
        assert cleaned.keys() == {"page", "path", "mixed", "nested", "7", "none", hex(10**5000)}
        assert cleaned["mixed"] == [1, 2]
        assert cleaned["nested"] == {"good": "2024-01-01", "deep": {"x": []}}

    def test_text_keeps_as_text(self) -> None:
        cleaned = clean_metadata(self.LOADED, bad="text")
        assert cleaned["raw"] == "x"
        assert cleaned["nan"] == "nan"
        assert cleaned["path"] == str(Path("a/b"))
        assert cleaned["mixed"] == ["1", "a", "2"]
        assert cleaned["nul"] == "ab"
        assert cleaned["surrogate"] == "a?"
        assert cleaned["huge"].startswith("0x")
        assert cleaned["nested"]["deep"] == {"x": ['{"y": 1}']}

    def test_text_of_what_has_parts_is_json(self) -> None:
        parts = [{"name": "Ada", "born": date(1815, 12, 10), "paid": None, "ok": True}, [1, 2.5]]
        cleaned = clean_metadata({"k": parts, "odd": [b"\xff", {1: {"ü"}}, math.nan]}, bad="text")
        first, second = cleaned["k"]
        assert json.loads(first) == {
            "name": "Ada",
            "born": "1815-12-10",
            "paid": None,
            "ok": True,
        }
        assert json.loads(second) == [1, 2.5]
        assert cleaned["odd"] == [base64.b64encode(b"\xff").decode(), '{"1": ["ü"]}', "nan"]

    def test_what_holds_itself_is_left_out(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        assert clean_metadata({"k": loop, "n": 1}, bad="text") == {"n": 1}

    def test_another_mode_is_refused(self) -> None:
        with pytest.raises(ValueError, match="drop"):
            clean_metadata({}, bad="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "scalar"),
    [
        *[("0.1", 0.1), ("-0.25", -0.25), ("1e-7", 1e-7), ("3.00", 3), ("1E+20", 10**20)],
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_decimals_that_a_number_holds(value: str, scalar: float) -> None:
    assert to_scalar(Decimal(value)) == scalar
    assert type(to_scalar(Decimal(value))) is type(scalar)


@pytest.mark.parametrize(
    "value",
    ["12345678901234567890.123", "0.10000000000000000001", "1E-400", "-1.00000000000000001"],
)
def test_decimals_that_would_be_rounded_are_refused(value: str) -> None:
    with pytest.raises(DocumentError, match="more digits than a float") as caught:
        Document("text", {"price": {"net": Decimal(value)}})
    assert caught.value.key == "price.net"
    assert "text" in str(caught.value)
    with pytest.raises(FilterTypeError, match="more digits than a float"):
        _ = F.price == Decimal(value)


def test_long_doubles_that_would_be_rounded_are_refused() -> None:
    assert to_scalar(np.longdouble(0.1)) == 0.1
    third = np.longdouble(1) / 3
    if float(third) == third:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(UnusableValue, match="more digits than a float"):
        to_scalar(third)
