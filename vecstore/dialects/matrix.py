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
from vecstore.filter.tree import MEMBERSHIPS, NULL_TESTS, ORDERINGS, Expression, Key, Op, Value
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
KIND_SAMPLES: Final[dict[tuple[str, ...], tuple[Any, ...]]] = {
    ("flag",): (True, False),
    ("number",): (2, 1, 0),
    ("ratio",): (1.5, 0.0),
    ("title",): ("text",),
    ("choice",): ("second",),
    ("moment",): ("2024-01-01T00:00:00.000000Z",),
    ("day",): ("2024-01-01",),
    ("hour",): ("12:30:00.000000",),
    ("code",): ("123e4567-e89b-12d3-a456-426614174000",),
    ("flags",): (True, False),
    ("numbers",): (2, 1, 0),
    ("titles",): ("text",),
    ("moments",): ("2024-01-01T00:00:00.000000Z",),
    ("outer", "inner"): ("text",),
    ("outer", "number"): (2, 1, 0),
}
_OPERATOR_GROUPS: Final = (
    (Op.EQ, Op.IN),
    (Op.NE, Op.NIN),
    (Op.GT, Op.GTE, Op.LT, Op.LTE),
    (Op.ISNULL,),
    (Op.ISNOTNULL,),
)
_TIMESTAMP = "timestamp"
_KNOWN = "known text"
_SAMPLES: dict[str, tuple[Any, ...]] = {
    # 0 and 1 apart: an engine may take them for false and true.
    "number": (2, 1, 0, -1.5),
    "string": ("text", ""),
    "bool": (True, False),
    _TIMESTAMP: ("2024-01-01T00:00:00.000000Z",),
    "date": ("2024-01-01",),
    _KNOWN: ("medium",),
}
_SCALARS = ("number", "string", "bool")
_ORDERED = ("number", "string", _TIMESTAMP, "date", _KNOWN)
_GROUPS: tuple[tuple[tuple[Op, ...], tuple[str, ...]], ...] = (
    ((Op.EQ, Op.NE), _SCALARS),
    ((Op.IN, Op.NIN), _SCALARS),
    ((Op.GT, Op.GTE, Op.LT, Op.LTE), _ORDERED),
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
        declared: For a type of value, a schema that declares the key to hold it.
        told: Whether it is always made with that schema; else a cell says where it takes one.
    """

    dialect: str
    options: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str | None, Schema] = field(default_factory=dict)
    told: bool = False

    @property
    def title(self) -> str:
        """The name and the options, as one would write them.

        Example:
            >>> Column("pinecone", {"layout": "exact"}).title
            'pinecone layout=exact'
        """
        if self.told:
            return f"{self.dialect} declared"
        shown = [f"{name}={value}" for name, value in self.options.items()]
        return " ".join([self.dialect, *shown])

    def make(self, value: str | None = None, *, declared: bool | None = None) -> Dialect[Any]:
        """The dialect, with the key declared for a type of value where it is told of that."""
        options = dict(self.options)
        if self.told if declared is None else declared:
            options["schema"] = self.declared.get(value)
        return get_dialect(self.dialect)(**options)


_BY_VALUE: Final[dict[str | None, Schema]] = {
    "number": Schema({KEY: float}),
    "string": Schema({KEY: str}),
    "bool": Schema({KEY: bool}),
    _TIMESTAMP: Schema({KEY: datetime}),
    "date": Schema({KEY: date}),
    _KNOWN: Schema({KEY: ["large", "medium", "small"]}),
    "any": Schema({KEY: str}),
    None: Schema({"outer": {"inner": str}}),
}
_WITH_LAYOUTS: dict[str, tuple[Column, ...]] = {
    "chroma": (
        Column("chroma", {"layout": "exact"}, _BY_VALUE),
        Column("chroma"),
        Column("chroma", declared=_BY_VALUE, told=True),
    ),
    "lancedb": (
        Column("lancedb", {"layout": "exact"}),
        Column("lancedb", declared=_BY_VALUE),
        Column("lancedb", declared=_BY_VALUE, told=True),
    ),
    "milvus": (
        Column("milvus", {"tags": "vecstore_tags"}),
        Column("milvus"),
        Column("milvus", {"target": "lite"}, _BY_VALUE, told=True),
    ),
    "duckdb": (Column("duckdb"), Column("duckdb", declared=_BY_VALUE, told=True)),
    "pgvector": (Column("pgvector"), Column("pgvector", declared=_BY_VALUE, told=True)),
    "pinecone": (
        Column("pinecone", {"layout": "exact"}, _BY_VALUE),
        Column("pinecone"),
        Column("pinecone", declared=_BY_VALUE, told=True),
    ),
    "qdrant": (Column("qdrant"), Column("qdrant", declared=_BY_VALUE, told=True)),
    "redis": (Column("redis", declared=_BY_VALUE), Column("redis", declared=_BY_VALUE, told=True)),
    "sqlite": (Column("sqlite"), Column("sqlite", declared=_BY_VALUE, told=True)),
    "weaviate": (
        Column("weaviate", {"layout": "exact"}, _BY_VALUE),
        Column("weaviate"),
        Column("weaviate", declared=_BY_VALUE, told=True),
    ),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One dialect's answer to one kind of comparison.

    Attributes:
        dialect: Its name.
        state: ``"yes"``: exact; ``"declared"``: exact where a schema declares the key;
            ``"mostly"``: exact but for some values or keys; ``"no"``: refused.
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


@dataclass(frozen=True, slots=True)
class Change:
    """What a dialect answers of a key, without a schema and with one that declares the key."""

    before: State
    after: State

    def __str__(self) -> str:
        return self.after if self.before == self.after else f"{self.before} → **{self.after}**"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Operators on keys of some kinds, and a change for each layout."""

    operators: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[Change, ...]


def schema_changes(names: Iterable[str] | None = None) -> tuple[list[Column], list[ChangeRow]]:
    """What each layout refuses without a schema, and what with one, for every kind of key.

    Args:
        names: Dialects to ask; our own when left out.

    Example:
        >>> columns, rows = schema_changes(["qdrant"])
        >>> [str(row.cells[0]) for row in rows if "datetime" in row.kinds and ">" in row.operators]
        ['no → **yes**']
    """
    listed = built_in_names() if names is None else list(names)
    known = [one for name in listed for one in _WITH_LAYOUTS.get(name, (Column(name),))]
    columns = [one for one in known if not one.told]
    extra = {one.dialect: one.options for one in known if one.told}
    found: dict[tuple[tuple[str, ...], tuple[Change, ...]], list[str]] = {}
    for operators in _OPERATOR_GROUPS:
        for path, declared in EVERY_KIND.keys.items():
            if operators[0] in ORDERINGS and not declared.ordered:
                continue
            filters = [one for op in operators for one in _filters_of(op, path)]
            cells = []
            for column in columns:
                options = {**extra.get(column.dialect, {}), **column.options}
                told = {**options, "schema": EVERY_KIND} if column.dialect in extra else options
                cells.append(
                    Change(_state(column, column.options, filters), _state(column, told, filters))
                )
            name = str(declared) if declared.choices is None else "known texts"
            name = name if len(path) == 1 else f"{name} inside an object"
            symbols = tuple([op.symbol for op in operators])
            found.setdefault((symbols, tuple(cells)), []).append(name)
    return columns, [ChangeRow(one, tuple(kinds), cells) for (one, cells), kinds in found.items()]


def _filters_of(op: Op, path: tuple[str, ...]) -> list[Expression]:
    key = Key(*path)
    if op in NULL_TESTS:
        return [Expression(op, key)]
    literals = KIND_SAMPLES[path]
    if op in MEMBERSHIPS:
        return [Expression(op, key, Value(list(literals)))]
    return [Expression(op, key, Value(one)) for one in literals]


def _state(column: Column, options: Mapping[str, Any], filters: list[Expression]) -> State:
    refused = len(_refusals(get_dialect(column.dialect)(**options), filters))
    return "yes" if not refused else "no" if refused == len(filters) else "mostly"


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
    layouts, rows = schema_changes()
    heads = "".join(f" {column.title} |" for column in layouts)
    changes = [f"| operator | declared as |{heads}", f"|---|---|{'---|' * len(layouts)}"]
    for line in rows:
        operators = " ".join(f"`{operator}`" for operator in line.operators)
        kinds = ", ".join(line.kinds)
        changes.append(f"| {operators} | {kinds} |" + "".join(f" {one} |" for one in line.cells))
    return _PAGE.format(
        table="\n".join(table),
        limits="\n".join(limits),
        notes="\n".join(notes),
        changes="\n".join(changes),
    )


def shown_limit(number: int | None) -> str:
    """A limit as people read it.

    Example:
        >>> shown_limit(2**53 - 1), shown_limit(1000), shown_limit(None)
        ('2^53 - 1', '1,000', '-')
    """
    if number is None:
        return "-"
    bits = number.bit_length()
    return f"2^{bits} - 1" if bits > 40 and number == 2**bits - 1 else f"{number:,}"


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
    refusals = _refusals(column.make(value), filters)
    if not refusals:
        return Cell(column.dialect, "yes")
    if not column.told and value in column.declared:
        left = _refusals(column.make(value, declared=True), filters)
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
so the rows for `==` and `IN` speak of lists as well. Timestamps and dates are strings in the
canonical form that they are stored in; a known text is one of those that a key can hold at all. A
column with an option in its title is the dialect made with that option: *exact* layouts are those
of our own stores. The others take data as any program wrote it, and *declared* is the same with a
[schema](schema.md) that says what the key holds.

- *yes*: the same documents as everywhere.
- *declared*: yes, for keys that a schema declares.
- *mostly*: yes, but for some values or keys, which the note names.
- *no*: refused. The numbers lead to the notes.

{table}

## Why not, and what instead

{notes}

## What a schema changes

What is answered without a schema, and what with one, by what it declares a key to hold. Where both
are the same, one word stands. On Milvus the engine is named as well (`target="lite"` or
`"server"`), which `IS NULL` of numbers and texts needs. A list matches no ordering anywhere, and of
keys that are declared as `any` the same is refused as without. Every line is proven by random
documents of such a schema: on the engine itself or, for Pinecone, Weaviate and servers of Milvus,
under their rules.

{changes}

## Limits

A filter past one of these is refused with the limit's name. A dash: none of the dialect's own; the
limits on text, nesting and size that hold for every filter are in `vecstore.Limits`.

{limits}
"""


if __name__ == "__main__":
    sys.stdout.write(markdown(capability_matrix()))
