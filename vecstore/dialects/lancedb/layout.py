"""How documents are laid out in a LanceDB table so that every filter is exact.

The engine compares lists of texts exactly, and what its JSON functions return as text or double.
So equality, membership and null tests ask for tokens, and what can be ordered stands in one JSON
column: numbers as doubles, texts in hexadecimal, whose order is that of code points.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from vecstore.dialects.tokens import Path, nearest_double, presence_token, present_values

ID: Final = "id"
TEXT: Final = "text"
METADATA: Final = "metadata"
TOKENS: Final = "vecstore_tokens"
ORDERED: Final = "vecstore_ordered"
VECTOR: Final = "vector"
EXTRA: Final = "vecstore_extra"
"""What a document has beside its metadata, as JSON text; tables of before have no such column."""


@lru_cache(maxsize=4_096)
def number_name(path: Path) -> str:
    """Under which name of the JSON column the number at a path stands.

    Example:
        >>> number_name(("year",))
        'n51e278e4cb4552bc6f85281755346eb9'
    """
    return "n" + _digest(path)


@lru_cache(maxsize=4_096)
def text_name(path: Path) -> str:
    """Under which name of the JSON column the text at a path stands."""
    return "s" + _digest(path)


def ordered_text(text: str) -> str:
    """A text as digits that compare as its code points do.

    Example:
        >>> ordered_text("a"), ordered_text("a") < ordered_text("aa") < ordered_text("é")
        ('61', True)
    """
    return text.encode("utf-8", "surrogatepass").hex()


def ordered_values(metadata: Mapping[str, Any]) -> dict[str, float | str]:
    """What the JSON column holds of a document: its numbers and texts that stand in no list.

    Args:
        metadata: As a ``Document`` holds it.

    Example:
        >>> list(ordered_values({"year": 2020, "tags": ["a"], "draft": True}).values())
        [2020.0]
    """
    values: dict[str, float | str] = {}
    for path, value in present_values(metadata):
        if type(value) is str:
            values[text_name(path)] = ordered_text(value)
        elif type(value) in (int, float):
            values[number_name(path)] = nearest_double(value)
    return values


def _digest(path: Path) -> str:
    # Of a fixed length, however long the key is, and nothing that JSONPath would read.
    return sha256(presence_token(path).encode("ascii")).hexdigest()[:32]
