"""Documents, filters and arguments between LangChain and the stores of this library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from vecstore.adapters.arguments import FilterCache, diversity_of
from vecstore.document import Document as Stored
from vecstore.errors import BackendNotInstalledError
from vecstore.filter.tree import Expression, FilterInput, Group
from vecstore.installing import install_line
from vecstore.interop import from_langchain, from_mongo

try:
    from langchain_core.documents import Document
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs langchain-core: {install_line('langchain')}"
    ) from None


_of_mongo: Final = FilterCache(from_mongo)
_BLANK: Final = vars(Document(id="-", page_content=""))
_SET: Final = ("id", "metadata", "page_content")
_put: Final = object.__setattr__


def read_filter(filter: Any) -> FilterInput:
    """A filter of any kind that callers of LangChain write, as a store takes it."""
    if filter is None or isinstance(filter, str | Expression | Group | bool):
        return cast(FilterInput, filter)
    if not isinstance(filter, Mapping):
        return from_langchain(filter)
    return _of_mongo(filter)


def stored_of(
    documents: Sequence[Document], ids: Sequence[str | None] | None = None
) -> list[Stored]:
    """Documents of LangChain as a store takes them."""
    documents = list(documents)
    given = [one.id for one in documents] if ids is None else list(ids)
    if len(given) != len(documents):
        raise ValueError(f"there are {len(documents):,} documents, and {len(given):,} ids")
    return [
        Stored(one.page_content, one.metadata, id) for one, id in zip(documents, given, strict=True)
    ]


def documents_of(found: Iterable[Stored]) -> list[Document]:
    """Documents of a store as LangChain's."""
    made = []
    for one in found:
        # What their constructor checks is checked; this is what pydantic's model_construct does.
        document = Document.__new__(Document)
        values = {**_BLANK, "id": one.id, "page_content": one.text, "metadata": one.metadata}
        _put(document, "__dict__", values)
        _put(document, "__pydantic_fields_set__", set(_SET))
        _put(document, "__pydantic_extra__", None)
        _put(document, "__pydantic_private__", None)
        made.append(document)
    return made


def scored_of(found: Iterable[Stored]) -> list[tuple[Document, float]]:
    """The same, each with its score."""
    found = list(found)
    return list(zip(documents_of(found), [float(one.score or 0.0) for one in found], strict=True))


def asked(k: int, filter: Any, search: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a search by the store."""
    return {"top_k": k, "filter": read_filter(filter), **search}


def varied_search(
    k: int, fetch_k: int, lambda_mult: float, search: dict[str, Any]
) -> dict[str, Any]:
    """Those of a diverse one; LangChain's own returns no more than it has fetched."""
    diversity = diversity_of("lambda_mult", lambda_mult)
    varied = {"fetch_k": fetch_k, "diversity": diversity, **search}
    return asked(min(k, fetch_k), varied.pop("filter", None), varied)
