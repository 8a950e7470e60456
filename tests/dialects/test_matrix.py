"""The matrix of dialects says what the dialects do, and the page in docs/ says what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vecstore.dialects.matrix import (
    Column,
    Matrix,
    capability_matrix,
    markdown,
    samples,
)
from vecstore.dialects.registry import built_in_names, get_dialect
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.convert import ALL_LITERALS
from vecstore.filter.tree import Op
from vecstore.filter.values import kind_of

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "dialects.md"


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return capability_matrix()


def test_the_page_is_up_to_date() -> None:
    written = PAGE.read_text("utf-8")
    assert written == markdown(capability_matrix()), (
        "run: python -m vecstore.dialects.matrix > docs/dialects.md"
    )


def test_the_page_is_written_by_the_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "vecstore.dialects.matrix"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert run.stdout.decode("utf-8") == PAGE.read_text("utf-8")
    assert run.stderr == b""


def test_every_dialect_has_a_column_and_every_operator_with_every_type_a_row(
    matrix: Matrix,
) -> None:
    assert {column.dialect for column in matrix.columns} == set(built_in_names())
    seen = {(operator, row.values) for row in matrix.rows for operator in row.operators}
    for op, kinds in ALL_LITERALS.items():
        for values in [kind.value for kind in kinds] or ["any"]:
            assert (op.symbol, values) in seen
    assert all(len(row.cells) == len(matrix.columns) for row in matrix.rows)


def test_each_cell_is_what_the_dialect_does(matrix: Matrix) -> None:
    symbols = {op.symbol: op for op in Op}
    for row in matrix.rows:
        for operator in row.operators:
            if operator not in symbols:  # the two rows about keys
                continue
            for column, cell in zip(matrix.columns, row.cells, strict=True):
                dialect = column.make(row.values if cell.state == "declared" else None)
                answered = 0
                filters = samples(symbols[operator], row.values)
                for filter in filters:
                    try:
                        dialect.compile(filter)
                        answered += 1
                    except UnsupportedFilterError:
                        pass
                if cell.state in ("yes", "declared"):
                    assert answered == len(filters), (column.title, operator, row.values)
                if cell.state == "no":
                    assert answered == 0, (column.title, operator, row.values)
                assert (cell.refusal is None) == (cell.state == "yes")


def test_a_yes_is_declared_by_the_capabilities(matrix: Matrix) -> None:
    symbols = {op.symbol: op for op in Op}
    for row in matrix.rows:
        for operator in row.operators:
            if operator not in symbols or row.values == "any":
                continue
            kinds = {
                kind_of(filter.value.items[0]) for filter in samples(symbols[operator], row.values)
            }
            for column, cell in zip(matrix.columns, row.cells, strict=True):
                if cell.state == "yes":
                    assert kinds <= column.make().capabilities.literals[symbols[operator]]


def test_notes_are_numbered_once_and_all_used(matrix: Matrix) -> None:
    used = {matrix.note_of(cell) for row in matrix.rows for cell in row.cells} - {None}
    assert used == set(range(1, len(matrix.notes) + 1))
    assert len(set(matrix.notes)) == len(matrix.notes)


def test_titles_name_options_that_the_dialects_have(matrix: Matrix) -> None:
    for column in matrix.columns:
        name, *options = column.title.split(" ")
        assert isinstance(column.make(), get_dialect(name))
        assert len(options) <= 1
    assert Column("weaviate", {"layout": "plain"}).title == "weaviate layout=plain"


def test_limits_that_no_dialect_has_are_left_out(matrix: Matrix) -> None:
    assert matrix.limits
    for _, numbers in matrix.limits:
        assert len(numbers) == len(matrix.columns)
        assert any(number is not None for number in numbers)
