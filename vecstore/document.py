"""A document: what every store takes and gives back."""

from __future__ import annotations

import copy
import math
import uuid
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast

from vecstore.errors import DocumentError
from vecstore.extra import decode_extra, encode_extra
from vecstore.filter.text import key_text
from vecstore.filter.values import UnusableValue, check_segment, check_text, shown, to_metadata
from vecstore.spellings import NoOptions, unknown_keyword

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_put = object.__setattr__
_KEEP: Any = object()

# What is known of a document, as bits. Who may be holding its metadata besides itself:
_OWN = 0  # nobody
_SHARED = 1  # a store, which relies on it never changing
_SHOWN = 2  # a caller, who may have changed it
# And where it came from:
_READ = 4  # a store, where others may have put anything that JSON can hold
# And whether it has anything beside its metadata. Most have not, and then nothing is kept of it:
_EXTRA = 8  # as JSON text
_UNPACKED = 16  # as a caller got it, who may have changed it
_WITH_EXTRA = _EXTRA | _UNPACKED

_REPR_WIDTH = 60


class Document:
    """A text with metadata, an id and, where known, its embedding and its score in a search.

    Metadata is normalised and copied when the document is made, so that what you read is what
    comes back from every store: dates have become text, tuples lists, and a value that no store
    could hold has been refused. Attributes cannot be assigned; :meth:`replace` makes a changed
    copy. The dict under ``metadata`` is this document's own: changing it changes neither the
    mapping it was made from nor any store, and it is checked again when it is added.

    Args:
        text: The text; it may be empty.
        metadata: Bools, numbers, texts, dates, lists of one of these, ``None``, and objects of
            such values.
        id: Any text without NUL and lone surrogates, not empty. A random UUID when left out.
        embedding: The vector, when it is known already; kept as a read-only float32 array.
        score: How well the document answers a search: higher is better.
        extra: Any JSON that is stored and given back beside the metadata, unseen by filters and
            never embedded: lists of objects, nested lists. At most 100 levels and 16 MiB.

    Raises:
        DocumentError: Naming the document, the metadata key and the remedy.

    Example:
        >>> document = Document("Hello", {"tags": ("a", "b")}, id="greeting")
        >>> document.metadata
        {'tags': ['a', 'b']}
        >>> document
        Document('Hello', {'tags': ['a', 'b']}, id='greeting')
        >>> document.replace(text="Good bye").text
        'Good bye'
    """

    __slots__ = ("_extra", "_metadata", "_state", "embedding", "id", "score", "text")

    text: str
    id: str
    embedding: NDArray[Any] | None
    score: float | None
    _extra: Any
    _metadata: dict[str, Any]
    _state: int

    def __init__(
        self,
        text: str = _KEEP,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        embedding: ArrayLike | None = None,
        score: float | None = None,
        extra: Any = None,
        **unknown: Unpack[NoOptions],
    ) -> None:
        if unknown:
            raise unknown_keyword("Document", unknown)
        if text is _KEEP:
            raise TypeError("a document has a text: write Document(text, metadata)")
        document_id = str(uuid.uuid4()) if id is None else checked_id(id)
        _put(self, "id", document_id)
        _put(self, "text", checked_text(text, document_id))
        _put(self, "_metadata", {} if metadata is None else checked_metadata(metadata, document_id))
        _put(self, "_state", _OWN)
        if extra is not None:
            _put(
                self,
                "_extra",
                encode_extra(extra, f"document {shown_id(document_id)}", document_id),
            )
            _put(self, "_state", _EXTRA)
        _put(self, "score", None if score is None else _checked_score(score, document_id))
        if embedding is not None:
            from vecstore.vectors import VectorFault, to_vector

            try:
                embedding = to_vector(embedding)
            except VectorFault as fault:
                raise DocumentError(
                    f"the embedding of document {shown_id(document_id)} {fault}",
                    document_id=document_id,
                ) from None
        _put(self, "embedding", embedding)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, as a dict that belongs to this document."""
        if self._state & _SHARED:
            _put(self, "_metadata", copy_metadata(self._metadata))
        _put(self, "_state", self._state & (_READ | _WITH_EXTRA) | _SHOWN)
        return self._metadata

    @property
    def extra(self) -> Any:
        """What stands beside the metadata; None where nothing does.

        Like the metadata it belongs to this document: changing it changes no store.

        Example:
            >>> Document("a", extra={"lines": [{"price": 3}, {"price": 4}]}).extra["lines"][1]
            {'price': 4}
        """
        if self._state & _EXTRA:
            _put(self, "_extra", decode_extra(self._extra))
            _put(self, "_state", self._state & ~_EXTRA | _UNPACKED)
        return self._extra if self._state & _UNPACKED else None

    def replace(
        self,
        *,
        text: str = _KEEP,
        metadata: Mapping[str, Any] | None = _KEEP,
        id: str | None = _KEEP,
        embedding: ArrayLike | None = _KEEP,
        score: float | None = _KEEP,
        extra: Any = _KEEP,
    ) -> Document:
        """A copy with some parts changed; an ``id`` of None draws a new one.

        Example:
            >>> Document("a", {"n": 1}, id="x").replace(metadata={"n": 2})
            Document('a', {'n': 2}, id='x')
        """
        return Document(
            self.text if text is _KEEP else text,
            self._metadata if metadata is _KEEP else metadata,
            self.id if id is _KEEP else id,
            self.embedding if embedding is _KEEP else embedding,
            self.score if score is _KEEP else score,
            self.extra if extra is _KEEP else extra,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"a document is not changed in place; write document.replace({name}=...)"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a document is not changed in place; see document.replace(...)")

    def __eq__(self, other: object) -> bool:
        if type(other) is not Document:
            return NotImplemented
        return (
            self.id == other.id
            and self.text == other.text
            and self._metadata == other._metadata
            and self.score == other.score
            and self.extra == other.extra
            and _equal_embeddings(self.embedding, other.embedding)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [_shortened(self.text)]
        if self._metadata:
            parts.append(_shortened_metadata(self._metadata))
        parts.append(f"id={_shortened(self.id)}")
        if self.embedding is not None:
            parts.append(f"embedding=<{len(self.embedding)} dimensions>")
        if self.score is not None:
            parts.append(f"score={self.score:.4g}")
        if self._state & _WITH_EXTRA:
            parts.append(f"extra={_shortened(stored_extra(self) or '', quoted=False)}")
        return f"Document({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._state & _READ:
            extra = stored_extra(self)
            return stored_document, (
                self.id,
                self.text,
                self._metadata,
                self.embedding,
                self.score,
                extra,
            )
        text, metadata = self.text, self._metadata
        return Document, (text, metadata, self.id, self.embedding, self.score, self.extra)

    def __copy__(self) -> Document:
        return same_document(self) if self._state & _READ else self.replace()

    def __deepcopy__(self, memo: object) -> Document:
        return self.__copy__()


def stored_document(
    id: str,
    text: str,
    metadata: dict[str, Any],
    embedding: NDArray[Any] | None = None,
    score: float | None = None,
    extra: str | None = None,
    *,
    shared: bool = False,
) -> Document:
    """A document as a store holds it, made without any check.

    For stores. What others wrote there may not be what a store of this library would have taken:
    it is given back as it is, and checked like any other when it is added to a store.

    Args:
        id: As it is stored.
        text: As it is stored.
        metadata: As it is stored: an object as JSON has them.
        embedding: A float32 array that nobody writes to any more.
        score: In a search.
        extra: What stands beside the metadata, as JSON text; None for nothing.
        shared: Whether the store keeps ``metadata`` itself; the document then copies it before
            it shows it to anybody.

    Example:
        >>> stored_document("a", "Hello", {"n": 1}, score=0.5)
        Document('Hello', {'n': 1}, id='a', score=0.5)
    """
    document = Document.__new__(Document)
    _put(document, "id", id)
    _put(document, "text", text)
    _put(document, "_metadata", metadata)
    _put(document, "_state", _READ | _SHARED if shared else _READ)
    _put(document, "embedding", embedding)
    _put(document, "score", score)
    if extra is not None and extra != "null":
        _put(document, "_extra", extra)
        _put(document, "_state", document._state | _EXTRA)
    return document


def stored_extra(document: Document) -> str | None:
    """What a document holds beside its metadata, as the JSON text that stores keep.

    Raises:
        DocumentError: If the caller has put something into it that is no JSON.

    Example:
        >>> stored_extra(Document("a", extra=[{"n": 1}])), stored_extra(Document("a"))
        ('[{"n":1}]', None)
    """
    if document._state & _EXTRA:
        return cast(str, document._extra)
    if document._state & _UNPACKED and document._extra is not None:
        return encode_extra(document._extra, f"document {shown_id(document.id)}", document.id)
    return None


def same_document(document: Document) -> Document:
    """Another document that holds the same, and shares nothing that can be changed."""
    embedding = document.embedding
    return stored_document(
        document.id,
        document.text,
        copy.deepcopy(document._metadata),
        embedding if embedding is None or not embedding.flags.writeable else embedding.copy(),
        document.score,
        stored_extra(document),
    )


def with_score(document: Document, score: float) -> Document:
    """The same document with another score; nothing else about it is looked at.

    What a store has read may be what others wrote, which :meth:`Document.replace` would refuse.
    """
    other = same_document(document)
    _put(other, "score", score)
    return other


def without_embedding(document: Document) -> Document:
    """This very document, which nobody has been shown yet, without its vector."""
    _put(document, "embedding", None)
    return document


def with_stored_extra(document: Document, extra: str | None) -> Document:
    """This very document, which nobody has been shown yet, with an extra as JSON text.

    Many documents made of one share the text.

    Example:
        >>> with_stored_extra(Document("a"), '[{"n":1}]').extra
        [{'n': 1}]
    """
    if extra is not None:
        _put(document, "_extra", extra)
        _put(document, "_state", document._state & ~_UNPACKED | _EXTRA)
    return document


def checked_document(document: Document) -> Document:
    """A document of which every part has been checked: mostly the same object.

    One that a store has read may hold what others wrote there, and is made anew.

    Raises:
        DocumentError: Naming the document, the metadata key and the remedy.
    """
    if not document._state & _READ:
        return document
    id = checked_id(document.id)
    return Document(document.text, document._metadata, id, document.embedding, None, document.extra)


def settled_metadata(document: Document) -> dict[str, Any]:
    """The metadata of a checked document for a store to keep: out of everybody else's reach.

    Raises:
        DocumentError: If the caller has put something into the dict that cannot be stored.
    """
    if document._state & _SHOWN:
        return checked_metadata(document._metadata, document.id)
    _put(document, "_state", document._state & _WITH_EXTRA | _SHARED)
    return document._metadata


def settled_at_once(documents: Sequence[Document]) -> list[dict[str, Any]] | None:
    """:func:`settled_metadata` of many documents, of which none needs a look, or has an ``extra``.

    Returns:
        None where one has, was read from a store, or its metadata has been in a caller's hands.
    """
    states = {document._state for document in documents}
    if states == {_OWN}:
        for document in documents:
            _put(document, "_state", _SHARED)
    elif states != {_SHARED}:
        return None
    return [document._metadata for document in documents]


def copy_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """A copy of metadata that shares no list and no object with it."""
    return {
        name: value if type(value) is not dict and type(value) is not list else _copied(value)
        for name, value in metadata.items()
    }


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return copy_metadata(value)
    return [item if type(item) not in (dict, list) else _copied(item) for item in value]


def checked_id(id: Any) -> str:
    """Return an id that every store can keep, as a plain ``str``.

    Raises:
        DocumentError: If it is no text, empty, or holds NUL or a lone surrogate.
    """
    if not isinstance(id, str):
        raise DocumentError(
            f"the id of a document is text, not {type(id).__name__}; write id=str({shown(id)})"
        )
    text = id if type(id) is str else str.__str__(id)
    if not text:
        raise DocumentError(
            "the id of a document cannot be empty; leave id out to have one drawn", document_id=text
        )
    try:
        return check_text(text)
    except UnusableValue as fault:
        raise DocumentError(
            f"the id {shown_id(text)} cannot be used: {_of_id(fault.reason)}; {fault.remedy}",
            document_id=text,
        ) from None


def is_possible_id(id: str) -> bool:
    """Whether any document could have that id."""
    try:
        return bool(id) and check_text(id) == id
    except UnusableValue:
        return False


def checked_metadata(metadata: Mapping[Any, Any], document_id: str | None = None) -> dict[str, Any]:
    """Normalise and copy metadata: of one document, or new values for any.

    Raises:
        DocumentError: Naming the document, the key path and the remedy.
    """
    owner = "the metadata" if document_id is None else f"document {shown_id(document_id)}"
    if not isinstance(metadata, Mapping):
        raise DocumentError(
            f"{owner} cannot be stored: metadata is a mapping, not a {type(metadata).__name__}; "
            "write {'key': value}",
            document_id=document_id,
        )
    try:
        return to_metadata(metadata)
    except UnusableValue as fault:
        key = key_text(fault.path)
        place = f" with the key {_shortened(key, quoted=False)}" if key else ""
        raise DocumentError(
            f"{owner} cannot be stored{place}: {fault.reason}; {fault.remedy}",
            document_id=document_id,
            key=key or None,
        ) from None


def checked_metadata_name(name: Any) -> str:
    """Return a key at the top of metadata, as a plain ``str``.

    Raises:
        DocumentError: If no metadata could hold it.
    """
    try:
        return check_segment(name)
    except UnusableValue as fault:
        raise DocumentError(
            f"{shown(name)} is no key of metadata: {fault.reason}; {fault.remedy}",
            key=name if isinstance(name, str) else shown(name),
        ) from None


def shown_id(id: str) -> str:
    """An id as errors show it: quoted, and cut when it is very long."""
    return _shortened(id)


def checked_text(text: Any, document_id: str) -> str:
    """Return a document's text, as a plain ``str``.

    Raises:
        DocumentError: If it is none, or holds NUL or a lone surrogate.
    """
    if type(text) is not str:
        if not isinstance(text, str):
            what = "no text (None)" if text is None else f"a text of type {type(text).__name__}"
            remedy = (
                "pass text='' for a document without words, and its embedding"
                if text is None
                else "decode it first"
                if isinstance(text, bytes | bytearray)
                else "pass a str"
            )
            raise DocumentError(
                f"document {shown_id(document_id)} has {what}; {remedy}", document_id=document_id
            )
        text = str.__str__(text)
    try:
        return check_text(text)
    except UnusableValue as fault:
        raise DocumentError(
            f"the text of document {shown_id(document_id)} cannot be stored: "
            f"{fault.reason}; {fault.remedy}",
            document_id=document_id,
        ) from None


def _checked_score(score: Any, document_id: str) -> float:
    if isinstance(score, bool) or not isinstance(score, Real) or math.isnan(score):
        raise DocumentError(
            f"the score of document {shown_id(document_id)} is a number, not {shown(score)}",
            document_id=document_id,
        )
    return float(score)


def _of_id(reason: str) -> str:
    return reason.replace("the text holds", "it holds")


def _equal_embeddings(left: NDArray[Any] | None, right: NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return len(left) == len(right) and bool((left == right).all())


def _shortened(text: str, *, quoted: bool = True) -> str:
    cut = text if len(text) <= _REPR_WIDTH else text[: _REPR_WIDTH - 1] + "…"
    return repr(cut) if quoted else cut


def _shortened_metadata(metadata: dict[str, Any]) -> str:
    """The first keys and values, without ever printing a large value whole."""
    parts: list[str] = []
    width = 0
    for name, value in metadata.items():
        if width > _REPR_WIDTH:
            parts.append("…")
            break
        parts.append(f"{_shortened(name)}: {_shortened_value(value)}")
        width += len(parts[-1])
    return "{" + ", ".join(parts) + "}"


def _shortened_value(value: Any) -> str:
    if type(value) is str:
        return _shortened(value)
    if type(value) is dict:
        return "{…}" if value else "{}"
    if type(value) is list:
        # A list in a list is nothing that a store takes; a caller, or others, put it there.
        first = ["[…]" if type(item) is list else _shortened_value(item) for item in value[:3]]
        return f"[{', '.join(first)}{', …' if len(value) > 3 else ''}]"
    if type(value) is int and abs(value) >= 10**_REPR_WIDTH:
        return "<a very large integer>"
    return shown(value)
