"""Long lists of literals in local mode, which would compare each value with each literal.

Local mode is Python: whether a value matches is ``value == literal``, and whether it is within a
range ``value >= bound``. A literal, or a bound, that answers for a whole list looks the value up
instead, a text in a set and a number by bisection, and ten thousand literals cost what one does.
Whether the installed client asks in that way is tried once, and otherwise every literal is sent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from vecstore.dialects.qdrant.conditions import Condition, encode_values
from vecstore.dialects.qdrant.dialect import Qdrant
from vecstore.filter.values import Kind, Scalar, kind_of

_FEW = 4


class OneOfTexts:
    """Equal to each of the texts, and to nothing else."""

    __slots__ = ("_texts",)
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, str) and value in self._texts


class OneOfNumbers:
    """A lower bound that exactly the numbers reach."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Iterable[Any]) -> None:
        # Sorted and not hashed: whoever writes a filter could choose numbers of one hash.
        self._numbers = sorted(numbers)

    def __le__(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        place = bisect_left(self._numbers, value)
        return place < len(self._numbers) and bool(self._numbers[place] == value)


class LocalQdrant(Qdrant):
    """The dialect of local mode: its queries hold objects in the place of long lists."""

    __slots__ = ()

    def values(self, key: str, literals: Sequence[Scalar]) -> list[Condition]:
        """Conditions of which one holds where the value equals one of the literals."""
        if len(literals) <= _FEW or not looks_up():
            return encode_values(key, literals)
        return quick_values(key, literals)


def quick_values(key: str, literals: Iterable[Scalar]) -> list[Condition]:
    """At most four conditions, however many literals there are."""
    texts = [literal for literal in literals if kind_of(literal) is Kind.STRING]
    numbers = [literal for literal in literals if kind_of(literal) is Kind.NUMBER]
    truths = [literal for literal in literals if kind_of(literal) is Kind.BOOL]
    conditions = encode_values(key, truths)
    if texts:
        conditions.append({"key": key, "match": {"value": OneOfTexts(map(str, texts))}})
    if numbers:
        conditions.append({"key": key, "range": {"gte": OneOfNumbers(numbers)}})
    return conditions


@cache
def looks_up() -> bool:
    """Whether the installed client compares values as this module expects."""
    from vecstore.dialects.qdrant.points import filter_model

    try:
        from qdrant_client.local.payload_filters import check_filter

        lists: list[list[Any]] = [["a", "b"], [1, 2.5], ["a", "1", 1, True]]
        for literals in lists:
            wanted = filter_model({"should": quick_values("k", literals)})
            plain = filter_model({"should": encode_values("k", literals)})
            for value in _TRIED:
                payload = {} if value is None else {"k": value}
                found = [bool(check_filter(one, payload, 0, {})) for one in (wanted, plain)]
                if found[0] != found[1]:
                    return False
    except Exception:
        return False
    return True


_TRIED: tuple[Any, ...] = (
    *(None, "a", "b", "c", "1", 1, 1.0, 2, 2.5, 0, True, False, [], {}),
    *(["c", "a"], [1.0, 7], [False], [True], ["c"], {"a": 1}, [None], [["a"]]),
)
