"""Finding dialects by name: our own from a table, others from entry points."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from vecstore.dialects.base import Dialect, as_expression, is_constant, option_names
from vecstore.errors import DialectNotFoundError, UnsupportedFilterError
from vecstore.filter.checking import FilterCheck, checked
from vecstore.filter.convert import Compiled
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import FilterInput
from vecstore.plugins import PlugIns

if TYPE_CHECKING:
    from vecstore.filter.residual import PartialCompiled

ENTRY_POINT_GROUP = "vecstore.dialects"

_BUILT_IN = {
    "chroma": "vecstore.dialects.chroma.dialect:Chroma",
    "duckdb": "vecstore.dialects.duckdb.dialect:DuckDB",
    "lancedb": "vecstore.dialects.lancedb.dialect:LanceDB",
    "milvus": "vecstore.dialects.milvus.dialect:Milvus",
    "pgvector": "vecstore.dialects.pgvector.dialect:Pgvector",
    "pinecone": "vecstore.dialects.pinecone.dialect:Pinecone",
    "qdrant": "vecstore.dialects.qdrant.dialect:Qdrant",
    "redis": "vecstore.dialects.redis.dialect:Redis",
    "sqlite": "vecstore.dialects.sqlite.dialect:SQLite",
    "weaviate": "vecstore.dialects.weaviate.dialect:Weaviate",
}
_ALSO = dict.fromkeys(("postgres", "postgresql", "pg", "psycopg"), "pgvector")
"""What a dialect is taken for by those who think of the database."""
_WITHOUT_OPTIONS: dict[type[Dialect[Any]], Dialect[Any]] = {}
_PLUG_INS = PlugIns(
    ENTRY_POINT_GROUP,
    frozenset(_BUILT_IN),
    offered="the dialect {!r} is".format,
    purpose="the dialect {!r}".format,
)


def dialect_names() -> list[str]:
    """Names of all dialects that can be compiled to, sorted.

    Example:
        >>> "pgvector" in dialect_names()
        True
    """
    return sorted([*_BUILT_IN, *_PLUG_INS.names()])


def built_in_names() -> list[str]:
    """Names of the dialects that come with vecstore, sorted.

    Example:
        >>> "pgvector" in built_in_names()
        True
    """
    return sorted(_BUILT_IN)


def get_dialect(name: str) -> type[Dialect[Any]]:
    """The class of a dialect.

    Args:
        name: As listed by :func:`dialect_names`.

    Raises:
        DialectNotFoundError: If there is none; the text suggests the closest name.
        ConfigurationError: If two distributions offer the name.
        ImportError: If a plug-in cannot be imported; it never disappears silently.

    Example:
        >>> get_dialect("pgvector").__name__
        'Pgvector'
    """
    if not isinstance(name, str):
        raise TypeError(
            f"a dialect is given by name or as a Dialect object, not {type(name).__name__}"
        )
    # Our own names are not looked up among the plug-ins: scanning every installed
    # distribution costs more than importing the dialect.
    location = _BUILT_IN.get(name)
    if location is None:
        return _load_plug_in(name)
    module, _, attribute = location.partition(":")
    dialect: type[Dialect[Any]] = getattr(import_module(module), attribute)
    return dialect


@overload
def compile_filter(
    filter: FilterInput,
    dialect: str | Dialect[Any],
    *,
    limits: Limits | None = DEFAULT_LIMITS,
    schema: FilterCheck | None = None,
    coerce: bool = False,
    residual: Literal[False] = False,
    **options: Any,
) -> Compiled: ...


@overload
def compile_filter(
    filter: FilterInput,
    dialect: str | Dialect[Any],
    *,
    limits: Limits | None = DEFAULT_LIMITS,
    schema: FilterCheck | None = None,
    coerce: bool = False,
    residual: bool,
    **options: Any,
) -> Compiled | PartialCompiled: ...


def compile_filter(
    filter: FilterInput,
    dialect: str | Dialect[Any],
    *,
    limits: Limits | None = DEFAULT_LIMITS,
    schema: FilterCheck | None = None,
    coerce: bool = False,
    residual: bool = False,
    **options: Any,
) -> Compiled | PartialCompiled:
    """Compile a filter for a backend, named or given as a dialect object.

    Args:
        filter: Text, an expression, or None for no filter.
        dialect: A name with ``options``, or a dialect object that carries its own.
        limits: Bounds on the filter's size; None lifts them.
        schema: A :class:`~vecstore.Schema` that the filter has to fit, and that the documents do:
            it tells the dialect what keys hold, so that fewer filters are refused. A dialect object
            that was made with a schema of its own keeps that.
        coerce: Whether literals of another kind are read as what they must mean by the schema.
        residual: Whether a filter that the backend answers in part is taken apart, into what it is
            asked and what is left to be evaluated. What it answers whole is compiled as ever.
        **options: Options of the named dialect.

    Returns:
        The native query with its parameters; with ``residual``, where the backend does not answer
        the whole, a :class:`~vecstore.PartialCompiled`.

    Raises:
        DialectNotFoundError: If no dialect has that name.
        TypeError: For an option that the dialect does not have; the text lists those it has.
        FilterError: If the filter cannot be read, does not fit the schema, or cannot be answered
            exactly.

    Example:
        >>> compiled = compile_filter("year >= 2020", "pgvector", column="meta")
        >>> compiled.params
        {'p0': 'year', 'p1': 'year', 'p2': '2020'}
    """
    if residual is not True and residual is not False:
        raise TypeError(f"residual is True or False here, not {residual!r}")
    told: Hashable = None
    if filter is not None and (schema is not None or coerce):
        filter = checked(as_expression(filter, limits), schema, coerce)
        if isinstance(getattr(schema, "keys", None), Mapping) and isinstance(schema, Hashable):
            told = schema
    made = _made(dialect, told, options)
    if filter is None or not residual:
        return made.compile(filter, limits=limits)
    expression = as_expression(filter, limits)
    try:
        return made.compile(expression, limits=limits)
    except UnsupportedFilterError as error:
        from vecstore.filter.residual import split

        parted: Compiled | PartialCompiled = split(
            expression,
            error,
            lambda part: made.compile(part, limits=None),
            made.name,
            everything=made.everything(),
        )
        return parted


def _made(dialect: str | Dialect[Any], schema: Hashable, options: dict[str, Any]) -> Dialect[Any]:
    """The dialect to compile with; one that takes a schema is told of it."""
    if isinstance(dialect, Dialect):
        if options:
            raise TypeError(
                f"options go to a dialect given by name; this {type(dialect).__name__} has its own"
            )
        if schema is None or "schema" not in option_names(type(dialect)):
            return dialect
        takes: Any = dialect
        return dialect if takes.schema is not None else _told(dialect, schema)
    found = get_dialect(dialect)
    if schema is not None and "schema" in option_names(found):
        if not options:
            return _made_with(found, schema)
        options["schema"] = schema
    if options or dialect not in _BUILT_IN:
        return found(**options)
    # What a tree keeps of a dialect, it keeps for one object.
    if found not in _WITHOUT_OPTIONS:
        _WITHOUT_OPTIONS[found] = found()
    return _WITHOUT_OPTIONS[found]


@lru_cache(maxsize=32)
def _made_with(made: type[Dialect[Any]], schema: Hashable) -> Dialect[Any]:
    """One object for one schema: what a tree keeps of a dialect, it keeps for one object."""
    return made(schema=schema)


def _told(dialect: Dialect[Any], schema: Hashable) -> Dialect[Any]:
    """A dialect object like another that has no schema, told of one."""
    if is_constant(dialect):
        # Equal ones may still differ, in a field that is left out of comparisons.
        like, told = _told_once(dialect, schema)
        if like is dialect:
            return told
    return _with_schema(dialect, schema)


@lru_cache(maxsize=32)
def _told_once(dialect: Dialect[Any], schema: Hashable) -> tuple[Dialect[Any], Dialect[Any]]:
    return dialect, _with_schema(dialect, schema)


def _with_schema(dialect: Any, schema: Hashable) -> Dialect[Any]:
    from dataclasses import replace

    made: Dialect[Any] = replace(dialect, schema=schema)
    return made


def _load_plug_in(name: str) -> type[Dialect[Any]]:
    misfit = f"the dialect {name!r} is no subclass of vecstore.dialects.Dialect"
    loaded: type[Dialect[Any]] | None = _PLUG_INS.load(name, Dialect, misfit)
    if loaded is None:
        from difflib import get_close_matches

        known = dialect_names()
        meant = _ALSO.get(name.lower())
        close = [meant] if meant else get_close_matches(name.lower(), known, n=1)
        suggestion = f"; did you mean {close[0]!r}?" if close else ""
        raise DialectNotFoundError(
            f"there is no dialect {name!r}{suggestion} (known: {', '.join(known)})"
        )
    return loaded
