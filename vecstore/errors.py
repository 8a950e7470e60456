"""Every error that vecstore raises on purpose, in one tree.

.. code-block:: text

    VecstoreError
    ├─ FilterError(ValueError)
    │  ├─ FilterSyntaxError
    │  ├─ FilterTypeError
    │  ├─ FilterLimitError
    │  └─ UnsupportedFilterError
    ├─ DialectNotFoundError(LookupError)
    ├─ BackendNotInstalledError(ImportError)
    ├─ ConfigurationError
    ├─ DimensionMismatchError
    ├─ DocumentError(ValueError)
    ├─ DuplicateDocumentError
    ├─ EmbeddingError
    ├─ ScopeError
    ├─ StoreClosedError
    ├─ SchemaMismatchError
    ├─ StoreFileError
    ├─ SourceError(ValueError)
    └─ BackendError

Misuse of the Python API itself (an unknown keyword, a bool where a filter belongs) is a plain
``TypeError``, as it is for any function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vecstore.filter.tree import Op, Span

EXCERPT_WIDTH = 72
_MARKS = {"Mn", "Me", "Cf"}


class VecstoreError(Exception):
    """Base class of all errors of this library.

    Attributes:
        stored_ids: Where ``add`` was stopped: ids that it had stored, or skipped as stored already.
        failed_ids: Where ``add`` was stopped: ids that it had not.
        faulty_ids: Where ``add`` was given documents that cannot be stored: the ids of all of them.
    """

    stored_ids: Sequence[str] = ()
    failed_ids: Sequence[str] = ()
    faulty_ids: Sequence[str] = ()


class FilterError(VecstoreError, ValueError):
    """A filter that cannot be read, built or compiled.

    Attributes:
        message: What is wrong, in one sentence.
        span: The offending range of the filter text, or None when there is no text.
        hint: How to put it right, or None.

    Example:
        >>> from vecstore import parse
        >>> try:
        ...     parse("year >> 2020")
        ... except FilterError as error:
        ...     error.line, error.column
        (1, 7)
    """

    def __init__(self, message: str, *, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint

    @property
    def text(self) -> str | None:
        """The filter text, when there is one."""
        return self.span.source if self.span is not None else None

    @property
    def line(self) -> int | None:
        """Line of the fault, counted from 1."""
        return self.span.line if self.span is not None else None

    @property
    def column(self) -> int | None:
        """Column of the fault, counted from 1."""
        return self.span.column if self.span is not None else None

    def __str__(self) -> str:
        parts = [self.message]
        if self.span is not None:
            parts.append(caret_excerpt(self.span))
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class FilterSyntaxError(FilterError):
    """A filter text that cannot be read; always carries a span."""


class FilterTypeError(FilterError):
    """A filter built in Python, or read from a dict, whose parts do not fit together."""


class FilterLimitError(FilterError):
    """A filter larger than one of its limits.

    Attributes:
        limit: Name of the limit, as in :class:`vecstore.Limits`.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, span=span, hint=hint)
        self.limit = limit


class UnsupportedFilterError(FilterError):
    """A filter that a backend cannot answer exactly, refused before any call to it.

    Attributes:
        dialect: Name of the dialect that refused.
        op: The operator as it was written, or None when the whole filter is refused.
        key: Text form of the key concerned, or None.
        reason: Why the backend cannot answer it exactly.
        remedy: What to do instead.
        evaluable: Whether it could be evaluated on documents instead. A store says False of a
            filter that is a mistake, such as one on a key that no metadata can have there.
    """

    evaluable: bool = True

    def __init__(
        self,
        message: str | None = None,
        *,
        dialect: str = "",
        op: Op | None = None,
        key: str | None = None,
        reason: str = "",
        remedy: str | None = None,
        span: Span | None = None,
    ) -> None:
        if message is None:
            subject = f" {op.symbol}" if op is not None else " this filter"
            on_key = f" on key {key}" if key is not None else ""
            message = f"{dialect} cannot answer{subject}{on_key}: {reason}"
        super().__init__(message, span=span, hint=remedy)
        self.dialect = dialect
        self.op = op
        self.key = key
        self.reason = reason
        self.remedy = remedy


class DialectNotFoundError(VecstoreError, LookupError):
    """No dialect has that name; the text suggests the closest one and lists the known."""


class BackendNotInstalledError(VecstoreError, ImportError):
    """The client package of a backend is missing; the text gives the pip line."""


class ConfigurationError(VecstoreError):
    """A store set up in a way that cannot work: embedder, URL or options."""


class DimensionMismatchError(VecstoreError):
    """A vector whose number of dimensions is not the store's.

    Attributes:
        expected: Dimensions of the store.
        actual: Dimensions of the vector.
    """

    def __init__(
        self, message: str, *, expected: int | None = None, actual: int | None = None
    ) -> None:
        super().__init__(message)
        self.expected = expected
        self.actual = actual


class DocumentError(VecstoreError, ValueError):
    """A document that cannot be stored as it is.

    Attributes:
        document_id: Id of the document, or None when it is not known yet.
        key: The metadata key concerned, or None.
    """

    def __init__(
        self, message: str, *, document_id: str | None = None, key: str | None = None
    ) -> None:
        super().__init__(message)
        self.document_id = document_id
        self.key = key


class DuplicateDocumentError(VecstoreError):
    """``add(..., on_conflict="error")`` met ids that are stored already, or was given them twice.

    Attributes:
        ids: These ids.
    """

    def __init__(self, message: str, *, ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.ids = list(ids)


class EmbeddingError(VecstoreError):
    """The embedder failed, or returned something that is not one vector for each text.

    Attributes:
        stored_ids: Ids written before the failure.
        failed_ids: Ids not written.
    """

    def __init__(
        self, message: str, *, stored_ids: Iterable[str] = (), failed_ids: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.stored_ids = list(stored_ids)
        self.failed_ids = list(failed_ids)


class ScopeError(VecstoreError):
    """A call that would reach outside the scope of a scoped store."""


class StoreClosedError(VecstoreError):
    """A call on a store after ``close()``."""


class SchemaMismatchError(VecstoreError):
    """An existing table or collection with another dimension, metric or layout."""


class StoreFileError(VecstoreError):
    """A store file that cannot be read or written; the store in memory is unchanged."""


class SourceError(VecstoreError, ValueError):
    """A source of documents that cannot be listed, loaded or read.

    Attributes:
        source: Id of the source, or the path of the folder that cannot be listed.
        place: Where in the source the fault lies, such as ``"line 12"``, or None.
    """

    def __init__(
        self, message: str, *, source: str | None = None, place: str | None = None
    ) -> None:
        super().__init__(message)
        self.source = source
        self.place = place


class BackendError(VecstoreError):
    """A backend call failed; the driver's own error is the ``__cause__``.

    Attributes:
        operation: The store method that failed, such as ``"search"``.
        retryable: True when trying again may help.
        stored_ids: Ids written before the failure.
        failed_ids: Ids not written.
    """

    def __init__(
        self,
        message: str,
        *,
        operation: str = "",
        retryable: bool = False,
        stored_ids: Iterable[str] = (),
        failed_ids: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.retryable = retryable
        self.stored_ids = list(stored_ids)
        self.failed_ids = list(failed_ids)


def caret_excerpt(span: Span, width: int = EXCERPT_WIDTH) -> str:
    """The line that holds ``span.start``, numbered, with carets under the span.

    Long lines are cut to a window around the fault, between words where there are any, so that the
    excerpt of a 64 KiB filter still fits a terminal.

    Args:
        span: What the carets are to stand under.
        width: How many columns of the line are shown, at most, besides ``…`` where it is cut.

    Example:
        >>> from vecstore import Span
        >>> print(caret_excerpt(Span("a == b", 5, 6)))
          line 1, column 6
            a == b
                 ^
        >>> print(caret_excerpt(Span("lang == 'en' AND year => 2020 OR a == 1", 17, 24), 20))
          line 1, column 18
            … 'en' AND year => …
                       ^^^^^^^
    """
    source, start = span.source, min(span.start, len(span.source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    line_end = len(source) if line_end < 0 else line_end
    window_start = start
    while window_start > line_start and _shown(source[window_start - 1 : start]) <= width // 2:
        window_start -= 1
    if window_start > line_start:
        window_start = _next_word(source, window_start, start)
    window_end = start
    while window_end < line_end and _shown(source[window_start : window_end + 1]) <= width:
        window_end += 1
    if window_end < min(span.end, line_end):
        window_end = _last_word(source, start + 1, window_end)
    shown_end = max(start + 1, min(span.end, window_end))
    marked = source[start:shown_end].split("\n", 1)[0]
    marked_end = start + len(marked)
    if window_end < line_end:
        window_end = max(marked_end, _last_word(source, marked_end, window_end))
    before = ("…" if window_start > line_start else "") + source[window_start:start]
    after = source[marked_end:window_end] + ("…" if window_end < line_end else "")
    carets = "^" * max(1, _shown(marked))
    return (
        f"  line {span.line}, column {span.column}\n"
        f"    {_printable(before)}{_printable(marked)}{_printable(after)}\n"
        f"    {' ' * _shown(before)}{carets}"
    )


def _next_word(source: str, first: int, last: int) -> int:
    """The first blank in a range, or where it begins."""
    return next((at for at in range(first, last) if source[at].isspace()), first)


def _last_word(source: str, first: int, last: int) -> int:
    """Behind the last blank in a range, or where it ends."""
    return next((at + 1 for at in range(last - 1, first - 1, -1) if source[at].isspace()), last)


def _printable(text: str) -> str:
    """Replace what would move the caret or act on a terminal by one visible character each."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\t\r\n" else "�" for c in text)


def _shown(text: str) -> int:
    """How many cells of a terminal the text takes as it is printed."""
    return _columns(_printable(text))


def _columns(text: str) -> int:
    """Width of printable ``text`` in terminal cells."""
    if text.isascii():
        return len(text)
    import unicodedata

    width = 0
    for character in text:
        if unicodedata.category(character) in _MARKS:
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width
