"""Filters as dicts of ``$``-operators: MongoDB, Pinecone, Chroma and LangChain's PostgreSQL store.

They are written alike and mean different things: of documents without the key, of lists, of a dot
in a name. So each is read by rules of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final, Literal

from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import MEMBERSHIPS, TRUE, Expression, Key, Op
from vecstore.filter.values import list_items
from vecstore.interop.reading import Branch, Importer, Part, Place, Read, brief

_COMPARISONS: Final = {
    "$eq": Op.EQ,
    "$ne": Op.NE,
    "$gt": Op.GT,
    "$gte": Op.GTE,
    "$lt": Op.LT,
    "$lte": Op.LTE,
    "$in": Op.IN,
    "$nin": Op.NIN,
}
_TEXT = "filters compare whole values; keep what you look for under a key of its own"
_ADVICE: Final = {
    "$regex": _TEXT,
    "$like": _TEXT,
    "$ilike": _TEXT,
    "$text": _TEXT,
    "$size": "store the length under a key of its own, and compare that",
    "$elemMatch": "lists hold no objects here; one element of a list is enough for $eq and $in",
    "$where": "no code is run: write the comparison with operators",
    "$expr": "a key is compared with a literal, not with another key",
    "$type": "only literals of the same kind are equal, so that a comparison tells the type",
    "$mod": "store the remainder under a key of its own, and compare that",
    "$not": 'write it around the operator: {"year": {"$not": {"$gte": 2020}}}',
    "$nor": 'write {"$and": [...]} of the opposite comparisons',
    "$contains": 'one element of a list is enough for equality: {"tags": "a"}',
    "$between": 'write {"$gte": low, "$lte": high}',
    "$all": 'write {"$and": [{"tags": "a"}, {"tags": "b"}]}',
    "$exists": "write the comparison itself: this system tells no missing key",
}


class Dicts(Importer):
    """What these filters have in common."""

    comparisons: ClassVar[Mapping[str, Op]] = _COMPARISONS
    joints: ClassVar[Mapping[str, Op]] = {"$and": Op.AND, "$or": Op.OR}
    others: ClassVar[frozenset[str]] = frozenset()
    """Further operators of a field."""
    dots: ClassVar[Literal["step", "name"]] = "name"
    nulls: ClassVar[bool] = False
    """Whether null is a literal, and stands for a missing value."""
    differs_where_absent: ClassVar[bool] = True
    """Whether ``$ne`` and ``$nin`` select documents without the key."""

    def start(self, item: Any, place: Place) -> Read:
        if isinstance(item, Mapping) and not item:
            return TRUE
        return self.query(item, place)

    def query(self, item: Any, place: Place) -> Read:
        """An object of keys and joints, all of which have to hold."""
        if not isinstance(item, Mapping):
            raise self.refused(
                place,
                f"an object is needed, not {brief(item)}",
                'write {"year": {"$gte": 2020}}; of a JSON text, json.loads(text)'
                if isinstance(item, str)
                else 'write {"year": {"$gte": 2020}}',
            )
        self.check_entries(item, place)
        return Branch(
            Op.AND,
            [
                Part(partial(self.entry, name), value, place.step(name))
                for name, value in item.items()
            ],
        )

    def check_entries(self, item: Mapping[Any, Any], place: Place) -> None:
        """What must hold of an object of keys and joints."""
        if not item:
            raise self.refused(place, "an empty object", "leave it out, or write a comparison")

    def entry(self, name: Any, value: Any, place: Place) -> Read:
        """One key or joint with what stands beside it."""
        if not isinstance(name, str):
            raise self.refused(place, f"a key is text, not {brief(name)}", "write it as a text")
        if not name.startswith("$"):
            return self.field(self.key(name, place, dots=self.dots), value, place)
        op = self.joints.get(name)
        if op is not None:
            items = list_items(value)
            if items is None or not items:
                what = "an empty list" if items == [] else brief(value)
                raise self.refused(
                    place,
                    f"{name} takes a list of filters, not {what}",
                    f'write {{"{name}": [...]}}',
                )
            return Branch(
                op, [Part(self.query, one, place.item(at)) for at, one in enumerate(items)]
            )
        return self.other_joint(name, value, place)

    def other_joint(self, name: str, value: Any, place: Place) -> Read:
        """A joint that only some of these systems have."""
        if name in self.comparisons:
            raise self.refused(
                place,
                f"{name} stands where a key is expected",
                f'write it beside the key: {{"year": {{"{name}": ...}}}}',
            )
        raise self.unknown(place, "operator", name, self.joints, _ADVICE)

    def field(self, key: Key, value: Any, place: Place) -> Read:
        """What is asked of one key: a literal, or an object of operators."""
        if not isinstance(value, Mapping):
            return self.bare(key, value, place)
        return self.conditions(key, value, place)

    def conditions(self, key: Key, value: Any, place: Place) -> Read:
        """An object of operators, all of which have to hold."""
        if not isinstance(value, Mapping):
            raise self.refused(
                place, f"an object of operators is needed, not {brief(value)}", '{"$gte": 2020}'
            )
        names = list(value)
        if not names or not all(isinstance(one, str) and one.startswith("$") for one in names):
            inner = next((one for one in names if isinstance(one, str) and one[:1] != "$"), "name")
            raise self.refused(
                place,
                "an object is compared with nothing" if names else "an empty object",
                f"compare a key inside it: {{{brief(f'{key.path[-1]}.{inner}')}: ...}}"
                if self.dots == "step"
                else 'write an operator: {"$eq": ...}',
            )
        return Branch(
            Op.AND,
            [
                Part(partial(self.operator, key, name), operand, place.step(name))
                for name, operand in value.items()
            ],
        )

    def bare(self, key: Key, value: Any, place: Place) -> Read:
        """A literal beside a key: equality."""
        return self.equality(key, Op.EQ, value, place)

    def equality(self, key: Key, op: Op, value: Any, place: Place) -> Read:
        """``$eq`` or ``$ne``."""
        if value is None:
            if self.nulls:
                return self.null(key, absent=op is Op.EQ)
            raise self.refused(
                place,
                "null is no value to compare with",
                'write {"$exists": false}' if "$exists" in self.others else "leave it out",
            )
        if list_items(value) is not None:
            raise self.refused(
                place,
                "a whole list is compared with nothing",
                f'for one of its elements write {{"{"$in" if op is Op.EQ else "$nin"}": [...]}}',
            )
        return self.compared(op, key, value, place)

    def operator(self, key: Key, name: str, operand: Any, place: Place) -> Read:
        """One operator of a key."""
        op = self.comparisons.get(name)
        if op is None:
            if name not in self.others:
                raise self.unknown(
                    place, "operator", name, [*self.comparisons, *self.others], _ADVICE
                )
            return self.other_operator(key, name, operand, place)
        if op in MEMBERSHIPS:
            found = self.among(op, key, operand, place, nulls=self.nulls)
        elif op in (Op.EQ, Op.NE):
            found = self.equality(key, op, operand, place)
        else:
            return self.compared(op, key, operand, place)
        if op in (Op.NE, Op.NIN) and not self.differs_where_absent:
            return Branch(Op.AND, (found, self.null(key, absent=False)))
        return found

    def other_operator(self, key: Key, name: str, operand: Any, place: Place) -> Read:
        """An operator that only some of these systems have."""
        if name == "$exists":
            if not isinstance(operand, bool):
                raise self.refused(
                    place, f"$exists takes true or false, not {brief(operand)}", '{"$exists": true}'
                )
            return self.null(key, absent=not operand)
        if name == "$not":
            return Branch(Op.NOT, (self.conditions(key, operand, place),))
        items = list_items(operand)
        if items is None:
            raise self.refused(place, f"{name} takes a list, not {brief(operand)}", "write [...]")
        if name == "$all":
            # Of no elements, MongoDB says that nothing has them all.
            parts = [self.equality(key, Op.EQ, one, place.item(at)) for at, one in enumerate(items)]
            return Branch(Op.AND if parts else Op.OR, parts)
        if len(items) != 2:
            raise self.refused(place, "$between takes two bounds", '{"$between": [low, high]}')
        low, high = items
        return Branch(
            Op.AND,
            (self.compared(Op.GTE, key, low, place), self.compared(Op.LTE, key, high, place)),
        )


class Mongo(Dicts):
    """MongoDB's queries."""

    source = "MongoDB"
    joints: ClassVar[Mapping[str, Op]] = {**Dicts.joints, "$nor": Op.OR}
    others = frozenset({"$exists", "$not", "$all"})
    dots = "step"
    nulls = True

    def key(self, name: Any, place: Place, *, dots: Literal["step", "name"]) -> Key:
        key = super().key(name, place, dots=dots)
        if any(segment.isdecimal() for segment in key.path[1:]):
            raise self.refused(
                place,
                f"{brief(name)} steps into a list",
                f"one element is enough: write {brief('.'.join(key.path[:-1]))}",
            )
        return key

    def entry(self, name: Any, value: Any, place: Place) -> Read:
        found = super().entry(name, value, place)
        return Branch(Op.NOT, (found,)) if name == "$nor" else found

    def query(self, item: Any, place: Place) -> Read:
        return TRUE if isinstance(item, Mapping) and not item else super().query(item, place)


class Pinecone(Dicts):
    """Pinecone's metadata filters."""

    source = "Pinecone"
    others = frozenset({"$exists", "$not"})
    differs_where_absent = False


class Chroma(Dicts):
    """Chroma's ``where``."""

    source = "Chroma"
    others = frozenset({"$contains", "$not_contains"})

    def check_entries(self, item: Mapping[Any, Any], place: Place) -> None:
        if len(item) != 1:
            what = f"{len(item)} keys" if item else "an empty object"
            raise self.refused(
                place,
                f"Chroma takes one key or operator in each object, not {what}",
                'write {"$and": [{"year": 2020}, {"lang": "de"}]}',
            )

    def conditions(self, key: Key, value: Any, place: Place) -> Read:
        if isinstance(value, Mapping) and len(value) > 1:
            raise self.refused(
                place,
                f"Chroma takes one operator beside a key, not {len(value)}",
                'write {"$and": [{"year": {"$gte": 2020}}, {"year": {"$lt": 2024}}]}',
            )
        return super().conditions(key, value, place)

    def other_operator(self, key: Key, name: str, operand: Any, place: Place) -> Read:
        return self.equality(key, Op.EQ if name == "$contains" else Op.NE, operand, place)


class LangChainDicts(Dicts):
    """The dicts of LangChain's PostgreSQL store."""

    source = "LangChain"
    others = frozenset({"$exists", "$between"})
    differs_where_absent = False

    def key(self, name: Any, place: Place, *, dots: Literal["step", "name"]) -> Key:
        if isinstance(name, str) and not name.isidentifier():
            raise self.refused(
                place,
                f"LangChain's PostgreSQL store has no key {brief(name)}: its keys are identifiers",
                "build the comparison here: F['odd key'] == value",
            )
        return super().key(name, place, dots=dots)

    def operator(self, key: Key, name: str, operand: Any, place: Place) -> Read:
        # SQL's IN there, and so unknown of a missing value, NOT or no NOT; all else is false of it.
        if self.comparisons.get(name) in MEMBERSHIPS and place.is_inside("$not"):
            opposite = "$nin" if name == "$in" else "$in"
            raise self.refused(
                place,
                f"{name} under $not selects nothing there that has no {brief(key.path[0])}, "
                "and NOT of it would here",
                f"leave out the $not, and write {opposite}",
            )
        return super().operator(key, name, operand, place)

    def other_joint(self, name: str, value: Any, place: Place) -> Read:
        if name != "$not":
            return super().other_joint(name, value, place)
        items = list_items(value)
        if items is None:
            return Branch(Op.NOT, (self.query(value, place),))
        return Branch(
            Op.AND,
            [
                Branch(Op.NOT, [Part(self.query, one, place.item(at))])
                for at, one in enumerate(items)
            ],
        )


def from_mongo(query: Mapping[str, Any], *, limits: Limits | None = DEFAULT_LIMITS) -> Expression:
    """A query of MongoDB as a filter.

    A dot steps into an object; null is an absent value; ``$not`` and ``$nor`` become NOT.

    Args:
        query: What ``collection.find`` takes. An empty one is ``TRUE``.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_mongo({"author.name": "Ada", "year": {"$gte": 2020, "$not": {"$gt": 2024}}})
        ... # doctest: +ELLIPSIS
        Expression(Op.AND, ...)
        >>> from_mongo({"lang": {"$in": ["de", None]}}).to_text()
        "lang IN ['de'] OR lang IS NULL"
        >>> from_mongo({"tags.0": "a"})
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterTypeError: in the MongoDB filter, at ['tags.0']: 'tags.0' steps into \
a list
        hint: one element is enough: write 'tags'
    """
    return Mongo(limits).read(query)


def from_pinecone(
    filter: Mapping[str, Any], *, limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """A metadata filter of Pinecone as a filter.

    Metadata is flat there: a dot belongs to the name. ``$ne`` and ``$nin`` leave out records
    without the field, which the result says.

    Args:
        filter: What ``index.query`` takes. An empty one is ``TRUE``.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_pinecone({"year": {"$gte": 2020}, "genre": {"$ne": "drama"}}).to_text()
        "year >= 2020 AND genre != 'drama' AND genre IS NOT NULL"
    """
    return Pinecone(limits).read(filter)


def from_chroma(where: Mapping[str, Any], *, limits: Limits | None = DEFAULT_LIMITS) -> Expression:
    """A ``where`` of Chroma as a filter.

    Metadata is flat there: a dot belongs to the name.

    Args:
        where: What ``collection.query`` takes. An empty one is ``TRUE``.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterTypeError: For what has no meaning here, with its place and what to write instead.
        FilterLimitError: If it is larger than the limits.

    Example:
        >>> from_chroma({"$or": [{"year": {"$gte": 2020}}, {"lang": "de"}]}).to_text()
        "year >= 2020 OR lang == 'de'"
    """
    return Chroma(limits).read(where)
