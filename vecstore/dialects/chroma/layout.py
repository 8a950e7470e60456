r"""How our own store lays documents out in Chroma, so that every filter is exact.

Chroma's metadata is flat, and holds neither null nor empty lists, nor lists of more than one type;
floats come back as their neighbours now and then. So the metadata stands there as JSON in one text,
and beside it what filters ask for: a list of tokens, and each number, wherever it is nested, as an
integer that is ordered as the number is. The texts of some keys are ordered by integers, too.

.. code-block:: json

    {"vecstore_metadata": "{\"year\": 2020}", "vecstore_tokens": ["[]", "[\"year\"]", "..."],
     "vecstore_number[\"year\"]": 4656589307418312704}

What a document has beside its metadata is one more text, which no filter asks for.

An upsert adds to the metadata that is there, so the integers of a key that is gone may stay behind.
The list is replaced as a whole, and holds a token that says where a number or such a text is: an
ordering asks for both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vecstore.dialects.floats import check_floats
from vecstore.dialects.orders import (
    BYTES_OF_AN_INTEGER,
    sortable_integer,
    text_integers,
    trie_tokens,
)
from vecstore.dialects.tokens import (
    Path,
    document_tokens,
    kind_token,
    presence_token,
    present_values,
)
from vecstore.errors import DocumentError
from vecstore.filter.text import key_text
from vecstore.filter.values import Kind, metadata_text

Target = Literal["local", "cloud"]

TOKENS: Final = "vecstore_tokens"
METADATA: Final = "vecstore_metadata"
EXTRA: Final = "vecstore_extra"
_NUMBER: Final = "vecstore_number"
_TEXT: Final = "vecstore_text"

MOST_TOKENS: Final = 4_800
"""Of one document. A list of 6,000 texts is taken, and then neither written nor given up: the
collection fails for ever; one of 5,000 is well."""

ORDERED_BYTES: Final = {"local": 63, "cloud": 30}
"""Bytes of a text of which an ordering takes note; a literal has at least one less. In the cloud
one of 29 asks for almost 900 tokens, which is what a filter may hold."""

MOST_INTEGERS: Final = ORDERED_BYTES["local"] // BYTES_OF_AN_INTEGER

KEY: Final = re.compile(r"(?!chroma:document\Z)[^$#].*", re.DOTALL)
"""What a key of Chroma's own metadata can be."""

_KINDS: Final = {int: Kind.NUMBER, float: Kind.NUMBER, str: Kind.STRING}


def number_field(path: Path) -> str:
    """Name of the integer that orders the numbers at a path; different paths have different names.

    Example:
        >>> number_field(("author", "born"))
        'vecstore_number["author","born"]'
    """
    return _NUMBER + presence_token(path)


def text_field(path: Path, place: int) -> str:
    """Name of one of the integers that order the texts at a path."""
    return f"{_TEXT}{place}{presence_token(path)}"


@dataclass(frozen=True, slots=True)
class ExactLayout:
    """What stands in a record for the metadata of a document.

    Attributes:
        texts: The keys whose texts can be ordered.
        numbers: The keys whose numbers can be, in the cloud; elsewhere all of them can.
        target: ``"local"``, or ``"cloud"``, where integers are not exact and tokens stand for them.

    Example:
        >>> ExactLayout().tokens({"year": 2020})
        ['[]', '["year"]', '["year"]=2020', '["year"]:number']
        >>> ExactLayout(target="cloud").write({"n": 0.5})["vecstore_metadata"]
        '{"n":0.5}'
    """

    texts: frozenset[Path] = frozenset()
    numbers: frozenset[Path] = frozenset()
    target: Target = "local"

    def tokens(self, metadata: Mapping[str, Any]) -> list[str]:
        """All tokens of a document."""
        tokens = document_tokens(metadata)
        for path, value in present_values(metadata):
            kind = _KINDS.get(type(value))
            if kind is Kind.NUMBER or (kind is Kind.STRING and path in self.texts):
                tokens.append(kind_token(path, kind))
            if self.target == "cloud" and (
                (kind is Kind.NUMBER and path in self.numbers)
                or (kind is Kind.STRING and path in self.texts)
            ):
                tokens += trie_tokens(path, value, ORDERED_BYTES["cloud"])
        return tokens

    def write(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in the engine for the metadata of a document."""
        fields: dict[str, Any] = {
            TOKENS: self.tokens(metadata),
            METADATA: metadata_text(metadata),
        }
        for path, value in present_values(metadata) if self.target == "local" else ():
            kind = _KINDS.get(type(value))
            if kind is Kind.NUMBER:
                fields[number_field(path)] = sortable_integer(value)
            elif kind is Kind.STRING and path in self.texts:
                for place, number in enumerate(text_integers(value, MOST_INTEGERS)):
                    fields[text_field(path, place)] = number
        return fields

    def read(self, fields: Mapping[str, Any] | None) -> Any:
        """The metadata of a document; anything but a dict where there is none.

        Example:
            >>> ExactLayout().read({"vecstore_metadata": '{"n":0.5}'}), ExactLayout().read(None)
            ({'n': 0.5}, 'none of vecstore')
        """
        text = (fields or {}).get(METADATA)
        if isinstance(text, str):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                pass
        return "none of vecstore"

    def check(self, metadata: Mapping[str, Any], document_id: str | None) -> None:
        """Refuse metadata with more in it than the engine takes.

        Raises:
            DocumentError: Naming the document.
        """
        count = len(self.tokens(metadata))
        if count > MOST_TOKENS:
            owner = "the metadata" if document_id is None else f"document {document_id!r}"
            raise DocumentError(
                f"{owner} comes to {count:,} tokens, about one for each key and each element of a "
                f"list; Chroma holds at most {MOST_TOKENS:,}; split the document, or shorten its "
                "longest list",
                document_id=document_id,
            )


class PlainLayout:
    """Metadata as it is, in collections that other programs made."""

    def write(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata itself, without nulls and empty lists."""
        return {name: value for name, value in metadata.items() if value not in (None, [])}

    def read(self, fields: Mapping[str, Any] | None) -> Any:
        """The metadata itself."""
        return dict(fields or {})

    def check(self, metadata: Mapping[str, Any], document_id: str | None) -> None:
        """Refuse what the engine refuses, changes, or fails on for ever.

        Raises:
            DocumentError: Naming the document and the key.
        """
        for name, value in metadata.items():
            fault = _fault(name, value)
            if fault is not None:
                owner = "the metadata" if document_id is None else f"document {document_id!r}"
                key = key_text((name,))
                raise DocumentError(
                    f"{owner} cannot be stored with the key {key}: {fault}",
                    document_id=document_id,
                    key=key,
                )
        check_floats(metadata, document_id, engine="Chroma", hint="")


def _fault(name: str, value: Any) -> str | None:
    if not KEY.fullmatch(name):
        return "Chroma has no key that is empty, starts with $ or #, or is chroma:document"
    if isinstance(value, Mapping):
        return "Chroma's metadata is flat; store the values under keys of their own"
    if isinstance(value, list):
        if len(set(map(type, value))) > 1:
            return "Chroma's lists hold values of one type, and 1 and 1.0 are of two"
        if len(value) > MOST_TOKENS:
            return f"Chroma's lists hold at most {MOST_TOKENS:,} values"
    return None
