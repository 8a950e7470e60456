"""Records of a Chroma collection: which, page by page, and what stands in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final, Protocol

from vecstore.dialects.chroma.client import Calls
from vecstore.dialects.chroma.layout import EXTRA
from vecstore.document import Document, stored_document
from vecstore.errors import BackendError
from vecstore.store.drivers import in_parts
from vecstore.store.foreign import ForeignRecords, fault_of

IDS_AT_ONCE: Final = 1_000
"""Ids in one call: each is a variable of a statement that takes 32,766."""

AT_ONCE_IN_THE_CLOUD: Final = 100
"""Records in one call to Chroma Cloud, whose quota is 300 by default."""

MAX_REQUEST_BYTES: Final = 24 * 2**20
"""Of one write to a server, which takes 40 MB."""


class RecordLayout(Protocol):
    """How metadata stands in a record."""

    def write(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """What is stored for a document's metadata."""

    def read(self, fields: Mapping[str, Any] | None) -> Any:
        """A document's metadata; anything but a dict where the record holds none."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read; ``fields`` is the engine's metadata, ``metadata`` the document's."""

    id: str
    text: str
    fields: Mapping[str, Any] | None
    metadata: Any
    embedding: Any = None
    extra: str | None = None


@dataclass(slots=True, kw_only=True)
class Records:
    """Reading and writing records.

    Attributes:
        call: The client.
        layout: How metadata stands in them.
        extras: Whether what stands beside metadata has a place in them.
        page: How many records are read at once, where that is limited.
        collection: The client's collection, once there is one.
    """

    call: Calls
    layout: RecordLayout
    extras: bool
    page: int | None = None
    collection: Any = field(default=None, repr=False)

    # --- reading -----------------------------------------------------------------------------

    def ids(self, operation: str, filter: Any, ids: Sequence[str] | None = None) -> list[str]:
        """The ids of all that match, or of those among some."""
        where = where_of(filter)
        if ids is None:
            return self._ids(operation, where=where)
        return [
            id for part in self._parts(ids) for id in self._ids(operation, ids=part, where=where)
        ]

    def selected(
        self, operation: str, ids: Iterable[str], filter: Any, include_embedding: bool
    ) -> list[Record]:
        """Those with one of the ids that match."""
        return [
            record
            for part in self._parts(list(ids))
            for record in self._read(operation, part, filter, include_embedding)
        ]

    def pages(
        self, operation: str, filter: Any, include_embedding: bool, size: int, *, texts: bool = True
    ) -> Iterator[list[Record]]:
        """All that match, by ids that are read before: numbered pages shift with deletions."""
        for part in self._parts(self.ids(operation, filter), size):
            page = self._read(operation, part, filter, include_embedding, texts=texts)
            if page:
                yield page

    def stored(self, operation: str, ids: Sequence[str], filter: Any = None) -> list[str]:
        """Which of the ids are stored, and match."""
        return self.ids(operation, filter, ids)

    def count(self, filter: Any) -> int:
        """How many records match."""
        if where_of(filter) is None:
            return int(self.call("count", lambda _: self.collection.count()))
        return len(self.ids("count", filter))

    def nearest(
        self, vector: Any, size: int, filter: Any, ids: Sequence[str] | None = None
    ) -> list[str]:
        """The ids of the nearest that match, of all or of those among some.

        Nearest first, and as the index finds them.
        """
        where = where_of(filter)
        among = None if ids is None else list(ids)
        found = self.call(
            "search",
            lambda _: self.collection.query(
                query_embeddings=[vector], ids=among, n_results=size, include=[], where=where
            ),
        )
        return list(found["ids"][0])

    def documents(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Document]:
        """The documents that records hold; ``foreign`` takes note of those that hold none."""
        for one in self.holding(records, foreign):
            yield stored_document(
                one.id, one.text, one.metadata or {}, one.embedding, extra=one.extra
            )

    def holding(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Record]:
        """Those of the records that hold a document."""
        for one in records:
            fault = fault_of(one.id, one.metadata)
            if fault is None:
                yield one
            else:
                foreign.leave_out(one.id, fault)

    def _parts(self, ids: Sequence[str], size: int = IDS_AT_ONCE) -> Iterator[list[str]]:
        size = min(size, self.page or size)
        for start in range(0, len(ids), size):
            yield [*ids[start : start + size]]

    def _ids(self, operation: str, **options: Any) -> list[str]:
        def read(client: Any, **bounds: Any) -> list[str]:
            return list(self.collection.get(include=[], **options, **bounds)["ids"])

        if self.page is None:
            return self.call(operation, read)
        found: dict[str, None] = {}  # what moves on from page to page comes twice
        for offset in count(0, self.page):
            page = self.call(operation, partial(read, limit=self.page, offset=offset))
            if not page:
                break
            found.update(dict.fromkeys(page))
        return list(found)

    def _read(
        self,
        operation: str,
        ids: list[str],
        filter: Any,
        include_embedding: bool,
        *,
        texts: bool = True,
    ) -> list[Record]:
        import numpy as np

        if not ids:
            return []
        wanted = ["metadatas", *(["documents"] if texts else [])]
        wanted += ["embeddings"] if include_embedding else []
        where = where_of(filter)
        found = self.call(
            operation, lambda _: self.collection.get(ids=ids, where=where, include=wanted)
        )
        vectors = None
        if include_embedding and len(found["ids"]):
            vectors = np.asarray(found["embeddings"], dtype=np.float32)
            vectors.flags.writeable = False
        documents = found["documents"] if texts else [""] * len(found["ids"])
        return [
            Record(
                id,
                text or "",
                fields,
                self.layout.read(fields),
                None if vectors is None else vectors[row],
                self._extra(fields) if texts else None,
            )
            for row, (id, text, fields) in enumerate(
                zip(found["ids"], documents, found["metadatas"], strict=True)
            )
        ]

    def _extra(self, fields: Mapping[str, Any] | None) -> str | None:
        extra = (fields or {}).get(EXTRA) if self.extras else None
        return extra if isinstance(extra, str) else None

    # --- writing -----------------------------------------------------------------------------

    def upsert(
        self,
        operation: str,
        ids: list[str],
        texts: list[str],
        fields: list[dict[str, Any]],
        vectors: Any,
    ) -> None:
        """Write whole records, to a server in as many requests as their size needs.

        Raises:
            BackendError: If one fails; ``stored_ids`` names the documents of those before.
        """

        def size_of(row: int) -> int:
            held = sum(len(str(value)) for value in fields[row].values())
            dimension: int = vectors.shape[1]
            return 6 * dimension + 4 * len(texts[row]) + 4 * held

        rows: Iterable[list[int]] = [list(range(len(ids)))]
        if not self.call.local:
            rows = in_parts(range(len(ids)), size_of, MAX_REQUEST_BYTES)
        written: list[str] = []
        for part in rows:
            named = [ids[row] for row in part]
            columns: dict[str, Any] = {
                "ids": named,
                "embeddings": vectors[part],
                "documents": [texts[row] for row in part],
                "metadatas": [fields[row] or None for row in part],
            }
            try:
                self.call(operation, partial(_upserted, self.collection, columns))
            except BackendError as error:
                error.stored_ids = written
                raise
            written += named

    def change(self, operation: str, ids: list[str], fields: list[dict[str, Any]]) -> None:
        """Put fields into records that are there; one that is None is taken out."""
        self.call(operation, lambda _: self.collection.update(ids=ids, metadatas=fields))

    def delete(self, operation: str, ids: Sequence[str], filter: Any = None) -> None:
        """Delete records by their ids, if they still match."""
        where = where_of(filter)
        for part in self._parts(ids):
            self.call(operation, partial(_deleted, self.collection, part, where))


def _upserted(collection: Any, columns: dict[str, Any], client: Any) -> None:
    collection.upsert(**columns)


def _deleted(collection: Any, ids: list[str], where: Any, client: Any) -> None:
    collection.delete(ids=ids, where=where)


def where_of(filter: Any) -> dict[str, Any] | None:
    """The ``where`` of a compiled filter; None where there is none."""
    return None if filter is None else filter.native
