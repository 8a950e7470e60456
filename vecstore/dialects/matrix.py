"""What each dialect answers exactly, asked of the dialects themselves.

Every cell is the outcome of compiling one comparison, so it says what the capabilities together
with the dialect's own checks do. `vecstore dialects` shows these tables in a terminal, and
``python -m vecstore.dialects.matrix > docs/dialects.md`` writes the page of the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final, Literal
from uuid import UUID

from vecstore.dialects.base import Dialect
from vecstore.dialects.registry import built_in_names, get_dialect
from vecstore.errors import UnsupportedFilterError
from vecstore.filter.convert import Refusal
from vecstore.filter.tree import MEMBERSHIPS, Expression, Key, Op, Value
from vecstore.schema.schema import Schema

KEY = "key"
EVERY_KIND: Final = Schema(
    {
        "flag": bool,
        "number": int,
        "ratio": float,
        "title": str,
        "choice": ["first", "second", "third"],
        "moment": datetime,
        "day": date,
        "hour": time,
        "code": UUID,
        "flags": list[bool],
        "numbers": list[int],
        "titles": list[str],
        "moments": list[datetime],
        "outer": {"inner": str, "number": int},
    }
)
"""A key of each kind that the lines of the matrix speak of."""
_TIMESTAMP = "timestamp"
_SAMPLES: dict[str, tuple[Any, ...]] = {
    # 0 and 1 apart: an engine may take them for false and true.
    "number": (2, 1, 0, -1.5),
    "string": ("text", ""),
    "bool": (True, False),
    _TIMESTAMP: ("2024-01-01T00:00:00.000000Z",),
}
_SCALARS = ("number", "string", "bool")
_GROUPS: tuple[tuple[tuple[Op, ...], tuple[str, ...]], ...] = (
    ((Op.EQ, Op.NE), _SCALARS),
    ((Op.IN, Op.NIN), _SCALARS),
    ((Op.GT, Op.GTE, Op.LT, Op.LTE), ("number", "string", _TIMESTAMP)),
    ((Op.ISNULL, Op.ISNOTNULL), ("any",)),
)

_LIMITS = (
    ("max_number", "numbers are exact up to"),
    ("max_ordered_number", "numbers are ordered exactly up to"),
    ("float_digits", "significant digits of a float, and most others"),
    ("max_string_bytes", "bytes in a string"),
    ("max_list", "values in one list"),
    ("max_key_bytes", "bytes in a key"),
    ("max_depth", "levels of AND and OR"),
    ("max_atoms", "comparisons in a filter"),
)

State = Literal["yes", "declared", "mostly", "no"]


@dataclass(frozen=True, slots=True)
class Column:
    """A dialect with the options that make a difference to what it answers.

    Attributes:
        dialect: Its name.
        options: Options it is made with.
        declared: For a type of value, options that declare the key with it as well.
    """

    dialect: str
    options: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name and the options, as one would write them.

        Example:
            >>> Column("pinecone", {"layout": "exact"}).title
            'pinecone layout=exact'
        """
        shown = [f"{name}={value}" for name, value in self.options.items()]
        return " ".join([self.dialect, *shown])

    def make(self, value: str | None = None) -> Dialect[Any]:
        """The dialect, with the key declared for a type of value when one is given."""
        declared = self.declared.get(value, {}) if value is not None else {}
        return get_dialect(self.dialect)(**{**self.options, **declared})


_BY_VALUE = {
    value: {"schema": Schema({KEY: kind})}
    for value, kind in {
        "number": float, "string": str, "bool": bool, _TIMESTAMP: datetime, "any": str
    }.items()
}  # fmt: skip
_WITH_LAYOUTS: dict[str, tuple[Column, ...]] = {
    "milvus": (Column("milvus"), Column("milvus", {"tags": "vecstore_tags"})),
    "pinecone": (Column("pinecone"), Column("pinecone", {"layout": "exact"})),
    "qdrant": (Column("qdrant", declared={_TIMESTAMP: {"schema": Schema({KEY: datetime})}}),),
    "weaviate": (
        Column("weaviate", {"layout": "exact"}, declared=_BY_VALUE),
        Column("weaviate", declared=_BY_VALUE),
    ),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One dialect's answer to one kind of comparison.

    Attributes:
        dialect: Its name.
        state: ``"yes"``: exact; ``"declared"``: exact where the key is declared; ``"mostly"``:
            exact but for some values or keys; ``"no"``: refused.
        refusal: What is said where it refuses.
    """

    dialect: str
    state: State
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Operators with one type of value, and a cell for each column."""

    operators: tuple[str, ...]
    values: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Dialect by operator by value type, and the limits of each dialect.

    Attributes:
        columns: Dialects, one of them more than once where an option makes a difference.
        rows: What is answered, what refused.
        limits: What is measured, with one number (or None for no limit) for each column.
        notes: The refusals, each once, in order of appearance; cells are numbered by it.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    limits: tuple[tuple[str, tuple[int | None, ...]], ...]
    notes: tuple[tuple[str, Refusal], ...]

    def note_of(self, cell: Cell) -> int | None:
        """The number of the note that belongs to a cell, from 1; None where it needs none."""
        if cell.refusal is None:
            return None
        return self.notes.index((cell.dialect, cell.refusal)) + 1

    def text_of(self, cell: Cell) -> str:
        """A cell in words, with the number of its note: ``no (2)``."""
        number = self.note_of(cell)
        return cell.state if number is None else f"{cell.state} ({number})"


def capability_matrix(names: Iterable[str] | None = None) -> Matrix:
    """Ask each dialect what it answers.

    Args:
        names: Dialects to ask; our own when left out.

    Raises:
        DialectNotFoundError: If there is none of that name.

    Example:
        >>> matrix = capability_matrix(["pgvector"])
        >>> row = matrix.rows[0]
        >>> row.operators, row.values, matrix.text_of(row.cells[0])
        (('==', '!='), 'number', 'yes')
    """
    listed = built_in_names() if names is None else list(names)
    columns = tuple(
        [column for name in listed for column in _WITH_LAYOUTS.get(name, (Column(name),))]
    )
    rows = [row for operators, values in _GROUPS for value in values
            for row in _rows(columns, operators, value)]  # fmt: skip
    nested = Expression(Op.EQ, Key("outer", "inner"), Value("text"))
    rows.append(Row(("outer.inner",), "nested key", _cells(columns, [nested], None)))
    rows.append(Row(('"odd key!"',), "quoted key", tuple(map(_odd_keys, columns))))
    notes = dict.fromkeys(
        [
            (cell.dialect, cell.refusal)
            for row in rows
            for cell in row.cells
            if cell.refusal is not None
        ]
    )
    capabilities = [column.make().capabilities for column in columns]
    limits = {label: tuple([getattr(one, name) for one in capabilities])
              for name, label in _LIMITS}  # fmt: skip
    known = tuple([row for row in limits.items() if any(limit is not None for limit in row[1])])
    return Matrix(columns, tuple(rows), known, tuple(notes))


def markdown(matrix: Matrix) -> str:
    """The page docs/dialects.md."""
    titles = "".join(f" {column.title} |" for column in matrix.columns)
    bars = "---|" * len(matrix.columns)
    table = [f"| operator | value |{titles}", f"|---|---|{bars}"]
    for row in matrix.rows:
        operators = " ".join(f"`{operator}`" for operator in row.operators)
        cells = "".join(f" {matrix.text_of(cell)} |" for cell in row.cells)
        table.append(f"| {operators} | {row.values} |{cells}")
    limits = [f"| at most |{titles}", f"|---|{bars}"]
    for label, numbers in matrix.limits:
        cells = "".join(f" {shown_limit(number)} |" for number in numbers)
        limits.append(f"| {label} |{cells}")
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


def samples(op: Op, value: str) -> list[Expression]:
    """Comparisons of that operator with values of that type."""
    if value == "any":
        return [Expression(op, Key(KEY))]
    return [
        Expression(op, Key(KEY), Value([literal] if op in MEMBERSHIPS else literal))
        for literal in _SAMPLES[value]
    ]


def _rows(columns: tuple[Column, ...], operators: tuple[Op, ...], value: str) -> list[Row]:
    """One row for operators that every dialect treats alike, otherwise one for each."""
    answers = {op: _cells(columns, samples(op, value), value) for op in operators}
    if len(set(answers.values())) == 1:
        return [Row(tuple([op.symbol for op in operators]), value, answers[operators[0]])]
    return [Row((op.symbol,), value, cells) for op, cells in answers.items()]


def _cells(
    columns: tuple[Column, ...], filters: list[Expression], value: str | None
) -> tuple[Cell, ...]:
    return tuple([_answer(column, filters, value) for column in columns])


def _answer(column: Column, filters: list[Expression], value: str | None) -> Cell:
    refusals = _refusals(column.make(), filters)
    if not refusals:
        return Cell(column.dialect, "yes")
    if value in column.declared:
        left = _refusals(column.make(value), filters)
        if not left:
            return Cell(column.dialect, "declared", refusals[0])
        refusals = left
    return Cell(column.dialect, "mostly" if len(refusals) < len(filters) else "no", refusals[0])


def _refusals(dialect: Dialect[Any], filters: list[Expression]) -> list[Refusal]:
    refused = []
    for filter in filters:
        try:
            dialect.convert(filter)
        except UnsupportedFilterError as error:
            refused.append(Refusal(error.reason, error.remedy))
    return refused


def _odd_keys(column: Column) -> Cell:
    """Whether there are names that the engine cannot address, whichever they are."""
    rule = column.make().capabilities.key_rule
    if rule is None:
        return Cell(column.dialect, "yes")
    return Cell(column.dialect, "mostly", rule.refusal)


_PAGE = """\
# Dialects

The same filter selects the same documents on every backend, or it is refused before anything is
sent. This page says which is which; it is written by `python -m vecstore.dialects.matrix` from the
dialects themselves, and `vecstore dialects` prints it in a terminal. For one filter,
`vecstore check -d NAME FILTER` answers, and `vecstore explain FILTER` for all dialects at once.

## What is answered exactly

AND, OR, NOT and parentheses work everywhere. A list in a document is compared element by element,
so the rows for `==` and `IN` speak of lists as well. A timestamp is a string in the canonical form
that dates and times are stored in. A column with an option in its title is the dialect made with
that option.

- *yes*: the same documents as everywhere.
- *declared*: yes, for keys that the dialect is told of; the note says how.
- *mostly*: yes, but for some values or keys, which the note names.
- *no*: refused. The numbers lead to the notes.

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
