"""How documents are laid out in a Pinecone record so that every filter is exact.

Pinecone's metadata is flat and knows no lists but of strings, no null and no nested objects. So
what a filter may ask for stands in a field of tokens, and each number, wherever it is nested, in a
field of its own for orderings.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from vecstore.dialects.tokens import Path, document_tokens, nearest_double, present_values

TOKENS: Final = "__vecstore_tokens"
"""Name of the field that holds the tokens; no user's key starts this way."""

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


def filter_fields(metadata: Mapping[str, Any]) -> dict[str, list[str] | float]:
    """What a record holds for filters to work on, beside whatever else it holds.

    Args:
        metadata: As a ``Document`` holds it.

    Example:
        >>> filter_fields({"year": 2020})
        {'__vecstore_tokens': ['[]', '["year"]', '["year"]=2020'], '__vecstore_number/year': 2020.0}
    """
    fields: dict[str, list[str] | float] = {TOKENS: document_tokens(metadata)}
    for path, value in present_values(metadata):
        if type(value) in (int, float):
            fields[number_field(path)] = nearest_double(value)
    return fields
