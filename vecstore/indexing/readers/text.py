"""Plain text: one document of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vecstore.document import Document
from vecstore.indexing.pipeline import fingerprint
from vecstore.indexing.readers.base import Reader, decoded, document
from vecstore.indexing.sources import Source


@dataclass(frozen=True, slots=True)
class _TextReader:
    encoding: str

    @property
    def fingerprint(self) -> str:
        return fingerprint("text", encoding=self.encoding)

    def __call__(self, source: Source) -> Iterator[Document]:
        text = decoded(source, self.encoding)
        if text.strip():
            yield document(source, 0, text, own={"span": [0, len(text)]})


def read_text(encoding: str = "utf-8") -> Reader:
    """A reader of plain text: one document, whose text is that of the source, to the character.

    A text of white space alone gives no document.

    Args:
        encoding: Of the bytes, unless they begin with a byte order mark; ``"detect"`` guesses.

    Example:
        >>> from vecstore.indexing import text_source
        >>> [*read_text()(text_source("a.txt", "Hello"))]
        [Document('Hello', {'source': 'a.txt', 'span': [0, 5]}, id='a.txt#0')]
    """
    return _TextReader(encoding)
