"""The step of `vecstore demo` in which files change, and the store follows them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vecstore.cli import corpus
from vecstore.document import Document
from vecstore.embedding import EmbedderInput

if TYPE_CHECKING:
    from vecstore.indexing.report import SyncReport
    from vecstore.indexing.sources import Source
    from vecstore.store.base import VectorStore

PACKAGES: Final = ("asyncio", "email", "json")
"""Whose files are kept in step."""
_EDITED: Final = "asyncio/tasks.py"
_DELETED: Final = "asyncio/queues.py"


@dataclass(frozen=True, slots=True)
class Kept:
    """How the step went.

    Attributes:
        files: How many there were at first.
        runs: What was done to them before each run, and what that told.
        same: Whether the store is what a new one of the same files is, and a last run did nothing.
    """

    files: int
    runs: list[tuple[str, SyncReport]]
    same: bool

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "files": self.files,
            "same": self.same,
            "runs": [
                {
                    "after": what,
                    **{
                        name: len(getattr(report, name))
                        for name in ("unchanged", "added", "changed", "empty", "removed")
                    },
                    "embedded": report.embedded,
                    "reused": report.reused,
                    "deleted": report.deleted,
                }
                for what, report in self.runs
            ],
        }


def keep_in_step(files: list[Path], embedder: EmbedderInput) -> Kept:
    """Copy some packages of the library into a folder, and change files there between runs."""
    from vecstore.indexing.sources import KINDS, folder
    from vecstore.indexing.syncing import sync
    from vecstore.simple.store import SimpleVectorStore

    with tempfile.TemporaryDirectory(prefix="vecstore-demo-") as place:
        root = Path(place)
        names = [_copied(path, root) for path in files if path.parent.name in PACKAGES]

        def bring(store: VectorStore) -> SyncReport:
            found = folder(root, kinds={**KINDS, ".py": "python"})
            return sync(store, found, corpus="library", read=docstrings, remove="missing")

        with SimpleVectorStore(embedder) as store, SimpleVectorStore(embedder) as fresh:
            runs = [("all is new", bring(store)), ("nothing", bring(store))]
            _edit(root / _EDITED, _EDITED)
            runs.append((f"{_EDITED}: one docstring, and a line above all", bring(store)))
            (root / _DELETED).unlink()
            runs.append((f"{_DELETED} deleted", bring(store)))
            bring(fresh)
            last = bring(store)
            same = _content(store) == _content(fresh)
    idle = not (last.added or last.changed or last.removed or last.embedded)
    return Kept(len(names), runs, same and idle)


def docstrings(source: Source) -> Iterator[Document]:
    """A reader of Python: a document for each docstring."""
    return corpus.documents_in(source.read_bytes(), Path(source.id))


def _copied(path: Path, root: Path) -> str:
    name = f"{path.parent.name}/{path.name}"
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_bytes(path.read_bytes())
    return name


def _edit(path: Path, name: str) -> None:
    """Add to the first line of the first long docstring, and a line above everything."""
    data = path.read_bytes()
    for document in corpus.documents_in(data, Path(name)):
        line = document.text.splitlines()[0].encode()
        if len(line) > 30 and data.count(line) == 1:
            data = data.replace(line, line + b" This was edited.")
            break
    path.write_bytes(b"# A line above everything.\n" + data)


def _content(store: VectorStore) -> dict[str, tuple[str, dict[str, Any], bytes]]:
    return {
        one.id: (one.text, one.metadata, b"" if one.embedding is None else one.embedding.tobytes())
        for one in store.scan(include_embedding=True)
    }
