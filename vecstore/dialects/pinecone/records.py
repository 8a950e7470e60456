"""Documents as Pinecone records, and reading them.

A record's metadata is flat and cannot hold all that a document's can. So the document stands in
three texts (its id, its text, its metadata as JSON), and one more for its extra where it has one,
beside what filters work on, which :mod:`~vecstore.dialects.pinecone.layout` lays out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from vecstore.dialects.pinecone.client import Calls
from vecstore.dialects.pinecone.filters import RecordFilter
from vecstore.dialects.pinecone.layout import filter_fields
from vecstore.dialects.pinecone.retries import Deadline
from vecstore.dialects.tokens import Path
from vecstore.document import Document, shown_id, stored_document
from vecstore.errors import BackendError, DocumentError
from vecstore.filter.values import metadata_text
from vecstore.store.drivers import in_parts
from vecstore.store.foreign import ForeignRecords, fault_of

if TYPE_CHECKING:
    from vecstore.vectors import Vector

ID: Final = "__vecstore_id"
TEXT: Final = "__vecstore_text"
METADATA: Final = "__vecstore_metadata"
EXTRA: Final = "__vecstore_extra"
VERSION: Final = "__vecstore_version"
"""Names of the fields; no user's key starts this way. The version is another one at each write, and
documents without an extra have no field for it."""
ZEROS: Final = "__vecstore_zeros"
"""Stands, true, in the record of a vector of zeros, which the index does not take."""

MOST_METADATA_BYTES: Final = 40_960
MOST_IDS: Final = 1_000
"""Ids in one request to fetch or delete."""

_OWN_ID = re.compile(r"[!-~]{1,400}")
_MAPPED = "vecstore#"
_TINY = 1e-30
_PAGE = 100
_FETCHED = 100
_URL_BYTES = 6_000
_MOST_EXPANDED = 14
_MOST_ORDERED = 4_000
"""Bytes of the tokens that order one text."""


def record_id(document_id: str) -> str:
    """The id of the record that holds a document: its own, or what stands for it.

    Records are named in up to 512 ASCII characters. An id of printable ones is taken as it is.

    Example:
        >>> record_id("readme#3"), record_id("é")[:21]
        ('readme#3', 'vecstore#4a99557e4033')
    """
    if _OWN_ID.fullmatch(document_id) and not document_id.startswith(_MAPPED):
        return document_id
    return _MAPPED + sha256(document_id.encode()).hexdigest()


def record_metadata(
    document_id: str,
    text: str,
    metadata: Mapping[str, Any],
    ordered: frozenset[Path] = frozenset(),
    extra: str | None = None,
) -> dict[str, str | float | bool | list[str]]:
    """A document as the metadata of a record, but for its version.

    Args:
        document_id: Its id.
        text: Its text.
        metadata: Its metadata.
        ordered: The keys whose texts can be ordered.
        extra: What it has beside its metadata, as JSON text.

    Example:
        >>> record_metadata("a", "Hello", {"n": 1})["__vecstore_metadata"]
        '{"n":1}'
    """
    return {
        ID: document_id,
        TEXT: text,
        METADATA: metadata_text(metadata),
        **({} if extra is None else {EXTRA: extra}),
        **filter_fields(metadata, ordered),
    }


def check_size(
    document_id: str,
    text: str,
    metadata: Mapping[str, Any],
    ordered: frozenset[Path] = frozenset(),
    extra: str | None = None,
) -> None:
    """Refuse a document whose record would be larger than Pinecone takes.

    Raises:
        DocumentError: Naming it, and what takes the room.
    """
    flat = not any(isinstance(value, list | dict) for value in metadata.values())
    told = _size(metadata)
    texts = len(document_id) + len(text) + len(extra or "")
    most = 6 * texts + _MOST_EXPANDED * told + 500
    if flat and most + _MOST_ORDERED * len(ordered) < MOST_METADATA_BYTES:
        return
    fields = record_metadata(document_id, text, metadata, ordered, extra)
    size = _size({**fields, VERSION: "0" * 16, ZEROS: True})
    if size > MOST_METADATA_BYTES:
        length = len(text.encode())
        beside = f", its extra of {len(extra.encode()):,}" if extra else ""
        raise DocumentError(
            f"document {shown_id(document_id)} would be a record with {size:,} bytes of metadata, "
            f"and Pinecone takes {MOST_METADATA_BYTES:,} (40 KB): its text of {length:,} bytes"
            f"{beside} and its metadata of {told:,}, which takes several times its length for "
            "filters; split the document, or store less of it",
            document_id=document_id,
        )


def record_vector(vector: Vector) -> list[float]:
    """A vector as Pinecone takes it, which refuses zeros: then one that is next to nothing."""
    values: list[float] = vector.tolist()
    return values if any(values) else [_TINY, *values[1:]]


def _size(metadata: Mapping[str, Any]) -> int:
    return len(metadata_text(metadata).encode())


@dataclass(slots=True)
class Record:
    """A record as it was read.

    Attributes:
        key: Its id.
        document_id: Of the document that it holds.
        text: Of the document.
        metadata: Of the document.
        extra: What the document has beside it, as JSON text.
        version: Which write it is of; None where others wrote it.
        values: Its vector, None where it was not asked for.
        fault: Why it holds no document; None where it does.
    """

    key: str
    document_id: str
    text: str
    metadata: dict[str, Any]
    extra: str | None
    version: str | None
    values: list[float] | None
    fault: str | None

    @classmethod
    def read(cls, key: str, fields: Mapping[str, Any] | None, values: Any) -> Record:
        """A record as the client returns it.

        Args:
            key: Its id.
            fields: Its metadata.
            values: Its vector, or None.
        """
        fields = fields or {}
        metadata: Any = fields.get(METADATA)
        if isinstance(metadata, str):
            try:
                metadata = json.loads(metadata)
            except (ValueError, RecursionError):
                pass  # a text, which is no object
        document_id, text = fields.get(ID), fields.get(TEXT)
        fault = fault_of(document_id, metadata)
        if fault is None and record_id(str(document_id)) != key:
            fault = f"its id is {shown_id(str(document_id))}, which is stored elsewhere"
        extra, version = fields.get(EXTRA), fields.get(VERSION)
        if values is not None and fields.get(ZEROS) is True:
            values = [0.0] * len(values)
        return cls(
            key,
            str(document_id),
            text if isinstance(text, str) else "",
            metadata if isinstance(metadata, dict) else {},
            extra if isinstance(extra, str) else None,
            version if isinstance(version, str) else None,
            values or None,
            fault,
        )

    def document(self, score: float | None = None) -> Document:
        """The document that it holds."""
        embedding: Any = None
        if self.values is not None:
            embedding = np.array(self.values, dtype=np.float32)
            embedding.flags.writeable = False
        return stored_document(
            self.document_id, self.text, self.metadata, embedding, score, self.extra
        )


@dataclass(slots=True, kw_only=True)
class Records:
    """Reading the records of a namespace.

    Attributes:
        call: The client.
        namespace: Its name.
    """

    call: Calls
    namespace: str
    _by_metadata: bool = field(default=True, init=False)
    """Whether the index can be asked for records by a filter; Pinecone Local cannot always."""

    # --- by id -------------------------------------------------------------------------------

    def fetched(
        self, operation: str, keys: Iterable[str], deadline: Deadline | None = None
    ) -> dict[str, Any]:
        """Records by their ids, those that are there, as the client returns them."""
        found: dict[str, Any] = {}
        tasks = [self._fetch(operation, part) for part in _parts(keys)]
        for vectors in self.call.all(tasks, deadline):
            found.update(vectors)
        return found

    def _fetch(self, operation: str, part: list[str]) -> Callable[[Deadline], dict[str, Any]]:
        def task(deadline: Deadline) -> dict[str, Any]:
            answer = self.call.in_namespace(
                operation,
                lambda index, timeout: index.fetch(
                    ids=part, namespace=self.namespace, timeout=timeout
                ),
                deadline,
            )
            return {} if answer is None else dict(answer.vectors)

        return task

    def by_key(
        self, operation: str, keys: Iterable[str], include_embedding: bool
    ) -> dict[str, Record]:
        """Records by their ids, read."""
        found = self.fetched(operation, keys)
        return {
            key: Record.read(key, one.metadata, one.values if include_embedding else None)
            for key, one in found.items()
        }

    def selected(
        self, operation: str, ids: Iterable[str], filter: RecordFilter | None, embedding: bool, /
    ) -> list[Record]:
        """Records with one of the ids that match."""
        records = self.by_key(operation, map(record_id, ids), embedding)
        return list(_matching(records.values(), filter))

    def stored(
        self, operation: str, ids: Sequence[str], filter: RecordFilter | None = None, /
    ) -> list[str]:
        """Which of the ids are stored, and match."""
        ours = {record_id(one): one for one in ids}
        if filter is None:
            return [ours[key] for key in self.fetched(operation, ours)]
        found = self.selected(operation, ids, filter, False)
        return [ours[record.key] for record in found if record.fault is None]

    # --- page by page ------------------------------------------------------------------------

    def pages(
        self, operation: str, filter: RecordFilter | None, embedding: bool, size: int, /
    ) -> Iterator[list[Record]]:
        """All records that match, page by page."""
        size = min(size, _PAGE)
        if filter is not None and self._by_metadata:
            pages = self._filtered(operation, filter, embedding, size)
            try:
                first = next(pages, None)
            except BackendError as error:
                if not _is_unknown(error):
                    raise
                self._by_metadata = False
            else:
                if first is not None:
                    yield first
                    yield from pages
                return
        for keys in self.keys(operation, size):
            records = self.by_key(operation, keys, embedding)
            yield list(_matching(records.values(), filter))

    def keys(self, operation: str, size: int = _PAGE) -> Iterator[list[str]]:
        """The ids of all records, page by page."""
        answers = self._answers(
            operation, lambda index, more: index.list_paginated(limit=size, **more)
        )
        for answer in answers:
            yield [one.id for one in answer.vectors]

    def _filtered(
        self, operation: str, filter: RecordFilter, embedding: bool, size: int
    ) -> Iterator[list[Record]]:
        answers = self._answers(
            operation,
            lambda index, more: index.fetch_by_metadata(filter=filter.native, limit=size, **more),
        )
        for answer in answers:
            records = (
                Record.read(key, one.metadata, one.values if embedding else None)
                for key, one in answer.vectors.items()
            )
            yield list(_matching(records, filter))

    def _answers(self, operation: str, ask: Callable[[Any, dict[str, Any]], Any]) -> Iterator[Any]:
        """What is answered, page by page.

        Args:
            operation: What the caller of the store asked for.
            ask: Gets the ``pinecone.Index``, and arguments that say where and which page.
        """
        where: dict[str, Any] = {"namespace": self.namespace}
        while True:
            answer = self.call.in_namespace(
                operation, lambda index, timeout: ask(index, {**where, "timeout": timeout})
            )
            if answer is None:
                return
            yield answer
            pagination = answer.pagination
            if pagination is None or not pagination.next:
                return
            where["pagination_token"] = pagination.next

    def documents(
        self, records: Iterable[Record], foreign: ForeignRecords, /
    ) -> Iterator[Document]:
        """The documents that records hold."""
        for record in self.holding(records, foreign):
            yield record.document()

    def holding(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Record]:
        """Those of the records that hold a document."""
        for record in records:
            if record.fault is None:
                yield record
            else:
                foreign.leave_out(record.key, record.fault)


def _matching(records: Iterable[Record], filter: RecordFilter | None) -> Iterator[Record]:
    """Those that match, and those that hold no document, for the caller to tell of."""
    for record in records:
        if filter is None or record.fault is not None or filter.decide(record.metadata):
            yield record


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    """Ids in parts that fit into an address."""
    return in_parts(keys, lambda key: len(quote(key, safe="")) + len("&ids="), _URL_BYTES, _FETCHED)


def _is_unknown(error: BackendError) -> bool:
    """Whether the server does not know what it was asked to do."""
    return getattr(error.__cause__, "status_code", None) in (404, 405, 501)
