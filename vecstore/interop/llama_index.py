"""LlamaIndex's ``MetadataFilters``, as objects or as the dicts they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import MEMBERSHIPS, Expression, Op
from vecstore.filter.values import list_items, plain_value
from vecstore.interop.reading import Branch, Importer, Part, Place, Read, brief

_COMPARISONS: Final = {
    "==": Op.EQ,
    "!=": Op.NE,
    ">": Op.GT,
    ">=": Op.GTE,
    "<": Op.LT,
    "<=": Op.LTE,
    "in": Op.IN,
    "nin": Op.NIN,
}
_OTHERS: Final = ("any", "all", "contains", "is_empty")
_CONDITIONS: Final = {"and": Op.AND, "or": Op.OR, "not": Op.NOT}
_TEXT = "filters compare whole values; keep what you look for under a key of its own"
_ADVICE: Final = {
    "text_match": _TEXT,
    "text_match_insensitive": _TEXT,
    "eq": 'write "=="',
    "not in": 'write "nin"',
}
_GROUP: Final = ("filters", "condition")
_FILTER: Final = ("key", "value", "operator")


class LlamaIndex(Importer):
    """LlamaIndex's filters."""

    source = "LlamaIndex"

    def start(self, item: Any, place: Place) -> Read:
        if list_items(item) is not None:  # what MetadataFilters.from_dicts takes
            return self._joined("and", item, place)
        return self.filter(item, place)

    def filter(self, item: Any, place: Place) -> Read:
        """One filter or a group of them."""
        group = _has(item, "filters")
        if not group and not _has(item, "key"):
            raise self.refused(
                place,
                f"MetadataFilters or a MetadataFilter is needed, not {brief(item)}",
                '{"filters": [{"key": "year", "operator": ">=", "value": 2020}]}',
            )
        if isinstance(item, Mapping):
            wanted = _GROUP if group else _FILTER
            extra = next((name for name in item if name not in wanted), None)
            if extra is not None:
                raise self.refused(
                    place, f"unknown name {brief(extra)}", "its names are " + ", ".join(wanted)
                )
        if group:
            return self._joined(
                _field(item, "condition"), _field(item, "filters"), place.step("filters")
            )
        return self._comparison(item, place)

    def _joined(self, condition: Any, filters: Any, place: Place) -> Read:
        name = plain_value(condition)
        name = "and" if name is None else name.lower() if isinstance(name, str) else name
        op = _CONDITIONS.get(name) if isinstance(name, str) else None
        if op is None:
            raise self.unknown(place, "condition", name, _CONDITIONS, {})
        items = list_items(filters)
        if items is None:
            raise self.refused(place, f"a list of filters is needed, not {brief(filters)}", "[...]")
        parts = [Part(self.filter, one, place.item(at)) for at, one in enumerate(items)]
        if not parts:  # no filter, whatever the condition
            op = Op.AND
        # None of several may hold.
        return Branch(Op.NOT, (Branch(Op.OR, parts),)) if op is Op.NOT else Branch(op, parts)

    def _comparison(self, item: Any, place: Place) -> Read:
        key = self.key(_field(item, "key"), place.step("key"), dots="name")
        name = plain_value(_field(item, "operator"))
        name = "==" if name is None else name
        value = _field(item, "value")
        at = place.step("value")
        op = _COMPARISONS.get(name) if isinstance(name, str) else None
        if name == "is_empty":
            return self.null(key)
        if op is None and name not in _OTHERS:
            known = [*_COMPARISONS, *_OTHERS]
            raise self.unknown(place.step("operator"), "operator", name, known, _ADVICE)
        if value is None:
            raise self.refused(
                at, "None is no value to compare with", 'write the operator "is_empty"'
            )
        if op in MEMBERSHIPS or name == "any":
            return self.among(op or Op.IN, key, value, at)
        items = list_items(value)
        if name == "all":
            if items is None:
                raise self.refused(at, f"a list is needed, not {brief(value)}", "write [...]")
            parts = [self.compared(Op.EQ, key, one, at.item(no)) for no, one in enumerate(items)]
            return Branch(Op.AND, parts or [self.null(key, absent=False)])
        if items is not None:
            raise self.refused(
                at, "a whole list is compared with nothing", 'write the operator "in" or "any"'
            )
        return self.compared(op or Op.EQ, key, value, at)


def _has(item: Any, name: str) -> bool:
    return name in item if isinstance(item, Mapping) else hasattr(item, name)


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def from_llama_index(filters: Any, *, limits: Limits | None = DEFAULT_LIMITS) -> Expression:
    """LlamaIndex's metadata filters as one filter of ours.

    Metadata is flat there: a dot belongs to the name. NOT says that none of its filters hold.

    Args:
        filters: ``MetadataFilters``, nested ones too, a ``MetadataFilter``, the dicts they are
            made of, or a list of these. None of them is ``TRUE``. LlamaIndex is not needed.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_llama_index(
        ...     {
        ...         "condition": "or",
        ...         "filters": [
        ...             {"key": "year", "operator": ">=", "value": 2020},
        ...             {"key": "tags", "operator": "any", "value": ["a", "b"]},
        ...         ],
        ...     }
        ... ).to_text()
        "year >= 2020 OR tags IN ['a', 'b']"
    """
    return LlamaIndex(limits).read(filters)
