"""The table of a pgvector store: how it is made, and whether one that exists fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from vecstore.capabilities import IdCharset, Metric
from vecstore.dialects.pgvector.columns import Column
from vecstore.errors import ConfigurationError, DimensionMismatchError, SchemaMismatchError

if TYPE_CHECKING:
    from psycopg import Cursor, sql

IndexKind = Literal["hnsw", "ivfflat"]

OPERATORS: Final[dict[Metric, str]] = {"cosine": "<=>", "dot": "<#>", "euclidean": "<->"}
MAX_INDEXED: Final = 2_000
"""Most dimensions of an index on the ``vector`` type."""
MAX_HALF_INDEXED: Final = 4_000
"""Most dimensions of an index on ``halfvec``."""

_OPCLASSES: Final[dict[Metric, str]] = {
    "cosine": "cosine_ops",
    "dot": "ip_ops",
    "euclidean": "l2_ops",
}
_ID_TYPES: Final[dict[str, IdCharset]] = {
    "text": "any",
    "character varying": "any",
    "uuid": "uuid",
    "bigint": "integer",
}
_BUILD_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "hnsw": frozenset({"m", "ef_construction"}),
    "ivfflat": frozenset({"lists"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """What a store wants of its table."""

    table: str
    schema: str | None
    id_column: str
    text_column: str
    metadata_column: str
    embedding_column: str
    columns: tuple[tuple[str, Column], ...]
    metric: Metric
    index: IndexKind | None
    index_options: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.index is not None and self.index not in _BUILD_OPTIONS:
            raise ConfigurationError(f'index is "hnsw", "ivfflat" or None, not {self.index!r}')
        known = _BUILD_OPTIONS[self.index] if self.index else frozenset()
        for name, value in self.index_options.items():
            if name not in known:
                raise ConfigurationError(
                    f"the index {self.index!r} has no build option {name!r}; it has: "
                    f"{', '.join(sorted(known)) or 'none'}"
                )
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(f"{name} is a whole number from 1 on, not {value!r}")
        own = [self.id_column, self.text_column, self.metadata_column, self.embedding_column]
        names = own + [column.name for _, column in self.columns]
        if self.table in ("", None) or "" in own:
            raise ConfigurationError("table and column names are not empty")
        for name in [self.table, self.schema or "x", *names]:
            if not isinstance(name, str) or "\0" in name or len(name.encode()) > 63:
                raise ConfigurationError(
                    f"PostgreSQL has names of up to 63 bytes without NUL, which {name!r} is not"
                )
        if len(set(names)) < len(names):
            raise ConfigurationError(f"a column name is used twice: {', '.join(names)}")

    def check_dimension(self, dimension: int) -> None:
        """Refuse dimensions that the index cannot hold, before any DDL.

        Raises:
            DimensionMismatchError: With what to do instead.
        """
        if self.index is not None and dimension > MAX_HALF_INDEXED:
            raise DimensionMismatchError(
                f"an index of pgvector holds at most {MAX_HALF_INDEXED:,} dimensions as halfvec "
                f"(max_dimension), not {dimension:,}; open the store with index=None for exact "
                "searches",
                expected=MAX_HALF_INDEXED,
                actual=dimension,
            )

    def half(self, dimension: int) -> bool:
        """Whether the index holds half-precision copies; results are ranked on the full vectors."""
        return dimension > MAX_INDEXED

    @property
    def shown(self) -> str:
        """The table for people."""
        return self.table if self.schema is None else f"{self.schema}.{self.table}"

    def identifier(self) -> sql.Identifier:
        """The table for SQL."""
        from psycopg import sql

        return sql.Identifier(*([self.schema] if self.schema else []), self.table)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What an existing table is like."""

    dimension: int | None
    id_charset: IdCharset
    indexed: IndexKind | None


def read_table(cursor: Cursor[Any], spec: TableSpec) -> TableFacts | None:
    """Look at the table; None when there is none.

    Raises:
        SchemaMismatchError: With every difference between it and what the store wants.
    """
    name = spec.identifier().as_string(cursor)
    cursor.execute("SELECT to_regclass(%s)::oid", [name])
    row = cursor.fetchone()
    oid = row[0] if row else None
    if oid is None:
        return None
    cursor.execute(
        "SELECT a.attname, format_type(a.atttypid, NULL), a.atttypmod, a.attnotnull, "
        "a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' FROM pg_attribute a "
        "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped",
        [oid],
    )
    found = {row[0]: row[1:] for row in cursor.fetchall()}
    faults = _column_faults(spec, found)
    cursor.execute(
        "SELECT array_agg(a.attname::text) FROM pg_index i "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
        "WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL "
        "GROUP BY i.indexrelid",
        [oid],
    )
    if [spec.id_column] not in [row[0] for row in cursor.fetchall()]:
        faults.append(f"the column {spec.id_column!r} has no unique index of its own")
    if faults:
        raise SchemaMismatchError(
            f"the table {spec.shown} does not fit this store: {'; '.join(faults)}"
        )
    typmod = found[spec.embedding_column][1]
    dimension = typmod if typmod > 0 else _dimension_of_rows(cursor, spec)
    return TableFacts(
        dimension=dimension,
        id_charset=_ID_TYPES[found[spec.id_column][0]],
        indexed=_vector_index(cursor, oid, spec),
    )


def create_table(cursor: Cursor[Any], spec: TableSpec, dimension: int) -> None:
    """Make extension, table and indexes where they are missing; two at once do no harm."""
    from psycopg import sql

    spec.check_dimension(dimension)
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('vecstore schema'))")
    cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
    if cursor.fetchone() is None:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if spec.schema is not None:
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [spec.schema])
        if cursor.fetchone() is None:
            cursor.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(spec.schema))
            )
    metadata = sql.Identifier(spec.metadata_column)
    columns = [
        sql.SQL('{} text COLLATE "C" PRIMARY KEY').format(sql.Identifier(spec.id_column)),
        sql.SQL("{} text NOT NULL").format(sql.Identifier(spec.text_column)),
        sql.SQL("{} jsonb NOT NULL DEFAULT '{{}}'").format(metadata),
        sql.SQL("{} vector({}) NOT NULL").format(
            sql.Identifier(spec.embedding_column), sql.Literal(dimension)
        ),
        *[_generated_column(cursor, spec, key, column) for key, column in spec.columns],
    ]
    cursor.execute(
        sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(
            spec.identifier(), sql.SQL(", ").join(columns)
        )
    )
    gin = sql.SQL("USING gin ({} jsonb_path_ops)")
    _create_index(cursor, spec, "metadata", gin.format(metadata))
    for _, column in spec.columns:
        how = gin if column.type == "list[str]" else sql.SQL("({})")
        _create_index(cursor, spec, column.name, how.format(sql.Identifier(column.name)))
    if spec.index == "hnsw":
        create_vector_index(cursor, spec, dimension)


def create_vector_index(cursor: Cursor[Any], spec: TableSpec, dimension: int) -> None:
    """Build the index on the vectors if it is missing."""
    from psycopg import sql

    assert spec.index is not None
    spec.check_dimension(dimension)
    column: sql.Composable = sql.Identifier(spec.embedding_column)
    opclass = "vector_" + _OPCLASSES[spec.metric]
    if spec.half(dimension):
        column = sql.SQL("({}::halfvec({}))").format(column, sql.Literal(dimension))
        opclass = "halfvec_" + _OPCLASSES[spec.metric]
    how = sql.SQL("USING {} ({} {})").format(sql.SQL(spec.index), column, sql.SQL(opclass))
    if spec.index_options:
        options = [
            sql.SQL("{} = {}").format(sql.SQL(name), sql.Literal(value))
            for name, value in sorted(spec.index_options.items())
        ]
        how = sql.SQL("{} WITH ({})").format(how, sql.SQL(", ").join(options))
    _create_index(cursor, spec, "vector", how)


def _create_index(cursor: Cursor[Any], spec: TableSpec, part: str, how: sql.Composable) -> None:
    from psycopg import sql

    # Names end at 63 bytes: what tells indexes of one table apart must not be cut off.
    stem = spec.table.encode()[: 60 - len(part.encode()[:30])].decode(errors="ignore")
    name = f"{stem}_{part.encode()[:30].decode(errors='ignore')}_ix"
    cursor.execute(
        sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} {}").format(
            sql.Identifier(name), spec.identifier(), how
        )
    )


def _generated_column(cursor: Cursor[Any], spec: TableSpec, key: str, column: Column) -> sql.SQL:
    """The definition of a promoted key's column, which the server keeps in step by itself."""
    from psycopg import sql

    value = sql.SQL("({} -> {})").format(sql.Identifier(spec.metadata_column), sql.Literal(key))
    expression = column.generated(value.as_string(cursor))
    name = sql.Identifier(column.name).as_string(cursor)
    definition = f"{name} {column.sql_type} GENERATED ALWAYS AS ({expression}) STORED"
    return sql.SQL(definition)


def _column_faults(spec: TableSpec, found: dict[str, tuple[Any, ...]]) -> list[str]:
    faults: list[str] = []
    wanted = {
        spec.id_column: tuple(_ID_TYPES),
        spec.text_column: ("text", "character varying"),
        spec.metadata_column: ("jsonb",),
        spec.embedding_column: ("vector",),
    }
    for name, types in wanted.items():
        if name not in found:
            faults.append(f"it has no column {name!r}")
        elif found[name][0] not in types:
            faults.append(f"the column {name!r} is {found[name][0]}, not {' or '.join(types)}")
    for key, column in spec.columns:
        plain = column.sql_type.split(" COLLATE")[0]
        if column.name not in found:
            faults.append(f"it has no column {column.name!r} for the declared key {key!r}")
            continue
        type_name, _, _, _, generated = found[column.name]
        if type_name != plain:
            faults.append(f"the column {column.name!r} is {type_name}, not {plain}")
        elif not generated:
            faults.append(
                f"the column {column.name!r} is not generated from the metadata, so that it could "
                "differ from it"
            )
    known = {*wanted, *[column.name for _, column in spec.columns]}
    faults += [
        f"the column {name!r} is NOT NULL and has no default, and this store would not fill it"
        for name, (_, _, not_null, has_default, generated) in found.items()
        if name not in known and not_null and not has_default and not generated
    ]
    return faults


def _dimension_of_rows(cursor: Cursor[Any], spec: TableSpec) -> int | None:
    from psycopg import sql

    embedding = sql.Identifier(spec.embedding_column)
    cursor.execute(
        sql.SQL("SELECT vector_dims({0}) FROM {1} WHERE {0} IS NOT NULL LIMIT 1").format(
            embedding, spec.identifier()
        )
    )
    row = cursor.fetchone()
    return row[0] if row else None


def _vector_index(cursor: Cursor[Any], oid: int, spec: TableSpec) -> IndexKind | None:
    """The kind of index there is for this store's metric."""
    cursor.execute(
        "SELECT am.amname, oc.opcname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass oc ON oc.oid = ANY(i.indclass) "
        "WHERE i.indrelid = %s AND i.indisvalid AND am.amname IN ('hnsw', 'ivfflat')",
        [oid],
    )
    wanted = "_" + _OPCLASSES[spec.metric]
    kinds: list[IndexKind] = [
        kind for kind, opclass in cursor.fetchall() if opclass.endswith(wanted)
    ]
    return kinds[0] if kinds else None
