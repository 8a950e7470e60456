"""Milvus expression text: how literals, keys and ids get into it, each in one place.

Everything here is read alike by the server's grammar and by milvus-lite. The server takes JSON
keys as they stand, without undoing escapes, and looks for them in the JSON as it was written: a
key whose JSON has an escape cannot be reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from vecstore.dialects.milvus.layout import ID, MISREAD
from vecstore.filter.values import Scalar

ADDRESSABLE: Final = re.compile(rf'(?:(?!\]\[|{MISREAD.pattern})[^"\\\x00-\x1f])+')
"""Key segments that a JSON path can name: the server splits paths at ``][``, quotes or none."""

_LONGEST_CHAIN: Final = 32
"""A chain becomes as deep a tree on the server as it is long; groups keep it shallow."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def encode_text(text: str) -> str:
    r"""A string literal.

    Example:
        >>> print(encode_text('say "hi"\n'))
        "say \"hi\"\n"
    """
    return f'"{text.translate(_ESCAPES)}"'


def encode_number(number: float) -> str:
    """A number, an int as an int.

    Example:
        >>> encode_number(-5), encode_number(1e16)
        ('-5', '1e+16')
    """
    return repr(number)


def encode_literal(literal: Scalar) -> str:
    """A text, a number, or a bool, of which only keys that are declared are asked."""
    if isinstance(literal, bool):
        return "true" if literal else "false"
    return encode_text(literal) if isinstance(literal, str) else encode_number(literal)


def encode_list(texts: Iterable[str]) -> str:
    """A list of string literals."""
    return f"[{', '.join(map(encode_text, texts))}]"


def encode_path(field: str, path: tuple[str, ...]) -> str:
    """A path into a JSON field; every segment is one that :data:`ADDRESSABLE` matches.

    Example:
        >>> encode_path("metadata", ("author", "e.mail"))
        'metadata["author"]["e.mail"]'
    """
    return field + "".join([f'["{segment}"]' for segment in path])


def keys_filter(keys: Iterable[str | int], field: str = ID) -> str:
    """The expression for the rows of some primary keys.

    The client's own ``get(ids=...)`` and ``delete(ids=...)`` put keys into an expression without
    escaping them.

    Example:
        >>> keys_filter([7, -1], "pk")
        'pk in [7, -1]'
    """
    return f"{field} in [{', '.join(map(encode_literal, keys))}]"


def plain_member(path: str, literals: Iterable[Scalar]) -> str:
    """The value equals a literal, or is a list that holds one.

    ``exists`` an element: milvus-lite takes a text that looks like a list for one. And the server
    finds 1 in ``[1.0]`` only when it is asked for as a float.
    """
    elements: dict[type, list[str]] = {}
    equal: list[str] = []
    for literal in literals:
        element = literal if isinstance(literal, str) else float(literal)
        elements.setdefault(type(element), []).append(encode_literal(element))
        equal.append(f"{path} == {encode_literal(literal)}")
    for listed in elements.values():
        contains = f"json_contains_any({path}, [{', '.join(listed)}])"
        equal.append(f"({contains} and exists {path}[0])")
    return chained(equal, " or ")


def chained(parts: list[str], joint: str) -> str:
    """Parts in parentheses, in groups of groups where there are many."""
    while len(parts) > _LONGEST_CHAIN:
        starts = range(0, len(parts), _LONGEST_CHAIN)
        parts = [chained(parts[start : start + _LONGEST_CHAIN], joint) for start in starts]
    return f"({joint.join(parts)})"
