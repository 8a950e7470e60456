"""PDF: a document for each page, or for so many together."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vecstore.document import Document
from vecstore.errors import BackendNotInstalledError, ConfigurationError, SourceError
from vecstore.indexing.pipeline import fingerprint
from vecstore.indexing.readers.base import Reader, document
from vecstore.indexing.sources import Source
from vecstore.installing import install_line


@dataclass(frozen=True, slots=True)
class _PdfReader:
    pages_per_document: int
    ranges: tuple[tuple[int, int], ...] | None

    @property
    def fingerprint(self) -> str:
        return fingerprint("pdf", pages=self.pages_per_document, ranges=self.ranges)

    def __call__(self, source: Source) -> Iterator[Document]:
        try:
            import pypdf
        except ImportError as error:
            raise BackendNotInstalledError(
                f"reading PDF needs the package pypdf\nhint: {install_line('pdf')}"
            ) from error
        # It tells of every oddity of a file in a warning of its own.
        logging.getLogger("pypdf").setLevel(logging.ERROR)
        pages, title = _opened(pypdf, source)
        part = 0
        blank: list[int] = []
        for start, stop in self._groups(len(pages)):
            texts = [_text(pages, number, source) for number in range(start, stop)]
            blank += [start + place + 1 for place, one in enumerate(texts) if not one]
            text = "\n\n".join(one for one in texts if one)
            if text:
                own = {"title": title, "page": start + 1}
                yield document(source, part, text, own=own, place=f"page {start + 1:,}")
                part += 1
        if blank and source.note is not None:
            source.note(_told(blank, len(pages)))

    def _groups(self, count: int) -> Iterator[tuple[int, int]]:
        for first, last in self.ranges or ((1, count),):
            for start in range(first - 1, min(last, count), self.pages_per_document):
                yield start, min(start + self.pages_per_document, last, count)


def read_pdf(
    pages_per_document: int = 1, ranges: Sequence[tuple[int, int]] | None = None
) -> Reader:
    """A reader of PDF: a document for each page that has text, under ``page`` its number from 1.

    A page without a text layer, such as a scan, gives no document: nothing is recognised in
    pictures. Which pages these are goes to ``note`` of the source.

    Args:
        pages_per_document: How many pages make one document; ``page`` is that of the first.
        ranges: Which pages, as pairs of the first and the last; all when left out.

    Raises:
        BackendNotInstalledError: If the package of the extra ``pdf`` is missing.
        ConfigurationError: If the numbers are none of pages.

    Example:
        >>> read_pdf(ranges=[(3, 1)])
        Traceback (most recent call last):
        vecstore.errors.ConfigurationError: (3, 1) is no range of pages; write (first, last), from 1
    """
    if isinstance(pages_per_document, bool) or not isinstance(pages_per_document, int):
        raise ConfigurationError(f"pages_per_document is a number, not {pages_per_document!r}")
    if pages_per_document < 1:
        raise ConfigurationError(f"pages_per_document is 1 or more, not {pages_per_document}")
    for pair in ranges or ():
        if len(pair) != 2 or not 1 <= pair[0] <= pair[1]:
            raise ConfigurationError(f"{pair!r} is no range of pages; write (first, last), from 1")
    given = None if ranges is None else tuple((first, last) for first, last in ranges)
    return _PdfReader(pages_per_document, given)


def _opened(pypdf: Any, source: Source) -> tuple[Any, str | None]:
    data = source.read_bytes()
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(
                f"{source.id} is encrypted; save it without a password", source=source.id
            )
        len(reader.pages)
    except SourceError:
        raise
    except pypdf.errors.DependencyError as error:
        raise SourceError(
            f"{source.id} is encrypted in a way that pypdf reads with the package cryptography: "
            "pip install 'pypdf[crypto]', or save it without a password",
            source=source.id,
        ) from error
    except Exception as error:  # a damaged file may fail anywhere in its reader
        raise SourceError(
            f"{source.id} cannot be read as PDF ({type(error).__name__}): it is damaged, or no PDF",
            source=source.id,
        ) from error
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # what it says of itself is no reason to go without its text
        title = None
    return reader.pages, title if isinstance(title, str) and title.strip() else None


def _told(blank: Sequence[int], count: int) -> str:
    """Which pages have no text: numbers that follow each other as one range."""
    if len(blank) == count:
        return "no page has a text layer, as in a scan"
    runs: list[list[int]] = []
    for number in blank:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in runs]
    pages = shown[:20] + [f"{len(shown) - 20:,} more ranges"] * (len(shown) > 20)
    return f"no text layer on page{'s' * (len(blank) > 1)} {', '.join(pages)}"


def _text(pages: Any, number: int, source: Source) -> str:
    try:
        found: str = pages[number].extract_text()
    except Exception as error:
        place = f"page {number + 1:,}"
        raise SourceError(
            f"{source.id}, {place}: its text cannot be read ({type(error).__name__})",
            source=source.id,
            place=place,
        ) from error
    # Fonts without a table of characters give what no text holds.
    clean = found.replace("\0", "").encode("utf-8", "replace").decode()
    return clean.strip()
