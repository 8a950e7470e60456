"""The matrix of dialects says what the dialects do, and the page in docs/ says what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.conformance import (  # noqa: F401  # so that their suites are known
    test_chroma,
    test_duckdb,
    test_lancedb,
    test_milvus,
    test_pgvector,
    test_pinecone,
    test_qdrant,
    test_redis,
    test_sqlite,
    test_weaviate,
)
from tests.dialects.conformance.conformance import DECLARED, Declared
from vecstore.dialects.matrix import (
    EVERY_KIND,
    KIND_SAMPLES,
    Column,
    Matrix,
    capability_matrix,
    markdown,
    samples,
    schema_changes,
)
from vecstore.dialects.registry import built_in_names, get_dialect
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.convert import ALL_LITERALS
from vecstore.filter.tree import MEMBERSHIPS, NULL_TESTS, Expression, Key, Op, Value
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
                dialect = column.make(row.values, declared=column.told or cell.state == "declared")
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
                if cell.state == "yes" and not column.told:
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
        assert (options == ["declared"]) is column.told
    assert Column("weaviate", {"layout": "plain"}).title == "weaviate layout=plain"


def test_limits_that_no_dialect_has_are_left_out(matrix: Matrix) -> None:
    assert matrix.limits
    for _, numbers in matrix.limits:
        assert len(numbers) == len(matrix.columns)
        assert any(number is not None for number in numbers)


# --- what a schema changes ---------------------------------------------------------------------


def test_every_dialect_has_a_column_that_is_declared(matrix: Matrix) -> None:
    told = {column.dialect for column in matrix.columns if column.told}
    assert told == set(built_in_names())


def test_what_a_schema_changes_is_what_the_dialects_do() -> None:
    columns, rows = schema_changes()
    symbols = {op.symbol: op for op in Op}
    names = {str(one) if one.choices is None else "known texts": path
             for path, one in EVERY_KIND.keys.items() if len(path) == 1}  # fmt: skip
    seen = set()
    for row in rows:
        for symbol in row.operators:
            for kind in row.kinds:
                seen.add((symbol, kind))
                path = names.get(kind) or ("outer", "inner" if kind.startswith("str") else "number")
                literals = list(KIND_SAMPLES[path])
                for column, cell in zip(columns, row.cells, strict=True):
                    target = {"target": "lite"} if column.dialect == "milvus" else {}
                    for state, schema in ((cell.before, None), (cell.after, EVERY_KIND)):
                        dialect = get_dialect(column.dialect)(
                            **{**target, **column.options, "schema": schema}
                        )
                        answered = [_is_answered(dialect, symbols[symbol], path, one)
                                    for one in literals]  # fmt: skip
                        wanted = {"yes": all(answered), "no": not any(answered), "mostly": True}
                        assert wanted[state], (column.title, symbol, kind, state)
    assert {symbol for symbol, _ in seen} == {op.symbol for op in ALL_LITERALS}
    assert {kind for _, kind in seen} == {*names, "str inside an object", "int inside an object"}


def _is_answered(dialect: Any, op: Op, path: tuple[str, ...], literal: Any) -> bool:
    operands: list[Any] = [Key(*path)]
    if op not in NULL_TESTS:
        operands.append(Value([literal] if op in MEMBERSHIPS else literal))
    try:
        dialect.compile(Expression(op, *operands))
    except UnsupportedFilterError:
        return False
    return True


def test_a_schema_takes_nothing_away() -> None:
    order = ("no", "mostly", "yes")
    for row in schema_changes()[1]:
        for cell in row.cells:
            assert order.index(cell.after) >= order.index(cell.before)


def test_every_line_is_proven_on_the_engines() -> None:
    """The suites of declared dialects draw documents with a key of every kind."""
    assert DECLARED.keys.items() >= EVERY_KIND.keys.items()
    suites = [suite for suite in _below(Declared) if suite.__name__.startswith("Test")]
    assert {suite.dialect.name for suite in suites} == set(built_in_names())
    for suite in suites:
        assert suite.dialect.schema is suite.schema
    assert set(KIND_SAMPLES) == set(EVERY_KIND.keys)


def _below(suite: type[Any]) -> list[type[Any]]:
    return [one for below in suite.__subclasses__() for one in (below, *_below(below))]
