"""How our own store lays documents out in Qdrant, and what it must see to on the way in.

A point's payload holds the document's id, its text, and its metadata as one object, so that no
key of a user's can meet one of ours:

.. code-block:: json

    {"id": "readme#3", "text": "Hello", "metadata": {"year": 2024, "tags": ["a"]}}

What a document has beside its metadata stands there as well, under ``"extra"``: as JSON text, in
which no filter looks, and which comes back with all digits of its numbers.

Qdrant gives JSON back as it took it: ``1`` and ``1.0`` stay apart, ``null`` and ``[]`` are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

from vecstore.errors import ConfigurationError, DocumentError
from vecstore.filter.keys import read_key
from vecstore.filter.text import key_text
from vecstore.filter.values import UnusableValue, to_scalar
from vecstore.frozen import frozen

ID: Final = "id"
TEXT: Final = "text"
METADATA: Final = "metadata"
EXTRA: Final = "extra"

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1
"""Integers outside come back as floats, or cannot be sent over gRPC at all."""

_NAMESPACE = UUID("6f1f4a1e-8c0b-5d6c-9d0e-3b7a51d2c9f4")
_TIMESTAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def point_id(document_id: str) -> str:
    """The UUID under which a document is stored: the engine takes no other ids but numbers.

    An id that is a UUID itself is mapped like any other; if it were taken as it is, somebody
    could choose it so that it meets the UUID of another document.

    Example:
        >>> point_id("readme#3")
        'cefd6fa1-1a43-54ca-8b22-c8300f8c79d7'
    """
    return str(uuid5(_NAMESPACE, document_id))


@frozen
class PayloadLayout:
    """Where a document's parts stand in a payload.

    Args:
        id: The key of the document's id; None where the point's own id, a UUID or a number, is it.
        text: The key of the text.
        metadata: The key of the metadata object; ``""`` where its keys stand beside the others.
        extra: The key of the text that :attr:`~vecstore.Document.extra` is kept as. By default
            ``"extra"`` where the others stand as in our own layout, and elsewhere none.

    Example:
        >>> LANGCHAIN.read("7", {"page_content": "Hello", "metadata": {"n": 1}})
        ('7', 'Hello', {'n': 1}, None)
    """

    id: str | None = ID
    text: str = TEXT
    metadata: str = METADATA
    extra: str | None = None

    def __post_init__(self) -> None:
        names = [self.text, self.metadata, *([] if self.id is None else [self.id])]
        names += [] if self.extra is None else [self.extra]
        named = self.text and self.id != "" and self.extra != ""
        if not all(isinstance(name, str) for name in names) or not named:
            raise ConfigurationError(
                'a layout names keys of payloads: PayloadLayout(id=None, text="document", '
                'metadata="")'
            )
        if len({*names}) < len(names):
            raise ConfigurationError(f"two parts of {self} stand under one key")

    @property
    def extra_key(self) -> str | None:
        """The key of what stands beside the metadata; None where there is no place for it.

        Example:
            >>> OWN.extra_key, LANGCHAIN.extra_key, PayloadLayout(metadata="", extra="x").extra_key
            ('extra', None, 'x')
        """
        if self.extra is not None:
            return self.extra
        return EXTRA if (self.id, self.text, self.metadata) == (ID, TEXT, METADATA) else None

    @property
    def reserved(self) -> Mapping[str, str]:
        """Keys that metadata cannot have, because another part of the document stands there."""
        if self.metadata:
            return {}
        own = {self.text: "text", self.id: "id", self.extra_key: "extra"}
        return {key: part for key, part in own.items() if key is not None}

    def check_reserved(self, names: Iterable[str], document_id: str | None = None) -> None:
        """Refuse metadata with a key that is another part's.

        Raises:
            DocumentError: Naming the document and the key.

        Example:
            >>> PayloadLayout(None, "document", "").check_reserved(["n", "document"], "7")
            Traceback (most recent call last):
            ...
            vecstore.errors.DocumentError: document '7': the key document is where this ...
        """
        reserved = self.reserved
        for name in names if reserved else ():
            if name in reserved:
                shown = "" if document_id is None else f"document {document_id!r}: "
                raise DocumentError(
                    f"{shown}the key {key_text((name,))} is where this collection keeps the "
                    f"{reserved[name]} of a document, beside the metadata; rename the key",
                    document_id=document_id,
                    key=key_text((name,)),
                )

    def write(
        self, document_id: str, text: str, metadata: Mapping[str, Any], extra: str | None = None
    ) -> dict[str, Any]:
        """The payload that holds a document; ``extra`` as JSON text."""
        own = {self.text: text}
        if self.id is not None:
            own[self.id] = document_id
        if extra is not None and self.extra_key is not None:
            own[self.extra_key] = extra
        if self.metadata:
            return {**own, self.metadata: metadata}
        return {**metadata, **own}

    def read(
        self, point: str, payload: Mapping[str, Any]
    ) -> tuple[str, str, dict[str, Any], str | None]:
        """Id, text, metadata and, as JSON text, extra of the document that a payload holds."""
        document_id, metadata = self.parts(point, payload)
        text = payload.get(self.text)
        extra = None if self.extra_key is None else payload.get(self.extra_key)
        return (
            document_id,
            text if isinstance(text, str) else "",
            dict(metadata or {}),
            extra if isinstance(extra, str) else None,
        )

    def parts(self, point: str, payload: Mapping[str, Any]) -> tuple[Any, Any]:
        """What stands where the id and the metadata should; None where nothing does."""
        document_id = point if self.id is None else payload.get(self.id)
        if self.metadata:
            return document_id, payload.get(self.metadata)
        own = (self.id, self.text, self.extra_key)
        return document_id, {key: value for key, value in payload.items() if key not in own}


OWN: Final = PayloadLayout()
"""How our own store lays documents out."""

LANGCHAIN: Final = PayloadLayout(id=None, text="page_content", metadata="metadata")
"""Collections that LangChain's Qdrant store wrote."""


def as_path(key: str | tuple[str, ...]) -> tuple[str, ...]:
    """A key of an option as a path; a text is read as in a filter.

    Raises:
        ConfigurationError: For a text that no filter would take for a key.
    """
    try:
        return read_key(key)
    except UnusableValue as error:
        raise ConfigurationError(f"{error.reason}; {error.remedy}") from None


def is_timestamp(value: Any) -> bool:
    """Whether a value is a timestamp as documents hold it: fixed width, in UTC, microseconds.

    Example:
        >>> is_timestamp("2024-01-01T00:00:00.000000Z"), is_timestamp("2024-01-01T00:00:00Z")
        (True, False)
    """
    if not isinstance(value, str):
        return False
    try:
        return to_scalar(datetime.strptime(value, _TIMESTAMP)) == value
    except ValueError:
        return False
