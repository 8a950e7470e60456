"""The retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from vecstore.adapters.haystack.converting import our_filter, their_documents
from vecstore.adapters.haystack.document_store import VecstoreDocumentStore
from vecstore.errors import ConfigurationError
from vecstore.filter.tree import Expression, FilterInput, Group, unwrap
from vecstore.store.arguments import read_filter


@component
class VecstoreEmbeddingRetriever:
    """A component that finds the documents most similar to an embedding, best first.

    Args:
        document_store: A :class:`VecstoreDocumentStore`.
        filters: Which documents to look among: Haystack's dict, or a filter of this library.
        top_k: How many to find at most.
        return_embedding: Whether they carry their embeddings.
        filter_policy: Whether the filters of a run ``replace`` these or ``merge`` with them.
    """

    def __init__(
        self,
        document_store: VecstoreDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, VecstoreDocumentStore):
            raise ConfigurationError("document_store is a VecstoreDocumentStore(store)")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.return_embedding = return_embedding
        self.filter_policy = FilterPolicy.from_str(str(filter_policy))

    def to_dict(self) -> dict[str, Any]:
        """What :meth:`from_dict` makes again."""
        filters: Any = unwrap(self.filters) if isinstance(self.filters, Group) else self.filters
        written: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store,
            filters=filters.to_text() if isinstance(filters, Expression) else filters,
            top_k=self.top_k,
            return_embedding=self.return_embedding,
            filter_policy=str(self.filter_policy),
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The retriever that :meth:`to_dict` wrote down."""
        return cast(Self, default_from_dict(cls, data))

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents; what is left out is as the component was made."""
        asked = self._asked(query_embedding, filters, top_k, return_embedding)
        return {"documents": their_documents(self.document_store.store.search(**asked))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """See :meth:`run`."""
        asked = self._asked(query_embedding, filters, top_k, return_embedding)
        return {"documents": their_documents(await self.document_store.store.aio.search(**asked))}

    def _asked(
        self, vector: list[float], filters: Any, top_k: int | None, shown: bool | None
    ) -> dict[str, Any]:
        return {
            "vector": vector,
            "filter": self._filter(filters),
            "top_k": self.top_k if top_k is None else top_k,
            "include_embedding": self.return_embedding if shown is None else shown,
        }

    def _filter(self, theirs: Any) -> FilterInput:
        """That of a run, by the policy."""
        ours = self.filters
        if theirs is None or theirs == {}:
            return our_filter(ours)
        if ours is None or ours == {} or self.filter_policy is not FilterPolicy.MERGE:
            return our_filter(theirs)
        if _joint(ours) == _joint(theirs) is not None:
            return our_filter(apply_filter_policy(self.filter_policy, ours, theirs))
        # Haystack's function leaves out the first of these, and knows no filter of ours.
        first, second = (read_filter(our_filter(one)) for one in (ours, theirs))
        return cast(Expression, first) & cast(Expression, second)


def _joint(filters: Any) -> Any:
    """What joins the conditions of Haystack's filter; None for a filter of ours."""
    if not isinstance(filters, Mapping):
        return None
    return filters.get("operator") if "conditions" in filters else "AND"
