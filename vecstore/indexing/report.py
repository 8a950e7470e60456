"""What a run of sync did, told."""

from __future__ import annotations

from dataclasses import dataclass

from vecstore.errors import VecstoreError


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that was left out.

    Attributes:
        source: Its id.
        error: Why.
    """

    source: str
    error: VecstoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What :func:`sync` did, or with ``dry_run`` would do.

    Attributes:
        unchanged: Ids of sources that were neither parsed nor embedded.
        added: Ids of sources of which nothing was stored.
        changed: Ids of sources of which something else was stored, or not all.
        empty: Ids of sources in which there is nothing to index. They are read each time, as
            nothing is stored of them.
        removed: Ids of sources that are no longer there, and whose chunks were deleted.
        embedded: Chunks that were embedded.
        reused: Chunks of changed sources that kept their vectors.
        deleted: Chunks that were deleted.
        failures: Sources that were left out; what is stored of them stays.
        warnings: What was left out of sources that were read, such as pages without text.
        dry_run: Whether nothing was written.
    """

    unchanged: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    embedded: int = 0
    reused: int = 0
    deleted: int = 0
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        sources = [
            f"{len(getattr(self, what)):,} {what}"
            for what in ("unchanged", "added", "changed", "removed")
        ]
        sources += [f"{len(self.empty):,} empty"] * bool(self.empty)
        sources += [f"{len(self.failures):,} failed"] * bool(self.failures)
        chunks = f"embedded {self.embedded:,}, reused {self.reused:,}, deleted {self.deleted:,}"
        return f"sources: {', '.join(sources)}; chunks: {chunks}"
