"""How documents are laid out in hashes of Redis so that every filter is exact.

One field of tags holds the tokens of a document, each as a hash: then nothing in them is a
separator, is trimmed, or means anything in a query. The numbers of declared keys stand in numeric
fields of their own; a field that is there and no number would hide the whole document from the
index, so it is written for numbers alone. Texts of declared keys are ordered by more tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from vecstore.dialects.orders import trie_tokens
from vecstore.dialects.tokens import (
    DOCUMENT_TOKEN,
    Path,
    document_tokens,
    hashed_token,
    nearest_double,
    presence_token,
    present_values,
)
from vecstore.filter.values import metadata_text

TEXT: Final = "text"
METADATA: Final = "metadata"
TOKENS: Final = "tokens"
VECTOR: Final = "vector"
EXTRA: Final = "extra"
"""What a document has beside its metadata, as JSON text, where it has any; no index knows it."""

ORDERED_BYTES: Final = 64
"""Bytes of a text of which an ordering takes note: each is two more tokens of a document."""

EVERY_DOCUMENT: Final = hashed_token(DOCUMENT_TOKEN)
"""The tag that every document has."""


@lru_cache(maxsize=4_096)
def number_field(path: Path) -> str:
    """Name of the field that holds the number at a path.

    Example:
        >>> number_field(("year",))
        'n51e278e4cb4552bc6f85281755346eb9'
    """
    return "n" + hashed_token(presence_token(path))


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands in a hash for the metadata of a document.

    Attributes:
        numbers: The keys whose numbers can be ordered.
        texts: The keys whose texts can be.

    Example:
        >>> Layout(numbers=frozenset({("n",)})).write({"n": 1})["ne00e71c16c36d75ab3d0f00c3647ac15"]
        '1.0'
    """

    numbers: frozenset[Path] = frozenset()
    texts: frozenset[Path] = frozenset()

    def write(self, metadata: Mapping[str, Any]) -> dict[str, str]:
        """The fields that stand for the metadata of a document."""
        tokens, fields = document_tokens(metadata), {}
        if self.numbers or self.texts:
            for path, value in present_values(metadata):
                if type(value) is str and path in self.texts:
                    tokens += trie_tokens(path, value, ORDERED_BYTES)
                elif type(value) in (int, float) and path in self.numbers:
                    fields[number_field(path)] = repr(nearest_double(value))
        return {
            METADATA: metadata_text(metadata),
            TOKENS: ",".join(map(hashed_token, tokens)),
            **fields,
        }
