"""The table of a pgvector store: how it is made, and whether one that exists fits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from vecstore.dialects.pgvector.columns import Column
from vecstore.dialects.pgvector.failures import MISSING_EXTENSION
from vecstore.dialects.pgvector.shared import (
    Fixed,
    column_faults,
    parameters,
    placeholders,
    types_of,
)
from vecstore.dialects.sql import quoted
from vecstore.errors import ConfigurationError, DimensionMismatchError, SchemaMismatchError
from vecstore.store.capabilities import IdCharset, Metric
from vecstore.store.drivers import misfit

if TYPE_CHECKING:
    from psycopg import Cursor, sql

IndexKind = Literal["hnsw", "ivfflat"]

OPERATORS: Final[dict[Metric, str]] = {"cosine": "<=>", "dot": "<#>", "euclidean": "<->"}
MAX_INDEXED: Final = 2_000
"""Most dimensions of an index on the ``vector`` type."""
MAX_HALF_INDEXED: Final = 4_000
"""Most dimensions of an index on ``halfvec``."""

LAYOUT_VERSION: Final = 1
"""Of the tables that this version makes, in the table's comment."""

PUT_OFF: Final = "false"
"""The condition of an index on vectors that holds the place of one that is built later."""

_MAX_NAME_BYTES: Final = 63
OPCLASSES: Final[dict[Metric, str]] = {
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
    where: Fixed = ()
    """Columns of the table's own, each with the value that the store's rows have there."""
    extra_column: str | None = None
    """For what stands beside metadata, as the caller names it."""

    @property
    def extra(self) -> str | None:
        """The same; a table of this library's own has one, unless another column has its name."""
        own = [self.id_column, self.text_column, self.metadata_column, self.embedding_column]
        taken = [
            *own,
            *[column.name for _, column in self.columns],
            *[name for name, _ in self.where],
        ]
        return self.extra_column or (None if "extra" in taken else "extra")

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
        fixed = [name for name, _ in self.where]
        names = own + [column.name for _, column in self.columns] + fixed
        names += [] if self.extra_column is None else [self.extra_column]
        if self.table in ("", None) or "" in [*own, *fixed]:
            raise ConfigurationError("table and column names are not empty")
        for name in [self.table, self.schema or "x", *names]:
            if not isinstance(name, str) or "\0" in name or len(name.encode()) > _MAX_NAME_BYTES:
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
    metadata_indexed: bool
    extension_schema: str = "public"
    nullable: bool = False
    """Whether there may be rows without a vector."""
    put_off: bool = False
    """Whether the index on vectors is still to be built; see ``filling.py``."""
    where_types: tuple[str, ...] = ()
    """The SQL types of the columns that ``where`` names."""
    extra: str | None = None
    """The column for what stands beside metadata; None where there is none."""
    made_by_us: bool = True
    tells_replaced: bool = False
    """Whether rows that were replaced can be told from new ones, by what PostgreSQL's own kind of
    table keeps of each."""
    lockable: bool = True
    """Whether rows may be locked before they are changed: that takes the right to update."""
    compiles: bool = True
    """Whether the server may make machine code of costly statements, if it is not told not to."""


def read_table(cursor: Cursor[Any], spec: TableSpec) -> TableFacts | None:
    """Look at the table; None when there is none.

    Raises:
        SchemaMismatchError: With every difference between it and what the store wants.
        ConfigurationError: If the extension is missing, or closed to this role.
    """
    name = spec.identifier().as_string(cursor)
    cursor.execute(
        "SELECT t.oid, obj_description(t.oid, 'pg_class'), "
        "has_any_column_privilege(t.oid, 'UPDATE'), (SELECT c.relkind = 'r' AND am.amname = 'heap' "
        "FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE c.oid = t.oid) "
        "FROM (SELECT to_regclass(%s)::oid AS oid) AS t",
        [name],
    )
    row = cursor.fetchone()
    if row is None or row[0] is None:
        return None
    oid, comment, lockable, plain = row
    _check_layout(spec, comment)
    cursor.execute(
        "SELECT a.attname, t.typname, a.atttypmod, a.attnotnull, "
        "a.atthasdef OR a.attidentity <> '', a.attgenerated <> '', format_type(t.oid, NULL) "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
        "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped",
        [oid],
    )
    found = {
        # A type of an extension is called by its own name, wherever the extension lies.
        row[0]: (row[1] if row[1] == "vector" else row[6], *row[2:6])
        for row in cursor.fetchall()
    }
    faults = _column_faults(spec, found)
    ours = re.fullmatch(r"vecstore layout \d+", comment or "") is not None
    extra = spec.extra if ours or spec.extra_column is not None else None
    if extra is not None and (extra not in found or not _keeps_any_text(found[extra])):
        if spec.extra_column is not None:
            faults.append(f"it has no column {extra!r} of type text for extras that may be NULL")
        extra = None
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
        raise misfit(f"the table {spec.shown}", faults, _missing_columns(cursor, spec, found))
    extension = find_extension(cursor)
    if extension is None:
        raise ConfigurationError(MISSING_EXTENSION)
    where_types = types_of(cursor, oid, spec.shown, spec.where)
    typmod = found[spec.embedding_column][1]
    indexed, put_off = _vector_index(cursor, oid, spec)
    return TableFacts(
        dimension=typmod
        if typmod > 0
        else _dimension_of_rows(cursor, spec, extension, where_types),
        where_types=where_types,
        id_charset=_ID_TYPES[found[spec.id_column][0]],
        indexed=indexed,
        put_off=put_off,
        metadata_indexed=_is_metadata_indexed(cursor, oid, spec),
        extension_schema=extension,
        nullable=not found[spec.embedding_column][2],
        tells_replaced=bool(plain),
        extra=extra,
        made_by_us=ours,
        lockable=lockable,
        compiles=_compiles(cursor),
    )


def _compiles(cursor: Cursor[Any]) -> bool:
    """Whether the server makes machine code in sessions that do not put that off, as ours do."""
    cursor.execute("SAVEPOINT vecstore_compiles")
    cursor.execute("SET LOCAL jit TO DEFAULT")
    cursor.execute("SELECT pg_jit_available()")
    row = cursor.fetchone()
    cursor.execute("ROLLBACK TO SAVEPOINT vecstore_compiles")
    return row is None or bool(row[0])


def find_extension(cursor: Cursor[Any]) -> str | None:
    """The schema of the extension ``vector``; None when it is not installed.

    Raises:
        ConfigurationError: If this role may not use that schema.
    """
    cursor.execute(
        "SELECT n.nspname, has_schema_privilege(n.oid, 'USAGE'), current_user "
        "FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    )
    row = cursor.fetchone()
    if row is None:
        return None
    name, usable, role = row
    if not usable:
        raise ConfigurationError(
            f"the extension vector lies in the schema {name}, which the role {role} may not use; "
            f"let its owner run GRANT USAGE ON SCHEMA {quoted(name)} TO {quoted(role)}"
        )
    return str(name)


def _keeps_any_text(column: tuple[Any, ...]) -> bool:
    type_name, _, not_null, _, generated = column
    return type_name == "text" and not not_null and not generated


def line_to_keep_extra(spec: TableSpec, name: str) -> str:
    """The statement after which a table has a column for extras."""
    from psycopg import sql

    statement = sql.SQL("ALTER TABLE {} ADD COLUMN {} text").format(
        spec.identifier(), sql.Identifier(name)
    )
    return statement.as_string(None)


def line_to_allow_vectorless(spec: TableSpec) -> str:
    """The statement after which rows of a table need no vector."""
    from psycopg import sql

    statement = sql.SQL("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL").format(
        spec.identifier(), sql.Identifier(spec.embedding_column)
    )
    return statement.as_string(None)


def create_table(
    cursor: Cursor[Any], spec: TableSpec, dimension: int, *, put_off: bool = False
) -> None:
    """Make extension, table and indexes where they are missing; two at once do no harm.

    Args:
        cursor: In a transaction.
        spec: The table.
        dimension: Of its vectors.
        put_off: Whether the index on vectors is built once there are rows.
    """
    from psycopg import sql

    spec.check_dimension(dimension)
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('vecstore schema'))")
    extension = find_extension(cursor)
    if extension is None:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        extension = find_extension(cursor)
        assert extension is not None
    if spec.schema is not None:
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [spec.schema])
        if cursor.fetchone() is None:
            cursor.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(spec.schema))
            )
    cursor.execute("SELECT to_regclass(%s)", [spec.identifier().as_string(cursor)])
    row = cursor.fetchone()
    if row is not None and row[0] is not None:
        return  # another process was quicker, and made the indexes as well
    metadata = sql.Identifier(spec.metadata_column)
    columns = [
        sql.SQL('{} text COLLATE "C" PRIMARY KEY').format(sql.Identifier(spec.id_column)),
        sql.SQL("{} text NOT NULL").format(sql.Identifier(spec.text_column)),
        sql.SQL("{} jsonb NOT NULL DEFAULT '{{}}'").format(metadata),
        sql.SQL("{} {}({})").format(
            sql.Identifier(spec.embedding_column),
            sql.Identifier(extension, "vector"),
            sql.Literal(dimension),
        ),
        *[sql.SQL("{} text").format(sql.Identifier(name)) for name in [spec.extra] if name],
        *[sql.SQL(column_definition(cursor, spec, key, column)) for key, column in spec.columns],
    ]
    cursor.execute(
        sql.SQL("CREATE TABLE {} ({})").format(spec.identifier(), sql.SQL(", ").join(columns))
    )
    cursor.execute(
        sql.SQL("COMMENT ON TABLE {} IS {}").format(
            spec.identifier(), sql.Literal(f"vecstore layout {LAYOUT_VERSION}")
        )
    )
    _create_index(cursor, spec, "metadata", _gin(spec.metadata_column))
    for _, column in spec.columns:
        _create_index(cursor, spec, column.name, column_index(column))
    if spec.index == "hnsw":
        create_vector_index(cursor, spec, dimension, extension, put_off=put_off)


def create_vector_index(
    cursor: Cursor[Any],
    spec: TableSpec,
    dimension: int,
    extension: str,
    *,
    put_off: bool = False,
) -> None:
    """Build the index on the vectors, or one over no row that holds its place."""
    from psycopg import sql

    assert spec.index is not None
    spec.check_dimension(dimension)
    column: sql.Composable = sql.Identifier(spec.embedding_column)
    opclass = "vector_" + OPCLASSES[spec.metric]
    if spec.half(dimension):
        column = sql.SQL("({}::{}({}))").format(
            column, sql.Identifier(extension, "halfvec"), sql.Literal(dimension)
        )
        opclass = "halfvec_" + OPCLASSES[spec.metric]
    how: sql.Composable = sql.SQL("USING {} ({} {})").format(
        sql.SQL(spec.index), column, sql.Identifier(extension, opclass)
    )
    if spec.index_options:
        options = [
            sql.SQL("{} = {}").format(sql.SQL(name), sql.Literal(value))
            for name, value in sorted(spec.index_options.items())
        ]
        how = sql.SQL("{} WITH ({})").format(how, sql.SQL(", ").join(options))
    if put_off:
        _create_index(cursor, spec, "vector_later", sql.SQL(f"{{}} WHERE {PUT_OFF}").format(how))
    else:
        _create_index(cursor, spec, "vector", how)


def _create_index(cursor: Cursor[Any], spec: TableSpec, part: str, how: sql.Composable) -> None:
    from psycopg import sql

    cursor.execute(
        sql.SQL("CREATE INDEX {} ON {} {}").format(
            sql.Identifier(_free_name(cursor, spec, part)), spec.identifier(), how
        )
    )


def _free_name(cursor: Cursor[Any], spec: TableSpec, part: str) -> str:
    """A name for an index that nothing in the table's schema has.

    Never ``IF NOT EXISTS``: a name that is taken belongs to something else, often to the index of
    another table (``a`` with the column ``b_c``, ``a_b`` with the column ``c``; or two tables whose
    long names begin alike), and this table would be left without an index.
    """
    whole = f"{spec.table}_{part}_ix"
    digest = hashlib.sha256(f"{spec.table}\0{part}".encode()).hexdigest()
    stem = whole.encode()[: _MAX_NAME_BYTES - 15].decode(errors="ignore").removesuffix("_ix")
    candidates = [whole] if len(whole.encode()) <= _MAX_NAME_BYTES else []
    candidates += [f"{stem}_{digest[at : at + 8]}_ix" for at in range(0, len(digest), 8)]
    cursor.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relname = ANY(%s) AND c.relnamespace = "
        "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass(%s))",
        [candidates, spec.identifier().as_string(cursor)],
    )
    taken = {row[0] for row in cursor.fetchall()}
    return next(name for name in candidates if name not in taken)


def _check_layout(spec: TableSpec, comment: str | None) -> None:
    """Refuse a table of another layout; one with a comment of its own, or none, tells nothing."""
    match = re.fullmatch(r"vecstore layout (\d{1,9})", comment or "")
    if match and int(match[1]) != LAYOUT_VERSION:
        raise SchemaMismatchError(
            f"the table {spec.shown} has the layout {match[1]} of another version of vecstore, and "
            f"this one reads layout {LAYOUT_VERSION}; to move it, open it with the version that "
            "made it, and add what scan(include_embedding=True) gives there to a new table here"
        )


def _missing_columns(
    cursor: Cursor[Any], spec: TableSpec, found: Mapping[str, tuple[Any, ...]]
) -> str:
    """How to add the declared columns that are missing, as statements to run."""
    from psycopg import sql

    statements = []
    for key, column in spec.columns:
        if column.name not in found and spec.metadata_column in found:
            table = spec.identifier()
            add = sql.SQL("ALTER TABLE {} ADD COLUMN ").format(table).as_string(cursor)
            statements.append(f"{add}{column_definition(cursor, spec, key, column)};")
            index = sql.SQL("CREATE INDEX ON {} {}").format(table, column_index(column))
            statements.append(f"{index.as_string(cursor)};")
    if not statements:
        return ""
    return "\nTo add what is missing, which rewrites the table:\n  " + "\n  ".join(statements)


def _gin(name: str) -> sql.Composable:
    from psycopg import sql

    return sql.SQL("USING gin ({} jsonb_path_ops)").format(sql.Identifier(name))


def column_index(column: Column) -> sql.Composable:
    """How the column of a promoted key is indexed."""
    from psycopg import sql

    if column.type == "list[str]":
        return _gin(column.name)
    return sql.SQL("({})").format(sql.Identifier(column.name))


def column_definition(cursor: Cursor[Any], spec: TableSpec, key: str, column: Column) -> str:
    """The definition of a promoted key's column, which the server keeps in step by itself."""
    from psycopg import sql

    value = sql.SQL("({} -> {})").format(sql.Identifier(spec.metadata_column), sql.Literal(key))
    expression = column.generated(value.as_string(cursor))
    name = sql.Identifier(column.name).as_string(cursor)
    return f"{name} {column.sql_type} GENERATED ALWAYS AS ({expression}) STORED"


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
    faults += column_faults(spec.where, found)
    known = {
        *wanted,
        *[column.name for _, column in spec.columns],
        *[name for name, _ in spec.where],
    }
    faults += [
        f"the column {name!r} is NOT NULL and has no default, and this store would not fill it"
        for name, (_, _, not_null, has_default, generated) in found.items()
        if name not in known and not_null and not has_default and not generated
    ]
    return faults


def _dimension_of_rows(
    cursor: Cursor[Any], spec: TableSpec, extension: str, where_types: tuple[str, ...]
) -> int | None:
    from psycopg import sql

    embedding = sql.Identifier(spec.embedding_column)
    # Of the store's own rows: others in the table may have vectors of another length.
    ours = [
        sql.SQL(" AND {} = {}").format(sql.Identifier(name), sql.SQL(place))
        for (name, _), place in zip(spec.where, placeholders(where_types), strict=True)
    ]
    cursor.execute(
        sql.SQL("SELECT {2}({0}) FROM {1} WHERE {0} IS NOT NULL{3} LIMIT 1").format(
            embedding,
            spec.identifier(),
            sql.Identifier(extension, "vector_dims"),
            sql.Composed(ours),
        ),
        parameters(spec.where),
    )
    row = cursor.fetchone()
    return row[0] if row else None


def _vector_index(cursor: Cursor[Any], oid: int, spec: TableSpec) -> tuple[IndexKind | None, bool]:
    """The kind of index there is for this store's metric, and whether it is still to be built."""
    cursor.execute(
        "SELECT am.amname, oc.opcname, coalesce(pg_get_expr(i.indpred, i.indrelid), '') "
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass oc ON oc.oid = ANY(i.indclass) "
        "WHERE i.indrelid = %s AND i.indisvalid AND am.amname IN ('hnsw', 'ivfflat')",
        [oid],
    )
    wanted = "_" + OPCLASSES[spec.metric]
    found: list[tuple[IndexKind, str]] = [
        (kind, condition)
        for kind, opclass, condition in cursor.fetchall()
        if opclass.endswith(wanted)
    ]
    built = [kind for kind, condition in found if condition != PUT_OFF]
    if built or not found:
        return (built[0] if built else None), False
    return found[0][0], True


def _is_metadata_indexed(cursor: Cursor[Any], oid: int, spec: TableSpec) -> bool:
    """Whether an index answers containment in the metadata of all rows."""
    cursor.execute(
        "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am am ON am.oid = c.relam JOIN pg_attribute a ON a.attrelid = i.indrelid "
        "AND a.attnum = ANY(i.indkey) WHERE i.indrelid = %s AND i.indisvalid "
        "AND i.indpred IS NULL AND am.amname = 'gin' AND a.attname = %s",
        [oid, spec.metadata_column],
    )
    return cursor.fetchone() is not None
