"""Compiled filters as the client takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vecstore.dialects.tokens import DOCUMENT_TOKEN
from vecstore.dialects.weaviate.layout import TOKENS
from vecstore.dialects.weaviate.where import Compound, Condition, Operand
from vecstore.filter.convert import Compiled

_KEY: Final = "_id"
"""What filters call an object's own id."""

_SPAN: Final = 128
_ALL: Final = 1 << _SPAN

_METHODS: Final = {
    "Equal": "equal",
    "NotEqual": "not_equal",
    "GreaterThan": "greater_than",
    "GreaterThanEqual": "greater_or_equal",
    "LessThan": "less_than",
    "LessThanEqual": "less_or_equal",
    "ContainsAny": "contains_any",
    "IsNull": "is_none",
}

IS_DOCUMENT: Final = Condition(TOKENS, "Equal", "text", DOCUMENT_TOKEN)
"""What every document of the exact layout answers, and no object that was deleted."""

IS_THERE: Final = Condition(
    _KEY, "GreaterThanEqual", "text", "00000000-0000-0000-0000-000000000000"
)
"""What every object answers that was not deleted.

``NotEqual`` is answered by leaving objects out of all that there ever were, so that a count of it
alone counts deleted ones as well.
"""


def client_filter(query: Operand) -> Any:
    """A filter of the client's.

    The dialect bounds how deep a query is.

    Example:
        >>> client_filter(Condition("n", "Equal", "int", 1)).value
        1
    """
    from weaviate.classes.query import Filter

    if isinstance(query, Compound):
        join = Filter.all_of if query.operator == "And" else Filter.any_of
        return join([client_filter(one) for one in query.operands])
    if query.operator == "IsNull" and query.value is True:
        # What is null the server notes with an object, for the properties that there were then.
        return Filter.not_(Filter.by_property(query.path).is_none(False))
    value: Any = list(query.value) if isinstance(query.value, tuple) else query.value
    return getattr(Filter.by_property(query.path), _METHODS[query.operator])(value)


def all_of(parts: Iterable[Any]) -> Any:
    """Filters of the client's joined by And, None among them left out; None for none."""
    from weaviate.classes.query import Filter

    kept = [part for part in parts if part is not None]
    return Filter.all_of(kept) if len(kept) > 1 else (kept[0] if kept else None)


def matching(filter: Compiled | None, sign: Condition) -> Any:
    """Objects that match and that are there.

    Args:
        filter: Of the dialect; None for everything.
        sign: What tells that they are: :data:`IS_DOCUMENT` or :data:`IS_THERE`.
    """
    return all_of([client_filter(sign), None if filter is None else client_filter(filter.query)])


def among(keys: Iterable[str]) -> Any:
    """Objects with one of these ids."""
    from weaviate.classes.query import Filter

    return Filter.by_id().contains_any([*keys])


class KeyRange:
    """A range of objects' ids: those that begin with some bits.

    Args:
        start: Its first id, as a number.
        bits: How many bits are the same.

    Example:
        >>> one, other = KeyRange().halves()
        >>> other.first
        '80000000-0000-0000-0000-000000000000'
    """

    __slots__ = ("bits", "start")

    def __init__(self, start: int = 0, bits: int = 0) -> None:
        self.start = start
        self.bits = bits

    @property
    def first(self) -> str:
        """Its first id."""
        return _key(self.start)

    def halves(self) -> tuple[KeyRange, KeyRange]:
        """Both halves, in order."""
        bits = self.bits + 1
        return KeyRange(self.start, bits), KeyRange(self.start + (_ALL >> bits), bits)

    def parts(self, bits: int) -> list[KeyRange]:
        """Parts of equal size, in order, so many bits more each."""
        deep = self.bits + bits
        return [KeyRange(self.start + n * (_ALL >> deep), deep) for n in range(1 << bits)]

    def filter(self) -> Any:
        """Objects with ids in the range."""
        from weaviate.classes.query import Filter

        key, end = Filter.by_property(_KEY), self.start + (_ALL >> self.bits)
        below = None if end == _ALL else key.less_than(_key(end))
        return all_of([key.greater_or_equal(self.first), below])


def _key(number: int) -> str:
    digits = f"{number:032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
