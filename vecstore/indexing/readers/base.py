"""What all readers share: decoding, and the documents they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from vecstore.document import Document
from vecstore.errors import DocumentError, SourceError
from vecstore.indexing.sources import Source

Reader = Callable[[Source], Iterable[Document]]
"""Gives the documents of a source: one for each section, page or record, in order."""

OWN_KEYS: Final = frozenset({"source", "title", "headings", "page", "lang", "span", "chunk"})
"""The keys of metadata that readers and splitters write themselves."""

_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def decoded(source: Source, encoding: str = "utf-8") -> str:
    """The text of a source.

    A byte order mark says the encoding itself, whatever was asked for, and is no part of the text.

    Args:
        source: Where the bytes come from.
        encoding: A name that Python knows, or ``"detect"``, which guesses.

    Raises:
        SourceError: Naming the first byte that cannot be read, or the line that holds NUL.
    """
    data = source.read_bytes()
    for mark, marked in _BOMS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    if encoding == "detect":
        encoding = _guessed(data, source)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{source.id} is not {_shown(encoding)} at byte {error.start:,}; pass "
            "encoding='detect' or its name",
            source=source.id,
            place=f"byte {error.start:,}",
        ) from None
    except LookupError:
        raise SourceError(
            f"{source.id} cannot be read: no encoding is called {encoding!r}", source=source.id
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise SourceError(
            f"{source.id} holds NUL in line {line:,}, which no store keeps: is it a text at all?",
            source=source.id,
            place=f"line {line:,}",
        )
    return text


def document(
    source: Source,
    part: int,
    text: str,
    *,
    own: Mapping[str, Any],
    said: Mapping[str, Any] | None = None,
    place: str = "",
    remedy: str = "",
    id: str | None = None,
) -> Document:
    """A document of a source.

    Args:
        source: Which one.
        part: Which of its documents, from 0.
        text: The text.
        own: What the reader knows, such as ``title``; absent where the value is None or empty.
        said: What the bytes say of themselves, under keys of their own.
        place: Where in the source, for errors.
        remedy: What to do where they say a key that is taken.
        id: By default the source's, and the part.

    Raises:
        SourceError: If the bytes say a key that is the reader's, or the source's, or that no
            store could keep.
    """
    where = f"{source.id}, {place}" if place else source.id
    metadata: dict[str, Any] = {"source": source.id}
    metadata.update({key: value for key, value in own.items() if value not in (None, "", [])})
    for key, value in (said or {}).items():
        if key in OWN_KEYS or key in source.metadata:
            owner = "readers write" if key in OWN_KEYS else "the source carries already"
            raise SourceError(
                f"{where}: it has the key {key!r}, which {owner}"
                + (f"; {remedy}" if remedy else ""),
                source=source.id,
                place=place or None,
            )
        metadata[key] = value
    metadata.update(source.metadata)
    try:
        return Document(text, metadata, f"{source.id}#{part}" if id is None else id)
    except DocumentError as error:
        raise SourceError(f"{where}: {error}", source=source.id, place=place or None) from error


def _guessed(data: bytes, source: Source) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        from vecstore.errors import BackendNotInstalledError
        from vecstore.installing import install_line

        raise BackendNotInstalledError(
            f"guessing encodings needs charset-normalizer: {install_line('detect')}"
        ) from None
    try:
        data.decode()
    except UnicodeDecodeError:
        best = from_bytes(data).best()
        if best is None:
            raise SourceError(
                f"{source.id} is no text in any encoding that could be guessed; pass its name as "
                "encoding=, or leave it out",
                source=source.id,
            ) from None
        return best.encoding
    return "utf-8"


def _shown(encoding: str) -> str:
    return encoding.upper() if encoding.lower().startswith("utf") else encoding
