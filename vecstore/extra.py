"""What a document holds beside its metadata: any JSON, which no filter sees.

It is kept as text from the moment a document is made. So it comes back to the digit, and in the
order of its keys, from whatever keeps a text, and what is changed later reaches into no store.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from vecstore.errors import DocumentError
from vecstore.filter.nested import short_repr, written_out

MAX_EXTRA_DEPTH: Final = 100
"""Lists and objects inside of each other."""
MAX_EXTRA_BYTES: Final = 16 * 1024 * 1024
"""As compact JSON, in UTF-8."""
_MOST_BYTES: Final = f"{MAX_EXTRA_BYTES:,}"
_MOST_BITS: Final = 14_000
"""Of an integer: Python reads and writes up to 4,300 digits."""

_LOOKED_AT: Final = 20_000
"""From so many values and characters of long texts on the whole is measured before it is copied."""
_LONG: Final = 100
"""Longer texts count with their characters, others as one value."""

_SHOWN_STEPS: Final = 8


class _Fault(Exception):
    def __init__(self, path: tuple[str | int, ...], reason: str) -> None:
        super().__init__(reason)
        self.path = path


def encode_extra(value: Any, owner: str, document_id: str | None = None) -> str:
    """Any JSON as text.

    Args:
        value: Made of dicts with texts as keys, lists, tuples (as lists), texts, ints, floats,
            bools and None.
        owner: What to call the document in errors.
        document_id: Its id.

    Raises:
        DocumentError: For anything else, with its place; and past the limits of depth and size.

    Example:
        >>> encode_extra({"rows": [{"n": 2**53 + 1}, None]}, "the document")
        '{"rows":[{"n":9007199254740993},null]}'
    """
    try:
        text = json.dumps(
            _Copy(value).of(value, ()), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        size = len(text.encode())
        if size > MAX_EXTRA_BYTES:
            raise _Fault((), f"it has {size:,} bytes as JSON, and may have {_MOST_BYTES}")
    except _Fault as fault:
        place = shown_path(fault.path)
        raise DocumentError(
            f"{owner} cannot be stored with {place}: {fault}", document_id=document_id, key=place
        ) from None
    return text


def decode_extra(text: str) -> Any:
    """What the text holds; a text of somebody else's that is no JSON comes back as it is.

    Example:
        >>> decode_extra('{"a":[1,{}]}'), decode_extra("not JSON")
        ({'a': [1, {}]}, 'not JSON')
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text


def shown_path(path: tuple[str | int, ...]) -> str:
    """A place in ``extra`` as Python writes it.

    Example:
        >>> shown_path(("items", 3, "price"))
        "extra['items'][3]['price']"
    """
    steps = [f"[{step if isinstance(step, int) else _shortened(step)}]" for step in path]
    if len(steps) > _SHOWN_STEPS:
        steps[_SHOWN_STEPS - 1 : -1] = ["[…]"]
    return "extra" + "".join(steps)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


class _Copy:
    """The same of Python's own types, in dicts and lists that nobody else has."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._left = _LOOKED_AT

    def of(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """The copy of what stands at a place."""
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            if len(value) > _LONG:
                self._count(len(value))
            return _text(value, path)
        if isinstance(value, int):
            number = int(value)
            if number.bit_length() > _MOST_BITS:
                raise _Fault(path, "an integer has at most 4,200 digits; store it as text")
            return number
        if isinstance(value, float):
            if not math.isfinite(value):
                raise _Fault(path, f"JSON has no {float(value)!r}; write None, or a text")
            return float(value)
        if isinstance(value, Mapping | list | tuple):
            if len(path) >= MAX_EXTRA_DEPTH:
                raise _Fault(
                    path,
                    f"it is nested more than {MAX_EXTRA_DEPTH} deep, or holds itself; store text",
                )
            self._count(len(value))
            if not isinstance(value, Mapping):
                return [self.of(item, (*path, place)) for place, item in enumerate(value)]
            return {
                self._key(key, path): self.of(item, (*path, key)) for key, item in value.items()
            }
        kind = type(value).__name__
        remedy = f"write a text, a number, a list or an object in the place of the {kind}"
        raise _Fault(path, f"JSON has no {kind}; {remedy}")

    def _key(self, key: Any, path: tuple[str | int, ...]) -> str:
        if not isinstance(key, str):
            shown = short_repr(key, 60)
            raise _Fault(path, f"the keys of an object are texts, not {shown}; write str(key)")
        if len(key) > _LONG:
            self._count(len(key))
        return _text(key, path)

    def _count(self, size: int) -> None:
        """Measure the whole before much of it is copied: it may hold one list many times."""
        self._left -= size
        if self._left < 0:
            whole, self._whole = self._whole, None
            if whole is None or written_out(whole, MAX_EXTRA_BYTES, as_json=True) > MAX_EXTRA_BYTES:
                raise _Fault(
                    (),
                    f"it has more than {_MOST_BYTES} bytes as JSON, where what is in it several "
                    "times is written as often; store less",
                )
            self._left += MAX_EXTRA_BYTES


def _text(value: str, path: tuple[str | int, ...]) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Fault(path, "a text holds half of a character (a lone surrogate)") from None
    return text


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
