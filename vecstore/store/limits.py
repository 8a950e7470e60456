"""The limits that a store declares, checked by name before anything is written or asked.

Engines add up squares in float32, which holds none above 3.4e38 and few digits below 1.2e-38: the
cosine of a vector of 1e30 with itself comes out as NaN on one and as 0 on another, a distance as
infinite. A store therefore declares between which lengths its engine is right, too.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vecstore.document import shown_id
from vecstore.errors import DocumentError
from vecstore.filter.text import key_text
from vecstore.store.capabilities import IdCharset, StoreCapabilities

if TYPE_CHECKING:
    from vecstore.store.adding import Prepared

SHORTEST_IN_FLOAT32 = 1e-15
"""Of vectors of this length and more float32 adds up squares, and products, with all its digits."""

LONGEST_IN_FLOAT32 = 1e18
"""Of vectors up to this length, squares of sums are at most 4e36, and 3.4e38 is the end."""

SHORTEST_IN_FLOAT16 = 1e-3
"""The same where an index holds vectors in 16 bits, whose numbers end at 6e-8."""

LONGEST_IN_FLOAT16 = 65_504.0
"""The largest number of 16 bits."""


class RecordLimits:
    """The limits that a store declares, checked on documents before anything is written."""

    def __init__(self, name: str, capabilities: StoreCapabilities) -> None:
        self._name = name
        self._capabilities = capabilities
        limits = capabilities
        self._checks: list[Callable[[Prepared], None]] = []
        if limits.max_text_bytes is not None:
            self._checks.append(self._text)
        if limits.max_id_bytes is not None or limits.id_charset != "any":
            self._checks.append(self._id)
        if limits.min_integer is not None or limits.max_integer is not None:
            self._checks.append(lambda item: self.check_integers(item.metadata, item.id))
        if not (limits.keeps_null and limits.keeps_empty_list):
            self._checks.append(self._drop)
        if limits.max_metadata_bytes is not None:
            self._checks.append(lambda item: self.check_size(item.metadata, item.id))
        if limits.keeps_extra and limits.max_extra_bytes is not None:
            self._checks.append(self._extra)

    @property
    def limited(self) -> bool:
        """Whether there is anything to check."""
        return bool(self._checks)

    def check(self, item: Prepared) -> None:
        """Refuse a document past a limit.

        Raises:
            DocumentError: Naming the document and the limit.
        """
        for check in self._checks:
            check(item)

    def _text(self, item: Prepared) -> None:
        limit = self._capabilities.max_text_bytes
        if limit is not None and _passes(item.text, limit):
            raise DocumentError(
                f"the text of document {shown_id(item.id)} has {len(item.text.encode()):,} bytes; "
                f"{self._name} holds at most {limit:,} (max_text_bytes); split it into several "
                "documents",
                document_id=item.id,
            )

    def _extra(self, item: Prepared) -> None:
        limit = self._capabilities.max_extra_bytes
        if limit is not None and item.extra is not None and _passes(item.extra, limit):
            raise DocumentError(
                f"the extra of document {shown_id(item.id)} has {len(item.extra.encode()):,} bytes "
                f"as JSON; {self._name} holds at most {limit:,} (max_extra_bytes)",
                document_id=item.id,
            )

    def _id(self, item: Prepared) -> None:
        limit = self._capabilities.max_id_bytes
        if limit is not None and _passes(item.id, limit):
            raise DocumentError(
                f"the id {shown_id(item.id)} has {len(item.id.encode()):,} bytes; {self._name} "
                f"holds at most {limit:,} (max_id_bytes)",
                document_id=item.id,
            )
        charset = self._capabilities.id_charset
        if not is_in_charset(item.id, charset):
            raise DocumentError(
                f"the id {shown_id(item.id)} is not {_ID_WORDS[charset]}, which the ids of this "
                f"{self._name} store are (id_charset)",
                document_id=item.id,
            )

    def check_integers(
        self, metadata: dict[str, Any], document_id: str | None, path: tuple[str, ...] = ()
    ) -> None:
        """Refuse an integer that the engine cannot hold exactly."""
        low, high = self._capabilities.min_integer, self._capabilities.max_integer
        for name, value in metadata.items():
            if type(value) is dict:
                self.check_integers(value, document_id, (*path, name))
                continue
            for item in value if type(value) is list else (value,):
                if type(item) is not int:
                    continue
                if (low is not None and item < low) or (high is not None and item > high):
                    key = key_text((*path, name))
                    owner = (
                        "the metadata"
                        if document_id is None
                        else f"document {shown_id(document_id)}"
                    )
                    bound, limit = (
                        ("min_integer", low)
                        if low is not None and item < low
                        else ("max_integer", high)
                    )
                    raise DocumentError(
                        f"{owner} cannot be stored with the key {key}: the integer is past what "
                        f"{self._name} holds exactly ({bound} {limit}); store it as text",
                        document_id=document_id,
                        key=key,
                    )

    def kept(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The metadata without the nulls and empty lists that the engine would not keep."""
        limits = self._capabilities
        kept: dict[str, Any] = {}
        for name, value in metadata.items():
            if value is None and not limits.keeps_null:
                continue
            if type(value) is list and not value and not limits.keeps_empty_list:
                continue
            kept[name] = self.kept(value) if type(value) is dict else value
        return kept

    def _drop(self, item: Prepared) -> None:
        item.metadata = self.kept(item.metadata)

    def check_size(self, metadata: dict[str, Any], document_id: str | None) -> None:
        """Refuse metadata, or new values for it, that are too large by themselves."""
        limit = self._capabilities.max_metadata_bytes
        if limit is None:
            return
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8"))
        if size > limit:
            owner = (
                "the new metadata"
                if document_id is None
                else f"the metadata of document {shown_id(document_id)}"
            )
            raise DocumentError(
                f"{owner} has {size:,} bytes as JSON; {self._name} holds at most {limit:,} "
                "(max_metadata_bytes)",
                document_id=document_id,
            )


def _is_uuid(id: str) -> bool:
    try:
        return str(uuid.UUID(id)) == id
    except ValueError:
        return False


def _is_integer(id: str) -> bool:
    return bool(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", id)) and -(2**63) <= int(id) < 2**63


def _is_uuid_or_number(id: str) -> bool:
    number = re.fullmatch(r"0|[1-9][0-9]{0,19}", id)
    return int(id) < 2**64 if number else _is_uuid(id)


def is_in_charset(id: str, charset: IdCharset) -> bool:
    """Whether a store whose ids are of that kind can have such an id.

    Example:
        >>> [is_in_charset(id, "uuid_or_number") for id in ("7", "07", "18446744073709551616")]
        [True, False, False]
    """
    return charset == "any" or _ID_TESTS[charset](id)


_ID_TESTS: dict[str, Callable[[str], bool]] = {
    "ascii": str.isascii,
    "uuid": _is_uuid,
    "integer": _is_integer,
    "uuid_or_number": _is_uuid_or_number,
}


_ID_WORDS = {
    "ascii": "ASCII text",
    "uuid": "a UUID in its canonical form, such as 123e4567-e89b-12d3-a456-426614174000",
    "integer": "an integer of 64 bits",
    "uuid_or_number": "a UUID in its canonical form, or a whole number from 0 to 2**64 - 1",
}


def _passes(text: str, limit: int) -> bool:
    """Whether the text is longer than ``limit`` bytes, without encoding most texts."""
    if len(text) > limit:
        return True
    return len(text) * 4 > limit and not text.isascii() and len(text.encode()) > limit
