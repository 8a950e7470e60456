"""What may be asked about a filter between reading it and running it."""

from __future__ import annotations

from typing import Protocol

from vecstore.filter.tree import Expression


class FilterCheck(Protocol):
    """A declaration that filters are held against; a schema is one."""

    def check(self, filter: Expression, /, *, coerce: bool = False) -> Expression:
        """The filter, or with ``coerce`` what it was read as.

        Raises:
            FilterTypeError: If it does not fit.
        """


def checked(filter: Expression, schema: FilterCheck | None, coerce: bool) -> Expression:
    """A filter held against a schema, where there is one.

    Raises:
        TypeError: If ``schema`` is none, or ``coerce`` is asked for without one.
        FilterTypeError: If the filter does not fit.
    """
    if schema is None:
        if coerce:
            raise TypeError("coerce=True reads literals by a schema: pass schema=Schema({...})")
        return filter
    if not callable(getattr(schema, "check", None)):
        raise TypeError(
            f"schema is a Schema, not a {type(schema).__name__}: Schema({{'year': int}})"
        )
    return schema.check(filter, coerce=coerce)
