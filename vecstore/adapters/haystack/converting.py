"""Haystack's documents as ours and back, and its filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from haystack import Document
from haystack.errors import FilterError

from vecstore.adapters.arguments import FilterCache
from vecstore.document import Document as Stored
from vecstore.document import shown_id
from vecstore.errors import DocumentError
from vecstore.errors import FilterError as Misread
from vecstore.filter.tree import Expression, FilterInput, Group
from vecstore.filter.two_valued import opposite, pushed_down
from vecstore.interop import from_haystack

_BLANK: Final = vars(Document(id="-", content=""))


def our_filter(filters: Any) -> FilterInput:
    """A filter that selects what Haystack's does; one of ours as it is.

    Raises:
        FilterError: Haystack's, for what has no meaning, with its place.
    """
    if filters is None or isinstance(filters, str | Expression | Group | bool):
        return cast(FilterInput, filters)
    return _of_haystack(filters)


def _read(filters: Any) -> Expression:
    try:
        read = from_haystack(filters)
    except Misread as error:
        raise FilterError(str(error)) from error
    # NOT of an ordering is true of an absent key; of what cannot be ordered, Haystack raises.
    return pushed_down(read, lambda atom, under_not: opposite(atom) if under_not else atom)


_of_haystack: Final = FilterCache(_read)


def our_documents(documents: Any) -> list[Stored]:
    """Documents of Haystack as ours.

    Raises:
        ValueError: If they are none.
        DocumentError: For what would not come back as it is, by its name.
    """
    given = list(documents)  # a generator is read once
    if isinstance(documents, str) or not all(isinstance(one, Document) for one in given):
        raise ValueError("write_documents takes a list of Haystack's documents")
    stored = [Stored(_text(one), one.meta, one.id, one.embedding) for one in given]
    for ours, theirs in zip(stored, given, strict=True):
        if ours._metadata != theirs.meta:
            check_kept(ours._metadata, theirs.meta, ours.id)
    return stored


def _text(document: Document) -> str:
    for name in ("blob", "sparse_embedding"):
        if getattr(document, name) is not None:
            remedy = "keep that elsewhere, and its place in meta"
            raise _not_kept(document.id, f"its {name}", remedy)
    if document.content is None:
        raise _not_kept(document.id, "a content of None", "write content=''")
    return cast(str, document.content)


def check_kept(ours: Mapping[str, Any], meta: Mapping[str, Any], id: str | None = None) -> None:
    """Refuse metadata that would not come back as it is: a date as a text, a tuple as a list.

    Raises:
        DocumentError: Naming the key.
    """
    for name, value in meta.items():
        if ours.get(name) != value:
            remedy = f"write {ours.get(name)!r}"
            raise _not_kept(id, f"a {type(value).__name__} as meta.{name}", remedy)


def _not_kept(id: str | None, what: str, remedy: str) -> DocumentError:
    whose = "documents" if id is None else f"document {shown_id(id)}"
    return DocumentError(f"{whose} cannot keep {what}; {remedy}", document_id=id)


def their_documents(found: Iterable[Stored]) -> list[Document]:
    """Documents of ours as Haystack's."""
    made = []
    for one in found:
        # What their constructor checks is checked, and it takes longer than a search in memory.
        document = Document.__new__(Document)
        vars(document).update(
            _BLANK,
            id=one.id,
            content=one.text,
            meta=one.metadata,
            score=one.score,
            embedding=None if one.embedding is None else one.embedding.tolist(),
        )
        made.append(document)
    return made
