"""What every dialect has beside its emitter: options, and filters given as text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Self

from vecstore.filter.convert import Compiled, FilterConverter, Part
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import Expression, FilterInput, Group, check_tree, unwrap


class Dialect(FilterConverter[Part]):
    """Base of all dialects. A dialect is a frozen dataclass whose fields are its options.

    Example:
        >>> from vecstore.dialects.pgvector import Pgvector
        >>> print(Pgvector(paramstyle="format").compile("year > 2020").query)
        (jsonb_typeof("metadata" -> %s::text) = 'number' AND ("metadata" -> %s::text) > %s::jsonb)
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Refuse unknown options by name; the dataclass would not list those it has."""
        known = option_names(cls)
        unknown = [name for name in options if name not in known]
        if unknown:
            listed = ", ".join(known) if known else "none"
            raise TypeError(
                f"{cls.__name__} has no option {unknown[0]!r}; its options are: {listed}"
            )
        return super().__new__(cls)

    def compile(self, filter: FilterInput, *, limits: Limits | None = DEFAULT_LIMITS) -> Compiled:
        """Compile a filter for this backend.

        Args:
            filter: Text, an expression, or None for no filter.
            limits: Bounds on the filter's size; None lifts them.

        Returns:
            The native query with its parameters.

        Raises:
            FilterSyntaxError: If the text cannot be read.
            FilterLimitError: If the filter is larger than the limits.
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
        """
        if filter is None:
            return self.everything()
        return self.convert(as_expression(filter, limits))


def as_expression(
    filter: Expression | Group | str, limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """A filter given in any form as an expression that keeps within the limits."""
    if isinstance(filter, str):
        from vecstore.grammar.parser import parse

        return parse(filter, limits=limits)
    return check_tree(unwrap(filter), limits)


def option_names(dialect: type[Any]) -> list[str]:
    """The options a dialect class takes."""
    return [field.name for field in fields(dialect) if field.init] if is_dataclass(dialect) else []
