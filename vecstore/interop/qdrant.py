"""Qdrant's filters, as JSON or as the client's models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import TRUE, Expression, Key, Op
from vecstore.filter.values import list_items
from vecstore.interop.reading import Branch, Importer, Part, Place, Read, brief

_CLAUSES: Final = ("must", "should", "must_not", "min_should")
_RANGE: Final = {"gt": Op.GT, "gte": Op.GTE, "lt": Op.LT, "lte": Op.LTE}
_CONDITIONS: Final = ("match", "range", "is_empty")
_MATCHES: Final = ("value", "any", "except")
_TEXT = "filters compare whole values; keep what you look for under a key of its own"
_OBJECTS = "lists hold no objects here; store what you filter by under keys of their own"
_ADVICE: Final = {
    **dict.fromkeys(("text", "text_any", "phrase", "prefix", "substring"), _TEXT),
    **dict.fromkeys(
        ("geo_bounding_box", "geo_radius", "geo_polygon"),
        "store latitude and longitude as numbers, and compare these",
    ),
    "is_null": "a null value and a missing one are the same here: write is_empty",
    "values_count": "store the length under a key of its own, and compare that",
    "has_id": "ids are an argument of their own: get(ids), delete(ids)",
    "has_vector": "every document has one vector here",
    "nested": _OBJECTS,
    "slice": "for all documents, part by part, write scan()",
}
_NAME = re.compile(r'"([^"]+)"|([^."\[\]]+)')
_LEVELS_OF_POINTS = 6

KeyPath = tuple[str, ...]


class Qdrant(Importer):
    """Qdrant's filters."""

    source = "Qdrant"

    def __init__(self, limits: Limits | None, prefix: str | tuple[str, ...]) -> None:
        super().__init__(limits)
        self.prefix = (prefix,) if isinstance(prefix, str) and prefix else tuple(prefix)

    def start(self, item: Any, place: Place) -> Read:
        item = self._plain(item, place)
        if not isinstance(item, Mapping):
            raise self.refused(
                place, f"a filter is an object, not {brief(item)}", '{"must": [...]}'
            )
        if not item:
            return TRUE
        return self.condition(item, place)

    def _plain(self, item: Any, place: Place) -> Any:
        """The client's models as the JSON they stand for."""
        dump = getattr(item, "model_dump", None)
        if dump is None or isinstance(item, type):
            return item
        try:
            return dump(exclude_none=True, by_alias=True)
        except (ValueError, RecursionError):
            raise self.refused(
                place, "the model cannot be read: it is nested too deep", "flatten it"
            ) from None

    def condition(self, item: Any, place: Place) -> Read:
        """A filter or one of its conditions."""
        item = self._plain(item, place)
        if not isinstance(item, Mapping):
            raise self.refused(
                place,
                f"a condition is an object, not {brief(item)}",
                '{"key": "year", "range": {"gte": 2020}}',
            )
        names = [name for name, value in item.items() if value is not None]
        if all(name in _CLAUSES for name in names):
            return self._filter(item, place)
        if "key" in names:
            return self._of_key(item, names, place)
        if names == ["is_empty"]:
            inner = self._named(item["is_empty"], ("key",), place.step("is_empty"))
            return self.null(self._key(inner["key"], place.step("is_empty").step("key")))
        strange = next(name for name in names if name not in _CLAUSES)
        raise self.unknown(place, "condition", strange, [*_CLAUSES, "key", "is_empty"], _ADVICE)

    def _filter(self, item: Mapping[str, Any], place: Place) -> Read:
        parts: list[Branch] = []
        must = self._listed(item, "must", place)
        if must:
            parts.append(Branch(Op.AND, self._all_of(must, place.step("must"))))
        should = self._listed(item, "should", place)
        if should:  # an empty one says nothing
            at = place.step("should")
            parts.append(Branch(Op.OR, self._parts(should, at)))
        for number, one in enumerate(self._listed(item, "must_not", place)):
            at = place.step("must_not").item(number)
            parts.append(Branch(Op.NOT, (Part(self.condition, one, at),)))
        if item.get("min_should") is not None:
            parts.append(self._min_should(item["min_should"], place.step("min_should")))
        return Branch(Op.AND, parts)

    def _parts(self, items: Sequence[Any], place: Place) -> list[Part]:
        return [Part(self.condition, one, place.item(at)) for at, one in enumerate(items)]

    def _listed(self, item: Mapping[str, Any], name: str, place: Place) -> list[Any]:
        value = item.get(name)
        if value is None:
            return []
        items = list_items(value)
        return [value] if items is None else items

    def _min_should(self, item: Any, place: Place) -> Branch:
        item = self._named(item, ("conditions", "min_count"), place)
        conditions, count = list_items(item["conditions"]), item["min_count"]
        if conditions is None or isinstance(count, bool) or not isinstance(count, int):
            raise self.refused(
                place, "min_should is a list of conditions and a number", '{"min_count": 1, ...}'
            )
        if 1 < count != len(conditions):
            raise self.refused(
                place,
                f"{count} of {len(conditions)} conditions cannot be told by AND and OR alone"
                if count < len(conditions)
                else f"of {len(conditions)} conditions never {count} hold",
                "write the combinations out, or a min_count of 1 or of all",
            )
        parts = self._parts(conditions, place.step("conditions"))
        if count < 1:
            return Branch(Op.AND, ())
        return Branch(Op.OR if count == 1 else Op.AND, parts)

    def _named(self, item: Any, wanted: tuple[str, ...], place: Place) -> Mapping[str, Any]:
        item = self._plain(item, place)
        if not isinstance(item, Mapping) or set(item) != set(wanted):
            raise self.refused(
                place, "it is an object with " + " and ".join(wanted), "write these, no others"
            )
        return item

    # --- what stands in one must ----------------------------------------------------------------

    def _all_of(self, items: list[Any], place: Place) -> list[Part]:
        """The conditions of a ``must``, without those that only help the others.

        ``{"is_empty": {"key": "year[]"}}`` beside a range of ``year`` keeps lists out, as an
        ordering does here by itself. A range around points of one key is there for speed alone.
        """
        items = [self._plain(one, place.item(at)) for at, one in enumerate(items)]
        ranged = {one["key"] for one in items if _is_range(one)}
        parts: list[Part] = []
        for number, one in enumerate(items):
            at = place.item(number)
            if _guarded(one) in ranged:
                continue
            if _is_range(one) and any(
                _around_points(one, other) for other in items if other is not one
            ):
                continue
            guarded = _is_range(one) and any(_guarded(other) == one["key"] for other in items)
            parts.append(Part(partial(self.guarded, guarded), one, at))
        return parts

    def guarded(self, guarded: bool, item: Any, place: Place) -> Read:
        """A condition, perhaps a range beside which it is said that there is no list."""
        if guarded:
            return self._range(self._key(item["key"], place.step("key")), item["range"], place)
        return self.condition(item, place)

    # --- conditions of a key --------------------------------------------------------------------

    def _of_key(self, item: Mapping[str, Any], names: list[str], place: Place) -> Read:
        others = [name for name in names if name != "key"]
        strange = next((name for name in others if name not in _CONDITIONS), None)
        if strange is not None:
            raise self.unknown(place, "condition", strange, _CONDITIONS, _ADVICE)
        if len(others) != 1:
            raise self.refused(
                place, f"a key has one condition, not {len(others)}", 'write {"must": [...]}'
            )
        key = self._key(item["key"], place.step("key"))
        (kind,) = others
        value, at = self._plain(item[kind], place), place.step(kind)
        if kind == "is_empty":
            if not isinstance(value, bool):
                raise self.refused(at, f"is_empty is true or false, not {brief(value)}", "true")
            return self.null(key, absent=value)
        if kind == "range":
            if isinstance(value, Mapping):
                low, high = value.get("gte"), value.get("lte")
                if set(value) == {"gte", "lte"} and _is_number(low) and low == high:
                    return self.compared(Op.EQ, key, low, at)  # one element of a list is enough
            return self._range(key, value, place)
        return self._match(key, value, at)

    def _range(self, key: Key, value: Any, place: Place) -> Read:
        at = place.step("range")
        value = self._plain(value, at)
        if not isinstance(value, Mapping) or not value:
            raise self.refused(at, f"a range is an object, not {brief(value)}", '{"gte": 2020}')
        parts: list[Expression] = []
        for name, bound in value.items():
            op = _RANGE.get(name) if isinstance(name, str) else None
            if op is None:
                raise self.unknown(at, "bound", name, _RANGE, {})
            if bound is not None:
                parts.append(self.compared(op, key, bound, at.step(name)))
        if not parts:
            # Of numbers it would hold, and of no text: a filter asks for no kind by itself.
            raise self.refused(at, "a range has a bound", '{"gte": 2020}')
        return Branch(Op.AND, parts)

    def _match(self, key: Key, value: Any, place: Place) -> Read:
        names = list(value) if isinstance(value, Mapping) else []
        if len(names) != 1:
            raise self.refused(place, "a match is an object with one name", '{"value": "BG"}')
        (name,) = names
        if name not in _MATCHES:
            raise self.unknown(place, "match", name, _MATCHES, _ADVICE)
        literal, at = value[name], place.step(name)
        if name == "value":
            self._check_exact(literal, at)
            return self.compared(Op.EQ, key, literal, at)
        for item in list_items(literal) or ():
            self._check_exact(item, at)
        found = self.among(Op.IN if name == "any" else Op.NIN, key, literal, at)
        if name == "any":
            return found
        return Branch(Op.AND, (found, self.null(key, absent=False)))

    def _check_exact(self, literal: Any, place: Place) -> None:
        if isinstance(literal, float):
            raise self.refused(
                place,
                "a match takes no floats",
                f'write {{"range": {{"gte": {literal!r}, "lte": {literal!r}}}}}',
            )
        if not isinstance(literal, str | int):
            raise self.refused(
                place, f"a match takes texts, integers and bools, not {brief(literal)}", "BG"
            )

    # --- keys -----------------------------------------------------------------------------------

    def _key(self, text: Any, place: Place) -> Key:
        if not isinstance(text, str):
            raise self.refused(place, f"a key is text, not {brief(text)}", '"author.name"')
        path = _path(text)
        if path is None:
            into_list = "[" in text
            raise self.refused(
                place,
                f"{brief(text)} steps into a list" if into_list else f"{brief(text)} is no key",
                "one element of a list is enough: leave the brackets out"
                if into_list
                else "names are joined by dots, and quoted where they hold one",
            )
        if path[: len(self.prefix)] != self.prefix or len(path) == len(self.prefix):
            raise self.refused(
                place,
                f"{brief(text)} is not under {brief('.'.join(self.prefix))}, where the metadata is",
                "pass the prefix that the metadata has in the payload",
            )
        return self.key_of(path[len(self.prefix) :], place)


def _path(text: str) -> KeyPath | None:
    names: list[str] = []
    position = 0
    while True:
        name = _NAME.match(text, position)
        if name is None:
            return None
        names.append(name[1] or name[2])
        position = name.end()
        if position == len(text):
            return tuple(names)
        if text[position] != ".":
            return None
        position += 1


def _is_range(item: Any) -> bool:
    return (
        isinstance(item, Mapping)
        and set(item) == {"key", "range"}
        and isinstance(item["key"], str)
        and item["range"] is not None
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _guarded(item: Any) -> str | None:
    """The key of which a condition says that it holds no list but an empty one."""
    inner = item.get("is_empty") if isinstance(item, Mapping) and len(item) == 1 else None
    key = inner.get("key") if isinstance(inner, Mapping) else None
    return key[:-2] if isinstance(key, str) and key.endswith("[]") else None


def _around_points(around: Mapping[str, Any], other: Any) -> bool:
    """Whether a range holds all points that another condition of a ``must`` asks for."""
    bounds = around["range"]
    if not isinstance(bounds, Mapping) or set(bounds) != {"gte", "lte"}:
        return False
    low, high = bounds["gte"], bounds["lte"]
    points = _points(other, around["key"], _LEVELS_OF_POINTS)
    return (
        points is not None
        and _is_number(low)
        and _is_number(high)
        and low < high  # of two equal points, each would be around the other
        and all(low <= point <= high for point in points)
    )


def _points(item: Any, key: str, levels: int) -> list[Any] | None:
    """The numbers of a key of which a condition takes any; None where it says something else."""
    if not isinstance(item, Mapping) or not levels:
        return None
    if _is_range(item):
        bounds = item["range"]
        if item["key"] != key or not isinstance(bounds, Mapping):
            return None
        low, high = bounds.get("gte"), bounds.get("lte")
        is_point = set(bounds) == {"gte", "lte"} and _is_number(low) and low == high
        return [low] if is_point else None
    if set(item) == {"must"} and isinstance(item["must"], list) and len(item["must"]) == 2:
        first, second = item["must"]
        return _points(second, key, levels - 1) if _is_range(first) else None
    if set(item) != {"should"} or not isinstance(item["should"], list) or not item["should"]:
        return None
    found: list[Any] = []
    for one in item["should"]:
        points = _points(one, key, levels - 1)
        if points is None:
            return None
        found += points
    return found


def from_qdrant(
    filter: Any, *, prefix: str | tuple[str, ...] = "", limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """A filter of Qdrant as one of ours.

    A dot steps into an object, quoted names hold one. ``must_not`` becomes NOT.

    Args:
        filter: The JSON of the REST interface, or the client's ``models.Filter``. An empty one is
            ``TRUE``.
        prefix: Where the metadata stands in the payload; it goes from the keys. Our own store and
            LangChain's have it under ``"metadata"``.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_qdrant(
        ...     {
        ...         "must": [{"key": "author.name", "match": {"any": ["Ada", "Alan"]}}],
        ...         "must_not": [{"is_empty": {"key": "year"}}],
        ...     }
        ... ).to_text()
        "author.name IN ['Ada', 'Alan'] AND NOT year IS NULL"
    """
    return Qdrant(limits, prefix).read(filter)
