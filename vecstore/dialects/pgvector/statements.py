"""The SQL of a pgvector store: its quoted names once, and a place for every value."""

from __future__ import annotations

from typing import Any, Final

from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.schema import OPERATORS, TableFacts, TableSpec
from vecstore.dialects.pgvector.shared import parameters, placeholders
from vecstore.dialects.sql import quoted
from vecstore.store.backend import Order, Selection
from vecstore.store.capabilities import IdCharset, OnConflict
from vecstore.store.limits import is_in_charset

MOST_ROWS: Final = 2**60
"""More than any table has, and within what a LIMIT can say, four times over."""

_ID_TYPES: Final[dict[IdCharset, str]] = {"any": "text", "uuid": "uuid", "integer": "bigint"}


class Statements:
    """Statements in the ``pyformat`` style; ``where`` is empty or a whole WHERE clause.

    Args:
        spec: The table.
        facts: What was found out about it.

    Attributes:
        facts: The same.
        shown: The table for people.
        own_columns: Those of the table that say which rows are this store's; mostly none.
        everything: The parameters that every statement takes, for these columns.
    """

    copy: Final = "COPY pg_temp.vecstore_staging FROM STDIN (FORMAT BINARY)"
    staged: Final = "pg_temp.vecstore_staging"

    def __init__(self, spec: TableSpec, facts: TableFacts) -> None:
        names = (spec.schema, spec.table) if spec.schema else (spec.table,)
        self._table = _escaped(*names)
        self._id = _escaped(spec.id_column)
        self._text = _escaped(spec.text_column)
        self._metadata = _escaped(spec.metadata_column)
        self._embedding = _escaped(spec.embedding_column)
        # Everything of the extension is named with its schema, which need not be on the path.
        self._extra = "NULL" if facts.extra is None else _escaped(facts.extra)
        self._extension = _escaped(facts.extension_schema)
        self._operator = f"OPERATOR({self._extension}.{OPERATORS[spec.metric]})"
        self._vector = f"{self._extension}.vector"
        self._id_type = _ID_TYPES[facts.id_charset]
        self.facts = facts
        self.shown = spec.shown
        # Which rows are this store's; every statement that reads or changes rows has it.
        self.everything = parameters(spec.where)
        self.own_columns = [name for name, _ in spec.where]
        self._own_columns = [_escaped(name) for name in self.own_columns]
        self._own_values = placeholders(facts.where_types)
        self._own = self._owned("")
        self._order = f'{self._id}::text COLLATE "C"'
        self.count = f"SELECT count(*) FROM {self._table}"
        self.staging = (
            "CREATE TEMPORARY TABLE IF NOT EXISTS vecstore_staging "
            f"(id text, body text, metadata text, extra text, embedding {self._vector}) "
            "ON COMMIT DELETE ROWS"
        )
        self.arrays = (
            "unnest(%(new_ids)s::text[], %(new_texts)s::text[], %(new_metadata)s::text[], "
            "%(new_extras)s::text[], "
            f"%(new_vectors)s::text[]::{self._vector}[])"
            " AS arrays(id, body, metadata, extra, embedding)"
        )
        cast = "" if self._id_type == "text" else f"::{self._id_type}[]"
        self._among = f"{self._id} = ANY(%(ids)s::text[]{cast})"  # bound as ``ids``
        self._besides = f"{self._id} <> ALL(%(excluded)s::text[]{cast})"
        self.ids = f"SELECT {self._id}::text FROM {self._table}"

    def where(self, selection: Selection) -> tuple[str, dict[str, Any]]:
        """The WHERE clause of a selection, empty for everything, with its parameters."""
        conditions = [self._own] if self._own else []
        params = dict(self.everything)
        if selection.ids is not None:
            charset = self.facts.id_charset
            conditions.append(self._among)
            # Others than the column can hold are unknown without asking.
            params["ids"] = [id for id in selection.ids if is_in_charset(id, charset)]
        if selection.excluded:
            charset = self.facts.id_charset
            conditions.append(self._besides)
            params["excluded"] = [id for id in selection.excluded if is_in_charset(id, charset)]
        if selection.filter is not None:
            conditions.append(f"({selection.filter.native})")
            params.update(selection.filter.params)
        return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), params

    def _owned(self, row: str) -> str:
        """The condition on rows that are this store's; empty where it has the whole table."""
        pairs = zip(self._own_columns, self._own_values, strict=True)
        return " AND ".join([f"{row}{name} = {value}" for name, value in pairs])

    def insert(self, source: str, on_conflict: OnConflict, within: str | None = None) -> str:
        """Move the rows of ``source`` into the table.

        Args:
            source: Where the rows are.
            on_conflict: What becomes of rows whose id is taken.
            within: A condition on rows that may be replaced; others stay as they are.

        Returns:
            A statement that says which rows were moved, and of each whether another row stood
            there; one that replaces any row says nothing where a table does not tell that. It
            takes the parameters of ``everything`` as well.
        """
        # Whoever replaces a row locks it first, and the lock stays on the new one: xmax is 0 of a
        # row that was not there. Tables of other kinds than the usual have no such column.
        told = "held.xmax <> 0" if self.facts.tells_replaced else "NULL"
        kept = [self._extra] if self.facts.extra is not None else []
        returning = f"RETURNING held.{self._id}::text, {told}"
        if on_conflict == "replace":
            columns = (self._text, self._metadata, self._embedding, *kept)
            changes = ", ".join([f"{name} = excluded.{name}" for name in columns])
            conflict = f"DO UPDATE SET {changes}"
            # The row as it is once it is locked, not as the statement first saw it. In the
            # subquery the names of columns mean this row and not the one to be inserted.
            inside = f"(SELECT ({within}) FROM (SELECT held.*) AS stored)"
            conditions = [self._owned("held.")] if self._own else []
            if within is not None:
                conditions.append(inside)
            if conditions:
                conflict += f" WHERE {' AND '.join(conditions)}"
            if conditions or self.facts.tells_replaced:
                conflict += f" {returning}"
        else:
            conflict = f"DO NOTHING {returning}"
        # In one order, two writers of the same documents wait for each other and do not deadlock.
        parts = [self._id, self._text, self._metadata, self._embedding, *kept, *self._own_columns]
        values = [f"id::{self._id_type}", "body", "metadata::jsonb", "embedding"]
        values += ["extra"] if kept else []
        return (
            f"INSERT INTO {self._table} AS held ({', '.join(parts)}) "
            f"SELECT {', '.join([*values, *self._own_values])} FROM {source} "
            f'ORDER BY id COLLATE "C" ON CONFLICT ({self._id}) {conflict}'
        )

    def update(self, where: str) -> str:
        """Set and unset keys of the documents that ``where`` selects; see :meth:`_change`."""
        return self._change(
            where,
            f"UPDATE {self._table} AS held SET {self._metadata} = "
            f"(coalesce(nullif(held.{self._metadata}, 'null'::jsonb), '{{}}'::jsonb) "
            "|| %(set)s::jsonb) - %(unset)s::text[] FROM picked",
        )

    def delete(self, where: str) -> str:
        """Delete the documents that ``where`` selects; see :meth:`_change`."""
        return self._change(where, f"DELETE FROM {self._table} AS held USING picked")

    def delete_telling(self, where: str) -> str:
        """The same, with an array of the deleted ids in place of their number."""
        delete = f"DELETE FROM {self._table} AS held USING picked"
        return self._change(where, delete, "coalesce(array_agg(changed_id), '{}')")

    def _change(self, where: str, change: str, told: str = "count(*)") -> str:
        """Change rows in the order of their ids, so that two writers cannot deadlock.

        Returns:
            A statement with one row: how many were changed, the first id of a row that was selected
            and is no document, and whether there is one.
        """
        lock = " FOR UPDATE" if self.facts.lockable else ""
        # Once more, of the row as it is when it is changed: it may not have been locked.
        own = f" AND {self._owned('held.')}" if self._own else ""
        return (
            f"WITH picked AS MATERIALIZED (SELECT {self._id} AS picked_id, "
            # Metadata that is missing, or null, is no metadata.
            f"coalesce(jsonb_typeof({self._metadata}), 'null') IN ('object', 'null') AS sound "
            f"FROM {self._table}{where} ORDER BY {self._order}{lock}), "
            f"changed AS ({change} WHERE held.{self._id} = picked.picked_id AND picked.sound{own} "
            f"RETURNING held.{self._id}::text AS changed_id) SELECT (SELECT {told} FROM changed), "
            "(SELECT min(picked_id::text) FROM picked WHERE NOT sound)"
        )

    def clear(self, where: str) -> str:
        """Delete the rows that ``where`` selects, in no order."""
        return f"DELETE FROM {self._table}{where}"

    def outside(self, within: str | None) -> str:
        """Ids among those bound as ``ids`` of rows that are not this store's, or not in a scope."""
        inside = [f"({condition})" for condition in (self._own, within) if condition]
        return (
            f"SELECT {self._id}::text FROM {self._table} "
            f"WHERE {self._among} AND ({' AND '.join(inside)}) IS NOT TRUE"
        )

    def select(self, where: str, include_embedding: bool, limit: int | None) -> str:
        """Whole documents."""
        bound = "" if limit is None else f" LIMIT {min(limit, MOST_ROWS):d}"
        return f"SELECT {self._parts(include_embedding)} FROM {self._table}{where}{bound}"

    def textless(self, where: str, include_embedding: bool) -> str:
        """Whole documents but for their texts."""
        return f"SELECT {self._parts(include_embedding, 'NULL')} FROM {self._table}{where}"

    def metadata(self, where: str, *, lock: bool = False) -> str:
        """Documents without their texts; with ``lock``, nobody else changes them meanwhile."""
        held = " FOR UPDATE" if lock and self.facts.lockable else ""
        order = f" ORDER BY {self._order}" if lock else ""
        return (
            f"SELECT {self._id}::text, NULL, {self._metadata}::text, NULL, NULL "
            f"FROM {self._table}{where}{order}{held}"
        )

    def values(self, where: str, path: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        """Whole values at a path, as JSON, each with how many rows hold it; with its parameters.

        By their text 1 and 1.0 are two, and which of them rows hold is not lost.
        """
        held, params = self._held(where, path)
        return (
            'SELECT written, count(*) FROM (SELECT vecstore_value::text COLLATE "C" AS written '
            f"FROM {held} WHERE jsonb_typeof(vecstore_value) NOT IN ('object', 'null')) AS texts "
            "GROUP BY written",
            params,
        )

    def extremes(self, where: str, path: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        """One row: the smallest and largest number at a path, as JSON, and the outermost texts.

        Of equal numbers the one with the fewest decimals, which is the integer.
        """
        held, params = self._held(where, path)
        scaled = "number IS NOT NULL"
        return (
            f"SELECT (min(ARRAY[number, scale(number)]) FILTER (WHERE {scaled}))[1]::text, "
            f"(max(ARRAY[number, -scale(number)]) FILTER (WHERE {scaled}))[1]::text, "
            'min(body COLLATE "C"), max(body COLLATE "C") FROM (SELECT '
            "CASE jsonb_typeof(vecstore_value) WHEN 'number' THEN vecstore_value::numeric END "
            "AS number, CASE jsonb_typeof(vecstore_value) WHEN 'string' "
            f"THEN vecstore_value #>> '{{}}' END AS body FROM {held}) AS ordered",
            params,
        )

    def ordered(
        self, where: str, order: Order, include_embedding: bool, limit: int | None
    ) -> tuple[str, dict[str, Any]]:
        """Whole documents in an order, from a place on; with the parameters of these.

        Each kind of value has a column of its own to be compared by, NULL for the others. What is
        returned is made of the page alone.
        """
        held = (
            f"SELECT {self._id} AS vecstore_id, {self._text} AS vecstore_text, "
            f"{self._metadata} AS vecstore_metadata, {self._embedding} AS vecstore_embedding, "
            f"{self._extra} AS vecstore_extra"
        )
        step, sign = ("DESC", "<") if order.descending else ("ASC", ">")
        id = 'vecstore_id::text COLLATE "C"'
        params: dict[str, Any] = {}
        if order.path is None:
            source = f"{held} FROM {self._table}{where}"
            columns = f"{id} {step}"
        else:
            steps, params = self._at(order.path)
            first, last = (2, 0) if order.descending else (0, 2)
            kind = "jsonb_typeof(vecstore_value)"
            source = (
                f"SELECT held.*, CASE {kind} WHEN 'boolean' THEN {first} WHEN 'number' THEN 1 "
                f"WHEN 'string' THEN {last} ELSE 3 END AS vecstore_kind, CASE {kind} "
                "WHEN 'number' THEN vecstore_value::numeric "
                "WHEN 'boolean' THEN vecstore_value::boolean::integer::numeric END "
                f"AS vecstore_number, CASE {kind} WHEN 'string' THEN vecstore_value #>> '{{}}' END "
                f"AS vecstore_body FROM ({held}, {steps} AS vecstore_value FROM {self._table}"
                f"{where} OFFSET 0) AS held"
            )
            columns = (
                f'vecstore_kind, vecstore_number {step}, vecstore_body COLLATE "C" {step}, {id}'
            )
        condition = ""
        if order.after is not None:
            params["after_id"] = order.after.id
            after = f"{id} {sign if order.path is None else '>'} %(after_id)s::text"
            if order.path is not None:
                after, more = _behind(order, after, sign)
                params.update(more)
            condition = f" WHERE {after}"
        bound = "" if limit is None else f" LIMIT {min(limit, MOST_ROWS):d}"
        embedding = "NULL"
        if include_embedding:
            embedding = f"{self._extension}.vector_send(vecstore_embedding)"
        page = f"SELECT * FROM ({source}) AS candidates{condition} ORDER BY {columns}{bound}"
        return (
            f"SELECT vecstore_id::text, vecstore_text, vecstore_metadata::text, {embedding}, "
            "vecstore_extra "
            f"FROM ({page}) AS page ORDER BY {columns}",
            params,
        )

    def _at(self, path: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        """What rows hold at a path, one key at a time, which enters no list."""
        names = {f"step_{number}": name for number, name in enumerate(path)}
        return self._metadata + "".join([f" -> %({name})s::text" for name in names]), names

    def _held(self, where: str, path: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        """What rows hold at a path, as a source."""
        steps, names = self._at(path)
        # OFFSET keeps the server from unpacking the metadata again wherever the value is read.
        return (
            f"(SELECT {steps} AS vecstore_value FROM {self._table}{where} OFFSET 0) AS held",
            names,
        )

    def probe(self, where: str) -> str:
        """How many rows match, counted no further than ``probe``."""
        return (
            f"SELECT count(*) FROM (SELECT 1 FROM {self._table}{where} LIMIT %(probe)s) AS matching"
        )

    def exact(self, where: str, include_embedding: bool) -> str:
        """The nearest rows by looking at every row that matches.

        Adding zero keeps the distance and hides it from the index on vectors. What is returned is
        made of the nearest rows alone: in one SELECT the server would write the metadata of every
        row as text before it sorts them.
        """
        nearest = (
            f"SELECT {self._id} AS vecstore_id, {self._text} AS vecstore_text, "
            f"{self._metadata} AS vecstore_metadata, {self._embedding} AS vecstore_embedding, "
            f"{self._extra} AS vecstore_extra, "
            f"({self._embedding} {self._operator} %(query)s::{self._vector}) + 0 "
            f"AS vecstore_distance FROM {self._table}{self._searchable(where)} "
            f"ORDER BY vecstore_distance, {self._order} LIMIT %(top_k)s"
        )
        embedding = "NULL"
        if include_embedding:
            embedding = f"{self._extension}.vector_send(vecstore_embedding)"
        return (
            f"SELECT vecstore_id::text, vecstore_text, vecstore_metadata::text, {embedding}, "
            f"vecstore_extra, vecstore_distance FROM ({nearest}) AS nearest "
            'ORDER BY vecstore_distance, vecstore_id::text COLLATE "C"'
        )

    def approximate(self, where: str, include_embedding: bool, half: int | None) -> str:
        """The nearest rows by the index on vectors.

        Args:
            where: Which rows.
            include_embedding: Whether to return vectors.
            half: Dimensions of an index on half-precision copies, whose candidates are ranked again
                on the full vectors; None for an index on the vectors themselves.
        """
        query = f"%(query)s::{self._vector}"
        distance = f"{self._embedding} {self._operator} {query}"
        where = self._searchable(where)
        if half is None:
            return (
                f"SELECT {self._parts(include_embedding)}, {distance} AS distance "
                f"FROM {self._table}{where} ORDER BY distance, {self._order} LIMIT %(top_k)s"
            )
        cast = f"{self._extension}.halfvec({half:d})"
        nearby = f"{self._embedding}::{cast} {self._operator} {query}::{cast}"
        return (
            f"SELECT {self._parts(include_embedding)}, {distance} AS distance FROM "
            f"(SELECT * FROM {self._table}{where} ORDER BY {nearby} LIMIT 4 * %(top_k)s) AS nearby "
            f"ORDER BY distance, {self._order} LIMIT %(top_k)s"
        )

    def _searchable(self, where: str) -> str:
        """The clause without rows that have no vector: they are near nothing."""
        if not self.facts.nullable:
            return where
        condition = f"{self._embedding} IS NOT NULL"
        return f"{where} AND {condition}" if where else f" WHERE {condition}"

    def _parts(self, include_embedding: bool, text: str | None = None) -> str:
        embedding = "NULL"
        if include_embedding:
            embedding = f"{self._extension}.vector_send({self._embedding})"
        extra = self._extra if text is None else "NULL"
        return (
            f"{self._id}::text, {text or self._text}, {self._metadata}::text, {embedding}, {extra}"
        )


def _behind(order: Order, same: str, sign: str) -> tuple[str, dict[str, Any]]:
    """The condition for what stands behind a place in the order of a key.

    Args:
        order: The order, with the place.
        same: The condition where all but the id is the same.
        sign: Of values that stand behind others.
    """
    assert order.after is not None
    value = order.after.value
    if value is None:
        return f"vecstore_kind = 3 AND {same}", {}
    text = type(value) is str
    kind = 0 if type(value) is bool else 2 if text else 1
    if order.descending:
        kind = 2 - kind
    if text:
        column, bound = 'vecstore_body COLLATE "C"', "%(after_value)s::text"
    else:
        column, bound = "vecstore_number", "%(after_value)s::text::numeric"
    written = value if text else encode_json(int(value) if type(value) is bool else value)
    return (
        f"vecstore_kind > {kind} OR vecstore_kind = {kind} AND ({column} {sign} {bound} "
        f"OR {column} = {bound} AND {same})",
        {"after_value": written},
    )


def _escaped(*names: str) -> str:
    """Quoted names in a statement with parameters, where a percent sign is written twice."""
    return quoted(*names).replace("%", "%%")
