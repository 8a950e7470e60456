"""What one dialect makes of one filter: its query, or why it refuses and what it could answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vecstore.dialects.base import Dialect
from vecstore.dialects.registry import compile_filter
from vecstore.errors import UnsupportedFilterError
from vecstore.explaining.plain import compact_json, error_object
from vecstore.filter.convert import NO_QUERY, Compiled
from vecstore.filter.residual import PartialCompiled
from vecstore.filter.tree import Expression


@dataclass(frozen=True, slots=True)
class Refused:
    """What a dialect does not answer whole, and which part of it it does."""

    error: UnsupportedFilterError
    partial: PartialCompiled | None


def outcome_of(dialect: Dialect[Any], expression: Expression) -> Compiled | Refused:
    """The query, or why there is none.

    Example:
        >>> from vecstore import get_dialect, parse
        >>> refused = outcome_of(get_dialect("qdrant")(), parse("lang == 'de' AND title > 'M'"))
        >>> refused.error.key, refused.partial.wider.query
        ('title', {'must': [{'key': 'lang', 'match': {'value': 'de'}}]})
    """
    try:
        return dialect.compile(expression)
    except UnsupportedFilterError as error:
        partial = compile_filter(expression, dialect, residual=True)
        return Refused(error, partial if isinstance(partial, PartialCompiled) else None)


def query_text(compiled: Compiled, width: int) -> str:
    """The native query without its parameters, in as few lines as it takes.

    Example:
        >>> from vecstore import compile_filter
        >>> print(query_text(compile_filter("a == 'x' AND b == 'y'", "qdrant"), 60))
        {
          "must": [
            {"key": "a", "match": {"value": "x"}},
            {"key": "b", "match": {"value": "y"}}
          ]
        }
    """
    native = compiled.native
    if isinstance(native, dict | list) or hasattr(native, "to_where"):
        return compact_json(native, width)
    return str(compiled.query) if compiled.params else str(compiled)


def compiled_object(compiled: Compiled) -> dict[str, Any]:
    """A compiled filter for a program to read; ``query`` is null where there is none to run."""
    return {
        "dialect": compiled.dialect,
        "query": None if compiled.native is NO_QUERY else compiled.query,
        "params": compiled.params,
        "matches_all": compiled.matches_all,
        "matches_nothing": compiled.matches_nothing,
    }


def outcome_object(outcome: Compiled | Refused) -> dict[str, Any]:
    """An outcome for a program to read."""
    if isinstance(outcome, Compiled):
        return compiled_object(outcome)
    told: dict[str, Any] = {"refused": error_object(outcome.error)}
    partial = outcome.partial
    if partial is not None:
        told["partial"] = {
            "answered": [part.to_text() for part in partial.answered],
            "evaluated": [part.to_text() for part in partial.evaluated],
            "asked": compiled_object(partial.wider),
        }
    return told
