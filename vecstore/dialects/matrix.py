"""What each dialect answers exactly, asked of the dialects themselves.

Every cell is the outcome of compiling one comparison, so it says what the capabilities together
with the dialect's own checks do. `vecstore dialects` shows these tables in a terminal, and
``python -m vecstore.dialects.matrix > docs/dialects.md`` writes the page of the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vecstore.dialects.base import Dialect
from vecstore.dialects.registry import built_in_names, get_dialect
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.ast import Expression, Key, Value
from vecstore.filter.convert import Refusal
from vecstore.filter.op import Op
from vecstore.filter.values import Kind

_SAMPLES: dict[Kind, Any] = {Kind.NUMBER: 1, Kind.STRING: "text", Kind.BOOL: True}
_SCALARS = (Kind.NUMBER, Kind.STRING, Kind.BOOL)
_GROUPS: tuple[tuple[tuple[Op, ...], tuple[Kind | None, ...]], ...] = (
    ((Op.EQ, Op.NE), _SCALARS),
    ((Op.IN, Op.NIN), _SCALARS),
    ((Op.GT, Op.GTE, Op.LT, Op.LTE), (Kind.NUMBER, Kind.STRING)),
    ((Op.ISNULL, Op.ISNOTNULL), (None,)),
)

_LIMITS = (
    ("max_number", "numbers are exact up to"),
    ("max_string_bytes", "bytes in a string"),
    ("max_list", "values in one list"),
    ("max_key_bytes", "bytes in a key"),
    ("max_depth", "levels of AND and OR"),
    ("max_atoms", "comparisons in a filter"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One dialect's answer to one kind of comparison; ``refusal`` is None when it is exact."""

    dialect: str
    refusal: Refusal | None

    def __bool__(self) -> bool:
        return self.refusal is None


@dataclass(frozen=True, slots=True)
class Row:
    """Operators with one kind of value, and a cell for each dialect."""

    operators: tuple[str, ...]
    values: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Dialect by operator by value type, and the limits of each dialect.

    Attributes:
        dialects: The columns.
        rows: What is answered, what refused.
        limits: What is measured, with one number (or None for no limit) for each dialect.
        notes: The refusals, each once, in order of appearance; cells are numbered by it.
    """

    dialects: tuple[str, ...]
    rows: tuple[Row, ...]
    limits: tuple[tuple[str, tuple[int | None, ...]], ...]
    notes: tuple[tuple[str, Refusal], ...]

    def note_of(self, cell: Cell) -> int | None:
        """The number of the note that explains a refusal, from 1; None for an exact answer."""
        if cell.refusal is None:
            return None
        return self.notes.index((cell.dialect, cell.refusal)) + 1


def capability_matrix(names: Iterable[str] | None = None) -> Matrix:
    """Ask each dialect, with its default options, what it answers.

    Args:
        names: Dialects to ask; our own when left out.

    Raises:
        DialectNotFoundError: If there is none of that name.

    Example:
        >>> matrix = capability_matrix(["pgvector"])
        >>> matrix.rows[0].operators, matrix.rows[0].values, bool(matrix.rows[0].cells[0])
        (('==', '!='), 'number', True)
    """
    listed = tuple(built_in_names() if names is None else names)
    dialects = [get_dialect(name)() for name in listed]
    rows = [row for operators, kinds in _GROUPS for kind in kinds
            for row in _rows(dialects, operators, kind)]  # fmt: skip
    nested = Expression(Op.EQ, Key("outer", "inner"), Value(1))
    rows.append(Row(("outer.inner",), "nested key", _cells(dialects, nested)))
    rows.append(Row(('"odd key!"',), "quoted key", tuple(map(_odd_keys, dialects))))
    notes = dict.fromkeys(
        (cell.dialect, cell.refusal)
        for row in rows
        for cell in row.cells
        if cell.refusal is not None
    )
    limits = tuple(
        (label, tuple(getattr(dialect.capabilities, name) for dialect in dialects))
        for name, label in _LIMITS
    )
    return Matrix(listed, tuple(rows), limits, tuple(notes))


def markdown(matrix: Matrix) -> str:
    """The page docs/dialects.md."""
    head = "| operator | value |" + "".join(f" {name} |" for name in matrix.dialects)
    table = [head, "|---|---|" + "---|" * len(matrix.dialects)]
    for row in matrix.rows:
        operators = " ".join(f"`{operator}`" for operator in row.operators)
        cells = "".join(f" {_markdown_cell(matrix, cell)} |" for cell in row.cells)
        table.append(f"| {operators} | {row.values} |{cells}")
    limits = ["| limit |" + "".join(f" {name} |" for name in matrix.dialects),
              "|---|" + "---|" * len(matrix.dialects)]  # fmt: skip
    limits += [
        f"| {label} |" + "".join(f" {shown_limit(number)} |" for number in numbers)
        for label, numbers in matrix.limits
    ]
    notes = []
    for number, (name, refusal) in enumerate(matrix.notes, 1):
        instead = f" Instead: {refusal.remedy}." if refusal.remedy else ""
        notes.append(f"{number}. {name}: {refusal.reason}.{instead}")
    return _PAGE.format(table="\n".join(table), limits="\n".join(limits), notes="\n".join(notes))


def shown_limit(number: int | None) -> str:
    """A limit as people read it.

    Example:
        >>> shown_limit(2**53 - 1), shown_limit(1000), shown_limit(None)
        ('2^53 - 1', '1,000', '-')
    """
    if number is None:
        return "-"
    return "2^53 - 1" if number == 2**53 - 1 else f"{number:,}"


def _rows(dialects: list[Dialect[Any]], operators: tuple[Op, ...], kind: Kind | None) -> list[Row]:
    """One row for operators that every dialect treats alike, otherwise one for each."""
    values = "any" if kind is None else kind.value
    answers = {op: _cells(dialects, _sample(op, kind)) for op in operators}
    if len(set(answers.values())) == 1:
        return [Row(tuple(op.symbol for op in operators), values, answers[operators[0]])]
    return [Row((op.symbol,), values, cells) for op, cells in answers.items()]


def _sample(op: Op, kind: Kind | None) -> Expression:
    if kind is None:
        return Expression(op, Key("key"))
    sample = _SAMPLES[kind]
    return Expression(op, Key("key"), Value([sample] if op in (Op.IN, Op.NIN) else sample))


def _cells(dialects: list[Dialect[Any]], filter: Expression) -> tuple[Cell, ...]:
    return tuple([_answer(dialect, filter) for dialect in dialects])


def _answer(dialect: Dialect[Any], filter: Expression) -> Cell:
    try:
        dialect.convert(filter)
    except UnsupportedFilterError as error:
        return Cell(dialect.name, Refusal(error.reason, error.remedy))
    return Cell(dialect.name, None)


def _odd_keys(dialect: Dialect[Any]) -> Cell:
    """Whether there are names that the engine cannot address, whichever they are."""
    rule = dialect.capabilities.key_rule
    return Cell(dialect.name, None if rule is None else rule.refusal)


def _markdown_cell(matrix: Matrix, cell: Cell) -> str:
    number = matrix.note_of(cell)
    return "yes" if number is None else f"no ({number})"


_PAGE = """\
# Dialects

The same filter selects the same documents on every backend, or it is refused before anything is
sent. This page says which is which; it is written by `python -m vecstore.dialects.matrix` from the
dialects themselves, and `vecstore dialects` prints it in a terminal. For one filter,
`vecstore check -d NAME FILTER` answers, and `vecstore explain FILTER` for all dialects at once.

## What is answered exactly

AND, OR, NOT and parentheses work everywhere. A list in a document is compared element by element,
so the rows for `==` and `IN` speak of lists as well. A number in parentheses leads to the notes.

{table}

## Why not, and what instead

{notes}

## Limits

A filter past one of these is refused with the limit's name. A dash: none of the dialect's own; the
limits on text, nesting and size that hold for every filter are in `vecstore.Limits`.

{limits}
"""


if __name__ == "__main__":
    sys.stdout.write(markdown(capability_matrix()))
