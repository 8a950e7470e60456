"""What a failing conformance test says: filter, native query, document, expected, got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vecstore.filter.tree import Expression

_WIDEST = 2_000
_VERDICTS = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}


class ConformanceError(AssertionError):
    """A dialect that does not keep the rules; the text is the report."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One case in which a dialect went wrong.

    Attributes:
        filter: The filter, as small as it could be made.
        native: The native query as text, or None when there is none.
        document: The metadata of the document, or None when the fault lies in the query alone.
        expected: What the rules say.
        got: What happened.
        origin: The case it was made from, or None when it is the one that was found.
    """

    filter: Expression
    native: str | None
    document: Mapping[str, Any] | None
    expected: str
    got: str
    origin: str | None = None

    def __str__(self) -> str:
        lines = [("filter", self.filter.to_text())]
        if self.native is not None:
            lines.append(("native", self.native))
        if self.document is not None:
            lines.append(("document", repr(dict(self.document))))
        lines += [("expected", self.expected), ("got", self.got)]
        if self.origin is not None:
            lines.append(("found as", self.origin))
        return "\n".join(f"  {name:<10}{_block(text)}" for name, text in lines)


def verdict(truth: bool | None) -> str:
    """What the rules of the language say of a filter and a document, in words.

    Example:
        >>> verdict(None)
        'not selected: the filter is UNKNOWN on it'
    """
    selected = "selected" if truth is True else "not selected"
    return f"{selected}: the filter is {_VERDICTS[truth]} on it"


def summary(names: set[str], rows: Mapping[str, Any], most: int = 8) -> str:
    """How many documents are concerned, and the first few of them."""
    shown = [name for name in rows if name in names][:most]
    more = ", …" if len(names) > len(shown) else ""
    return f"{len(names)} of {len(rows)} documents ({', '.join(shown)}{more})"


def _block(text: str) -> str:
    if len(text) > _WIDEST:
        text = f"{text[:_WIDEST]}… ({len(text):,} characters)"
    return text.replace("\n", "\n" + " " * 12)
