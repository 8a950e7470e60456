"""What a JSON field alone answers of keys that a schema declares.

What is said of a missing key, of null, of ``[]`` and of values of another kind differs between
milvus-lite and the versions of servers: a comparison with them is FALSE until 2.6.8, and UNKNOWN
later, which NOT does not turn into TRUE; to milvus-lite it is now the one and now the other. A
declared key holds values of its kind or none. So what is true of a value can be said alike to all
of them, and what is true of an absent key in two ways at once, of which each version takes one:
``exists`` is FALSE where a comparison is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from vecstore.dialects.declared import DeclaredKey
from vecstore.dialects.milvus.expression import chained, encode_literal
from vecstore.filter.values import Kind, Scalar

Target = Literal["lite", "server"]

_LEAST: Final = {Kind.NUMBER: "-1.7976931348623157e+308", Kind.STRING: '""'}
"""No number and no text is less. Of a pair (``>= 0 or < 0``) servers would make a constant."""


def held(path: str, declared: DeclaredKey, literals: Iterable[Scalar]) -> str:
    """The value, or an element of the list, equals a literal.

    Example:
        >>> from vecstore.schema import KeyType
        >>> held('m["n"]', KeyType("int"), [1, 2]), held('m["n"]', KeyType("int", True), [1])
        ('(m["n"] == 1 or m["n"] == 2)', '(json_contains_any(m["n"], [1.0]))')
    """
    if declared.many:
        # Servers find 1 in [1.0] only when they are asked for a float.
        elements = [one if isinstance(one, bool | str) else float(one) for one in literals]
        listed = ", ".join(map(encode_literal, elements))
        return chained([f"json_contains_any({path}, [{listed}])"], " or ")
    return chained([f"{path} == {encode_literal(one)}" for one in literals], " or ")


def lacks(path: str, declared: DeclaredKey, literals: Iterable[Scalar]) -> str:
    """The key is absent, or neither the value nor an element equals a literal."""
    return f"(not exists {_place(path, declared)} or not {held(path, declared, literals)})"


def present(path: str, declared: DeclaredKey) -> str:
    """The key is there."""
    if declared.many:
        return f"exists {_place(path, declared)}"
    if (choices := _choices(declared)) is not None:
        return held(path, declared, choices)
    assert declared.filter_kind is not None
    return f"{path} >= {_LEAST[declared.filter_kind]}"


def absent(path: str, declared: DeclaredKey, target: Target | None) -> str | None:
    """The key is missing, null or ``[]``; None where that is said otherwise to each engine."""
    if declared.many:
        return f"not {present(path, declared)}"
    if _choices(declared) is not None:
        return f"(not exists {path} or not {present(path, declared)})"
    if target == "lite":
        # To it [] exists, and its order is unknown; but it is like no text, and a list with all of
        # no elements, which is said of texts that look like a list as well.
        if declared.filter_kind is Kind.STRING:
            return f'(not exists {path} or not ({path} like "%"))'
        return f"(not exists {path} or json_contains_all({path}, []))"
    if target == "server":
        return f"(not exists {path} or not ({present(path, declared)}))"
    return None


def _place(path: str, declared: DeclaredKey) -> str:
    """What exists where the key is there; ``[]`` itself does on some versions."""
    return f"{path}[0]" if declared.many else path


def _choices(declared: DeclaredKey) -> tuple[Scalar, ...] | None:
    return (True, False) if declared.filter_kind is Kind.BOOL else declared.choices
