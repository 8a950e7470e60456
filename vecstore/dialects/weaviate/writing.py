"""Writing objects: in requests that fit into a message, and with word of each that failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vecstore.dialects.weaviate.client import Calls
from vecstore.dialects.weaviate.collection import CollectionPlan
from vecstore.dialects.weaviate.layout import EXTRA, METADATA, TEXT
from vecstore.dialects.weaviate.plain import PlainObjects
from vecstore.dialects.weaviate.records import Record, Records, Wanted
from vecstore.document import shown_id
from vecstore.errors import BackendError, DocumentError
from vecstore.filter.values import metadata_text
from vecstore.store.backend import listed
from vecstore.store.drivers import in_parts

if TYPE_CHECKING:
    from vecstore.vectors import Vector

_REQUEST_BYTES: Final = 8_000_000
"""What a request carries, unless one document alone has more."""
_ROOM: Final = 4_096
"""What a message takes beside its objects."""
_UNCERTAIN_SECONDS = 5.0
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A document to be written.

    Attributes:
        id: Its id.
        key: The object's own.
        text: Of the document.
        metadata: Of the document.
        extra: What the document has beside it, as JSON text.
        properties: Of the object.
        vector: Of the object; None for a document without one.
    """

    id: str
    key: str
    text: str
    metadata: Mapping[str, Any]
    extra: str | None
    properties: dict[str, Any]
    vector: Vector | None

    @property
    def size(self) -> int:
        """About how many bytes it takes in a request, and not less."""
        numbers = 0 if self.vector is None else len(self.vector)
        return properties_bytes(self.properties) + 4 * numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writing to a collection.

    Attributes:
        call: The client.
        plan: Says which collection.
        records: Reads what is there.
    """

    call: Calls
    plan: CollectionPlan
    records: Records

    def check_size(
        self, document_id: str, properties: dict[str, Any], dimension: int | None
    ) -> None:
        """Refuse a document that no message has room for.

        Raises:
            DocumentError: Naming it.
        """
        size = properties_bytes(properties) + 4 * (dimension or 0)
        if size > self.call.message_bytes - _ROOM:
            parts = ""
            if not isinstance(self.records.objects, PlainObjects):
                extra = len(properties.get(EXTRA, "").encode())
                parts = (
                    f": its text of {len(properties[TEXT].encode()):,} bytes"
                    f"{f', its extra of {extra:,}' if extra else ''} and its metadata of "
                    f"{len(properties[METADATA].encode()):,}, which filters take once more"
                )
            raise DocumentError(
                f"document {shown_id(document_id)} would be an object of {size:,} bytes, and this "
                f"Weaviate takes messages of {self.call.message_bytes:,}{parts}; split it "
                "into several documents",
                document_id=document_id,
            )

    def insert(self, operation: str, rows: Iterable[Row]) -> None:
        """Write documents, each in the place of what has its id.

        Raises:
            BackendError: ``stored_ids`` names what got through.
        """
        stored: list[str] = []
        most = min(_REQUEST_BYTES, self.call.message_bytes - _ROOM)
        for part in in_parts(rows, lambda row: row.size, most):
            failure: BackendError | None = None
            faults: dict[int, str] = {}
            try:
                faults = self._send(operation, part)
            except BackendError as error:
                failure = error
            if failure is not None:
                # A request that was not answered may have been carried out.
                with suppress(BackendError):
                    stored += self._arrived(operation, part)
                failure.stored_ids = stored
                raise failure
            stored += [row.id for place, row in enumerate(part) if place not in faults]
            if faults:
                raise self._refused(operation, part, faults, stored)

    def _send(self, operation: str, rows: Sequence[Row]) -> dict[int, str]:
        """Send one request; return by their places why objects in it were refused."""
        from weaviate.classes.data import DataObject
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        objects = [
            DataObject(properties=row.properties, uuid=row.key, vector=self._named(row.vector))
            for row in rows
        ]

        def send(client: Any) -> dict[int, str]:
            try:
                answer = self.plan.handle(client).data.insert_many(objects)
            except WeaviateInsertManyAllFailedError as error:
                told = str(error.message).partition("Here is the set of all errors: ")
                reason = (told[2] or told[0]).partition("\n")[0]
                return dict.fromkeys(range(len(objects)), reason)
            return {place: one.message for place, one in answer.errors.items()}

        return self.call(operation, send, writing=True)

    def _named(self, vector: Vector | None) -> Any:
        """A vector as the client takes it."""
        if vector is None:
            return None
        name, values = self.records.vector_name, vector.tolist()
        return values if name is None else {name: values}

    def _refused(
        self, operation: str, rows: Sequence[Row], faults: dict[int, str], stored: list[str]
    ) -> BackendError:
        ids = [rows[place].id for place in sorted(faults)]
        shown = listed([shown_id(id) for id in ids[:_TOLD]], len(ids))
        reasons = list(dict.fromkeys(faults[place] for place in sorted(faults)))
        more = f", and {len(reasons) - 1} other reasons" if len(reasons) > 1 else ""
        error = BackendError(
            f"Weaviate refused {len(ids)} of {len(rows)} objects of one request, those of the "
            f"documents {shown}: {self.call.redacted(reasons[0])}{more}",
            operation=operation,
            retryable=False,
        )
        error.stored_ids = stored
        return error

    def _arrived(self, operation: str, rows: Sequence[Row]) -> list[str]:
        """Which of the rows are stored as they were to be written."""
        keys = {row.key: row for row in rows}
        found = self.records.by_key(
            operation, [*keys], Wanted(vector=True), deadline=_UNCERTAIN_SECONDS
        )
        arrived = {record.document_id for record in found if _is_same(record, keys[record.key])}
        return [row.id for row in rows if row.id in arrived]

    # --- changes -----------------------------------------------------------------------------

    def change(self, operation: str, records: Iterable[Record], properties: dict[str, Any]) -> int:
        """Change these properties of objects and no others; null takes one out.

        Returns:
            How many there were: those that went meanwhile are not among them.
        """
        from weaviate.exceptions import UnexpectedStatusCodeError

        changed = 0
        for record in records:
            key = record.key

            def change(client: Any, key: str = key) -> bool:
                try:
                    self.plan.handle(client).data.update(uuid=key, properties=properties)
                except UnexpectedStatusCodeError as error:
                    if error.status_code != 404:
                        raise
                    return False
                return True

            changed += self.call(operation, change, writing=True)
        return changed

    # --- deletes -----------------------------------------------------------------------------

    def delete(self, operation: str, where: Any) -> int:
        """Delete all objects that match a filter of the client's; return how many there were.

        The server deletes ten thousand in a call, and says how many matched.
        """
        deleted = 0
        while True:
            answer = self.call(
                operation,
                lambda client: self.plan.handle(client).data.delete_many(where=where),
                writing=True,
            )
            deleted += int(answer.successful)
            if answer.failed:
                raise BackendError(
                    f"Weaviate has deleted {deleted:,} objects of {operation}, and could not "
                    f"delete {answer.failed:,}; run it again",
                    operation=operation,
                    retryable=True,
                )
            if answer.matches <= answer.successful or not answer.successful:
                return deleted


def properties_bytes(properties: dict[str, Any]) -> int:
    """About how many bytes properties take in a message, and not less."""
    total = 300
    for name, value in properties.items():
        total += len(name) + 20
        if isinstance(value, list):
            total += 9 * len(value)
            total += sum(len(one.encode()) for one in value if isinstance(one, str))
        elif isinstance(value, str):
            total += len(value) if value.isascii() else len(value.encode())
    return total


def _is_same(record: Record, row: Row) -> bool:
    """Whether an object is what was to be written, to the types of its metadata."""
    vector = row.vector
    if record.vector is None or vector is None:
        same_vector = record.vector is vector
    else:
        same_vector = np.array_equal(record.vector, vector)
    return (
        same_vector
        and record.document_id == row.id
        and record.text == row.text
        and record.extra == row.extra
        and (
            metadata_text(record.metadata) == metadata_text(row.metadata)
            # Properties come back in another order, and integers as floats that equal them.
            or (METADATA not in row.properties and record.metadata == row.metadata)
        )
    )
