"""What a store does with a compiled filter: the index finds records, and each is looked at again.

How the service reads ``$ne`` and ``$or`` has changed over the years, and what a query finds may be
older than the record that is read after it. So the reference evaluator has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vecstore.dialects.pinecone.dialect import Clause, Pinecone
from vecstore.dialects.pinecone.layout import TOKENS
from vecstore.dialects.tokens import kind_token, presence_token
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import ORDERINGS, Expression
from vecstore.filter.values import Kind
from vecstore.store.collection import decider


@dataclass(frozen=True, slots=True)
class RecordFilter(Compiled):
    """A compiled filter that can decide a document by itself.

    Attributes:
        decide: Whether metadata matches; None where it holds what no document does.
        widened: Whether it also selects records whose texts were not laid out to be ordered.
    """

    decide: Callable[[Any], bool | None] = lambda metadata: None
    widened: bool = False


class RecordPinecone(Pinecone):
    """The dialect for a namespace that stores with other schemas write to, and did before.

    What they wrote has no tokens to order texts by, which a record says of itself. So an ordering
    selects such records too, and the store looks at them.
    """

    def text_order(self, atom: Expression) -> Clause:
        """An ordering that selects records, too, that cannot answer it."""
        path = atom.key.path
        unordered: list[Clause] = [
            {TOKENS: {"$eq": presence_token(path)}},
            {TOKENS: {"$ne": kind_token(path, Kind.STRING)}},
        ]
        return {"$or": [super().text_order(atom), {"$and": unordered}]}


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
        any(atom.op in ORDERINGS and atom.value.kind is Kind.STRING for atom in filter.walk()),
    )


def narrowed(filter: RecordFilter | None, clause: dict[str, Any]) -> RecordFilter:
    """A filter that one more clause narrows, which says nothing of metadata.

    Example:
        >>> made = narrowed(None, {"id": {"$in": ["a"]}})
        >>> made.native, made.decide({})
        ({'id': {'$in': ['a']}}, True)
    """
    if filter is None:
        return RecordFilter("pinecone", clause, decide=lambda metadata: True)
    return replace(filter, native=joined(filter.native, clause), matches_all=False)


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
