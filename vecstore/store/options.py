"""The options of every store, whatever its backend: what they are called, and how each is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypedDict

from vecstore.errors import ConfigurationError
from vecstore.filter.values import shown
from vecstore.store.arguments import Residual, residual_fault
from vecstore.store.embedded import EmbedAs
from vecstore.store.observing import Observer

if TYPE_CHECKING:
    from vecstore.schema import Schema

ASYNC_THREADS: Final = 8
"""How many awaited calls of a store run at the same time where it does not say."""

RESIDUAL_LIMIT: Final = 10_000
"""How many documents a call looks at where the store does not say."""


class CommonOptions(TypedDict, total=False):
    """Options of every store that concern no backend; a store hands them on to ``VectorStore``."""

    async_threads: int
    observers: Iterable[Observer]
    observe_content: bool
    max_cost: int | None
    schema: Schema | None
    residual: Residual
    residual_limit: int | None
    embed_as: EmbedAs | None


COMMON_OPTIONS: Final = tuple(CommonOptions.__annotations__)
"""Their names, in this order."""


def read_threads(value: int) -> int:
    """The option ``async_threads``.

    Raises:
        ConfigurationError: If it is no whole number from 1 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"async_threads is a whole number from 1 on, not {shown(value)}")
    return value


def read_schema(value: Any) -> Schema | None:
    """The option ``schema``.

    Raises:
        ConfigurationError: If it is none.
    """
    if value is None:
        return None
    from vecstore.schema import Schema

    if not isinstance(value, Schema):
        remedy = "write schema=Schema({'year': int})"
        if isinstance(value, str):
            remedy += "; the schema of a PostgreSQL table is namespace=..."
        raise ConfigurationError(f"schema is a Schema, not a {type(value).__name__}; {remedy}")
    return value


def read_residual(value: Any) -> Residual:
    """The option ``residual``.

    Raises:
        ConfigurationError: If it is neither ``"refuse"`` nor ``"evaluate"``.
    """
    if not isinstance(value, str) or value not in ("refuse", "evaluate"):
        raise ConfigurationError(residual_fault(value))
    return value  # type: ignore[return-value]


def read_residual_limit(value: Any) -> int | None:
    """The option ``residual_limit``.

    Raises:
        ConfigurationError: If it is neither a whole number from 1 on nor None.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(
            f"residual_limit is a whole number from 1 on, or None for no limit, not {shown(value)}"
        )
    return value
