from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import F, FilterSyntaxError, FilterTypeError, Limits, parse


def literal(text: str) -> Any:
    value = parse(f"k == {text}").value.value
    return value


def fault(text: str) -> FilterSyntaxError:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("-0", 0), ("007", 7), ("+5", 5), ("-5L", -5), ("5l", 5),
        (".5", 0.5), ("5.", 5.0), ("-.5e-3", -0.0005), ("5.e3", 5000.0), ("1E+2", 100.0),
        ("1e-400", 0.0), ("1.7976931348623157e308", sys.float_info.max),
        ("9" * 4_000, 10**4_000 - 1), ("-" + "9" * 4_000, 1 - 10**4_000),
        ("0" * 60_000 + "1", 1),
        ("true", True), ("FALSE", False),
        ("''", ""), ('"it\'s"', "it's"), (r"'it\'s'", "it's"), (r'"\"\\\""', '"\\"'),
        (r"'\n\r\t'", "\n\r\t"), (r"'\\n'", "\\n"), (r"'c:\\dir'", "c:\\dir"),
        (r"'\u0041\U0001F600\u00e9'", "A😀é"), (r"'\ufeff'", "\ufeff"), ("'a\r\nb'", "a\r\nb"),
        ("DATE '2024-02-29'", "2024-02-29"), ('date"0001-01-01"', "0001-01-01"),
        (r"DATE '2024\u002d02-29'", "2024-02-29"),
        ("TIMESTAMP '2024-01-01'", "2024-01-01T00:00:00.000000Z"),
        ("TIMESTAMP '2024-01-01T10'", "2024-01-01T10:00:00.000000Z"),
        ("TIMESTAMP '2024-01-01 10:30'", "2024-01-01T10:30:00.000000Z"),
        ("TIMESTAMP '2024-01-01t10:30:00z'", "2024-01-01T10:30:00.000000Z"),
        ("TIMESTAMP '2024-01-01T10:30:00,5+05:30'", "2024-01-01T05:00:00.500000Z"),
        ("TIMESTAMP '2024-01-01T00:00:00.123456-01'", "2024-01-01T01:00:00.123456Z"),
        ("TIMESTAMP '20240101T103000Z'", "2024-01-01T10:30:00.000000Z"),
        ("timestamp '9999-12-31T23:59:59.999999Z'", "9999-12-31T23:59:59.999999Z"),
    ],
)  # fmt: skip
def test_value(text: str, value: Any) -> None:
    read = literal(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("k == '\\q'", 6, "unknown escape \\q"),
        ("k == '\\x41'", 6, "\\u0041"),
        ("k == 'ab\\u12'", 8, "4 hexadecimal digits, not 2"),
        ("k == '\\U0001F60'", 6, "8 hexadecimal digits, not 7"),
        ("k == '\\ud83d'", 6, "surrogate"),
        ("k == '\\ud83d\\ude00'", 6, "hint: write the whole character as \\U: k == '\\U0001F600'"),
        ("k == '\\ude00'", 6, "the escape \\ude00 is half of a surrogate pair"),
        ("k == '\\U0000d83d'", 6, "surrogate"),
        ("k == '\\U00110000'", 6, "beyond the last"),
        ("k == 'a\\u0000'", 7, "NUL"),
        ("k == 'ab\0'", 8, "NUL"),
        ("k == '\\n\ud800'", 8, "surrogate"),
        ("k IN ['a', 'b\\q']", 13, "escape"),
        ("'a\\q' == 1", 2, "escape"),
        ("a.'b\0' == 1", 4, "NUL"),
        ("k == 1e999", 5, "finite"),
        ("k IN [1, -1e999]", 9, "finite"),
        (f"k == {'1' * 4_001}", 5, "4,000 digits"),
        (f"k == {'1' * 60_000}", 5, "4,000 digits"),
        ("k == DATE '2024-13-01'", 5, "no such day"),
        ("k == DATE '2023-02-29'", 5, "no such day"),
        ("k == DATE '20240101'", 5, "DATE '2024-01-01'"),
        ("k == DATE '2024-1-5'", 5, "'2024-01-05'"),
        ("k == DATE '٢٠٢٤-01-01'", 5, "not a date"),
        ("k == DATE ''", 5, "not a date"),
        ("k == DATE ' 2024-01-01'", 5, "not a date"),
        ("k == DATE '2024-01-01T00:00:00Z'", 5, "write TIMESTAMP"),
        ("k == DATE '\\q'", 11, "escape"),
        ("k == TIMESTAMP 'now'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-01-01T25:00'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-01-01T24:00:00'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-01-01T10:00:60Z'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-01-01X10:00:00'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-W01-1'", 5, "not a timestamp"),
        ("k == TIMESTAMP '2024-01-01T00:00:00.1234567Z'", 5, "fraction"),
        ("k == TIMESTAMP '0001-01-01T00:00:00+14:00'", 5, "years 1 to 9999"),
        ("'' == 1", 0, "empty key"),
        ("a.\"\".b == 1", 2, "empty key"),
        ("a.__vecstore_x == 1", 2, "reserved"),
        ("'__vecstore' == 1", 0, "reserved"),
        ("k > true", 4, "orders numbers or strings, not a bool"),
        ("k <= [1]", 5, "hint: compare with one number or string: k <= 1"),
        ("k == [1, 2]", 5, "hint: write IN: k IN [1, 2]"),
        ("k != ['x']", 5, "hint: write NOT IN: k NOT IN ['x']"),
        ("k IN 'x'", 5, "hint: write IN: k IN ['x']"),
        ("k NOT IN DATE '2024-01-01'", 9, "NOT IN takes a list, not a string"),
    ],
)  # fmt: skip
def test_fault(text: str, at: int, says: str) -> None:
    error = fault(text)
    assert error.span is not None
    assert error.span.start == at
    assert says in str(error)


def test_the_first_fault_of_meaning_is_told_whatever_its_kind() -> None:
    faults = ["a.'' == 1", "b == 'x\\q'", "c == 1e999", "d == DATE 'x'", "e > true", "f IN 1"]
    for first in range(len(faults)):
        text = "NOT (ok == 1 OR (" + " AND ".join(faults[first:]) + "))"
        expected = fault(faults[first])
        error = fault(text)
        assert error.message == expected.message
        assert error.span.start == expected.span.start + len("NOT (ok == 1 OR (")


def test_grammar_comes_before_meaning() -> None:
    assert fault("a > true AND b ==").span.start == 17


def test_the_words_are_those_of_the_constructors() -> None:
    for text, build in (
        ("k > true", lambda: F.k > True),
        ("k == [1]", lambda: F.k == [1]),
        ("__vecstore_x == 1", lambda: F["__vecstore_x"] == 1),
        ("k == '\0'", lambda: F.k == "\0"),
        (f"k == {'9' * 4_001}", lambda: F.k == 10**4_000),
    ):
        with pytest.raises(FilterTypeError) as caught:
            build()
        assert fault(text).message == caught.value.message


def test_integers_do_not_depend_on_the_interpreters_limit() -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for digits in (638, 639, 640, 641, 900):
            nines = "9" * digits
            assert parse(f"k == -{nines}").value.value == 1 - 10**digits
            assert parse(f"k == {nines}").value.value == 10**digits - 1
            assert parse(f"k IN [{nines}, +{nines}L]").value.value == (10**digits - 1,) * 2
            assert parse(f"k IN [true, {nines}]").value.value == (True, 10**digits - 1)
    finally:
        sys.set_int_max_str_digits(limit)


@given(st.text(st.characters(exclude_characters="\0'\\", exclude_categories=["Cs"])))
def test_raw_strings(text: str) -> None:
    assert parse(f"k == '{text}'", limits=Limits(text=10**6)).value.value == text


@given(st.integers(-(10**60), 10**60))
def test_integers(number: int) -> None:
    assert literal(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats(number: float) -> None:
    read = literal(repr(number))
    assert repr(read) == repr(number)


@given(st.dates())
def test_dates(day: Any) -> None:
    assert literal(f"DATE '{day.isoformat()}'") == parse(f"k == '{day}'").value.value


@given(st.datetimes(timezones=st.one_of(st.none(), st.timezones())))
def test_timestamps(moment: Any) -> None:
    text = f"TIMESTAMP '{moment.isoformat()}'"
    offset = moment.utcoffset()
    if offset is not None and offset.total_seconds() % 60:
        # Offsets of seconds, which only history knows, are no part of ISO 8601.
        assert "not a timestamp" in fault(f"k == {text}").message
        return
    try:
        expected = (F.k == moment).value.value
    except FilterTypeError:
        assert "years 1 to 9999" in fault(f"k == {text}").message
    else:
        assert literal(text) == expected
