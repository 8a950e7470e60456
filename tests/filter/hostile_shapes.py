"""The most expensive filters that fit into the limits of a text: one of each shape, 64 KiB long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, takewhile

from vecstore.filter.limits import DEFAULT_LIMITS

_NODES = DEFAULT_LIMITS.nodes // 2
"""Comparisons at most, so that what joins them has room."""


Shape = Callable[[int], str]
"""Characters -> a text that is no longer."""


def _joined(part: Callable[[int], str], joint: str, *, atoms: int = 1, most: int = _NODES) -> Shape:
    """As many parts as the text holds."""

    def text(room: int) -> str:
        parts: list[str] = []
        for one in map(part, range(most // atoms)):
            room -= len(one) + len(joint)
            if room < 0 and parts:
                break
            parts.append(one)
        return joint.join(parts)

    return text


def _listed(head: str, value: Callable[[int], str]) -> Shape:
    values = _joined(value, ",", most=DEFAULT_LIMITS.in_values)
    return lambda room: f"{head} [{values(room - len(head) - 3)}]"


def _around(before: str, inside: Shape, after: str) -> Shape:
    return lambda room: before + inside(room - len(before) - len(after)) + after


def _short_names() -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for length in count(2):  # one letter is what documents have
        for number in range(len(letters) ** length):
            name = ""
            for _ in range(length):
                number, place = divmod(number, len(letters))
                name += letters[place]
            if name.upper() not in {"OR", "IN", "IS"}:
                yield name


_NAMES = [name for _, name in takewhile(lambda pair: pair[0] < 20_000, enumerate(_short_names()))]
_HASH = 2**61 - 1
_DEEP = ".".join(["a"] * 64)
_NESTED = ".".join(["a"] * 8)
_LONG = "x" * 2_000

SHAPES: dict[str, Shape] = {
    # One key: what can be merged is.
    "== OR, one key": _joined(lambda n: f"a=={n}", " OR "),
    "== OR, texts": _joined(lambda n: f"a=='{n}'", " OR "),
    "== OR, one hash": _joined(lambda n: f"a=={n * _HASH}", " OR "),
    "== AND, one key": _joined(lambda n: f"a=={n}", " AND "),
    "!= AND, one key": _joined(lambda n: f"a!={n}", " AND "),
    "!= OR, one key": _joined(lambda n: f"a!={n}", " OR "),
    "< OR, one key": _joined(lambda n: f"a<{-n}", " OR "),
    "> AND, one key": _joined(lambda n: f"a>{-n}", " AND "),
    "< and > OR": _joined(lambda n: f"a<{-n} OR a>{n + 10**6}", " OR ", atoms=2),
    "IN, numbers": _listed("a IN", str),
    "IN, texts": _listed("a IN", lambda n: f"'{n}'"),
    "IN, one hash": _listed("a IN", lambda n: str(n * _HASH)),
    "NOT IN, numbers": _listed("a NOT IN", str),
    "NOT IN, texts": _listed("a NOT IN", lambda n: f"'{n}'"),
    "IN lists OR": _joined(lambda n: f"a IN [{n},{n + 1},'{n}']", " OR "),
    "IN lists AND": _joined(lambda n: f"a IN [{n},'{n}']", " AND "),
    "NOT IN lists OR": _joined(lambda n: f"a NOT IN [{n},'{n}']", " OR "),
    "ranges, one key": _joined(lambda n: f"(a>{n} AND a<{n})", " OR ", atoms=2),
    "ranges of texts": _joined(lambda n: f"(a>'{n}' AND a<'{n}')", " OR ", atoms=2),
    "either or, one key": _joined(lambda n: f"(a=={n} OR a>{n})", " AND ", atoms=2),
    "NOT of pairs": _joined(lambda n: f"NOT (a!={n} AND a>=-{n})", " OR ", atoms=2),
    # Many keys.
    "== OR, many keys": _joined(lambda n: f"{_NAMES[n]}==1", " OR "),
    "!= AND, many keys": _joined(lambda n: f"{_NAMES[n]}!=1", " AND "),
    "< OR, many keys": _joined(lambda n: f"{_NAMES[n]}<1", " OR "),
    "< OR, texts, many keys": _joined(lambda n: f"{_NAMES[n]}<'1'", " OR "),
    "IS NULL AND, many keys": _joined(lambda n: f"{_NAMES[n]} IS NULL", " AND "),
    "IS NOT NULL OR, many keys": _joined(lambda n: f"{_NAMES[n]} IS NOT NULL", " OR "),
    "IN OR, many keys": _joined(lambda n: f"{_NAMES[n]} IN [1,'1',true]", " OR "),
    "NOT IN AND, many keys": _joined(lambda n: f"{_NAMES[n]} NOT IN [1,'1',true]", " AND "),
    "true OR, many keys": _joined(lambda n: f"{_NAMES[n]}==true", " OR "),
    "pairs, two keys": _joined(lambda n: f"(a=={n} AND b=={n})", " OR ", atoms=2),
    "pairs that begin well": _joined(lambda n: f"(a!={n} AND b=={n})", " OR ", atoms=2),
    "triples": _joined(lambda n: f"(a!={n} AND b!={n} AND c=={n})", " OR ", atoms=3),
    "ands of ors": _joined(lambda n: f"(a=={n} OR b!={n})", " AND ", atoms=2),
    # Keys and literals of great size.
    "== OR, nested keys": _joined(lambda n: f"{_NESTED}.{_NAMES[n]}==1", " OR "),
    "== OR, deepest keys": _joined(lambda n: f"{_DEEP[:-2]}.{_NAMES[n]}==1", " OR "),
    "< OR, deepest keys": _joined(lambda n: f"{_DEEP[:-2]}.{_NAMES[n]}<1", " OR "),
    "a key of 64 KiB": lambda room: ".".join(["a"] * ((room - 6) // 2)) + " == 1",
    "a name of 64 KiB": lambda room: "a" * (room - 5) + " == 1",
    "long texts": _joined(lambda n: f"{_NAMES[n]}!='{_LONG}{n}'", " AND "),
    "integers of 4,000 digits": _joined(lambda n: f"{_NAMES[n]}>{'9' * 3_990}", " OR "),
    # Nesting.
    "60 parentheses": _around(
        "(" * 60, _joined(lambda n: f"{_NAMES[n]}==1", " OR ", most=4_000), ")" * 60
    ),
    "alternating levels": _around(
        "".join(f"({_NAMES[n]}!=1 {'OR' if n % 2 else 'AND'} " for n in range(60)),
        _joined(lambda n: f"{_NAMES[n + 60]}<1", " OR ", most=4_000),
        ")" * 60,
    ),
    "NOT 60 times": _around("NOT " * 60 + "(", _joined(lambda n: f"{_NAMES[n]}<1", " OR "), ")"),
}


def largest(shape: Shape, fits: Callable[[str], bool]) -> str:
    """The longest text of a shape that fits, near enough."""
    low, high = 16, DEFAULT_LIMITS.text
    if fits(text := shape(high)):
        return text
    while high - low > 16:
        middle = (low + high) // 2
        if fits(shape(middle)):
            low = middle
        else:
            high = middle
    return shape(low)
