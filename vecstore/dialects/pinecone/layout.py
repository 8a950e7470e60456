"""How documents are laid out in a Pinecone record so that every filter is exact.

Pinecone's metadata is flat and knows no lists but of strings, no null and no nested objects. So
what a filter may ask for stands in a field of tokens, and each number, wherever it is nested, in a
field of its own for orderings. The texts of some keys are ordered by more tokens, one for each
prefix; one more says that these are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from vecstore.dialects.orders import trie_tokens
from vecstore.dialects.tokens import (
    Path,
    document_tokens,
    kind_token,
    nearest_double,
    present_values,
)
from vecstore.filter.values import Kind

TOKENS: Final = "__vecstore_tokens"
"""Name of the field that holds the tokens; no user's key starts this way."""

ORDERED_BYTES: Final = 30
"""Bytes of a text of which an ordering takes note; a literal has at least one less. They take three
KB of the 40 that a record has, and hold any date and time."""

_NUMBER = "__vecstore_number"
_LONGEST_NAME = 200


def number_field(path: Path) -> str:
    """Name of the field that holds the number at a path; different paths have different names.

    Example:
        >>> number_field(("author", "born")), number_field(("a/b %",))
        ('__vecstore_number/author/born', '__vecstore_number/a%2Fb%20%25')
    """
    # A dot is escaped too: some interfaces take it for a step into an object.
    steps = [quote(segment, safe="").replace(".", "%2E") for segment in path]
    name = "/".join([_NUMBER, *steps])
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{_NUMBER}#{sha256(name.encode('ascii')).hexdigest()}"


def filter_fields(
    metadata: Mapping[str, Any], texts: frozenset[Path] = frozenset()
) -> dict[str, list[str] | float]:
    """What a record holds for filters to work on, beside whatever else it holds.

    Args:
        metadata: As a ``Document`` holds it.
        texts: The keys whose texts can be ordered.

    Example:
        >>> filter_fields({"year": 2020})
        {'__vecstore_tokens': ['[]', '["year"]', '["year"]=2020'], '__vecstore_number/year': 2020.0}
    """
    tokens = document_tokens(metadata)
    fields: dict[str, list[str] | float] = {TOKENS: tokens}
    for path, value in present_values(metadata):
        if type(value) in (int, float):
            fields[number_field(path)] = nearest_double(value)
        elif isinstance(value, str) and path in texts:
            tokens.append(kind_token(path, Kind.STRING))
            tokens += trie_tokens(path, value, ORDERED_BYTES)
    return fields
