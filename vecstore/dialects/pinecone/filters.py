"""What a store does with a compiled filter: the index finds records, and each is looked at again.

How the service reads ``$ne`` and ``$or`` has changed over the years, and what a query finds may be
older than the record that is read after it. So the reference evaluator has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.store.collection import decider


@dataclass(frozen=True, slots=True)
class RecordFilter(Compiled):
    """A compiled filter that can decide a document by itself.

    Attributes:
        decide: Whether metadata matches; None where it holds what no document does.
    """

    decide: Callable[[Any], bool | None] = lambda metadata: None


def record_filter(filter: Expression, to_query: Callable[[Expression], Compiled]) -> RecordFilter:
    """Compile a filter.

    Args:
        filter: The filter.
        to_query: Compiles; the dialect's.

    Example:
        >>> from vecstore import F
        >>> from vecstore.dialects.pinecone import Pinecone
        >>> made = record_filter(F.n == 1, Pinecone(layout="exact").compile)
        >>> made.native, made.decide({"n": 1.0})
        ({'__vecstore_tokens': {'$eq': '["n"]=1'}}, True)
    """
    compiled = to_query(filter)
    return RecordFilter(
        compiled.dialect,
        compiled.native,
        compiled.params,
        compiled.matches_all,
        compiled.matches_nothing,
        decider(filter),
    )


def joined(native: Any, *clauses: dict[str, Any]) -> dict[str, Any]:
    """A filter and further clauses, of which all must hold.

    Example:
        >>> joined({"n": {"$eq": 1}}, {"m": {"$eq": 2}})
        {'$and': [{'n': {'$eq': 1}}, {'m': {'$eq': 2}}]}
        >>> joined(None, {"m": {"$eq": 2}})
        {'m': {'$eq': 2}}
    """
    parts = [] if native is None else native.get("$and", [native])
    every = [*parts, *clauses]
    return every[0] if len(every) == 1 else {"$and": every}
