"""Metadata as short texts, for engines that compare lists of texts exactly and little else.

A token states one fact of a document: that something stands under a key, or that a value does, by
itself or in a list. Equality, membership and null tests then ask for tokens, whatever the types of
the values and the depth of the keys. Documents and filters make their tokens here, so both sides
agree by construction.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any, Final

from vecstore.filter.values import Kind, Scalar

Path = tuple[str, ...]

LONGEST_TOKEN: Final = 128
"""Longer tokens are stored as their hash: long enough to read, and 10,000 of them fit a request."""

DOCUMENT_TOKEN: Final = "[]"
"""The token that every document has: something stands under the empty path."""


def presence_token(path: Path) -> str:
    """The token of a document that holds anything but null and ``[]`` at the path.

    Example:
        >>> presence_token(("author", "name"))
        '["author","name"]'
    """
    return _shortened(_json_text(path))


def value_token(path: Path, value: Scalar) -> str:
    r"""The token of a document that holds the value at the path, or a list with the value in it.

    Example:
        >>> value_token(("genre",), "film noir")
        '["genre"]="film\\u0020noir"'
        >>> value_token(("year",), 1999.0) == value_token(("year",), 1999)
        True
        >>> value_token(("year",), True) == value_token(("year",), 1)
        False
    """
    if type(value) is float and value.is_integer():
        value = int(value)  # one spelling for 1 and 1.0, and for 0 and -0.0
    return _shortened(f"{_json_text(path)}={_json_text(value)}")


def kind_token(path: Path, kind: Kind) -> str:
    """The token of a document that holds one value of that kind at the path, not in a list.

    For engines whose own comparisons are exact once they are kept to values of one type;
    :func:`document_tokens` leaves these tokens out.

    Example:
        >>> kind_token(("year",), Kind.NUMBER)
        '["year"]:number'
    """
    return _shortened(f"{_json_text(path)}:{kind.value}")


def document_tokens(metadata: Mapping[str, Any]) -> list[str]:
    """All tokens of a document, each once.

    Args:
        metadata: As a ``Document`` holds it.

    Example:
        >>> document_tokens({"tags": ["a", "b"], "seen": None})
        ['[]', '["tags"]', '["tags"]="a"', '["tags"]="b"']
    """
    tokens: dict[str, None] = {}
    for path, value in present_values(metadata):
        tokens[presence_token(path)] = None
        if isinstance(value, Mapping):
            continue
        for item in value if isinstance(value, list) else [value]:
            # In a list others may have put what equals no literal of a filter.
            if isinstance(item, str | int | float):
                tokens[value_token(path, item)] = None
    return list(tokens)


def present_values(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every path with what stands there, objects included, null and ``[]`` left out."""
    pending: list[tuple[Path, Any]] = [((), metadata)]
    while pending:
        path, value = pending.pop()
        if value is None or value == []:
            continue
        yield path, value
        if isinstance(value, Mapping):
            inner = [((*path, key), item) for key, item in value.items()]
            pending.extend(reversed(inner))


def hashed_token(token: str) -> str:
    """A token as 32 hexadecimal digits, for engines whose syntax or tokenizer minds punctuation.

    Example:
        >>> hashed_token(value_token(("genre",), "film noir"))
        'eb451015e56c0e4d4a31d48558257c91'
    """
    return sha256(token.encode("ascii")).hexdigest()[:32]


def nearest_double(value: int | float) -> float:
    """The number as engines with 64-bit floats hold it.

    It compares with every number up to 2^53 - 1 as the original does, whatever its size.

    Example:
        >>> nearest_double(10**400) > 2**53, nearest_double(-0.0)
        (True, 0.0)
    """
    try:
        return float(value) + 0.0  # makes 0.0 of -0.0, which some engines keep apart
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _json_text(value: Any) -> str:
    """JSON in printable ASCII without a blank: engines trim and split at white space.

    Args:
        value: A scalar, or a tuple of texts.
    """
    if isinstance(value, str):
        return encode_basestring_ascii(value).replace(" ", "\\u0020")
    if isinstance(value, tuple):
        return f"[{','.join([_json_text(text) for text in value])}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)


def _shortened(token: str) -> str:
    if len(token) <= LONGEST_TOKEN:
        return token
    # No other token starts with this character.
    return "#" + sha256(token.encode("ascii")).hexdigest()
