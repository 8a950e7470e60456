"""How our own store lays documents out in Milvus: the metadata as JSON, and tags beside it.

How a comparison with a JSON path treats what is missing, null, a list or of another type has
changed between versions of Milvus, and milvus-lite takes ``true`` for 1. So what a filter may ask
for stands in an array of tags, which is never null: the tokens of the document, and the kind of
each number and text that stands alone, since only those are ordered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from vecstore.dialects.tokens import LONGEST_TOKEN, document_tokens, kind_token, present_values
from vecstore.errors import DocumentError
from vecstore.filter.values import Kind, kind_of
from vecstore.frozen import frozen

ID: Final = "id"
ORIGINAL_ID: Final = "vecstore_original_id"
TEXT: Final = "text"
METADATA: Final = "metadata"
TAGS: Final = "vecstore_tags"
VECTOR: Final = "vector"
EXTRA: Final = "vecstore_extra"
"""What a document has beside its metadata, as JSON text; empty where it has nothing."""

LAYOUT_VERSION: Final = 2
"""What a collection says of itself; 1 called its own fields ``tags`` and ``original_id``."""

MAX_TAGS: Final = 4_096
"""The most elements that an array field holds."""
MAX_TAG_BYTES: Final = LONGEST_TOKEN
"""Tags are ASCII."""
MAX_KEPT_ID_BYTES: Final = 512
MAX_VARCHAR_BYTES: Final = 65_535
MAX_METADATA_BYTES: Final = 65_536
MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1

MISREAD: Final = re.compile("[\U00016fe0-\U00016fff\U00020000-\U0003ffff]")
"""Han characters past U+FFFF; servers cut their numbers to 16 bits when they read an expression."""

_HASHED_ID = "sha256:"


def tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """All tags of a document.

    Raises:
        DocumentError: If there are more than the field holds.

    Example:
        >>> tags_of({"year": 2024, "note": None})
        ['[]', '["year"]', '["year"]=2024', '["year"]:number']
    """
    tags = document_tokens(metadata)
    for path, value in present_values(metadata):
        if not isinstance(value, Mapping | list) and kind_of(value) is not Kind.BOOL:
            tags.append(kind_token(path, kind_of(value)))
    if len(tags) > MAX_TAGS:
        raise DocumentError(
            f"this metadata needs {len(tags):,} tags, up to three for a key and one for each "
            f"element of a list, and Milvus holds {MAX_TAGS:,}; store fewer keys or shorter lists"
        )
    return tags


def stored_id(document_id: str) -> str:
    """The primary key of a document: its id, or a hash of an id that Milvus would not hold.

    Example:
        >>> stored_id("it's"), len(stored_id("x" * 1000))
        ("it's", 71)
    """
    if (
        len(document_id.encode()) <= MAX_KEPT_ID_BYTES
        and not MISREAD.search(document_id)
        and not document_id.startswith(_HASHED_ID)
    ):
        return document_id
    return _HASHED_ID + sha256(document_id.encode()).hexdigest()


@frozen
class FieldLayout:
    """Which fields of a collection hold a document, and how.

    Args:
        id: The primary key.
        text: A VARCHAR field.
        metadata: A JSON field.
        vector: A field of float vectors.
        exact: Whether tags and original ids stand beside them, as our own store writes them; else
            the four fields are all there is, in a collection that others made.
        number: Whether the primary key is an INT64; only in collections of others.
        beside: Whether there is a field for what stands beside metadata; not in collections of
            others, and not in those that were made before there was one.

    Example:
        >>> FieldLayout(id="pk", exact=False).read({"pk": "a", "text": "Hello", "metadata": None})
        ('a', 'Hello', {}, None)
    """

    id: str = ID
    text: str = TEXT
    metadata: str = METADATA
    vector: str = VECTOR
    exact: bool = True
    number: bool = False
    beside: bool = True

    @property
    def extra(self) -> str | None:
        """The field for what stands beside metadata, if there is one."""
        return EXTRA if self.exact and self.beside else None

    @property
    def tags(self) -> str | None:
        """The field of tags, if there is one."""
        return TAGS if self.exact else None

    @property
    def read_fields(self) -> list[str]:
        """The fields to ask for, the vector aside."""
        own = [ORIGINAL_ID] if self.exact else []
        extra = [] if self.extra is None else [self.extra]
        return [self.id, *own, self.text, self.metadata, *extra]

    @property
    def textless_fields(self) -> list[str]:
        """The same without the text, and without what stands beside the metadata."""
        return [name for name in self.read_fields if name not in (self.text, self.extra)]

    def key(self, document_id: str) -> str | int:
        """The primary key under which a document is stored."""
        if self.number:
            return int(document_id)
        return stored_id(document_id) if self.exact else document_id

    def write(
        self, document_id: str, text: str, metadata: Mapping[str, Any], extra: str | None = None
    ) -> dict[str, Any]:
        """The fields that hold a document, its vector aside; ``extra`` as JSON text."""
        key = self.key(document_id)
        row: dict[str, Any] = {self.id: key, self.text: text, self.metadata: metadata}
        if self.exact:
            row[ORIGINAL_ID] = "" if key == document_id else document_id
            row[TAGS] = tags_of(metadata)
        if self.extra is not None:
            row[self.extra] = extra or ""
        return row

    def parts(self, row: Mapping[str, Any]) -> tuple[str, Any]:
        """Id and metadata of a row as they stand there, which may be no document."""
        original = row.get(ORIGINAL_ID) if self.exact else ""
        return original or str(row[self.id]), row.get(self.metadata)

    def read(self, row: Mapping[str, Any]) -> tuple[str, str, dict[str, Any], str | None]:
        """Id, text, metadata and, as JSON text, extra of the document that a row holds."""
        document_id, metadata = self.parts(row)
        extra = None if self.extra is None else row.get(self.extra) or None
        return document_id, row.get(self.text) or "", dict(metadata or {}), extra
