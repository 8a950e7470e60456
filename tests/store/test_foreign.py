"""Records that are no documents: which they are, and how they are told of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest

from vecstore import DocumentError, ForeignRecordWarning, SchemaMismatchError, SimpleVectorStore
from vecstore.document import stored_document
from vecstore.store.foreign import ForeignRecords, fault_of
from vecstore.store.ranking import filled, ranked


@pytest.mark.parametrize(
    ("document_id", "metadata", "fault"),
    [
        ("a", {}, None),
        ("a", None, None),
        (None, {}, "no id"),
        ("", {}, "its id is empty"),
        (7, {}, "its id is a number"),
        ("a", [], "metadata is a list"),
        ("a", "x", "metadata is a text"),
        ("a", 0, "metadata is a number"),
        ("a", False, "metadata is a bool"),
    ],
)
def test_what_is_no_document(document_id: Any, metadata: Any, fault: str | None) -> None:
    found = fault_of(document_id, metadata)
    assert found is None if fault is None else fault in str(found)


def test_the_first_record_of_a_call_is_told_of() -> None:
    foreign = ForeignRecords("the table docs")
    with pytest.warns(ForeignRecordWarning, match=r"the table docs .* 7: it has no id"):
        foreign.leave_out(7, "it has no id")
    foreign.leave_out(8, "it has no id")  # a warning would fail the test
    assert foreign.count == 2


def test_where_warnings_are_errors_the_schema_does_not_match() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SchemaMismatchError, match="it has no id"):
            ForeignRecords("the table docs").leave_out(7, "it has no id")


@pytest.mark.parametrize(
    ("count", "most", "asked", "found"),
    [
        (2, 100, [2, 6], [4, 5]),  # four strangers come first
        (1, 3, [1, 3], []),
        (9, 100, [9, 17], [4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_search_fills_up_with_the_next_documents(
    count: int, most: int, asked: list[int], found: list[int]
) -> None:
    sizes: list[int] = []

    def ask(size: int) -> list[int]:
        sizes.append(size)
        return list(range(10))[:size]

    def read(records: Sequence[int]) -> list[int]:
        return [record for record in records if record >= 4]

    assert filled(ask, read, count, most) == found
    assert sizes == asked


def test_a_score_past_the_range_does_not_make_documents_of_others_fail() -> None:
    held = {"mixed": [1, "a", None, {"b": []}], "nul": "\0"}
    read = stored_document("a", "NUL \0 and half a character \ud83d", held, None, 1.0000001)
    (found,) = ranked([read], "cosine")
    assert (found.id, found.text, found.score) == ("a", read.text, 1.0)
    assert found.metadata == held
    with pytest.raises(DocumentError):  # it is still checked when it is added
        SimpleVectorStore().add([found])
