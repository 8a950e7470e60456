from __future__ import annotations

import inspect
import pickle

import pytest

from vecstore import errors
from vecstore.errors import (
    BackendError,
    DialectNotFoundError,
    DocumentError,
    FilterError,
    FilterSyntaxError,
    UnsupportedFilterError,
    VecstoreError,
    caret_excerpt,
)
from vecstore.filter.tree import Op, Span

CLASSES = [
    value
    for _, value in inspect.getmembers(errors, inspect.isclass)
    if issubclass(value, VecstoreError)
]


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawing = errors.__doc__ or ""
    for error in CLASSES:
        line = next(line for line in drawing.splitlines() if f" {error.__name__}" in line)
        for base in error.__bases__:
            if base is not Exception and not issubclass(base, VecstoreError):
                assert f"({base.__name__})" in line


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_survives_pickling(error: type[VecstoreError]) -> None:
    raised = error("what went wrong")
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is error
    assert str(again) == str(raised)


def test_details_survive_pickling() -> None:
    span = Span("a > 'x'", 0, 7)
    refused = UnsupportedFilterError(
        dialect="d", op=Op.GT, key="a", reason="r", remedy="m", span=span
    )
    again = pickle.loads(pickle.dumps(refused))
    assert (again.dialect, again.op, again.key, again.remedy) == ("d", Op.GT, "a", "m")
    assert str(again) == str(refused)
    failed = pickle.loads(pickle.dumps(BackendError("x", operation="add", stored_ids=["1"])))
    assert (failed.operation, failed.stored_ids, failed.retryable) == ("add", ["1"], False)


def test_kinship_with_builtin_errors() -> None:
    assert issubclass(FilterError, ValueError)
    assert issubclass(DocumentError, ValueError)
    assert issubclass(DialectNotFoundError, LookupError)


class TestCaret:
    def test_place(self) -> None:
        error = FilterSyntaxError("wrong", span=Span("a ==\n  b = = 2", 11, 12), hint="right")
        assert (error.line, error.column, error.text) == (2, 7, "a ==\n  b = = 2")
        assert str(error).splitlines() == [
            "wrong",
            "  line 2, column 7",
            "      b = = 2",
            "          ^",
            "hint: right",
        ]

    def test_without_a_text(self) -> None:
        error = FilterError("wrong")
        assert (error.line, error.column, error.text) == (None, None, None)
        assert str(error) == "wrong"

    def test_end_of_text(self) -> None:
        assert caret_excerpt(Span("a ==", 4, 4)).endswith("    a ==\n        ^")

    def test_a_huge_line_is_cut_around_the_fault(self) -> None:
        source = "a == 1 AND " * 5_000 + "b === 2"
        shown = caret_excerpt(Span(source, source.index("==="), source.index("===") + 3))
        assert len(shown) < 300
        text, carets = shown.splitlines()[1:]
        assert text[carets.index("^") :].startswith("===")

    def test_tabs_control_and_wide_characters_keep_the_caret_in_its_column(self) -> None:
        source = "'名前'\t== \x1b[31m"
        lines = caret_excerpt(Span(source, 8, 9)).splitlines()
        assert "\x1b" not in lines[1]
        # Two wide characters take four cells.
        assert lines[2].index("^") == 4 + 8 + 2

    def test_a_span_over_several_lines_is_marked_on_its_first(self) -> None:
        assert caret_excerpt(Span("ab\ncd", 1, 5)).splitlines()[1:] == ["    ab", "     ^"]
