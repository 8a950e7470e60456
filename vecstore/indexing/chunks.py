"""A source as the chunks that will be stored of it: their version, their ids, and their places.

Nothing here asks a store: the same source and settings make the same chunks everywhere.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vecstore.document import Document, checked_metadata, stored_extra
from vecstore.errors import ConfigurationError, DocumentError, SourceError, VecstoreError
from vecstore.indexing.enriching import CHUNK, Enricher
from vecstore.indexing.pipeline import fingerprint_of
from vecstore.indexing.readers.base import Reader
from vecstore.indexing.sources import Source
from vecstore.indexing.splitting import Splitter
from vecstore.store.embedded import EmbedAs, text_to_embed

_REVISION: Final = "1"
"""Part of every version: to be raised when chunks are made otherwise."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A source with the version it is at."""

    source: Source
    version: str
    data: bytes | None
    """Its bytes, unless there were too many to be kept."""


@dataclass(slots=True)
class Chunk:
    """A part of a source, as it will be stored."""

    id: str
    text: str
    metadata: dict[str, Any]
    place: dict[str, Any]
    """What the key ``chunk`` of its metadata will hold."""
    extra: str | None
    """What stands beside the metadata, that of the reader's document, as JSON text."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A source, cut."""

    id: str
    version: str
    chunks: list[Chunk]
    remarks: list[str]


class Cutting:
    """How the sources of a corpus become chunks.

    A version is the same for what would be stored in the same way, and names the source as well:
    whatever has it belongs to one source, in one state, made with one set of settings. The id of a
    chunk follows what is embedded of it, so that what moves within its source keeps its id.

    Args:
        corpus: What the sources are called together.
        read: Gives the documents of a source.
        split: Cuts their texts; None takes each whole.
        enrichers: What adds metadata to new chunks.
        embed_as: That of the store.
        embedder: That of the store; one that has an attribute ``fingerprint`` is told from others.

    Raises:
        ConfigurationError: If a step does not say what tells it from another.
    """

    def __init__(
        self,
        corpus: str,
        read: Reader,
        split: Splitter | None,
        enrichers: Sequence[Enricher],
        embed_as: EmbedAs | None,
        embedder: object,
    ) -> None:
        if split is not None and not callable(getattr(split, "spans", None)):
            raise ConfigurationError(
                "split has a method spans(text) that returns where slices start and end, as "
                f"TokenSplitter has, not a {type(split).__name__}"
            )
        self.corpus = corpus
        self.read = read
        self.split = split
        self.embed_as = embed_as
        model = getattr(embedder, "fingerprint", None)
        making = [model if isinstance(model, str) else ""]
        shown = "" if embed_as is None else fingerprint_of(embed_as)
        if enrichers:
            # Without them, what is embedded is known before, and says by itself if it changed.
            making += [shown, *(step.fingerprint for step in enrichers)]
        self._enriching = bool(enrichers)
        self._making = _digest(*making)
        self._cutting = _digest(
            _REVISION, "" if split is None else fingerprint_of(split), shown, self._making
        )

    def version(self, source: Source, data: bytes) -> str:
        """Which state of a source its bytes are, with all that makes chunks of them.

        Raises:
            SourceError: If no reader reads its kind.
            DocumentError: If its metadata cannot be stored.
        """
        choose = getattr(self.read, "fingerprint_for", None)
        reader = fingerprint_of(self.read) if choose is None else choose(source)
        carried = json.dumps(checked_metadata(source.metadata, source.id), sort_keys=True)
        return _digest(source.id, source.kind, carried, reader, self._cutting, data)

    def parsed(self, looked: Looked) -> Parsed:
        """A source, read and cut.

        Raises:
            SourceError: If it cannot be read.
            DocumentError: If it cannot be cut, or holds what cannot be stored.
        """
        source, version, data = looked.source, looked.version, looked.data
        if data is None:
            # It may have changed since: what is stored is what its version says.
            data = source.read_bytes()
            version = self.version(source, data)
        remarks: list[str] = []

        def note(remark: str) -> None:
            remarks.append(f"{source.id}: {remark}")
            if source.note is not None:
                source.note(remark)

        fixed = replace(source, load=lambda: data, note=note)
        chunks: list[Chunk] = []
        before: Counter[str] = Counter()
        try:
            for part, document in enumerate(self.read(fixed)):
                chunks += self._cut(source, part, document, before)
        except VecstoreError:
            raise
        except Exception as error:
            raise SourceError(
                f"{source.id} cannot be read ({type(error).__name__}); the reader's own error is "
                "the cause of this one",
                source=source.id,
            ) from error
        for index, chunk in enumerate(chunks):
            chunk.place = {
                "corpus": self.corpus,
                "source": source.id,
                "version": version,
                "index": index,
                "count": len(chunks),
                **chunk.place,
            }
        if not chunks and not remarks and data.strip():
            note("no text in it could be indexed")
        return Parsed(source.id, version, chunks, remarks)

    def _cut(
        self, source: Source, part: int, document: Document, before: Counter[str]
    ) -> Iterator[Chunk]:
        metadata = {**document.metadata, **checked_metadata(source.metadata, source.id)}
        if CHUNK in metadata:
            raise SourceError(
                f"{source.id} has the key {CHUNK!r} in its metadata, where sync keeps what it "
                "knows of a chunk; call it otherwise, and leave the cutting to split=",
                source=source.id,
            )
        metadata.setdefault("source", source.id)
        span = metadata.pop("span", None)
        text, extra = document.text, stored_extra(document)
        if self.split is None:
            spans: Sequence[tuple[int, int]] = [(0, len(text))] if text.strip() else []
        else:
            try:
                spans = self.split.spans(text)
            except DocumentError as error:
                raise DocumentError(f"{source.id}, part {part}: {error}") from None
        for start, end in spans:
            piece = text[start:end]
            shown = piece
            if self.embed_as is not None:
                shown = text_to_embed(self.embed_as, f"{source.id}#{part}", piece, metadata)
            # Enrichers see the text itself, whatever is shown to the embedder.
            digest = _digest(shown, piece) if self._enriching else _digest(shown)
            id = _digest(self.corpus, source.id, self._making, digest, str(before[digest]))
            before[digest] += 1
            place: dict[str, Any] = {"part": part, "start": start, "end": end}
            if isinstance(span, list) and len(span) == 2:
                place["span"] = [span[0] + start, span[0] + end]
            if document.id != f"{source.id}#{part}":
                place["id"] = document.id
            yield Chunk(str(uuid.UUID(id, version=5)), piece, metadata, place, extra)


def place_of(document: Document) -> dict[str, Any]:
    """What a chunk says of itself; nothing, where others have written something else there."""
    place = document.metadata.get(CHUNK)
    return place if isinstance(place, dict) else {}


def _digest(*parts: str | bytes) -> str:
    """32 hexadecimal digits; no two lists of parts have the same."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:32]
