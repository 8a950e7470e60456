"""Keys that are given by themselves: in the dict form of a filter, and in options that name keys.

A text is read as in a filter, so that ``"author.name"`` means the same in both: a step into an
object. One name that holds a dot is quoted, ``'"author.name"'``. Only here, a text without dots
needs no quotes to be one name, also where it is reserved or no identifier: ``"odd key"``. A list or
tuple of names is taken as it stands.
"""

from __future__ import annotations

import re
from typing import Any

from vecstore.filter.text import is_reserved, key_text
from vecstore.filter.values import UnusableValue, check_segment, shown

Path = tuple[str, ...]

# Compiled by the first key that needs one; `re` keeps them from then on.
_STRING = r"""(?s:'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\")"""
_STRUCTURE = r"[.'\"]|^\s|\s\Z"
"""What may make a text more than one plain name."""
_WORD = r"[^\s.'\"]+"
_BLANK = r"\s*"
_ESCAPE = r"""\\(?:([\\'"nrt])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(?s:.?))"""
_NAMED = {"n": "\n", "r": "\r", "t": "\t"}


def read_key(key: Any) -> Path:
    r"""The path that a key stands for.

    Args:
        key: A text as in a filter, or a list or tuple of names.

    Raises:
        UnusableValue: If it is neither, or holds a name that cannot be a key.

    Example:
        >>> read_key("author.name"), read_key('"author.name"'), read_key(["author.name"])
        (('author', 'name'), ('author.name',), ('author.name',))
    """
    if isinstance(key, list | tuple):
        if not key:
            raise UnusableValue("a key needs at least one segment", "write ['name']")
        return tuple([check_segment(name) for name in key])
    if not isinstance(key, str):
        raise UnusableValue(
            f"a key is text or a list of names, not {type(key).__name__}", "write 'name'"
        )
    return _read_text(str.__str__(key))


def key_form(path: Path) -> str | list[str]:
    """The form of a path that :func:`read_key` reads back: its name, or else a list.

    Example:
        >>> key_form(("odd key",)), key_form(("a.b",)), key_form(("author", "name"))
        ('odd key', ['a.b'], ['author', 'name'])
    """
    if len(path) == 1 and not re.search(_STRUCTURE, path[0]):
        return path[0]
    return list(path)


def _read_text(text: str) -> Path:
    if "." not in text and text[:1] not in ("'", '"') and text == text.strip():
        return (check_segment(text),)
    names: list[str] = []
    at = 0
    while True:
        at = _after_blank(text, at)
        quoted = re.compile(_STRING).match(text, at)
        word = quoted or re.compile(_WORD).match(text, at)
        if word is None:
            raise _unreadable(text)
        name = _unescaped(text, word.group()[1:-1]) if quoted else word.group()
        if not quoted and (not name.isidentifier() or is_reserved(name)):
            raise _unreadable(text)
        names.append(check_segment(name))
        at = _after_blank(text, word.end())
        if at == len(text):
            return tuple(names)
        if text[at] != ".":
            raise _unreadable(text)
        at += 1


def _after_blank(text: str, at: int) -> int:
    blank = re.compile(_BLANK).match(text, at)
    assert blank is not None
    return blank.end()


def _unescaped(text: str, body: str) -> str:
    def character(match: re.Match[str]) -> str:
        named, short, long = match.groups()
        if named:
            return _NAMED.get(named, named)
        code = int(short or long or "-1", 16)
        if not 0 <= code <= 0x10FFFF:
            raise _unreadable(text)
        return chr(code)

    return re.sub(_ESCAPE, character, body)


def _unreadable(text: str) -> UnusableValue:
    return UnusableValue(
        f"{shown(text)} is no key as a filter writes it: names are joined by dots, and beside a "
        "dot one that is reserved or no identifier is quoted",
        f"for this as one name write [{shown(text)}] or {shown(key_text((text,)))}",
    )
