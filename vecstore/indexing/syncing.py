"""Keeping a store in step with sources, where the store itself is the record of what is in it.

Every chunk says, under the key ``chunk``, which version of its source it is of, and how many
chunks that has. What is whole is neither parsed nor embedded; what is not, after a change or a
crash, is put right. There is no second database that could know something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from vecstore.document import Document, stored_extra, with_stored_extra
from vecstore.errors import (
    BackendNotInstalledError,
    ConfigurationError,
    SourceError,
    VecstoreError,
)
from vecstore.filter.builder import F
from vecstore.filter.tree import Expression
from vecstore.indexing.chunks import Cutting, Looked, Parsed, place_of
from vecstore.indexing.enriching import CHUNK, Enricher, enriched
from vecstore.indexing.pipeline import Transform
from vecstore.indexing.readers.base import Reader
from vecstore.indexing.reading import read as read_any
from vecstore.indexing.report import Failure, SyncReport
from vecstore.indexing.sources import Source
from vecstore.indexing.splitting import Splitter, TokenSplitter
from vecstore.store.base import VectorStore
from vecstore.store.embedded import text_to_embed

Remove = Literal["missing", "never"]
OnError = Literal["raise", "skip"]
Progress = Callable[[int, int | None], object]
"""Called with the sources done and their number, if known."""

_KEPT_BYTES: Final = 32_000_000
"""So much of the sources of a group is kept from looking at them to reading them."""

_WRITTEN_CHUNKS: Final = 500
"""Chunks that are collected before they are written, if no single source has more."""

_LISTED: Final = 100
"""Sources that one filter names, where there may be any number."""

_GROUP: Final = 1_000
"""Sources that are compared at a time at most: they are named in one filter. An engine without an
index on the keys of chunks goes through all of them once for each group."""

_OF_ALL: Final = (ConfigurationError, BackendNotInstalledError)
"""Errors that are no fault of one source, and are raised whatever is to become of those."""

_SPLIT: Final = TokenSplitter()


def sync(
    store: VectorStore,
    sources: Iterable[Source],
    *,
    corpus: str,
    read: Reader = read_any,
    split: Splitter | None = _SPLIT,
    enrich: Transform | Sequence[Transform] = (),
    remove: Remove = "never",
    group: int = _GROUP,
    on_error: OnError = "raise",
    progress: Progress | None = None,
    dry_run: bool = False,
) -> SyncReport:
    """Bring what a store holds of a corpus into step with its sources.

    Sources that have not changed are loaded to be compared, and neither parsed nor embedded. Of
    those that have, only chunks with a new text are embedded: a paragraph that moves within its
    source keeps its vector. All chunks of a source are written before its old ones are deleted, so
    that a search in between sees both. Wherever a run is interrupted, the next one puts things
    right.

    Args:
        store: Any store, or a scope of one. Two runs on one corpus should not overlap; what they
            leave behind, a run after them puts right.
        sources: What there is now, such as ``folder("docs")``.
        corpus: What the sources are called together. Several can share a store, and a source may
            be in several. For scopes, use one each: chunks have ids by corpus and source.
        read: Gives the documents of a source, the same ones for the same bytes.
        split: Cuts their texts; None takes each whole.
        enrich: Steps that add metadata to new chunks, such as :func:`keywords`. Each names the
            keys that it writes in an attribute ``keys``.
        remove: ``"missing"`` deletes what is stored of sources that did not come, once all
            others are written and if listing them ended without an error. By default nothing is.
        group: How many sources are compared at a time, at most 1,000. With fewer, less is held in
            memory, and the store is asked more often.
        on_error: What to do about a source that cannot be loaded, read or cut: ``"raise"``, or
            ``"skip"`` it and tell it in the report. A missing package, and whatever the store or
            the embedder raises, ends the run.
        progress: Called with the sources done and their number (None for an iterator), each time
            that some are compared or written.
        dry_run: Whether to tell only what would be done; enrichers and the embedder are not asked.

    Returns:
        What was done.

    Raises:
        SourceError: If a source cannot be loaded or read, two have one id, or ``remove="missing"``
            was given no source at all.
        DocumentError: If a document cannot be cut.
        BackendNotInstalledError: If the package that a reader needs is missing.
        ConfigurationError: If a step does not say what tells it from another, or does what it may
            not.

    Example:
        >>> from vecstore import SimpleVectorStore
        >>> from vecstore.indexing import text_source
        >>> store = SimpleVectorStore(lambda texts: [[len(text), 1.0] for text in texts])
        >>> notes = [text_source("a", "Rye is sour."), text_source("b", "Oats are not.")]
        >>> print(sync(store, notes, corpus="notes"))
        sources: 0 unchanged, 2 added, 0 changed, 0 removed; chunks: embedded 2, reused 0, deleted 0
        >>> print(sync(store, notes, corpus="notes"))
        sources: 2 unchanged, 0 added, 0 changed, 0 removed; chunks: embedded 0, reused 0, deleted 0
    """
    if not isinstance(store, VectorStore):
        raise TypeError(f"sync takes a store, not a {type(store).__name__}; see open_store()")
    if isinstance(sources, str | bytes | Source) or not isinstance(sources, Iterable):
        raise TypeError(
            "sync takes sources: write folder('docs'), or a list of Source objects, not "
            f"{type(sources).__name__}"
        )
    if not isinstance(corpus, str) or not corpus:
        raise ConfigurationError(f"corpus names the sources together: a text, not {corpus!r}")
    if remove not in ("missing", "never"):
        raise ValueError(f'remove is "missing" or "never", not {remove!r}')
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error is "raise" or "skip", not {on_error!r}')
    if isinstance(group, bool) or not isinstance(group, int) or not 1 <= group <= _GROUP:
        raise ValueError(f"group is a whole number from 1 to {_GROUP:,}, not {group!r}")
    steps = (enrich,) if callable(enrich) else tuple(enrich)
    enrichers = tuple([Enricher.of(step) for step in steps])
    run = _Run(
        store=store,
        cutting=Cutting(corpus, read, split, enrichers, store.embed_as, store.embedder),
        enrichers=enrichers,
        skipping=on_error == "skip",
        dry_run=bool(dry_run),
        total=len(sources) if isinstance(sources, Sized) else None,
        progress=progress,
    )
    listed = iter(sources)
    while some := list(islice(listed, group)):
        run.bring(some)
    if remove == "missing":
        run.remove_missing()
    return run.report()


Heads = Mapping[str, Sequence[tuple[str, int]]]
"""By source, of each first chunk that is stored of it: its version, and the chunks of that."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """One call of :func:`sync`."""

    store: VectorStore
    cutting: Cutting
    enrichers: tuple[Enricher, ...]
    skipping: bool
    dry_run: bool
    total: int | None
    progress: Progress | None

    seen: dict[str, None] = field(default_factory=dict)
    done: int = 0
    standing: dict[str, int] = field(default_factory=dict)
    """By source, how many chunks of it are stored now; those that failed are left out."""

    unchanged: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    embedded: int = 0
    reused: int = 0
    deleted: int = 0

    def report(self) -> SyncReport:
        """What was done so far, in the order of the listing."""
        return SyncReport(
            unchanged=tuple(self.unchanged),
            added=tuple(self.added),
            changed=tuple(self.changed),
            empty=tuple(self.empty),
            removed=tuple(self.removed),
            embedded=self.embedded,
            reused=self.reused,
            deleted=self.deleted,
            failures=tuple(self.failures),
            warnings=tuple(self.warnings),
            dry_run=self.dry_run,
        )

    def _advance(self, count: int) -> None:
        self.done += count
        if count and self.progress is not None:
            self.progress(self.done, self.total)

    def _fail(self, id: str, error: VecstoreError) -> None:
        if not self.skipping:
            raise error
        error.__traceback__ = None  # or whatever the reader held stays with the report
        self.failures.append(Failure(id, error))

    # --- comparing ----------------------------------------------------------------------------

    def bring(self, sources: Sequence[Source]) -> None:
        """Compare a group of sources with what is stored of them, and write what differs."""
        looked = self._looked(sources)
        heads = self._heads(looked)
        whole = self._whole(
            looked,
            {
                id: found[0][1]
                for id, found in heads.items()
                if id in looked and len(found) == 1 and found[0][0] == looked[id].version
            },
        )
        self.standing.update(whole)
        self.unchanged += [id for id in looked if id in whole]
        self._advance(len(sources) - len(looked) + len(whole))
        waiting: list[Parsed] = []
        for id, one in looked.items():
            if id in whole:
                continue
            try:
                parsed = self.cutting.parsed(one)
            except _OF_ALL:
                raise
            except VecstoreError as error:
                self._fail(id, error)
                self._advance(1)
                continue
            self.warnings += parsed.remarks
            waiting.append(parsed)
            if sum(len(other.chunks) for other in waiting) >= _WRITTEN_CHUNKS:
                self._write(waiting, heads)
                waiting = []
        if waiting:
            self._write(waiting, heads)

    def _looked(self, sources: Sequence[Source]) -> dict[str, Looked]:
        looked: dict[str, Looked] = {}
        room = _KEPT_BYTES
        for source in sources:
            if not isinstance(source, Source):
                raise TypeError(f"sync takes sources, not {type(source).__name__}")
            if source.id in self.seen:
                twice = SourceError(
                    f"two sources of the corpus {self.cutting.corpus!r} are called "
                    f"{source.id!r}: the id of a source names it for good, and alone",
                    source=source.id,
                )
                self._fail(source.id, twice)
                continue
            self.seen[source.id] = None
            try:
                data = source.read_bytes()
                version = self.cutting.version(source, data)
            except _OF_ALL:
                raise
            except VecstoreError as error:
                self._fail(source.id, error)
                continue
            kept = data if len(data) <= room else None
            room -= len(kept or b"")
            looked[source.id] = Looked(source, version, kept)
        return looked

    def _heads(self, looked: Mapping[str, Looked]) -> dict[str, list[tuple[str, int]]]:
        heads: dict[str, list[tuple[str, int]]] = {}
        if looked:
            for head in self.store.scan(self._of(looked) & (F.chunk["index"] == 0), text=False):
                place = place_of(head)
                count = place.get("count")
                told = (str(place.get("version")), count if isinstance(count, int) else -1)
                heads.setdefault(str(place.get("source")), []).append(told)
        return heads

    def _whole(self, looked: Mapping[str, Looked], likely: dict[str, int]) -> dict[str, int]:
        """Of which sources exactly what should be stored is: how many chunks of each.

        A version names its source and all that its chunks are made of: no more of them can have it
        than it has. So two numbers prove many sources at once; where they do not, each half is
        looked at.
        """
        if not likely:
            return {}
        total = sum(likely.values())
        versions = [looked[id].version for id in likely]
        current = self._in_corpus() & F.chunk.version.in_(versions)
        if self.store.count(current) == total == self.store.count(self._of(likely)):
            return likely
        if len(likely) == 1:
            return {}
        pairs, half = list(likely.items()), len(likely) // 2
        return {
            **self._whole(looked, dict(pairs[:half])),
            **self._whole(looked, dict(pairs[half:])),
        }

    def _in_corpus(self) -> Expression:
        return F.chunk.corpus == self.cutting.corpus

    def _of(self, ids: Iterable[str]) -> Expression:
        return self._in_corpus() & F.chunk.source.in_(list(ids))

    # --- writing ------------------------------------------------------------------------------

    def _write(self, waiting: Sequence[Parsed], heads: Heads) -> None:
        of_these = self._of(parsed.id for parsed in waiting)
        held = self.store.count(of_these)
        stored: dict[str, Document] = {}
        if held:
            ids = [chunk.id for parsed in waiting for chunk in parsed.chunks]
            stored = {
                one.id: one
                for one in self.store.get(ids, include_embedding=not self.dry_run)
                if place_of(one).get("corpus") == self.cutting.corpus
                and (self.dry_run or one.embedding is not None)
            }
        wanted: list[Document] = []
        for parsed in waiting:
            wanted += self._documents(parsed, stored)
            if parsed.id in heads or any(chunk.id in stored for chunk in parsed.chunks):
                self.changed.append(parsed.id)
            elif parsed.chunks:
                self.added.append(parsed.id)
            else:
                self.empty.append(parsed.id)
        if self.dry_run:
            self.deleted += held - len(stored)
        else:
            if wanted:
                self.store.add(wanted)
            if held:
                current = [parsed.version for parsed in waiting]
                stale = of_these & F.chunk.version.not_in(current)
                self.deleted += self.store.delete(filter=stale)
                self._delete_strays(of_these, waiting)
        self.standing.update({parsed.id: len(parsed.chunks) for parsed in waiting})
        self._advance(len(waiting))

    def _delete_strays(self, of_these: Expression, waiting: Sequence[Parsed]) -> None:
        """Delete what has the right version and should not be there.

        A reader of somebody's may give other documents than before without saying so. What an
        interrupted run has written of these would be taken for a part of the source for good.
        """
        wanted = {chunk.id for parsed in waiting for chunk in parsed.chunks}
        if self.store.count(of_these) == len(wanted):
            return
        found = [one.id for one in self.store.scan(of_these, text=False)]
        strays = [id for id in found if id not in wanted]
        if strays:
            self.deleted += self.store.delete(strays)

    def _documents(self, parsed: Parsed, stored: Mapping[str, Document]) -> list[Document]:
        """What has to be written of a source: what is stored as it should be is left out."""
        documents: list[Document] = []
        for chunk in parsed.chunks:
            metadata = {**chunk.metadata, CHUNK: chunk.place}
            old = stored.get(chunk.id)
            embedding = None
            if old is not None:
                embedding = old.embedding
                for step in self.enrichers:
                    if self.dry_run or not step.whole:
                        metadata = step.taken_over(metadata, old.metadata)
            made = Document(chunk.text, metadata, chunk.id, embedding)
            documents.append(with_stored_extra(made, chunk.extra))
        if not self.dry_run:
            for step in self.enrichers:
                documents = enriched(documents, stored.keys(), step)
        wanted = []
        for document in documents:
            old = stored.get(document.id)
            if old is None or self._is_embedded_otherwise(document, old):
                self.embedded += 1
                wanted.append(document.replace(embedding=None))
                continue
            self.reused += 1
            if (
                old.text != document.text
                or old.metadata != document.metadata
                or stored_extra(old) != stored_extra(document)
            ):
                wanted.append(document)
        return wanted

    def _is_embedded_otherwise(self, document: Document, old: Document) -> bool:
        """Whether a stored vector is no longer that of its document, for what enrichers said."""
        embed_as = self.store.embed_as
        if embed_as is None or not any(step.whole for step in self.enrichers):
            return False
        before = document.metadata
        for step in self.enrichers:
            before = step.taken_over(before, old.metadata)
        now, then = [
            text_to_embed(embed_as, document.id, document.text, metadata)
            for metadata in (document.metadata, before)
        ]
        return now != then

    # --- removing -----------------------------------------------------------------------------

    def remove_missing(self) -> None:
        """Delete what is stored of sources that were not listed."""
        everything = self._in_corpus()
        if not self.seen:
            stored = self.store.count(everything)
            if stored:
                corpus = self.cutting.corpus
                raise SourceError(
                    f"no source came, so that remove='missing' would delete all {stored:,} chunks "
                    f"of the corpus {corpus!r}; if that is meant, write "
                    f"store.delete(filter=F.chunk.corpus == {corpus!r})"
                )
            return
        self._delete_strangers(everything & (F.chunk["index"] == 0))
        # What a crash left may have no head. If the numbers agree, there is nothing of that kind.
        failed = [id for id in self.seen if id not in self.standing]
        expected = sum(self.standing.values())
        for start in range(0, len(failed), _LISTED):
            expected += self.store.count(self._of(failed[start : start + _LISTED]))
        if self.dry_run or self.store.count(everything) != expected:
            self._delete_strangers(everything)

    def _delete_strangers(self, among: Expression) -> None:
        found = dict.fromkeys(
            [
                source
                for one in self.store.scan(among, text=False)
                if isinstance(source := place_of(one).get("source"), str)
                and source not in self.seen
            ]
        )
        strangers = [source for source in found if source not in self.removed]
        for start in range(0, len(strangers), _LISTED):
            some = self._of(strangers[start : start + _LISTED])
            if self.dry_run:
                self.deleted += self.store.count(some)
            else:
                self.deleted += self.store.delete(filter=some)
        self.removed += strangers
