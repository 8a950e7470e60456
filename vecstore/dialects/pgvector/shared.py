"""A table that several collections share: the columns that say which rows are this store's.

``statements.py`` joins the condition to every statement, and puts its values into every row that is
inserted. Filters know the metadata alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from vecstore.errors import ConfigurationError, ScopeError
from vecstore.store.backend import listed_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Cursor

_PARAMETER: Final = "vecstore_of_store_{}"

Fixed = tuple[tuple[str, str], ...]
"""Columns, each with the value that this store's rows have there, as text."""


def read_where(where: Any) -> Fixed:
    """The option ``where``.

    Args:
        where: A mapping of columns to texts, integers, booleans or UUIDs; None for none.

    Raises:
        ConfigurationError: If it is anything else, or empty.

    Example:
        >>> read_where({"collection_id": 7, "live": True})
        (('collection_id', '7'), ('live', 'true'))
    """
    if where is None:
        return ()
    if not isinstance(where, Mapping) or not where:
        raise ConfigurationError(
            "where maps columns of the table to the value that this store's rows have there, as in "
            f'where={{"collection_id": collection_id}}; it is no {type(where).__name__}'
            + (" without any" if isinstance(where, Mapping) else "")
        )
    return tuple([(name, _as_text(name, value)) for name, value in where.items()])


def _as_text(name: Any, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | UUID):
        return str(value)
    if isinstance(value, str) and "\0" not in value:
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return str.__str__(value)
    what = "a text that PostgreSQL cannot hold" if isinstance(value, str) else type(value).__name__
    raise ConfigurationError(
        f"where: the column {name!r} is compared with a text, an integer, a boolean or a UUID, not "
        f"{'None, which equals nothing' if value is None else what}"
    )


def column_faults(fixed: Fixed, found: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """What is wrong with the columns of a table for this; ``found`` is as in ``read_table``."""
    return [
        f"it has no column {name!r}, which where= names"
        if name not in found
        else f"the column {name!r}, which where= names, is generated, so that no row gets a value"
        for name, _ in fixed
        if name not in found or found[name][4]
    ]


def types_of(cursor: Cursor[Any], oid: int, shown: str, fixed: Fixed) -> tuple[str, ...]:
    """The SQL types of the columns, to which the values are cast.

    Args:
        cursor: In a transaction.
        oid: Of the table.
        shown: The table for people.
        fixed: The columns, which exist, and their values.

    Raises:
        ConfigurationError: If a value is none of its column's type.
    """
    from psycopg import errors

    if not fixed:
        return ()
    cursor.execute(
        # With -1 rather than NULL, so that no type is one of a single character.
        "SELECT attname::text, format_type(atttypid, -1) FROM pg_attribute "
        "WHERE attrelid = %s AND attname = ANY(%s::text[])",
        [oid, [name for name, _ in fixed]],
    )
    types = dict(cursor.fetchall())
    for name, value in fixed:
        try:
            cursor.execute(f"SELECT %s::text::{types[name].replace('%', '%%')}", [value])
        except errors.DataError:
            raise ConfigurationError(
                f"where: the column {name!r} of the table {shown} is {types[name]}, and the value "
                "given for it is none"
            ) from None
    return tuple([types[name] for name, _ in fixed])


def parameters(fixed: Fixed) -> dict[str, Any]:
    """The values, as :func:`placeholders` names them."""
    return {_PARAMETER.format(number): value for number, (_, value) in enumerate(fixed)}


def placeholders(types: Sequence[str]) -> list[str]:
    """A place for each value, cast to the type of its column."""
    return [
        f"%({_PARAMETER.format(number)})s::text::{type.replace('%', '%%')}"
        for number, type in enumerate(types)
    ]


def taken_elsewhere(shown: str, columns: Sequence[str], ids: Sequence[str]) -> ScopeError:
    """The error for ids that rows of other collections have; it tells nothing about these.

    Args:
        shown: The table for people.
        columns: Those that ``where`` names.
        ids: At least one.
    """
    has = "the id" if len(ids) == 1 else "the ids"
    named = " and ".join([repr(name) for name in columns])
    return ScopeError(
        f"{has} {listed_ids(ids)} cannot be used here: ids are unique in the whole table {shown}, "
        f"and rows with another {named} have them; nothing of this batch was stored; choose other "
        "ids, or leave ids out to have them drawn"
    )
