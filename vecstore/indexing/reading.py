"""The reader for each kind of source, and the one that picks among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from vecstore.document import Document
from vecstore.errors import SourceError
from vecstore.indexing.pipeline import fingerprint, fingerprint_of
from vecstore.indexing.readers.base import Reader
from vecstore.indexing.readers.html import read_html
from vecstore.indexing.readers.markdown import read_markdown
from vecstore.indexing.readers.pdf import read_pdf
from vecstore.indexing.readers.records import read_csv, read_json, read_jsonl
from vecstore.indexing.readers.text import read_text
from vecstore.indexing.sources import Source


@dataclass(frozen=True, slots=True)
class Readers:
    r"""A reader that picks, by its kind, the reader of each source.

    Args:
        readers: By kind.

    Example:
        >>> from vecstore.indexing import READERS, Readers, text_source
        >>> def lines(source):
        ...     for number, line in enumerate(source.read_bytes().decode().splitlines()):
        ...         yield Document(line, id=f"{source.id}#{number}")
        >>> mine = Readers({**READERS, "lines": lines})
        >>> [document.text for document in mine(text_source("a", "one\ntwo", "lines"))]
        ['one', 'two']
    """

    readers: Mapping[str, Reader]

    @property
    def fingerprint(self) -> str:
        """Changes with the readers and their settings."""
        known = {kind: fingerprint_of(reader) for kind, reader in self.readers.items()}
        return fingerprint("readers", readers=known)

    def fingerprint_for(self, source: Source) -> str:
        """The fingerprint of the reader of one source: another kind's does not change it.

        Raises:
            SourceError: If none reads its kind.
        """
        return fingerprint_of(self._reader(source))

    def __call__(self, source: Source) -> Iterator[Document]:
        """The documents of a source, in order, read as they are asked for.

        Raises:
            SourceError: If none reads its kind, or the reader cannot.
        """
        yield from self._reader(source)(source)

    def _reader(self, source: Source) -> Reader:
        reader = self.readers.get(source.kind)
        if reader is None:
            known = ", ".join(repr(kind) for kind in sorted(self.readers))
            raise SourceError(
                f"{source.id} is of the kind {source.kind!r}, which no reader reads; there are "
                f"readers of {known}, and READERS[{source.kind!r}] = ... adds another",
                source=source.id,
            )
        return reader


READERS: MutableMapping[str, Reader] = {
    "csv": read_csv(),
    "html": read_html(),
    "json": read_json(),
    "jsonl": read_jsonl(),
    "markdown": read_markdown(),
    "pdf": read_pdf(),
    "text": read_text(),
}
"""The reader of each kind, for :func:`read`; put one of your own into it."""

read = Readers(READERS)
"""Reads a source by the reader of its kind in :data:`READERS`."""
