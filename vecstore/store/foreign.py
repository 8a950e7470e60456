"""Records that are no documents: what a store makes of them, the same on every engine.

A table or collection that others write to may hold records that are not of the store's layout:
without an id, or with metadata that is a list. One such record must not stop a search that meets
it, and must not be bent into a document that filters would see otherwise than the engine does. So:

* A record without an id, with an id that is no text, or whose metadata is anything but an object
  is **no document**. Reading leaves it out, ``update_metadata`` and ``delete`` leave it alone,
  and the call says so once, by a :class:`ForeignRecordWarning` that names the first of them. Where
  warnings are errors, that is a :class:`~vecstore.SchemaMismatchError`. A search fills up with the
  next documents. ``count`` asks the engine alone, and may count it; ``clear`` deletes it.
* Metadata that is missing or null is no metadata; a text that is missing, null or no text at all
  is an empty one. What stands there stays as it is until the document is written anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vecstore.errors import SchemaMismatchError


class ForeignRecordWarning(UserWarning):
    """A call left out a record that is no document of the store's layout."""


@dataclass(slots=True)
class ForeignRecords:
    """The records that one call leaves out; it warns of the first.

    Args:
        place: What holds the records, such as ``"the collection 'docs'"``.
        count: How many were left out so far.

    Example:
        >>> foreign = ForeignRecords("the table docs")
        >>> foreign.count
        0
    """

    place: str
    count: int = 0

    def leave_out(self, record: object, reason: str) -> None:
        """Note a record that is no document.

        Args:
            record: How the engine names it.
            reason: What about it is not of the layout, such as ``"it has no id"``.

        Raises:
            SchemaMismatchError: Where warnings are errors.
        """
        self.count += 1
        if self.count > 1:
            return
        message = (
            f"{self.place} holds a record that is no document of this store's layout and is left "
            f"out, {record!r}: {reason}; put it right or delete it"
        )
        try:
            warnings.warn(message, ForeignRecordWarning, stacklevel=3)
        except ForeignRecordWarning:
            raise SchemaMismatchError(message) from None


def fault_of(document_id: object, metadata: object) -> str | None:
    """Why a record with such an id and metadata is no document; None where it is one.

    Args:
        document_id: What stands where the id should, None where nothing does.
        metadata: What stands where the metadata should, None where nothing does.

    Example:
        >>> fault_of("a", {"n": 1}), fault_of("a", None)
        (None, None)
        >>> fault_of("a", [1])
        'its metadata is a list and no object'
    """
    if document_id is None:
        return "it has no id"
    if not isinstance(document_id, str) or not document_id:
        return f"its id is {_kind(document_id)} and no text"
    if metadata is not None and not isinstance(metadata, Mapping):
        return f"its metadata is {_kind(metadata)} and no object"
    return None


def _kind(value: Any) -> str:
    if value == "":
        return "empty"
    names = {bool: "a bool", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")
