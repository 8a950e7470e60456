"""Hashes of an index of Redis: which, what stands in each, and changes that are one step.

Writing goes by scripts, which the server runs whole and alone. What is written because of what was
read says what that was; where it is otherwise by then, the script does nothing, and it is read
again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from vecstore.dialects.redis.client import Calls
from vecstore.dialects.redis.layout import (
    EVERY_DOCUMENT,
    EXTRA,
    METADATA,
    TEXT,
    TOKENS,
    VECTOR,
    Layout,
    number_field,
)
from vecstore.document import Document, stored_document
from vecstore.errors import BackendError, DocumentError
from vecstore.filter.convert import Compiled
from vecstore.store.collection import BATCH
from vecstore.store.foreign import ForeignRecords, fault_of

_KEYS_AT_ONCE: Final = 10_000
MOST_FOUND: Final = 1_000_000
"""What one search may ask for, by the server's own setting."""

_EVERY: Final = f"@{TOKENS}:{{{EVERY_DOCUMENT}}}"
_ANY: Final = b"*"
"""For what a script need not compare; metadata begins with a brace."""

_WRITE: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= 'hash' then return -i end
  local expected = ARGV[i]
  if expected == '' and kind ~= 'none' then return 0 end
  if expected ~= '*' and (redis.call('HGET', KEYS[i], 'metadata') or '') ~= expected then
    return 0
  end
end
local place = #KEYS + 1
for i = 2, #KEYS do
  local size, gone = tonumber(ARGV[place]), tonumber(ARGV[place + 1])
  if ARGV[1] == 'replace' then redis.call('DEL', KEYS[i]) end
  if gone > 0 then
    redis.call('HDEL', KEYS[i], unpack(ARGV, place + 2 + size, place + 1 + size + gone))
  end
  redis.call('HSET', KEYS[i], unpack(ARGV, place + 2, place + 1 + size))
  place = place + 2 + size + gone
end
return 1
"""
_REMOVE: Final = """
local found = {}
for i = 1, #KEYS do
  local held = redis.call('TYPE', KEYS[i]).ok == 'hash' and redis.call('HGET', KEYS[i], 'metadata')
  if not held then
    found[i] = 0
  elseif ARGV[i] == '*' or ARGV[i] == held then
    redis.call('DEL', KEYS[i])
    found[i] = 1
  else
    found[i] = 2
  end
end
return found
"""


@dataclass(frozen=True, slots=True)
class Condition(Compiled):
    """A filter: what the engine is asked, and what decides metadata that was read since."""

    decide: Callable[[Any], bool | None] = lambda metadata: True

    def matches(self, metadata: Any) -> bool:
        """Whether metadata matches; what is no object does not."""
        return isinstance(metadata, dict) and bool(self.decide(metadata))


@dataclass(frozen=True, slots=True)
class Record:
    """A hash as it was read; ``held`` is its metadata as it stands there."""

    id: str
    text: str
    held: bytes
    metadata: Any
    embedding: Any = None
    extra: str | None = None


@dataclass(slots=True, kw_only=True)
class Records:
    """Reading and writing hashes.

    Attributes:
        call: The client.
        index: The name of the index, and of the prefix of its keys.
        layout: How metadata stands in them.
    """

    call: Calls
    index: str
    layout: Layout = field(default_factory=Layout)

    @property
    def prefix(self) -> bytes:
        """What the keys of documents begin with; the rest is the id."""
        return f"vecstore:{self.index}:".encode()

    @property
    def note(self) -> str:
        """The key that says how the index is laid out."""
        return f"vecstore-layout:{self.index}"

    # --- reading -----------------------------------------------------------------------------

    def ids(self, operation: str, filter: Condition | None) -> list[str]:
        """The ids of all that match, as they are found, none twice."""
        query = _EVERY if filter is None or filter.matches_all else filter.query
        ask = ["FT.AGGREGATE", self.index, query, "LOAD", 1, "@__key", "WITHCURSOR"]
        ask += ["COUNT", _KEYS_AT_ONCE, "TIMEOUT", 0, "DIALECT", 2]
        answer, cursor = self.call(operation, *ask)
        found: dict[str, None] = {}
        try:
            while True:
                self._check_whole(operation, answer)
                for one in answer[b"results"]:
                    id = self._id(one[b"extra_attributes"].get(b"__key", b""))
                    if id is not None:
                        found[id] = None
                if not cursor:
                    return list(found)
                answer, cursor = self.call(
                    operation, "FT.CURSOR", "READ", self.index, cursor, "COUNT", _KEYS_AT_ONCE
                )
        except BaseException:
            if cursor:  # which would stay for five minutes
                with suppress(BackendError):
                    self.call(operation, "FT.CURSOR", "DEL", self.index, cursor)
            raise

    def count(self, filter: Condition | None) -> int:
        """How many match."""
        query = _EVERY if filter is None or filter.matches_all else filter.query
        return int(self._search("count", query, ["LIMIT", 0, 0])[b"total_results"])

    def nearest(
        self,
        vector: Any,
        size: int,
        filter: Condition | None,
        ids: Collection[str] | None = None,
    ) -> list[str]:
        """The ids of the nearest that match, of all or of those among some, nearest first."""
        query = "*" if filter is None or filter.matches_all else f"({filter.query})"
        words = ["PARAMS", 4, "size", size, "probe", vector.tobytes(), "SORTBY", "far"]
        if ids is not None:
            words += ["INKEYS", len(ids), *map(self._key, ids)]
        found = self._search(
            "search",
            f"{query}=>[KNN $size @{VECTOR} $probe AS far]",
            ["NOCONTENT", *words, "LIMIT", 0, size],
        )
        return [id for one in found[b"results"] if (id := self._id(one[b"id"])) is not None]

    def selected(
        self, operation: str, ids: Iterable[str], filter: Condition | None, include_embedding: bool
    ) -> list[Record]:
        """Those with one of the ids that match."""
        return self.read(operation, ids, filter, embeddings=include_embedding)

    def pages(
        self,
        operation: str,
        filter: Condition | None,
        include_embedding: bool,
        size: int,
        *,
        texts: bool = True,
    ) -> Iterator[list[Record]]:
        """All that match, by ids that are read before."""
        ids = self.ids(operation, filter)
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            yield self.read(operation, part, filter, texts=texts, embeddings=include_embedding)

    def stored(self, operation: str, ids: Sequence[str], filter: Any = None) -> list[str]:
        """Which of the ids are stored, and match."""
        return [one.id for one in self.read(operation, ids, filter, texts=False)]

    def read(
        self,
        operation: str,
        ids: Iterable[str],
        filter: Condition | None = None,
        *,
        texts: bool = True,
        embeddings: bool = False,
    ) -> list[Record]:
        """The hashes of some ids that hold metadata, and match by it."""
        import numpy as np

        names = [METADATA, *([TEXT, EXTRA] if texts else []), *([VECTOR] if embeddings else [])]
        ids = list(ids)
        found = []
        for start in range(0, len(ids), BATCH):
            part = ids[start : start + BATCH]
            for id, values in zip(part, self._values(operation, part, names), strict=True):
                # Of another type than a hash, or a hash of others: it is no document.
                if isinstance(values, Exception) or values[0] is None:
                    continue
                metadata = _read_json(values[0])
                if isinstance(metadata, dict) and filter and not filter.matches(metadata):
                    continue
                text = (values[1] or b"").decode("utf-8", "replace") if texts else ""
                extra, vector = None, None
                if texts and values[2] is not None:
                    extra = values[2].decode("utf-8", "replace")
                if embeddings and values[-1] is not None and len(values[-1]) % 4 == 0:
                    vector = np.frombuffer(values[-1], dtype="<f4")
                found.append(Record(id, text, values[0], metadata, vector, extra))
        return found

    def documents(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Document]:
        """The documents that records hold; ``foreign`` takes note of those that hold none."""
        for one in self.holding(records, foreign):
            yield stored_document(one.id, one.text, one.metadata, one.embedding, extra=one.extra)

    def holding(self, records: Iterable[Record], foreign: ForeignRecords) -> Iterator[Record]:
        """Those of the records that hold a document."""
        for one in records:
            fault = fault_of(one.id, one.metadata)
            if fault is None and one.metadata is not None:
                yield one
            else:
                foreign.leave_out(one.id, fault or "its metadata is null")

    def taken(self, operation: str, ids: Sequence[str]) -> set[str]:
        """Those of the ids whose keys hold a hash, be it a document or something of others."""

        def ask(client: Any) -> list[Any]:
            with client.pipeline(transaction=False) as pipeline:
                for id in ids:
                    pipeline.hlen(self._key(id))
                return _answers(pipeline)

        found = self.call.run(operation, ask) if ids else []
        return {id for id, size in zip(ids, found, strict=True) if type(size) is int and size}

    # --- writing -----------------------------------------------------------------------------

    def write(
        self,
        operation: str,
        ids: Sequence[str],
        fields: Sequence[Mapping[str, Any]],
        expected: Sequence[bytes] | None = None,
        *,
        replace: bool,
    ) -> bool:
        """Write hashes in one step, or none where one holds other metadata than is expected.

        Args:
            operation: What the caller of the store asked for.
            ids: Of each.
            fields: What it is to hold.
            expected: The metadata that each holds, empty where there is no key; None for any.
            replace: Whether the whole hash is replaced, or its metadata alone.

        Returns:
            Whether they were written.
        """
        sent: list[Any] = ["replace" if replace else "change", *(expected or [_ANY] * len(ids))]
        numbers = [] if replace else list(map(number_field, self.layout.numbers))
        for one in fields:
            gone = [name for name in numbers if name not in one]
            pairs = [word for pair in one.items() for word in pair]
            sent += [len(pairs), len(gone), *pairs, *gone]
        keys = [self.note, *map(self._key, ids)]
        answer = self.call.run(
            operation, lambda client: client.register_script(_WRITE)(keys=keys, args=sent)
        )
        if answer == -1:
            raise BackendError(
                f"the index {self.index!r} is gone from Redis, and nothing was written; open the "
                "store anew, which makes it",
                operation=operation,
            )
        if answer < 0:
            raise DocumentError(
                f"the key {keys[-answer - 1].decode()!r} holds something that is no hash, and that "
                f"somebody else wrote; rename one of the two, nothing of this batch was written"
            )
        return bool(answer)

    def remove(
        self, operation: str, ids: Iterable[str], decide: Callable[[Any], bool | None] | None = None
    ) -> int:
        """Delete documents, those alone that ``decide`` says yes of at that moment."""
        count, pending = 0, list(ids)
        while pending:
            part, pending = pending[:BATCH], pending[BATCH:]
            expected = [_ANY] * len(part)
            if decide is not None:
                held = [
                    one
                    for one in self.read(operation, part, texts=False)
                    if isinstance(one.metadata, dict) and decide(one.metadata)
                ]
                part, expected = [one.id for one in held], [one.held for one in held]
            if not part:
                continue
            keys, sent = list(map(self._key, part)), expected
            answers = self._script(operation, _REMOVE, keys, sent)
            count += answers.count(1)
            # What was changed since it was read is read again.
            pending += [id for id, answer in zip(part, answers, strict=True) if answer == 2]
        return count

    def _script(self, operation: str, script: str, keys: list[bytes], sent: list[bytes]) -> Any:
        return self.call.run(
            operation, lambda client: client.register_script(script)(keys=keys, args=sent)
        )

    # --- keys --------------------------------------------------------------------------------

    def _key(self, id: str) -> bytes:
        return self.prefix + id.encode()

    def _id(self, key: bytes) -> str | None:
        try:
            return key.removeprefix(self.prefix).decode() or None
        except UnicodeDecodeError:
            return None  # which no document's is

    def _values(self, operation: str, ids: Sequence[str], names: list[str]) -> list[Any]:
        def read(client: Any) -> list[Any]:
            with client.pipeline(transaction=False) as pipeline:
                for id in ids:
                    pipeline.hmget(self._key(id), names)
                return _answers(pipeline)

        return self.call.run(operation, read)

    def _search(self, operation: str, query: str, words: list[Any]) -> Any:
        ask = ["FT.SEARCH", self.index, query, *words, "TIMEOUT", 0, "DIALECT", 2]
        answer = self.call(operation, *ask)
        self._check_whole(operation, answer)
        return answer

    def _check_whole(self, operation: str, answer: Mapping[bytes, Any]) -> None:
        warnings = answer.get(b"warning")
        if warnings:
            told = b"; ".join(warnings).decode("utf-8", "replace")
            raise BackendError(
                f"Redis gave a part of the answer to {operation} alone: {told}",
                operation=operation,
                retryable=True,
            )


def _answers(pipeline: Any) -> list[Any]:
    """What a pipeline answers; an error for each key that holds no hash."""
    found: list[Any] = pipeline.execute(raise_on_error=False)
    for one in found:
        if isinstance(one, Exception) and "WRONGTYPE" not in str(one):
            raise one
    return found


def _read_json(held: bytes) -> Any:
    try:
        return json.loads(held)
    except (ValueError, RecursionError):
        return []  # which is no object: it holds no document
