"""LanceDB: tables in a folder, in our own layout or with typed columns as others have them."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import count
from typing import Any

from tests.engines.rows import Documents, Rows
from vecstore import Schema
from vecstore.dialects.lancedb.layout import ORDERED, TOKENS, ordered_values
from vecstore.dialects.tokens import document_tokens

Columns = Callable[[list[Mapping[str, Any]]], Any]
"""Makes a table of arrow from documents, but for the ids."""

_MOST_ROWS = 1_000_000


def own_columns(documents: list[Mapping[str, Any]]) -> Any:
    """The two columns of our own layout that filters ask for."""
    import pyarrow as pa

    ordered = [json.dumps(ordered_values(one)) for one in documents]
    return pa.table(
        {
            TOKENS: pa.array([document_tokens(one) for one in documents], pa.list_(pa.string())),
            ORDERED: pa.array(ordered, pa.json_()),
        }
    )


def typed_columns(schema: Schema) -> Columns:
    """A column for each key that a schema declares, with the names of objects as structs."""
    import pyarrow as pa

    numbers = {"int": pa.int64(), "float": pa.float64(), "decimal": pa.float64()}

    def type_of(declared: Any) -> Any:
        kind = numbers.get(declared.kind, pa.bool_() if declared.kind == "bool" else pa.string())
        return pa.list_(kind) if declared.many else kind

    types: dict[str, Any] = {}
    for path, declared in schema.keys.items():
        inner = types
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = type_of(declared)

    def as_type(found: Any) -> Any:
        if not isinstance(found, dict):
            return found
        return pa.struct([(name, as_type(inner)) for name, inner in found.items()])

    def value_of(found: Any, value: Any) -> Any:
        if found == pa.float64():  # arrow takes no int that is past 2**53
            return None if value is None else float(value)
        if found == pa.list_(pa.float64()):
            return None if value is None else [float(one) for one in value]
        if not isinstance(found, dict):
            return value
        if not isinstance(value, dict):
            return None
        return {name: value_of(inner, value.get(name)) for name, inner in found.items()}

    def columns(documents: list[Mapping[str, Any]]) -> Any:
        return pa.table(
            {
                name: pa.array([value_of(one, row.get(name)) for row in documents], as_type(one))
                for name, one in types.items()
            }
        )

    return columns


class LanceRows(Rows):
    """Tables in a folder, one for each time that something is loaded; queries are conditions."""

    name = "LanceDB"
    asked_once = True

    def __init__(self, columns: Columns = own_columns, *, index_from: int | None = None) -> None:
        import lancedb

        super().__init__()
        self._folder = tempfile.mkdtemp(prefix="vecstore-lancedb-")
        self._database: Any = lancedb.connect(self._folder, read_consistency_interval=timedelta(0))
        self._columns = columns
        self._index_from = index_from
        self._numbers = count(1)
        self._table: Any = None

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return (ValueError, RuntimeError)

    def _load(self, rows: Documents) -> None:
        import pyarrow as pa

        name = f"documents_{next(self._numbers)}"
        former, self._table = self._table, None
        if former is not None:
            self._database.drop_table(former.name)
        columns = self._columns(list(rows.values()))
        table = columns.add_column(0, "row", pa.array(list(rows), pa.string()))
        self._table = self._database.create_table(name, table)
        if self._index_from is not None and len(rows) >= self._index_from:
            from lancedb.index import LabelList

            self._table.create_index(TOKENS, config=LabelList())

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a condition carries its literals itself"
        search = self._table.search().select(["row"]).limit(_MOST_ROWS)
        if query is not None:
            search = search.where(query)
        return set(search.to_arrow()["row"].to_pylist())

    def close(self) -> None:
        self._table = self._database = None
        shutil.rmtree(self._folder, ignore_errors=True)
