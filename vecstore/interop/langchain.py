"""LangChain's structured queries, as its self-query retrievers make them, and its dicts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import MEMBERSHIPS, TRUE, Expression, Op
from vecstore.filter.values import list_items, plain_value
from vecstore.interop.mongo import LangChainDicts
from vecstore.interop.reading import Branch, Importer, Part, Place, Read, brief

_COMPARATORS: Final = {
    "eq": Op.EQ,
    "ne": Op.NE,
    "gt": Op.GT,
    "gte": Op.GTE,
    "lt": Op.LT,
    "lte": Op.LTE,
    "in": Op.IN,
    "nin": Op.NIN,
}
_OPERATORS: Final = {"and": Op.AND, "or": Op.OR, "not": Op.NOT}
_ADVICE: Final = {
    "contain": "some of LangChain's translators take it for an element of a list, others for a "
    "part of a text; for an element write eq",
    "like": "filters compare whole values; keep what you look for under a key of its own",
}
_MOMENTS: Final = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}


class LangChain(Importer):
    """LangChain's ``StructuredQuery``, ``Operation`` and ``Comparison``."""

    source = "LangChain"

    def start(self, item: Any, place: Place) -> Read:
        if hasattr(item, "filter") and hasattr(item, "query"):
            inner = item.filter
            return TRUE if inner is None else self.directive(inner, place.step("filter"))
        return self.directive(item, place)

    def directive(self, item: Any, place: Place) -> Read:
        """An operation or a comparison."""
        if hasattr(item, "operator") and hasattr(item, "arguments"):
            return self._operation(item, place)
        if all(hasattr(item, name) for name in ("comparator", "attribute", "value")):
            return self._comparison(item, place)
        raise self.refused(
            place,
            f"a StructuredQuery, an Operation or a Comparison is needed, not {brief(item)}",
            'Comparison(comparator="gte", attribute="year", value=2020)',
        )

    def _operation(self, item: Any, place: Place) -> Read:
        name = plain_value(item.operator)
        op = _OPERATORS.get(name) if isinstance(name, str) else None
        if op is None:
            raise self.unknown(place.step("operator"), "operator", name, _OPERATORS, {})
        inner = place.step("arguments")
        items = list_items(item.arguments)
        if not items:
            raise self.refused(inner, "an operation needs arguments", "write a comparison")
        parts = [Part(self.directive, one, inner.item(at)) for at, one in enumerate(items)]
        if op is not Op.NOT:
            return Branch(op, parts)
        if len(parts) != 1:
            raise self.refused(
                inner, f"not takes one argument, not {len(parts)}", "put them into an and first"
            )
        return Branch(op, parts)

    def _comparison(self, item: Any, place: Place) -> Read:
        key = self.key(item.attribute, place.step("attribute"), dots="step")
        name = plain_value(item.comparator)
        op = _COMPARATORS.get(name) if isinstance(name, str) else None
        if op is None:
            raise self.unknown(place.step("comparator"), "comparator", name, _COMPARATORS, _ADVICE)
        at = place.step("value")
        items = list_items(item.value)
        if op in MEMBERSHIPS:
            value = item.value if items is None else [self._value(one, at) for one in items]
            return self.among(op, key, value, at)
        if items is not None:
            raise self.refused(
                at, "a whole list is compared with nothing", "write the comparator in or nin"
            )
        if item.value is None:
            raise self.refused(
                at, "None is no value to compare with", "build it here: F.key.is_null()"
            )
        return self.compared(op, key, self._value(item.value, at), at)

    def _value(self, value: Any, place: Place) -> Any:
        """A literal; dates come as objects that say so."""
        if not isinstance(value, Mapping):
            return value
        kind = value.get("type")
        read = _MOMENTS.get(kind) if isinstance(kind, str) else None
        text = value.get(kind) if read is not None else None
        if read is None or not isinstance(text, str):
            raise self.refused(
                place,
                "an object is compared with nothing",
                '{"type": "date", "date": "2024-01-31"}',
            )
        try:
            return read(text)
        except ValueError:
            raise self.refused(
                place, f"{brief(text)} is no {kind}", "write it as ISO 8601: 2024-01-31"
            ) from None


def from_langchain(query: Any, *, limits: Limits | None = DEFAULT_LIMITS) -> Expression:
    """A filter of LangChain as one of ours.

    Stores of LangChain take the filters of their own system; for these there are ``from_pinecone``,
    ``from_chroma``, ``from_qdrant`` and ``from_mongo``. This reads what LangChain itself has.

    Args:
        query: A ``StructuredQuery`` (its ``query`` and ``limit`` are for ``search``), an
            ``Operation`` or a ``Comparison``, in which a dot steps into an object; or a dict of
            LangChain's PostgreSQL store. An empty one is ``TRUE``. LangChain is not needed.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_langchain({"year": {"$between": [2020, 2024]}, "lang": "de"}).to_text()
        "year >= 2020 AND year <= 2024 AND lang == 'de'"
    """
    importer = LangChainDicts(limits) if isinstance(query, Mapping) else LangChain(limits)
    return importer.read(query)
