"""How Weaviate reads texts: cut into tokens (its page "Properties"), or as a date ("Data types").

What counts as white space, letter and number is Go's notion of them (the server's ``tokenizer``),
which is not in every character Python's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

# Go's unicode.IsSpace; str.isspace would add U+001C to U+001F.
_SPACES = frozenset(
    "\t\n\v\f\r \u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_TRIMMED = "".join(sorted(_SPACES))

# The preset "en" of the page "Inverted index", which links to this list of 33.
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def tokens_of(tokenization: str, text: str) -> list[str]:
    """The tokens of a text; under ``field`` the trimmed text is the one and only token."""
    if tokenization == "field":
        return [text.strip(_TRIMMED)]
    if tokenization == "whitespace":
        return _split(text, lambda character: character in _SPACES)
    if tokenization == "lowercase":
        return [token.lower() for token in tokens_of("whitespace", text)]
    return [token.lower() for token in _split(text, lambda c: not _is_alphanumeric(c))]


def _is_alphanumeric(character: str) -> bool:
    # Go's unicode.IsLetter or unicode.IsNumber.
    return unicodedata.category(character)[0] in "LN"


def _split(text: str, separates: Callable[[str], bool]) -> list[str]:
    spaced = "".join(" " if separates(character) else character for character in text)
    return [token for token in spaced.split(" ") if token]


def nanoseconds(text: str) -> int:
    """A date-time as nanoseconds since 1970; ValueError unless it is RFC 3339 with an offset."""
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        raise ValueError(f"not an RFC 3339 date-time: {text!r}")
    whole, fraction, offset = parts.groups()
    since = datetime.fromisoformat(whole.upper() + offset.upper()) - datetime(
        1970, 1, 1, tzinfo=UTC
    )
    return (since.days * 86_400 + since.seconds) * 10**9 + int((fraction or "0").ljust(9, "0")[:9])
