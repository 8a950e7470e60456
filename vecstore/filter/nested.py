"""Nested data that may hold the same part many times: how large it is, and how it is shown.

Forty lists, each of which holds the one before it twice, take no room, and are a million million
lists where they are written out. What walks such data asks here first, in time that goes with what
is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONTAINERS = (list, tuple, Mapping, set, frozenset)
_PLAIN = frozenset((bool, int, float, type(None)))


def written_out(data: Any, most: int, *, as_json: bool = False) -> int:
    """How large nested data is where everything is written out as often as it is held.

    Every dict, list, tuple and set is looked into once, however often it is held.

    Args:
        data: Anything; mappings, lists, tuples and sets are looked into, without recursion.
        most: Where counting may stop.
        as_json: Count the characters of compact JSON, with one for each number; else the values.

    Returns:
        The size; anything above ``most`` for what is larger, or holds itself.

    Example:
        >>> pair = ["a", "b"]
        >>> written_out([pair, pair], 100), written_out([pair, pair], 100, as_json=True)
        (7, 21)
        >>> for _ in range(40):
        ...     pair = [pair, pair]
        >>> written_out(pair, 100) > 100
        True
    """
    # Kept with their sizes, so that no id is given to another meanwhile; None for what is open.
    sizes: dict[int, tuple[Any, int | None]] = {}
    waiting: list[tuple[Any, bool]] = [(data, False)]
    around = [0]
    met = 0
    while waiting:
        value, done = waiting.pop()
        if done:
            size = around.pop()
            sizes[id(value)] = value, size
        elif type(value) is not list and not isinstance(value, _CONTAINERS):
            size = len(value) + 2 if as_json and isinstance(value, str) else 1
        elif id(value) in sizes:
            known = sizes[id(value)][1]
            if known is None:
                return most + 1
            size = known
        else:
            sizes[id(value)] = value, None
            waiting.append((value, True))
            own = 2 + max(0, len(value) - 1) if as_json else 1
            parts: Any = value
            if type(value) is dict or isinstance(value, Mapping):
                parts = value.values()
                if as_json:
                    own += sum([len(key) + 3 for key in value if isinstance(key, str)])
            for part in parts:
                if type(part) in _PLAIN:
                    own += 1
                elif type(part) is str:
                    own += len(part) + 2 if as_json else 1
                else:
                    waiting.append((part, False))
            around.append(own)
            met += len(value)
            if max(own, met) > most:
                return most + 1
            continue
        around[-1] += size
        if around[-1] > most:
            return most + 1
    return around[0]


def short_repr(value: Any, width: int) -> str:
    """What ``repr`` says, cut after so many characters, without asking for the rest of it.

    Example:
        >>> short_repr({"a": [1, (2,)], "b": set()}, 60)
        "{'a': [1, (2,)], 'b': set()}"
        >>> short_repr([10**5000, 1], 16)
        '[0x31e208010365…'
        >>> pair = []
        >>> for _ in range(40):
        ...     pair = [pair, pair]
        >>> short_repr(pair, 16)
        '[[[[[[[[[[[[[[[…'
    """
    parts: list[str] = []
    room = width + 1
    waiting: list[tuple[bool, Any]] = [(False, value)]
    while waiting and room > 0:
        written, item = waiting.pop()
        text = item
        if not written:
            kind = type(item)
            if kind not in _BRACKETS or not item:
                text = _repr(item, room)
            else:
                text, end = _BRACKETS[kind]
                listed: list[tuple[bool, Any]] = []
                for number, part in enumerate(item):
                    if number >= room:
                        break  # each takes a character at least
                    if number:
                        listed.append((True, ", "))
                    listed.append((False, part))
                    if kind is dict:
                        listed.extend([(True, ": "), (False, item[part])])
                if kind is tuple and len(item) == 1:
                    end = "," + end
                waiting.append((True, end))
                waiting.extend(reversed(listed))
        parts.append(text)
        room -= len(text)
    text = "".join(parts)
    return text if len(text) <= width else text[: width - 1] + "…"


def _repr(value: Any, room: int) -> str:
    if type(value) is str:
        return repr(value[:room])  # cut anyway, whichever quotes it has
    # hex() has no limit on digits, where repr() of a very large integer raises.
    return hex(value) if isinstance(value, int) and value.bit_length() > _MOST_BITS else repr(value)


_MOST_BITS = 13_287  # of an integer of 4,000 digits
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
