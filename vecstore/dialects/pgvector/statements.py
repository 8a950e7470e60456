"""The SQL of a pgvector store: its quoted names once, and a place for every value."""

from __future__ import annotations

from typing import Final

from vecstore.capabilities import IdCharset, OnConflict
from vecstore.dialects.pgvector.schema import OPERATORS, TableSpec
from vecstore.dialects.pgvector.sql import quoted

_ID_TYPES: Final[dict[IdCharset, str]] = {"any": "text", "uuid": "uuid", "integer": "bigint"}


class Statements:
    """Statements in the ``pyformat`` style; ``where`` is empty or a whole WHERE clause."""

    staging: Final = (
        "CREATE TEMPORARY TABLE IF NOT EXISTS vecstore_staging "
        "(id text, body text, metadata text, embedding vector) ON COMMIT DELETE ROWS"
    )
    copy: Final = "COPY pg_temp.vecstore_staging FROM STDIN (FORMAT BINARY)"
    staged: Final = "pg_temp.vecstore_staging"
    arrays: Final = (
        "unnest(%(new_ids)s::text[], %(new_texts)s::text[], %(new_metadata)s::text[], "
        "%(new_vectors)s::text[]::vector[])"
        " AS arrays(id, body, metadata, embedding)"
    )

    def __init__(self, spec: TableSpec) -> None:
        names = (spec.schema, spec.table) if spec.schema else (spec.table,)
        self._table = _escaped(*names)
        self._id = _escaped(spec.id_column)
        self._text = _escaped(spec.text_column)
        self._metadata = _escaped(spec.metadata_column)
        self._embedding = _escaped(spec.embedding_column)
        self._operator = OPERATORS[spec.metric]
        self.delete = f"DELETE FROM {self._table}"
        self.count = f"SELECT count(*) FROM {self._table}"
        self.update = (
            f"UPDATE {self._table} SET {self._metadata} = "
            f"(coalesce({self._metadata}, '{{}}'::jsonb) || %(set)s::jsonb) - %(unset)s::text[]"
        )

    def id_among(self, charset: IdCharset) -> str:
        """The id is one of the texts bound as ``ids``."""
        cast = "" if charset == "any" else f"::{_ID_TYPES[charset]}[]"
        return f"{self._id} = ANY(%(ids)s::text[]{cast})"

    def insert(
        self, source: str, on_conflict: OnConflict, charset: IdCharset, within: str | None = None
    ) -> str:
        """Move the rows of ``source`` into the table.

        Args:
            source: Where the rows are.
            on_conflict: What becomes of rows whose id is taken.
            charset: Of ids.
            within: A condition on rows that may be replaced; others stay as they are.

        Returns:
            A statement that says which rows were moved, unless it replaces any row.
        """
        returning = f"RETURNING held.{self._id}::text"
        if on_conflict == "replace":
            columns = (self._text, self._metadata, self._embedding)
            changes = ", ".join([f"{name} = excluded.{name}" for name in columns])
            conflict = f"DO UPDATE SET {changes}"
            if within is not None:
                # The row as it is once it is locked, not as the statement first saw it. In the
                # subquery the names of columns mean this row and not the one to be inserted.
                conflict += f" WHERE (SELECT ({within}) FROM (SELECT held.*) AS stored) {returning}"
        else:
            conflict = f"DO NOTHING {returning}"
        # In one order, two writers of the same documents wait for each other and do not deadlock.
        return (
            f"INSERT INTO {self._table} AS held "
            f"({self._id}, {self._text}, {self._metadata}, {self._embedding}) "
            f"SELECT id::{_ID_TYPES[charset]}, body, metadata::jsonb, embedding FROM {source} "
            f'ORDER BY id COLLATE "C" ON CONFLICT ({self._id}) {conflict}'
        )

    def outside(self, charset: IdCharset, within: str) -> str:
        """Ids among those bound as ``ids`` of rows that do not meet a condition."""
        return (
            f"SELECT {self._id}::text FROM {self._table} "
            f"WHERE {self.id_among(charset)} AND ({within}) IS NOT TRUE"
        )

    def select(self, where: str, include_embedding: bool, limit: int | None) -> str:
        """Whole documents."""
        bound = "" if limit is None else f" LIMIT {limit:d}"
        return f"SELECT {self._parts(include_embedding)} FROM {self._table}{where}{bound}"

    def probe(self, where: str) -> str:
        """How many rows match, counted no further than ``probe``."""
        return (
            f"SELECT count(*) FROM (SELECT 1 FROM {self._table}{where} LIMIT %(probe)s) AS matching"
        )

    def exact(self, where: str, include_embedding: bool) -> str:
        """The nearest rows by looking at every row that matches.

        Adding zero keeps the distance and hides it from the index on vectors.
        """
        return (
            f"SELECT {self._parts(include_embedding)}, "
            f"({self._embedding} {self._operator} %(query)s) + 0 AS distance "
            f"FROM {self._table}{where} ORDER BY distance, {self._id} LIMIT %(top_k)s"
        )

    def approximate(self, where: str, include_embedding: bool, half: int | None) -> str:
        """The nearest rows by the index on vectors.

        Args:
            where: Which rows.
            include_embedding: Whether to return vectors.
            half: Dimensions of an index on half-precision copies, whose candidates are ranked again
                on the full vectors; None for an index on the vectors themselves.
        """
        distance = f"{self._embedding} {self._operator} %(query)s"
        if half is None:
            return (
                f"SELECT {self._parts(include_embedding)}, {distance} AS distance "
                f"FROM {self._table}{where} ORDER BY distance, {self._id} LIMIT %(top_k)s"
            )
        cast = f"halfvec({half:d})"
        nearby = f"{self._embedding}::{cast} {self._operator} %(query)s::{cast}"
        return (
            f"SELECT {self._parts(include_embedding)}, {distance} AS distance FROM "
            f"(SELECT * FROM {self._table}{where} ORDER BY {nearby} LIMIT 4 * %(top_k)s) AS nearby "
            f"ORDER BY distance, {self._id} LIMIT %(top_k)s"
        )

    def _parts(self, include_embedding: bool) -> str:
        embedding = self._embedding if include_embedding else "NULL"
        return f"{self._id}::text, {self._text}, {self._metadata}::text, {embedding}"


def _escaped(*names: str) -> str:
    """Quoted names in a statement with parameters, where a percent sign is written twice."""
    return quoted(*names).replace("%", "%%")
