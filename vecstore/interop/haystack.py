"""Filters of Haystack 2 and later: dicts of field, operator and value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import FALSE, MEMBERSHIPS, TRUE, Expression, Key, Op
from vecstore.filter.values import list_items
from vecstore.interop.reading import Branch, Importer, Part, Place, Read, brief

_COMPARISONS: Final = {
    "==": Op.EQ,
    "!=": Op.NE,
    ">": Op.GT,
    ">=": Op.GTE,
    "<": Op.LT,
    "<=": Op.LTE,
    "in": Op.IN,
    "not in": Op.NIN,
}
_JOINTS: Final = {"AND": Op.AND, "OR": Op.OR, "NOT": Op.NOT}
_OWN_FIELDS: Final = {
    "id": "ids are an argument of their own: get(ids), delete(ids)",
    "content": "filters look at metadata; for texts use search(query)",
    "blob": "filters look at metadata",
    "meta": 'name a key inside it: "meta.year"',
    "score": "write search(..., threshold=0.5)",
    "embedding": "write search(vector=[...])",
    "sparse_embedding": "filters look at metadata",
}
_ADVICE: Final = {
    **dict.fromkeys(_OWN_FIELDS, ""),
    "and": 'write "AND"',
    "or": 'write "OR"',
    "not": 'write "NOT"',
    "nin": 'write "not in"',
    "=": 'write "=="',
}


class Haystack(Importer):
    """Haystack's filters."""

    source = "Haystack"

    def start(self, item: Any, place: Place) -> Read:
        if isinstance(item, Mapping) and not item:
            return TRUE
        return self.condition(item, place)

    def condition(self, item: Any, place: Place) -> Read:
        """A comparison or a joint."""
        if not isinstance(item, Mapping):
            raise self.refused(
                place,
                f"a condition is an object, not {brief(item)}",
                '{"field": "meta.year", "operator": ">=", "value": 2020}',
            )
        if "field" in item:
            self._check_names(item, ("field", "operator", "value"), place)
            return self._comparison(item, place)
        if "operator" not in item and any(name in item for name in ("$and", "$or", "$not")):
            raise self.refused(
                place,
                "this is a filter of Haystack 1",
                'write {"operator": "AND", "conditions": [...]}',
            )
        self._check_names(item, ("operator", "conditions"), place)
        operator, conditions = item["operator"], list_items(item["conditions"])
        op = _JOINTS.get(operator) if isinstance(operator, str) else None
        if op is None:
            raise self.unknown(place.step("operator"), "operator", operator, _JOINTS, _ADVICE)
        inner = place.step("conditions")
        if conditions is None:
            raise self.refused(
                inner, f"a list of conditions is needed, not {brief(item['conditions'])}", "[...]"
            )
        parts = [
            Part(self.condition, condition, inner.item(at))
            for at, condition in enumerate(conditions)
        ]
        # Of several, NOT says that not all of them hold.
        return Branch(Op.NOT, (Branch(Op.AND, parts),)) if op is Op.NOT else Branch(op, parts)

    def _check_names(self, item: Mapping[Any, Any], wanted: tuple[str, ...], place: Place) -> None:
        missing = next((name for name in wanted if name not in item), None)
        extra = next((name for name in item if name not in wanted), None)
        if missing is not None or extra is not None:
            fault = f"{missing!r} is missing" if extra is None else f"unknown name {brief(extra)}"
            raise self.refused(place, fault, "its names are " + ", ".join(wanted))

    def _comparison(self, item: Mapping[Any, Any], place: Place) -> Read:
        key = self._field(item["field"], place.step("field"))
        operator, value = item["operator"], item["value"]
        op = _COMPARISONS.get(operator) if isinstance(operator, str) else None
        if op is None:
            raise self.unknown(place.step("operator"), "operator", operator, _COMPARISONS, _ADVICE)
        at = place.step("value")
        if op in MEMBERSHIPS:
            if list_items(value) is not None and not isinstance(value, list):
                raise self.refused(
                    at, f"Haystack takes a list, not a {type(value).__name__}", "[*values]"
                )
            return self.among(op, key, value, at, nulls=True)
        several = list_items(value) is not None
        if op in (Op.EQ, Op.NE):
            if value is None:
                return self.null(key, absent=op is Op.EQ)
            if several:
                raise self.refused(
                    at,
                    "a whole list is compared with nothing",
                    f'for one of its elements write "{"in" if op is Op.EQ else "not in"}"',
                )
            return self.compared(op, key, value, at)
        if value is None:  # which Haystack takes for false, and its negation for true
            return FALSE
        if isinstance(value, str) and not _is_iso(value):
            raise self.refused(
                at,
                f"Haystack orders numbers and ISO dates, not {brief(value)}",
                "to order texts build the comparison here: F.title > 'M'",
            )
        return self.compared(op, key, value, at)

    def _field(self, field: Any, place: Place) -> Key:
        if not isinstance(field, str):
            raise self.refused(place, f"a field is text, not {brief(field)}", '"meta.year"')
        root, dot, rest = field.partition(".")
        if not dot and root not in _OWN_FIELDS:
            return self.key(field, place, dots="step")
        if dot and root == "meta":
            return self.key(rest, place, dots="step")
        if root in _OWN_FIELDS:
            raise self.refused(
                place, f"{brief(field)} is no metadata, but the document's own", _OWN_FIELDS[root]
            )
        raise self.refused(
            place,
            f"{brief(field)} is a field of no document of Haystack",
            f"write {brief(f'meta.{field}')}",
        )


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def from_haystack(
    filters: Mapping[str, Any], *, limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """A filter of Haystack as one of ours.

    The prefix ``meta.`` goes; further dots step into objects, and None is an absent value. NOT of
    several conditions says that not all of them hold. Dates are texts: where documents hold them
    in another form than the filter, see :meth:`vecstore.Schema.check` with ``coerce=True``.

    Args:
        filters: As ``DocumentStore.filter_documents`` takes it. An empty one is ``TRUE``.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_haystack(
        ...     {
        ...         "operator": "AND",
        ...         "conditions": [
        ...             {"field": "meta.year", "operator": ">=", "value": 2020},
        ...             {"field": "meta.lang", "operator": "not in", "value": ["de", None]},
        ...         ],
        ...     }
        ... ).to_text()
        "year >= 2020 AND lang NOT IN ['de'] AND lang IS NOT NULL"
    """
    return Haystack(limits).read(filters)
