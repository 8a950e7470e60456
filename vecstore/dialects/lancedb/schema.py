"""The table of a store: its columns, made and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vecstore.dialects.lancedb.layout import EXTRA, ID, METADATA, ORDERED, TEXT, TOKENS, VECTOR
from vecstore.store.capabilities import METRICS, Metric
from vecstore.store.drivers import misfit

if TYPE_CHECKING:
    import pyarrow as pa

_NOTE: Final = b"vecstore"
_OWN: Final = (ID, TEXT, METADATA, TOKENS, ORDERED, VECTOR)


def table_schema(dimension: int, metric: Metric, *, extra: bool) -> pa.Schema:
    """The columns of a table, and a note of how vectors compare.

    None of them can be empty but that for what stands beside metadata, where there is one.
    """
    import pyarrow as pa

    columns = {
        ID: pa.string(),
        TEXT: pa.string(),
        METADATA: pa.string(),
        TOKENS: pa.list_(pa.string()),
        ORDERED: pa.json_(),
        VECTOR: pa.list_(pa.float32(), dimension),
    }
    fields = [pa.field(name, kind, nullable=False) for name, kind in columns.items()]
    return pa.schema(
        [*fields, *([pa.field(EXTRA, pa.string())] if extra else [])],
        metadata={_NOTE: json.dumps({"metric": metric}).encode()},
    )


def check_table(found: pa.Schema, name: str, metric: Metric, dimension: int | None) -> int:
    """Hold a table that is there to what a store wants.

    Returns:
        The length of its vectors.

    Raises:
        SchemaMismatchError: Naming every difference.
    """
    title = f"the table {name!r}"
    missing = [column for column in _OWN if column not in found.names]
    if missing:
        raise misfit(
            title,
            [f"it has no column {', '.join(missing)}, and is none that vecstore made"],
            "; copy its rows into a table of another name, or filter it where it is by the dialect "
            "LanceDB(schema=...)",
        )
    vectors = found.field(VECTOR).type
    length = getattr(vectors, "list_size", None)
    wanted = table_schema(length or 1, metric, extra=False)
    faults = [
        f"the column {column} is {_kind(found, column)}, not {_kind(wanted, column)}"
        for column in _OWN
        if _kind(found, column) != _kind(wanted, column)
    ]
    faults += [
        f"the column {column} can be null" for column in _OWN if found.field(column).nullable
    ]
    others = [field.name for field in found if field.name not in _OWN and not field.nullable]
    faults += [f"the column {column} is none of ours and cannot be null" for column in others]
    if length is not None and dimension is not None and dimension != length:
        faults.append(f"its vectors have {length} numbers, not {dimension}")
    stored = _metric_of(found)
    if stored is not None and stored != metric:
        faults.append(f"it compares by {stored}, not by {metric}: open it with metric={stored!r}")
    if faults:
        raise misfit(title, faults)
    assert length is not None
    return int(length)


def has_extra(found: pa.Schema) -> bool:
    """Whether a table has a column for what stands beside metadata."""
    return EXTRA in found.names and _kind(found, EXTRA) == "string" and found.field(EXTRA).nullable


def _metric_of(found: pa.Schema) -> str | None:
    try:
        note = json.loads((found.metadata or {}).get(_NOTE, b"null"))
    except ValueError:
        return None
    metric = note.get("metric") if isinstance(note, dict) else None
    return metric if metric in METRICS else None


def _kind(schema: pa.Schema, column: str) -> str:
    """The type of a column in words; JSON is bytes to whoever does not know the extension."""
    field = schema.field(column)
    extension = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    name = extension or getattr(field.type, "extension_name", "")
    if name in ("arrow.json", "lance.json"):
        return "JSON"
    kind = str(field.type)
    return kind.replace("large_string", "string")
