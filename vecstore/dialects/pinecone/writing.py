"""Writing records, and waiting until what was written is seen.

Pinecone answers a write before queries see it. Each write carries a version of its own, so that the
store can tell what it wrote from what stood there before and from what others write meanwhile.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vecstore.dialects.pinecone.client import Calls
from vecstore.dialects.pinecone.filters import RecordFilter, joined
from vecstore.dialects.pinecone.records import (
    ID,
    MOST_IDS,
    VERSION,
    ZEROS,
    Record,
    Records,
    record_id,
    record_metadata,
    record_vector,
)
from vecstore.dialects.pinecone.retries import Deadline
from vecstore.dialects.tokens import Path
from vecstore.errors import BackendError
from vecstore.store.drivers import in_parts

if TYPE_CHECKING:
    from vecstore.vectors import Vector

_MOST_RECORDS: Final = 1_000
_MOST_BYTES: Final = 1_900_000
"""Records, and bytes, in one request; the service takes 2 MB."""
_NUMBER_BYTES = 22
_FIRST_LOOK = 0.02
_LONGEST_LOOK = 1.0
_SAMPLE = 10
_UNCERTAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Row:
    """A document to be written."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    vector: Vector
    extra: str | None


@dataclass(slots=True, kw_only=True)
class Writer:
    """Writing to a namespace.

    Attributes:
        call: The client.
        records: Reads what is there.
        wait: Whether a call ends only when what it wrote is seen.
        ordered: The keys whose texts can be ordered.
        dimension: Of the vectors; known once the index has been found.
    """

    call: Calls
    records: Records
    wait: bool
    ordered: frozenset[Path] = frozenset()
    dimension: int = 0
    _deletes_by_filter: bool = field(default=True, init=False)

    @property
    def namespace(self) -> str:
        """Its name."""
        return self.records.namespace

    # --- upserts -----------------------------------------------------------------------------

    def upsert(self, operation: str, rows: Sequence[Row]) -> None:
        """Write documents, each in the place of what has its id.

        Raises:
            BackendError: ``stored_ids`` names what got through.
        """
        if not rows:
            return
        version = secrets.token_hex(8)
        deadline = Deadline(self.call.deadline)
        parts = list(_requests(rows, version, self.ordered))
        tasks = [self._upsert(operation, vectors) for _, vectors in parts]
        outcomes = self.call.outcomes(tasks, deadline)
        errors = [one for one in outcomes if isinstance(one, Exception)]
        if errors:
            self._tell(operation, errors, parts, outcomes, version)
        if not self.wait:
            return
        try:
            self._await_upserts(operation, rows, version, outcomes, deadline)
        except BackendError as error:
            error.stored_ids = [row.id for row in rows]
            raise

    def _upsert(self, operation: str, vectors: list[Any]) -> Callable[[Deadline], Any]:
        def task(deadline: Deadline) -> Any:
            return self.call(
                operation,
                lambda index, timeout: index.upsert(
                    vectors=vectors, namespace=self.namespace, timeout=timeout
                ),
                deadline,
            )

        return task

    def _tell(
        self,
        operation: str,
        errors: list[Exception],
        parts: Sequence[tuple[Sequence[Row], list[Any]]],
        outcomes: Sequence[Any],
        version: str,
    ) -> None:
        """Raise what went wrong, with the ids of what is stored all the same."""
        stored: set[str] = set()
        uncertain: list[Row] = []
        for (rows, _), outcome in zip(parts, outcomes, strict=True):
            if isinstance(outcome, Exception):
                uncertain += rows
            elif outcome is not None:
                stored.update(row.id for row in rows)
        # A request that was not answered may have been carried out.
        if any(getattr(error, "retryable", True) for error in errors):
            with suppress(BackendError):
                stored.update(self._arrived(operation, uncertain, version))
        error = errors[0]
        if isinstance(error, BackendError):
            error.stored_ids = [row.id for rows, _ in parts for row in rows if row.id in stored]
        raise error

    def _arrived(self, operation: str, rows: Sequence[Row], version: str) -> set[str]:
        """Which of the rows are stored as they were to be written."""
        deadline = Deadline(_UNCERTAIN_SECONDS)
        pause = _FIRST_LOOK
        keys = {record_id(row.id): row.id for row in rows}
        while True:
            found = self.records.fetched(operation, keys, deadline)
            arrived = {
                keys[key]
                for key, one in found.items()
                if (one.metadata or {}).get(VERSION) == version
            }
            if len(arrived) == len(keys) or deadline.left <= pause:
                return arrived
            deadline.wait(pause)
            pause *= 2

    # --- deletes -----------------------------------------------------------------------------

    def delete(self, operation: str, records: Sequence[Record], filter: RecordFilter | None) -> int:
        """Delete documents, those that still match.

        Args:
            operation: What the caller of the store asked for.
            records: What holds them, as it was read.
            filter: What they match; None where they are deleted whatever they hold.
        """
        for part in _id_parts(records):
            deadline = Deadline(self.call.deadline)
            self._delete(operation, part, filter, deadline)
            if self.wait:
                self._await_deletes(operation, part, filter, deadline)
        return len(records)

    def _delete(
        self,
        operation: str,
        records: Sequence[Record],
        filter: RecordFilter | None,
        deadline: Deadline,
    ) -> None:
        if filter is not None and self._deletes_by_filter:
            # By both at once: what was changed since it was read is not deleted by its id alone.
            wanted = joined(filter.native, {ID: {"$in": [one.document_id for one in records]}})
            if filter.widened:  # and may still select what was changed
                wanted = joined(wanted, {VERSION: {"$in": [one.version or "" for one in records]}})
            try:
                self._remove(operation, deadline, filter=wanted)
            except BackendError as error:
                if not _refuses_filters(error):
                    raise
                self._deletes_by_filter = False
            else:
                return
        self._remove(operation, deadline, ids=[one.key for one in records])

    def _remove(self, operation: str, deadline: Deadline, **selector: Any) -> None:
        self.call.in_namespace(
            operation,
            lambda index, timeout: index.delete(
                namespace=self.namespace, timeout=timeout, **selector
            ),
            deadline,
        )

    def clear(self, operation: str) -> None:
        """Delete every record of the namespace."""
        sample: dict[str, str | None] = {}
        if self.wait:
            keys = next(self.records.keys(operation), [])[:_SAMPLE]
            found = self.records.by_key(operation, keys, False)
            sample = {key: record.version for key, record in found.items()}
        deadline = Deadline(self.call.deadline)
        self._remove(operation, deadline, delete_all=True)

        def is_seen() -> bool:
            found = self.records.by_key(operation, sample, False)
            return all(record.version != sample[key] for key, record in found.items())

        if sample:
            self._await(operation, deadline, is_seen)

    # --- waiting -----------------------------------------------------------------------------

    def _await_upserts(
        self,
        operation: str,
        rows: Sequence[Row],
        version: str,
        answers: Sequence[Any],
        deadline: Deadline,
    ) -> None:
        numbers = [one.response_info and one.response_info.lsn_committed for one in answers]
        committed = None if None in numbers else max(numbers)
        keys = [record_id(row.id) for row in rows]

        def is_seen() -> bool:
            if committed is not None:
                answer = self._query(operation, deadline, None)
                told = None if answer is None else answer.response_info
                if told is not None and told.lsn_reconciled is not None:
                    return bool(told.lsn_reconciled >= committed)
            # A server that numbers no writes. Others may have replaced some of them by now.
            found = self.records.fetched(operation, keys, deadline)
            return len(found) == len(keys)

        self._await(operation, deadline, is_seen)

    def _await_deletes(
        self,
        operation: str,
        records: Sequence[Record],
        filter: RecordFilter | None,
        deadline: Deadline,
    ) -> None:
        versions = list(dict.fromkeys(one.version for one in records if one.version is not None))
        if not versions:
            return
        # Those versions of them: what somebody else has put in their place since may stay.
        wanted = joined(
            None if filter is None else filter.native,
            {ID: {"$in": [one.document_id for one in records]}},
            {VERSION: {"$in": versions}},
        )

        def is_seen() -> bool:
            answer = self._query(operation, deadline, wanted)
            return answer is None or not answer.matches

        self._await(operation, deadline, is_seen)

    def _await(self, operation: str, deadline: Deadline, is_seen: Callable[[], bool]) -> None:
        pause = _FIRST_LOOK
        while not is_seen():
            if deadline.left <= pause:
                raise BackendError(
                    f"Pinecone has taken what {operation} wrote, and its queries do not see it "
                    f"after {self.call.deadline:g} s (deadline); they will: look again later, or "
                    "open the store with wait_until_visible=False",
                    operation=operation,
                    retryable=True,
                )
            deadline.wait(pause)
            pause = min(2 * pause, _LONGEST_LOOK)

    def _query(self, operation: str, deadline: Deadline, filter: Any) -> Any:
        """One record that matches, whichever: for what the answer says of the index."""
        vector = [1.0, *[0.0] * (self.dimension - 1)]
        return self.call.in_namespace(
            operation,
            lambda index, timeout: index.query(
                vector=vector, top_k=1, filter=filter, namespace=self.namespace, timeout=timeout
            ),
            deadline,
        )


def _requests(
    rows: Iterable[Row], version: str, ordered: frozenset[Path] = frozenset()
) -> Iterator[tuple[list[Row], list[Any]]]:
    """Documents in parts that one request carries, each with the records that hold them."""
    from pinecone import Vector as PineconeVector

    def made() -> Iterator[tuple[int, Row, Any]]:
        for row in rows:
            metadata: dict[str, Any] = record_metadata(
                row.id, row.text, row.metadata, ordered, row.extra
            )
            metadata[VERSION] = version
            if not row.vector.any():
                metadata[ZEROS] = True
            length = _length(metadata) + _NUMBER_BYTES * len(row.vector) + 600
            values = record_vector(row.vector)
            yield length, row, PineconeVector(record_id(row.id), values, None, metadata)

    for part in in_parts(made(), lambda one: one[0], _MOST_BYTES, _MOST_RECORDS):
        yield [row for _, row, _ in part], [vector for _, _, vector in part]


def _id_parts(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in parts whose ids one request carries."""
    return in_parts(
        records, lambda record: 6 * len(record.document_id) + 8, _MOST_BYTES // 2, MOST_IDS
    )


def _length(metadata: Mapping[str, Any]) -> int:
    """About how many bytes metadata takes as JSON, and not less."""
    total = 0
    for name, value in metadata.items():
        texts = (
            value if isinstance(value, list) else [value if isinstance(value, str) else "0" * 24]
        )
        total += len(name) + 6
        for text in texts:
            if not isinstance(text, str):
                total += _NUMBER_BYTES
                continue
            quoted = text.count('"') + text.count("\\")
            total += quoted + 3 + (len(text) if text.isascii() else len(text.encode()))
            if not text.isprintable():
                total += 5 * sum(character < " " for character in text)
    return total


def _refuses_filters(error: BackendError) -> bool:
    """Whether an index does not delete by metadata, as serverless ones did not until 2025."""
    status = getattr(error.__cause__, "status_code", None)
    return status in (400, 403, 405, 501) and "filter" in str(error).lower()
